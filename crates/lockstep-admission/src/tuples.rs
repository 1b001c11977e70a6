//! Tuples of policy, binding and parameter that a request matches.

use std::sync::Arc;

use lockstep_object::Object;

use crate::binding::{Binding, Enforcement, Param, ParamForm};
use crate::facts::Facts;
use crate::matching::Mismatch;
use crate::policy::{Common, FailurePolicy};
use crate::request::{Request, ResourceVersion};
use crate::set::Bound;
use crate::trace::Event;

/// One invocation of a policy.
#[derive(Debug)]
pub(crate) struct Tuple<P> {
    pub(crate) policy: Arc<P>,
    pub(crate) binding: Arc<Binding>,
    pub(crate) param: Option<Param>,
    /// Version of the resource that the policy sees.
    pub(crate) version: ResourceVersion,
}

impl<P> Clone for Tuple<P> {
    fn clone(&self) -> Self {
        Self {
            policy: Arc::clone(&self.policy),
            binding: Arc::clone(&self.binding),
            param: self.param.clone(),
            version: self.version.clone(),
        }
    }
}

/// Identity of a tuple within a request.
pub(crate) type TupleKey = (Box<str>, Box<str>, Box<str>, Box<str>);

impl<P> Tuple<P> {
    pub(crate) fn key(&self, name: &str) -> TupleKey {
        let (namespace, param) = match &self.param {
            Some(param) => (param.namespace.clone(), param.name.clone()),
            None => Default::default(),
        };
        (name.into(), self.binding.name.clone(), namespace, param)
    }

    /// Name of the parameter for people; empty without one.
    pub(crate) fn param_name(&self) -> String {
        match &self.param {
            Some(param) if param.namespace.is_empty() => param.name.to_string(),
            Some(param) => format!("{}/{}", param.namespace, param.name),
            None => String::new(),
        }
    }
}

/// A policy that does not lead to a tuple: the binding, if one was reached, and the reason.
pub(crate) struct Miss {
    pub(crate) policy: Box<str>,
    pub(crate) binding: Option<Box<str>>,
    /// The error of a configuration that denies the request.
    pub(crate) denial: Option<String>,
    pub(crate) event: Event,
}

/// Collects the tuples of a request, in order, and what was missed. A configuration error is the event
/// [`Event::Unconfigured`].
pub(crate) fn collect<P>(
    bound: &[&Bound<P>],
    common: impl Fn(&P) -> &Common,
    form: ParamForm,
    request: &Request,
    facts: &dyn Facts,
    objects: (Option<&Object>, Option<&Object>),
) -> (Vec<Tuple<P>>, Vec<Miss>) {
    let (mut tuples, mut misses) = (Vec::new(), Vec::new());
    for bound in bound {
        let policy = common(&bound.policy);
        let mut miss = |binding: Option<&Binding>, event: Event| {
            let is_applied = binding.is_none_or(|it| it.enforcement == Enforcement::Apply);
            let fails = policy.failure_policy == FailurePolicy::Fail && is_applied;
            let what = binding.map_or("policy", |_| "binding");
            let denial = match &event {
                Event::Unconfigured(error) if fails => {
                    Some(format!("failed to configure {what}: {error}"))
                }
                _ => None,
            };
            misses.push(Miss {
                policy: policy.name.clone(),
                binding: binding.map(|binding| binding.name.clone()),
                denial,
                event,
            });
        };
        let version = match policy.constraints.matches(request, facts, objects) {
            Ok(Ok(version)) => version,
            Ok(Err(mismatch)) => {
                miss(None, Event::NotMatched(Mismatch::field(mismatch)));
                continue;
            }
            Err(error) => {
                miss(None, Event::Unconfigured(error));
                continue;
            }
        };
        if let Some(kind) = &policy.param_kind
            && facts.param_resource(kind).is_none()
        {
            let (version, kind) = (&kind.api_version, &kind.kind);
            let error = format!(
                "failed to find resource referenced by paramKind: '{version}, Kind={kind}'"
            );
            miss(None, Event::Unconfigured(error));
            continue;
        }
        for binding in &bound.bindings {
            let resources = binding.match_resources();
            match resources.map(|resources| resources.matches(request, facts, objects)) {
                None | Some(Ok(Ok(_))) => {}
                Some(Ok(Err(mismatch))) => {
                    miss(Some(binding), Event::NotBound(Mismatch::field(mismatch)));
                    continue;
                }
                Some(Err(error)) => {
                    miss(Some(binding), Event::Unconfigured(error));
                    continue;
                }
            }
            let params = binding.params(policy.param_kind.as_ref(), form, request, facts);
            match params {
                Ok(params) if params.is_empty() => miss(Some(binding), Event::NoParams),
                Ok(params) => tuples.extend(params.into_iter().map(|param| Tuple {
                    policy: Arc::clone(&bound.policy),
                    binding: Arc::clone(binding),
                    param,
                    version: version.clone(),
                })),
                Err(error) => miss(Some(binding), Event::Unconfigured(error)),
            }
        }
    }
    (tuples, misses)
}
