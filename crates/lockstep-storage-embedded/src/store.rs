//! [`EmbeddedStore`] and opening it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lockstep_mvcc::{
    CheckedTxn, Command, LeaseId, LeaseTtl, Limits, Malformed, Range, RangeResponse, Response,
    Revision, TxnResponse, WriteError,
};
use lockstep_storage::{
    Consistency, GrantedLease, LeaseStatus, Live, ReadFailure, Store, StoreFuture, Unavailable,
    Watch, WatchRequest, WriteFailure,
};

use crate::applier::Applier;
use crate::checkpointer::{Checkpointer, Intervals};
use crate::condition::Condition;
use crate::disk::{Disk, Durability};
use crate::faults::Faults;
use crate::histogram::Histogram;
use crate::lock::{self, Lock};
use crate::log::{Log, LogError, Scan};
use crate::queue::{Clock, Queue, Request};
use crate::state::{self, Loaded, STATE_FILE, State, StateError};
use crate::writer::Writer;

/// Options of [`EmbeddedStore::open`].
#[derive(Clone)]
pub struct Options {
    /// Limits of requests.
    pub limits: Limits,
    /// Size of a log segment; a larger frame gets a larger segment.
    pub segment_bytes: u64,
    /// Interval of state commits. A longer one means less I/O and a longer replay at the next start.
    pub state_interval: Duration,
    /// Durability of acknowledged writes.
    pub durability: Durability,
    /// Time between attempts to write again while the disk is full or fails.
    pub retry_interval: Duration,
    /// Threshold for counting an applied command as slow.
    pub slow_apply: Duration,
    /// Faults to inject, for tests.
    pub faults: Faults,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            segment_bytes: 16 << 20,
            state_interval: Duration::from_secs(1),
            durability: Durability::Fsync,
            retry_interval: Duration::from_secs(1),
            slow_apply: Duration::from_millis(100),
            faults: Faults::default(),
        }
    }
}

/// Errors of opening a data directory.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// An I/O error.
    #[error("opening the store in `{folder}`: {source}")]
    Io {
        /// The directory.
        folder: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Another process uses the directory.
    #[error("the store in `{folder}` is in use by {}; stop that one first", holder_name(*.holder))]
    InUse {
        /// The directory.
        folder: PathBuf,
        /// The process id, if known.
        holder: Option<u32>,
    },
    /// The state cannot be read.
    #[error("reading `{file}`: {source}")]
    State {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: StateError,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A command in the log has a valid checksum and cannot be decoded.
    #[error("`{file}` is damaged at byte {offset}: command {index} is {source}")]
    Command {
        /// The file.
        file: PathBuf,
        /// Offset of its frame in the file.
        offset: u64,
        /// The index of the command.
        index: u64,
        /// The decoding error.
        source: Malformed,
    },
}

/// Store on a local directory. Closing or dropping it commits all pending changes.
pub struct EmbeddedStore {
    live: Arc<Live>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) checkpointer: Arc<Checkpointer>,
    condition: Arc<Condition>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) folder: PathBuf,
    pub(crate) sync_times: Arc<Histogram>,
    pub(crate) slow_applies: Arc<AtomicU64>,
    limits: Limits,
    threads: Vec<JoinHandle<()>>,
    next_index: u64,
    /// Directory lock, held while the store is open.
    _lock: Lock,
}

