//! Embedded store on a local directory.
//!
//! ```text
//! lock         held by the one process that uses the directory
//! log-….seg    write-ahead log of commands
//! state.redb   checkpoint of the state, some seconds behind the log
//! ```
//!
//! Each write is a command. The writer thread performs group commit: it collects all queued commands into one
//! frame, appends it to the log, fsyncs once, applies the commands and replies. The effect of a command is visible
//! only once it is durable. A second thread checkpoints the state; log segments covered by the checkpoint are
//! recycled. On start, the store loads the checkpoint and replays the log after it.
//!
//! If a disk operation fails, the store refuses writes and tries again once in each interval, while reads continue. A
//! frame that could not be written is overwritten by the next one, so its writes did not happen. After a failed
//! fsync, they are [`WriteFailure::Uncertain`](lockstep_storage::WriteFailure::Uncertain), and the log goes on in
//! another segment. After a failed fsync of the state, the store has to be reopened.
//!
//! `docs/reference/store-format.md` specifies the on-disk format.

mod applier;
mod checkpointer;
mod condition;
mod disk;
mod faults;
mod histogram;
mod inspect;
mod lock;
mod log;
mod private;
mod proposer;
mod queue;
mod restore;
mod service;
mod state;
mod store;
mod writer;

pub use disk::Durability;
pub use faults::{Faults, FileAction, Step};
pub use histogram::{Counted, Histogram};
pub use inspect::{Finding, Inspection, Severity};
pub use log::LogError;
pub use private::private_folder;
pub use queue::Done;
pub use restore::{RestoreError, restore};
pub use service::StateSize;
pub use state::StateError;
pub use store::{EmbeddedStore, OpenError, Options};
