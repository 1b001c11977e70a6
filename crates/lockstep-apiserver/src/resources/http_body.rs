//! Bodies of HTTP requests, decoded by their media type.

use lockstep_kinds::{Table, typed};
use lockstep_object::field::Path;
use lockstep_object::incoming::{
    FieldValidation, KindOrigin, check_body_kind, malformed, mistyped,
};
use lockstep_object::metadata::{Malformed, normalize_metadata};
use lockstep_object::{ApiError, GroupVersionKind, Object, Value, json, yaml};

use super::Request;
use crate::views::{JSON, PROTOBUF, YAML, on_deep_stack};
use lockstep_write::{Document, Incoming, decode_object, invalid_options};

impl Request<'_> {
    /// Decodes the body as an object of the resource.
    pub(crate) fn object(&self) -> Result<Incoming, ApiError> {
        let document = self.document(&self.served.resource.kind)?;
        decode_object(&self.served, document, &self.body)
    }

    /// Decodes the body as an object of another built-in kind.
    pub(crate) fn other(&self, gvk: &GroupVersionKind) -> Result<Object, ApiError> {
        let Document { value, duplicates } = self.document(&gvk.kind)?;
        let mut object = check_body_kind(value, &self.body, gvk, KindOrigin::BuiltIn)?;
        let mut unknown = Vec::new();
        let path = Path::ROOT.field("metadata");
        if let Some(metadata) = object.fields_mut().get_mut("metadata") {
            normalize_metadata(metadata, &path, Malformed::Refuse, &mut unknown)
                .map_err(|error| mistyped(gvk, &error.to_string()))?;
        }
        let table = Table::builtin();
        let id = table.kind(&gvk.group, &gvk.version, &gvk.kind);
        let id = id.ok_or(ApiError::NoSuchResource)?;
        typed::read(table, id, object.fields_mut(), &mut unknown)
            .map_err(|error| mistyped(gvk, &error.to_string()))?;
        self.complain(&duplicates, &unknown)?;
        Ok(object)
    }

    /// Decodes the body by its media type. `kind` is the expected kind, for error messages.
    pub(super) fn document(&self, kind: &str) -> Result<Document, ApiError> {
        let media_type = self.content_type.split(';').next().unwrap_or_default();
        let malformed = |problem: &str| malformed(kind, &self.body, problem);
        match media_type.trim() {
            "" | JSON | "*/*" => {
                let decoded = json::decode(&self.body);
                let decoded = decoded.map_err(|error| malformed(&error.to_string()))?;
                Ok(Document {
                    value: decoded.value,
                    duplicates: decoded.duplicates,
                })
            }
            YAML => {
                let decoded = on_deep_stack(|| yaml::decode(&self.body));
                let decoded = decoded.map_err(|error| ApiError::internal(error.to_string()))?;
                let decoded = decoded.map_err(|error| malformed(&error.to_string()))?;
                Ok(Document {
                    value: decoded.value,
                    duplicates: decoded.duplicates,
                })
            }
            PROTOBUF => self.message(kind),
            _ => Err(ApiError::unsupported_media_type(&self.media_types())),
        }
    }

    /// Parses `fieldValidation`.
    pub(super) fn field_validation(&self) -> Result<FieldValidation, ApiError> {
        let asked = self.query.get("fieldValidation").unwrap_or_default();
        FieldValidation::named(asked).map_err(|error| invalid_options(self.route.verb, error))
    }

    /// Applies `fieldValidation` to duplicate and unknown fields.
    pub(crate) fn complain(
        &self,
        duplicates: &[String],
        unknown: &[String],
    ) -> Result<(), ApiError> {
        let unknown = json::in_document_order(&self.body, unknown.to_vec());
        let judged = self.field_validation()?.judge(duplicates, &unknown);
        for warning in judged.map_err(|problem| mistyped(&self.served.gvk(), &problem))? {
            self.notes.warn(warning);
        }
        Ok(())
    }

    /// Decodes an apply configuration.
    pub(super) fn apply_configuration(&self) -> Result<Value, ApiError> {
        read(self)
    }
}

/// Decodes YAML. Most clients send its subset JSON, which is tried first because it is faster.
fn read(request: &Request<'_>) -> Result<Value, ApiError> {
    let bad = |problem: &str| ApiError::bad_request(format!("error decoding YAML: {problem}"));
    let fast = json::decode(&request.body).ok();
    let fast = fast.filter(|decoded| decoded.duplicates.is_empty());
    let value = if let Some(decoded) = fast {
        decoded.value
    } else {
        let decoded = on_deep_stack(|| yaml::decode(&request.body));
        let decoded = decoded.map_err(|error| ApiError::internal(error.to_string()))?;
        let decoded = decoded.map_err(|error| bad(&error.to_string()))?;
        tell_duplicates(request, &decoded.duplicates)?;
        decoded.value
    };
    if value.is_object() {
        return Ok(value);
    }
    let found = lockstep_object::incoming::type_name(&value);
    Err(bad(&format!(
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
    )))
}

fn tell_duplicates(request: &Request<'_>, duplicates: &[String]) -> Result<(), ApiError> {
    if duplicates.is_empty() {
        return Ok(());
    }
    match request.field_validation()? {
        FieldValidation::Ignore => Ok(()),
        FieldValidation::Warn => {
            for duplicate in duplicates {
                request.notes.warn(duplicate);
            }
            Ok(())
        }
        FieldValidation::Strict => Err(ApiError::bad_request(format!(
            "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {}",
            duplicates.join("\n  ")
        ))),
    }
}
