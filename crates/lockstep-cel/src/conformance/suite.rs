//! The CEL conformance suite.

use super::tagged::{double, tagged};
use super::{Observed, Outcome};
use crate::activation::{Activation, Budget};
use crate::dialect::{Profile, Version};
use crate::env::Env;
use crate::issue::Phase;
use crate::types::Type;
use crate::value::{Arena, Duration, List, Timestamp, Value};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tests with a different result in the Kubernetes dialect, and that result.
#[derive(Debug, Clone, Default)]
pub struct Deviations {
    outcomes: BTreeMap<(String, String, String), Json>,
}

impl Deviations {
    /// Reads the list of deviations. A row without `name` stands for all cases of a section, and one without
    /// `section` for all cases of a file; the most specific row holds.
    pub fn from_json(text: &str) -> Result<Self, super::FileError> {
        let file: Json = serde_json::from_str(text)?;
        let list = file
            .get("deviations")
            .and_then(Json::as_array)
            .ok_or(super::FileError::Format)?;
        let key = |entry: &Json| {
            (
                string(entry, "file"),
                string(entry, "section"),
                string(entry, "name"),
            )
        };
        Ok(Self {
            outcomes: list
                .iter()
                .map(|entry| (key(entry), entry.clone()))
                .collect(),
        })
    }

    /// The row for a test.
    fn of(&self, file: &str, section: &str, name: &str) -> Option<&Json> {
        let rows = [(section, name), (section, ""), ("", "")];
        rows.into_iter().find_map(|(section, name)| {
            let key = (file.to_owned(), section.to_owned(), name.to_owned());
            self.outcomes.get(&key)
        })
    }
}

