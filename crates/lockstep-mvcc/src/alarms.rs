//! Alarms, as in etcd: cluster-wide conditions that restrict writes.

use std::collections::BTreeSet;

use crate::{Command, Op, Txn, WriteError};

/// Id of a member, a process that holds a replica of the store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct MemberId(pub u64);

/// Kind of an alarm, as in etcd.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AlarmKind {
    /// A member is out of space. Commands that need space are rejected.
    NoSpace,
    /// The members' data differ. All commands are rejected.
    Corrupt,
}

impl AlarmKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::NoSpace, Self::Corrupt];

    /// The encoding of the kind in files.
    pub fn number(self) -> u8 {
        match self {
            Self::NoSpace => 1,
            Self::Corrupt => 2,
        }
    }

    /// Decodes [`AlarmKind::number`].
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }
}

/// An alarm raised by a member.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Alarm {
    /// The member.
    pub member: MemberId,
    /// The kind.
    pub kind: AlarmKind,
}

/// The raised alarms. Only commands change them, so every member rejects the same writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alarms(BTreeSet<Alarm>);

impl Alarms {
    /// Returns true if the alarm was not raised before.
    pub(crate) fn raise(&mut self, alarm: Alarm) -> bool {
        self.0.insert(alarm)
    }

    /// Returns true if the alarm was raised before.
    pub(crate) fn clear(&mut self, alarm: Alarm) -> bool {
        self.0.remove(&alarm)
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = Alarm> {
        self.0.iter().copied()
    }

    pub(crate) fn allow(&self, command: &Command) -> Result<(), WriteError> {
        if self.0.is_empty() || matches!(command, Command::Alarm { .. }) {
            return Ok(());
        }
        if self.0.iter().any(|alarm| alarm.kind == AlarmKind::Corrupt) {
            return Err(WriteError::Corrupt);
        }
        if needs_room(command) {
            return Err(WriteError::NoSpace);
        }
        Ok(())
    }
}

fn needs_room(command: &Command) -> bool {
    match command {
        Command::Put(_) | Command::LeaseGrant { .. } => true,
        Command::Txn(txn) => may_put(txn.txn()),
        Command::DeleteRange(_)
        | Command::Compact { .. }
        | Command::LeaseRevoke { .. }
        | Command::Alarm { .. } => false,
    }
}

fn may_put(txn: &Txn) -> bool {
    let mut ops = txn.success.iter().chain(&txn.failure);
    ops.any(|op| match op {
        Op::Put(_) => true,
        Op::Range(_) | Op::DeleteRange(_) => false,
        Op::Txn(nested) => may_put(nested),
    })
}

#[cfg(test)]
mod tests {
    use crate::{
        Alarm, AlarmKind, Command, DeleteRange, Key, KeyRange, LeaseId, Machine, MemberId, Put,
        Revision, Txn, WriteError,
    };

    fn alarm(kind: AlarmKind, is_raised: bool) -> Command {
        let member = MemberId(7);
        let alarm = Alarm { member, kind };
        Command::Alarm { alarm, is_raised }
    }

    fn commands() -> [(&'static str, Command); 6] {
        let put = Put::new(Key::new("k").unwrap(), "v");
        let keys = KeyRange::single(Key::new("k").unwrap());
        let txn = |success| {
            let txn = Txn {
                failure: vec![crate::Op::Txn(Txn {
                    success,
                    ..Txn::default()
                })],
                ..Txn::default()
            };
            Command::Txn(txn.check(9).unwrap())
        };
        let (id, ttl_seconds) = (LeaseId(5), 9);
        [
            ("put", Command::Put(put.clone())),
            ("txn with a put in it", txn(vec![crate::Op::Put(put)])),
            ("grant", Command::LeaseGrant { id, ttl_seconds }),
            ("txn without a put", txn(Vec::new())),
            ("delete", Command::DeleteRange(DeleteRange::new(keys))),
            ("compact", Command::Compact { at: Revision(1) }),
        ]
    }

    fn refused(kind: AlarmKind, error: WriteError) -> Vec<&'static str> {
        let mut machine = Machine::default();
        machine.apply(alarm(kind, true));
        let refused = commands()
            .into_iter()
            .filter(|(_, command)| machine.apply(command.clone()).response == Err(error));
        refused.map(|(name, _)| name).collect()
    }

    #[test]
    fn without_room_nothing_that_needs_room_is_accepted() {
        // etcd-api.md §8/quota.
        let refused = refused(AlarmKind::NoSpace, WriteError::NoSpace);
        assert_eq!(refused, ["put", "txn with a put in it", "grant"]);
    }

    #[test]
    fn a_corrupt_store_accepts_nothing() {
        // etcd-api.md §8/corrupt.
        let refused = refused(AlarmKind::Corrupt, WriteError::Corrupt);
        let all: Vec<_> = commands().into_iter().map(|(name, _)| name).collect();
        assert_eq!(refused, all);
    }

    #[test]
    fn an_alarm_stays_until_it_is_cleared_and_comes_back_from_the_bytes() {
        let mut machine = Machine::default();
        machine.apply(alarm(AlarmKind::NoSpace, true));
        let mut machine = Machine::decode(&machine.encode()).unwrap();
        let raised = Alarm {
            member: MemberId(7),
            kind: AlarmKind::NoSpace,
        };
        assert_eq!(machine.alarms().collect::<Vec<_>>(), [raised]);
        machine.apply(alarm(AlarmKind::NoSpace, false));
        assert_eq!(machine.encode(), Machine::default().encode());
    }
}