impl EmbeddedStore {
    /// Opens a data directory, creating it if needed. Existing files are modified only after all of them were
    /// verified.
    pub fn open(folder: &Path, options: &Options) -> Result<Self, OpenError> {
        let lock = lock::take(folder)?;
        let Contents {
            loaded,
            scan,
            commands,
        } = Contents::read(folder)?;
        let io = |source| OpenError::Io {
            folder: folder.to_owned(),
            source,
        };
        let faults = options.faults.clone();
        let disk = Disk::new(folder, faults.clone(), options.durability);
        let log = Log::resume(&scan, &disk, options.segment_bytes).map_err(io)?;
        let state = State::open(&disk, loaded.row_bytes).map_err(|source| OpenError::State {
            file: folder.join(STATE_FILE),
            source,
        })?;
        let Loaded {
            machine,
            applied,
            row_bytes,
            garbage,
        } = loaded;
        let next_index = log.next_index();
        let sync_times = log.sync_times().clone();
        let clock = Arc::new(Clock::start());
        let live = Live::new(machine, clock.now());
        let queue = Arc::new(Queue::new());
        let condition: Arc<Condition> = Arc::default();
        let checkpointer = Arc::new(Checkpointer::new(
            condition.clone(),
            applied,
            row_bytes,
            Intervals {
                commit: options.state_interval,
                retry: options.retry_interval,
            },
        ));
        let slow_applies: Arc<AtomicU64> = Arc::default();
        let mut writer = Writer {
            queue: queue.clone(),
            applier: Applier {
                live: live.clone(),
                checkpointer: checkpointer.clone(),
            },
            clock: clock.clone(),
            log,
            faults,
            condition: condition.clone(),
            log_failure: None,
            retry_interval: options.retry_interval,
            slow_apply: options.slow_apply,
            slow_applies: slow_applies.clone(),
        };
        writer.applier.remove_rows(garbage);
        for (index, command) in commands {
            writer.replay(index, command);
        }
        checkpointer.notify_pending();
        let (failing, keeping) = (queue.clone(), checkpointer.clone());
        let threads = vec![
            spawn("store-writer", folder, move || writer.run())?,
            spawn("store-checkpointer", folder, move || {
                keeping.run(state, |error| {
                    failing.fail(&format!("writing the state failed: {error}"));
                });
            })?,
        ];
        Ok(Self {
            live,
            queue,
            checkpointer,
            condition,
            clock,
            folder: folder.to_owned(),
            sync_times,
            slow_applies,
            limits: options.limits,
            threads,
            next_index,
            _lock: lock,
        })
    }

    /// The index of the first command after opening.
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
            // The panic was already reported by the thread; committed data is intact on disk.
            drop(thread.join());
        }
    }
}

/// Content of a data directory.
struct Contents {
    loaded: Loaded,
    scan: Scan,
    /// Commands after the state, with their indexes.
    commands: Vec<(u64, Command)>,
}

impl Contents {
    fn read(folder: &Path) -> Result<Self, OpenError> {
        let file = folder.join(STATE_FILE);
        let loaded = state::load(&file).map_err(|errors| {
            let source = errors.into_iter().next();
            let source = source.expect("a state that cannot be read has a reason");
            OpenError::State { file, source }
        })?;
        let mut scan = Scan::read(folder, loaded.applied, loaded.applied)?;
        if !scan.errors.is_empty() {
            return Err(scan.errors.swap_remove(0).into());
        }
        let commands = std::mem::take(&mut scan.commands).into_iter();
        let commands = commands.map(|logged| {
            let command = Command::decode(&logged.bytes);
            let command = command.map_err(|source| OpenError::Command {
                file: scan.file(logged.sequence),
                offset: logged.offset,
                index: logged.index,
                source,
            })?;
            Ok((logged.index, command))
        });
        let commands = commands.collect::<Result<_, OpenError>>()?;
        Ok(Self {
            loaded,
            scan,
            commands,
        })
    }
}

/// Formats the holder of a lock for error messages.
fn holder_name(holder: Option<u32>) -> String {
    match holder {
        Some(process) => format!("process {process}"),
        None => "another process".to_owned(),
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

    fn size(&self) -> StoreFuture<'_, Result<u64, ReadFailure>> {
        Box::pin(async move {
            let size = self.state_size().map_err(|error| Unavailable {
                reason: format!("looking at the state's file: {error}"),
            })?;
            Ok(size.file_bytes)
        })
    }

    fn write_outage(&self) -> Option<String> {
        let outage = self.condition.outage()?;
        Some(outage.reason().to_owned())
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
