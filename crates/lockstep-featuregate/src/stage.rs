//! How mature a feature is.

use std::fmt;

/// A feature's maturity at one version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stage {
    /// Not available at the version asked for. Computed, never declared.
    PreAlpha,
    /// Off unless somebody asks for it.
    Alpha,
    /// Complete; usually on, always switchable.
    Beta,
    /// Finished: on, and usually locked.
    Ga,
    /// On its way out: off, then locked off, then removed.
    Deprecated,
}

impl Stage {
    /// The stages a history may declare.
    pub const DECLARABLE: [Stage; 4] = [Stage::Alpha, Stage::Beta, Stage::Ga, Stage::Deprecated];

    /// The name in registry files, tables and JSON: `Alpha`, `Beta`, `GA`, `Deprecated`.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::PreAlpha => "PreAlpha",
            Stage::Alpha => "Alpha",
            Stage::Beta => "Beta",
            Stage::Ga => "GA",
            Stage::Deprecated => "Deprecated",
        }
    }

    /// The label in metrics and help: `ALPHA`, `BETA`, `DEPRECATED`, and empty for GA.
    pub const fn label(self) -> &'static str {
        match self {
            Stage::PreAlpha => "PRE-ALPHA",
            Stage::Alpha => "ALPHA",
            Stage::Beta => "BETA",
            Stage::Ga => "",
            Stage::Deprecated => "DEPRECATED",
        }
    }

    /// The label inside a sentence, where GA needs a word too.
    pub(crate) const fn spoken(self) -> &'static str {
        match self {
            Stage::Ga => "GA",
            other => other.label(),
        }
    }

    /// Reads the name a registry file uses; `PreAlpha` cannot be declared.
    pub fn from_name(name: &str) -> Option<Stage> {
        Self::DECLARABLE
            .into_iter()
            .find(|stage| stage.name() == name)
    }

    /// What a feature may lean on: never on something less stable than itself.
    pub(crate) const fn stability(self) -> u8 {
        match self {
            Stage::Deprecated => 0,
            Stage::PreAlpha | Stage::Alpha => 1,
            Stage::Beta => 2,
            Stage::Ga => 3,
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
