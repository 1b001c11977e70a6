//! Properties of every schema and object.

use lockstep_cel::Version;
use lockstep_object::field::Path;
use lockstep_object::metadata::Malformed;
use lockstep_schema::{CheckOptions, Part, Schema, StatusSubresource, check};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const NAMES: [&str; 5] = ["a", "b", "metadata", "kind", "spec"];

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(&NAMES[..]).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..20).prop_map(Value::from),
        Just(json!(1.5)),
        Just(json!(9.3e18)),
        "[a-c]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

type Keyword = BoxedStrategy<(String, Value)>;

/// One of these keywords with one of those values.
fn keyword(
    names: &'static [&'static str],
    values: impl Strategy<Value = Value> + 'static,
) -> Keyword {
    (prop::sample::select(names).prop_map(str::to_owned), values).boxed()
}

fn words(words: &'static [&'static str]) -> impl Strategy<Value = Value> {
    prop::sample::select(words).prop_map(Value::from)
}

fn list(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec(values, 0..3).prop_map(Value::from)
}

/// Keywords that hold schemas.
fn schema_keyword(inner: BoxedStrategy<Value>) -> Keyword {
    let properties = prop::collection::btree_map(name(), inner.clone(), 0..4)
        .prop_map(|entries| Value::Object(entries.into_iter().collect()));
    let or_flag = prop_oneof![inner.clone(), any::<bool>().prop_map(Value::from)];
    prop_oneof![
        keyword(&["properties"], properties),
        keyword(&["items", "not"], inner.clone()),
        keyword(&["additionalProperties"], or_flag),
        keyword(&["allOf", "anyOf", "oneOf"], list(inner)),
    ]
    .boxed()
}

/// Keywords with values that often, and not always, make sense.
fn value_keyword() -> Keyword {
    const LIMITS: &[&str] = &[
        "maximum",
        "minimum",
        "multipleOf",
        "maxLength",
        "minLength",
        "maxItems",
        "minItems",
        "maxProperties",
        "minProperties",
    ];
    const FLAGS: &[&str] = &[
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-int-or-string",
        "x-kubernetes-embedded-resource",
        "uniqueItems",
        "exclusiveMaximum",
    ];
    let number = prop_oneof![(-2_i64..9).prop_map(Value::from), Just(json!(0.5))];
    let rules = words(&[
        "self == oldSelf",
        "true",
        "self.a > 1",
        "has(self.b)",
        "size(self) < 3",
    ]);
    let rules = rules.prop_map(|rule| json!([{ "rule": rule }]));
    prop_oneof![
        keyword(
            &["type"],
            words(&["object", "array", "string", "integer", "number", "boolean"])
        ),
        keyword(
            &["format"],
            words(&["date", "int32", "email", "duration", "zzz", "ipv4"])
        ),
        keyword(&["pattern"], words(&["a+", "(", "^b$"])),
        keyword(
            &["x-kubernetes-list-type"],
            words(&["set", "map", "atomic"])
        ),
        keyword(LIMITS, number),
        keyword(FLAGS, any::<bool>().prop_map(Value::from)),
        keyword(&["default"], value()),
        keyword(&["enum"], list(value())),
        keyword(
            &["required", "x-kubernetes-list-map-keys"],
            list(name().prop_map(Value::from))
        ),
        keyword(&["x-kubernetes-validations"], rules),
    ]
    .boxed()
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec!["string", "integer", "object"])
        .prop_map(|ty| json!({"type": ty}));
    leaf.prop_recursive(4, 48, 5, |inner| {
        prop::collection::vec(
            prop_oneof![schema_keyword(inner.boxed()), value_keyword()],
            0..6,
        )
        .prop_map(|keywords| Value::Object(keywords.into_iter().collect::<Map<_, _>>()))
    })
}

fn root() -> impl Strategy<Value = Value> {
    schema().prop_map(|spec| json!({"type": "object", "properties": {"spec": spec, "a": {"type": "integer", "default": 1}}}))
}

fn options() -> CheckOptions<'static> {
    CheckOptions {
        version: Version::LATEST,
        stored: &[],
        status: StatusSubresource::Absent,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn pruning_twice_is_pruning_once(schema in root(), object in value()) {
        let Ok(schema) = Schema::compile(&schema) else { return Ok(()) };
        let mut once = object;
        schema.prune(&mut once, &mut Vec::new());
        let (mut twice, mut unknown) = (once.clone(), Vec::new());
        schema.prune(&mut twice, &mut unknown);
        prop_assert_eq!((twice, unknown), (once, Vec::new()));
    }

    #[test]
    fn defaulting_twice_is_defaulting_once(schema in root(), object in value()) {
        // Defaults that do not fit their schema are refused when it is written.
        if !check(&schema, &Path::ROOT, options()).is_empty() {
            return Ok(());
        }
        let schema = Schema::compile(&schema).expect("it was checked");
        let mut once = object;
        schema.default(&mut once);
        let mut twice = once.clone();
        schema.default(&mut twice);
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn a_schema_that_passes_the_check_compiles_and_judges_anything(schema in root(), new in value(), old in value()) {
        let errors = check(&schema, &Path::ROOT, options());
        let Ok(compiled) = Schema::compile(&schema) else {
            prop_assert!(!errors.is_empty(), "{}", schema);
            return Ok(());
        };
        let mut coerced = new.clone();
        let shaped = compiled.coerce(&mut coerced, Malformed::Drop, &mut Vec::new());
        prop_assert_eq!(shaped, Ok(()));
        let created = compiled.validate(&new, None, Part::Whole);
        prop_assert_eq!(created.warnings, Vec::<String>::new());
        compiled.validate(&new, Some(&old), Part::Whole);
        compiled.validate(&new, Some(&old), Part::Status);
    }

    #[test]
    fn an_object_that_did_not_change_has_no_error_but_of_transitions_and_resources(schema in root(), object in value()) {
        let Ok(compiled) = Schema::compile(&schema) else { return Ok(()) };
        if schema.to_string().contains("oldSelf") || schema.to_string().contains("embedded") {
            return Ok(());
        }
        let outcome = compiled.validate(&object, Some(&object), Part::Whole);
        let runtime = |error: &lockstep_object::field::FieldError| error.detail.contains("rule");
        let errors: Vec<_> = outcome.errors.iter().filter(|error| !runtime(error)).collect();
        prop_assert!(errors.is_empty(), "{:?}", errors);
    }

    #[test]
    fn no_json_at_all_makes_the_check_panic(schema in value()) {
        let errors = check(&schema, &Path::ROOT, options());
        prop_assert!(!errors.is_empty() || Schema::compile(&schema).is_ok());
    }
}

/// A schema as deep as a document may be is refused with words, not by the stack.
#[test]
fn a_schema_beyond_the_limit_is_refused() {
    let mut schema = json!({"type": "string"});
    for _ in 0..240 {
        schema = json!({"type": "array", "items": schema});
    }
    let schema = json!({"type": "object", "properties": {"spec": schema}});
    let errors = check(&schema, &Path::ROOT.field("x"), options());
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        ["x: Forbidden: must not be nested deeper than 100 levels"]
    );
    assert_eq!(
        Schema::compile(&schema).err(),
        Some(lockstep_schema::CompileError::Depth)
    );
}

/// Requests on all threads judge by one schema.
#[test]
fn a_schema_is_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Schema>();
}
