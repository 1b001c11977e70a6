//! Parser tests: accepted and rejected expressions.

use super::*;
use crate::issue;

const ALL: Syntax = Syntax {
    optionals: true,
    quoted_fields: true,
    two_variables: true,
    sort_by: true,
    bind: true,
    math: true,
};
const CORE: Syntax = Syntax {
    optionals: false,
    quoted_fields: false,
    two_variables: false,
    sort_by: false,
    bind: false,
    math: false,
};

fn errors(text: &str, syntax: Syntax) -> Vec<String> {
    let issues = parse(text, syntax).err().unwrap_or_default();
    issues
        .iter()
        .map(|issue| match issue.position {
            Some(at) => format!("{}:{} {}", at.line, at.column, issue.message),
            None => format!("-1:0 {}", issue.message),
        })
        .collect()
}

fn nested(open: &str, core: &str, close: &str, count: usize) -> String {
    open.repeat(count) + core + &close.repeat(count)
}

#[test]
fn nesting_passes_at_249_and_fails_at_250() {
    let too_deep = vec!["-1:0 expression recursion limit exceeded: 250".to_owned()];
    for (open, core, close) in [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("{1:", "1", "}"),
        ("f(", "1", ")"),
        ("a?b:", "1", ""),
    ] {
        assert_eq!(
            errors(&nested(open, core, close, 249), ALL),
            Vec::<String>::new(),
            "{open}"
        );
        assert_eq!(
            errors(&nested(open, core, close, 250), ALL),
            too_deep,
            "{open}"
        );
        assert_eq!(
            errors(&nested(open, core, close, 10_000), ALL),
            too_deep,
            "{open}"
        );
    }
}

#[test]
fn runs_of_signs_and_logical_chains_do_not_count() {
    assert_eq!(
        errors(&nested("!", "true", "", 20_000), ALL),
        Vec::<String>::new()
    );
    assert_eq!(
        errors(&nested("-", "x", "", 20_000), ALL),
        Vec::<String>::new()
    );
    assert_eq!(
        errors(&vec!["a"; 3_000].join("&&"), ALL),
        Vec::<String>::new()
    );
    assert_eq!(
        errors(&vec!["a"; 3_000].join("||"), ALL),
        Vec::<String>::new()
    );
}

#[test]
fn long_sums_and_selections_are_refused_not_overflown() {
    let refused = vec!["-1:0 max recursion depth exceeded".to_owned()];
    assert_eq!(errors(&vec!["a"; 49_999].join("+"), ALL), refused);
    assert_eq!(
        errors(&("a".to_owned() + &".b".repeat(40_000)), ALL),
        refused
    );
    assert_eq!(
        errors(&("a".to_owned() + &"[0]".repeat(30_000)), ALL),
        refused
    );
}

#[test]
fn length_is_limited_in_code_points() {
    let text = format!("'{}'", "é".repeat(99_998));
    assert_eq!(errors(&text, ALL), Vec::<String>::new());
    let message = "-1:0 expression code point size exceeds limit: size: 100001, limit 100000";
    assert_eq!(errors(&format!("{text} "), ALL), [message]);
}

#[test]
fn several_errors_are_reported_with_their_places() {
    assert_eq!(
        errors("if + while", ALL),
        [
            "1:1 reserved identifier: if",
            "1:6 reserved identifier: while"
        ]
    );
    let places: Vec<_> = errors("object.in", ALL)
        .iter()
        .map(|text| text[..4].trim().to_owned())
        .collect();
    assert_eq!(places, ["1:8", "1:10"]);
    assert_eq!(errors(&"$".repeat(500), ALL).len(), ERRORS_MAX);
}

#[test]
fn syntax_beyond_the_core_must_be_enabled() {
    assert_eq!(errors("a.?b", CORE), ["1:2 unsupported syntax '.?'"]);
    assert_eq!(errors("a[?b]", CORE), ["1:2 unsupported syntax '[?'"]);
    assert_eq!(errors("[?b]", CORE), ["1:2 unsupported syntax '?'"]);
    assert_eq!(errors("{?'b': 1}", CORE), ["1:2 unsupported syntax '?'"]);
    assert_eq!(errors("A{?b: 1}", CORE), ["1:3 unsupported syntax '?'"]);
    assert_eq!(errors("a.`b`", CORE), ["1:3 unsupported syntax: '`'"]);
    let plain = parse("[1].existsOne(i, v, true)", CORE).unwrap();
    assert!(
        matches!(plain.expr(plain.root()), Expr::Call { function, .. } if &**function == "existsOne")
    );
}

#[test]
fn errors_render_with_a_caret() {
    let issues = parse("1 + ", CORE).unwrap_err();
    assert!(issue::render(&issues).ends_with(" | 1 + \n | ....^"));
}
