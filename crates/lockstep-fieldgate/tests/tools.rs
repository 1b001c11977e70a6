//! Tools for gates (field-gates.md §12): lint, explain, scan, switch, export and import.

#![expect(
    clippy::unwrap_used,
    reason = "a case file that does not fit its check is a failure"
)]

#[path = "rows/definition.rs"]
mod definition;
#[path = "tools/explain.rs"]
mod explain;
#[path = "tools/export.rs"]
mod export;
#[path = "tools/lint.rs"]
mod lint;
#[path = "tools/switch.rs"]
mod switch;
#[path = "tools/usage.rs"]
mod usage;

use lockstep_testkit::cases::CaseFile;

fn cases(name: &str) -> CaseFile {
    CaseFile::read(name).map(lockstep_object::json::normalise_numbers)
}
