//! Opening a directory, and the store on it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lockstep_mvcc::{
    CheckedTxn, Command, LeaseId, LeaseTtl, Limits, Malformed, Range, RangeResponse, Response,
    Revision, TxnResponse, WriteError,
};
use lockstep_storage::{
    Consistency, GrantedLease, LeaseStatus, Live, ReadFailure, Store, StoreFuture, Watch,
    WatchRequest, WriteFailure,
};

use crate::faults::Faults;
use crate::keeper::Keeper;
use crate::log::{LogError, Replay};
use crate::queue::{Clock, Queue, Request};
use crate::state::{Loaded, State, StateError};
use crate::writer::Writer;

/// How a store is opened.
#[derive(Clone)]
pub struct Options {
    /// Limits of requests.
    pub limits: Limits,
    /// The size of a log segment; a larger frame gets a larger segment.
    pub segment_bytes: u64,
    /// How long effects gather before they are committed to the state. Longer means less work and
    /// more to read at the next start.
    pub state_interval: Duration,
    /// Where a test lets the process die.
    pub faults: Faults,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            segment_bytes: 16 << 20,
            state_interval: Duration::from_secs(1),
            faults: Faults::default(),
        }
    }
}

/// Why a directory cannot be opened as a store.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The system said so.
    #[error("opening the store in `{folder}`: {source}")]
    Io {
        /// The directory.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process has it open.
    #[error("the store in `{folder}` is in use by another process; stop that one first")]
    InUse {
        /// The directory.
        folder: PathBuf,
    },
    /// The state cannot be read.
    #[error("reading `{file}`: {source}")]
    State {
        /// The file.
        file: PathBuf,
        /// Why not.
        source: StateError,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A command in the log has a right checksum and cannot be understood.
    #[error("command {index} of the log in `{folder}` is {source}")]
    Command {
        /// The directory.
        folder: PathBuf,
        /// The index of the command.
        index: u64,
        /// What is wrong with it.
        source: Malformed,
    },
}

/// A store on a directory. Closing it, or dropping it, writes everything down.
pub struct EmbeddedStore {
    live: Arc<Live>,
    queue: Arc<Queue>,
    clock: Arc<Clock>,
    limits: Limits,
    threads: Vec<JoinHandle<()>>,
    next_index: u64,
    /// Held as long as the store is open.
    _lock: File,
}

impl EmbeddedStore {
    /// Opens a directory, makes it if it is missing, and reads what it holds.
    pub fn open(folder: &Path, options: &Options) -> Result<Self, OpenError> {
        let lock = lock(folder)?;
        let file = folder.join("state.redb");
        let state_error = |source| OpenError::State {
            file: file.clone(),
            source,
        };
        let state = State::open(&file, options.faults.clone()).map_err(state_error)?;
        let loaded = state.load().map_err(state_error)?;
        let (faults, segment_bytes) = (options.faults.clone(), options.segment_bytes);
        let replay = Replay::open(folder, loaded.applied, segment_bytes, &faults)?;
        let Loaded {
            machine,
            applied,
            garbage,
        } = loaded;
        let next_index = replay.log.next_index();
        let clock = Arc::new(Clock::start());
        let live = Live::new(machine, clock.now());
        let queue = Arc::new(Queue::new());
        let keeper = Arc::new(Keeper::new(applied, options.state_interval));
        let mut writer = Writer {
            live: live.clone(),
            queue: queue.clone(),
            keeper: keeper.clone(),
            clock: clock.clone(),
            log: replay.log,
            faults,
        };
        writer.remove_rows(garbage);
        for (index, bytes) in replay.commands {
            let command = Command::decode(&bytes).map_err(|source| OpenError::Command {
                folder: folder.to_owned(),
                index,
                source,
            })?;
            writer.replay(index, command);
        }
        keeper.nudge();
        let failing = queue.clone();
        let threads = vec![
            spawn("store-writer", folder, move || writer.run())?,
            spawn("store-keeper", folder, move || {
                keeper.run(&state, |error| {
                    failing.fail(&format!("writing the state failed: {error}"));
                });
            })?,
        ];
        Ok(Self {
            live,
            queue,
            clock,
            limits: options.limits,
            threads,
            next_index,
            _lock: lock,
        })
    }

    /// The index that the first command after opening got or gets.
    pub fn next_index(&self) -> u64 {
        self.next_index
    }

    /// The machine with its readers and watchers.
    pub fn live(&self) -> &Arc<Live> {
        &self.live
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        self.queue.close("the store is closed");
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so itself; what is on disk can be read again.
            drop(thread.join());
        }
    }
}

