//! One parsed webhook of a webhook configuration.

use std::time::Duration;

use lockstep_admission::conditions::Conditions;
use lockstep_admission::envs::HasParams;
use lockstep_admission::matching::Selector;
use lockstep_admission::rules::{MatchPolicy, Rule};
use lockstep_object::{Object, Value};

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
    /// `rules`.
    pub rules: Vec<Rule>,
    /// `matchPolicy`.
    pub match_policy: MatchPolicy,
    /// `namespaceSelector`.
    pub namespaces: Selector,
    /// `objectSelector`.
    pub objects: Selector,
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

/// `failurePolicy`: effect of a failed webhook call on the write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailurePolicy {
    /// The write is rejected.
    Fail,
    /// The failure is ignored.
    Ignore,
}

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
            match_policy: MatchPolicy::read(&webhook["matchPolicy"]),
            namespaces: Selector::read(&webhook["namespaceSelector"]),
            objects: Selector::read(&webhook["objectSelector"]),
            conditions: Conditions::read(&webhook["matchConditions"], HasParams::No),
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
}
