//! Registered admission webhooks, and calls to them.

use bytes::Bytes;
use futures::future::join_all;

use lockstep_object::Object;

use super::Api;
use crate::admission::Hook;
use crate::cache::{Object as Cached, Parsed};
use crate::webhooks::{CallError, CallLimits, Problem};
use lockstep_write::CallFailure;
use lockstep_write::admission::WebhookCall;

/// Largest response of an admission webhook: a patch may contain an object of the largest size, in base64.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// Webhooks of one configuration resource, ordered by the name of their configuration, then by position.
pub(super) fn configured(bucket: &'static str) -> Parsed<Hook> {
    Parsed::new(bucket, |stored: &Cached| {
        let object = Object::read(&stored.value);
        object.map_or_else(Vec::new, |object| Hook::read_all(&object))
    })
}

impl Api {
    /// Makes calls in parallel; answers keep the order.
    pub(super) async fn call_webhooks(
        &self,
        calls: Vec<WebhookCall>,
    ) -> Vec<Result<Bytes, CallFailure>> {
        join_all(calls.into_iter().map(|call| self.call_webhook(call))).await
    }

    async fn call_webhook(&self, call: WebhookCall) -> Result<Bytes, CallFailure> {
        let config = call.hook.client.as_ref();
        let config =
            config.map_err(|error| failure(format!("could not get REST client: {error}"), 500))?;
        let limits = CallLimits {
            timeout: call.hook.timeout,
            answer_bytes_max: ANSWER_BYTES_MAX,
        };
        let answer = self.clients.client(config).post(call.body, limits).await;
        answer.map_err(|error| unanswered(&error))
    }
}

fn failure(reason: String, code: u16) -> CallFailure {
    CallFailure { reason, code }
}

/// Maps a failed call to the error text of upstream's client.
fn unanswered(error: &CallError) -> CallFailure {
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
            return failure(format!("could not get REST client: {error}"), 500);
        }
        CallError::Call { .. } => (error.to_string(), 503),
    };
    failure(format!("failed to call webhook: {told}"), code)
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
