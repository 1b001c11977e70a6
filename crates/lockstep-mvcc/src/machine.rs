//! The state machine: state, commands and outcomes.

use std::sync::Arc;

use crate::alarms::Alarms;
use crate::history::History;
use crate::index::Index;
use crate::leases::Leases;
use crate::write::Write;
use crate::{
    Alarm, Applied, Command, Effect, KeyValue, Lease, LeaseId, ReadError, Response, Revision,
    WriteError,
};

/// The whole state of a store. The crate documentation states its guarantees.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) revision: Revision,
    /// INVARIANT: at most `revision`.
    pub(crate) compacted: Revision,
    /// The compacted revision up to which memory was reclaimed; at most `compacted`.
    pub(crate) swept: Revision,
    pub(crate) index: Index,
    pub(crate) history: History,
    pub(crate) leases: Leases,
    pub(crate) alarms: Alarms,
}

impl Default for Machine {
    /// An empty store, at revision 1.
    fn default() -> Self {
        Self {
            revision: Revision::FIRST,
            compacted: Revision::NONE,
            swept: Revision::NONE,
            index: Index::default(),
            history: History::default(),
            leases: Leases::default(),
            alarms: Alarms::default(),
        }
    }
}

impl Machine {
    /// Applies one command completely or not at all.
    ///
    /// Deterministic: equal states and commands give equal outcomes on every member. Never panics on a command.
    pub fn apply(&mut self, command: Command) -> Applied {
        let allowed = self.alarms.allow(&command);
        let outcome = allowed.and_then(|()| self.carry_out(command));
        let (response, effect) = match outcome {
            Ok((response, effect)) => (Ok(response), effect),
            Err(error) => (Err(error), Effect::None),
        };
        Applied {
            revision: self.revision,
            response,
            effect,
        }
    }

    fn carry_out(&mut self, command: Command) -> Result<(Response, Effect), WriteError> {
        match command {
            Command::Put(put) => self.write(|write| write.command_put(put)),
            Command::DeleteRange(delete) => {
                self.write(|write| Ok(Response::DeleteRange(write.delete_range(&delete))))
            }
            Command::Txn(txn) => self.write(|write| write.command_txn(txn.into_txn())),
            Command::Compact { at } => self.compact(at),
            Command::LeaseGrant { id, ttl_seconds } => self.grant(id, ttl_seconds),
            Command::LeaseRevoke { id } => self.revoke(id),
            Command::Alarm { alarm, is_raised } => Ok(self.alarm(alarm, is_raised)),
        }
    }

    /// The revision of the last change.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The oldest revision that can be read; [`Revision::NONE`] before the first compaction.
    pub fn compacted(&self) -> Revision {
        self.compacted
    }

    /// Versions created at a revision, in sub-revision order; empty if the revision is not retained.
    pub fn changes(&self, revision: Revision) -> impl Iterator<Item = &Arc<KeyValue>> {
        self.history
            .since(revision)
            .map(|change| &change.kv)
            .take_while(move |kv| kv.mod_revision == revision)
    }

    /// A lease by its id.
    pub fn lease(&self, id: LeaseId) -> Option<&Lease> {
        self.leases.get(id)
    }

    /// All leases in the order of their ids.
    pub fn leases(&self) -> impl ExactSizeIterator<Item = (LeaseId, &Lease)> {
        self.leases.iter()
    }

    /// The raised alarms, in the order of members.
    pub fn alarms(&self) -> impl ExactSizeIterator<Item = Alarm> {
        self.alarms.iter()
    }

    fn alarm(&mut self, alarm: Alarm, is_raised: bool) -> (Response, Effect) {
        let is_changed = if is_raised {
            self.alarms.raise(alarm)
        } else {
            self.alarms.clear(alarm)
        };
        let effect = if is_changed {
            Effect::AlarmChanged { alarm, is_raised }
        } else {
            Effect::None
        };
        (Response::Alarm, effect)
    }

    fn write<E>(
        &mut self,
        run: impl FnOnce(&mut Write<'_>) -> Result<Response, E>,
    ) -> Result<(Response, Effect), E> {
        let mut write = Write::new(self);
        let response = run(&mut write)?;
        let effect = match write.commit() {
            Some(revision) => Effect::Changed { revision },
            None => Effect::None,
        };
        Ok((response, effect))
    }

    fn compact(&mut self, at: Revision) -> Result<(Response, Effect), WriteError> {
        let (compacted, current) = (self.compacted, self.revision);
        if at <= compacted {
            return Err(ReadError::Compacted { compacted }.into());
        }
        if at > current {
            return Err(ReadError::FutureRevision { current }.into());
        }
        self.compacted = at;
        Ok((Response::Compact, Effect::Compacted { at }))
    }

    fn grant(&mut self, id: LeaseId, ttl_seconds: i64) -> Result<(Response, Effect), WriteError> {
        self.leases.grant(id, ttl_seconds)?;
        let response = Response::LeaseGrant { ttl_seconds };
        Ok((response, Effect::LeaseGranted { id, ttl_seconds }))
    }

    fn revoke(&mut self, id: LeaseId) -> Result<(Response, Effect), WriteError> {
        let keys = self.leases.remove(id)?;
        let mut write = Write::new(self);
        for key in keys {
            write.delete(&key);
        }
        let changed = write.commit();
        Ok((Response::LeaseRevoke, Effect::LeaseRevoked { id, changed }))
    }
}
