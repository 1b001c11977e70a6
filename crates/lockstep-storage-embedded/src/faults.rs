//! Places where a test lets the process die.

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

/// Decides whether the process dies at a step. From the step at which it says so, the store does
/// nothing more to its files, which is all that `kill -9` would leave of it.
#[derive(Clone, Default)]
pub struct Faults(Option<Arc<dyn Fn(Step) -> bool + Send + Sync>>);

impl Faults {
    /// Asks `dies` at every step. Once it said yes it has to say so for ever.
    pub fn new(dies: impl Fn(Step) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(dies)))
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

    pub(crate) fn is_reached(&self, step: Step) -> bool {
        self.0.as_ref().is_some_and(|dies| dies(step))
    }

    pub(crate) fn reach(&self, step: Step) -> io::Result<()> {
        if self.is_reached(step) {
            return Err(io::Error::other(format!(
                "a test stopped the store at {step:?}"
            )));
        }
        Ok(())
    }
}