/// Makes sure that no other process has the directory open.
fn lock(folder: &Path) -> Result<File, OpenError> {
    let io = |source| OpenError::Io {
        folder: folder.to_owned(),
        source,
    };
    fs::create_dir_all(folder).map_err(io)?;
    let mut options = File::options();
    let lock = options.write(true).create(true).truncate(false);
    let lock = lock.open(folder.join("lock")).map_err(io)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse {
            folder: folder.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(io(source)),
    }
}

fn spawn(
    name: &str,
    folder: &Path,
    run: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, OpenError> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(run);
    thread.map_err(|source| OpenError::Io {
        folder: folder.to_owned(),
        source,
    })
}

impl Store for EmbeddedStore {
    fn range(
        &self,
        range: Range,
        _consistency: Consistency,
    ) -> StoreFuture<'_, Result<RangeResponse, ReadFailure>> {
        Box::pin(async move { Ok(self.live.range(&range)?) })
    }

    fn txn(&self, txn: CheckedTxn) -> StoreFuture<'_, Result<TxnResponse, WriteFailure>> {
        Box::pin(async move {
            if let Some(read) = txn.as_read_only() {
                let answer = self.live.read_txn(read);
                return answer.map_err(|error| WriteError::Read(error).into());
            }
            let done = self.queue.send(Request::Txn(txn)).await?;
            match done.applied.response? {
                Response::Txn(answer) => Ok(answer),
                other => unreachable!("a transaction was answered by {other:?}"),
            }
        })
    }

    fn watch(&self, request: WatchRequest) -> StoreFuture<'_, Result<Watch, ReadFailure>> {
        Box::pin(async move { Ok(self.live.watch(request)) })
    }

    fn revision(
        &self,
        _consistency: Consistency,
    ) -> StoreFuture<'_, Result<Revision, ReadFailure>> {
        Box::pin(async move { Ok(self.live.revision()) })
    }

    fn compact(&self, at: Revision) -> StoreFuture<'_, Result<(), WriteFailure>> {
        Box::pin(async move {
            self.queue
                .send(Request::Compact { at })
                .await?
                .applied
                .response?;
            Ok(())
        })
    }

    fn grant_lease(&self, ttl: LeaseTtl) -> StoreFuture<'_, Result<GrantedLease, WriteFailure>> {
        Box::pin(async move {
            let ttl_seconds = ttl.granted(&self.limits)?;
            let done = self.queue.send(Request::Grant { ttl_seconds }).await?;
            done.applied.response?;
            let id = i64::try_from(done.index).expect("indexes are counted one by one");
            let id = LeaseId(id);
            Ok(GrantedLease { id, ttl_seconds })
        })
    }

    fn revoke_lease(&self, id: LeaseId) -> StoreFuture<'_, Result<(), WriteFailure>> {
        Box::pin(async move {
            self.queue
                .send(Request::Revoke { id })
                .await?
                .applied
                .response?;
            Ok(())
        })
    }

    fn keep_lease_alive(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<i64>, WriteFailure>> {
        Box::pin(async move { Ok(self.live.keep_lease_alive(id, self.clock.now())) })
    }

    fn lease(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<LeaseStatus>, ReadFailure>> {
        Box::pin(async move { Ok(self.live.lease(id, self.clock.now())) })
    }
}