fn string(json: &Json, name: &str) -> String {
    json.get(name)
        .and_then(Json::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn flag(json: &Json, name: &str) -> bool {
    json.get(name).and_then(Json::as_bool).unwrap_or(false)
}

pub(super) fn run(file: &str, test: &Json, profile: Profile, deviations: &Deviations) -> Outcome {
    let id = format!("{}/{}", string(test, "section"), string(test, "name"));
    let deviation = match profile {
        Profile::Spec => None,
        Profile::Kubernetes => deviations.of(file, &string(test, "section"), &string(test, "name")),
    };
    let (observed, ty) = observe(test, profile);
    let expected = match deviation {
        Some(deviation) => Expected::Deviation(deviation.clone()),
        None => Expected::of(test),
    };
    let mut actual = observed.to_string();
    if let Some(ty) = &ty {
        actual = format!("{actual} ({ty})");
    }
    Outcome {
        id,
        section: file.to_owned(),
        pass: expected.holds(&observed, ty.as_deref()),
        required: test.get("needs").is_none(),
        expected: format!("{} => {expected:?}", string(test, "expr")),
        actual,
    }
}

#[derive(Debug)]
enum Expected {
    Value(Json),
    Typed(Option<Json>, String),
    Error,
    Deviation(Json),
}

impl Expected {
    fn of(test: &Json) -> Self {
        if test.get("eval_error").is_some() {
            return Self::Error;
        }
        if let Some(typed) = test.get("typed_result") {
            let ty = typed
                .get("deduced_type")
                .map(|ty| type_of(ty).to_string())
                .unwrap_or_default();
            return Self::Typed(typed.get("result").map(value_of), ty);
        }
        Self::Value(test.get("value").map(value_of).unwrap_or_default())
    }

    fn holds(&self, observed: &Observed, ty: Option<&str>) -> bool {
        match self {
            Self::Value(value) => *observed == Observed::Value(value.clone()),
            Self::Typed(value, expected) => {
                let value_holds = match value {
                    Some(value) => *observed == Observed::Value(value.clone()),
                    None => !matches!(observed, Observed::Refused(_)),
                };
                value_holds && ty == Some(expected)
            }
            Self::Error => !matches!(observed, Observed::Value(_)),
            Self::Deviation(deviation) => deviates(deviation, observed),
        }
    }
}

fn deviates(deviation: &Json, observed: &Observed) -> bool {
    let outcome = string(deviation, "outcome");
    match (outcome.as_str(), observed) {
        ("compile_error", Observed::Refused(issues)) => {
            issues.iter().all(|issue| issue.phase != Phase::Program)
        }
        ("program_error", Observed::Refused(issues)) => {
            issues.iter().all(|issue| issue.phase == Phase::Program)
        }
        ("eval_error", Observed::Failed(_)) | ("no_error", Observed::Value(_)) => true,
        ("mismatch", Observed::Value(value)) => {
            let got = string(deviation, "got");
            let (kind, text) = got.split_once(':').unwrap_or_default();
            match kind {
                "bool_value" => *value == json!({"bool": text == "true"}),
                "string_value" => {
                    let text: Option<String> = serde_json::from_str(text).ok();
                    *value == json!({"string": text})
                }
                _ => false,
            }
        }
        _ => false,
    }
}

/// Compiles and runs a test; the static type is there when the test was checked.
fn observe(test: &Json, profile: Profile) -> (Observed, Option<String>) {
    let arena = Arena::new();
    let mut env = match profile {
        Profile::Spec => Env::spec(),
        Profile::Kubernetes => Env::kubernetes(Version::LATEST),
    };
    env = env.with_container(&string(test, "container"));
    let mut activation = Activation::new();
    for (name, binding) in test
        .get("bindings")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
    {
        env = env.with_variable(name, Type::Dyn);
        let value = build(binding.get("value").unwrap_or(&Json::Null), &arena);
        activation = activation.with_value(name, value);
    }
    env = declare(env, test);
    let expression = string(test, "expr");
    if flag(test, "check_only") {
        return match env.check(&expression) {
            Ok(checked) => (
                Observed::Value(Json::Null),
                Some(checked.static_type().to_string()),
            ),
            Err(issues) => (Observed::Refused(issues), None),
        };
    }
    let compiled = if flag(test, "disable_check") {
        env.compile_unchecked(&expression)
    } else {
        env.compile(&expression)
    };
    let program = match compiled {
        Ok(program) => program,
        Err(issues) => return (Observed::Refused(issues), None),
    };
    let ty = Some(program.static_type().to_string());
    match program.evaluate(&activation, &arena, &mut Budget::default()) {
        Ok(value) => (Observed::Value(tagged(&value)), ty),
        Err(error) => (Observed::Failed(error.to_string()), ty),
    }
}

fn declare(mut env: Env, test: &Json) -> Env {
    for declaration in test
        .get("type_env")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
    {
        let name = string(declaration, "name");
        if let Some(ident) = declaration.get("ident") {
            env = env.with_variable(&name, type_of(ident.get("type").unwrap_or(&Json::Null)));
        }
        let overloads = declaration
            .get("function")
            .and_then(|function| function.get("overloads"));
        for overload in overloads.and_then(Json::as_array).into_iter().flatten() {
            let params = overload
                .get("params")
                .and_then(Json::as_array)
                .into_iter()
                .flatten()
                .map(type_of);
            let result = overload.get("result_type").map_or(Type::Dyn, type_of);
            env = env.with_declared_function(&name, params.collect(), result);
        }
    }
    env
}

/// A type as the suite writes it.
fn type_of(json: &Json) -> Type {
    let part = |json: &Json, name: &str| json.get(name).map_or(Type::Dyn, type_of);
    if let Some(primitive) = json.get("primitive").and_then(Json::as_str) {
        return match primitive {
            "BOOL" => Type::Bool,
            "INT64" => Type::Int,
            "UINT64" => Type::Uint,
            "DOUBLE" => Type::Double,
            "STRING" => Type::String,
            _ => Type::Bytes,
        };
    }
    if json.get("null").is_some() {
        return Type::Null;
    }
    if let Some(list) = json.get("list_type") {
        return Type::list(part(list, "elem_type"));
    }
    if let Some(map) = json.get("map_type") {
        return Type::map(part(map, "key_type"), part(map, "value_type"));
    }
    if let Some(of) = json.get("type") {
        return Type::type_of(type_of(of));
    }
    if let Some(well_known) = json.get("well_known").and_then(Json::as_str) {
        return match well_known {
            "TIMESTAMP" => Type::Timestamp,
            "DURATION" => Type::Duration,
            _ => Type::Dyn,
        };
    }
    if let Some(param) = json.get("type_param").and_then(Json::as_str) {
        return Type::Param(param.chars().next().unwrap_or('A'));
    }
    if let Some(message) = json.get("message_type").and_then(Json::as_str) {
        return match message {
            "google.protobuf.Timestamp" => Type::Timestamp,
            "google.protobuf.Duration" => Type::Duration,
            _ => Type::Dyn,
        };
    }
    if let Some(opaque) = json.get("abstract_type") {
        let params: Vec<Type> = opaque
            .get("parameter_types")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .map(type_of)
            .collect();
        let name = string(opaque, "name");
        return match (name.as_str(), params.as_slice()) {
            ("optional_type", [inner]) => Type::optional(inner.clone()),
            _ => Type::Opaque(name.into(), Arc::from(params)),
        };
    }
    Type::Dyn
}

fn text_of<'j>(json: &'j Json, name: &str) -> &'j str {
    json.get(name).and_then(Json::as_str).unwrap_or_default()
}

