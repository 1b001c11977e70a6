//! Stages of a feature.

use std::fmt;

/// Stage of a feature at one version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stage {
    /// The feature does not exist at the version. Computed, never declared.
    PreAlpha,
    /// Off by default.
    Alpha,
    /// Complete; usually on by default, always switchable.
    Beta,
    /// On by default, and usually locked.
    Ga,
    /// To be removed: off, then locked off, then removed.
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

    /// Parses the name in registry files; `PreAlpha` cannot be declared.
    pub fn from_name(name: &str) -> Option<Stage> {
        Self::DECLARABLE
            .into_iter()
            .find(|stage| stage.name() == name)
    }

    /// Rank of stability: a feature must not depend on a less stable one.
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
