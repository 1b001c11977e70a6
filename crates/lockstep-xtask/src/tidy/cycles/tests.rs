//! Cycles that are found, and imports that are none.

use super::*;
use crate::tidy::{file, shown};

/// A file of one import and many lines.
fn module(name: &str, text: &str, lines: usize) -> SourceFile {
    let text = format!("//! A.\n{text}\n{}", "\n".repeat(lines));
    file(&format!("crates/x/src/{name}.rs"), &text)
}

const LIB: &str = "//! L.\nmod a;\nmod b;\npub use b::Thing;\n";

fn found(files: &[SourceFile]) -> Vec<String> {
    shown(check_with(files, &[]))
}

fn with_import(text: &str) -> usize {
    let files = [
        file("crates/x/src/lib.rs", LIB),
        module("a", text, 2_000),
        module("b", "use crate::a::A;", 2_000),
        module("b/c", "", 1),
    ];
    found(&files).len()
}

#[test]
fn a_cycle_past_the_limit_is_found_with_the_import_to_cut() {
    let files = [
        file("crates/x/src/lib.rs", LIB),
        module("a", "use crate::b::{B, c::C};", 2_000),
        module("b/mod", "use crate::a::A;", 1_000),
        module("b/c", "", 1_000),
        module("d", "use crate::a::A;", 1_000),
    ];
    assert_eq!(
        found(&files),
        [
            "crates/x/src:1: 2 modules with 4006 lines import each other: a, b; 3000 lines are allowed; cut \
             `b -> a` (1 imports, crates/x/src/b/mod.rs:2)"
        ]
    );
}

#[test]
fn imports_are_found_in_every_form() {
    for (text, count) in [
        ("use crate::b::B;", 1),
        ("use super::b::B;", 1),
        ("use crate::{b::{self, B}, z};", 1),
        ("fn f() { crate::b::f(); }", 1),
        ("fn f(x: &super::b::B) {}", 1),
        ("use crate::Thing;", 1),
        ("use crate::b::c::C;", 1),
        ("use std::b::B;", 0),
        ("// crate::b::B", 0),
        ("const X: &str = \"crate::b::B\";", 0),
        ("#[cfg(test)]\nmod tests { use crate::b::B; }", 0),
        ("#[cfg(test)]\nuse crate::b::B;", 0),
    ] {
        assert_eq!(with_import(text), count, "{text}");
    }
}

#[test]
fn parents_and_children_tests_and_small_cycles_are_fine() {
    let files = [
        file("crates/x/src/lib.rs", "//! L.\nmod a;\nuse a::b::B;\n"),
        module("a", "use b::B;\nuse self::b::C;", 4_000),
        module("a/b", "use super::A;\nuse crate::L;", 4_000),
        module("a/tests", "use super::b::B;", 4_000),
    ];
    assert_eq!(found(&files), [""; 0]);
    let files = [
        module("a", "use crate::b::B;", 1_000),
        module("b", "use crate::a::A;", 1_000),
    ];
    assert_eq!(found(&files), [""; 0]);
}

#[test]
fn modules_below_a_folder_are_compared_too() {
    let files = [
        module("z/a", "use super::b::B;", 2_000),
        module("z/b", "use crate::z::a::A;", 2_000),
    ];
    let found = found(&files);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("crates/x/src/z:1: 2 modules with 4004 lines"),
        "{found:?}"
    );
}

#[test]
fn an_exception_bounds_its_cycle_and_goes_with_it() {
    let files = [
        module("a", "use crate::b::B;", 2_000),
        module("b", "use crate::a::A;", 2_000),
    ];
    let row = |lines_max| Exception {
        krate: "x",
        folder: "",
        lines_max,
        reason: "is being cut",
    };
    assert_eq!(check_with(&files, &[row(4_100)]), []);
    assert_eq!(
        check_with(&files, &[row(4_000)])[0].severity,
        crate::tidy::Severity::Problem
    );
    assert_eq!(
        shown(check_with(&files, &[row(9_000)])),
        [
            "crates/lockstep-xtask/src/tidy/cycles.rs:1: note: the cycle in `x/src/` has 4004 lines, 9000 are \
             allowed (is being cut); lower the bound"
        ]
    );
    assert_eq!(
        shown(check_with(&[], &[row(4_100)])),
        [
            "crates/lockstep-xtask/src/tidy/cycles.rs:1: note: `x` has no cycle in `src/`; remove the exception"
        ]
    );
}
