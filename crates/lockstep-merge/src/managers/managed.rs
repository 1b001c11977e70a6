//! `metadata.managedFields`, read and written.

use std::collections::BTreeMap;

use lockstep_object::metadata::Seconds;
use serde_json::{Map, Value};

use crate::fields::{FieldsError, Set};

/// All claims on the fields of an object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Managed {
    pub(super) claims: BTreeMap<Owner, Claim>,
}

/// How somebody came to own fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By saying what they want.
    Apply,
    /// By changing them.
    Update,
}

/// Whoever owns fields. Who applies is the same in all versions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// Its name.
    pub manager: String,
    /// How it came to own fields.
    pub operation: Operation,
    version: String,
    /// The part of the object it wrote; empty for the whole.
    pub subresource: String,
}

/// What somebody owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The version whose fields they are.
    pub api_version: String,
    /// The fields.
    pub fields: Set,
    /// When they were last changed.
    pub time: Option<Seconds>,
}

/// Why a list is no `managedFields`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManagedError {
    /// Neither `Apply` nor `Update`.
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    /// No version.
    #[error("apiVersion must not be empty")]
    NoVersion,
    /// No form of the fields.
    #[error("missing fieldsType in managed fields entry {0}")]
    NoFieldsType(usize),
    /// Another form of the fields than `FieldsV1`.
    #[error("invalid fieldsType {fields_type:?} in managed fields entry {index}")]
    FieldsType {
        /// What it says.
        fields_type: String,
        /// Which entry.
        index: usize,
    },
    /// No time.
    #[error("invalid time in managed fields entry {0}")]
    Time(usize),
    /// Fields that cannot be read.
    #[error("error decoding set of managed fields entry {index}: {error}")]
    Fields {
        /// Which entry.
        index: usize,
        /// Why.
        error: FieldsError,
    },
}

impl Operation {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

impl Owner {
    /// An owner that wrote in a version.
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

    /// The version that somebody who changes fields wrote.
    pub fn version(&self) -> Option<&str> {
        (self.operation == Operation::Update).then_some(&*self.version)
    }
}

impl Managed {
    /// Whether nobody owns anything: such an object is not tracked.
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    /// All claims, by owner.
    pub fn claims(&self) -> impl Iterator<Item = (&Owner, &Claim)> {
        self.claims.iter()
    }

    /// What somebody claims.
    pub fn claim(&self, owner: &Owner) -> Option<&Claim> {
        self.claims.get(owner)
    }

    /// Gives somebody a claim, instead of the one that they have.
    pub fn insert(&mut self, owner: Owner, claim: Claim) {
        self.claims.insert(owner, claim);
    }

    /// The claims with those on some fields as they are in `stored`, whatever became of them: nobody gains or loses
    /// them. `frozen` tells which of the fields of a version these are, `present` which of those are still there.
    #[must_use]
    pub fn with_frozen(
        mut self,
        stored: &Self,
        frozen: impl Fn(&str, &Set) -> Set,
        present: impl Fn(&str, Set) -> Set,
    ) -> Self {
        for (owner, claim) in &mut self.claims {
            if !stored.has(owner, claim) {
                let gained = frozen(&claim.api_version, &claim.fields);
                claim.fields.take_out(&gained);
            }
        }
        for (owner, claim) in &stored.claims {
            // INVARIANT: what is as it is stored was left alone before, and is not looked at now either.
            if self.has(owner, claim) {
                continue;
            }
            let kept = frozen(&claim.api_version, &claim.fields);
            let kept = present(&claim.api_version, kept);
            if kept.is_empty() {
                continue;
            }
            let own = self.claims.entry(owner.clone()).or_insert_with(|| Claim {
                api_version: claim.api_version.clone(),
                fields: Set::default(),
                time: claim.time,
            });
            own.fields.absorb(&kept);
        }
        self.claims.retain(|_, claim| !claim.fields.is_empty());
        self
    }

    /// Whether somebody claims these very fields.
    fn has(&self, owner: &Owner, claim: &Claim) -> bool {
        self.claims.get(owner).is_some_and(|own| {
            (&own.api_version, &own.fields) == (&claim.api_version, &claim.fields)
        })
    }

    /// Reads `managedFields`. Of two entries with one owner, the later counts.
    pub fn read(entries: &[Value]) -> Result<Self, ManagedError> {
        let mut claims = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate() {
            let (owner, claim) = read_entry(index, entry)?;
            claims.insert(owner, claim);
        }
        Ok(Self { claims })
    }

    /// The entries: by operation, time, manager, version and subresource.
    pub fn write(&self) -> Vec<Value> {
        let mut claims: Vec<(&Owner, &Claim)> = self.claims.iter().collect();
        claims.sort_by_key(|(owner, claim)| {
            (
                owner.operation,
                claim.time,
                &owner.manager,
                &claim.api_version,
                &owner.subresource,
            )
        });
        let entries = claims.into_iter();
        entries
            .map(|(owner, claim)| write_entry(owner, claim))
            .collect()
    }
}

fn read_entry(index: usize, entry: &Value) -> Result<(Owner, Claim), ManagedError> {
    let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
    let operation = match text("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err(ManagedError::Operation),
    };
    let api_version = text("apiVersion");
    if api_version.is_empty() {
        return Err(ManagedError::NoVersion);
    }
    match text("fieldsType") {
        "FieldsV1" => {}
        "" => return Err(ManagedError::NoFieldsType(index)),
        other => {
            return Err(ManagedError::FieldsType {
                fields_type: other.to_owned(),
                index,
            });
        }
    }
    let time = match entry.get("time") {
        None | Some(Value::Null) => None,
        Some(time) => {
            let time = time.as_str().and_then(|time| time.parse().ok());
            Some(time.ok_or(ManagedError::Time(index))?)
        }
    };
    let fields = match entry.get("fieldsV1") {
        None | Some(Value::Null) => Set::default(),
        Some(fields) => {
            Set::from_fields(fields).map_err(|error| ManagedError::Fields { index, error })?
        }
    };
    let owner = Owner::new(text("manager"), operation, api_version, text("subresource"));
    let claim = Claim {
        api_version: api_version.to_owned(),
        fields,
        time,
    };
    Ok((owner, claim))
}

fn write_entry(owner: &Owner, claim: &Claim) -> Value {
    let mut entry = Map::new();
    let mut put = |field: &str, text: &str| {
        if !text.is_empty() {
            entry.insert(field.to_owned(), text.into());
        }
    };
    put("manager", &owner.manager);
    put("operation", owner.operation.as_str());
    put("apiVersion", &claim.api_version);
    put("fieldsType", "FieldsV1");
    put("subresource", &owner.subresource);
    if let Some(time) = claim.time {
        put("time", &time.to_string());
    }
    entry.insert("fieldsV1".to_owned(), claim.fields.to_fields());
    Value::Object(entry)
}
