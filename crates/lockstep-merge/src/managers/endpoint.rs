//! The interface through which field management uses the types and conversions of a served resource.

use lockstep_object::metadata::Seconds;
use serde_json::{Map, Value};

use super::{Operation, Owner};
use crate::fields::Set;
use crate::typed::Comparison;
use crate::types::Type;

/// Types, conversion and ownership rules of the endpoint that serves a write.
pub trait Endpoint {
    /// Conversion error.
    type Error;

    /// Type of the objects in a version such as `apps/v1`; none if the version is no longer served.
    fn type_of(&self, api_version: &str) -> Option<Type<'_>>;

    /// Converts an object to a version that [`type_of`](Self::type_of) knows.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, Self::Error>;

    /// Object that a create is compared with; its fields do not count as added.
    fn empty(&self, _api_version: &str) -> Value {
        Value::Object(Map::new())
    }

    /// The next state with the fields of closed field gates reset to their live values; none if nothing
    /// changes. Such fields neither conflict nor change owner. Both states are in the written version; `change` is
    /// their difference.
    fn with_frozen_fields(
        &self,
        _live: &Value,
        _next: &Value,
        _change: &Comparison,
    ) -> Result<Option<Value>, Self::Error> {
        Ok(None)
    }

    /// Restricts a field set to the fields that can be owned through this endpoint.
    fn owned(&self, api_version: &str, fields: Set) -> Set;
}

/// The field manager of a write, with the version, subresource and time of its managedFields entry.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'w> {
    /// Name of the field manager.
    pub manager: &'w str,
    /// API version of the request.
    pub api_version: &'w str,
    /// Subresource of the request; empty for the main resource.
    pub subresource: &'w str,
    /// Time recorded in the entry.
    pub now: Seconds,
}

impl Writer<'_> {
    pub(super) fn owner(&self, operation: Operation) -> Owner {
        let manager = match self.manager {
            "" => "unknown",
            manager => manager,
        };
        Owner::new(manager, operation, self.api_version, self.subresource)
    }
}

/// Converts an object to a version; borrows if it has that version already.
pub(super) fn in_version<'v, E: Endpoint>(
    endpoint: &E,
    object: std::borrow::Cow<'v, Value>,
    api_version: &str,
) -> Result<std::borrow::Cow<'v, Value>, E::Error> {
    match object.get("apiVersion").and_then(Value::as_str) {
        Some(own) if own != api_version => {
            let converted = endpoint.convert(&object, api_version)?;
            Ok(std::borrow::Cow::Owned(converted))
        }
        _ => Ok(object),
    }
}
