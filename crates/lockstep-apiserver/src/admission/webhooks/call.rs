//! One call, and everything that can go wrong with it.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_object::{Status, json};

use super::super::Attributes;
use super::hook::Hook;
use super::refusal::{denied, no_dry_run};
use super::review::{Answer, Phase, ReviewVersion, Unusable};
use super::view::View;
use crate::resources::{Api, DryRun};
use crate::webhooks::{CallError, CallLimits, Client, Problem};

/// How large an answer may be: a patch may hold the largest object there is, in base64.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// A call that is ready to be made.
pub(super) struct Call {
    client: Arc<Client>,
    body: Bytes,
    limits: CallLimits,
    review: ReviewVersion,
    uid: String,
    phase: Phase,
}

/// Why a webhook did not let a write go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// It gave no answer that can be used.
    #[error("{reason}")]
    Call {
        /// Why.
        reason: String,
        /// What that is as an answer.
        code: u16,
    },
    /// It said no.
    #[error("{}", .0.message)]
    Denied(Box<Status>),
    /// Its answer cannot be carried out, or it may not be asked.
    #[error("{}", .0.message)]
    Internal(Box<Status>),
}

impl Failure {
    pub(super) fn call(reason: String, code: u16) -> Self {
        Self::Call { reason, code }
    }

    pub(super) fn internal(why: &str) -> Self {
        Self::Internal(Box::new(Status::internal_error(why)))
    }

    /// Whether the webhook says what happens then.
    pub(super) fn is_of_call(&self) -> bool {
        matches!(self, Self::Call { .. })
    }

    /// What metrics call it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Call { .. } => "calling_webhook_error",
            Self::Denied(_) => "no_error",
            Self::Internal(_) => "apiserver_internal_error",
        }
    }

    /// The code for metrics.
    pub(super) fn code(&self) -> u16 {
        match self {
            Self::Call { code, .. } => *code,
            Self::Denied(status) => status.code,
            Self::Internal(_) => 0,
        }
    }

    /// What the client is told.
    pub(super) fn into_status(self, webhook: &str) -> Status {
        match self {
            Self::Call { reason, .. } => {
                Status::internal_error(&format!("failed calling webhook {webhook:?}: {reason}"))
            }
            Self::Denied(status) | Self::Internal(status) => *status,
        }
    }
}

impl Call {
    /// A call about an object as it is shown now.
    pub(super) fn of(
        api: &Api,
        hook: &Hook,
        phase: Phase,
        view: &View<'_>,
    ) -> Result<Self, Failure> {
        if view.attributes().dry_run == DryRun::All && hook.has_side_effects {
            return Err(Failure::Internal(Box::new(no_dry_run(&hook.name))));
        }
        let review = hook.review.ok_or_else(|| {
            let why = "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)";
            Failure::call(why.to_owned(), 400)
        })?;
        let config = hook
            .client
            .as_ref()
            .map_err(|error| Failure::call(format!("could not get REST client: {error}"), 500))?;
        let uid = uuid::Uuid::new_v4().to_string();
        let question = review.question(&uid, &view.request(), view.object(), view.old());
        Ok(Self {
            client: api.clients().client(config),
            body: json::encode(&question).into(),
            limits: CallLimits {
                timeout: hook.timeout,
                answer_bytes_max: ANSWER_BYTES_MAX,
            },
            review,
            uid,
            phase,
        })
    }

    /// Makes it.
    pub(super) async fn post(self) -> Result<Answer, Failure> {
        let answer = self.client.post(self.body, self.limits).await;
        let answer = answer.map_err(|error| unanswered(&error))?;
        let read = json::decode(&answer).map_err(|error| undecodable(&answer, &error.to_string()));
        let told = read.and_then(|read| self.review.answer(&self.uid, self.phase, &read.value));
        told.map_err(|unusable| Failure::call(unusable.to_string(), 503))
    }
}

/// What is no JSON. What does not even begin like it is taken for a text of YAML, as upstream does.
fn undecodable(answer: &[u8], problem: &str) -> Unusable {
    let first = answer.iter().find(|byte| !byte.is_ascii_whitespace());
    if first.is_some_and(|first| b"{[".contains(first)) {
        let why = format!("couldn't get version/kind; json parse error: {problem}");
        return Unusable::Undecodable(why);
    }
    Unusable::no_map("string")
}

/// Passes on what an answer says besides, and stops if it says no.
pub(super) fn interpret(
    hook: &Hook,
    attributes: &Attributes<'_>,
    answer: Answer,
) -> Result<Answer, Failure> {
    let notes = attributes.request.notes;
    for (key, value) in &answer.audit_annotations {
        notes.annotate(&format!("{}/{key}", hook.name), value);
    }
    for warning in &answer.warnings {
        notes.warn(warning);
    }
    if answer.allowed {
        return Ok(answer);
    }
    Err(Failure::Denied(Box::new(denied(
        &hook.name,
        &answer.result,
    ))))
}

/// A call that brought no review, in the words of upstream's client where it has some.
fn unanswered(error: &CallError) -> Failure {
    let (told, code) = match error {
        CallError::Call {
            problem: Problem::Refused { code, text },
            ..
        } => (refused(code.as_u16(), text), code.as_u16()),
        CallError::Call {
            problem: problem @ Problem::Empty { .. },
            ..
        } => (problem.to_string(), 503),
        CallError::Config(error) => {
            return Failure::call(format!("could not get REST client: {error}"), 500);
        }
        CallError::Call { .. } => (error.to_string(), 503),
    };
    Failure::call(format!("failed to call webhook: {told}"), code)
}

fn refused(code: u16, text: &str) -> String {
    match code {
        400 => "the server rejected our request for an unknown reason".to_owned(),
        401 => "the server has asked for the client to provide credentials".to_owned(),
        403 => text.to_owned(),
        404 => "the server could not find the requested resource".to_owned(),
        405 => "the server does not allow this method on the requested resource".to_owned(),
        406 => "the server was unable to respond with a content type that the client supports"
            .to_owned(),
        409 => "the server reported a conflict".to_owned(),
        410 => "the server no longer has the requested resource".to_owned(),
        415 => "the body of the request was in an unknown format - accepted media types include: "
            .to_owned(),
        422 => "the server rejected our request due to an error in our request".to_owned(),
        429 => "the server has received too many requests and has asked us to try again later"
            .to_owned(),
        503 => "the server is currently unable to handle the request".to_owned(),
        504 => "the server was unable to return a response in the time allotted, but may still be processing the request".to_owned(),
        500.. => format!("an error on the server ({text:?}) has prevented the request from succeeding"),
        code => format!(
            "the server responded with the status code {code} but did not return more information"
        ),
    }
}
