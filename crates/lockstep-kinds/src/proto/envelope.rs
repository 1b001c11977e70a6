//! The Kubernetes protobuf envelope: a four-byte magic number and `runtime.Unknown`.

use super::DecodeError;
use super::wire::{Payload, next, put_bytes};

/// The first bytes of everything that is sent as protobuf.
pub const MAGIC: [u8; 4] = *b"k8s\0";

/// A message with its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// `apps/v1`; may be empty.
    pub api_version: &'a str,
    /// `Deployment`; may be empty.
    pub kind: &'a str,
    /// The message.
    pub raw: &'a [u8],
}

/// Errors of decoding an envelope.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EnvelopeError {
    /// Nothing at all.
    #[error("empty data")]
    Empty,
    /// It begins with other bytes than [`MAGIC`].
    #[error(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    )]
    Prefix,
    /// The payload does not decode, or its kind is not a string.
    #[error("{0}")]
    Message(#[from] DecodeError),
}

impl<'a> Envelope<'a> {
    /// Takes a message out.
    pub fn open(bytes: &'a [u8]) -> Result<Self, EnvelopeError> {
        if bytes.is_empty() {
            return Err(EnvelopeError::Empty);
        }
        let mut rest = bytes.strip_prefix(&MAGIC).ok_or(EnvelopeError::Prefix)?;
        let mut envelope = Self {
            api_version: "",
            kind: "",
            raw: &[],
        };
        while let Some((tag, payload)) = next(&mut rest, |tag| matches!(tag, 1 | 2))? {
            let bytes = delimited(payload)?;
            match tag {
                1 => envelope.type_meta(bytes)?,
                _ => envelope.raw = bytes,
            }
        }
        Ok(envelope)
    }

    fn type_meta(&mut self, mut bytes: &'a [u8]) -> Result<(), EnvelopeError> {
        while let Some((tag, payload)) = next(&mut bytes, |tag| matches!(tag, 1 | 2))? {
            let text =
                std::str::from_utf8(delimited(payload)?).map_err(|_| DecodeError::Truncated)?;
            match tag {
                1 => self.api_version = text,
                _ => self.kind = text,
            }
        }
        Ok(())
    }
}

fn delimited(payload: Payload<'_>) -> Result<&[u8], DecodeError> {
    match payload {
        Payload::Bytes(bytes) => Ok(bytes),
        _ => Err(DecodeError::WireType {
            found: payload.wire_type(),
            field: "TypeMeta",
        }),
    }
}

/// Puts a message in.
pub fn wrap(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let mut type_meta = Vec::new();
    put_bytes(1, api_version.as_bytes(), &mut type_meta);
    put_bytes(2, kind.as_bytes(), &mut type_meta);
    let mut bytes = Vec::with_capacity(raw.len() + type_meta.len() + 24);
    bytes.extend_from_slice(&MAGIC);
    put_bytes(1, &type_meta, &mut bytes);
    put_bytes(2, raw, &mut bytes);
    put_bytes(3, b"", &mut bytes);
    put_bytes(4, b"", &mut bytes);
    bytes
}
