//! Rules as data: `tests/cases/*.yaml`.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use http::{HeaderMap, HeaderValue, Method};
use lockstep_apiserver::admission::webhooks::refusal::denied;
use lockstep_apiserver::admission::webhooks::review::{Answer as Reviewed, Phase};
use lockstep_apiserver::audit::Policy;
use lockstep_apiserver::authn::User;
use lockstep_apiserver::crd::{Review, ReviewVersion};
use lockstep_apiserver::views::{Asked, Form};
use lockstep_apiserver::{Query, RequestInfo, ResourcePath};
use lockstep_object::{Object, Status};
use lockstep_testkit::cases::CaseFile;
use proptest::prelude::*;
use serde_json::{Value, json};

fn info(request: &Value) -> RequestInfo {
    let (method, target) = request.as_str().unwrap().split_once(' ').unwrap();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let method: Method = method.parse().unwrap();
    RequestInfo::new(&method, path, &Query::parse(query))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_request_is_understood_from_its_method_and_path() {
    for case in CaseFile::read("request-info.yaml").cases() {
        let info = info(&case["request"]);
        let expected = case.get("resource").map(|resource| ResourcePath {
            group: text(&resource["group"]),
            version: text(&resource["version"]),
            namespace: text(&resource["namespace"]),
            resource: text(&resource["resource"]),
            subresource: text(&resource["subresource"]),
            name: text(&resource["name"]),
            rest: resource["rest"]
                .as_array()
                .into_iter()
                .flatten()
                .map(text)
                .collect(),
            is_watch_path: resource["watchPath"] == true,
        });
        assert_eq!(
            (&info.resource, info.verb.as_str()),
            (&expected, case["verb"].as_str().unwrap()),
            "{}",
            case.own
        );
        assert_eq!(
            json!(info.is_long_running()),
            *case.get("longRunning").unwrap_or(&json!(false)),
            "{}",
            case.own
        );
        if let Some(path) = case.get("path") {
            assert_eq!(json!(info.path), *path, "{}", case.own);
        }
    }
}

#[test]
fn the_first_rule_that_matches_decides_the_level() {
    let file = CaseFile::read("audit-policy.yaml");
    let policy = Policy::read(&file.document()["policy"]).unwrap();
    for case in file.cases() {
        let user = User {
            name: text(&case["user"]),
            groups: case["groups"]
                .as_array()
                .into_iter()
                .flatten()
                .map(text)
                .collect(),
            ..User::default()
        };
        let level = policy.level(&user, &info(&case["request"]));
        assert_eq!(json!(format!("{level:?}")), case["level"], "{}", case.own);
    }
}

#[test]
fn the_form_of_an_answer_is_the_most_wanted_there_is() {
    for case in CaseFile::read("negotiation.yaml").cases() {
        let mut headers = HeaderMap::new();
        for name in ["accept", "user-agent"] {
            if let Some(value) = case[name].as_str() {
                headers.append(name, HeaderValue::from_str(value).unwrap());
            }
        }
        let asked = match text(&case["asked"]).as_str() {
            "list" => Asked::List,
            "watch" => Asked::Watch,
            "document" => Asked::Document,
            _ => Asked::Object,
        };
        let query = Query::parse(&text(&case["query"]));
        let told = match Form::negotiate(&headers, &query, asked) {
            Ok(form) => format!("{:?} as {:?}", form.shape, form.encoding),
            Err(error) => format!("{} {error}", error.code()),
        };
        assert_eq!(told, text(&case["form"]), "{}", case.own);
    }
}

/// api-machinery.md §11/versions.
#[test]
fn the_answer_of_a_conversion_webhook_is_believed_or_refused() {
    for case in CaseFile::read("conversion-review.yaml").cases() {
        let objects = |field: &str| -> Option<Vec<Object>> {
            let list = case[field].as_array()?.iter().cloned();
            Some(list.map(|o| Object::from_value(o).unwrap()).collect())
        };
        let plain = json!({ "apiVersion": "ex.io/v1", "kind": "W", "metadata": { "name": "a" } });
        let sent = objects("sent").unwrap_or_else(|| vec![Object::from_value(plain).unwrap()]);
        let version = ReviewVersion::first_of([case["review"].as_str().unwrap_or("v1")]);
        let review = Review {
            version: version.unwrap(),
            uid: "u1",
            desired: "ex.io/v2",
            objects: &sent,
        };
        let response = |response: Value| {
            json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "ConversionReview",
                "response": response,
            })
        };
        let answer = match (case.get("answer"), case.get("response")) {
            (Some(answer), _) => answer.clone(),
            (_, Some(given)) => response(given.clone()),
            _ => response(json!({
                "uid": "u1", "result": { "status": "Success" }, "convertedObjects": case["converted"],
            })),
        };
        let told = review.converted(answer).map_err(|error| error.to_string());
        let expected = objects("objects").ok_or_else(|| text(&case["error"]));
        assert_eq!(told, expected, "{}", case.own);
    }
}

#[test]
fn a_conversion_webhook_is_asked_in_the_first_version_that_both_know() {
    let object = json!({ "apiVersion": "ex.io/v1", "kind": "W", "metadata": { "name": "a" } });
    let objects = [Object::from_value(object.clone()).unwrap()];
    let asked = |versions: &[&str]| {
        ReviewVersion::first_of(versions.iter().copied()).map(|version| {
            let review = Review {
                version,
                uid: "u1",
                desired: "ex.io/v2",
                objects: &objects,
            };
            review.request()
        })
    };
    let request = |version: &str| {
        json!({
            "apiVersion": format!("apiextensions.k8s.io/{version}"),
            "kind": "ConversionReview",
            "request": { "uid": "u1", "desiredAPIVersion": "ex.io/v2", "objects": [object] },
        })
    };
    assert_eq!(asked(&["v2", "v1beta1", "v1"]), Some(request("v1beta1")));
    assert_eq!(asked(&["v1", "v1beta1"]), Some(request("v1")));
    assert_eq!(asked(&["v2"]), None);
}

