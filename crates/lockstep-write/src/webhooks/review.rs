//! Encodes `AdmissionReview` requests and checks the responses, without I/O.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockstep_object::incoming::type_name;
use lockstep_object::{Object, Value};
use serde_json::{Map, json};

/// A version of `AdmissionReview` or `ConversionReview`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReviewVersion {
    /// `v1`, whose responses must repeat the `uid` and name a `patchType`.
    V1,
    /// `v1beta1`, whose responses need neither.
    V1beta1,
}

/// API group of `AdmissionReview`.
const GROUP: &str = "admission.k8s.io";
const KIND: &str = "AdmissionReview";

/// Admission phase of a webhook.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// `MutatingAdmissionWebhook`: may change the object.
    Mutating,
    /// `ValidatingAdmissionWebhook`: may only reject it.
    Validating,
}

/// Response of a webhook that passed all checks.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// True if the request is admitted.
    pub allowed: bool,
    /// `Status` of a denial, or null.
    pub result: Value,
    /// Decoded `patch`; empty if absent.
    pub patch: Vec<u8>,
    /// `patchType` of the response.
    pub patch_type: String,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// Annotations for the audit event.
    pub audit_annotations: BTreeMap<String, String>,
}

impl ReviewVersion {
    /// The first supported version of a list in order of preference.
    pub fn first_of<'v>(versions: impl IntoIterator<Item = &'v str>) -> Option<Self> {
        versions.into_iter().find_map(|version| match version {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1beta1),
            _ => None,
        })
    }

    /// The version as written in `apiVersion`.
    pub fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1beta1 => "v1beta1",
        }
    }

    /// Builds the `AdmissionReview` to send. `request` is the `AdmissionRequest` without its objects.
    pub fn question(
        self,
        uid: &str,
        request: &Value,
        object: Option<&Object>,
        old: Option<&Object>,
    ) -> Value {
        let mut review_request = request.as_object().cloned().unwrap_or_default();
        let value = |object: Option<&Object>| {
            let value = object.map(|object| object.as_value().clone());
            value.unwrap_or_default()
        };
        review_request.insert("uid".to_owned(), uid.into());
        review_request.insert("object".to_owned(), value(object));
        review_request.insert("oldObject".to_owned(), value(old));
        json!({
            "kind": KIND,
            "apiVersion": format!("{GROUP}/{}", self.name()),
            "request": review_request,
        })
    }

    /// Decodes and checks the response to the request with a uid.
    pub fn answer(self, uid: &str, phase: Phase, answer: &Value) -> Result<Answer, Unusable> {
        let Value::Object(answer) = answer else {
            return Err(Unusable::no_map(type_name(answer)));
        };
        let answered_kind = self.check_kind(answer)?;
        let response = match answer.get("response") {
            None | Some(Value::Null) => {
                return Err(Unusable::Invalid("webhook response was absent".to_owned()));
            }
            Some(response) => Response::read(response)?,
        };
        if self == Self::V1 {
            response.check(uid, &answered_kind, phase)?;
        }
        Ok(response.answer(self, phase))
    }

    /// Checks the `kind` and `apiVersion` of a response and returns them formatted. Empty ones pass here;
    /// `Response::check` rejects them for `v1` only.
    fn check_kind(self, answer: &Map<String, Value>) -> Result<String, Unusable> {
        let text = |field: &str| {
            answer
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (kind, version) = (text("kind"), text("apiVersion"));
        let (group, bare) = version.split_once('/').unwrap_or(("", version));
        let answered_kind = format!("{group}/{bare}, Kind={kind}");
        let undecodable = |why: String| Err(Unusable::Undecodable(why));
        if kind.is_empty() || version.is_empty() {
            return Ok(answered_kind);
        }
        let known = [Self::V1, Self::V1beta1]
            .into_iter()
            .find(|known| version == format!("{GROUP}/{}", known.name()));
        match known {
            Some(known) if kind == KIND && known == self => Ok(answered_kind),
            Some(known) if kind == KIND => undecodable(format!(
                "converting ({}.{KIND}) to ({}.{KIND}): unknown conversion",
                known.name(),
                self.name()
            )),
            _ => undecodable(format!(
                "no kind {kind:?} is registered for version {version:?} in scheme \"k8s.io/apiserver/pkg/util/webhook/client.go:71\""
            )),
        }
    }
}

/// Reasons to discard a webhook response.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unusable {
    /// It cannot be decoded as an `AdmissionReview`.
    #[error("failed to call webhook: {0}")]
    Undecodable(String),
    /// It violates the rules of `v1` responses.
    #[error("received invalid webhook response: {0}")]
    Invalid(String),
}

impl Unusable {
    /// Error for a response that is not a JSON object, with the type name in Go's error message.
    pub(crate) fn no_map(found: &str) -> Self {
        Self::Undecodable(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
        ))
    }
}

