//! Decoder of the canonical encoding.

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::{CHECKSUM_BYTES, FORMAT, MAGIC, TAG_ALARM, TAG_CHANGE, TAG_END, TAG_KEPT, TAG_LEASE};
use crate::Machine;
use crate::reader::{Malformed, Reader};
use crate::restore::Restore;

/// Errors of [`Machine::decode`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// The magic bytes are missing.
    #[error("not the state of a store")]
    NotAState,
    /// The format version is unknown to this program.
    #[error("state format {found} is unknown, this program reads format {FORMAT}")]
    UnknownFormat {
        /// The format version found.
        found: u32,
    },
    /// The checksum does not match: the bytes are truncated or modified.
    #[error("the checksum of the state does not match")]
    Checksum,
    /// The checksum matches, but the content violates the format.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

impl Machine {
    /// Decodes [`Machine::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = open(bytes)?;
        let (revision, compacted) = (reader.revision()?, reader.revision()?);
        let restore = Restore::begin(revision, compacted);
        let mut restore = restore.map_err(|what| reader.malformed(what))?;
        let mut last_kept = Bytes::new();
        loop {
            let restored = match reader.byte()? {
                TAG_LEASE => {
                    let (id, ttl_seconds) = (reader.lease()?, reader.signed()?);
                    restore.lease(id, ttl_seconds)
                }
                TAG_ALARM => restore.alarm(reader.alarm()?),
                TAG_KEPT => {
                    let kv = reader.pair()?;
                    let in_order = kv.key > last_kept;
                    last_kept = kv.key.clone();
                    let kept = restore.retained(kv);
                    kept.and_then(|()| in_order.then_some(()).ok_or("keys are not in order"))
                }
                TAG_CHANGE => restore.change(reader.pair()?),
                TAG_END => break,
                _ => Err("unknown entry"),
            };
            restored.map_err(|what| reader.malformed(what))?;
        }
        reader.finish()?;
        Ok(restore.finish())
    }
}

/// Checks magic, format version and checksum.
fn open(bytes: &[u8]) -> Result<Reader<'_>, DecodeError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(DecodeError::NotAState)?;
    let (format, _) = rest.split_first_chunk().ok_or(DecodeError::NotAState)?;
    let found = u32::from_le_bytes(*format);
    if found != FORMAT {
        return Err(DecodeError::UnknownFormat { found });
    }
    let split = bytes.split_last_chunk::<CHECKSUM_BYTES>();
    let (body, checksum) = split.ok_or(DecodeError::Checksum)?;
    if Sha256::digest(body).as_slice() != checksum {
        return Err(DecodeError::Checksum);
    }
    Ok(Reader::new(body, MAGIC.len() + size_of::<u32>()))
}
