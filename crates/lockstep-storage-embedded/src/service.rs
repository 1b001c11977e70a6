//! What a server for others needs of the store, besides the contract.

use std::io;
use std::sync::atomic::Ordering;

use lockstep_mvcc::{Command, LeaseId, Machine};
use lockstep_storage::{LeaseStatus, Unavailable, WriteFailure};
use tokio::sync::oneshot;

use crate::EmbeddedStore;
use crate::histogram::Histogram;
use crate::keeper::{Errand, Pack};
use crate::queue::{Done, Request};
use crate::state::STATE_FILE;

/// How large a store is on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateSize {
    /// The length of the state's file.
    pub file_bytes: u64,
    /// How much of it is rows; the rest is structure, and space that can be used again.
    pub row_bytes: u64,
}

impl EmbeddedStore {
    /// Carries out exactly this command. Limits are the caller's to check.
    pub async fn propose(&self, command: Command) -> Result<Done, WriteFailure> {
        self.queue.send(Request::Command(command)).await
    }

    /// [`Store::keep_lease_alive`](lockstep_storage::Store::keep_lease_alive) without waiting.
    pub fn renew_lease(&self, id: LeaseId) -> Option<i64> {
        self.live().keep_lease_alive(id, self.clock.now())
    }

    /// [`Store::lease`](lockstep_storage::Store::lease) without waiting.
    pub fn lease_status(&self, id: LeaseId) -> Option<LeaseStatus> {
        self.live().lease(id, self.clock.now())
    }

    /// The index of the last command that was applied.
    pub fn applied_index(&self) -> u64 {
        self.keeper.seen()
    }

    /// Waits until the state has everything that was applied before the call, and has forgotten
    /// what was compacted before.
    pub async fn settle(&self) -> Result<(), Unavailable> {
        let mut is_swept = false;
        while !is_swept {
            is_swept = self.live().inspect(Machine::is_swept);
            self.errand(Pack::No).await?;
        }
        Ok(())
    }

    /// Waits until the state has everything, and its file has given unused space back. Reads and
    /// writes go on meanwhile.
    pub async fn pack(&self) -> Result<(), Unavailable> {
        self.errand(Pack::Yes).await
    }

    /// How long the disk took to make each group of writes safe.
    pub fn log_sync_times(&self) -> &Histogram {
        &self.sync_times
    }

    /// How long each commit of the state took.
    pub fn state_commit_times(&self) -> &Histogram {
        &self.keeper.commit_times
    }

    /// How many commands took longer to carry out than [`Options::slow_apply`](crate::Options).
    pub fn slow_applies(&self) -> u64 {
        self.slow_applies.load(Ordering::Relaxed)
    }

    /// How large the state is, as of its last commit.
    pub fn state_size(&self) -> io::Result<StateSize> {
        let file = self.folder.join(STATE_FILE);
        Ok(StateSize {
            file_bytes: std::fs::metadata(file)?.len(),
            row_bytes: self.keeper.row_bytes(),
        })
    }

    async fn errand(&self, pack: Pack) -> Result<(), Unavailable> {
        let (done, outcome) = oneshot::channel();
        self.keeper.run_errand(Errand { pack, done });
        let stopped = || Err("the store stopped".to_owned());
        let outcome = outcome.await.unwrap_or_else(|_| stopped());
        outcome.map_err(|reason| Unavailable { reason })
    }
}
