//! The store on one directory, in the process that uses it.
//!
//! ```text
//! lock         one process at a time
//! log-….seg    commands, in the order in which they were accepted
//! state.redb   what they amount to, some seconds behind
//! ```
//!
//! A write is a command. The writer thread puts all commands that wait into one frame, appends it
//! to the log, waits once for the disk, applies them, and answers. Nobody sees the effect of a
//! command that is not safe. A second thread commits the effects to the state; log segments that
//! the state has overtaken are used again. A start reads the state and the commands behind it.
//!
//! If the disk fails, what was written last is unknown: writers are told
//! [`WriteFailure::Uncertain`](lockstep_storage::WriteFailure::Uncertain), and the store takes no
//! more writes until it is opened again. Reads go on.
//!
//! The bytes on disk are described in `docs/reference/store-format.md`.

mod disk;
mod faults;
mod histogram;
mod inspect;
mod keeper;
mod lock;
mod log;
mod queue;
mod restore;
mod service;
mod state;
mod store;
mod writer;

pub use disk::Waiting;
pub use faults::{Faults, FileAction, Step};
pub use histogram::{Counted, Histogram};
pub use inspect::{Finding, Inspection, Severity};
pub use log::LogError;
pub use queue::Done;
pub use restore::{RestoreError, restore};
pub use service::StateSize;
pub use state::StateError;
pub use store::{EmbeddedStore, OpenError, Options};
