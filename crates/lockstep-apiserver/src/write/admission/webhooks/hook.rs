//! One webhook of a configuration, read once.

use std::time::Duration;

use lockstep_object::selector::{LabelSelector, from_label_selector};
use lockstep_object::{Map, Object, Value};

use super::super::conditions::Conditions;
use super::super::rules::{Rule, Target};
use super::review::ReviewVersion;
use crate::webhooks::{ClientConfig, ConfigError};

/// Default of `timeoutSeconds`.
const TIMEOUT_SECONDS: u64 = 10;

/// A webhook.
#[derive(Debug)]
pub struct Hook {
    /// The configuration it is part of.
    pub configuration: Box<str>,
    /// Its own name.
    pub name: Box<str>,
    rules: Vec<Rule>,
    /// Whether rules for one version of a resource are rules for all.
    pub match_policy: MatchPolicy,
    namespaces: Selector,
    objects: Selector,
    /// Compiled `matchConditions`.
    pub conditions: Conditions,
    /// Effect of a failed call on the write.
    pub failure_policy: FailurePolicy,
    /// True if calls have side effects (`sideEffects`), so that a dry run must not call the webhook.
    pub has_side_effects: bool,
    /// True if `reinvocationPolicy` is `IfNeeded`.
    pub is_reinvoked: bool,
    /// Timeout of one call.
    pub timeout: Duration,
    /// `AdmissionReview` version of calls; `None` if `admissionReviewVersions` lists no supported one.
    pub review: Option<ReviewVersion>,
    /// Where it is.
    pub client: Result<ClientConfig, ConfigError>,
}

/// Which versions of a resource rules are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchPolicy {
    /// Those they name.
    Exact,
    /// Those that mean the same, too.
    Equivalent,
}

/// `failurePolicy`: effect of a failed webhook call on the write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailurePolicy {
    /// It is refused.
    Fail,
    /// It goes on.
    Ignore,
}

/// A selector that could be read, or why not.
type Selector = Result<LabelSelector, String>;

impl Hook {
    /// The webhooks of a stored configuration, in their order.
    pub fn read_all(configuration: &Object) -> Vec<Self> {
        let webhooks = configuration.at(&["webhooks"]).and_then(Value::as_array);
        let webhooks = webhooks.into_iter().flatten();
        let read = webhooks.map(|webhook| Self::read(configuration.name(), webhook));
        read.collect()
    }

    fn read(configuration: &str, webhook: &Value) -> Self {
        let text = |field: &str| webhook[field].as_str().unwrap_or_default();
        let items = |field: &str| webhook[field].as_array().into_iter().flatten();
        let seconds = webhook["timeoutSeconds"].as_u64();
        Self {
            configuration: configuration.into(),
            name: text("name").into(),
            rules: items("rules").map(Rule::read).collect(),
            match_policy: match text("matchPolicy") {
                "Exact" => MatchPolicy::Exact,
                _ => MatchPolicy::Equivalent,
            },
            namespaces: selector(&webhook["namespaceSelector"]),
            objects: selector(&webhook["objectSelector"]),
            conditions: Conditions::read(&webhook["matchConditions"]),
            failure_policy: match text("failurePolicy") {
                "Ignore" => FailurePolicy::Ignore,
                _ => FailurePolicy::Fail,
            },
            has_side_effects: !matches!(text("sideEffects"), "None" | "NoneOnDryRun"),
            is_reinvoked: text("reinvocationPolicy") == "IfNeeded",
            timeout: Duration::from_secs(seconds.unwrap_or(TIMEOUT_SECONDS)),
            review: ReviewVersion::first_of(
                items("admissionReviewVersions").filter_map(Value::as_str),
            ),
            client: ClientConfig::read(&webhook["clientConfig"]),
        }
    }

    /// Whether a rule is about a write.
    pub fn is_about(&self, target: &Target<'_>) -> bool {
        self.rules.iter().any(|rule| rule.matches(target))
    }

    /// The first of some equal writes that a rule is about; earlier rules count for more.
    pub fn first_of(&self, targets: &[Target<'_>]) -> Option<usize> {
        let mut found = self
            .rules
            .iter()
            .map(|rule| targets.iter().position(|target| rule.matches(target)));
        found.find_map(|found| found)
    }

    /// Whether labels of namespaces matter.
    pub fn looks_at_namespaces(&self) -> bool {
        self.namespaces
            .as_ref()
            .is_ok_and(|all| !all.is_everything())
    }

    /// Whether a namespace with labels is selected.
    pub fn selects_namespace(&self, labels: &Map<String, Value>) -> Result<bool, String> {
        let selector = self.namespaces.as_ref().map_err(Clone::clone)?;
        Ok(selector.matches(labels))
    }

    /// Whether the new or the stored object is selected.
    pub fn selects_objects(
        &self,
        object: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<bool, String> {
        let selector = self.objects.as_ref().map_err(Clone::clone)?;
        let is_selected = |object: &Object| selector.matches(object.labels());
        Ok(selector.is_everything()
            || object.is_some_and(is_selected)
            || old.is_some_and(is_selected))
    }
}

fn selector(selector: &Value) -> Selector {
    if selector.is_null() {
        return Ok(LabelSelector::default());
    }
    from_label_selector(selector).map_err(|errors| {
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        texts.join(", ")
    })
}
