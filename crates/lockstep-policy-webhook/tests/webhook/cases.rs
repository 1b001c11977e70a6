//! Every case of `lockstep-admission` through the webhook: a cluster without policies sends its reviews, applies the
//! patch, validates, and asks again. Verdict, object, message and warnings are those of the library.

use std::path::{Path, PathBuf};

use lockstep_admission::outcome::Outcome;
use lockstep_admission::request::Request;
use lockstep_object::{ApiError, Object, Status, Value, yaml};
use lockstep_policy_webhook::answer::strict;
use lockstep_testkit::client::Client;
use lockstep_write::offline::policies::{Phases, cases};
use parking_lot::Mutex;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::world::{World, loaded, patch, response};

/// A cluster that asks the webhook in both phases.
struct Asked<'a> {
    runtime: &'a Runtime,
    client: &'a Mutex<Client>,
    version: &'static str,
    /// Status of the denial.
    denial: Mutex<Option<Value>>,
}

impl Asked<'_> {
    fn ask(
        &self,
        path: &str,
        request: &Request,
        (object, old): (Option<&Object>, Option<&Object>),
    ) -> (Outcome, Value) {
        let mut asked = request.describe(&request.requested);
        asked["uid"] = "case".into();
        asked["object"] = object.map_or(Value::Null, |object| object.as_value().clone());
        asked["oldObject"] = old.map_or(Value::Null, |old| old.as_value().clone());
        let review =
            json!({ "apiVersion": self.version, "kind": "AdmissionReview", "request": asked });
        let answer = self
            .runtime
            .block_on(self.client.lock().write("POST", path, &review));
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.json()["apiVersion"], self.version);
        let response = response(&answer);
        assert_eq!(response["uid"], "case");
        let warnings = response["warnings"].as_array().into_iter().flatten();
        let mut outcome = Outcome {
            warnings: warnings
                .map(|text| text.as_str().unwrap().to_owned())
                .collect(),
            ..Outcome::default()
        };
        if response["allowed"] != true {
            outcome.error = Some(ApiError::internal("denied by the webhook"));
            *self.denial.lock() = Some(response["status"].clone());
        }
        (outcome, response)
    }
}

impl Phases for Asked<'_> {
    fn mutate(
        &self,
        request: &Request,
        object: Option<&mut Object>,
        old: Option<&Object>,
    ) -> Result<Outcome, ApiError> {
        let (outcome, response) = self.ask("/mutate", request, (object.as_deref(), old));
        let patch = patch(&response);
        if let Some(object) = object {
            let mut value = object.as_value().clone();
            strict::apply(&mut value, &patch).expect("the patch applies");
            *object = Object::from_value(value).expect("it stays an object");
        }
        Ok(outcome)
    }

    fn validate(
        &self,
        request: &Request,
        object: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<Outcome, ApiError> {
        let (outcome, response) = self.ask("/validate", request, (object, old));
        assert_eq!(response.get("patch"), None);
        Ok(outcome)
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// mutating-admission.md §3.8, §4/60, §5: the webhook decides as the library does. Cases whose policies are refused
/// have no request that could be sent; they are counted.
#[test]
fn every_case_ends_at_the_webhook_as_in_the_library() {
    let runtime = Runtime::new().unwrap();
    let world = runtime.block_on(World::start());
    let client = Mutex::new(runtime.block_on(world.client("http/1.1")));
    let (mut asked, mut refused, mut failed) = (0, 0, Vec::new());
    let folder = Path::new("../lockstep-admission/tests/cases");
    let files = files(folder);
    for (at, path) in files.iter().enumerate() {
        let case = yaml::decode(&std::fs::read(path).unwrap()).unwrap().value;
        if case["expected"]["error"]["stage"] == "policy" {
            refused += 1;
            continue;
        }
        let mut differences = Vec::new();
        let problems = cases::run_by(&case, &mut |objects, workspace, review| {
            asked += 1;
            let expected = workspace.review(review)?;
            world.policies.replace(loaded(objects));
            let phases = Asked {
                runtime: &runtime,
                client: &client,
                version: ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"][at % 2],
                denial: Mutex::default(),
            };
            let found = workspace.review_by(review, &phases)?;
            let mut compare = |what: &str, expected: Value, found: Value| {
                if expected != found {
                    differences.push(format!("{what}: {expected}, at the webhook {found}"));
                }
            };
            let status = |error: &ApiError| Status::from(error).to_value();
            let error = |error: Option<&ApiError>| {
                let mut value = error.map_or(Value::Null, status);
                if let Some(fields) = value.as_object_mut() {
                    fields.remove("apiVersion");
                    fields.remove("kind");
                }
                value
            };
            let denial = phases.denial.into_inner();
            let denial = denial.unwrap_or_else(|| error(found.error.as_ref()));
            compare("error", error(expected.error.as_ref()), denial);
            compare(
                "warnings",
                json!(expected.warnings().collect::<Vec<_>>()),
                json!(found.warnings().collect::<Vec<_>>()),
            );
            let object = |object: &Option<Object>| json!(object.as_ref().map(Object::as_value));
            if expected.error.is_none() {
                compare("object", object(&expected.object), object(&found.object));
            }
            Ok(expected)
        });
        let problems = problems.unwrap_or_else(|error| vec![error.to_string()]);
        differences.extend(problems);
        if !differences.is_empty() {
            let path = path.strip_prefix(folder).unwrap();
            failed.push(format!(
                "{}\n  {}",
                path.display(),
                differences.join("\n  ")
            ));
        }
    }
    let count = failed.len();
    assert!(
        failed.is_empty(),
        "{count} cases differ:\n{}",
        failed.join("\n")
    );
    assert_eq!(asked + refused, files.len());
    runtime.block_on(world.stop());
}
