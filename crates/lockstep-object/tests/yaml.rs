//! YAML as kubectl reads it: every row of the table.

use lockstep_object::json;
use lockstep_object::yaml::{self, DecodedYaml, YamlError};
use proptest::prelude::*;
use serde_json::{Value, json};

fn value(text: &str) -> Value {
    match yaml::decode(text.as_bytes()) {
        Ok(decoded) => decoded.value,
        Err(error) => Value::from(error.to_string()),
    }
}

/// dependencies.md §2
#[test]
fn scalars_are_what_kubectl_takes_them_for() {
    let cases = [
        ("[yes, On, y, off]", json!([true, true, true, false])),
        ("0644", json!(420)),
        (
            "[0o644, 0x1F, 0b101, 1_000, +12]",
            json!([420, 31, 5, 1000, 12]),
        ),
        ("08", json!(8)),
        ("[1.0, 1e3]", json!([1, 1000])),
        ("18446744073709551615", json!(1.844_674_407_370_955_2e19)),
        ("100000000000000000000", json!(1e20)),
        (
            "['12:30:45', 12:30:45, 2024-01-01]",
            json!(["12:30:45", "12:30:45", "2024-01-01"]),
        ),
        (
            "{1: a, true: b, n: c}",
            json!({"1": "a", "true": "b", "false": "c"}),
        ),
        ("\"yes\"", json!("yes")),
        ("[~, null, '']", json!([null, null, ""])),
        ("!custom x", json!("x")),
        ("!!binary YWJj", json!("abc")),
        ("!!set {a, b}", json!({"a": null, "b": null})),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text), expected, "{text}");
    }
}

/// dependencies.md §2
#[test]
fn documents_are_read_as_kubectl_reads_them() {
    assert_eq!(
        value("x: &x {a: 1}\ny1: {<<: *x, b: 2}\n"),
        json!({"x": {"a": 1}, "y1": {"a": 1, "b": 2}})
    );
    assert_eq!(value("\u{feff}a: 1\r\nb:\t2\r\n"), json!({"a": 1, "b": 2}));
    assert_eq!(value("# only a comment\n---\na: 1\n"), json!({"a": 1}));
    // kubectl reads a number beyond all doubles as text; it is rejected here, so that it is not stored by accident.
    for text in [".inf", ".nan", "-.inf", "1.79e309"] {
        let error = yaml::decode(text.as_bytes())
            .expect_err("it is no number of JSON")
            .to_string();
        assert!(
            error.starts_with("error converting YAML to JSON: yaml: "),
            "{error}"
        );
    }
    assert!(matches!(
        yaml::decode(b"a: 1\n---\nb: 2\n"),
        Err(YamlError::Syntax(_))
    ));
    assert!(matches!(
        yaml::decode(b"a: \xff\n"),
        Err(YamlError::Syntax(_))
    ));
}

/// dependencies.md §2 and api-machinery.md §9: the last of two wins, strict validation names the line
#[test]
fn a_key_that_stands_twice_is_told_by_its_line() {
    let decoded = yaml::decode(b"spec:\n  a: 1\n  b: 2\nx: 1\n# c\nx: 2\nl: [{q: 1, q: 3}]\n");
    let expected = DecodedYaml {
        value: json!({"spec": {"a": 1, "b": 2}, "x": 2, "l": [{"q": 3}]}),
        duplicates: vec![
            "line 6: key \"x\" already set in map".to_owned(),
            "line 7: key \"q\" already set in map".to_owned(),
        ],
    };
    assert_eq!(decoded, Ok(expected));
}

/// dependencies.md §2: an alias bomb is refused with a named limit
#[test]
fn a_bomb_of_aliases_is_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    assert!(matches!(
        yaml::decode(text.as_bytes()),
        Err(YamlError::Syntax(_))
    ));
}

#[test]
fn nesting_ends_at_the_limit_within_the_stack_that_is_promised() {
    let work = || {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        let deepest =
            yaml::decode(nested(yaml::YAML_DEPTH_MAX).as_bytes()).expect("the limit is allowed");
        assert_eq!(json::depth(&deepest.value), yaml::YAML_DEPTH_MAX);
        assert_eq!(
            yaml::decode(nested(yaml::YAML_DEPTH_MAX + 1).as_bytes()),
            Err(YamlError::Depth)
        );
        assert!(yaml::decode(nested(100_000).as_bytes()).is_err());
        let block: String = (0..1_000)
            .map(|level| format!("{}a:\n", " ".repeat(level)))
            .collect();
        assert!(yaml::decode(block.as_bytes()).is_err());
    };
    let thread = std::thread::Builder::new()
        .stack_size(yaml::YAML_STACK_BYTES)
        .spawn(work);
    thread
        .expect("a thread starts")
        .join()
        .expect("nothing overflowed");
}

/// dependencies.md §2: output with sorted keys; what would read as another type is quoted
#[test]
fn texts_that_look_like_something_else_are_quoted() {
    let value =
        json!({"b": ["yes", "0644", "1e3", "null", "n", "a: b", ""], "a": {"x": 1, "on": true}});
    let text = yaml::encode(&value);
    assert!(text.starts_with("a:"), "{text}");
    assert_eq!(
        yaml::decode(text.as_bytes()).map(|decoded| decoded.value),
        Ok(value)
    );
}

#[test]
fn what_is_written_keeps_within_its_limit() {
    let value = json!({"a": [[[["deep"]]]], "b": "text"});
    let text = yaml::encode(&value);
    assert_eq!(yaml::encode_within(&value, text.len()), Some(text.clone()));
    assert_eq!(yaml::encode_within(&value, text.len() - 1), None);
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~\n\té]{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "yes", "No", "~", "0x1F", "1_0", "1:2", "<<", "=", "-", ".5", "+.inf"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z .:/0-9]{1,6}|yes|n", inner, 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Decodes `bytes`, and checks that a decoded value is the same after it was encoded and decoded again.
fn survives_a_rewrite(bytes: &[u8]) -> Result<(), TestCaseError> {
    let Ok(decoded) = yaml::decode(bytes) else {
        return Ok(());
    };
    let text = yaml::encode(&decoded.value);
    let again = yaml::decode(text.as_bytes()).map(|decoded| decoded.value);
    prop_assert_eq!(again, Ok(decoded.value), "{}", text);
    Ok(())
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_it_was(value in any_value()) {
        let text = yaml::encode(&value);
        prop_assert_eq!(yaml::decode(text.as_bytes()).map(|decoded| decoded.value), Ok(value), "{}", text);
    }

    #[test]
    fn json_is_yaml(value in any_value()) {
        let text = json::encode(&value);
        prop_assert_eq!(yaml::decode(&text).map(|decoded| decoded.value), Ok(value));
    }

    #[test]
    fn any_bytes_are_refused_or_a_value_that_can_be_written(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        survives_a_rewrite(&bytes)?;
    }

    #[test]
    fn any_text_of_yaml_is_refused_or_a_value_that_can_be_written(
        text in r#"[\[\]{}:,"'&*!|>%@`#?<\-a-c0-9 \n\t]{0,60}"#,
    ) {
        survives_a_rewrite(text.as_bytes())?;
    }
}
