//! Taking binary formats apart.

use bytes::Bytes;

use crate::{Alarm, AlarmKind, KeyValue, LeaseId, MemberId, Revision};

/// Bytes break a rule of their format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("malformed at byte {offset}: {what}")]
pub struct Malformed {
    /// Where.
    pub offset: usize,
    /// Which rule.
    pub what: &'static str,
}

/// Numbers above this are refused: half of their range stays free, so counting on never overflows.
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

    /// Refuses bytes that nobody has read.
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

    /// Copied, since a slice would hold on to all of the input as long as it lives.
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
