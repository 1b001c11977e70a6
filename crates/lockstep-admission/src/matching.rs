//! `matchConstraints` and `matchResources`: the requests that a policy or binding is about.

use lockstep_object::selector::{LabelSelector, from_label_selector};
use lockstep_object::{Object, Value};

use crate::facts::Facts;
use crate::request::{Operation, Request, ResourceVersion};
use crate::rules::{self, MatchPolicy, MatchedVersion, Rule};

/// Parsed label selector, or its error. An absent one selects everything.
#[derive(Clone, Debug)]
pub struct Selector(Result<LabelSelector, String>);

impl Selector {
    /// Reads a stored selector.
    pub fn read(selector: &Value) -> Self {
        if selector.is_null() {
            return Self(Ok(LabelSelector::default()));
        }
        Self(from_label_selector(selector).map_err(|errors| {
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            texts.join(", ")
        }))
    }

    /// True if the selector may leave something out.
    pub fn is_selective(&self) -> bool {
        !self.0.as_ref().is_ok_and(LabelSelector::is_everything)
    }

    /// True if labels match.
    pub fn selects(&self, labels: &lockstep_object::Map<String, Value>) -> Result<bool, String> {
        let selector = self.0.as_ref().map_err(Clone::clone)?;
        Ok(selector.matches(labels))
    }

    /// True if the new or the current object matches.
    pub fn selects_objects(
        &self,
        object: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<bool, String> {
        let selector = self.0.as_ref().map_err(Clone::clone)?;
        let is_selected = |object: &Object| selector.matches(object.labels());
        Ok(selector.is_everything()
            || object.is_some_and(is_selected)
            || old.is_some_and(is_selected))
    }
}

/// Rules and selectors of a policy or binding.
#[derive(Clone, Debug)]
pub struct MatchResources {
    namespaces: Selector,
    objects: Selector,
    rules: Vec<Rule>,
    excluded: Vec<Rule>,
    policy: MatchPolicy,
}

/// The first part of [`MatchResources`] that a request does not match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mismatch {
    /// `namespaceSelector`.
    NamespaceSelector,
    /// `objectSelector`.
    ObjectSelector,
    /// `excludeResourceRules` has a rule for the request.
    ExcludeRules,
    /// `resourceRules` has no rule for the request.
    ResourceRules,
}

impl Mismatch {
    /// Name of the field.
    pub fn field(self) -> &'static str {
        match self {
            Self::NamespaceSelector => "namespaceSelector",
            Self::ObjectSelector => "objectSelector",
            Self::ExcludeRules => "excludeResourceRules",
            Self::ResourceRules => "resourceRules",
        }
    }
}

/// Result of matching: the version of the resource that a rule names.
pub type Matched<'a> = Result<&'a ResourceVersion, Mismatch>;

impl MatchResources {
    /// Reads stored rules and selectors.
    pub fn read(resources: &Value) -> Self {
        let rules = |field: &str| {
            let rules = resources[field].as_array().into_iter().flatten();
            rules.map(Rule::read).collect()
        };
        Self {
            namespaces: Selector::read(&resources["namespaceSelector"]),
            objects: Selector::read(&resources["objectSelector"]),
            rules: rules("resourceRules"),
            excluded: rules("excludeResourceRules"),
            policy: MatchPolicy::read(&resources["matchPolicy"]),
        }
    }

    /// True if the labels of the namespace decide about a match.
    pub fn selects_namespaces(&self) -> bool {
        self.namespaces.is_selective()
    }

    /// Pairs of group and resource that the rules name, each possibly `*`.
    pub fn resources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rules.iter().flat_map(Rule::resources)
    }

    /// Matches a request. Errors of selectors are reported only if everything else matches.
    pub fn matches<'a>(
        &self,
        request: &'a Request,
        facts: &dyn Facts,
        (object, old): (Option<&Object>, Option<&Object>),
    ) -> Result<Matched<'a>, String> {
        let namespace = self.selects_namespace(request, facts, object);
        if namespace == Ok(false) {
            return Ok(Err(Mismatch::NamespaceSelector));
        }
        let objects = self.objects.selects_objects(object, old);
        if objects == Ok(false) {
            return Ok(Err(Mismatch::ObjectSelector));
        }
        if version_of(&self.excluded, self.policy, request).is_some() {
            return Ok(Err(Mismatch::ExcludeRules));
        }
        let matched = if self.rules.is_empty() {
            &request.requested
        } else {
            match version_of(&self.rules, self.policy, request) {
                Some(matched) => matched,
                None => return Ok(Err(Mismatch::ResourceRules)),
            }
        };
        namespace.and(objects).map(|_| Ok(matched))
    }

    /// A Namespace object is selected by its own new labels; other cluster-scoped objects always are.
    fn selects_namespace(
        &self,
        request: &Request,
        facts: &dyn Facts,
        object: Option<&Object>,
    ) -> Result<bool, String> {
        if !self.namespaces.is_selective() {
            return Ok(true);
        }
        if request.is_of_namespace() {
            let is_whole = request.subresource.is_empty() && request.operation != Operation::Delete;
            if let Some(object) = object.filter(|_| is_whole) {
                return self.namespaces.selects(object.labels());
            }
        } else if request.namespace.is_empty() {
            return Ok(true);
        }
        match facts.namespace() {
            Some(namespace) => self.namespaces.selects(namespace.labels()),
            None => Err(format!("namespaces {:?} not found", request.namespace)),
        }
    }
}

/// The version of the resource that a rule matches: the requested one, else an equivalent one.
fn version_of<'a>(
    rules: &[Rule],
    policy: MatchPolicy,
    request: &'a Request,
) -> Option<&'a ResourceVersion> {
    let equivalents = || {
        request
            .equivalents
            .iter()
            .map(|version| request.target(version))
    };
    let requested = request.target(&request.requested);
    match rules::matched_version(rules, policy, &requested, || equivalents().collect())? {
        MatchedVersion::Requested => Some(&request.requested),
        MatchedVersion::Equivalent(index) => request.equivalents.get(index),
    }
}
