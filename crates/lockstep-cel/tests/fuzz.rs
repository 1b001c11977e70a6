//! Random texts and data. Parser, checker and evaluator give a value or an error; checking types first changes no value.
//!
//! `PROPTEST_CASES=1000000 cargo test --release -p lockstep-cel --test fuzz` runs for longer.

use lockstep_cel::schema::{Resource, Schema};
use lockstep_cel::{Activation, Arena, Budget, Env, EvalError, Type, Version};
use proptest::prelude::*;
use proptest::string::string_regex;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// Pieces of expressions that random texts are made of.
const PIECES: &[&str] = &[
    "object",
    ".a",
    ".b",
    "['a']",
    "[0]",
    ".?a",
    "[?0]",
    " + ",
    " - ",
    " * ",
    " / ",
    " % ",
    " == ",
    " != ",
    " < ",
    " in ",
    " && ",
    " || ",
    "!",
    "-",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    " ? ",
    "1",
    "2u",
    "1.5",
    "'x'",
    "b'y'",
    "true",
    "null",
    "x",
    "has(object.a)",
    ".all(x, ",
    ".exists(x, ",
    ".map(x, ",
    ".filter(x, ",
    ".map(i, x, ",
    ".transformMap(i, x, ",
    ".sortBy(x, ",
    ".optMap(x, ",
    "size(",
    ".size()",
    ".contains('x')",
    ".matches('x+')",
    "string(",
    "int(",
    "dyn(",
    "type(",
    "optional.of(",
    "optional.none()",
    ".orValue(",
    "duration('1s')",
    "timestamp(0)",
    ".join(',')",
    ".split('')",
    "'%s'.format([",
    "quantity('1')",
    "ip('::1')",
    "lists.range(3)",
    ".sort()",
    ".flatten(2)",
    "sets.contains([1], ",
    "Object{a: ",
    "JSONPatch{op: 'add', value: ",
    ".replace('x', 'xx')",
    ".substring(1)",
    "//",
    "\\",
    "'",
    "\"",
    "é",
];

fn expression() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(prop::sample::select(PIECES), 0..24)
            .prop_map(|pieces| pieces.concat()),
        string_regex("[ -~é\n]{0,40}").expect("the pattern is valid"),
        well_formed(),
    ]
}

/// Expressions that parse, so that what comes after the parser is reached often.
fn well_formed() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(
        &[
            "object",
            "object.a",
            "object.b",
            "object.?a",
            "1",
            "-2",
            "3u",
            "1.5",
            "'xyz'",
            "b'y'",
            "true",
            "null",
            "x",
            "[]",
            "{}",
            "[1, 2]",
            "{'a': 1}",
            "optional.none()",
            "duration('1m')",
            "timestamp(5)",
            "int",
            "lists.range(3)",
        ][..],
    )
    .prop_map(str::to_owned);
    leaf.prop_recursive(5, 40, 3, |inner| {
        let operator = prop::sample::select(
            &[
                "+", "-", "*", "/", "%", "==", "!=", "<", ">=", "in", "&&", "||",
            ][..],
        );
        let method = prop::sample::select(
            &[
                ".all(x, {})",
                ".exists(x, {})",
                ".exists_one(x, {})",
                ".map(x, {})",
                ".filter(x, {})",
                ".all(i, x, {})",
                ".transformList(i, x, {})",
                ".transformMap(i, x, {})",
                ".sortBy(x, {})",
                ".optMap(x, {})",
                ".orValue({})",
                "[{}]",
                "[?{}]",
                ".contains({})",
                ".matches({})",
                ".join({})",
                ".split({})",
                ".indexOf({})",
                ".format([{}])",
                ".flatten({})",
                ".add({})",
                ".includes({})",
            ][..],
        );
        let function = prop::sample::select(
            &[
                "size({})",
                "string({})",
                "int({})",
                "double({})",
                "dyn({})",
                "type({})",
                "!({})",
                "-({})",
                "[{}]",
                "{'k': {}}",
                "optional.of({})",
                "optional.ofNonZeroValue({})",
                "has({}.a)",
                "({}).a",
                "({}).?a",
                "({}).sort()",
                "({}).sum()",
                "({}).distinct()",
                "({}).reverse()",
                "({}).size()",
                "Object{f: {}}",
                "quantity({})",
                "isIP({})",
                "isURL({})",
                "duration({})",
                "timestamp({})",
                "({}).getHours()",
                "({}).trim()",
                "({}).first()",
            ][..],
        );
        prop_oneof![
            (inner.clone(), operator, inner.clone())
                .prop_map(|(left, op, right)| format!("({left} {op} {right})")),
            (inner.clone(), method, inner.clone()).prop_map(|(left, method, arg)| format!(
                "({left}){}",
                method.replacen("{}", &arg, 1)
            )),
            (function, inner.clone()).prop_map(|(function, arg)| function.replacen("{}", &arg, 1)),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(c, yes, no)| format!("({c} ? {yes} : {no})")),
        ]
    })
}

