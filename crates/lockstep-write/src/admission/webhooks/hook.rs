//! One parsed webhook of a webhook configuration.

use std::time::Duration;

use lockstep_object::selector::{LabelSelector, from_label_selector};
use lockstep_object::{Map, Object, Value};

use super::super::conditions::Conditions;
use super::super::rules::{Rule, Target};
use super::review::ReviewVersion;
use lockstep_object::webhook::{ClientConfig, ClientConfigError};

/// Default of `timeoutSeconds`.
const TIMEOUT_SECONDS: u64 = 10;

/// Admission webhook.
#[derive(Debug)]
pub struct Hook {
    /// Name of the webhook configuration.
    pub configuration: Box<str>,
    /// Name of the webhook.
    pub name: Box<str>,
    rules: Vec<Rule>,
    /// `matchPolicy`.
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
    /// Parsed `clientConfig`.
    pub client: Result<ClientConfig, ClientConfigError>,
}

/// `matchPolicy`: versions of a resource that rules match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchPolicy {
    /// Only the versions that rules name.
    Exact,
    /// Also equivalent versions and resources.
    Equivalent,
}

/// `failurePolicy`: effect of a failed webhook call on the write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailurePolicy {
    /// The write is rejected.
    Fail,
    /// The failure is ignored.
    Ignore,
}

/// Parsed label selector, or its error.
type Selector = Result<LabelSelector, String>;

impl Hook {
    /// Parses the webhooks of a stored configuration, in order.
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

    /// True if a rule matches the write.
    pub fn is_about(&self, target: &Target<'_>) -> bool {
        self.rules.iter().any(|rule| rule.matches(target))
    }

    /// Index of the equivalent target that the first matching rule selects.
    pub fn first_of(&self, targets: &[Target<'_>]) -> Option<usize> {
        let mut found = self
            .rules
            .iter()
            .map(|rule| targets.iter().position(|target| rule.matches(target)));
        found.find_map(|found| found)
    }

    /// True if `namespaceSelector` restricts the webhook.
    pub fn looks_at_namespaces(&self) -> bool {
        self.namespaces
            .as_ref()
            .is_ok_and(|all| !all.is_everything())
    }

    /// True if `namespaceSelector` matches the labels of a namespace.
    pub fn selects_namespace(&self, labels: &Map<String, Value>) -> Result<bool, String> {
        let selector = self.namespaces.as_ref().map_err(Clone::clone)?;
        Ok(selector.matches(labels))
    }

    /// True if `objectSelector` matches the new or the current object.
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
