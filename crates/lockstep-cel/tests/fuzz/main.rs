//! Random texts, data and schemas. Parser, checker and evaluator give a value or an error; checking types first changes no
//! value. The same bodies run under a coverage-guided fuzzer, see `fuzz/README.md`.
//!
//! `PROPTEST_CASES=1000000 cargo test --release -p lockstep-cel --test fuzz` runs for longer.

#![expect(unreachable_pub, reason = "the modules are shared with a library")]

mod generate;
mod harness;
mod words;

use generate::{Case, PIECES, TREE};
use proptest::prelude::*;

/// Bytes of which each form of input gets its share.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let choices = prop::collection::vec(any::<u8>(), 0..160);
    let tagged = |tag: u8| {
        move |rest: Vec<u8>| {
            let mut bytes = vec![tag];
            bytes.extend(rest);
            bytes
        }
    };
    prop_oneof![
        4 => choices.clone().prop_map(tagged(TREE)),
        2 => choices.clone().prop_map(tagged(PIECES)),
        1 => "[ -~é\n]{0,40}".prop_map(String::into_bytes),
        1 => choices,
    ]
}

proptest! {
    #[test]
    fn any_text_parses_or_is_refused(text in any::<String>()) {
        harness::parse(&text);
    }

    #[test]
    fn any_bytes_parse_or_are_refused(bytes in bytes()) {
        harness::parse(&Case::of(&bytes).text);
    }

    #[test]
    fn any_expression_and_schema_check_or_are_refused(bytes in bytes()) {
        harness::check(&Case::of(&bytes));
    }

    #[test]
    fn any_evaluation_ends_the_same_way_for_the_same_price(bytes in bytes()) {
        harness::evaluate(&Case::of(&bytes));
    }

    #[test]
    fn checking_types_changes_no_value(bytes in bytes()) {
        harness::differential(&Case::of(&bytes));
    }
}

/// The written form is what seeds of a fuzzer are made of.
#[test]
fn written_cases_are_read_back() {
    let (object, schema) = (
        serde_json::json!({"a": [1]}),
        serde_json::json!({"type": "object"}),
    );
    let case = Case::of(&Case::to_bytes("object.a", &object, &schema));
    assert_eq!(
        (case.text, case.object, case.schema),
        ("object.a".to_owned(), object, schema)
    );
}
