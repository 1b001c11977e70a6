//! Objects of a server: read, listed in pages, patched.

use std::time::Duration;

use hyper::Method;
use lockstep_callout::query_value;
use lockstep_object::json;
use serde_json::Value;

use super::http::Question;
use super::kubeconfig::Access;
use crate::failure::{Exit, Failure};
use crate::output;

/// Upper bound on resumptions of a list whose `continue` token expired.
const STALE_MAX: usize = 3;

/// Response of an API server.
pub(crate) struct Reply {
    pub(crate) code: u16,
    /// The object, or a `Status`.
    pub(crate) body: Value,
    /// Texts of the response's `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

/// Patch types, each with its media type.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PatchKind {
    Apply,
    Json,
    Merge,
}

impl PatchKind {
    fn content_type(self) -> &'static str {
        match self {
            Self::Apply => "application/apply-patch+yaml",
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
        }
    }
}

impl Reply {
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.code, 200..300)
    }

    /// `message` of the response's `Status`.
    pub(crate) fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    /// Shows warnings as kubectl does.
    pub(crate) fn tell_warnings(&self) {
        for warning in &self.warnings {
            output::tell(&format!("Warning: {warning}\n"));
        }
    }

    /// True for a 409 with `FieldManagerConflict` causes, false for a 409 because of an outdated resourceVersion.
    pub(crate) fn is_ownership_conflict(&self) -> bool {
        let causes = self.body["details"]["causes"].as_array();
        let mut causes = causes.into_iter().flatten();
        self.code == 409 && causes.any(|cause| cause["reason"] == "FieldManagerConflict")
    }
}

impl Access {
    /// Reads what is at a path.
    pub(crate) fn object(&self, path: &str) -> Result<Reply, Failure> {
        self.reply(Question::get(path))
    }

    /// Creates an object.
    pub(crate) fn post(&self, path: &str, object: &Value) -> Result<Reply, Failure> {
        let body = object.to_string().into_bytes();
        self.reply(Question::json(Method::POST, path, body))
    }

    /// Sends a patch.
    pub(crate) fn patch(
        &self,
        path: &str,
        kind: PatchKind,
        body: &Value,
    ) -> Result<Reply, Failure> {
        let question = Question {
            content_type: kind.content_type(),
            ..Question::json(Method::PATCH, path, body.to_string().into_bytes())
        };
        self.reply(question)
    }

    /// Shows each object of a list, page by page. A list that is older than what the server remembers goes on with
    /// what there is now.
    pub(crate) fn each(
        &self,
        path: &str,
        page: u32,
        show: impl FnMut(Value),
    ) -> Result<(), Failure> {
        self.each_page(path, page, Duration::ZERO, show)
    }

    /// As [`each`](Self::each), with a pause before each page.
    pub(crate) fn each_page(
        &self,
        path: &str,
        page: u32,
        pause: Duration,
        mut show: impl FnMut(Value),
    ) -> Result<(), Failure> {
        let (mut token, mut stale) = (String::new(), 0);
        loop {
            std::thread::sleep(pause);
            let mut reply = self.object(&format!("{path}?limit={page}&continue={token}"))?;
            let next = reply.body["metadata"]["continue"].as_str();
            let next = next.unwrap_or_default().to_owned();
            if reply.code == 410 && !next.is_empty() && stale < STALE_MAX {
                stale += 1;
            } else if reply.is_done() {
                if let Value::Array(items) = reply.body["items"].take() {
                    items.into_iter().for_each(&mut show);
                }
            } else {
                return Err(self.refused(&reply, path));
            }
            if next.is_empty() {
                return Ok(());
            }
            token = query_value(&next);
        }
    }

    /// Failure for a response that is not a success; the exit code follows from the HTTP status.
    pub(crate) fn refused(&self, reply: &Reply, path: &str) -> Failure {
        let exit = match reply.code {
            401 | 403 => Exit::NotAllowed,
            400..=499 => Exit::BadInput,
            _ => Exit::Unreachable,
        };
        let (server, code, told) = (self.server(), reply.code, reply.message());
        Failure::of_server(exit, format!("{server}{path} answered {code}: {told}"))
    }

    fn reply(&self, question: Question<'_>) -> Result<Reply, Failure> {
        let answered = self.ask(question)?;
        let text = || Value::from(String::from_utf8_lossy(&answered.body).trim());
        let body = json::read(&answered.body);
        Ok(Reply {
            code: answered.code,
            body: body.unwrap_or_else(|| serde_json::json!({ "message": text() })),
            warnings: answered.warnings,
        })
    }
}
