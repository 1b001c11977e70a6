//! Request bodies in protobuf.

use lockstep_kinds::proto::{Envelope, decode};
use lockstep_kinds::{Table, TypeId};
use lockstep_object::incoming::{mistyped, unrecognized};
use lockstep_object::{ApiError, GroupVersionKind, Map, Value};

use super::{Origin, Request};
use crate::views::{PROTOBUF, body_types};
use lockstep_write::Document;

impl Request<'_> {
    /// Decodes a protobuf body as the kind of the resource, or as a kind that every resource accepts (such as
    /// `DeleteOptions`). Custom resources have no protobuf encoding.
    pub(super) fn message(&self, kind: &str) -> Result<Document, ApiError> {
        let Some((gvk, id)) = self.message_type(kind) else {
            return Err(ApiError::unsupported_media_type(&self.media_types()));
        };
        let envelope = Envelope::open(&self.body)
            .map_err(|error| unrecognized(kind, &self.body, &error.to_string()))?;
        let is_other = !envelope.kind.is_empty() && envelope.kind != kind;
        let mut fields = if is_other {
            // The body is of another kind, so its fields cannot be decoded. The check of `apiVersion` and `kind`
            // reports it.
            Map::new()
        } else {
            let fields = decode(Table::builtin(), id, envelope.raw);
            fields.map_err(|error| mistyped(&gvk, &error.to_string()))?
        };
        for (name, text) in [
            ("apiVersion", envelope.api_version),
            ("kind", envelope.kind),
        ] {
            if !text.is_empty() {
                fields.insert(name.to_owned(), text.into());
            }
        }
        Ok(Document {
            value: Value::Object(fields),
            duplicates: Vec::new(),
        })
    }

    /// Media types that request bodies of this resource may have.
    pub(super) fn media_types(&self) -> Vec<&'static str> {
        let mut types = body_types();
        if self.served.resource.origin == Origin::BuiltIn {
            types.push(PROTOBUF);
        }
        types
    }

    fn message_type(&self, kind: &str) -> Option<(GroupVersionKind, TypeId)> {
        let gvk = match kind {
            "DeleteOptions" | "Binding" => GroupVersionKind::new("", "v1", kind),
            "Eviction" => GroupVersionKind::new("policy", "v1", kind),
            "Scale" => GroupVersionKind::new("autoscaling", "v1", kind),
            "TokenRequest" => GroupVersionKind::new("authentication.k8s.io", "v1", kind),
            _ if self.served.resource.origin == Origin::Custom => return None,
            _ => self.served.gvk(),
        };
        let id = Table::builtin().kind(&gvk.group, &gvk.version, &gvk.kind)?;
        Some((gvk, id))
    }
}
