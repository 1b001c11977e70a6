//! Rebuilding a machine from its persisted parts.

use std::sync::Arc;

use crate::history::Change;
use crate::index::Record;
use crate::{Alarm, KeyValue, LeaseId, Machine, Revision};

/// The violated rule of a persisted state.
pub(crate) type Broken = &'static str;

/// Builder of a machine: leases and alarms first, then versions older than the compaction, then all changes since.
pub struct Restore {
    machine: Machine,
    stage: Stage,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Leases,
    Retained,
    Changes { last: (Revision, u32) },
}

impl Restore {
    /// Starts a machine at its revisions.
    pub fn begin(revision: Revision, compacted: Revision) -> Result<Self, Broken> {
        if compacted > revision || revision < Revision::FIRST {
            return Err("the revisions contradict each other");
        }
        let machine = Machine {
            revision,
            compacted,
            swept: compacted,
            ..Machine::default()
        };
        let stage = Stage::Leases;
        Ok(Self { machine, stage })
    }

    /// Adds a lease, in the order of ids.
    pub fn lease(&mut self, id: LeaseId, ttl_seconds: i64) -> Result<(), Broken> {
        let in_order = self.stage == Stage::Leases && self.machine.leases.last_id() < Some(id);
        if !in_order || self.machine.leases.grant(id, ttl_seconds).is_err() {
            return Err("leases are not in order");
        }
        Ok(())
    }

    /// Adds an alarm, in order, after the leases.
    pub fn alarm(&mut self, alarm: Alarm) -> Result<(), Broken> {
        let last = self.machine.alarms.iter().last();
        if self.stage != Stage::Leases || last >= Some(alarm) {
            return Err("alarms are not in order");
        }
        self.machine.alarms.raise(alarm);
        Ok(())
    }

    /// Adds the one version of a key that is older than the compaction.
    pub fn retained(&mut self, kv: KeyValue) -> Result<(), Broken> {
        if self.stage > Stage::Retained {
            return Err("keys are not in order");
        }
        if kv.is_tombstone() || kv.mod_revision >= self.machine.compacted {
            return Err("a kept pair is not older than the compaction");
        }
        if self.machine.index.find(&kv.key).is_ok() {
            return Err("a key is kept twice");
        }
        self.stage = Stage::Retained;
        self.restore(Arc::new(kv));
        Ok(())
    }

    /// Adds a change at or after the compaction, in revision order.
    pub fn change(&mut self, kv: KeyValue) -> Result<(), Broken> {
        let at = (kv.mod_revision, kv.sub_revision);
        let is_after = match self.stage {
            Stage::Changes { last } => at > last,
            Stage::Leases | Stage::Retained => true,
        };
        let Machine {
            revision,
            compacted,
            ..
        } = self.machine;
        if !is_after || kv.mod_revision < compacted || kv.mod_revision > revision {
            return Err("changes are not in order");
        }
        self.stage = Stage::Changes { last: at };
        let kv = Arc::new(kv);
        let record = self.machine.index.get(&kv.key);
        let previous = record.and_then(Record::live).cloned();
        self.machine.history.push(Change {
            kv: kv.clone(),
            previous: previous.filter(|_| kv.mod_revision > compacted),
        });
        self.restore(kv);
        Ok(())
    }

    /// Completes the machine.
    pub fn finish(self) -> Machine {
        self.machine
    }

    /// Makes a version the newest of its key.
    fn restore(&mut self, kv: Arc<KeyValue>) {
        let Machine { index, leases, .. } = &mut self.machine;
        let found = index.find(&kv.key);
        let before = found.map(|place| index.record(place).latest().lease);
        leases.transfer(&kv.key, before.unwrap_or_default(), kv.lease);
        match found {
            Ok(place) => index.change(place, |record| record.push(kv)),
            // A delete at the compacted revision is only in the history, not in the index.
            Err(_) if kv.is_tombstone() => {}
            Err(place) => index.insert(place, Record::new(kv)),
        }
    }
}
