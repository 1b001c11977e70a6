//! The forms in which objects are answered: what is shown of them ([`Shape`]), and how that is
//! written down ([`Encoding`]).
//!
//! Handlers know shapes and always write JSON. What becomes of that JSON on the way out (indented,
//! YAML, compressed) is decided here and done last, when everybody who has to read the answer has
//! read it.

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

/// What a client takes of what there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Form {
    /// What is shown of objects.
    pub shape: Shape,
    /// How it is written.
    pub encoding: Encoding,
}

/// What is shown of objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Shape {
    /// All of them.
    #[default]
    Whole,
    /// Their metadata: `PartialObjectMetadata`.
    Metadata(MetaVersion),
    /// A line each: `Table`.
    Table(MetaVersion, Include),
}

/// A version of `meta.k8s.io`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "these are upstream's names")]
pub enum MetaVersion {
    V1,
    V1Beta1,
}

/// What the lines of a table carry besides their cells: `includeObject`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Include {
    /// Nothing.
    None,
    /// The metadata of the object.
    Metadata,
    /// The object.
    Object,
}

/// How an answer is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Encoding {
    /// JSON for programs.
    #[default]
    Json,
    /// JSON for people.
    IndentedJson,
    /// YAML.
    Yaml,
    /// Messages of protobuf, for those who take nothing else.
    Protobuf,
}

impl MetaVersion {
    /// The version with a name.
    fn named(name: &str) -> Option<Self> {
        match name {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1Beta1),
            _ => None,
        }
    }

    /// As `apiVersion` spells it.
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
        Some((schema_revision << 16) | (shape << 8) | served.version as u64)
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
