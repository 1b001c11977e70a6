//! Rules of a history, checked at compile time for declared gates and at load time for registry files by the same
//! function.

use crate::{Entry, Stage, Version, text::Text};

/// A violated rule at an entry of a history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Violation {
    NoEntries,
    InvalidName,
    ReservedName,
    MinCompatibilityWithoutPlainEntry { min: Version },
    MinCompatibilityAboveVersion { min: Version, version: Version },
    MinCompatibilityFalls { min: Version, before: Version },
    IntroducedDeprecated,
    VersionFalls { version: Version, before: Version },
    Duplicate { version: Version },
    StageChangesWithinVersion { before: Stage, after: Stage },
    LockChangesWithinVersion { before: bool, after: bool },
    NothingChanges { before: Version, after: Version },
    Unlocks,
    Resurrects,
    Regresses { to: Stage, version: Version },
}

/// The first rule that entry `at` violates.
pub(crate) const fn violation_at(entries: &[Entry], at: usize) -> Option<Violation> {
    let entry = entries[at];
    if let Some(min) = entry.min_compatibility {
        if at == 0 || !same(entries[at - 1].version, entry.version) {
            return Some(Violation::MinCompatibilityWithoutPlainEntry { min });
        }
        if less(entry.version, min) {
            let version = entry.version;
            return Some(Violation::MinCompatibilityAboveVersion { min, version });
        }
    }
    if at == 0 {
        let deprecated = matches!(entry.stage, Stage::Deprecated);
        let introduced = deprecated && entry.version.minor() != 0;
        return if introduced {
            Some(Violation::IntroducedDeprecated)
        } else {
            None
        };
    }
    transition_violation(entries, at)
}

const fn transition_violation(entries: &[Entry], at: usize) -> Option<Violation> {
    let (before, entry) = (entries[at - 1], entries[at]);
    let min_before = inherited_min(entries, at - 1);
    if less(entry.version, before.version) {
        let (version, before) = (entry.version, before.version);
        return Some(Violation::VersionFalls { version, before });
    }
    if let (Some(min), Some(min_before)) = (entry.min_compatibility, min_before)
        && less(min, min_before)
    {
        return Some(Violation::MinCompatibilityFalls {
            min,
            before: min_before,
        });
    }
    if same(entry.version, before.version)
        && let Some(violation) = same_version_violation(before, min_before, entry)
    {
        return Some(violation);
    }
    if same_stage(entry.stage, before.stage)
        && entry.default == before.default
        && entry.lock_to_default == before.lock_to_default
    {
        let (before, after) = (before.version, entry.version);
        return Some(Violation::NothingChanges { before, after });
    }
    stability_violation(entries, at)
}

const fn same_version_violation(
    before: Entry,
    min_before: Option<Version>,
    entry: Entry,
) -> Option<Violation> {
    let same_min = match (entry.min_compatibility, min_before) {
        (None, None) => true,
        (Some(a), Some(b)) => same(a, b),
        _ => false,
    };
    if same_min {
        return Some(Violation::Duplicate {
            version: entry.version,
        });
    }
    if !same_stage(entry.stage, before.stage) {
        let (before, after) = (before.stage, entry.stage);
        return Some(Violation::StageChangesWithinVersion { before, after });
    }
    if entry.lock_to_default != before.lock_to_default {
        let (before, after) = (before.lock_to_default, entry.lock_to_default);
        return Some(Violation::LockChangesWithinVersion { before, after });
    }
    None
}

