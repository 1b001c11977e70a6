//! OpenAPI documents of a server: version 3.0 for each group version ([`v3::document`]), and a single document of
//! version 2.0 ([`v2::document`], as protobuf [`gnostic::encode`]).
//!
//! Clients depend on more than the schemas: kubectl detects server capabilities from a parameter of a kind's `PATCH`,
//! and looks kinds up by `x-kubernetes-group-version-kind`.

mod custom;
pub mod gnostic;
mod operation;
mod schemas;
pub mod v2;
pub mod v3;

use serde_json::Value;

/// A resource in one version.
#[derive(Debug, Clone)]
pub struct Resource<'a> {
    /// The group; empty for core.
    pub group: &'a str,
    /// `v1`
    pub version: &'a str,
    /// Its name in paths.
    pub plural: &'a str,
    /// The kind of its objects.
    pub kind: &'a str,
    /// The kind of its lists.
    pub list_kind: &'a str,
    /// True for namespaced resources.
    pub is_namespaced: bool,
    /// Supported verbs.
    pub verbs: Vec<&'a str>,
    /// Subresources.
    pub parts: Vec<Part<'a>>,
    /// The media types of patches.
    pub patch_types: &'a [&'a str],
    /// Source of the schema.
    pub source: Source,
}

/// A part of an object with its own endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<'a> {
    /// `status`
    pub name: &'a str,
    /// Supported verbs.
    pub verbs: Vec<&'a str>,
    /// Kind of the subresource's representation; none if it is the resource's own kind.
    pub kind: Option<[&'a str; 3]>,
}

/// Source of a kind's schema.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// In the table of built-in kinds.
    BuiltIn,
    /// By its definition: `openAPIV3Schema`.
    Custom(Value),
}

impl Resource<'_> {
    /// `/apis/apps/v1`, `/api/v1`
    fn root(&self) -> String {
        match self.group {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        }
    }
}
