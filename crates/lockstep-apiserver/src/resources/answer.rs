//! What a handler returns.

use lockstep_object::{Object, Status, json};

use super::watch::WatchStream;
use crate::whole::Whole;
use crate::write::WriteAnswer;

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
    Whole(Whole),
    /// Events, one after another, until one side ends it.
    Watch(Box<WatchStream>),
}

impl Answer {
    /// 200 with a body.
    pub fn ok(body: impl Into<Whole>) -> Self {
        Self {
            code: 200,
            body: Body::Whole(body.into()),
        }
    }

    /// The object in a whole answer that a handler wrote.
    pub(super) fn object(&self) -> Result<Object, Status> {
        let broken = || Status::internal_error("the answer cannot be read");
        let Body::Whole(body) = &self.body else {
            return Err(broken());
        };
        let decoded = json::decode(&body.joined()).map_err(|_| broken())?;
        Object::from_value(decoded.value).map_err(|_| broken())
    }

    /// 201 with a body.
    pub fn created(body: impl Into<Whole>) -> Self {
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

impl From<WriteAnswer> for Answer {
    fn from(written: WriteAnswer) -> Self {
        Self {
            code: written.code,
            ..Self::ok(written.body)
        }
    }
}
