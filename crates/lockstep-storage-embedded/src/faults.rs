//! Fault injection: points at which a test kills the process or fails the disk.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A failpoint in the processing of a write, a segment or the state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Before any byte of a frame is written.
    BeforeWrite,
    /// Half of a frame is written.
    HalfWritten,
    /// A frame is written and not fsynced.
    Written,
    /// A frame is fsynced and not applied.
    Synced,
    /// A frame is applied and not acknowledged.
    Applied,
    /// A recycled segment file is renamed.
    SegmentRenamed,
    /// A segment file exists without its header.
    SegmentMade,
    /// A segment is ready and empty.
    SegmentReady,
    /// Before the state is written.
    StateBegun,
    /// The state is written and not committed.
    StateWritten,
    /// The state is committed, and log segments are not released yet.
    StateCommitted,
}

impl Step {
    /// Every step.
    pub const ALL: [Self; 11] = [
        Self::BeforeWrite,
        Self::HalfWritten,
        Self::Written,
        Self::Synced,
        Self::Applied,
        Self::SegmentRenamed,
        Self::SegmentMade,
        Self::SegmentReady,
        Self::StateBegun,
        Self::StateWritten,
        Self::StateCommitted,
    ];
}

/// A pending modification of a file or the directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileAction<'a> {
    /// Creates an empty file, or truncates one.
    Make,
    /// Sets the length of the file.
    Resize {
        /// In bytes.
        length: u64,
    },
    /// Bytes are written.
    Write {
        /// Offset in the file.
        offset: u64,
        /// The data.
        bytes: &'a [u8],
    },
    /// Fsyncs the file.
    Sync,
    /// Renames the file.
    Rename {
        /// The name.
        to: &'a str,
    },
    /// Removes the file.
    Remove,
    /// Fsyncs the directory; the file name is empty.
    SyncFolder,
}

/// The error of a step at which a test stops the store, as if the process had died.
#[derive(Debug, thiserror::Error)]
#[error("a test stopped the store at {0:?}")]
struct Stopped(Step);

/// True if a test stopped the store, which must not touch its files any more.
pub(crate) fn is_stopped(error: &io::Error) -> bool {
    let source = error.get_ref();
    source.is_some_and(<dyn std::error::Error + Send + Sync>::is::<Stopped>)
}

type CrashCheck = Arc<dyn Fn(Step) -> bool + Send + Sync>;
type Touches = Arc<dyn Fn(&str, FileAction<'_>) -> io::Result<()> + Send + Sync>;

/// Faults to inject; none by default.
#[derive(Clone, Default)]
pub struct Faults {
    dies: Option<CrashCheck>,
    manner: CrashMode,
    touches: Option<Touches>,
}

/// Mode of a simulated crash.
#[derive(Clone, Copy, Default)]
enum CrashMode {
    /// The store stops all file operations, which leaves the directory as `kill -9` would.
    #[default]
    Simulated,
    /// Aborts the process.
    Abort,
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faults")
    }
}

impl Faults {
    /// Calls `dies` at every step; true stops the store there. Once true, it must stay true.
    pub fn new(dies: impl Fn(Step) -> bool + Send + Sync + 'static) -> Self {
        Self {
            dies: Some(Arc::new(dies)),
            ..Self::default()
        }
    }

    /// Crashes when `step` is reached for the `nth` time, counted from 1.
    pub fn dies_at(step: Step, nth: usize) -> Self {
        let (seen, dead) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self::new(move |reached| {
            if reached == step && seen.fetch_add(1, Ordering::SeqCst) + 1 >= nth {
                dead.store(true, Ordering::SeqCst);
            }
            dead.load(Ordering::SeqCst)
        })
    }

    /// Aborts the process instead of stopping the store.
    #[must_use]
    pub fn aborting(self) -> Self {
        Self {
            manner: CrashMode::Abort,
            ..self
        }
    }

    /// Calls `touches` before each modification of a file. Its error is returned to the store and the modification
    /// is skipped.
    #[must_use]
    pub fn on_files(
        self,
        touches: impl Fn(&str, FileAction<'_>) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self {
            touches: Some(Arc::new(touches)),
            ..self
        }
    }

    pub(crate) fn is_reached(&self, step: Step) -> bool {
        self.dies.as_ref().is_some_and(|dies| dies(step))
    }

    pub(crate) fn reach(&self, step: Step) -> io::Result<()> {
        if !self.is_reached(step) {
            return Ok(());
        }
        match self.manner {
            CrashMode::Simulated => {}
            CrashMode::Abort => std::process::abort(),
        }
        Err(io::Error::other(Stopped(step)))
    }

    pub(crate) fn touch(&self, file: &str, action: FileAction<'_>) -> io::Result<()> {
        match &self.touches {
            Some(touches) => touches(file, action),
            None => Ok(()),
        }
    }
}
