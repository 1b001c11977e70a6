//! API lifecycle table: the versions in which APIs were introduced and removed.

use std::collections::HashMap;
use std::sync::LazyLock;

use lockstep_featuregate::Version;

const TEXT: &str = include_str!("../../data/lifecycles.txt");

/// The core group in the table.
const CORE: &str = "core";

/// The versions between which an API exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lifecycle {
    /// The first version that has it.
    pub introduced: Version,
    /// The first version that has it no more, if there is one.
    pub removed: Option<Version>,
}

impl Lifecycle {
    /// It was always there.
    pub const ALWAYS: Self = Self {
        introduced: Version::ZERO,
        removed: None,
    };

    /// True if the API is removed in a version.
    pub(super) fn is_over(&self, at: Version) -> bool {
        self.removed.is_some_and(|removed| removed <= at)
    }
}

/// Lifecycle of a kind in a version of its group; none if the table lacks it.
pub fn lifecycle(group: &str, version: &str, kind: &str) -> Option<Lifecycle> {
    type Key = (&'static str, &'static str, &'static str);
    static TABLE: LazyLock<HashMap<Key, Lifecycle>> = LazyLock::new(|| {
        let rows = read(TEXT).expect("the table is checked by a test");
        rows.into_iter().collect()
    });
    TABLE.get(&(group, version, kind)).copied()
}

/// One row: group, version and kind, and what is known about it.
type Row<'a> = ((&'a str, &'a str, &'a str), Lifecycle);

/// The rows of a table; none if a line is not what it should be.
fn read(text: &str) -> Option<Vec<Row<'_>>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let rows = lines.map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let (&[group, version, kind, introduced], removed) = words.split_first_chunk()?;
        let removed = match removed {
            [] => None,
            [removed] => Some(Version::parse(removed).ok()?),
            _ => return None,
        };
        let group = if group == CORE { "" } else { group };
        let introduced = Version::parse(introduced).ok()?;
        Some((
            (group, version, kind),
            Lifecycle {
                introduced,
                removed,
            },
        ))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use lockstep_featuregate::v;

    use super::*;

    #[test]
    fn the_table_is_one_fact_a_line_in_order() {
        let rows = read(TEXT).unwrap();
        let lines: Vec<&str> = TEXT.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(rows.len(), lines.len());
        assert!(lines.is_sorted());
        for pair in rows.windows(2) {
            assert_ne!(pair[0].0, pair[1].0);
        }
        for (
            name,
            Lifecycle {
                introduced,
                removed,
            },
        ) in rows
        {
            assert!(
                removed.is_none_or(|removed| introduced < removed),
                "{name:?}"
            );
        }
    }

    #[test]
    fn kinds_of_the_last_releases_are_known() {
        for (group, version, kind, introduced, removed) in [
            ("", "v1", "Pod", v(1, 0), None),
            ("resource.k8s.io", "v1", "DeviceClass", v(1, 34), None),
            ("networking.k8s.io", "v1", "ServiceCIDR", v(1, 33), None),
            (
                "networking.k8s.io",
                "v1beta1",
                "IPAddress",
                v(1, 31),
                Some(v(1, 37)),
            ),
        ] {
            let expected = Lifecycle {
                introduced,
                removed,
            };
            assert_eq!(
                lifecycle(group, version, kind),
                Some(expected),
                "{group}/{kind}"
            );
        }
        assert_eq!(lifecycle("", "v1", "Nothing"), None);
    }

    #[test]
    fn a_line_that_is_no_row_is_seen() {
        for text in [
            "apps v1 Deployment",
            "apps v1 Deployment 1",
            "a v1 B 1.2 1.3 1.4",
            "",
        ] {
            assert_eq!(read(&format!("{text}\n")), None, "{text}");
        }
    }
}
