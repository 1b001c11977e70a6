//! Facts that the caller of the engine looks up: parameters, the namespace, permissions, types.

use std::sync::Arc;

use lockstep_cel::authorizer::Authorization;
use lockstep_merge::types::Type;
use lockstep_object::metadata::Scope;
use lockstep_object::{Object, Value};

/// `paramKind` of a policy.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ParamKind {
    /// `apiVersion` of the parameters.
    pub api_version: Box<str>,
    /// Kind of the parameters.
    pub kind: Box<str>,
}

/// The resource of a kind of parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParamResource {
    /// Whether parameters are namespaced.
    pub scope: Scope,
    /// True for custom resources. In mutation, parameters of built-in kinds have neither `apiVersion` nor `kind`, as
    /// upstream.
    pub is_custom: bool,
}

/// State of the cluster that policies see, at one moment. Implementations answer from memory and never wait.
pub trait Facts: Sync {
    /// The namespace of the request; none if it does not exist, or the request has none.
    fn namespace(&self) -> Option<&Object>;

    /// The resource of a kind of parameters; none if the kind is not served.
    fn param_resource(&self, kind: &ParamKind) -> Option<ParamResource>;

    /// All parameters of a kind, in a namespace if the kind is namespaced.
    fn params(&self, kind: &ParamKind, namespace: &str) -> Vec<Arc<Value>>;

    /// The parameter with a name.
    fn param(&self, kind: &ParamKind, namespace: &str, name: &str) -> Option<Arc<Value>>;

    /// The authorizer for the user of the request.
    fn authorization(&self) -> &Authorization;
}

/// The kind that a mutation runs on, in one version.
pub trait Kind {
    /// The type that mutations merge by; none if the kind has no schema.
    fn merge_type(&self) -> Option<Type<'_>>;

    /// Removes fields that the schema does not know, and applies defaults. Fails if a built-in kind does not allow the
    /// object at all.
    fn prune_and_default(&self, object: &mut Object, old: Option<&Object>) -> Result<(), String>;
}