const fn stability_violation(entries: &[Entry], at: usize) -> Option<Violation> {
    let entry = entries[at];
    let (mut was_beta, mut was_ga, mut was_deprecated, mut was_locked) =
        (false, false, false, false);
    let mut earlier = 0;
    while earlier < at {
        match entries[earlier].stage {
            Stage::Beta => was_beta = true,
            Stage::Ga => was_ga = true,
            Stage::Deprecated => was_deprecated = true,
            Stage::PreAlpha | Stage::Alpha => {}
        }
        was_locked |= entries[earlier].lock_to_default;
        earlier += 1;
    }
    if was_locked && !entry.lock_to_default {
        return Some(Violation::Unlocks);
    }
    let regresses = match entry.stage {
        Stage::Alpha => was_beta || was_ga,
        Stage::Beta => was_ga,
        Stage::PreAlpha | Stage::Ga | Stage::Deprecated => false,
    };
    match entry.stage {
        Stage::Deprecated => None,
        _ if was_deprecated => Some(Violation::Resurrects),
        to if regresses => Some(Violation::Regresses {
            to,
            version: entry.version,
        }),
        _ => None,
    }
}

/// The effective minimum of an entry: its own or the nearest previous one.
const fn inherited_min(entries: &[Entry], mut at: usize) -> Option<Version> {
    loop {
        if entries[at].min_compatibility.is_some() || at == 0 {
            return entries[at].min_compatibility;
        }
        at -= 1;
    }
}

const fn same(a: Version, b: Version) -> bool {
    a.ordinal() == b.ordinal()
}

const fn less(a: Version, b: Version) -> bool {
    a.ordinal() < b.ordinal()
}

const fn same_stage(a: Stage, b: Stage) -> bool {
    a as u8 == b as u8
}

impl Violation {
    /// Error text for users and the compiler. Tools match it: it is a contract.
    pub(crate) const fn text(self, name: &str) -> Text {
        let feature = Text::new().str("feature \"").str(name).str("\" ");
        match self {
            Violation::NoEntries => feature.str("lists no entries"),
            Violation::InvalidName => {
                feature.str("has an invalid name: use [A-Za-z][A-Za-z0-9]*, at most 100 characters")
            }
            Violation::ReservedName => feature.str("has a reserved name"),
            Violation::MinCompatibilityWithoutPlainEntry { min } => feature
                .str("specified MinCompatibilityVersion: ")
                .version(min)
                .str(
                    " without a preceding entry at the same Version without \
                     MinCompatibilityVersion set",
                ),
            Violation::MinCompatibilityAboveVersion { min, version } => feature
                .str("MinCompatibilityVersion ")
                .version(min)
                .str(" greater than Version ")
                .version(version),
            Violation::MinCompatibilityFalls { min, before } => feature
                .str("lists min compatibility version transitions in decreasing order (")
                .version(min)
                .str(" < ")
                .version(before)
                .str(")"),
            Violation::IntroducedDeprecated => feature
                .str("introduced as deprecated must provide a 1.0 entry indicating initial state"),
            Violation::VersionFalls { version, before } => feature
                .str("lists version transitions in decreasing order (")
                .version(version)
                .str(" < ")
                .version(before)
                .str(")"),
            Violation::Duplicate { version } => feature
                .str("lists duplicate entries with the same versions (")
                .version(version)
                .str(" = ")
                .version(version)
                .str(")"),
            Violation::StageChangesWithinVersion { before, after } => feature
                .str("lists stability changes with the same version (")
                .str(before.spoken())
                .str(" -> ")
                .str(after.spoken())
                .str(")"),
            Violation::LockChangesWithinVersion { before, after } => feature
                .str("lists locked to default changes with the same version (")
                .bool(before)
                .str(" -> ")
                .bool(after)
                .str(")"),
            Violation::NothingChanges { before, after } => feature
                .str("lists transition without stability change (")
                .version(before)
                .str(" -> ")
                .version(after)
                .str(")"),
            Violation::Unlocks => feature.str("must not unlock after locking to default"),
            Violation::Resurrects => Text::new()
                .str("deprecated feature \"")
                .str(name)
                .str("\" must not resurrect from its terminal state"),
            Violation::Regresses { to, version } => feature
                .str("regresses stability from more stable level to ")
                .str(to.spoken())
                .str(" in ")
                .version(version),
        }
    }
}
