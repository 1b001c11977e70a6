//! Cursor for decoding binary formats.

use bytes::Bytes;

use crate::{Alarm, AlarmKind, KeyValue, LeaseId, MemberId, Revision};

/// The bytes violate their format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("malformed at byte {offset}: {what}")]
pub struct Malformed {
    /// Offset of the violation.
    pub offset: usize,
    /// The violated rule.
    pub what: &'static str,
}

/// Upper bound of decoded numbers, so that later increments never overflow.
const NUMBER_MAX: u64 = 1 << 62;

pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self { bytes, offset }
    }

    pub(crate) fn malformed(&self, what: &'static str) -> Malformed {
        let offset = self.offset;
        Malformed { offset, what }
    }

    /// Fails if there are trailing bytes.
    pub(crate) fn finish(self) -> Result<(), Malformed> {
        if self.offset < self.bytes.len() {
            return Err(self.malformed("bytes behind the end"));
        }
        Ok(())
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        let taken = rest
            .get(..length)
            .ok_or_else(|| self.malformed("an entry is cut short"))?;
        self.offset += length;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn length(&mut self) -> Result<usize, Malformed> {
        let length = u32::from_le_bytes(self.array()?);
        usize::try_from(length).map_err(|_| self.malformed("a length is too large"))
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Malformed> {
        self.array().map(i64::from_le_bytes)
    }

    pub(crate) fn lease(&mut self) -> Result<LeaseId, Malformed> {
        self.signed().map(LeaseId)
    }

    fn number(&mut self) -> Result<u64, Malformed> {
        let number = u64::from_le_bytes(self.array()?);
        if number > NUMBER_MAX {
            return Err(self.malformed("a number is too large"));
        }
        Ok(number)
    }

    pub(crate) fn revision(&mut self) -> Result<Revision, Malformed> {
        self.number().map(Revision)
    }

    /// Copies the bytes, because a slice would keep the whole input alive.
    pub(crate) fn bytes(&mut self) -> Result<Bytes, Malformed> {
        let length = self.length()?;
        self.take(length).map(Bytes::copy_from_slice)
    }

    pub(crate) fn alarm(&mut self) -> Result<Alarm, Malformed> {
        let member = MemberId(u64::from_le_bytes(self.array()?));
        let kind = AlarmKind::of_number(self.byte()?);
        let kind = kind.ok_or_else(|| self.malformed("an unknown alarm"))?;
        Ok(Alarm { member, kind })
    }

    pub(crate) fn pair(&mut self) -> Result<KeyValue, Malformed> {
        let kv = KeyValue {
            key: self.bytes()?,
            value: self.bytes()?,
            create_revision: self.revision()?,
            mod_revision: self.revision()?,
            sub_revision: u32::from_le_bytes(self.array()?),
            version: self.number()?,
            lease: self.lease()?,
        };
        if kv.key.is_empty() {
            return Err(self.malformed("a key is empty"));
        }
        Ok(kv)
    }
}
