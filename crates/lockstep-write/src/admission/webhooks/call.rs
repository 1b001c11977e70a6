//! One webhook call and its failures.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_object::{ApiError, json};

use super::super::super::io::CallFailure;
use super::super::super::{DryRun, WritePath};
use super::super::Attributes;
use super::hook::Hook;
use super::refusal::{denied, no_dry_run};
use super::review::{Answer, Phase, ReviewVersion, Unusable};
use super::view::View;

/// Call of one webhook, as the driver of a write makes it.
pub struct WebhookCall {
    /// The webhook: its client configuration and timeout.
    pub hook: Arc<Hook>,
    /// `AdmissionReview` to post.
    pub body: Bytes,
}

/// A webhook call in flight: the data required to check its response.
pub(super) struct Call {
    review: ReviewVersion,
    uid: String,
    phase: Phase,
}

/// Reasons for which a webhook call does not admit a write.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The call failed, or its response is not a usable `AdmissionReview`; `failurePolicy` applies.
    #[error("{reason}")]
    Call {
        /// Error text.
        reason: String,
        /// Status code for metrics.
        code: u16,
    },
    /// The webhook denied the request.
    #[error("{0}")]
    Denied(ApiError),
    /// The patch cannot be applied, or a webhook with side effects matched a dry run; `failurePolicy` does not apply.
    #[error("{0}")]
    Internal(ApiError),
}

impl Failure {
    pub(super) fn call(reason: String, code: u16) -> Self {
        Self::Call { reason, code }
    }

    pub(super) fn internal(why: &str) -> Self {
        Self::Internal(ApiError::internal(why))
    }

    /// True if `failurePolicy` applies to the failure.
    pub(super) fn is_of_call(&self) -> bool {
        matches!(self, Self::Call { .. })
    }

    /// Value of the metric label `error_type`.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Call { .. } => "calling_webhook_error",
            Self::Denied(_) => "no_error",
            Self::Internal(_) => "apiserver_internal_error",
        }
    }

    /// Status code for metrics.
    pub(super) fn code(&self) -> u16 {
        match self {
            Self::Call { code, .. } => *code,
            Self::Denied(error) => error.code(),
            Self::Internal(_) => 0,
        }
    }

    /// Converts the failure to the error of the API request.
    pub(super) fn into_error(self, webhook: &str) -> ApiError {
        match self {
            Self::Call { reason, .. } => {
                ApiError::internal(format!("failed calling webhook {webhook:?}: {reason}"))
            }
            Self::Denied(error) | Self::Internal(error) => error,
        }
    }
}

impl Call {
    /// Prepares a call with the objects of a view.
    pub(super) fn of(
        path: &WritePath<'_>,
        hook: &Arc<Hook>,
        phase: Phase,
        view: &View<'_>,
    ) -> Result<(Self, WebhookCall), Failure> {
        if view.attributes().dry_run == DryRun::All && hook.has_side_effects {
            return Err(Failure::Internal(no_dry_run(&hook.name)));
        }
        let review = hook.review.ok_or_else(|| {
            let why = "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)";
            Failure::call(why.to_owned(), 400)
        })?;
        if let Err(error) = &hook.client {
            let why = format!("could not get REST client: {error}");
            return Err(Failure::call(why, 500));
        }
        let uid = path.new_uid();
        let question = review.question(&uid, &view.request(), view.object(), view.old());
        let posted = WebhookCall {
            hook: Arc::clone(hook),
            body: json::encode(&question).into(),
        };
        Ok((Self { review, uid, phase }, posted))
    }

    /// Decodes and checks the `AdmissionReview` in a response.
    pub(super) fn read(self, answer: Result<Bytes, CallFailure>) -> Result<Answer, Failure> {
        let answer = answer.map_err(|CallFailure { reason, code }| Failure::call(reason, code))?;
        let read = json::decode(&answer).map_err(|error| undecodable(&answer, &error.to_string()));
        let answered = read.and_then(|read| self.review.answer(&self.uid, self.phase, &read.value));
        answered.map_err(|unusable| Failure::call(unusable.to_string(), 503))
    }
}

/// Error for a response that is not JSON. Like upstream, treats one that starts with neither `{` nor `[` as a YAML
/// string.
fn undecodable(answer: &[u8], problem: &str) -> Unusable {
    let first = answer.iter().find(|byte| !byte.is_ascii_whitespace());
    if first.is_some_and(|first| b"{[".contains(first)) {
        let why = format!("couldn't get version/kind; json parse error: {problem}");
        return Unusable::Undecodable(why);
    }
    Unusable::no_map("string")
}

/// Records the audit annotations and warnings of a response, and fails if it denies the request.
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
    Err(Failure::Denied(denied(&hook.name, &answer.result)))
}
