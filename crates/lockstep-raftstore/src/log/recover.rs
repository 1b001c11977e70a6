//! Reading the replicated log at a start.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::Identity;
use super::segment::{self, Batch, HEADER_BYTES, Header, Origin};
use crate::entry::{HardState, LogEntry, Position};

/// Errors of reading the log. Nothing is changed if there is one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LogDamaged {
    /// A part of a segment cannot be read, and what follows shows that it was safe on disk.
    #[error("`{file}` is damaged at byte {offset}: {what}")]
    Damaged {
        /// The file.
        file: String,
        /// Where.
        offset: usize,
        /// Description.
        what: &'static str,
    },
    /// A newer version wrote a segment.
    #[error("`{file}` has log format {found}, which this program does not know")]
    UnknownFormat {
        /// The file.
        file: String,
        /// Its format.
        found: u32,
    },
    /// A segment of another member or cluster.
    #[error("`{file}` belongs to another member or cluster")]
    Foreign {
        /// The file.
        file: String,
    },
    /// The log begins after the checkpoint, or the terms of the two differ.
    #[error("the log does not continue the checkpoint at index {index}")]
    Gap {
        /// The index of the checkpoint.
        index: u64,
    },
}

/// A log that was read.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Recovered {
    pub(crate) hard_state: HardState,
    /// The entry before the first of `entries`.
    pub(crate) base: Position,
    pub(crate) entries: Vec<LogEntry>,
    /// The newest process start.
    pub(crate) boot: u64,
    /// Segments to keep: sequence, and the index before the first entry.
    pub(super) segments: Vec<(u64, u64)>,
    pub(super) next_sequence: u64,
    /// Segments to remove: from before a snapshot, and those whose removal was interrupted.
    pub(super) leftovers: Vec<u64>,
    /// True if the log starts over behind the checkpoint.
    pub(super) is_replaced: bool,
}

impl Recovered {
    /// The last entry.
    pub(crate) fn last(&self) -> Position {
        let last = self.entries.last().map(|entry| entry.position);
        last.unwrap_or(self.base)
    }

    fn term_at(&self, index: u64) -> Option<u64> {
        if index == self.base.index {
            return Some(self.base.term);
        }
        let place = index.checked_sub(self.base.index + 1)?;
        let entry = self.entries.get(usize::try_from(place).ok()?)?;
        Some(entry.position.term)
    }

    fn truncate(&mut self, index: u64) {
        let keep = index.saturating_sub(self.base.index);
        self.entries
            .truncate(usize::try_from(keep).unwrap_or(usize::MAX));
    }

    /// Lets go of all segments so far.
    fn forget(&mut self) {
        let segments = self.segments.drain(..).map(|(sequence, _)| sequence);
        self.leftovers.extend(segments);
        self.entries.clear();
    }

    /// Adds a batch; false if it leaves a gap.
    fn add(&mut self, batch: Batch) -> bool {
        self.hard_state = batch.hard_state.unwrap_or(self.hard_state);
        for entry in batch.entries {
            let index = entry.position.index;
            if index > self.last().index + 1 {
                return false;
            }
            if index > self.base.index {
                self.truncate(index - 1);
                self.entries.push(entry);
            } else {
                // The base itself was replaced: the header of the oldest segment tells what was before it then.
                self.entries.clear();
                self.base = entry.position;
            }
        }
        true
    }
}

/// The newest state on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Checkpointed {
    /// This member wrote it; the log had its entry before.
    Own(Position),
    /// Another member sent it.
    Received(Position),
}

