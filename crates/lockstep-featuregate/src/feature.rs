//! A feature: its name, its history by version, and what people should know about it.

use std::borrow::Cow;

use crate::{Stage, Version};

/// The longest feature name.
pub const NAME_LENGTH_MAX: usize = 100;

/// Switches every Alpha gate that nobody named.
pub const ALL_ALPHA: &str = "AllAlpha";
/// Switches every Beta gate that nobody named.
pub const ALL_BETA: &str = "AllBeta";

/// What holds for a feature from one version on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Entry {
    /// The first version at which this entry holds; [`Version::ZERO`] means always.
    pub version: Version,
    /// The value when nothing sets the gate.
    pub default: bool,
    /// The value cannot be changed.
    pub lock_to_default: bool,
    /// The maturity from here on.
    pub stage: Stage,
    /// Use this entry only if the process need not be compatible with anything older than this.
    /// Unset inherits from the entry before.
    pub min_compatibility: Option<Version>,
}

/// What an absent feature looks like: before its first entry nothing is known of it.
pub(crate) const BEFORE_HISTORY: Entry = Entry {
    version: Version::ZERO,
    default: false,
    lock_to_default: false,
    stage: Stage::PreAlpha,
    min_compatibility: None,
};

/// Who switches a gate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Scope {
    /// Each process for itself, at its start.
    #[default]
    Process,
    /// The members of a cluster together, through their log.
    Cluster,
}

impl Scope {
    /// The word in registry files.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Process => "process",
            Scope::Cluster => "cluster",
        }
    }
}

/// A feature as a registry holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Feature {
    /// `[A-Za-z][A-Za-z0-9]*`, case matters.
    pub name: Cow<'static, str>,
    /// Oldest first.
    pub entries: Vec<Entry>,
    /// One sentence for help and documentation.
    pub description: Cow<'static, str>,
    /// Who answers questions about it.
    pub owner: Cow<'static, str>,
    /// Where to read more.
    pub links: Vec<Cow<'static, str>>,
    /// The feature adds or widens an API field.
    pub api: bool,
    /// Who switches it.
    pub scope: Scope,
}

impl Feature {
    /// A feature with a history and nothing said about it.
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

    /// The first version at which the value can no longer be changed.
    pub fn locked_since(&self) -> Option<Version> {
        self.entries
            .iter()
            .find(|entry| entry.lock_to_default)
            .map(|entry| entry.version)
    }

    /// The release in which a locked gate may go: it must still be possible to emulate the three
    /// releases before it, and all of them were locked.
    pub fn remove_in(&self) -> Option<Version> {
        self.locked_since()
            .map(|locked| locked.plus_minors(crate::EMULATED_MINORS))
    }

    /// Fills `min_compatibility` from the entry before, so that no later entry asks for less.
    pub(crate) fn complete(&mut self) {
        let mut inherited = None;
        for entry in &mut self.entries {
            entry.min_compatibility = entry.min_compatibility.or(inherited);
            inherited = entry.min_compatibility;
        }
    }
}

/// Whether a name follows `[A-Za-z][A-Za-z0-9]*` and [`NAME_LENGTH_MAX`].
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
