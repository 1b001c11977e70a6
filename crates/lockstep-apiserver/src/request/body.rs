//! The body of a request: read whole up to a limit, or read past so that the connection survives.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::limits::{BODY_BYTES_MAX, BODY_DRAIN_BYTES_MAX};

/// Why a body cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// It is larger than the limit.
    #[error("the body is larger than {bytes_max} bytes")]
    TooLarge {
        /// The limit.
        bytes_max: usize,
    },
    /// It ended too early, or was not what its framing said.
    #[error("the body could not be read: {0}")]
    Broken(#[from] hyper::Error),
}

/// A body that arrives.
#[derive(Debug)]
pub struct RequestBody {
    incoming: Incoming,
    waits_for_continue: bool,
    started: bool,
    copy: Option<Bytes>,
    keep_copy: bool,
}

impl RequestBody {
    pub(crate) fn new(incoming: Incoming, headers: &HeaderMap) -> Self {
        let expect = headers.get(http::header::EXPECT);
        Self {
            incoming,
            waits_for_continue: expect.is_some(),
            started: false,
            copy: None,
            keep_copy: false,
        }
    }

    /// Reads the whole body. A second call has nothing left to read and answers with nothing.
    pub async fn read(&mut self) -> Result<Bytes, BodyError> {
        let too_large = BodyError::TooLarge {
            bytes_max: BODY_BYTES_MAX,
        };
        if self.incoming.size_hint().lower() > BODY_BYTES_MAX as u64 {
            return Err(too_large);
        }
        self.started = true;
        let mut whole = Parts::Nothing;
        while let Some(frame) = self.incoming.frame().await {
            let Ok(data) = frame?.into_data() else {
                continue;
            };
            if whole.len() + data.len() > BODY_BYTES_MAX {
                return Err(too_large);
            }
            whole = whole.and(data);
        }
        let whole = whole.join();
        if self.keep_copy {
            self.copy = Some(whole.clone());
        }
        Ok(whole)
    }

    /// Keeps what is read for the audit log.
    pub(crate) fn keep_copy(&mut self) {
        self.keep_copy = true;
    }

    /// What was read, if it was to be kept.
    pub(crate) fn take_copy(&mut self) -> Option<Bytes> {
        self.copy.take()
    }

    /// Reads what is left, so that the next request on the connection can be understood. Tells
    /// whether that worked; a client that still waits to be asked for its body is not asked.
    pub(crate) async fn drain(&mut self) -> bool {
        if self.incoming.is_end_stream() {
            return true;
        }
        if self.waits_for_continue && !self.started {
            return false;
        }
        let mut drained = 0;
        while let Some(frame) = self.incoming.frame().await {
            let Ok(frame) = frame else {
                return false;
            };
            drained += frame.data_ref().map_or(0, Bytes::len);
            if drained > BODY_DRAIN_BYTES_MAX {
                return false;
            }
        }
        true
    }
}

/// A body in the making; most come in one piece, which is then not copied.
enum Parts {
    Nothing,
    One(Bytes),
    Many(BytesMut),
}

impl Parts {
    fn len(&self) -> usize {
        match self {
            Parts::Nothing => 0,
            Parts::One(bytes) => bytes.len(),
            Parts::Many(bytes) => bytes.len(),
        }
    }

    fn and(self, data: Bytes) -> Self {
        match self {
            Parts::Nothing => Parts::One(data),
            Parts::One(first) => {
                let mut many = BytesMut::with_capacity(2 * (first.len() + data.len()));
                many.extend_from_slice(&first);
                many.extend_from_slice(&data);
                Parts::Many(many)
            }
            Parts::Many(mut many) => {
                many.extend_from_slice(&data);
                Parts::Many(many)
            }
        }
    }

    fn join(self) -> Bytes {
        match self {
            Parts::Nothing => Bytes::new(),
            Parts::One(bytes) => bytes,
            Parts::Many(bytes) => bytes.freeze(),
        }
    }
}