fn data() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (-3_i64..4).prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        "[a-cé ]{0,6}".prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// Schemas with the fields that expressions here select.
fn schema() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(json!({"type": "integer"})),
        Just(json!({"type": "number", "nullable": true})),
        Just(json!({"type": "string", "maxLength": 5})),
        Just(json!({"type": "boolean"})),
        prop::sample::select(&["byte", "date", "date-time", "duration"][..])
            .prop_map(|format| json!({"type": "string", "format": format})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
        Just(json!({"type": 1, "properties": []})),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        let kind = prop::sample::select(&["atomic", "set", "map"][..]);
        prop_oneof![
            (inner.clone(), kind).prop_map(|(items, kind)| json!({"type": "array", "items": items, "x-kubernetes-list-type": kind, "x-kubernetes-list-map-keys": ["a"]})),
            inner.clone().prop_map(|values| json!({"type": "object", "additionalProperties": values})),
            (inner.clone(), inner).prop_map(|(a, b)| json!({"type": "object", "required": ["a"], "properties": {"a": a, "b": b}})),
        ]
    })
}

fn kubernetes() -> Env {
    Env::kubernetes(Version::LATEST)
        .with_variable("object", Type::Dyn)
        .with_mutation()
}

fn spec() -> Env {
    Env::spec().with_variable("object", Type::Dyn)
}

/// Evaluates and shows the value, in a form that tells types apart.
fn evaluate(program: &lockstep_cel::Program, object: &Json) -> Result<String, EvalError> {
    let arena = Arena::new();
    let activation = Activation::new().with_json("object", object);
    let mut budget = Budget::new(20_000);
    let value = program.evaluate(&activation, &arena, &mut budget)?;
    let json = value
        .to_json()
        .map_or_else(|error| error.to_string(), |json| json.to_string());
    Ok(format!("{} {json}", value.type_name()))
}

proptest! {
    #[test]
    fn any_text_parses_or_is_refused(text in any::<String>()) {
        for env in [kubernetes(), spec()] {
            if let Err(issues) = env.compile(&text) {
                prop_assert!(!issues.is_empty());
                lockstep_cel::issue::render(&issues);
            }
        }
    }

    #[test]
    fn any_bytes_that_are_text_parse_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let text = String::from_utf8_lossy(&bytes);
        let refused = kubernetes().check(&text).err();
        prop_assert!(refused.is_none_or(|issues| !issues.is_empty()));
    }

    #[test]
    fn any_expression_checks_estimates_and_runs(text in expression(), object in data()) {
        for env in [kubernetes(), spec()] {
            if let Ok(program) = env.compile(&text) {
                let estimate = program.estimate();
                prop_assert!(estimate.is_some_and(|estimate| estimate.min <= estimate.max), "{text}: {estimate:?}");
                program.paths();
                let _ = evaluate(&program, &object);
            }
            if let Ok(program) = env.compile_unchecked(&text) {
                let _ = evaluate(&program, &object);
            }
        }
    }

    #[test]
    fn checking_types_changes_no_value(text in well_formed(), object in data()) {
        for env in [kubernetes(), spec()] {
            let (Ok(checked), Ok(unchecked)) = (env.compile(&text), env.compile_unchecked(&text)) else { continue };
            let (first, second) = (evaluate(&checked, &object), evaluate(&unchecked, &object));
            match (&first, &second) {
                (Err(EvalError::Failed(_)), Err(EvalError::Failed(_)))
                | (Err(EvalError::CostLimit), _)
                | (_, Err(EvalError::CostLimit)) => {}
                _ => prop_assert_eq!(first, second, "{}", text),
            }
        }
    }

    #[test]
    fn any_schema_and_any_data_give_a_value_or_an_error(schema in schema(), object in data(), text in well_formed()) {
        let Some(schema) = Schema::from_structural(&schema, "selfType", Resource::Root) else { return Ok(()) };
        let env = Env::kubernetes(Version::LATEST).with_schema_variable("object", Arc::new(schema));
        if let Ok(program) = env.compile(&text) {
            program.estimate();
            program.paths();
            let _ = evaluate(&program, &object);
        }
    }

    #[test]
    fn the_same_evaluation_costs_the_same(text in well_formed(), object in data()) {
        let Ok(program) = kubernetes().compile(&text) else { return Ok(()) };
        let spent = || {
            let arena = Arena::new();
            let activation = Activation::new().with_json("object", &object);
            let mut budget = Budget::new(20_000);
            let failed = program.evaluate(&activation, &arena, &mut budget).is_err();
            (budget.spent(), failed)
        };
        prop_assert_eq!(spent(), spent());
    }
}
