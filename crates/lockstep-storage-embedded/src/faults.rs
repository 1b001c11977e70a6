//! Places where a test lets the process die or the disk fail.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A place in the life of a write, a segment or the state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Nothing of a frame is written.
    BeforeWrite,
    /// Half of a frame is written.
    HalfWritten,
    /// A frame is written and not yet safe.
    Written,
    /// A frame is safe and nothing of it is applied.
    Synced,
    /// A frame is applied and nobody is told.
    Applied,
    /// An old segment has its new name.
    SegmentRenamed,
    /// A segment's file is there, its header is not.
    SegmentMade,
    /// A segment is ready and empty.
    SegmentReady,
    /// The state is about to be written.
    StateBegun,
    /// The state is written and not committed.
    StateWritten,
    /// The state is committed, the log does not know.
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

/// What is about to be done to a file or to the folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileAction<'a> {
    /// An empty file is made, or one is emptied.
    Make,
    /// The file gets this length.
    Resize {
        /// In bytes.
        length: u64,
    },
    /// Bytes are written.
    Write {
        /// Where.
        offset: u64,
        /// What.
        bytes: &'a [u8],
    },
    /// Everything written to the file before has to be safe afterwards.
    Sync,
    /// The file gets another name.
    Rename {
        /// The name.
        to: &'a str,
    },
    /// The file is removed.
    Remove,
    /// All names in the folder have to be safe afterwards; the file's name is empty.
    SyncFolder,
}

type Dies = Arc<dyn Fn(Step) -> bool + Send + Sync>;
type Touches = Arc<dyn Fn(&str, FileAction<'_>) -> io::Result<()> + Send + Sync>;

/// What goes wrong; nothing by default.
#[derive(Clone, Default)]
pub struct Faults {
    dies: Option<Dies>,
    manner: Manner,
    touches: Option<Touches>,
}

/// How a process dies.
#[derive(Clone, Copy, Default)]
enum Manner {
    /// The store does nothing more to its files, which is all that `kill -9` would leave of it.
    #[default]
    Feigned,
    /// Really, with everything else in the process.
    Abort,
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faults")
    }
}

impl Faults {
    /// Asks `dies` at every step whether the store stops there. Once it said yes it has to say so
    /// for ever.
    pub fn new(dies: impl Fn(Step) -> bool + Send + Sync + 'static) -> Self {
        Self {
            dies: Some(Arc::new(dies)),
            ..Self::default()
        }
    }

    /// Dies when `step` is reached for the `nth` time, counted from 1.
    pub fn dies_at(step: Step, nth: usize) -> Self {
        let (seen, dead) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self::new(move |reached| {
            if reached == step && seen.fetch_add(1, Ordering::SeqCst) + 1 >= nth {
                dead.store(true, Ordering::SeqCst);
            }
            dead.load(Ordering::SeqCst)
        })
    }

    /// Takes the whole process along when it dies.
    #[must_use]
    pub fn aborting(self) -> Self {
        Self {
            manner: Manner::Abort,
            ..self
        }
    }

    /// Tells `touches` what is about to be done to which file. If it fails, the same error is what
    /// the store sees, and nothing is done.
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
            Manner::Feigned => {}
            Manner::Abort => std::process::abort(),
        }
        Err(io::Error::other(format!(
            "a test stopped the store at {step:?}"
        )))
    }

    pub(crate) fn touch(&self, file: &str, action: FileAction<'_>) -> io::Result<()> {
        match &self.touches {
            Some(touches) => touches(file, action),
            None => Ok(()),
        }
    }
}
