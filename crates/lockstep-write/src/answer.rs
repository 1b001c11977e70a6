//! Result of a write.

use lockstep_object::{ApiError, Object, Status, Success, json};

/// Status code and JSON body of a finished write.
#[derive(Clone, Debug)]
pub struct WriteAnswer {
    /// HTTP-like status code.
    pub code: u16,
    /// JSON of the object, or of a `Status`.
    pub body: Vec<u8>,
}

impl WriteAnswer {
    /// 200 with a body.
    pub fn ok(body: Vec<u8>) -> Self {
        Self { code: 200, body }
    }

    /// 201 with a body.
    pub fn created(body: Vec<u8>) -> Self {
        Self { code: 201, body }
    }

    /// Parses the object in the body.
    pub fn object(&self) -> Result<Object, ApiError> {
        let broken = || ApiError::internal("the answer cannot be read");
        let decoded = json::decode(&self.body).map_err(|_| broken())?;
        Object::from_value(decoded.value).map_err(|_| broken())
    }
}

impl From<&Success> for WriteAnswer {
    fn from(success: &Success) -> Self {
        let status = Status::from(success);
        Self {
            code: status.code,
            body: json::encode(&status.to_value()),
        }
    }
}
