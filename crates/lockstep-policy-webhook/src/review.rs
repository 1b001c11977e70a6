//! `AdmissionReview` in and out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockstep_admission::outcome::Outcome;
use lockstep_admission::request::{Operation, Request, ResourceVersion};
use lockstep_authz::User;
use lockstep_object::{
    ApiError, GroupVersionKind, GroupVersionResource, Map, Object, Status, Value, json as text,
};
use serde_json::json;

/// API versions of reviews.
const API_VERSIONS: [&str; 2] = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"];
/// Longest name of an audit annotation.
const ANNOTATION_NAME_BYTES_MAX: usize = 63;

/// The request of a review.
pub(crate) struct Review {
    /// Version of the review, and of its response.
    api_version: &'static str,
    uid: String,
    pub(crate) request: Request,
    /// Version of the objects.
    pub(crate) version: ResourceVersion,
    pub(crate) object: Option<Object>,
    pub(crate) old: Option<Object>,
    pub(crate) user: User,
}

/// A body that is no review, and the response that says so.
#[derive(Debug)]
pub(crate) struct Malformed(pub(crate) Value);

impl Review {
    /// Reads the body of a request.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Malformed> {
        let decoded = text::decode(body).map_err(|error| {
            let why = format!("the body is not JSON: {error}");
            Malformed(refusal(API_VERSIONS[0], "", &why))
        })?;
        let review = decoded.value;
        let given = review["apiVersion"].as_str().unwrap_or_default();
        let known = API_VERSIONS.into_iter().find(|known| *known == given);
        let api_version = known.unwrap_or(API_VERSIONS[0]);
        let uid = review["request"]["uid"].as_str().unwrap_or_default();
        let malformed = |why: &str| Malformed(refusal(api_version, uid, why));
        if review["kind"] != "AdmissionReview" {
            return Err(malformed("the body is no AdmissionReview"));
        }
        if known.is_none() {
            let why = format!(
                "the version {given:?} of AdmissionReview is unknown; known are {}",
                API_VERSIONS.join(" and ")
            );
            return Err(malformed(&why));
        }
        let request = &review["request"];
        if !request.is_object() {
            return Err(malformed("the AdmissionReview has no request"));
        }
        if uid.is_empty() {
            return Err(malformed("request.uid is missing"));
        }
        Self::of_request(api_version, uid, request).map_err(|why| malformed(&why))
    }

    fn of_request(api_version: &'static str, uid: &str, request: &Value) -> Result<Self, String> {
        let version = resource_version(request, "kind", "resource")?;
        let requested = match (&request["requestKind"], &request["requestResource"]) {
            (Value::Null, _) | (_, Value::Null) => version.clone(),
            _ => resource_version(request, "requestKind", "requestResource")?,
        };
        let info = &request["userInfo"];
        let optional = |field: &str| match &request[field] {
            Value::Null => Ok(None),
            value @ Value::Object(_) => Ok(Object::from_value(value.clone()).ok()),
            _ => Err(format!("request.{field} is not an object")),
        };
        Ok(Self {
            api_version,
            uid: uid.to_owned(),
            request: Request {
                operation: match string(request, "operation")? {
                    "CREATE" => Operation::Create,
                    "UPDATE" => Operation::Update,
                    "DELETE" => Operation::Delete,
                    "CONNECT" => Operation::Connect,
                    other => return Err(format!("request.operation {other:?} is unknown")),
                },
                requested,
                equivalents: Vec::new(),
                subresource: string(request, "subResource")?.to_owned(),
                name: string(request, "name")?.to_owned(),
                namespace: string(request, "namespace")?.to_owned(),
                user_info: info.clone(),
                is_dry_run: request["dryRun"] == true,
                options: request["options"].clone(),
            },
            version,
            object: optional("object")?,
            old: optional("oldObject")?,
            user: user(info),
        })
    }

    /// The response that allows the request, with the object as policies left it.
    pub(crate) fn allowed(&self, outcome: &Outcome, patch: &[Value]) -> Value {
        let mut response = json!({ "uid": self.uid, "allowed": true });
        if !patch.is_empty() {
            let patch = text::encode(&Value::from(patch.to_vec()));
            response["patchType"] = "JSONPatch".into();
            response["patch"] = STANDARD.encode(patch).into();
        }
        self.respond(response, outcome)
    }

    /// The response that denies the request.
    pub(crate) fn denied(&self, outcome: &Outcome, error: &ApiError) -> Value {
        let mut status = Status::from(error).to_value();
        if let Some(status) = status.as_object_mut() {
            status.remove("apiVersion");
            status.remove("kind");
        }
        let response = json!({ "uid": self.uid, "allowed": false, "status": status });
        self.respond(response, outcome)
    }

    fn respond(&self, mut response: Value, outcome: &Outcome) -> Value {
        if !outcome.warnings.is_empty() {
            response["warnings"] = json!(outcome.warnings);
        }
        let notes = outcome.annotations.iter().filter(|note| !note.is_detailed);
        let notes: Map<String, Value> = notes
            .map(|note| (annotation_name(&note.key), note.value.as_str().into()))
            .collect();
        if !notes.is_empty() {
            response["auditAnnotations"] = notes.into();
        }
        envelope(self.api_version, &response)
    }

    /// The response to a request that could not be evaluated.
    pub(crate) fn failed(&self, code: u16, why: &str) -> Value {
        let status = json!({ "status": "Failure", "code": code, "message": why });
        let response = json!({ "uid": self.uid, "allowed": false, "status": status });
        envelope(self.api_version, &response)
    }
}

