//! The API of policies and bindings: kinds, versions and defaults. Their fields are in the table of kinds.

use lockstep_object::{Map, Object, Value};
use serde_json::json;

use crate::look::{list, some, text};
use crate::policy::PolicyKind;

/// The API group of policies and bindings.
pub const GROUP: &str = "admissionregistration.k8s.io";
/// Versions of the group, in order of preference.
pub const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];
/// Names with this ending are reserved for policies that a server reads from files.
pub const STATIC_SUFFIX: &str = ".static.k8s.io";

/// The four kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ApiKind {
    /// A policy.
    Policy(PolicyKind),
    /// A binding of a policy.
    Binding(PolicyKind),
}

impl ApiKind {
    /// The kind of an object; none if it is neither a policy nor a binding.
    pub fn of(object: &Object) -> Option<Self> {
        let (group, version) = object.api_version().split_once('/')?;
        if group != GROUP || !VERSIONS.contains(&version) {
            return None;
        }
        Some(match object.kind() {
            "MutatingAdmissionPolicy" => Self::Policy(PolicyKind::Mutating),
            "ValidatingAdmissionPolicy" => Self::Policy(PolicyKind::Validating),
            "MutatingAdmissionPolicyBinding" => Self::Binding(PolicyKind::Mutating),
            "ValidatingAdmissionPolicyBinding" => Self::Binding(PolicyKind::Validating),
            _ => return None,
        })
    }
}

/// Warning for a policy in the early shape.
pub const EARLY_SHAPE: &str =
    "spec.paramKind: group and version are read as apiVersion; write apiVersion";

/// Brings the early shape of `paramKind` (group, version, kind) into the form of the API. True if there was one.
pub fn convert_early_shape(object: &mut Object) -> bool {
    if !object.api_version().ends_with("/v1alpha1") {
        return false;
    }
    let spec = object.fields_mut().get_mut("spec");
    let kind = spec.and_then(|spec| spec.get_mut("paramKind"));
    let Some(kind) = kind.and_then(Value::as_object_mut) else {
        return false;
    };
    let (Some(Value::String(version)), false) =
        (kind.get("version"), kind.contains_key("apiVersion"))
    else {
        return false;
    };
    let api_version = match kind.get("group").and_then(Value::as_str) {
        None | Some("") => version.clone(),
        Some(group) => format!("{group}/{version}"),
    };
    kind.remove("group");
    kind.remove("version");
    kind.insert("apiVersion".to_owned(), api_version.into());
    true
}

/// Applies the defaults of the API.
pub fn apply_defaults(kind: ApiKind, object: &mut Object) {
    let is_alpha = object.api_version().ends_with("/v1alpha1");
    let Some(spec) = object
        .fields_mut()
        .get_mut("spec")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    match kind {
        ApiKind::Policy(policy) => {
            fill(spec, "failurePolicy", "Fail");
            default_matches(spec.get_mut("matchConstraints"));
            if policy == PolicyKind::Mutating {
                default_reinvocation(spec);
            }
        }
        ApiKind::Binding(_) => {
            default_matches(spec.get_mut("matchResources"));
            let param_ref = spec.get_mut("paramRef").and_then(Value::as_object_mut);
            if let Some(param_ref) = param_ref.filter(|_| is_alpha) {
                fill(param_ref, "parameterNotFoundAction", "Deny");
            }
        }
    }
}

fn fill(map: &mut Map<String, Value>, field: &str, value: impl Into<Value>) {
    let present = map.entry(field).or_insert(Value::Null);
    if present.is_null() {
        *present = value.into();
    }
}

fn default_matches(resources: Option<&mut Value>) {
    let Some(resources) = resources.and_then(Value::as_object_mut) else {
        return;
    };
    fill(resources, "matchPolicy", "Equivalent");
    fill(resources, "namespaceSelector", json!({}));
    fill(resources, "objectSelector", json!({}));
    for field in ["resourceRules", "excludeResourceRules"] {
        let rules = resources.get_mut(field).and_then(Value::as_array_mut);
        for rule in rules.into_iter().flatten().filter_map(Value::as_object_mut) {
            fill(rule, "scope", "*");
        }
    }
}

/// A policy whose mutations all use `apply` is reinvoked precisely unless it says otherwise.
fn default_reinvocation(spec: &mut Map<String, Value>) {
    let mutations = spec.get("mutations").and_then(Value::as_array);
    let applies = |mutation: &Value| !text(mutation, "apply").is_empty();
    let all_apply = mutations.is_some_and(|all| !all.is_empty() && all.iter().all(applies));
    let is_set = spec
        .get("reinvocationPolicy")
        .is_some_and(|policy| !policy.is_null() && policy != "");
    if all_apply && !is_set {
        spec.insert("reinvocationPolicy".to_owned(), "IfAffected".into());
    }
}

/// Warnings for the author of an accepted policy.
pub fn warnings(kind: ApiKind, object: &Object) -> Vec<String> {
    let mut warnings = Vec::new();
    if object.name().ends_with(STATIC_SUFFIX) {
        warnings.push(format!(
            "metadata.name: names that end in {STATIC_SUFFIX} are reserved for policies from files"
        ));
    }
    let null = Value::Null;
    let spec = object.at(&["spec"]).unwrap_or(&null);
    if kind != ApiKind::Policy(PolicyKind::Mutating)
        || some(spec, "mutationValidationPolicy").is_some()
    {
        return warnings;
    }
    for (index, mutation) in list(spec, "mutations").iter().enumerate() {
        if some(mutation, "apply").is_some() && some(mutation, "safety").is_none() {
            warnings.push(format!(
                "spec.mutations[{index}].safety: not set, assuming Overwritable"
            ));
        }
    }
    warnings
}
