//! The validating phase of one request, step by step: `begin → (next → run)* → conclude`.

mod run;

use std::collections::BTreeMap;

use lockstep_object::{ApiError, GroupResource, Object, PolicyDenial, Reason};
use serde_json::{Value, json};

use crate::binding::{ParamForm, ValidationAction};
use crate::conditions::MatchResult;
use crate::denial::object_of;
use crate::facts::Facts;
use crate::inputs::{Inputs, Surroundings};
use crate::mutate::Tracing;
use crate::outcome::{Annotation, Check, Outcome};
use crate::policy::{FailurePolicy, ValidatingPolicy};
use crate::request::{Request, ResourceVersion};
use crate::set::{Bound, PolicySet};
use crate::trace::{Event, Trace, Validated};
use crate::tuples::{self, Miss, Tuple};
use run::{AuditResult, Decision};

/// Most failures that the audit annotation lists.
const AUDITED_FAILURES_MAX: usize = 50;
/// Longest value of an audit annotation, in bytes.
const AUDIT_VALUE_BYTES_MAX: usize = 10 * 1024;
/// Key of the audit annotation that lists failures.
const FAILURES_KEY: &str = "validation.policy.admission.k8s.io/validation_failure";

/// One policy that runs next. The caller brings the objects into [`Turn::version`].
#[derive(Clone, Debug)]
pub struct Turn {
    tuple: usize,
    version: ResourceVersion,
}

impl Turn {
    /// The version of the resource in which the policy sees the objects.
    pub fn version(&self) -> &ResourceVersion {
        &self.version
    }
}

/// State of the validating phase.
pub struct Validating<'a> {
    request: &'a Request,
    facts: &'a dyn Facts,
    tracing: Tracing,
    bound: Vec<&'a Bound<ValidatingPolicy>>,
    tuples: Vec<Tuple<ValidatingPolicy>>,
    surroundings: Vec<(ResourceVersion, Surroundings)>,
    cursor: usize,
    /// The first denial decides the answer.
    denial: Option<(String, Reason)>,
    failures: Vec<Value>,
    /// Values of audit annotations by key, without duplicates.
    audit: BTreeMap<String, Vec<String>>,
    outcome: Outcome,
}

impl<'a> Validating<'a> {
    /// A phase for a request.
    pub fn new(
        set: &'a PolicySet,
        request: &'a Request,
        facts: &'a dyn Facts,
        tracing: Tracing,
    ) -> Self {
        Self {
            request,
            facts,
            tracing,
            bound: set.validating_for(request),
            tuples: Vec::new(),
            surroundings: Vec::new(),
            cursor: 0,
            denial: None,
            failures: Vec::new(),
            audit: BTreeMap::new(),
            outcome: Outcome::default(),
        }
    }

    /// True if no policy names the resource, so that the phase may be skipped.
    pub fn is_idle(&self) -> bool {
        self.bound.is_empty()
    }

    /// Matches all policies with the object that is to be stored.
    pub fn begin(&mut self, object: Option<&Object>, old: Option<&Object>) {
        let (tuples, misses) = tuples::collect(
            &self.bound,
            |policy: &ValidatingPolicy| &policy.common,
            ParamForm::Whole,
            self.request,
            self.facts,
            (object, old),
        );
        self.tuples = tuples;
        for miss in misses {
            self.missed(miss);
        }
        let namespace = self.request.enclosing_namespace();
        if !self.tuples.is_empty() && !namespace.is_empty() && self.facts.namespace().is_none() {
            let resource = GroupResource::new("", "namespaces");
            self.outcome.error = Some(ApiError::not_found(&resource, namespace));
            self.tuples.clear();
        }
    }

    fn missed(&mut self, miss: Miss) {
        let Miss {
            policy,
            binding,
            denial,
            event,
        } = miss;
        if let Some(message) = denial {
            self.deny(&policy, binding.as_deref(), &message, Reason::Invalid);
        }
        if self.tracing == Tracing::On {
            self.outcome.trace.push(Trace {
                policy,
                binding: binding.unwrap_or_default(),
                param: String::new(),
                pass: 0,
                event,
            });
        }
    }

    fn deny(&mut self, policy: &str, binding: Option<&str>, message: &str, reason: Reason) {
        let binding = binding.map(|name| format!(" with binding '{name}'"));
        let binding = binding.unwrap_or_default();
        let message =
            format!("ValidatingAdmissionPolicy '{policy}'{binding} denied request: {message}");
        self.denial.get_or_insert((message, reason));
    }

