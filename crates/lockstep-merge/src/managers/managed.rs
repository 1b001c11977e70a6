//! Decoding and encoding of `metadata.managedFields`.

use std::collections::BTreeMap;

use lockstep_object::metadata::Seconds;
use serde_json::{Map, Value};

use crate::fields::{FieldsError, Set};

/// All managedFields entries of an object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ManagedFields {
    pub(super) entries: BTreeMap<Owner, ManagedFieldsEntry>,
}

/// The operation of a managedFields entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// Any other write: create, update or a patch of another type.
    Update,
}

/// Key of a managedFields entry. The version is part of the key only for `Update`, as upstream defines it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// Name of the field manager.
    pub manager: String,
    /// The operation through which the fields are owned.
    pub operation: Operation,
    version: String,
    /// Subresource that was written; empty for the main resource.
    pub subresource: String,
}

/// Contents of a managedFields entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagedFieldsEntry {
    /// Version in which the field paths are expressed.
    pub api_version: String,
    /// The owned fields.
    pub fields: Set,
    /// Time of the last change of the entry.
    pub time: Option<Seconds>,
}

/// Errors of decoding `managedFields`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManagedFieldsError {
    /// The operation is neither `Apply` nor `Update`.
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    /// `apiVersion` is empty.
    #[error("apiVersion must not be empty")]
    NoVersion,
    /// `fieldsType` is missing.
    #[error("missing fieldsType in managed fields entry {0}")]
    NoFieldsType(usize),
    /// `fieldsType` is not `FieldsV1`.
    #[error("invalid fieldsType {fields_type:?} in managed fields entry {index}")]
    FieldsType {
        /// The given `fieldsType`.
        fields_type: String,
        /// Index of the entry.
        index: usize,
    },
    /// The time does not parse.
    #[error("invalid time in managed fields entry {0}")]
    Time(usize),
    /// `fieldsV1` does not decode.
    #[error("error decoding set of managed fields entry {index}: {error}")]
    Fields {
        /// Index of the entry.
        index: usize,
        /// The decoding error.
        error: FieldsError,
    },
}

impl Operation {
    /// The operation as spelled in `managedFields`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

impl Owner {
    /// Creates the key of an entry; for `Apply` the version is not part of it.
    pub fn new(manager: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        Self {
            manager: manager.to_owned(),
            operation,
            version: match operation {
                Operation::Apply => String::new(),
                Operation::Update => api_version.to_owned(),
            },
            subresource: subresource.to_owned(),
        }
    }

    /// The version of the key; none for `Apply`.
    pub fn version(&self) -> Option<&str> {
        (self.operation == Operation::Update).then_some(&*self.version)
    }
}

impl ManagedFields {
    /// True if there are no entries; such an object is not tracked.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All entries, by owner.
    pub fn entries(&self) -> impl Iterator<Item = (&Owner, &ManagedFieldsEntry)> {
        self.entries.iter()
    }

    /// The entry of an owner.
    pub fn entry(&self, owner: &Owner) -> Option<&ManagedFieldsEntry> {
        self.entries.get(owner)
    }

    /// Sets the entry of an owner, replacing an existing one.
    pub fn insert(&mut self, owner: Owner, entry: ManagedFieldsEntry) {
        self.entries.insert(owner, entry);
    }

    /// Restores the stored ownership of frozen fields, so that no manager gains or loses them. `frozen` selects the
    /// frozen fields of a version, `present` the ones that still exist in the object.
    #[must_use]
    pub fn restore_frozen_ownership(
        mut self,
        stored: &Self,
        frozen: impl Fn(&str, &Set) -> Set,
        present: impl Fn(&str, Set) -> Set,
    ) -> Self {
        for (owner, entry) in &mut self.entries {
            if !stored.has(owner, entry) {
                let gained = frozen(&entry.api_version, &entry.fields);
                entry.fields.take_out(&gained);
            }
        }
        for (owner, entry) in &stored.entries {
            // INVARIANT: entries equal to the stored ones were skipped in the loop above and are skipped here too.
            if self.has(owner, entry) {
                continue;
            }
            let kept = frozen(&entry.api_version, &entry.fields);
            let kept = present(&entry.api_version, kept);
            if kept.is_empty() {
                continue;
            }
            let own = self
                .entries
                .entry(owner.clone())
                .or_insert_with(|| ManagedFieldsEntry {
                    api_version: entry.api_version.clone(),
                    fields: Set::default(),
                    time: entry.time,
                });
            own.fields.absorb(&kept);
        }
        self.entries.retain(|_, entry| !entry.fields.is_empty());
        self
    }

