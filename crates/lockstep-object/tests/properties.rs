//! Properties of every document.

use lockstep_object::selector::{FieldSelector, LabelSelector};
use lockstep_object::{Map, Value, json};
use proptest::prelude::*;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>()
            .prop_map(|number| json::decode(number.to_string().as_bytes())
                .map_or(Value::Null, |it| it.value)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..8)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Arbitrary text, and text that is often a selector: arbitrary characters alone hardly ever are one.
fn selector_text() -> impl Strategy<Value = String> {
    let requirement =
        r"!?[a-c]( ?(=|==|!=|<|>) ?[a-c0-9]{0,2}| (in|notin) \([a-c]{0,2}(,[a-c]){0,2}\))?";
    let selector = prop::collection::vec(requirement, 1..4).prop_map(|all| all.join(","));
    prop_oneof![any::<String>(), selector]
}

proptest! {
    #[test]
    fn what_is_printed_is_read_as_it_was(value in value()) {
        let decoded = json::decode(&json::encode(&value));
        prop_assert_eq!(decoded, Ok(json::Decoded { value, duplicates: Vec::new() }));
    }

    #[test]
    fn numbers_of_other_readers_become_ours(value in value()) {
        let printed = json::encode(&value);
        let mut other: Value = serde_json::from_slice(&printed).expect("it is JSON");
        json::normalise_numbers(&mut other);
        prop_assert_eq!(other, value);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(decoded) = json::decode(&bytes) {
            prop_assert!(serde_json::from_slice::<Value>(&bytes).is_ok(), "{}", decoded.value);
        }
    }

    #[test]
    fn no_text_of_json_makes_the_reader_panic(text in r#"[\[\]{}:,"0-9eE.\-+\\utrfalsn ]{0,60}"#) {
        let ours = json::decode(text.as_bytes()).map(|decoded| json::encode(&decoded.value));
        prop_assert_eq!(ours.is_ok(), serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
    }

    #[test]
    fn a_printed_label_selector_means_the_same(text in r"[a-c!=<>(), inot1]{0,30}") {
        if let Ok(selector) = text.parse::<LabelSelector>() {
            prop_assert_eq!(selector.to_string().parse::<LabelSelector>(), Ok(selector));
        }
    }

    #[test]
    fn any_text_is_refused_or_a_selector_that_prints_and_parses_to_itself(text in selector_text()) {
        if let Ok(selector) = text.parse::<LabelSelector>() {
            prop_assert_eq!(selector.to_string().parse::<LabelSelector>(), Ok(selector));
        }
        if let Ok(selector) = text.parse::<FieldSelector>() {
            prop_assert_eq!(selector.to_string().parse::<FieldSelector>(), Ok(selector));
        }
    }
}

/// dependencies.md §3, JSON depth: every walk over the deepest document fits a small stack.
#[test]
fn the_deepest_document_fits_the_stack_of_any_thread() {
    let work = || {
        let text = format!("{}1{}", "{\"a\":[".repeat(250), "]}".repeat(250));
        let decoded = json::decode(text.as_bytes()).expect("500 levels are allowed");
        let copy = decoded.value.clone();
        assert_eq!(copy, decoded.value);
        assert_eq!(json::depth(&copy), json::DEPTH_MAX);
        assert_eq!(json::encode(&copy), text.as_bytes());
        assert_eq!(
            json::in_document_order(text.as_bytes(), vec!["z".to_owned(), "a".to_owned()]),
            ["a", "z"]
        );
    };
    let thread = std::thread::Builder::new()
        .stack_size(2 * 1024 * 1024)
        .spawn(work);
    thread
        .expect("a thread starts")
        .join()
        .expect("nothing overflowed");
}

/// api-machinery.md §9, strict decoding: unknown fields in document order
#[test]
fn unknown_fields_are_told_in_the_order_of_the_document() {
    let document = br#"{"z":{"b":1,"a":[{"y":1},{"x":2}]},"a":1}"#;
    let paths = ["a", "z.a[1].x", "z.a[0].y", "z.b", "q"]
        .map(str::to_owned)
        .to_vec();
    assert_eq!(
        json::in_document_order(document, paths),
        ["z.b", "z.a[0].y", "z.a[1].x", "a", "q"]
    );
}
