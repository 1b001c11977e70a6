//! Representations of objects in responses: the part of an object that is shown ([`Shape`]) and its encoding
//! ([`Encoding`]).
//!
//! Handlers apply the shape and always write JSON. Indentation, YAML, protobuf and compression follow last, after audit
//! and other readers of the JSON.

pub(crate) mod accept;
mod deep;
mod finish;
mod gzip;
mod indent;
mod message;
mod negotiate;
mod shaped;

pub(crate) use deep::{on_deep_stack, read};
pub(crate) use finish::{finish, mark, mark_as_asked};
pub use lockstep_catalog::{Cell, Column, Columns};
pub(crate) use message::as_frames;
pub use negotiate::Asked;
pub(crate) use negotiate::{JSON, PROTOBUF, YAML, body_types, is_offered};
pub(crate) use shaped::{Headers, close_table, open_table, partial_start, write_object, write_row};

use lockstep_catalog::Served;

/// Negotiated representation of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Form {
    /// Part of each object that is shown.
    pub shape: Shape,
    /// Encoding of the response.
    pub encoding: Encoding,
}

/// Part of each object that is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Shape {
    /// Whole objects.
    #[default]
    Whole,
    /// `PartialObjectMetadata`.
    Metadata(MetaVersion),
    /// `Table` with one row per object.
    Table(MetaVersion, Include),
}

/// A version of `meta.k8s.io`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "these are upstream's names")]
pub enum MetaVersion {
    V1,
    V1Beta1,
}

/// `includeObject`: content of a Table row in addition to its cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Include {
    /// Cells only.
    None,
    /// Metadata of the object.
    Metadata,
    /// The whole object.
    Object,
}

/// Encoding of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Encoding {
    /// Compact JSON.
    #[default]
    Json,
    /// Indented JSON.
    IndentedJson,
    /// YAML.
    Yaml,
    /// Protobuf, used only if the client accepts no other encoding.
    Protobuf,
}

impl MetaVersion {
    /// Parses the version.
    fn named(name: &str) -> Option<Self> {
        match name {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1Beta1),
            _ => None,
        }
    }

    /// The `apiVersion`.
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

impl Shape {
    /// The cache key of encoded objects in this shape, equal for all clients. None for tables: their ages depend on
    /// the time.
    pub(crate) fn cache_key(self, served: &Served) -> Option<u64> {
        let schema_revision = served.resource.schema_revision.0;
        let shape = self.number()?;
        Some((schema_revision << 16) | (shape << 8) | served.version.position() as u64)
    }

    fn number(self) -> Option<u64> {
        match self {
            Self::Whole => Some(0),
            Self::Metadata(MetaVersion::V1) => Some(1),
            Self::Metadata(MetaVersion::V1Beta1) => Some(2),
            Self::Table(..) => None,
        }
    }
}
