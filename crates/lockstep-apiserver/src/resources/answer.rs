//! Response of a handler, before encoding for the wire.

use lockstep_object::{ApiError, Object, json};

use super::watch::WatchStream;
use crate::whole::Whole;
use lockstep_write::WriteAnswer;

/// Response to a request.
pub struct Answer {
    /// The HTTP status code.
    pub code: u16,
    /// The body.
    pub body: Body,
}

/// Body of a response; always JSON at this stage.
pub enum Body {
    /// Complete body.
    Whole(Whole),
    /// Stream of watch events.
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

    /// Parses the object of a complete body.
    pub(super) fn object(&self) -> Result<Object, ApiError> {
        let broken = || ApiError::internal("the answer cannot be read");
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

impl From<WriteAnswer> for Answer {
    fn from(written: WriteAnswer) -> Self {
        Self {
            code: written.code,
            ..Self::ok(written.body)
        }
    }
}