proptest! {
    /// No answer of a webhook is too strange: it is refused, or it has the objects that were sent.
    #[test]
    fn no_answer_of_a_webhook_is_too_strange(
        field in "(response|uid|result|status|convertedObjects|apiVersion|kind|metadata|name|labels)",
        value in prop_oneof![
            Just(json!(null)), Just(json!(1)), Just(json!("u1")), Just(json!([])), Just(json!({})),
            Just(json!([{}])), Just(json!([[]])),
        ],
    ) {
        let object = json!({ "apiVersion": "ex.io/v1", "kind": "W", "metadata": { "name": "a" } });
        let objects = [Object::from_value(object).unwrap()];
        let review = Review { version: ReviewVersion::V1, uid: "u1", desired: "ex.io/v2", objects: &objects };
        let mut answer = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "response": {
                "uid": "u1", "result": { "status": "Success" },
                "convertedObjects": [{ "apiVersion": "ex.io/v2", "kind": "W", "metadata": { "name": "a", "labels": {} } }],
            },
        });
        let mut places: Vec<&mut Value> = vec![&mut answer];
        while let Some(place) = places.pop() {
            let Value::Object(map) = place else { continue };
            if let Some(found) = map.get_mut(&field) {
                *found = value.clone();
                break;
            }
            for inside in map.values_mut() {
                match inside {
                    Value::Array(items) => places.extend(items.iter_mut()),
                    other => places.push(other),
                }
            }
        }
        if let Ok(converted) = review.converted(answer) {
            prop_assert_eq!(converted.len(), 1);
            prop_assert_eq!((converted[0].name(), converted[0].api_version()), ("a", "ex.io/v2"));
        }
    }

    /// Whatever a client accepts, it gets a form or 406, or 400 for `includeObject`.
    #[test]
    fn no_header_is_too_strange(
        accept in "((application/(json|yaml|[*])|[*]/[*]|[a-z/]{0,6})(;(as=Table|v=v1|g=meta[.]k8s[.]io|q=[0-9.]{0,4}|[a-z=;\"]{0,6})){0,4},?){0,6}",
        query in "(includeObject|pretty)?=?[a-zA-Z]{0,6}",
    ) {
        let mut headers = HeaderMap::new();
        headers.insert("accept", HeaderValue::from_str(&accept).unwrap());
        for asked in [Asked::Object, Asked::List, Asked::Watch, Asked::Document] {
            if let Err(error) = Form::negotiate(&headers, &Query::parse(&query), asked) {
                prop_assert!(error.code() == 406 || (error.code() == 400 && query.starts_with("includeObject")), "{:?}", error);
            }
        }
    }
}

fn reviewed(answer: &Reviewed) -> Value {
    let mut told = json!({ "allowed": answer.allowed });
    let patch = String::from_utf8(answer.patch.clone()).unwrap();
    for (field, value) in [
        ("status", answer.result.clone()),
        ("patch", patch.into()),
        ("patchType", answer.patch_type.clone().into()),
        ("warnings", json!(answer.warnings)),
        ("auditAnnotations", json!(answer.audit_annotations)),
    ] {
        let is_empty = value.is_null() || value == "" || value == json!([]) || value == json!({});
        if !is_empty {
            told[field] = value;
        }
    }
    told
}

/// api-machinery.md §12/webhook-answers.
#[test]
fn an_answer_of_a_webhook_is_believed_or_refused_with_its_reason() {
    for case in CaseFile::read("webhook-answers.yaml").cases() {
        let review = ReviewVersion::first_of([case["review"].as_str().unwrap_or("v1")]).unwrap();
        let answer = case.get("answer").cloned().unwrap_or_else(|| {
            let mut response = json!({ "uid": "u" });
            for (field, value) in case["response"].as_object().unwrap() {
                response[field] = value.clone();
            }
            let version = "admission.k8s.io/v1";
            json!({ "apiVersion": version, "kind": "AdmissionReview", "response": response })
        });
        let phases = match case["phase"].as_str() {
            Some("mutating") => vec![Phase::Mutating],
            Some(_) => vec![Phase::Validating],
            None => vec![Phase::Mutating, Phase::Validating],
        };
        for phase in phases {
            let told = match review.answer("u", phase, &answer) {
                Ok(answer) => json!({ "result": reviewed(&answer) }),
                Err(error) => json!({ "error": error.to_string() }),
            };
            let expected: Value = ["result", "error"]
                .iter()
                .filter_map(|field| Some(((*field).to_owned(), case.get(field)?.clone())))
                .collect::<serde_json::Map<_, _>>()
                .into();
            assert_eq!(told, expected, "{}, {phase:?}", case["case"]);
        }
    }
}

/// api-machinery.md §12/webhook-denials.
#[test]
fn who_is_denied_is_told_by_whom() {
    for case in CaseFile::read("webhook-denials.yaml").cases() {
        let mut told = Status::from(&denied("a.b.io", &case["status"])).to_value();
        let told = told.as_object_mut().unwrap();
        for (field, expected) in [
            ("kind", json!("Status")),
            ("apiVersion", json!("v1")),
            ("metadata", json!({})),
            ("status", json!("Failure")),
        ] {
            assert_eq!(told.remove(field), Some(expected), "{}", case.own);
        }
        assert_eq!(
            Value::Object(told.clone()),
            case["told"],
            "{}",
            case["case"]
        );
    }
}
