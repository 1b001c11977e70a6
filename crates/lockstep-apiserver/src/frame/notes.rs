//! What steps and handlers leave for the answer's headers, the audit log and the metrics.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::authn::User;
use crate::write;

/// Notes about one request: its audit id, warnings, audit annotations and facts for metrics.
#[derive(Debug)]
pub struct Notes {
    audit_id: String,
    written: write::Notes,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    requester: Option<Arc<User>>,
    facts: Facts,
}

/// What metrics want to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Facts {
    /// The path named a resource that exists.
    pub(crate) is_known: bool,
    /// Nothing is stored.
    pub(crate) is_dry_run: bool,
}

impl Notes {
    /// No notes yet.
    pub fn new(audit_id: String) -> Self {
        Self {
            audit_id,
            written: write::Notes::default(),
            inner: Mutex::default(),
        }
    }

    /// The id of the request in every log.
    pub fn audit_id(&self) -> &str {
        &self.audit_id
    }

    /// Warnings and annotations, as the write path adds to them.
    pub(crate) fn written(&self) -> &write::Notes {
        &self.written
    }

    /// Adds a warning for the client, once.
    pub fn warn(&self, text: impl Into<String>) {
        self.written.warn(text);
    }

    /// Adds an annotation to the audit event.
    pub fn annotate(&self, key: &str, value: &str) {
        self.written.annotate(key, value);
    }

    /// Says that the path named a resource that exists, so that metrics may carry its name. Names
    /// that clients invent must not become labels.
    pub fn resource_is_known(&self) {
        self.inner.lock().facts.is_known = true;
    }

    /// Says that nothing is stored.
    pub fn is_dry_run(&self) {
        self.inner.lock().facts.is_dry_run = true;
    }

    /// Warnings in the order they were given.
    pub fn warnings(&self) -> Vec<String> {
        self.written.warnings()
    }

    pub(crate) fn annotations(&self) -> BTreeMap<String, String> {
        self.written.annotations()
    }

    /// Annotations that only audit events with request bodies show.
    pub(crate) fn details(&self) -> BTreeMap<String, String> {
        self.written.details()
    }

    pub(crate) fn set_requester(&self, user: Arc<User>) {
        self.inner.lock().requester = Some(user);
    }

    /// Who sent the request, if that is not on whose behalf it is done.
    pub(crate) fn requester(&self) -> Option<Arc<User>> {
        self.inner.lock().requester.clone()
    }

    pub(crate) fn facts(&self) -> Facts {
        self.inner.lock().facts
    }
}