    /// The policy that runs next.
    #[expect(
        clippy::should_implement_trait,
        reason = "the caller runs each turn on objects of its own"
    )]
    pub fn next(&mut self) -> Option<Turn> {
        let tuple = self.cursor;
        let version = self.tuples.get(tuple)?.version.clone();
        self.cursor += 1;
        Some(Turn { tuple, version })
    }

    /// Runs the policy of a turn on the objects, which are in its version.
    pub fn run(&mut self, turn: &Turn, object: Option<&Object>, old: Option<&Object>) {
        let tuple = self.tuples[turn.tuple].clone();
        if !self
            .surroundings
            .iter()
            .any(|(known, _)| *known == turn.version)
        {
            let surroundings = Surroundings::new(self.request, &turn.version, self.facts);
            self.surroundings.push((turn.version.clone(), surroundings));
        }
        let mut all = self.surroundings.iter();
        let found = all.find(|(known, _)| *known == turn.version);
        let surroundings = &found.expect("it was just made").1;
        let inputs = Inputs::new(surroundings, object, old, tuple.param.as_ref());
        let common = &tuple.policy.common;
        match inputs.meets_conditions(common) {
            MatchResult::Matches => {}
            MatchResult::DoesNotMatch(condition) => {
                self.trace(&tuple, Event::Skipped(condition));
                return;
            }
            MatchResult::Error(error) => {
                self.trace(&tuple, Event::ConditionError(error.clone()));
                if common.failure_policy == FailurePolicy::Fail {
                    let decision = Decision::error(0, error);
                    self.decide(&tuple, &decision);
                }
                return;
            }
        }
        let (decisions, audited) = run::run(&tuple.policy, inputs);
        for decision in &decisions {
            self.report(&tuple, decision);
        }
        for result in audited {
            self.annotate(&tuple, result);
        }
    }

    fn report(&mut self, tuple: &Tuple<ValidatingPolicy>, decision: &Decision) {
        let fails = tuple.policy.common.failure_policy == FailurePolicy::Fail;
        self.outcome.checks.push(Check {
            policy: tuple.policy.common.name.clone(),
            binding: tuple.binding.name.clone(),
            class: decision.class,
            is_rejection: decision.failure.is_some() && (fails || !decision.is_error),
            actions: tuple.binding.actions.clone(),
        });
        self.trace(
            tuple,
            Event::Validated(Validated {
                index: decision.index,
                failure: decision.failure.clone(),
                is_error: decision.is_error,
            }),
        );
        if decision.failure.is_some() && (fails || !decision.is_error) {
            self.decide(tuple, decision);
        }
    }

    /// Applies the actions of the binding to a failed validation.
    fn decide(&mut self, tuple: &Tuple<ValidatingPolicy>, decision: &Decision) {
        let (policy, binding) = (&tuple.policy.common.name, &tuple.binding.name);
        let message = decision.failure.as_deref().unwrap_or_default();
        for action in &tuple.binding.actions {
            match action {
                ValidationAction::Deny => self.deny(policy, Some(binding), message, decision.reason),
                ValidationAction::Warn => self.outcome.warnings.push(format!(
                    "Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{binding}': {message}"
                )),
                ValidationAction::Audit => {
                    let actions = tuple.binding.actions.iter().map(|action| action.as_str());
                    self.failures.push(json!({
                        "message": message,
                        "policy": policy,
                        "binding": binding,
                        "expressionIndex": decision.index,
                        "validationActions": actions.collect::<Vec<_>>(),
                    }));
                }
            }
        }
    }

    fn annotate(&mut self, tuple: &Tuple<ValidatingPolicy>, result: AuditResult) {
        let (policy, binding) = (&tuple.policy.common.name, &tuple.binding.name);
        match result {
            AuditResult::Nothing => {}
            AuditResult::Value(key, value) => {
                let end = (0..=AUDIT_VALUE_BYTES_MAX.min(value.len())).rev();
                let end = { end }.find(|end| value.is_char_boundary(*end));
                let value = value[..end.unwrap_or_default()].to_owned();
                let values = self.audit.entry(format!("{policy}/{key}")).or_default();
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            // An annotation that fails denies whatever the actions of the binding are, as upstream.
            AuditResult::Error(error) => {
                if tuple.policy.common.failure_policy == FailurePolicy::Fail {
                    self.deny(policy, Some(binding), &error, Reason::Invalid);
                }
            }
        }
    }

    /// Takes the checks since the last call, for metrics with their duration.
    pub fn take_checks(&mut self) -> Vec<Check> {
        std::mem::take(&mut self.outcome.checks)
    }

    fn trace(&mut self, tuple: &Tuple<ValidatingPolicy>, event: Event) {
        if self.tracing == Tracing::On {
            self.outcome.trace.push(Trace {
                policy: tuple.policy.common.name.clone(),
                binding: tuple.binding.name.clone(),
                param: tuple.param_name(),
                pass: 0,
                event,
            });
        }
    }

    /// Ends the phase.
    pub fn conclude(self) -> Outcome {
        let mut outcome = self.outcome;
        for (key, values) in self.audit {
            outcome.annotations.push(Annotation {
                key,
                value: values.join(", "),
                is_detailed: false,
            });
        }
        let mut failures = self.failures;
        if !failures.is_empty() {
            failures.truncate(AUDITED_FAILURES_MAX);
            outcome.annotations.push(Annotation {
                key: FAILURES_KEY.to_owned(),
                value: Value::from(failures).to_string(),
                is_detailed: false,
            });
        }
        if let (Some((message, reason)), None) = (self.denial, &outcome.error) {
            let object = object_of(self.request);
            let forbidden = ApiError::forbidden(&object.resource, &object.name, message.clone());
            outcome.error = Some(ApiError::DeniedByPolicy(Box::new(PolicyDenial {
                message: forbidden.to_string(),
                object,
                reason,
                code: reason.code(),
                causes: vec![message],
            })));
        }
        outcome
    }
}
