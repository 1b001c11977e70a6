//! Decoding of request bodies to objects of the resource.

use lockstep_kinds::{Table, typed};
use lockstep_object::field::Path;
use lockstep_object::incoming::{KindOrigin, check_body_kind, mistyped};
use lockstep_object::metadata::{Malformed, normalize_metadata};
use lockstep_object::{ApiError, GroupVersionKind, Map, Object, Value, json};

use super::{Origin, Served};

/// Decoded request body.
#[derive(Debug)]
pub struct Document {
    /// Decoded value.
    pub value: Value,
    /// Duplicate fields: JSON paths, or complete messages for YAML.
    pub duplicates: Vec<String>,
}

/// Object decoded from a request.
#[derive(Clone)]
pub struct Incoming {
    /// Decoded object.
    pub object: Object,
    /// Duplicate fields.
    pub duplicates: Vec<String>,
    /// Fields that the schema does not know; they are dropped.
    pub unknown: Vec<String>,
    /// Result of a patch, for error messages if it is invalid.
    pub patched: Option<Patched>,
}

/// Value in the error message of an invalid patch: the patched object, or the patch itself for a strategic merge
/// patch.
#[derive(Clone)]
pub enum Patched {
    /// Patched object.
    Object(Value),
    /// Strategic merge patch.
    StrategicPatch(Map<String, Value>),
}

/// Reasons for which a value is not an object of the resource.
pub(crate) enum Unfit {
    /// `apiVersion` or `kind` is missing or differs from the expected one.
    Kind(ApiError),
    /// A field has the wrong type.
    Type(String),
}

/// Checks that a decoded body is an object of a resource in its version.
pub fn object(served: &Served, document: Document, source: &[u8]) -> Result<Incoming, ApiError> {
    let Document { value, duplicates } = document;
    let mut unknown = Vec::new();
    let object = accept(served, value, source, &mut unknown)?;
    let unknown = json::in_document_order(source, unknown);
    Ok(Incoming {
        object,
        duplicates,
        unknown,
        patched: None,
    })
}

/// Decodes the result of a webhook's patch as an object of the resource, or of the subresource's own kind. Unknown
/// fields are dropped.
pub fn refit(served: &Served, own_kind: Option<[&str; 3]>, value: Value) -> Result<Object, String> {
    let mut unknown = Vec::new();
    let Some([group, version, kind]) = own_kind else {
        return fit(served, value, &[], &mut unknown).map_err(|unfit| match unfit {
            Unfit::Kind(error) => error.to_string(),
            Unfit::Type(problem) => problem,
        });
    };
    let gvk = GroupVersionKind::new(group, version, kind);
    let object = check_body_kind(value, &[], &gvk, KindOrigin::BuiltIn);
    let mut object = object.map_err(|error| error.to_string())?;
    let table = Table::builtin();
    if let Some(id) = table.kind(group, version, kind) {
        typed::read(table, id, object.fields_mut(), &mut unknown)
            .map_err(|error| error.to_string())?;
    }
    Ok(object)
}

/// Checks that a value is an object of the resource in its version, and validates the types of its fields. Unknown
/// fields are dropped and reported.
pub(crate) fn accept(
    served: &Served,
    value: Value,
    body: &[u8],
    unknown: &mut Vec<String>,
) -> Result<Object, ApiError> {
    fit(served, value, body, unknown).map_err(|unfit| match unfit {
        Unfit::Kind(error) => error,
        Unfit::Type(problem) => mistyped(&served.gvk(), &problem),
    })
}

/// Variant of `accept` for callers with their own error messages.
pub(super) fn fit(
    served: &Served,
    value: Value,
    body: &[u8],
    unknown: &mut Vec<String>,
) -> Result<Object, Unfit> {
    let origin = match served.resource.origin {
        Origin::BuiltIn => KindOrigin::BuiltIn,
        Origin::Custom | Origin::Own => KindOrigin::Custom,
    };
    let object = check_body_kind(value, body, &served.gvk(), origin);
    let mut object = object.map_err(Unfit::Kind)?;
    check_metadata(&mut object, unknown).map_err(Unfit::Type)?;
    let strategy = &served.resource.strategy;
    let checked = strategy.check_types(served.version, &mut object, unknown);
    checked.map_err(Unfit::Type)?;
    Ok(object)
}

/// Checks the types of the fields of `metadata`. Unknown fields are dropped and reported.
pub(crate) fn check_metadata(object: &mut Object, unknown: &mut Vec<String>) -> Result<(), String> {
    let metadata = object
        .fields_mut()
        .entry("metadata")
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    let path = Path::ROOT.field("metadata");
    normalize_metadata(metadata, &path, Malformed::Refuse, unknown)
        .map_err(|error| error.to_string())
}
