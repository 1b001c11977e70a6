//! All bound policies, in order and found by resource.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api::GROUP;
use crate::binding::Binding;
use crate::facts::ParamKind;
use crate::features::{Feature, Features};
use crate::matching::MatchResources;
use crate::policy::{Common, MutatingPolicy, PolicyKind, ValidatingPolicy};
use crate::request::Request;

/// A policy with its bindings, sorted by name.
#[derive(Debug)]
pub struct Bound<P> {
    /// The policy.
    pub policy: Arc<P>,
    /// Its bindings.
    pub bindings: Vec<Arc<Binding>>,
}

/// Objects of the cluster that policies look at, other than those of the request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lookups {
    /// Kinds of parameters, sorted.
    pub params: BTreeSet<ParamKind>,
    /// True if the namespace of the request decides about a match, or is a variable of an expression.
    pub namespace: bool,
}

impl Lookups {
    /// True if nothing is looked up.
    pub fn is_empty(&self) -> bool {
        self.params.is_empty() && !self.namespace
    }

    fn add<P>(&mut self, bound: &Bound<P>, common: &Common, uses_namespace: bool) {
        self.params.extend(common.param_kind.clone());
        let mut bindings = bound.bindings.iter();
        self.namespace |= uses_namespace
            || common.constraints.selects_namespaces()
            || bindings.any(|binding| {
                let resources = binding.match_resources();
                resources.is_some_and(MatchResources::selects_namespaces)
            });
    }
}

/// Compiled policies and their bindings at one moment. Immutable; a change makes a new set that shares what stayed.
#[derive(Debug, Default)]
pub struct PolicySet {
    mutating: Indexed<MutatingPolicy>,
    validating: Indexed<ValidatingPolicy>,
    features: Features,
}

/// Policies in their order, and their positions by resource, then by group.
#[derive(Debug)]
struct Indexed<P> {
    all: Vec<Bound<P>>,
    by_resource: BTreeMap<Box<str>, BTreeMap<Box<str>, Vec<u32>>>,
}

impl<P> Default for Indexed<P> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            by_resource: BTreeMap::new(),
        }
    }
}

/// Resources that no policy is asked about: policies themselves, so that a bad one can be repaired, and reviews, which
/// other servers need to decide about requests.
const EXEMPT: [(&str, &str); 10] = [
    (GROUP, "mutatingadmissionpolicies"),
    (GROUP, "mutatingadmissionpolicybindings"),
    (GROUP, "validatingadmissionpolicies"),
    (GROUP, "validatingadmissionpolicybindings"),
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
];

/// True for a resource that no policy is asked about.
pub fn is_exempt(group: &str, resource: &str) -> bool {
    EXEMPT.contains(&(group, resource))
}

impl PolicySet {
    /// A set of policies and bindings. Policies without bindings, and bindings without policy, have no effect.
    ///
    /// Mutating policies are ordered by the depth of their shallowest mutation, then by name; validating ones by name.
    pub fn new(
        mutating: (Vec<Arc<MutatingPolicy>>, Vec<Arc<Binding>>),
        validating: (Vec<Arc<ValidatingPolicy>>, Vec<Arc<Binding>>),
    ) -> Self {
        Self::with_features(mutating, validating, Features::default())
    }

    /// A set on a server where some features may be off: without scopes, policies are ordered by name.
    pub fn with_features(
        (mutating, mutating_bindings): (Vec<Arc<MutatingPolicy>>, Vec<Arc<Binding>>),
        (validating, validating_bindings): (Vec<Arc<ValidatingPolicy>>, Vec<Arc<Binding>>),
        features: Features,
    ) -> Self {
        let mut mutating = bind(mutating, mutating_bindings, |policy| &policy.common.name);
        let has_scopes = features.has(Feature::Scopes);
        mutating.sort_by_cached_key(|bound| {
            let depth = has_scopes.then(|| bound.policy.depth());
            (depth, bound.policy.common.name.clone())
        });
        let mut validating = bind(validating, validating_bindings, |policy| {
            &policy.common.name
        });
        validating.sort_by(|one, other| one.policy.common.name.cmp(&other.policy.common.name));
        Self {
            mutating: Indexed::new(mutating, |policy| &policy.common.constraints),
            validating: Indexed::new(validating, |policy| &policy.common.constraints),
            features,
        }
    }

    /// The features that are on.
    pub(crate) fn features(&self) -> &Features {
        &self.features
    }