/// The response to something that is no review.
pub(crate) fn refusal(api_version: &str, uid: &str, why: &str) -> Value {
    let status =
        json!({ "status": "Failure", "reason": "BadRequest", "code": 400, "message": why });
    let response = json!({ "uid": uid, "allowed": false, "status": status });
    envelope(api_version, &response)
}

fn envelope(api_version: &str, response: &Value) -> Value {
    json!({ "apiVersion": api_version, "kind": "AdmissionReview", "response": response })
}

/// Name of an annotation without its domain: the API server puts the name of the webhook and a slash before it.
fn annotation_name(key: &str) -> String {
    let name = match key.split_once('/') {
        Some((domain, name)) => {
            let (own, _) = domain.split_once('.').unwrap_or((domain, ""));
            format!("{own}.{name}")
        }
        None => key.to_owned(),
    };
    let bytes_max = ANNOTATION_NAME_BYTES_MAX.min(name.len());
    let mut ends = (0..=bytes_max).rev();
    let end = ends.find(|end| name.is_char_boundary(*end));
    let name = &name[..end.unwrap_or_default()];
    name.trim_end_matches(|c: char| !c.is_ascii_alphanumeric())
        .to_owned()
}

fn string<'a>(request: &'a Value, field: &str) -> Result<&'a str, String> {
    match &request[field] {
        Value::Null => Ok(""),
        Value::String(text) => Ok(text),
        _ => Err(format!("request.{field} is not a string")),
    }
}

fn resource_version(
    request: &Value,
    kind: &str,
    resource: &str,
) -> Result<ResourceVersion, String> {
    let text = |field: &str, part: &str| match &request[field][part] {
        Value::Null if part == "group" => Ok(""),
        Value::String(text) => Ok(text.as_str()),
        _ => Err(format!("request.{field}.{part} is missing")),
    };
    Ok(ResourceVersion {
        kind: GroupVersionKind::new(
            text(kind, "group")?,
            text(kind, "version")?,
            text(kind, "kind")?,
        ),
        resource: GroupVersionResource::new(
            text(resource, "group")?,
            text(resource, "version")?,
            text(resource, "resource")?,
        ),
    })
}

fn user(info: &Value) -> User {
    let texts = |value: &Value| -> Vec<String> {
        let items = value.as_array().into_iter().flatten();
        items
            .filter_map(|item| Some(item.as_str()?.to_owned()))
            .collect()
    };
    let mut user = User::new(
        info["username"].as_str().unwrap_or_default(),
        texts(&info["groups"]),
    );
    info["uid"]
        .as_str()
        .unwrap_or_default()
        .clone_into(&mut user.uid);
    let extra = info["extra"].as_object().into_iter().flatten();
    user.extra = extra
        .map(|(key, values)| (key.clone(), texts(values)))
        .collect();
    user
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_annotations_fit_behind_the_name_of_a_webhook() {
        let key = "mutation.policy.admission.k8s.io/round_0_index_1";
        assert_eq!(annotation_name(key), "mutation.round_0_index_1");
        assert_eq!(annotation_name("my-policy/note"), "my-policy.note");
        let long = annotation_name(&format!("{}/-{}", "p".repeat(61), "é".repeat(9)));
        assert_eq!(long, "p".repeat(61));
    }
}
