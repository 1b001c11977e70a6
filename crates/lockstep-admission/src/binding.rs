//! Bindings: which requests a policy is applied to, and with which parameters.

use std::sync::Arc;

use lockstep_object::metadata::Scope;
use lockstep_object::{Object, Value};

use crate::facts::{Facts, ParamKind, ParamResource};
use crate::matching::{MatchResources, Selector};
use crate::request::Request;

/// `enforcement` of a binding of a mutating policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enforcement {
    /// Mutations are applied.
    Apply,
    /// Mutations are computed, reported and discarded.
    DryRun,
}

/// One of the `validationActions` of a binding of a validating policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValidationAction {
    /// The request is denied.
    Deny,
    /// The client is warned.
    Warn,
    /// An audit annotation is written.
    Audit,
}

impl ValidationAction {
    /// The word in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "Deny",
            Self::Warn => "Warn",
            Self::Audit => "Audit",
        }
    }
}

/// A stored binding.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Name of the binding.
    pub name: Box<str>,
    /// Name of the policy.
    pub policy: Box<str>,
    param_ref: Option<ParamRef>,
    matches: Option<MatchResources>,
    /// Whether mutations are applied.
    pub enforcement: Enforcement,
    /// Consequences of failed validations.
    pub actions: Vec<ValidationAction>,
}

#[derive(Clone, Debug)]
struct ParamRef {
    name: String,
    namespace: String,
    selector: Option<Selector>,
    denies_absent: bool,
}

/// A parameter of one invocation of a policy.
#[derive(Clone, Debug)]
pub struct Param {
    /// The object, in the form that expressions see.
    pub value: Arc<Value>,
    /// Its namespace; empty if it has none.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
}

/// Whether expressions see `apiVersion` and `kind` of parameters of built-in kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamForm {
    /// As validating policies see them.
    Whole,
    /// As mutating policies see them.
    WithoutKind,
}

impl Binding {
    /// Reads a stored binding of either kind.
    pub fn read(binding: &Object) -> Self {
        let null = Value::Null;
        let spec = binding.at(&["spec"]).unwrap_or(&null);
        let actions = spec["validationActions"].as_array().into_iter().flatten();
        Self {
            name: binding.name().into(),
            policy: spec["policyName"].as_str().unwrap_or_default().into(),
            param_ref: some(&spec["paramRef"]).map(ParamRef::read),
            matches: some(&spec["matchResources"]).map(MatchResources::read),
            enforcement: match spec["enforcement"].as_str() {
                Some("DryRun") => Enforcement::DryRun,
                _ => Enforcement::Apply,
            },
            actions: actions
                .filter_map(|action| match action.as_str()? {
                    "Deny" => Some(ValidationAction::Deny),
                    "Warn" => Some(ValidationAction::Warn),
                    "Audit" => Some(ValidationAction::Audit),
                    _ => None,
                })
                .collect(),
        }
    }

    /// A binding that applies a policy to everything it matches, for tools that evaluate a policy without bindings.
    pub fn to_everything(policy: &str) -> Self {
        Self {
            name: policy.into(),
            policy: policy.into(),
            param_ref: None,
            matches: None,
            enforcement: Enforcement::Apply,
            actions: vec![ValidationAction::Deny],
        }
    }

    /// The rules and selectors of the binding; none if it is about everything that the policy matches.
    pub fn match_resources(&self) -> Option<&MatchResources> {
        self.matches.as_ref()
    }

    /// The parameters of a policy for a request, sorted by namespace and name. `None` stands for no parameter.
    pub fn params(
        &self,
        kind: Option<&ParamKind>,
        form: ParamForm,
        request: &Request,
        facts: &dyn Facts,
    ) -> Result<Vec<Option<Param>>, String> {
        let (Some(kind), Some(param_ref)) = (kind, &self.param_ref) else {
            return Ok(vec![None]);
        };
        let unknown = || {
            format!(
                "paramKind kind `{}, Kind={}` not known",
                kind.api_version, kind.kind
            )
        };
        let resource = facts.param_resource(kind).ok_or_else(unknown)?;
        let namespace = param_ref.namespace(resource.scope, request)?;
        let found = match &param_ref.selector {
            None => Vec::from_iter(facts.param(kind, namespace, &param_ref.name)),
            Some(selector) => {
                let mut found = Vec::new();
                for param in facts.params(kind, namespace) {
                    let labels = param["metadata"]["labels"].as_object();
                    let empty = lockstep_object::Map::new();
                    if selector.selects(labels.unwrap_or(&empty))? {
                        found.push(param);
                    }
                }
                found
            }
        };
        if found.is_empty() && param_ref.denies_absent {
            let why = "no params found for policy binding with `Deny` parameterNotFoundAction";
            return Err(why.to_owned());
        }
        let params = found
            .into_iter()
            .map(|value| Param::new(value, form, resource));
        let mut params: Vec<Param> = params.collect();
        params.sort_by(|one, other| {
            (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name))
        });
        Ok(params.into_iter().map(Some).collect())
    }
}

impl ParamRef {
    fn read(param_ref: &Value) -> Self {
        let text = |field: &str| param_ref[field].as_str().unwrap_or_default().to_owned();
        Self {
            name: text("name"),
            namespace: text("namespace"),
            selector: some(&param_ref["selector"]).map(Selector::read),
            denies_absent: text("parameterNotFoundAction") == "Deny",
        }
    }

    /// The namespace of the parameters: the one given, else that of the request.
    fn namespace<'a>(&'a self, scope: Scope, request: &'a Request) -> Result<&'a str, String> {
        match scope {
            Scope::Cluster if self.namespace.is_empty() => Ok(""),
            Scope::Cluster => Err(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
                    .to_owned(),
            ),
            Scope::Namespaced if !self.namespace.is_empty() => Ok(&self.namespace),
            Scope::Namespaced if request.namespace.is_empty() => Err(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                    .to_owned(),
            ),
            Scope::Namespaced => Ok(&request.namespace),
        }
    }
}

impl Param {
    fn new(value: Arc<Value>, form: ParamForm, resource: ParamResource) -> Self {
        let text = |field: &str| value["metadata"][field].as_str().unwrap_or_default().into();
        let (namespace, name) = (text("namespace"), text("name"));
        let mut value = value;
        if form == ParamForm::WithoutKind
            && !resource.is_custom
            && let Some(entries) = Arc::make_mut(&mut value).as_object_mut()
        {
            entries.remove("apiVersion");
            entries.remove("kind");
        }
        Self {
            value,
            namespace,
            name,
        }
    }
}

fn some(value: &Value) -> Option<&Value> {
    Some(value).filter(|value| !value.is_null())
}
