//! Opening the directory of a member.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{CHECKPOINT_NEW, INCOMING};
use crate::cluster::Cluster;
use crate::entry::{HardState, Position};
use crate::files::FileOp;
use crate::log::{Checkpointed, Identity, LogDamaged, Recovered, recover};
use crate::node::StartError;
use crate::state::{State, StateDamaged};

/// A member that starts for the first time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum First {
    /// One of the first members of a cluster.
    Founder(Cluster),
    /// A member that was added to a running cluster, and receives a snapshot.
    Joiner,
}

/// Errors of opening a directory. Nothing is changed if there is one.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogDamaged),
    /// The newest checkpoint cannot be read.
    #[error("reading `{file}`: {source}")]
    State {
        /// The file.
        file: String,
        /// The cause.
        source: StateDamaged,
    },
    /// The log and the state contradict each other.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// A directory that was read.
pub struct Contents {
    pub(super) state: State,
    pub(super) log: Recovered,
    /// Number of this process start.
    pub boot: u64,
    /// Checkpoints and snapshots on disk, by index.
    pub(super) states: BTreeMap<u64, String>,
    /// Operations before anything else.
    pub(super) ops: Vec<FileOp>,
}

pub(super) fn checkpoint_name(index: u64) -> String {
    format!("checkpoint-{index:016x}.state")
}

pub(super) fn snapshot_name(index: u64) -> String {
    format!("snapshot-{index:016x}.state")
}

/// Size from which a write of a state is not made longer.
const WRITE_BYTES_ENOUGH: usize = 1 << 20;

/// Index of a state's file, and whether another member sent it.
fn state_of(name: &str) -> Option<(u64, bool)> {
    let own = name.strip_prefix("checkpoint-");
    let (digits, is_received) = match own {
        Some(digits) => (digits, false),
        None => (name.strip_prefix("snapshot-")?, true),
    };
    let digits = digits.strip_suffix(".state")?;
    let index = u64::from_str_radix(digits, 16).ok()?;
    (digits.len() == 16).then_some((index, is_received))
}

impl Contents {
    /// Reads a directory. `first` is the state of a member that never started before.
    pub fn read(
        identity: Identity,
        files: &BTreeMap<String, Bytes>,
        first: First,
    ) -> Result<Self, OpenError> {
        let found = files.iter();
        let mut found: Vec<_> = found
            .filter_map(|(name, bytes)| Some((state_of(name)?, name, bytes)))
            .collect();
        found.sort_unstable_by_key(|(place, ..)| *place);
        let mut ops = Vec::new();
        let (state, is_received) = match found.last() {
            Some(((_, is_received), name, bytes)) => {
                let state = State::decode(bytes).map_err(|source| OpenError::State {
                    file: (*name).clone(),
                    source,
                })?;
                (state, *is_received)
            }
            None => (first_state(first, &mut ops), false),
        };
        let checkpoint = if is_received {
            Checkpointed::Received(state.position)
        } else {
            Checkpointed::Own(state.position)
        };
        let log = recover(Some(identity), files, checkpoint)?;
        let states = found.iter();
        let mut states: BTreeMap<_, _> = states
            .map(|((index, _), name, _)| (*index, (*name).clone()))
            .collect();
        for name in [CHECKPOINT_NEW, INCOMING] {
            if files.contains_key(name) {
                ops.push(FileOp::Remove {
                    name: name.to_owned(),
                });
            }
        }
        if found.is_empty() && state.position.index > 0 {
            let index = state.position.index;
            states.insert(index, checkpoint_name(index));
        }
        Ok(Self {
            boot: log.boot + 1,
            state,
            log,
            states,
            ops,
        })
    }

    /// The newest term, vote and commit index.
    pub fn hard_state(&mut self) -> &mut HardState {
        &mut self.log.hard_state
    }

    /// The state of the newest checkpoint.
    pub fn state(&mut self) -> &mut State {
        &mut self.state
    }

    /// The entry before the first of the log.
    pub fn base(&self) -> Position {
        self.log.base
    }

    /// The last entry of the log.
    pub fn last(&self) -> Position {
        self.log.last()
    }
}

/// Founders begin with a checkpoint at index 1, so that a joiner needs a snapshot, which has the members.
fn first_state(first: First, ops: &mut Vec<FileOp>) -> State {
    let First::Founder(cluster) = first else {
        return State::default();
    };
    let mut state = State::first(cluster);
    state.position = Position { index: 1, term: 1 };
    ops.extend(write_state(
        &state,
        CHECKPOINT_NEW,
        checkpoint_name(state.position.index),
    ));
    state
}

/// Writes a state under a name of its own, and then under its final one.
pub(super) fn write_state(state: &State, unfinished: &str, name: String) -> Vec<FileOp> {
    let unfinished = unfinished.to_owned();
    let mut ops = vec![FileOp::Create {
        name: unfinished.clone(),
    }];
    let (mut offset, mut buffer) = (0, Vec::new());
    let mut flush = |buffer: &mut Vec<u8>| {
        let bytes = Bytes::from(std::mem::take(buffer));
        let length = bytes.len() as u64;
        ops.push(FileOp::Write {
            name: unfinished.clone(),
            offset,
            bytes,
        });
        offset += length;
    };
    state.encode_to(|piece| {
        buffer.extend_from_slice(piece);
        if buffer.len() >= WRITE_BYTES_ENOUGH {
            flush(&mut buffer);
        }
    });
    flush(&mut buffer);
    ops.push(FileOp::Sync {
        name: unfinished.clone(),
    });
    ops.push(FileOp::Rename {
        from: unfinished,
        to: name,
    });
    ops.push(FileOp::SyncNames);
    ops
}