/// Reads all segments among `files` and joins them to the checkpoint.
pub(crate) fn recover(
    identity: Option<Identity>,
    files: &BTreeMap<String, Bytes>,
    checkpoint: Checkpointed,
) -> Result<Recovered, LogDamaged> {
    let mut found = Recovered {
        next_sequence: 1,
        ..Recovered::default()
    };
    let segments = files
        .iter()
        .filter_map(|(name, bytes)| Some((segment::sequence_of(name)?, name, bytes)));
    let segments: Vec<_> = segments.collect();
    for (nth, (sequence, name, bytes)) in segments.iter().enumerate() {
        let is_gap = *sequence != found.next_sequence;
        let header = match Header::decode(bytes) {
            Ok(header) if header.sequence == *sequence => header,
            Err(Some(format)) => {
                return Err(LogDamaged::UnknownFormat {
                    file: (*name).clone(),
                    found: format,
                });
            }
            // The header is safe before the first frame is written.
            _ if nth + 1 == segments.len() && bytes.len() <= HEADER_BYTES => {
                // The next segment takes its place, so that the sequence has no gap.
                found.next_sequence = *sequence;
                continue;
            }
            _ => return Err(damaged(name, 0, "its header has a wrong checksum")),
        };
        let told = identity.map(|identity| (identity.cluster_id.0, identity.id.0));
        if told.is_some_and(|told| told != (header.cluster, header.member)) {
            return Err(LogDamaged::Foreign {
                file: (*name).clone(),
            });
        }
        // Segments are removed oldest first. A gap shows that those before it are to be removed, too.
        if is_gap {
            found.forget();
        }
        enter(&mut found, &header).map_err(|what| damaged(name, 0, what))?;
        read_frames(&mut found, &header, name, bytes)?;
        found.next_sequence = sequence + 1;
    }
    join(found, checkpoint)
}

/// Continues with a segment after those before.
fn enter(found: &mut Recovered, header: &Header) -> Result<(), &'static str> {
    let before = header.before;
    match header.origin {
        _ if found.segments.is_empty() => found.base = before,
        Origin::Installed => {
            found.forget();
            found.base = before;
        }
        Origin::Continued if found.last() != before => {
            return Err("the last frames of the segment before are damaged");
        }
        Origin::Started | Origin::Continued => {
            if found.term_at(before.index) != Some(before.term) {
                return Err("the last frames of the segment before are damaged");
            }
            // A frame that was never acknowledged may have become readable after all.
            found.truncate(before.index);
        }
    }
    found.hard_state = header.hard_state;
    found.boot = found.boot.max(header.boot);
    found.segments.push((header.sequence, before.index));
    Ok(())
}

fn read_frames(
    found: &mut Recovered,
    header: &Header,
    name: &str,
    bytes: &[u8],
) -> Result<(), LogDamaged> {
    let mut at = HEADER_BYTES;
    while let Some((batches, length)) = header.read_frame(&bytes[at..]) {
        for batch in batches {
            if !found.add(batch) {
                return Err(damaged(name, at, "entries are missing before the frame"));
            }
        }
        at += length;
    }
    // One frame is unsynced at a time, so another one behind it shows that it was safe.
    let next = segment::frame_end(&bytes[at..]).and_then(|end| bytes.get(at + end..));
    if next.is_some_and(|next| header.read_frame(next).is_some()) {
        let what = "a frame has a wrong checksum and intact ones follow";
        return Err(damaged(name, at, what));
    }
    Ok(())
}

/// Joins the log to the checkpoint. A received snapshot may be newer than the log if its installation was interrupted.
fn join(mut found: Recovered, checkpoint: Checkpointed) -> Result<Recovered, LogDamaged> {
    let (Checkpointed::Own(position) | Checkpointed::Received(position)) = checkpoint;
    let gap = Err(LogDamaged::Gap {
        index: position.index,
    });
    if found.segments.is_empty() {
        found.base = position;
        return Ok(found);
    }
    if found.base.index > position.index {
        return gap;
    }
    match (found.term_at(position.index), checkpoint) {
        (Some(term), _) if term == position.term => Ok(found),
        (_, Checkpointed::Own(_)) => gap,
        // The log goes on another way, or does not reach the snapshot that replaces it.
        (_, Checkpointed::Received(_)) => {
            found.forget();
            found.base = position;
            found.is_replaced = true;
            Ok(found)
        }
    }
}

fn damaged(name: &str, offset: usize, what: &'static str) -> LogDamaged {
    LogDamaged::Damaged {
        file: name.to_owned(),
        offset,
        what,
    }
}