    /// False if no policy of a kind names a resource with this plural, in whatever group. Allocates nothing.
    pub fn concerns(&self, kind: PolicyKind, plural: &str) -> bool {
        match kind {
            PolicyKind::Mutating => self.mutating.concerns(plural),
            PolicyKind::Validating => self.validating.concerns(plural),
        }
    }

    /// All mutating policies that are bound, in order.
    pub fn mutating(&self) -> &[Bound<MutatingPolicy>] {
        &self.mutating.all
    }

    /// All validating policies that are bound, in order.
    pub fn validating(&self) -> &[Bound<ValidatingPolicy>] {
        &self.validating.all
    }

    /// Objects that the policies for a request look at; none if there are no policies for it.
    pub fn lookups(&self, kind: PolicyKind, request: &Request) -> Option<Lookups> {
        const VARIABLE: &str = "namespaceObject";
        let mut lookups = Lookups::default();
        let count = match kind {
            PolicyKind::Mutating => {
                let all = self.mutating_for(request);
                for bound in &all {
                    let policy = &bound.policy;
                    lookups.add(bound, &policy.common, policy.uses_variable(VARIABLE));
                }
                all.len()
            }
            PolicyKind::Validating => {
                let all = self.validating_for(request);
                for bound in &all {
                    let policy = &bound.policy;
                    lookups.add(bound, &policy.common, policy.uses_variable(VARIABLE));
                }
                all.len()
            }
        };
        (count > 0).then_some(lookups)
    }

    /// Mutating policies that name the resource of a request, in order.
    pub fn mutating_for(&self, request: &Request) -> Vec<&Bound<MutatingPolicy>> {
        self.mutating.of(request)
    }

    /// Validating policies that name the resource of a request, in order.
    pub fn validating_for(&self, request: &Request) -> Vec<&Bound<ValidatingPolicy>> {
        self.validating.of(request)
    }
}

fn bind<P>(
    policies: Vec<Arc<P>>,
    bindings: Vec<Arc<Binding>>,
    name: impl Fn(&P) -> &Box<str>,
) -> Vec<Bound<P>> {
    let mut by_policy: BTreeMap<Box<str>, Vec<Arc<Binding>>> = BTreeMap::new();
    for binding in bindings {
        by_policy
            .entry(binding.policy.clone())
            .or_default()
            .push(binding);
    }
    let bound = policies.into_iter().filter_map(|policy| {
        let mut bindings = by_policy.remove(name(&policy))?;
        bindings.sort_by(|one, other| one.name.cmp(&other.name));
        Some(Bound { policy, bindings })
    });
    bound.collect()
}

impl<P> Indexed<P> {
    fn new(
        all: Vec<Bound<P>>,
        constraints: impl Fn(&P) -> &crate::matching::MatchResources,
    ) -> Self {
        let mut by_resource: BTreeMap<Box<str>, BTreeMap<Box<str>, Vec<u32>>> = BTreeMap::new();
        for (position, bound) in (0..).zip(&all) {
            let named: BTreeSet<(&str, &str)> = constraints(&bound.policy).resources().collect();
            for (group, resource) in named {
                let groups = by_resource.entry(resource.into()).or_default();
                groups.entry(group.into()).or_default().push(position);
            }
        }
        Self { all, by_resource }
    }

    fn concerns(&self, plural: &str) -> bool {
        self.by_resource.contains_key(plural) || self.by_resource.contains_key("*")
    }

    fn of(&self, request: &Request) -> Vec<&Bound<P>> {
        if self.all.is_empty() {
            return Vec::new();
        }
        let versions = std::iter::once(&request.requested).chain(&request.equivalents);
        let mut resources: Vec<(&str, &str)> = versions
            .map(|version| (&*version.resource.group, &*version.resource.resource))
            .collect();
        resources.dedup();
        let (group, resource) = resources[0];
        if is_exempt(group, resource) {
            return Vec::new();
        }
        let mut positions = BTreeSet::new();
        for (group, resource) in resources {
            for group in [group, "*"] {
                for resource in [resource, "*"] {
                    let groups = self.by_resource.get(resource);
                    let found = groups.and_then(|groups| groups.get(group));
                    positions.extend(found.into_iter().flatten().copied());
                }
            }
        }
        positions
            .into_iter()
            .map(|at| &self.all[at as usize])
            .collect()
    }
}
