//! Selection of the entry in effect.

use crate::{Entry, Version, feature::BEFORE_HISTORY};

/// The entry in effect at an emulation version and a minimum compatibility version: the last one that both allow.
/// Before the first entry the stage is `PreAlpha`.
///
/// `entries` carry inherited minimum compatibility versions, as a [`crate::Component`] completes them.
pub const fn resolve(entries: &[Entry], emulation: Version, min_compatibility: Version) -> Entry {
    let mut at = entries.len();
    while at > 0 {
        at -= 1;
        let entry = entries[at];
        if entry.version.ordinal() > emulation.ordinal() {
            continue;
        }
        match entry.min_compatibility {
            Some(needed) if min_compatibility.ordinal() < needed.ordinal() => {}
            _ => return entry,
        }
    }
    BEFORE_HISTORY
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Stage, v};

    const fn entry(version: Version, stage: Stage, default: bool, locked: bool) -> Entry {
        Entry {
            version,
            default,
            lock_to_default: locked,
            stage,
            min_compatibility: None,
        }
    }

    /// feature-gates.md §2/example, §2/resolve, §1/version.
    #[test]
    fn a_gate_walks_through_its_stages() {
        let entries = [
            entry(v(1, 30), Stage::Alpha, false, false),
            entry(v(1, 31), Stage::Beta, true, false),
            entry(v(1, 32), Stage::Ga, true, true),
        ];
        for (emulation, stage, default, locked) in [
            (v(1, 29), Stage::PreAlpha, false, false),
            (v(1, 30), Stage::Alpha, false, false),
            (v(1, 31), Stage::Beta, true, false),
            (v(1, 32), Stage::Ga, true, true),
            (v(1, 33), Stage::Ga, true, true),
            (v(1, 9), Stage::PreAlpha, false, false), // 1.9 is before 1.30: numbers, not text
            (v(2, 0), Stage::Ga, true, true),
        ] {
            let held = resolve(&entries, emulation, emulation.minus_minors(1));
            assert_eq!(
                (held.stage, held.default, held.lock_to_default),
                (stage, default, locked),
                "{emulation}"
            );
        }
    }

    /// feature-gates.md §2/skew, §1/min-compatibility: the GA entry inherits the minimum of the one before.
    #[test]
    fn an_entry_that_needs_newer_peers_is_skipped() {
        let mut feature = crate::Feature::new(
            "Skew",
            [
                entry(v(1, 35), Stage::Beta, false, false),
                Entry {
                    min_compatibility: Some(v(1, 35)),
                    ..entry(v(1, 35), Stage::Beta, true, false)
                },
                entry(v(1, 37), Stage::Ga, true, false),
            ],
        );
        feature.complete();
        for (emulation, min, used, default) in [
            (v(1, 35), v(1, 34), 0, false),
            (v(1, 35), v(1, 35), 1, true),
            (v(1, 37), v(1, 36), 2, true),
            (v(1, 37), v(1, 34), 0, false),
        ] {
            let held = resolve(&feature.entries, emulation, min);
            assert_eq!(
                (held, held.default),
                (feature.entries[used], default),
                "{emulation} {min}"
            );
        }
    }
}
