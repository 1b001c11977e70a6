//! Ratchets: places that do not follow a rule yet, with the number of findings they may have at most.

use super::finding::Finding;

/// A path prefix and the number of findings it may have. Rows may only shrink.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    pub(super) prefix: &'static str,
    pub(super) max: usize,
}

pub(super) const fn allow(prefix: &'static str, max: usize) -> Allowance {
    Allowance { prefix, max }
}

/// Drops the findings that `table` allows. Past its number, all findings of a prefix are returned; below it, a
/// note says to lower the number. A path belongs to the first row that is a prefix of it. `place` is the file
/// that holds the table.
pub(super) fn hold(findings: Vec<Finding>, table: &[Allowance], place: &str) -> Vec<Finding> {
    let mut held: Vec<Vec<Finding>> = table.iter().map(|_| Vec::new()).collect();
    let mut free = Vec::new();
    for finding in findings {
        let row = table
            .iter()
            .position(|row| finding.path.starts_with(row.prefix));
        match row {
            Some(row) => held[row].push(finding),
            None => free.push(finding),
        }
    }
    for (row, mut findings) in table.iter().zip(held) {
        let (count, Allowance { prefix, max }) = (findings.len(), row);
        if count > *max {
            free.append(&mut findings);
            let what = format!("`{prefix}` has {count} such places, {max} are allowed");
            let remedy = "change the ones that are new";
            free.push(Finding::problem(place, 1, what, remedy));
        } else if count < *max {
            let what = format!("`{prefix}` has {count} such places, {max} are allowed");
            free.push(Finding::note(
                place,
                1,
                what,
                "lower the number in the table",
            ));
        }
    }
    free
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::shown;

    const TABLE: &[Allowance] = &[allow("crates/x/src/", 2), allow("crates/x/", 0)];

    fn held(paths: &[&str]) -> Vec<String> {
        let findings = paths
            .iter()
            .map(|path| Finding::problem(path, 3, "is wrong", "mend it"));
        shown(hold(findings.collect(), TABLE, "table.rs"))
    }

    #[test]
    fn the_allowed_number_is_silent_and_a_place_without_a_row_is_not() {
        assert_eq!(held(&["crates/x/src/a.rs", "crates/x/src/b.rs"]), [""; 0]);
        let found = held(&["crates/x/src/a.rs", "crates/x/src/b.rs", "docs/a.md"]);
        assert_eq!(found, ["docs/a.md:3: is wrong; mend it"]);
    }

    #[test]
    fn one_more_than_allowed_shows_all_of_them() {
        let found = held(&[
            "crates/x/src/a.rs",
            "crates/x/src/a.rs",
            "crates/x/src/b.rs",
        ]);
        assert_eq!(found.len(), 4);
        assert_eq!(
            found[3],
            "table.rs:1: `crates/x/src/` has 3 such places, 2 are allowed; change the ones that are new"
        );
        assert_eq!(
            held(&[
                "crates/x/src/a.rs",
                "crates/x/src/b.rs",
                "crates/x/tests/a.rs"
            ])
            .len(),
            2
        );
    }

    #[test]
    fn fewer_than_allowed_is_a_note_to_lower_the_number() {
        assert_eq!(
            held(&["crates/x/src/a.rs"]),
            [
                "table.rs:1: note: `crates/x/src/` has 1 such places, 2 are allowed; lower the number in the table"
            ]
        );
    }
}
