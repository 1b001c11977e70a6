//! What a handler returns.

use bytes::Bytes;
use lockstep_object::{Status, json};

use super::watch::WatchStream;

/// The answer to a request.
pub struct Answer {
    /// The HTTP status code.
    pub code: u16,
    /// The body.
    pub body: Body,
}

/// The body of an answer; always JSON.
pub enum Body {
    /// All of it.
    Whole(Bytes),
    /// Events, one after another, until one side ends it.
    Watch(Box<WatchStream>),
}

impl Answer {
    /// 200 with a body.
    pub fn ok(body: impl Into<Bytes>) -> Self {
        Self {
            code: 200,
            body: Body::Whole(body.into()),
        }
    }

    /// 201 with a body.
    pub fn created(body: impl Into<Bytes>) -> Self {
        Self {
            code: 201,
            ..Self::ok(body)
        }
    }
}

impl From<&Status> for Answer {
    fn from(status: &Status) -> Self {
        Self {
            code: status.code,
            ..Self::ok(json::encode(&status.to_value()))
        }
    }
}
