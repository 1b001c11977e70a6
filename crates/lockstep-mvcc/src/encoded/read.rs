//! Decoder of commands.

use super::{COMPARISONS, CONTENTS, PREVIOUS, TARGETS};
use crate::reader::{Malformed, Reader};
use crate::{
    Bounds, Command, Compare, DeleteRange, Key, KeyRange, Op, Predicate, Put, PutLease, PutValue,
    Range, Revision, Sort, SortOrder, TXN_DEPTH_MAX, Txn,
};

impl Command {
    /// Decodes [`Command::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes, 0);
        let command = match reader.byte()? {
            b'p' => Self::Put(reader.put()?),
            b'd' => Self::DeleteRange(reader.delete()?),
            b't' => {
                let checked = reader.txn(TXN_DEPTH_MAX)?.check(usize::MAX);
                Self::Txn(checked.map_err(|_| reader.malformed("a transaction is not allowed"))?)
            }
            b'c' => Self::Compact {
                at: reader.unsigned().map(Revision)?,
            },
            b'g' => Self::LeaseGrant {
                id: reader.lease()?,
                ttl_seconds: reader.signed()?,
            },
            b'r' => Self::LeaseRevoke {
                id: reader.lease()?,
            },
            b'a' => Self::Alarm {
                is_raised: reader.choice(&[false, true])?,
                alarm: reader.alarm()?,
            },
            _ => return Err(reader.malformed("unknown command")),
        };
        reader.finish()?;
        Ok(command)
    }
}

impl Reader<'_> {
    fn unsigned(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    fn choice<T: Copy>(&mut self, all: &[T]) -> Result<T, Malformed> {
        let place = usize::from(self.byte()?);
        let chosen = all.get(place).copied();
        chosen.ok_or_else(|| self.malformed("an unknown choice"))
    }

    /// Decodes a list; memory grows with the entries read, because the length is untrusted.
    fn list<T>(
        &mut self,
        mut entry: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        (0..self.length()?).map(|_| entry(self)).collect()
    }

    fn keys(&mut self) -> Result<KeyRange, Malformed> {
        let keys = KeyRange::from_wire(self.bytes()?, self.bytes()?);
        keys.map_err(|_| self.malformed("a key is empty"))
    }

    fn put(&mut self) -> Result<Put, Malformed> {
        Ok(Put {
            key: Key::new(self.bytes()?).map_err(|_| self.malformed("a key is empty"))?,
            value: match self.byte()? {
                b'=' => PutValue::Set(self.bytes()?),
                b'k' => PutValue::Keep,
                _ => return Err(self.malformed("an unknown choice")),
            },
            lease: match self.byte()? {
                b'=' => PutLease::Set(self.lease()?),
                b'k' => PutLease::Keep,
                _ => return Err(self.malformed("an unknown choice")),
            },
            previous: self.choice(&PREVIOUS)?,
        })
    }

    fn delete(&mut self) -> Result<DeleteRange, Malformed> {
        Ok(DeleteRange {
            keys: self.keys()?,
            previous: self.choice(&PREVIOUS)?,
        })
    }

    fn txn(&mut self, depth_left: usize) -> Result<Txn, Malformed> {
        Ok(Txn {
            compares: self.list(Self::compare)?,
            success: self.list(|reader| reader.op(depth_left))?,
            failure: self.list(|reader| reader.op(depth_left))?,
        })
    }

    fn op(&mut self, depth_left: usize) -> Result<Op, Malformed> {
        Ok(match self.byte()? {
            b'r' => Op::Range(self.range()?),
            b'p' => Op::Put(self.put()?),
            b'd' => Op::DeleteRange(self.delete()?),
            b't' => {
                let left = depth_left.checked_sub(1);
                let left = left.ok_or_else(|| self.malformed("nested too deeply"))?;
                Op::Txn(self.txn(left)?)
            }
            _ => return Err(self.malformed("unknown operation")),
        })
    }

    fn compare(&mut self) -> Result<Compare, Malformed> {
        Ok(Compare {
            keys: self.keys()?,
            comparison: self.choice(&COMPARISONS)?,
            predicate: match self.byte()? {
                b'v' => Predicate::Version(self.signed()?),
                b'c' => Predicate::CreateRevision(self.signed()?),
                b'm' => Predicate::ModRevision(self.signed()?),
                b'l' => Predicate::Lease(self.lease()?),
                b'=' => Predicate::Value(self.bytes()?),
                _ => return Err(self.malformed("an unknown choice")),
            },
        })
    }

    fn range(&mut self) -> Result<Range, Malformed> {
        Ok(Range {
            keys: self.keys()?,
            at: match (self.byte()?, self.unsigned()?) {
                (0, 0) => None,
                (1, at) => Some(Revision(at)),
                _ => return Err(self.malformed("an unknown choice")),
            },
            limit: usize::try_from(self.unsigned()?).unwrap_or(usize::MAX),
            sort: match self.byte()? {
                0 => None,
                1 => Some(self.sort(SortOrder::Ascend)?),
                2 => Some(self.sort(SortOrder::Descend)?),
                _ => return Err(self.malformed("an unknown choice")),
            },
            content: self.choice(&CONTENTS)?,
            mod_revisions: self.bounds()?,
            create_revisions: self.bounds()?,
        })
    }

    fn sort(&mut self, order: SortOrder) -> Result<Sort, Malformed> {
        let target = self.choice(&TARGETS)?;
        Ok(Sort { target, order })
    }

    fn bounds(&mut self) -> Result<Bounds, Malformed> {
        Ok(Bounds {
            min: self.unsigned().map(Revision)?,
            max: self.unsigned().map(Revision)?,
        })
    }
}
