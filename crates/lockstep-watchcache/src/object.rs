//! One stored object, with its labels for selectors.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use lockstep_object::selector::Labels;
use lockstep_storage::{KeyValue, Revision};
use serde::Deserialize;

/// One immutable version of one object.
#[derive(Debug)]
pub struct Object {
    /// Its key inside the bucket: `[namespace/]name`.
    pub key: Bytes,
    /// The revision that wrote it.
    pub revision: Revision,
    /// The stored bytes.
    pub value: Bytes,
    facts: OnceLock<Facts>,
}

/// Properties that selectors match.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// The labels.
    pub labels: BTreeMap<String, String>,
}

impl Object {
    pub(crate) fn new(key: Bytes, kv: &KeyValue) -> Arc<Self> {
        Arc::new(Self {
            key,
            revision: kv.mod_revision,
            value: kv.value.clone(),
            facts: OnceLock::new(),
        })
    }

    /// Copies the object with other bytes, for instance after conversion.
    pub fn with_value(&self, value: Bytes) -> Arc<Self> {
        Arc::new(Self {
            key: self.key.clone(),
            revision: self.revision,
            value,
            facts: OnceLock::new(),
        })
    }

    /// Properties for selectors, read on first use. Bytes that are no valid object have none.
    #[inline]
    pub fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| Facts::read(&self.value))
    }
}

impl Labels for Facts {
    fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }
}

impl Facts {
    fn read(value: &[u8]) -> Self {
        let stored: Stored = serde_json::from_slice(value).unwrap_or_default();
        Self {
            labels: stored.metadata.labels.unwrap_or_default(),
        }
    }
}

#[derive(Deserialize, Default)]
struct Stored {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
}
