//! Every row of `tests/rows.txt` is cited by a test, and every citation names a row.
//!
//! `LOCKSTEP_UPDATE=1` writes the places into the list.

use std::path::Path;

use lockstep_testkit::rows;

#[test]
fn every_row_is_cited_and_every_citation_is_of_a_row() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    rows::check(folder, |before| {
        !matches!(
            rows::sheet(before),
            Some("cel" | "etcd-api" | "feature-gates" | "field-gates" | "mutating-admission")
        )
    });
}
