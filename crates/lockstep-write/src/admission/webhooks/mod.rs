//! Admission webhooks: external HTTP servers that may change or reject a write.
//!
//! `crate::webhooks` parses configurations and encodes reviews. `select` matches rules,
//! selectors and match conditions; `view` converts the object to the matched version; `rounds` decides on reinvocation.
//! Only `call` performs I/O.

mod call;
pub mod patch;
pub mod refusal;
pub mod rounds;
mod select;
mod view;

use std::sync::Arc;

use lockstep_object::{ApiError, Object};

pub use crate::webhooks::{hook, review};
pub use call::WebhookCall;
pub use rounds::Rounds;

use self::call::{Call, Failure, interpret};
use self::hook::FailurePolicy;
pub use self::hook::Hook;
pub use self::review::{Phase, ReviewVersion};
pub(super) use self::view::View;
use super::super::WritePath;
use super::super::environment::Observation;
use super::Attributes;
use super::policies::MutatingPolicies;

/// Calls the mutating webhooks in sequence. Returns whether they changed the object. The policies of the write learn
/// which webhook changed what.
pub(super) async fn mutate(
    path: &WritePath<'_>,
    attributes: &Attributes<'_>,
    object: Option<&mut Object>,
    rounds: &mut Rounds,
    mut policies: Option<&mut MutatingPolicies<'_, '_>>,
) -> Result<bool, ApiError> {
    let hooks = path.env.webhooks(Phase::Mutating);
    if hooks.is_empty() || attributes.is_about_admission() {
        return Ok(false);
    }
    let mut view = View::before_creation(attributes, object.as_deref());
    rounds.begin(view.value());
    for (place, hook) in hooks.iter().enumerate() {
        let Some(version) = select::select(path, hook, Phase::Mutating, &mut view).await? else {
            continue;
        };
        if !rounds.calls(place) {
            continue;
        }
        view.turn(path.io, &version).await?;
        let noted = Noted {
            path,
            attributes,
            hook,
            phase: Phase::Mutating,
            place: (rounds.number(), place),
        };
        let before = policies.as_ref().map(|_| view.value().clone());
        let changed = noted.ask(&mut view).await?;
        if let (Some(policies), Some(before)) = (&mut policies, before)
            && changed
            && view.is_in_requested_version()
        {
            policies.changed_by(&hook.name, &before, view.value());
        }
        rounds.called(place, changed, hook.is_reinvoked);
    }
    view.turn(path.io, &attributes.request.served).await?;
    rounds.end(view.value());
    match object {
        Some(object) if view.is_changed() => {
            view.put_on(object);
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Calls the validating webhooks in parallel.
pub(super) async fn validate(
    path: &WritePath<'_>,
    attributes: &Attributes<'_>,
    object: Option<&Object>,
) -> Result<(), ApiError> {
    let hooks = path.env.webhooks(Phase::Validating);
    if hooks.is_empty() || attributes.is_about_admission() {
        return Ok(());
    }
    let mut view = View::of(attributes, object);
    let mut selected: Vec<(&Arc<Hook>, Result<Call, Failure>)> = Vec::new();
    let mut calls = Vec::new();
    for hook in hooks.iter() {
        let Some(version) = select::select(path, hook, Phase::Validating, &mut view).await? else {
            continue;
        };
        view.turn(path.io, &version).await?;
        let call = Call::of(path, hook, Phase::Validating, &view);
        let call = call.map(|(call, posted)| {
            calls.push(posted);
            call
        });
        selected.push((hook, call));
    }
    if selected.is_empty() {
        return Ok(());
    }
    let began = path.env.elapsed();
    let mut answers = path.io.call_webhooks(calls).await.into_iter();
    let took = path.env.elapsed().saturating_sub(began);
    let mut refusal = Ok(());
    for (place, (hook, call)) in selected.into_iter().enumerate() {
        let noted = Noted {
            path,
            attributes,
            hook,
            phase: Phase::Validating,
            place: (0, place),
        };
        let answer = call.and_then(|call| {
            let answer = answers.next().expect("the driver replies to every call");
            call.read(answer)
        });
        let outcome = answer.and_then(|answer| interpret(hook, attributes, answer));
        refusal = refusal.and(noted.judge(outcome.map(|_| ()), took).map(|_| ()));
    }
    refusal
}

/// Bookkeeping of one webhook call: metrics, audit annotations, and `failurePolicy`.
struct Noted<'a> {
    path: &'a WritePath<'a>,
    attributes: &'a Attributes<'a>,
    hook: &'a Arc<Hook>,
    phase: Phase,
    /// Reinvocation round, and index of the webhook within it.
    place: (usize, usize),
}

impl Noted<'_> {
    /// Calls a mutating webhook. Returns whether it changed the object.
    async fn ask(&self, view: &mut View<'_>) -> Result<bool, ApiError> {
        let began = self.path.env.elapsed();
        let outcome = self.change(view).await;
        let took = self.path.env.elapsed().saturating_sub(began);
        let changed = matches!(outcome, Ok(true));
        self.annotate_mutation(changed);
        let went_on = self.judge(outcome.map(|_| ()), took)?;
        Ok(changed && went_on)
    }

    async fn change(&self, view: &mut View<'_>) -> Result<bool, Failure> {
        let (call, posted) = Call::of(self.path, self.hook, self.phase, view)?;
        let mut answers = self.path.io.call_webhooks(vec![posted]).await;
        let answer = answers.pop().expect("the driver replies to every call");
        let answer = call.read(answer)?;
        let answer = interpret(self.hook, self.attributes, answer)?;
        let patch = patch::read(&answer)?;
        let Some(patch) = patch else {
            return Ok(false);
        };
        let changed = view.change(&self.hook.name, &patch.change)?;
        self.annotate_patch(&patch.shown);
        Ok(changed)
    }

    /// Records the outcome and applies `failurePolicy`; `false` if a failed call is ignored.
    fn judge(
        &self,
        outcome: Result<(), Failure>,
        took: std::time::Duration,
    ) -> Result<bool, ApiError> {
        let operation = self.attributes.operation.as_str();
        let (name, phase) = (&*self.hook.name, self.phase.label());
        let Err(failure) = outcome else {
            self.observe_call(200, false, took);
            return Ok(true);
        };
        let may_fail = self.hook.failure_policy == FailurePolicy::Ignore;
        let is_ignored = failure.is_of_call() && may_fail;
        if !is_ignored {
            self.path.env.observe(&Observation::WebhookRejection {
                name,
                phase,
                operation,
                error: failure.kind(),
                code: failure.code(),
            });
        }
        self.observe_call(failure.code(), !is_ignored, took);
        if is_ignored {
            self.path.env.observe(&Observation::FailedOpen {
                name,
                phase,
                failure: &failure.to_string(),
            });
            let key = self.key(&format!("failed-open.{}", self.phase.annotation_prefix()));
            self.attributes.request.notes.annotate(&key, name);
            return Ok(false);
        }
        Err(failure.into_error(name))
    }

    fn observe_call(&self, code: u16, is_rejected: bool, took: std::time::Duration) {
        self.path.env.observe(&Observation::Webhook {
            name: &self.hook.name,
            phase: self.phase.label(),
            operation: self.attributes.operation.as_str(),
            code,
            is_rejected,
            took,
        });
    }

    fn key(&self, prefix: &str) -> String {
        let (round, index) = self.place;
        format!("{prefix}round_{round}_index_{index}")
    }

    fn annotate_mutation(&self, mutated: bool) {
        let annotation = format!(
            r#"{{"configuration":{},"webhook":{},"mutated":{mutated}}}"#,
            serde_json::json!(self.hook.configuration),
            serde_json::json!(self.hook.name),
        );
        let key = self.key(self.phase.annotation_prefix());
        self.attributes.request.notes.annotate(&key, &annotation);
    }

    fn annotate_patch(&self, patch: &serde_json::Value) {
        let annotation = format!(
            r#"{{"configuration":{},"webhook":{},"patch":{patch},"patchType":"JSONPatch"}}"#,
            serde_json::json!(self.hook.configuration),
            serde_json::json!(self.hook.name),
        );
        let key = self.key("patch.webhook.admission.k8s.io/");
        self.attributes
            .request
            .notes
            .annotate_in_detail(&key, &annotation);
    }
}

impl Phase {
    /// Value of the metric label `type`.
    fn label(self) -> &'static str {
        match self {
            Self::Mutating => "admit",
            Self::Validating => "validating",
        }
    }

    /// Key prefix of the phase's audit annotations.
    fn annotation_prefix(self) -> &'static str {
        match self {
            Self::Mutating => "mutation.webhook.admission.k8s.io/",
            Self::Validating => "validating.webhook.admission.k8s.io/",
        }
    }
}
