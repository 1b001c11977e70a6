//! Columns of tables, and the paths behind them.

use lockstep_object::json_path::JsonPath;
use lockstep_object::metadata::Seconds;
use lockstep_object::table::{self, ColumnType};
use proptest::prelude::*;
use serde_json::{Value, json};

fn object() -> Value {
    json!({
        "metadata": {"annotations": {"a.b/c": "dotted"}, "creationTimestamp": "2024-01-01T00:00:00Z"},
        "spec": {"n": 3, "f": 1.5, "t": true, "name": "x", "l": [{"k": "a", "v": 1}, {"k": "b", "v": 2}, {"k": "c"}], "none": null},
        "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
    })
}

fn found(path: &str) -> Value {
    let object = object();
    match path.parse::<JsonPath>() {
        Ok(path) => path.find(&object).into_iter().cloned().collect(),
        Err(error) => Value::from(error.to_string()),
    }
}

/// dependencies.md §3, `JSONPath`
#[test]
fn paths_are_kubectls() {
    let cases = [
        (".spec.name", json!(["x"])),
        ("{.spec.name}", json!(["x"])),
        (".spec['name']", json!(["x"])),
        (".spec['name','n', 'name']", json!(["x", 3])),
        (r".metadata.annotations.a\.b/c", json!(["dotted"])),
        (".metadata.annotations['a.b/c']", json!(["dotted"])),
        (".spec.l[0].k", json!(["a"])),
        (".spec.l[-1].k", json!(["c"])),
        (".spec.l[*].v", json!([1, 2])),
        (".spec.l[1:].k", json!(["b", "c"])),
        (".spec.l[0:3:2].k", json!(["a", "c"])),
        (".spec.l[-2:-1].k", json!(["b"])),
        (".spec.l[9].k", json!([])),
        (".spec.l[?(@.k==\"b\")].v", json!([2])),
        (".spec.l[?(@.v>=2)].k", json!(["b"])),
        (".spec.l[?(@.v)].k", json!(["a", "b"])),
        (".spec.l[?(@.k!='a')].k", json!(["b", "c"])),
        (
            ".status.conditions[?(@.type==\"Ready\")].status",
            json!(["True"]),
        ),
        (".spec.none", json!([null])),
        (".spec.missing.x", json!([])),
        (".spec.name.x", json!([])),
        (".", json!([object()])),
        ("spec", json!("expected `.` or `[` at byte 0 of `spec`")),
        (".spec..k", json!(["a", "b", "c"])),
        (
            "..status",
            json!([{"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]}, "True", "False"]),
        ),
        ("..l[1].v", json!([2])),
        (
            ".metadata..*",
            json!([{"a.b/c": "dotted"}, "2024-01-01T00:00:00Z", "dotted"]),
        ),
        (".spec.name..", json!(["x"])),
        (".spec.missing..x", json!([])),
        ("..spec..k..", json!(["a", "b", "c"])),
        (
            ".spec....k",
            json!("invalid multiple recursive descent at byte 9 of `.spec....k`"),
        ),
        (
            "..a..b..c..d..e",
            json!("too many recursive descents at byte 14 of `..a..b..c..d..e`"),
        ),
        (".spec.l[0", json!("expected `]` at byte 9 of `.spec.l[0`")),
        (
            ".spec.l[x]",
            json!("expected an index at byte 8 of `.spec.l[x]`"),
        ),
        (
            ".spec['a",
            json!("the text does not end at byte 6 of `.spec['a`"),
        ),
    ];
    for (path, expected) in cases {
        assert_eq!(found(path), expected, "{path}");
    }
}

/// api-machinery.md §3.1/custom: a missing path is a null cell, a date shows its age
#[test]
fn cells_are_shown_as_their_column_says() {
    let now = "2024-01-06T00:00:00Z".parse().expect("it is a time");
    let cases = [
        (".spec.n", "integer", json!(3)),
        (".spec.f", "integer", json!(1)),
        (".spec.f", "number", json!(1.5)),
        (".spec.t", "boolean", json!(true)),
        (".spec.name", "boolean", json!(null)),
        (".spec.name", "string", json!("x")),
        (".spec.n", "string", json!("3")),
        (".spec.l[0]", "string", json!("{\"k\":\"a\",\"v\":1}")),
        (".metadata.creationTimestamp", "date", json!("5d")),
        (".spec.name", "date", json!("<invalid>")),
        (".spec.missing", "string", json!(null)),
    ];
    for (path, column, expected) in cases {
        let path: JsonPath = path.parse().expect("it is a path");
        let column = ColumnType::named(column).expect("it is a type");
        assert_eq!(
            table::cell(&object(), &path, column, now),
            expected,
            "{path:?}"
        );
    }
    assert_eq!(ColumnType::named("text"), None);
}

/// api-machinery.md §3.1/custom: age (`16s`, `5d`)
#[test]
fn ages_have_two_units_at_most() {
    let cases = [
        (-5, "<invalid>"),
        (-1, "0s"),
        (16, "16s"),
        (119, "119s"),
        (120, "2m"),
        (330, "5m30s"),
        (600, "10m"),
        (10_799, "179m"),
        (10_860, "3h1m"),
        (28_799, "7h59m"),
        (28_800, "8h"),
        (172_799, "47h"),
        (172_800, "2d"),
        (176_400, "2d1h"),
        (691_200, "8d"),
        (63_072_000, "2y"),
        (63_158_400, "2y1d"),
        (252_288_000, "8y"),
    ];
    let then = Seconds::from_unix(1_000_000_000).expect("it is a time");
    for (seconds, expected) in cases {
        let now = Seconds::from_unix(1_000_000_000 + seconds).expect("it is a time");
        assert_eq!(table::age(then, now), expected, "{seconds}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_a_path_panic(text in r#"[.\[\]{}()?@=!<>'"\\*:,a-c0-9 -]{0,40}"#) {
        if let Ok(path) = text.parse::<JsonPath>() {
            let object = object();
            prop_assert!(path.find(&object).len() <= 1_000);
        }
    }
}
