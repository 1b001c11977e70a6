//! A feature: its name, its history by version, and its documentation.

use std::borrow::Cow;

use crate::{Stage, Version};

/// Maximum length of a feature name.
pub const NAME_LENGTH_MAX: usize = 100;

/// Sets every Alpha gate that is not set explicitly.
pub const ALL_ALPHA: &str = "AllAlpha";
/// Sets every Beta gate that is not set explicitly.
pub const ALL_BETA: &str = "AllBeta";

/// Specification of a feature from one version on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Entry {
    /// The first version of this entry; [`Version::ZERO`] means always.
    pub version: Version,
    /// The value if the gate is not set.
    pub default: bool,
    /// True if the value cannot be changed.
    pub lock_to_default: bool,
    /// The stage from this version on.
    pub stage: Stage,
    /// The entry applies only if the minimum compatibility version is at least this one. Inherited from the
    /// previous entry if unset.
    pub min_compatibility: Option<Version>,
}

/// Entry in effect before the first one: the feature does not exist.
pub(crate) const BEFORE_HISTORY: Entry = Entry {
    version: Version::ZERO,
    default: false,
    lock_to_default: false,
    stage: Stage::PreAlpha,
    min_compatibility: None,
};

/// Scope of a gate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Scope {
    /// Set for each process, at its start.
    #[default]
    Process,
    /// Agreed by the members of a cluster through their log.
    Cluster,
}

impl Scope {
    /// Name in registry files.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Process => "process",
            Scope::Cluster => "cluster",
        }
    }
}

/// A registered feature.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Feature {
    /// `[A-Za-z][A-Za-z0-9]*`, case matters.
    pub name: Cow<'static, str>,
    /// Oldest first.
    pub entries: Vec<Entry>,
    /// One sentence for help and documentation.
    pub description: Cow<'static, str>,
    /// Team or person responsible for the feature.
    pub owner: Cow<'static, str>,
    /// Links to further documentation.
    pub links: Vec<Cow<'static, str>>,
    /// The feature adds or widens an API field.
    pub api: bool,
    /// Scope of the gate.
    pub scope: Scope,
}

impl Feature {
    /// A feature with a history and no documentation.
    pub fn new(name: impl Into<Cow<'static, str>>, entries: impl Into<Vec<Entry>>) -> Self {
        Self {
            name: name.into(),
            entries: entries.into(),
            description: Cow::Borrowed(""),
            owner: Cow::Borrowed(""),
            links: Vec::new(),
            api: false,
            scope: Scope::Process,
        }
    }

    /// The first version with a locked value.
    pub fn locked_since(&self) -> Option<Version> {
        self.entries
            .iter()
            .find(|entry| entry.lock_to_default)
            .map(|entry| entry.version)
    }

    /// The release in which a locked gate may be removed: the three releases before it, which it can emulate, were
    /// locked.
    pub fn remove_in(&self) -> Option<Version> {
        self.locked_since()
            .map(|locked| locked.plus_minors(crate::EMULATED_MINORS))
    }

    /// Inherits `min_compatibility` from the previous entry.
    pub(crate) fn complete(&mut self) {
        let mut inherited = None;
        for entry in &mut self.entries {
            entry.min_compatibility = entry.min_compatibility.or(inherited);
            inherited = entry.min_compatibility;
        }
    }
}

/// True if a name matches `[A-Za-z][A-Za-z0-9]*` and [`NAME_LENGTH_MAX`].
pub const fn is_valid_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes.len() > NAME_LENGTH_MAX || !bytes[0].is_ascii_alphabetic() {
        return false;
    }
    let mut at = 1;
    while at < bytes.len() {
        if !bytes[at].is_ascii_alphanumeric() {
            return false;
        }
        at += 1;
    }
    true
}
