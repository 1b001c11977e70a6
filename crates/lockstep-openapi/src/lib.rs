//! OpenAPI documents of what a server serves: one of version 3.0 for each group and version ([`v3::document`]), and one of
//! version 2.0 for everything ([`v2::document`], as protobuf [`gnostic::encode`]).
//!
//! Clients read more out of them than schemas: kubectl looks for a parameter of the `PATCH` of a kind to learn what the
//! server can do, and finds kinds by `x-kubernetes-group-version-kind`.

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
    /// Whether its objects live in namespaces.
    pub is_namespaced: bool,
    /// What can be done with it, in the words of RBAC.
    pub verbs: Vec<&'a str>,
    /// Its parts with their own endpoints.
    pub parts: Vec<Part<'a>>,
    /// The media types of patches.
    pub patch_types: &'a [&'a str],
    /// Where its fields are described.
    pub source: Source,
}

/// A part of an object with its own endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<'a> {
    /// `status`
    pub name: &'a str,
    /// What can be done with it, in the words of RBAC.
    pub verbs: Vec<&'a str>,
    /// Group, version and kind of what it is shown as; none if that is the object.
    pub kind: Option<[&'a str; 3]>,
}

/// Where the fields of a kind are described.
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
