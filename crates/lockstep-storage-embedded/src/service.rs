//! Operations for the etcd server, in addition to the `Store` contract.

use std::io;
use std::sync::atomic::Ordering;

use lockstep_mvcc::{Command, LeaseId, Machine};
use lockstep_storage::{LeaseStatus, Unavailable, WriteFailure};
use tokio::sync::oneshot;

use crate::EmbeddedStore;
use crate::checkpointer::{CommitRequest, Defragment};
use crate::histogram::Histogram;
use crate::queue::{Done, Request};
use crate::state::STATE_FILE;

/// Size of the state file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateSize {
    /// Length of the file.
    pub file_bytes: u64,
    /// Bytes of rows; the rest is overhead and reusable space.
    pub row_bytes: u64,
}

impl EmbeddedStore {
    /// Proposes a command as is. The caller checks limits.
    pub async fn propose(&self, command: Command) -> Result<Done, WriteFailure> {
        self.queue.send(Request::Command(command)).await
    }

    /// Synchronous form of [`Store::keep_lease_alive`](lockstep_storage::Store::keep_lease_alive).
    pub fn renew_lease(&self, id: LeaseId) -> Option<i64> {
        self.live().keep_lease_alive(id, self.clock.now())
    }

    /// Synchronous form of [`Store::lease`](lockstep_storage::Store::lease).
    pub fn lease_status(&self, id: LeaseId) -> Option<LeaseStatus> {
        self.live().lease(id, self.clock.now())
    }

    /// The index of the last command that was applied.
    pub fn applied_index(&self) -> u64 {
        self.checkpointer.seen()
    }

    /// Waits until everything applied before the call is in the state file, including completed compactions.
    pub async fn settle(&self) -> Result<(), Unavailable> {
        let mut is_swept = false;
        while !is_swept {
            is_swept = self.live().inspect(Machine::is_swept);
            self.commit_request(Defragment::No).await?;
        }
        Ok(())
    }

    /// Defragments the state file. Reads and writes continue meanwhile.
    pub async fn defragment(&self) -> Result<(), Unavailable> {
        self.commit_request(Defragment::Yes).await
    }

    /// Fsync durations of the log.
    pub fn log_sync_times(&self) -> &Histogram {
        &self.sync_times
    }

    /// Commit durations of the state.
    pub fn state_commit_times(&self) -> &Histogram {
        &self.checkpointer.commit_times
    }

    /// Number of commands whose apply took longer than [`Options::slow_apply`](crate::Options).
    pub fn slow_applies(&self) -> u64 {
        self.slow_applies.load(Ordering::Relaxed)
    }

    /// Size of the state file as of its last commit.
    pub fn state_size(&self) -> io::Result<StateSize> {
        let file = self.folder.join(STATE_FILE);
        Ok(StateSize {
            file_bytes: std::fs::metadata(file)?.len(),
            row_bytes: self.checkpointer.row_bytes(),
        })
    }

    async fn commit_request(&self, defragment: Defragment) -> Result<(), Unavailable> {
        let (done, outcome) = oneshot::channel();
        self.checkpointer
            .request_commit(CommitRequest { defragment, done });
        let stopped = || Err("the store stopped".to_owned());
        let outcome = outcome.await.unwrap_or_else(|_| stopped());
        outcome.map_err(|reason| Unavailable { reason })
    }
}