    /// True if the owner has an entry with exactly this version and field set.
    fn has(&self, owner: &Owner, entry: &ManagedFieldsEntry) -> bool {
        self.entries.get(owner).is_some_and(|own| {
            (&own.api_version, &own.fields) == (&entry.api_version, &entry.fields)
        })
    }

    /// Decodes `managedFields`. If two entries have the same key, the later one wins.
    pub fn read(encoded: &[Value]) -> Result<Self, ManagedFieldsError> {
        let mut entries = BTreeMap::new();
        for (index, entry) in encoded.iter().enumerate() {
            let (owner, entry) = read_entry(index, entry)?;
            entries.insert(owner, entry);
        }
        Ok(Self { entries })
    }

    /// Encodes the entries, sorted by operation, time, manager, version and subresource as upstream sorts them.
    pub fn write(&self) -> Vec<Value> {
        let mut entries: Vec<(&Owner, &ManagedFieldsEntry)> = self.entries.iter().collect();
        entries.sort_by_key(|(owner, entry)| {
            (
                owner.operation,
                entry.time,
                &owner.manager,
                &entry.api_version,
                &owner.subresource,
            )
        });
        let entries = entries.into_iter();
        entries
            .map(|(owner, entry)| write_entry(owner, entry))
            .collect()
    }
}

fn read_entry(
    index: usize,
    entry: &Value,
) -> Result<(Owner, ManagedFieldsEntry), ManagedFieldsError> {
    let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
    let operation = match text("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err(ManagedFieldsError::Operation),
    };
    let api_version = text("apiVersion");
    if api_version.is_empty() {
        return Err(ManagedFieldsError::NoVersion);
    }
    match text("fieldsType") {
        "FieldsV1" => {}
        "" => return Err(ManagedFieldsError::NoFieldsType(index)),
        other => {
            return Err(ManagedFieldsError::FieldsType {
                fields_type: other.to_owned(),
                index,
            });
        }
    }
    let time = match entry.get("time") {
        None | Some(Value::Null) => None,
        Some(time) => {
            let time = time.as_str().and_then(|time| time.parse().ok());
            Some(time.ok_or(ManagedFieldsError::Time(index))?)
        }
    };
    let fields = match entry.get("fieldsV1") {
        None | Some(Value::Null) => Set::default(),
        Some(fields) => {
            Set::from_fields(fields).map_err(|error| ManagedFieldsError::Fields { index, error })?
        }
    };
    let owner = Owner::new(text("manager"), operation, api_version, text("subresource"));
    let entry = ManagedFieldsEntry {
        api_version: api_version.to_owned(),
        fields,
        time,
    };
    Ok((owner, entry))
}

fn write_entry(owner: &Owner, entry: &ManagedFieldsEntry) -> Value {
    let mut encoded = Map::new();
    let mut put = |field: &str, text: &str| {
        if !text.is_empty() {
            encoded.insert(field.to_owned(), text.into());
        }
    };
    put("manager", &owner.manager);
    put("operation", owner.operation.as_str());
    put("apiVersion", &entry.api_version);
    put("fieldsType", "FieldsV1");
    put("subresource", &owner.subresource);
    if let Some(time) = entry.time {
        put("time", &time.to_string());
    }
    encoded.insert("fieldsV1".to_owned(), entry.fields.to_fields());
    Value::Object(encoded)
}
