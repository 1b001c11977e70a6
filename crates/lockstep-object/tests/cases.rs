//! The rules as data: one file for each subject, one `check` for each file. Every case names the row it stands for.

#![expect(
    clippy::unwrap_used,
    reason = "a case file that does not fit its check is a failure"
)]

use lockstep_object::field::{FieldErrors, Path};
use lockstep_object::metadata::{self, Malformed, Scope, StatusField};
use lockstep_object::names::{self, NameRule, Part};
use lockstep_object::selector::{
    FieldSelector, LabelSelector, from_label_selector, validate_label_selector,
};
use lockstep_object::{ApiError, GroupKind, GroupResource, Object, Status, Success, Value, json};
use lockstep_testkit::cases::CaseFile;
use serde_json::json;

/// Compares what `check` makes of the `input` of each case of a file with its `output`.
fn run(file: &str, check: impl Fn(&Value) -> Value) {
    CaseFile::read(file).results("output", |case| check(&case["input"]));
}

fn texts(errors: &FieldErrors) -> Value {
    errors
        .iter()
        .map(|error| Value::from(error.to_string()))
        .collect()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn object(value: &Value) -> Object {
    Object::from_value(value.clone()).unwrap()
}

#[test]
fn documents_are_read_and_printed_as_upstream_does() {
    run("json.json", |input| {
        match json::decode(input.as_str().unwrap().as_bytes()) {
            Ok(decoded) if decoded.duplicates.is_empty() => {
                json!({"printed": json::encode_to_string(&decoded.value)})
            }
            Ok(decoded) => {
                json!({"printed": json::encode_to_string(&decoded.value), "duplicates": decoded.duplicates})
            }
            Err(error) => json!({"error": error.to_string()}),
        }
    });
}

#[test]
fn names_keep_the_rules_of_their_kind() {
    run("names.json", |input| {
        let name = text(input, "name");
        let part = if input["prefix"] == true {
            Part::Prefix
        } else {
            Part::Whole
        };
        let problems = match text(input, "rule") {
            "subdomain" => NameRule::Subdomain.check(name, part),
            "label" => NameRule::Label.check(name, part),
            "label1035" => NameRule::Label1035.check(name, part),
            "path segment" => NameRule::PathSegment.check(name, part),
            "qualified name" => names::qualified_name(name),
            "label value" => names::label_value(name),
            "config key" => names::config_key(name),
            other => panic!("no rule is called {other}"),
        };
        Value::from(problems)
    });
}

#[test]
fn label_selectors_have_the_grammar_of_upstream() {
    run("label-selectors.json", |input| {
        let selector = match &input["selector"] {
            Value::String(text) => text
                .parse::<LabelSelector>()
                .map_err(|error| Value::from(error.to_string())),
            object => from_label_selector(object).map_err(|errors| texts(&errors)),
        };
        match selector {
            Err(error) => json!({ "error": error }),
            Ok(selector) => {
                let sets = input["labels"].as_array().into_iter().flatten();
                let matches: Vec<bool> = sets
                    .map(|labels| selector.matches(labels.as_object().unwrap()))
                    .collect();
                json!({"printed": selector.to_string(), "matches": matches})
            }
        }
    });
}

#[test]
fn label_selector_objects_are_validated_as_in_built_in_kinds() {
    run("label-selector-objects.json", |input| {
        texts(&validate_label_selector(
            input,
            &Path::ROOT.field("spec").field("selector"),
        ))
    });
}

#[test]
fn field_selectors_have_the_grammar_of_upstream() {
    run("field-selectors.json", |input| {
        match text(input, "selector").parse::<FieldSelector>() {
            Err(error) => json!({"error": error.to_string()}),
            Ok(selector) => {
                let sets = input["fields"].as_array().into_iter().flatten();
                let matches: Vec<bool> = sets
                    .map(|fields| selector.matches(|name| fields[name].as_str()))
                    .collect();
                json!({"printed": selector.to_string(), "matches": matches,
                "name": selector.exact_value("metadata.name")})
            }
        }
    });
}

#[test]
fn metadata_is_brought_into_shape() {
    run("shape.json", |input| {
        let mut value = input["metadata"].clone();
        let malformed = if input["stored"] == true {
            Malformed::Drop
        } else {
            Malformed::Refuse
        };
        let mut unknown = Vec::new();
        let path = Path::ROOT.field("metadata");
        match metadata::normalize_metadata(&mut value, &path, malformed, &mut unknown) {
            Err(error) => json!({"error": error.to_string()}),
            Ok(()) => json!({"metadata": value, "unknown": unknown}),
        }
    });
}

#[test]
fn metadata_of_new_objects_keeps_the_rules() {
    run("create.json", |input| {
        let scope = if input["cluster"] == true {
            Scope::Cluster
        } else {
            Scope::Namespaced
        };
        texts(&metadata::validate_create(
            &object(&json!({"metadata": input["metadata"]})),
            NameRule::Subdomain,
            scope,
        ))
    });
}

#[test]
fn updates_restore_what_clients_cannot_change_and_refuse_the_rest() {
    run("update.json", |input| {
        let stored = object(&input["stored"]);
        let mut updated = object(&input["object"]);
        metadata::prepare_update(&mut updated, &stored);
        let errors = metadata::validate_update(&updated, &stored);
        let status = if input["status"] == "part" {
            StatusField::Part
        } else {
            StatusField::Separate
        };
        let generation = metadata::next_generation(&updated, &stored, status);
        json!({"metadata": updated.metadata(), "errors": texts(&errors), "generation": generation})
    });
}

#[test]
fn failures_have_the_codes_reasons_and_texts_of_upstream() {
    run("status.json", |input| status(input).to_value());
}

fn status(input: &Value) -> Status {
    match text(input, "status") {
        "created" => Status::from(&Success::Created),
        "deleted" => Status::from(&Success::Deleted {
            resource: GroupResource::new(text(input, "group"), text(input, "resource")),
            name: text(input, "name").to_owned(),
            uid: "u".to_owned(),
        }),
        _ => Status::from(&error(input)),
    }
}

fn error(input: &Value) -> ApiError {
    let resource = GroupResource::new(text(input, "group"), text(input, "resource"));
    let (name, why) = (text(input, "name"), text(input, "why"));
    match text(input, "status") {
        "bad request" => ApiError::bad_request(why),
        "unauthorized" => ApiError::Unauthorized,
        "forbidden" => ApiError::forbidden(&resource, name, why),
        "forbidden path" => ApiError::ForbiddenPath(why.to_owned()),
        "namespace terminating" => ApiError::namespace_terminating(&resource, name, "n1"),
        "not found" => ApiError::not_found(&resource, name),
        "no such resource" => ApiError::NoSuchResource,
        "method not supported" => ApiError::method_not_supported(&resource, why),
        "method not allowed" => ApiError::MethodNotAllowed,
        "not acceptable" => ApiError::not_acceptable(&["application/json", "application/yaml"]),
        "unsupported media type" => ApiError::unsupported_media_type(&["application/json"]),
        "already exists" => ApiError::already_exists(&resource, name),
        "being deleted" => ApiError::being_deleted(&resource, name),
        "conflict" => ApiError::conflict(&resource, name, why),
        "generated name taken" => ApiError::generated_name_taken(&resource, name),
        "modified" => ApiError::modified(&resource, name),
        "precondition failed" => ApiError::precondition_failed(&resource, name, "UID", "a", "b"),
        "expired" => ApiError::Expired(why.to_owned()),
        "body too large" => ApiError::BodyTooLarge {
            bytes_max: 3_145_728,
        },
        "patch rejected" => ApiError::PatchRejected,
        "too many requests" => ApiError::too_many_requests(why, 1),
        "internal error" => ApiError::internal(why),
        "unavailable" => ApiError::service_unavailable(why, 0),
        "unavailable for a second" => ApiError::service_unavailable(why, 1),
        "too large" => ApiError::too_large(why),
        "disruption not allowed" => ApiError::DisruptionNotAllowed {
            why: why.to_owned(),
            retry_after_seconds: 10,
        },
        "conversion failed" => ApiError::ConversionFailed(why.to_owned()),
        "not implemented" => ApiError::NotImplemented(why.to_owned()),
        "timeout" => ApiError::timeout(why, 0),
        "too large resource version" => ApiError::ResourceVersionTooLarge {
            requested: 9,
            current: 5,
        },
        "invalid" => {
            let scope = Scope::Cluster;
            let errors =
                metadata::validate_create(&object(&input["object"]), NameRule::Subdomain, scope);
            let twice: FieldErrors = errors.iter().chain(&errors).cloned().collect();
            ApiError::invalid(&GroupKind::new(text(input, "group"), "Widget"), name, twice)
        }
        "wrong name" => metadata::check_url_name(&object(&input["object"]), "a").unwrap_err(),
        "wrong namespace" => metadata::check_namespace(&object(&input["object"]), "n").unwrap_err(),
        "version on create" => metadata::check_create(&object(&input["object"])).unwrap_err(),
        other => panic!("no status is called {other}"),
    }
}