/// Decoded `response` of an `AdmissionReview`.
struct Response {
    uid: String,
    allowed: bool,
    result: Value,
    patch: Vec<u8>,
    patch_type: Option<String>,
    warnings: Vec<String>,
    audit_annotations: BTreeMap<String, String>,
}

impl Response {
    fn read(response: &Value) -> Result<Self, Unusable> {
        let mistyped = |field: &str, found: &Value, wanted: &str| {
            let found = type_name(found);
            Unusable::Undecodable(format!(
                "json: cannot unmarshal {found} into Go struct field AdmissionResponse.response{field} of type {wanted}"
            ))
        };
        if !response.is_object() {
            return Err(mistyped("", response, "v1.AdmissionResponse"));
        }
        let text = |field: &str, wanted: &str| match &response[field] {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text.clone())),
            other => Err(mistyped(&format!(".{field}"), other, wanted)),
        };
        let allowed = match &response["allowed"] {
            Value::Null => false,
            Value::Bool(allowed) => *allowed,
            other => return Err(mistyped(".allowed", other, "bool")),
        };
        let patch = text("patch", "[]uint8")?.unwrap_or_default();
        let patch = STANDARD.decode(&patch).map_err(|_| {
            let place = patch.bytes().position(|byte| !is_base64(byte));
            Unusable::Undecodable(format!(
                "illegal base64 data at input byte {}",
                place.unwrap_or(patch.len())
            ))
        })?;
        let warnings = match &response["warnings"] {
            Value::Null => Vec::new(),
            Value::Array(items) => {
                texts(items.iter(), |other| mistyped(".warnings", other, "string"))?
            }
            other => return Err(mistyped(".warnings", other, "[]string")),
        };
        let audit_annotations = match &response["auditAnnotations"] {
            Value::Null => BTreeMap::new(),
            Value::Object(entries) => {
                let values = texts(entries.values(), |other| {
                    mistyped(".auditAnnotations", other, "string")
                })?;
                entries.keys().cloned().zip(values).collect()
            }
            other => return Err(mistyped(".auditAnnotations", other, "map[string]string")),
        };
        let result = &response["status"];
        if !matches!(result, Value::Null | Value::Object(_)) {
            return Err(mistyped(".status", result, "v1.Status"));
        }
        Ok(Self {
            uid: text("uid", "types.UID")?.unwrap_or_default(),
            allowed,
            result: result.clone(),
            patch,
            patch_type: text("patchType", "v1.PatchType")?,
            warnings,
            audit_annotations,
        })
    }

    /// Checks the rules of `v1`: matching uid, exact kind, and `patch` together with `patchType`.
    fn check(&self, uid: &str, answered_kind: &str, phase: Phase) -> Result<(), Unusable> {
        let invalid = |why: String| Err(Unusable::Invalid(why));
        if self.uid != uid {
            let found = &self.uid;
            return invalid(format!("expected response.uid={uid:?}, got {found:?}"));
        }
        let expected = format!("{GROUP}/v1, Kind={KIND}");
        if answered_kind != expected {
            return invalid(format!(
                "expected webhook response of {expected}, got {answered_kind}"
            ));
        }
        let has_patch = !self.patch.is_empty();
        match (phase, &self.patch_type) {
            (Phase::Validating, _) if has_patch => {
                invalid("validating webhook may not return response.patch".to_owned())
            }
            (Phase::Validating, Some(_)) => {
                invalid("validating webhook may not return response.patchType".to_owned())
            }
            (Phase::Mutating, None) if has_patch => {
                invalid("webhook returned response.patch but not response.patchType".to_owned())
            }
            (Phase::Mutating, Some(_)) if !has_patch => {
                invalid("webhook returned response.patchType but not response.patch".to_owned())
            }
            (Phase::Mutating, Some(kind)) if kind.is_empty() => invalid(format!(
                "webhook returned invalid response.patchType of {kind:?}"
            )),
            _ => Ok(()),
        }
    }

    fn answer(self, version: ReviewVersion, phase: Phase) -> Answer {
        let patch = match phase {
            Phase::Mutating => self.patch,
            Phase::Validating => Vec::new(),
        };
        let patch_type = match version {
            ReviewVersion::V1 => self.patch_type.unwrap_or_default(),
            ReviewVersion::V1beta1 if patch.is_empty() => String::new(),
            ReviewVersion::V1beta1 => "JSONPatch".to_owned(),
        };
        Answer {
            allowed: self.allowed,
            result: self.result,
            patch,
            patch_type,
            warnings: self.warnings,
            audit_annotations: self.audit_annotations,
        }
    }
}

fn texts<'v>(
    values: impl Iterator<Item = &'v Value>,
    mistyped: impl Fn(&Value) -> Unusable,
) -> Result<Vec<String>, Unusable> {
    let text = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        Value::Null => Ok(String::new()),
        other => Err(mistyped(other)),
    };
    values.map(text).collect()
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}
