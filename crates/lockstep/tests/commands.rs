//! Runs the commands in `tests/cmd/` and in the documentation, and compares what they print.
//! `docs/concepts/life-of-a-gate.md` is feature-gates.md §12/life-of-a-gate.
//!
//! `TRYCMD=overwrite cargo test -p lockstep --test commands` rewrites the expectations; read the
//! difference line by line before you commit it.

mod stores;

use std::path::Path;

#[test]
fn commands_print_what_their_cases_and_the_documentation_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::set_current_dir(&root).expect("the root of the repository exists");
    let _held = stores::make(Path::new("target/store-cases"));
    let cases = trycmd::TestCases::new();
    cases.env("COLUMNS", "100");
    cases.env("RUST_LOG", "error");
    cases.case("crates/lockstep/tests/cmd/*.md");
    cases.case("docs/concepts/*.md");
    cases.case("docs/tutorials/first-mutation.md");
}
