//! What is asked of whoever keeps the objects.

use lockstep_object::metadata::Seconds;
use serde_json::{Map, Value};

use super::{Operation, Owner};
use crate::fields::Set;
use crate::typed::Comparison;
use crate::types::Type;

/// The endpoint that a write came to.
pub trait Endpoint {
    /// Why an object cannot be had in another version.
    type Error;

    /// The type of objects in a version, such as `apps/v1`; none if it is not known any more.
    fn type_of(&self, api_version: &str) -> Option<Type<'_>>;

    /// An object of one version in another that [`type_of`](Self::type_of) knows.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, Self::Error>;

    /// What an object of a version has before anything is said about it.
    fn empty(&self, _api_version: &str) -> Value {
        Value::Object(Map::new())
    }

    /// What a next state becomes if nobody can change some of its fields now; none if it stays as it is. Nobody can
    /// disagree about such fields, and nobody loses them. Both states are of the version that is written, and `change`
    /// is how they differ.
    fn kept(
        &self,
        _live: &Value,
        _next: &Value,
        _change: &Comparison,
    ) -> Result<Option<Value>, Self::Error> {
        Ok(None)
    }

    /// What of a set can be owned through this endpoint.
    fn owned(&self, api_version: &str, fields: Set) -> Set;
}

/// Who writes.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'w> {
    /// Its name.
    pub manager: &'w str,
    /// The version it writes.
    pub api_version: &'w str,
    /// The part of objects it writes; empty for the whole.
    pub subresource: &'w str,
    /// When.
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

/// An object in a version: itself if it is one already.
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
