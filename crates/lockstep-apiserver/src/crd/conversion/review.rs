//! `ConversionReview`: building the request and validating the response. Pure.

use lockstep_object::{Object, Value};
use serde_json::json;

use super::metadata::restore_metadata;
pub use crate::webhooks::ReviewVersion;

/// The group of `ConversionReview`.
const GROUP: &str = "apiextensions.k8s.io";

/// A conversion request.
#[derive(Clone, Copy, Debug)]
pub struct Review<'a> {
    /// The version of `ConversionReview`.
    pub version: ReviewVersion,
    /// The UID that the response must repeat.
    pub uid: &'a str,
    /// The desired `apiVersion`.
    pub desired: &'a str,
    /// The objects, none of which has the desired version.
    pub objects: &'a [Object],
}

/// An invalid response. The text follows `conversion webhook for G/V, Kind=K`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReviewError {
    /// The response does not match the request, or reports a failure.
    #[error("failed: {0}")]
    Failed(String),
    /// The number of objects differs.
    #[error("returned {returned} objects, expected {expected}")]
    Count {
        /// The number of objects in the response.
        returned: usize,
        /// The number of objects in the request.
        expected: usize,
    },
    /// An object has another kind, version, name, namespace or UID.
    #[error("returned invalid {object}: {problem}")]
    Object {
        /// The description of the object.
        object: String,
        /// The problem.
        problem: String,
    },
    /// The metadata of an object is invalid.
    #[error("returned invalid metadata{object}: {problem}")]
    Metadata {
        /// The description of the object.
        object: String,
        /// The problem.
        problem: String,
    },
}

impl ReviewError {
    /// Upstream's failure type in metrics.
    pub(super) fn failure_type(&self) -> &'static str {
        match self {
            Self::Failed(_) => "conversion_webhook_malformed_response_failure",
            Self::Count { .. } => "conversion_webhook_partial_response_failure",
            Self::Object { .. } | Self::Metadata { .. } => {
                "conversion_webhook_invalid_converted_object_failure"
            }
        }
    }
}

impl Review<'_> {
    /// Builds the `ConversionReview` to send.
    pub fn request(&self) -> Value {
        let objects: Vec<Value> = self.objects.iter().map(|o| o.as_value().clone()).collect();
        json!({
            "kind": "ConversionReview",
            "apiVersion": format!("{GROUP}/{}", self.version.name()),
            "request": {
                "uid": self.uid,
                "desiredAPIVersion": self.desired,
                "objects": objects,
            },
        })
    }

    /// Validates a response and returns the converted objects, in the order of the request. Their metadata is that of
    /// the originals, except for labels and annotations.
    pub fn converted(&self, answer: Value) -> Result<Vec<Object>, ReviewError> {
        let objects = self.objects_of(answer)?;
        if objects.len() != self.objects.len() {
            return Err(ReviewError::Count {
                returned: objects.len(),
                expected: self.objects.len(),
            });
        }
        let pairs = self.objects.iter().zip(objects).enumerate();
        pairs
            .map(|(index, (original, object))| self.check(index, original, object))
            .collect()
    }

    /// The objects of a successful response.
    fn objects_of(&self, mut answer: Value) -> Result<Vec<Value>, ReviewError> {
        let failed = |why: String| Err(ReviewError::Failed(why));
        if !answer.is_object() {
            return failed("the answer is not a ConversionReview".to_owned());
        }
        let must_name_itself = self.version == ReviewVersion::V1;
        let text = |object: &Value, field: &str| {
            let text = object[field].as_str();
            text.unwrap_or_default().to_owned()
        };
        let is = (text(&answer, "apiVersion"), text(&answer, "kind"));
        let wanted = format!("{GROUP}/{}", self.version.name());
        if must_name_itself && is != (wanted.clone(), "ConversionReview".to_owned()) {
            return failed(format!(
                "expected webhook response of {wanted}, Kind=ConversionReview, got {}, Kind={}",
                is.0, is.1
            ));
        }
        let response = answer["response"].take();
        if !response.is_object() {
            return failed("no response provided".to_owned());
        }
        let uid = text(&response, "uid");
        if must_name_itself && uid != self.uid {
            return failed(format!("expected response.uid={:?}, got {uid:?}", self.uid));
        }
        let status = text(&response["result"], "status");
        if status != "Success" {
            return match text(&response["result"], "message") {
                message if message.is_empty() => failed(format!(
                    "response.result.status was '{status}', not 'Success'"
                )),
                message => failed(message),
            };
        }
        match response {
            Value::Object(mut response) => match response.remove("convertedObjects") {
                None | Some(Value::Null) => Ok(Vec::new()),
                Some(Value::Array(objects)) => Ok(objects),
                Some(_) => failed("response.convertedObjects is not a list".to_owned()),
            },
            _ => failed("no response provided".to_owned()),
        }
    }

    /// Checks a returned object against the original.
    fn check(&self, index: usize, original: &Object, value: Value) -> Result<Object, ReviewError> {
        let is_one = self.objects.len() == 1;
        let at = |problem: String| ReviewError::Object {
            object: if is_one {
                format!("object at index {index}")
            } else {
                format!("converted object at index {index}")
            },
            problem,
        };
        let mut object =
            Object::from_value(value).map_err(|_| at("it is not an object".to_owned()))?;
        let version = object.api_version();
        if version != self.desired {
            return Err(at(format!(
                "invalid groupVersion (expected {}, received {version})",
                self.desired
            )));
        }
        let (expected, kind) = (original.kind(), object.kind());
        if kind != expected {
            return Err(at(format!(
                "invalid kind (expected {expected}, received {kind})"
            )));
        }
        if let Some(problem) = another(original, &object) {
            return Err(if is_one {
                let object = "object".to_owned();
                ReviewError::Object { object, problem }
            } else {
                at(problem)
            });
        }
        restore_metadata(original, &mut object).map_err(|problem| ReviewError::Metadata {
            object: if is_one {
                String::new()
            } else {
                format!(" in object at index {index}")
            },
            problem,
        })?;
        Ok(object)
    }
}

/// The first identity field in which a returned object differs from the original.
fn another(original: &Object, object: &Object) -> Option<String> {
    let rows = [
        ("name", original.name(), object.name()),
        ("namespace", original.namespace(), object.namespace()),
        ("UID", original.uid(), object.uid()),
    ];
    let differs = rows.into_iter().find(|(_, was, is)| was != is);
    differs.map(|(what, was, is)| format!("must have the same {what}: {was} != {is}"))
}
