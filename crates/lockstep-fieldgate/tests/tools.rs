//! What people do with gates besides writing objects (field-gates.md §12): lint, explain, count, switch, carry away.

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

use serde_json::Value;

/// The cases of a file.
fn cases(name: &str) -> Vec<Value> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let text = std::fs::read_to_string(path.join(name)).unwrap();
    let options = serde_saphyr::options! { with_snippet: false };
    let mut cases: Value = serde_saphyr::from_str_with_options(&text, options).unwrap();
    lockstep_object::json::normalise_numbers(&mut cases);
    let cases = cases.as_array().unwrap();
    assert!(!cases.is_empty(), "{name} has no case");
    cases.clone()
}
