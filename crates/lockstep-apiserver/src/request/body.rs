//! Request bodies: read whole up to a limit, or drained so that the connection can be reused.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::budget::Reservation;
use crate::limits::{BODY_BYTES_MAX, BODY_DRAIN_BYTES_MAX};

/// Error reading a request body.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The body exceeds the limit.
    #[error("the body is larger than {bytes_max} bytes")]
    TooLarge {
        /// The limit.
        bytes_max: usize,
    },
    /// The body ended early or its framing is invalid.
    #[error("the body could not be read: {0}")]
    Broken(#[from] hyper::Error),
}

/// Incoming body.
#[derive(Debug)]
pub struct RequestBody {
    incoming: Incoming,
    waits_for_continue: bool,
    started: bool,
    /// Result of [`RequestBody::receive`], until it is read.
    received: Option<Result<Bytes, BodyError>>,
    /// Part of the server's budget, until the request is answered.
    reserved: Option<Reservation>,
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
            received: None,
            reserved: None,
            copy: None,
            keep_copy: false,
        }
    }

    /// Reads the whole body. A second call returns an empty body.
    pub async fn read(&mut self) -> Result<Bytes, BodyError> {
        match self.received.take() {
            Some(received) => received,
            None => self.incoming().await,
        }
    }

    /// Bytes that the body may take; none if there is no body to receive.
    pub(crate) fn announced(&self) -> Option<usize> {
        if self.incoming.is_end_stream() {
            return None;
        }
        let size = self.incoming.size_hint();
        if size.lower() > BODY_BYTES_MAX as u64 {
            return None;
        }
        let most = size.upper().and_then(|most| usize::try_from(most).ok());
        Some(most.unwrap_or(BODY_BYTES_MAX).min(BODY_BYTES_MAX))
    }

    /// Size of the body that was received ahead; 0 if none was.
    pub(crate) fn received_bytes(&self) -> usize {
        self.peek().len()
    }

    /// The body that was received ahead; empty if none was.
    pub(crate) fn peek(&self) -> &[u8] {
        let received = self.received.as_ref();
        received.map_or(&[], |received| received.as_deref().unwrap_or_default())
    }

    /// True if no more of the body is to come.
    pub(crate) fn is_received(&self) -> bool {
        self.incoming.is_end_stream()
    }

    /// Receives the whole body ahead of [`RequestBody::read`], so that a slow client holds nothing but its reservation.
    pub(crate) async fn receive(&mut self, reserved: Option<Reservation>) {
        self.reserved = reserved;
        self.received = Some(self.incoming().await);
    }

    async fn incoming(&mut self) -> Result<Bytes, BodyError> {
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

    /// Keeps a copy of the body for the audit log.
    pub(crate) fn keep_copy(&mut self) {
        self.keep_copy = true;
    }

    /// The copy, if one was requested.
    pub(crate) fn take_copy(&mut self) -> Option<Bytes> {
        self.copy.take()
    }

    /// Reads the rest, so that the connection can carry the next request. False if the connection has to be closed, as
    /// for a client that still waits for `100 Continue`.
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

/// Body chunks. Most bodies arrive as a single chunk, which is not copied.
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
