//! Webhooks: other people's servers that may change or refuse a write.
//!
//! `hook` is one of them as its configuration says, `known` all that are in force. `select` decides
//! which are asked, `review` what they are asked and whether the answer can be believed, `rounds`
//! who is asked twice; `view` is the object in the version a webhook knows. Only `call` waits.

mod call;
pub mod hook;
mod known;
pub mod patch;
pub mod refusal;
pub mod review;
pub mod rounds;
mod select;
mod view;

use std::sync::Arc;

use lockstep_object::{Object, Status};
use tokio::task::JoinSet;

pub(crate) use known::Known;
pub(crate) use rounds::Rounds;

use self::call::{Call, Failure, interpret};
use self::hook::{FailurePolicy, Hook};
use self::review::{Answer, Phase};
use self::view::View;
use super::Attributes;
use crate::clock;
use crate::resources::Api;

/// The configurations of webhooks that are in force.
pub(crate) struct Webhooks {
    pub(crate) mutating: Known,
    pub(crate) validating: Known,
}

impl Default for Webhooks {
    fn default() -> Self {
        Self {
            mutating: Known::new("mutatingwebhookconfigurations"),
            validating: Known::new("validatingwebhookconfigurations"),
        }
    }
}

/// Asks the mutating webhooks, one after the other. Tells whether they changed the object.
pub(super) async fn mutate(
    api: &Api,
    attributes: &Attributes<'_>,
    object: Option<&mut Object>,
    rounds: &mut Rounds,
) -> Result<bool, Status> {
    let hooks = api.webhooks().mutating.hooks(api.cache());
    if hooks.is_empty() || attributes.is_about_admission() {
        return Ok(false);
    }
    let mut view = View::before_creation(attributes, object.as_deref());
    rounds.begin(view.value());
    for (place, hook) in hooks.iter().enumerate() {
        let Some(asked) = select::select(api, hook, Phase::Mutating, &mut view).await? else {
            continue;
        };
        if !rounds.calls(place) {
            continue;
        }
        view.turn(&asked).await?;
        let noted = Noted {
            api,
            attributes,
            hook,
            phase: Phase::Mutating,
            place: (rounds.number(), place),
        };
        let changed = noted.ask(&mut view).await?;
        rounds.called(place, changed, hook.is_reinvoked);
    }
    view.turn(&attributes.request.served).await?;
    rounds.end(view.value());
    match object {
        Some(object) if view.is_changed() => {
            view.put_on(object);
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// A webhook, and what came of asking it once it has answered.
struct Asked {
    hook: Arc<Hook>,
    outcome: Option<Result<Answer, Failure>>,
}

/// Asks the validating webhooks, all at once.
pub(super) async fn validate(
    api: &Api,
    attributes: &Attributes<'_>,
    object: Option<&Object>,
) -> Result<(), Status> {
    let hooks = api.webhooks().validating.hooks(api.cache());
    if hooks.is_empty() || attributes.is_about_admission() {
        return Ok(());
    }
    let mut view = View::of(attributes, object);
    let mut asking = JoinSet::new();
    let mut outcomes: Vec<Asked> = Vec::new();
    for hook in hooks.iter() {
        let Some(asked) = select::select(api, hook, Phase::Validating, &mut view).await? else {
            continue;
        };
        view.turn(&asked).await?;
        let place = outcomes.len();
        let call = Call::of(api, hook, Phase::Validating, &view);
        let outcome =
            call.map(|call| drop(asking.spawn(async move { (place, call.post().await) })));
        outcomes.push(Asked {
            hook: Arc::clone(hook),
            outcome: outcome.err().map(Err),
        });
    }
    let began = clock::now().steady;
    while let Some(done) = asking.join_next().await {
        let (place, outcome) = done.map_err(|error| Status::internal_error(&error.to_string()))?;
        outcomes[place].outcome = Some(outcome);
    }
    let took = clock::now().steady - began;
    let mut refusal = Ok(());
    for (place, Asked { hook, outcome }) in outcomes.into_iter().enumerate() {
        let noted = Noted {
            api,
            attributes,
            hook: &hook,
            phase: Phase::Validating,
            place: (0, place),
        };
        let outcome = outcome.expect("every call has come back");
        let outcome = outcome.and_then(|answer| interpret(&hook, attributes, answer));
        refusal = refusal.and(noted.judge(outcome.map(|_| ()), took).map(|_| ()));
    }
    refusal
}

/// What is noted about one call: metrics, annotations of the audit log, and what becomes of a
/// failure.
struct Noted<'a> {
    api: &'a Api,
    attributes: &'a Attributes<'a>,
    hook: &'a Hook,
    phase: Phase,
    /// The round, and the place of the webhook in it.
    place: (usize, usize),
}

impl Noted<'_> {
    /// Asks a mutating webhook. Tells whether it changed the object.
    async fn ask(&self, view: &mut View<'_>) -> Result<bool, Status> {
        let began = clock::now().steady;
        let outcome = self.change(view).await;
        let took = clock::now().steady - began;
        let changed = matches!(outcome, Ok(true));
        self.annotate_mutation(changed);
        let went_on = self.judge(outcome.map(|_| ()), took)?;
        Ok(changed && went_on)
    }

    async fn change(&self, view: &mut View<'_>) -> Result<bool, Failure> {
        let call = Call::of(self.api, self.hook, self.phase, view)?;
        let answer = call.post().await?;
        let answer = interpret(self.hook, self.attributes, answer)?;
        let patch = patch::read(&answer)?;
        let Some(patch) = patch else {
            return Ok(false);
        };
        let changed = view.change(&self.hook.name, &patch.change)?;
        self.annotate_patch(&patch.shown);
        Ok(changed)
    }

    /// What becomes of an outcome: `false` if there was a failure that does not matter.
    fn judge(
        &self,
        outcome: Result<(), Failure>,
        took: std::time::Duration,
    ) -> Result<bool, Status> {
        let meters = &self.api.meters().admission;
        let operation = self.attributes.operation.as_str();
        let (name, phase) = (&*self.hook.name, self.phase.label());
        let Err(failure) = outcome else {
            meters.webhook(name, phase, operation, 200, false, took);
            return Ok(true);
        };
        let may_fail = self.hook.failure_policy == FailurePolicy::Ignore;
        let is_ignored = failure.is_of_call() && may_fail;
        if !is_ignored {
            meters.rejected(name, phase, operation, failure.kind(), failure.code());
        }
        meters.webhook(name, phase, operation, failure.code(), !is_ignored, took);
        if is_ignored {
            tracing::warn!(webhook = name, %failure, "a webhook failed, which is ignored");
            meters.failed_open(name, phase);
            let key = self.key(&format!("failed-open.{}", self.phase.annotation_prefix()));
            self.attributes.request.notes.annotate(&key, name);
            return Ok(false);
        }
        Err(failure.into_status(name))
    }

    fn key(&self, prefix: &str) -> String {
        let (round, index) = self.place;
        format!("{prefix}round_{round}_index_{index}")
    }

    fn annotate_mutation(&self, mutated: bool) {
        let told = format!(
            r#"{{"configuration":{},"webhook":{},"mutated":{mutated}}}"#,
            serde_json::json!(self.hook.configuration),
            serde_json::json!(self.hook.name),
        );
        let key = self.key(self.phase.annotation_prefix());
        self.attributes.request.notes.annotate(&key, &told);
    }

    fn annotate_patch(&self, patch: &serde_json::Value) {
        let told = format!(
            r#"{{"configuration":{},"webhook":{},"patch":{patch},"patchType":"JSONPatch"}}"#,
            serde_json::json!(self.hook.configuration),
            serde_json::json!(self.hook.name),
        );
        let key = self.key("patch.webhook.admission.k8s.io/");
        self.attributes
            .request
            .notes
            .annotate_in_detail(&key, &told);
    }
}

impl Phase {
    /// What metrics call it.
    fn label(self) -> &'static str {
        match self {
            Self::Mutating => "admit",
            Self::Validating => "validating",
        }
    }

    /// How the audit log's annotations about it begin.
    fn annotation_prefix(self) -> &'static str {
        match self {
            Self::Mutating => "mutation.webhook.admission.k8s.io/",
            Self::Validating => "validating.webhook.admission.k8s.io/",
        }
    }
}
