//! `ApiError`, the failure of a request, and `Status`, the object that tells a client of it.

mod error;
mod map;

use serde_json::{Map, Value, json};

use crate::kinds::GroupResource;

pub use error::{
    ApiError, ApplyConflict, InvalidObject, ObjectRef, PolicyDenial, PreconditionFailed,
    WebhookDenial,
};

/// `status` of a `Status`: success or failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The request succeeded.
    Success,
    /// The request failed.
    Failure,
}

/// Machine-readable reason of a failure, with its HTTP status code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "these are upstream's words, and they say what they mean"
)]
pub enum Reason {
    BadRequest,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    NotAcceptable,
    AlreadyExists,
    Conflict,
    Gone,
    Expired,
    RequestEntityTooLarge,
    UnsupportedMediaType,
    Invalid,
    TooManyRequests,
    InternalError,
    ServerTimeout,
    ServiceUnavailable,
    Timeout,
}

impl Reason {
    /// The HTTP status code.
    pub fn code(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::NotAcceptable => 406,
            Self::AlreadyExists | Self::Conflict => 409,
            Self::Gone | Self::Expired => 410,
            Self::RequestEntityTooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::Invalid => 422,
            Self::TooManyRequests => 429,
            Self::InternalError | Self::ServerTimeout => 500,
            Self::ServiceUnavailable => 503,
            Self::Timeout => 504,
        }
    }

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "BadRequest",
            Self::Unauthorized => "Unauthorized",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::MethodNotAllowed => "MethodNotAllowed",
            Self::NotAcceptable => "NotAcceptable",
            Self::AlreadyExists => "AlreadyExists",
            Self::Conflict => "Conflict",
            Self::Gone => "Gone",
            Self::Expired => "Expired",
            Self::RequestEntityTooLarge => "RequestEntityTooLarge",
            Self::UnsupportedMediaType => "UnsupportedMediaType",
            Self::Invalid => "Invalid",
            Self::TooManyRequests => "TooManyRequests",
            Self::InternalError => "InternalError",
            Self::ServerTimeout => "ServerTimeout",
            Self::ServiceUnavailable => "ServiceUnavailable",
            Self::Timeout => "Timeout",
        }
    }
}

/// One of several causes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cause {
    /// `FieldValueInvalid`, `FieldManagerConflict`, …
    pub reason: String,
    /// Human-readable message.
    pub message: String,
    /// Field path, if the cause is a field.
    pub field: String,
}

/// The object of the failure, and its causes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
    /// The object's name.
    pub name: String,
    /// The group.
    pub group: String,
    /// The resource; for [`Reason::Invalid`] the kind.
    pub kind: String,
    /// The object's uid.
    pub uid: String,
    /// The causes.
    pub causes: Vec<Cause>,
    /// Seconds until a retry makes sense; 0 if unspecified.
    pub retry_after_seconds: u32,
}

/// Success of a request that has no object as its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Success {
    /// 200: an object was removed.
    Deleted {
        /// The resource of the object.
        resource: GroupResource,
        /// The object's name.
        name: String,
        /// The object's uid.
        uid: String,
    },
    /// 201: the body of a subresource, such as a binding or an eviction, took effect.
    Created,
}

/// Response of a failed request, or of a successful one without another result.
///
/// It is made from an [`ApiError`] or a [`Success`], and in no other way.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Success or failure.
    pub outcome: Outcome,
    /// Human-readable message.
    pub message: String,
    /// Machine-readable reason.
    pub reason: Option<Reason>,
    /// Reason given by an admission webhook, which replaces `reason`; empty if there is none.
    pub webhook_reason: String,
    /// The object of the failure, and its causes.
    pub details: Option<Box<Details>>,
    /// The HTTP status code.
    pub code: u16,
    /// Continue token for an expired list (`metadata.continue`).
    pub continue_token: String,
}

impl Status {
    /// The object on the wire.
    pub fn to_value(&self) -> Value {
        let metadata = match self.continue_token.as_str() {
            "" => json!({}),
            token => json!({ "continue": token }),
        };
        let outcome = match self.outcome {
            Outcome::Success => "Success",
            Outcome::Failure => "Failure",
        };
        let mut status =
            json!({"kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": outcome});
        let Value::Object(entries) = &mut status else {
            unreachable!("a map was just built");
        };
        insert(entries, "message", &self.message);
        let reason = match self.webhook_reason.as_str() {
            "" => self.reason.map_or("", Reason::as_str),
            foreign => foreign,
        };
        insert(entries, "reason", reason);
        if let Some(details) = &self.details {
            entries.insert("details".to_owned(), details.to_value());
        }
        // Upstream answers a deletion, the one success with details, without a code.
        if self.outcome == Outcome::Failure || self.details.is_none() {
            entries.insert("code".to_owned(), Value::from(self.code));
        }
        status
    }
}

impl Details {
    fn to_value(&self) -> Value {
        let mut entries = Map::new();
        insert(&mut entries, "name", &self.name);
        insert(&mut entries, "group", &self.group);
        insert(&mut entries, "kind", &self.kind);
        insert(&mut entries, "uid", &self.uid);
        if !self.causes.is_empty() {
            let causes = self.causes.iter().map(Cause::to_value).collect();
            entries.insert("causes".to_owned(), Value::Array(causes));
        }
        if self.retry_after_seconds > 0 {
            entries.insert(
                "retryAfterSeconds".to_owned(),
                Value::from(self.retry_after_seconds),
            );
        }
        Value::Object(entries)
    }
}

impl Cause {
    fn to_value(&self) -> Value {
        let mut entries = Map::new();
        insert(&mut entries, "reason", &self.reason);
        insert(&mut entries, "message", &self.message);
        insert(&mut entries, "field", &self.field);
        Value::Object(entries)
    }
}

/// Empty texts are left out.
fn insert(entries: &mut Map<String, Value>, key: &str, text: &str) {
    if !text.is_empty() {
        entries.insert(key.to_owned(), Value::from(text));
    }
}
