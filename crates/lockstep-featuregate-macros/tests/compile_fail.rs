//! Compile errors: feature-gates.md §3, §7/declare, §0/U7 (`builder_cannot_be_read`),
//! feature-gates.md §5/run-time (`set_has_no_setter`), §7/second-guard (`guard_crosses_threads`).
//!
//! Each case begins with the text it must fail with. That text is the contract; the whole output next
//! to it also shows where the compiler points. `TRYBUILD=overwrite` renews the output only.
//!
//! The cases are here and not with the rules because trybuild builds a crate's test dependencies once
//! more, and this crate has few.

use std::{fs, path::Path};

#[test]
fn the_compiler_refuses_each_case() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}

#[test]
fn each_refusal_has_the_text_of_the_rule() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile_fail");
    let mut cases = 0;
    for file in fs::read_dir(folder).expect("the cases are there") {
        let case = file.expect("a file").path();
        if case.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let source = fs::read_to_string(&case).expect("a case is text");
        let first = source.lines().next().expect("a case has a first line");
        let text = first
            .strip_prefix("//! ")
            .expect("a case begins with its text");
        let output =
            fs::read_to_string(case.with_extension("stderr")).expect("a case has an output");
        let told = output.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            told.contains(text),
            "{}: expected {text:?} in\n{output}",
            case.display()
        );
        cases += 1;
    }
    assert!(cases >= 32, "only {cases} cases were found");
}
