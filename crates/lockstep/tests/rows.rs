//! Every row of field-gates.md in `tests/rows.txt` is cited by a test, and every citation names a row.
//!
//! `LOCKSTEP_UPDATE=1` writes the places into the list.

use std::path::Path;

#[test]
fn every_row_is_cited_and_every_citation_is_of_a_row() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    lockstep_testkit::rows::check(folder, |before| before.ends_with("field-gates.md "));
}