/// A value of the suite in the tagged form.
fn value_of(json: &Json) -> Json {
    let arena = Arena::new();
    let tagged_value = tagged(&build(json, &arena));
    match tagged_value {
        Json::Object(members) if members.contains_key("double") => {
            let number = members.get("double").and_then(Json::as_f64);
            number.map_or(
                Json::Object(members),
                |number| json!({"double": double(number)}),
            )
        }
        other => other,
    }
}

/// Builds a value of the suite.
fn build<'a>(json: &Json, arena: &'a Arena) -> Value<'a> {
    let Some((kind, content)) = json.as_object().and_then(|members| members.iter().next()) else {
        return Value::Null;
    };
    let text = content.as_str().unwrap_or_default();
    match kind.as_str() {
        "bool_value" => Value::Bool(content.as_bool().unwrap_or(false)),
        "int64_value" => Value::Int(text.parse().ok().or_else(|| content.as_i64()).unwrap_or(0)),
        "uint64_value" => Value::Uint(text.parse().ok().or_else(|| content.as_u64()).unwrap_or(0)),
        "double_value" => Value::Double(match text {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            _ => content.as_f64().unwrap_or(0.0),
        }),
        "string_value" => Value::String(arena.text(text)),
        "bytes_value" => Value::Bytes(arena.bytes(&STANDARD.decode(text).unwrap_or_default())),
        "type_value" => Value::Type(arena.text(text)),
        "list_value" => {
            let elements = content
                .get("values")
                .and_then(Json::as_array)
                .into_iter()
                .flatten();
            let values: Vec<Value<'a>> = elements.map(|element| build(element, arena)).collect();
            Value::List(List::Built(arena.slice(&values)))
        }
        "map_value" => build_map(content, arena),
        "object_value" => build_object(content),
        _ => Value::Null,
    }
}

fn build_map<'a>(content: &Json, arena: &'a Arena) -> Value<'a> {
    let mut pairs = Vec::new();
    for entry in content
        .get("entries")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
    {
        let part = |name: &str| build(entry.get(name).unwrap_or(&Json::Null), arena);
        pairs.push((part("key"), part("value")));
    }
    crate::eval::build_map(arena, &mut pairs, &[], Profile::Kubernetes).unwrap_or(Value::Null)
}

fn build_object<'a>(content: &Json) -> Value<'a> {
    let text = text_of(content, "value");
    match text_of(content, "@type")
        .rsplit('/')
        .next()
        .unwrap_or_default()
    {
        "google.protobuf.Timestamp" => Timestamp::parse(text).map_or(Value::Null, Value::Timestamp),
        "google.protobuf.Duration" => Duration::parse(text).map_or(Value::Null, Value::Duration),
        _ => Value::Null,
    }
}
