//! Findings of the rules on Rust files, and code that they leave alone.

use super::*;
use crate::tidy::{file, shown};

fn check_text(text: &str) -> Vec<String> {
    shown(check_file(&file("crates/x/src/a.rs", text)))
}

#[test]
fn a_file_without_a_module_doc_is_found() {
    let expected = [
        "crates/x/src/a.rs:1: has no module doc; say at the top, after `//!`, what the file is for",
    ];
    assert_eq!(check_text(""), expected);
    assert_eq!(check_text("fn a() {}\n"), expected);
    assert_eq!(check_text("/// Of the function.\nfn a() {}\n"), expected);
    assert_eq!(
        check_text("// Not a doc.\nmod a {\n    //! Inside.\n}\n"),
        expected
    );
    assert_eq!(check_text("//!\nfn a() {}\n"), expected);
}

#[test]
fn a_module_doc_may_follow_a_licence_comment_or_an_inner_attribute() {
    assert_eq!(check_text("//! What it is for.\n"), [""; 0]);
    assert_eq!(
        check_text("// Licence.\n#![no_std]\n//! What it is for.\n"),
        [""; 0]
    );
    assert_eq!(check_text("/*! What it is for. */\n"), [""; 0]);
}

#[test]
fn generated_files_fixtures_and_other_languages_are_left_alone() {
    for path in [
        "crates/x/src/gen/a.rs",
        "crates/x/tests/fixtures/a.rs",
        "docs/a.md",
    ] {
        assert_eq!(check_file(&file(path, "#[ignore] fn a() {}")), [], "{path}");
    }
}

#[test]
fn a_file_that_is_not_rust_is_found() {
    assert_eq!(
        check_text("//! A.\nfn a( {}\n"),
        ["crates/x/src/a.rs:1: is not Rust; put the syntax right"]
    );
}

#[test]
fn an_ignored_test_is_found_however_it_is_written() {
    for attribute in [
        "#[ignore]",
        "#[ignore = \"slow\"]",
        "#[cfg_attr(unix, ignore)]",
    ] {
        let text =
            format!("//! A.\nmod tests {{\n    #[test]\n    {attribute}\n    fn a() {{}}\n}}\n");
        assert_eq!(
            check_text(&text),
            [
                "crates/x/src/a.rs:4: a test is ignored; make it pass, or let it say `SKIPPED` with \
              the reason when it runs"
            ],
            "{attribute}"
        );
    }
}

#[test]
fn the_word_ignore_is_free_elsewhere() {
    let text =
        "//! A.\n// #[ignore]\n#[serde(ignore)]\nfn ignore() -> &'static str { \"#[ignore]\" }\n";
    assert_eq!(check_text(text), [""; 0]);
}

#[test]
fn a_silenced_lint_needs_a_reason() {
    let remedy = "write `#[expect(…, reason = \"…\")]`, or put right what the lint sees";
    for (attribute, name) in [
        ("#[allow(dead_code)]", "allow"),
        ("#[expect(dead_code)]", "expect"),
        ("#![allow(dead_code)]", "allow"),
        ("#[cfg_attr(test, allow(dead_code))]", "allow"),
    ] {
        let text = format!("//! A.\n{attribute}\nfn a() {{}}\n");
        let expected = format!("crates/x/src/a.rs:2: `{name}` without a reason; {remedy}");
        assert_eq!(check_text(&text), [expected], "{attribute}");
    }
}

#[test]
fn a_silenced_lint_with_a_reason_is_fine() {
    let text = "//! A.\n#[allow(dead_code, reason = \"x\")]\nfn a() { b.expect(\"y\"); allow(1) }\n\
                macro_rules! m { ($(#[$meta:meta])*) => { $(#[$meta])* } }\n";
    assert_eq!(check_text(text), [""; 0]);
}

#[test]
fn a_sleeping_test_is_found() {
    let in_test = |body: &str| format!("//! A.\n#[cfg(test)]\nmod tests {{\n{body}\n}}\n");
    for body in [
        "fn a() { std::thread::sleep(x); }",
        "use std::thread::sleep;",
        "use std::thread::{self, sleep};",
        "async fn a() { tokio::time::sleep(x).await }",
        "use tokio::time::{Instant, sleep};",
        "async fn a() { time::sleep(x).await }",
        "proptest! { fn a() { thread::sleep(x) } }",
    ] {
        assert_eq!(
            check_text(&in_test(body)),
            ["crates/x/src/a.rs:4: a test sleeps; hand in the time, or wait for the event itself"],
            "{body}"
        );
    }
}

#[test]
fn tests_are_told_by_attribute_and_by_place() {
    let sleeps = "//! A.\nfn a() { thread::sleep(x) }\n";
    assert_eq!(check_file(&file("crates/x/tests/a.rs", sleeps)).len(), 1);
    assert_eq!(
        check_file(&file("crates/x/src/a/tests.rs", sleeps)).len(),
        1
    );
    assert_eq!(check_file(&file("crates/x/src/a.rs", sleeps)), []);
    for (attribute, count) in [
        ("#[test]", 1),
        ("#[tokio::test]", 1),
        ("#[tokio::test(start_paused = true)]", 1),
        ("#[cfg(all(test, unix))]", 1),
        ("#[cfg(not(test))]", 0),
        ("#[cfg(unix)]", 0),
    ] {
        let text = format!("//! A.\n{attribute}\nfn a() {{ thread::sleep(x) }}\nfn b() {{}}\n");
        assert_eq!(check_text(&text).len(), count, "{attribute}");
    }
}

#[test]
fn what_follows_a_test_is_not_a_test() {
    let text = "//! A.\n#[cfg(test)]\nmod tests;\nfn a() { thread::sleep(x) }\n\
                #[test]\nfn b() {}\nfn c() { thread::sleep(x) }\n";
    assert_eq!(check_text(text), [""; 0]);
}

#[test]
fn a_function_past_the_limit_is_noted() {
    let function = |lines: usize| {
        format!(
            "//! A.\nimpl A {{\nfn a()\n{{\n{}}}\n}}\n",
            "\n".repeat(lines)
        )
    };
    assert_eq!(check_text(&function(67)), [""; 0]);
    assert_eq!(
        check_text(&function(68)),
        [
            "crates/x/src/a.rs:3: note: `a` is 71 lines long; past 70, ask which steps deserve a name"
        ]
    );
}

#[test]
fn a_signature_without_a_body_has_no_length() {
    let text = format!(
        "//! A.\ntrait A {{ fn a(); {} fn b() {{}} }}\n",
        "\n".repeat(80)
    );
    assert_eq!(check_text(&text), [""; 0]);
}
