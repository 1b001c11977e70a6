//! Snapshots on their way between members, piece by piece.
//!
//! One piece is under way at a time in each direction, so memory is bounded by its size. The message of the Raft
//! protocol travels with the last piece: the receiver's log sees a snapshot only once all of it is on disk.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::events::Completion;
use crate::entry::Position;
use crate::peer::{ChunkReceived, RaftMessage, SnapshotChunk};

/// Ticks after which a piece is sent again.
const RETRY_TICKS: u64 = 10;
/// Ticks without progress after which a transfer is given up.
const GIVE_UP_TICKS: u64 = 100;

/// Snapshots that this member sends, by receiver.
#[derive(Default)]
pub(super) struct Outgoing(BTreeMap<u64, Sending>);

struct Sending {
    position: Position,
    message: RaftMessage,
    /// Bytes that the receiver has.
    received: u64,
    asked_at: u64,
    progress_at: u64,
}

/// A piece to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) to: u64,
    pub(super) position: Position,
    pub(super) offset: u64,
}

/// A transfer that ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ended {
    Complete(u64),
    GivenUp(u64),
}

impl Outgoing {
    /// Starts a transfer, or puts the newer message to one that is under way.
    pub(super) fn start(&mut self, to: u64, message: RaftMessage, now: u64) -> Option<Piece> {
        let head = message.snapshot.as_ref()?;
        let position = Position {
            index: head.index,
            term: head.term,
        };
        if let Some(sending) = self.0.get_mut(&to)
            && sending.position == position
        {
            sending.message = message;
            return None;
        }
        let sending = Sending {
            position,
            message,
            received: 0,
            asked_at: now,
            progress_at: now,
        };
        self.0.insert(to, sending);
        Some(Piece {
            to,
            position,
            offset: 0,
        })
    }

    /// The message with a piece that was read; ends the transfer if it could not be.
    pub(super) fn chunk(
        &mut self,
        piece: Piece,
        bytes: Option<Bytes>,
        is_last: bool,
    ) -> Result<Option<SnapshotChunk>, Ended> {
        let Some(sending) = self.0.get(&piece.to) else {
            return Ok(None);
        };
        if sending.position != piece.position || sending.received != piece.offset {
            return Ok(None);
        }
        let Some(bytes) = bytes else {
            self.0.remove(&piece.to);
            return Err(Ended::GivenUp(piece.to));
        };
        Ok(Some(SnapshotChunk {
            index: piece.position.index,
            term: piece.position.term,
            offset: piece.offset,
            bytes,
            message: is_last.then(|| sending.message.clone()),
        }))
    }

    /// Handles an acknowledgement.
    pub(super) fn received(
        &mut self,
        from: u64,
        received: &ChunkReceived,
        now: u64,
    ) -> Result<Option<Piece>, Ended> {
        let Some(sending) = self.0.get_mut(&from) else {
            return Ok(None);
        };
        let position = Position {
            index: received.index,
            term: received.term,
        };
        if sending.position != position {
            return Ok(None);
        }
        if received.is_complete {
            self.0.remove(&from);
            return Err(Ended::Complete(from));
        }
        if sending.received == received.received {
            return Ok(None);
        }
        sending.received = received.received;
        sending.progress_at = now;
        Ok(Some(sending.ask(from, now)))
    }

    /// Pieces to send again, and transfers that are given up.
    pub(super) fn tick(&mut self, now: u64) -> (Vec<Piece>, Vec<Ended>) {
        let mut ended = Vec::new();
        self.0.retain(|to, sending| {
            let is_over = now >= sending.progress_at + GIVE_UP_TICKS;
            if is_over {
                ended.push(Ended::GivenUp(*to));
            }
            !is_over
        });
        let due = self.0.iter_mut();
        let due = due.filter(|(_, sending)| now >= sending.asked_at + RETRY_TICKS);
        let pieces = due.map(|(to, sending)| sending.ask(*to, now)).collect();
        (pieces, ended)
    }

    /// Ends all transfers: only a leader sends snapshots.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The oldest snapshot that is being sent.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.0.values().map(|sending| sending.position.index).min()
    }
}

impl Sending {
    fn ask(&mut self, to: u64, now: u64) -> Piece {
        self.asked_at = now;
        Piece {
            to,
            position: self.position,
            offset: self.received,
        }
    }
}

/// The snapshot that this member receives: one at a time.
#[derive(Default)]
pub(super) struct Incoming {
    receiving: Option<Receiving>,
    /// Ticket of the write that installs a complete one; until then its file must stay.
    pub(super) installing: Option<u64>,
}

struct Receiving {
    from: u64,
    position: Position,
    received: u64,
    is_writing: bool,
    message: Completion,
    progress_at: u64,
}

/// Answer to a piece.
#[derive(Debug)]
pub(super) enum Taken {
    /// Write it.
    Write(Box<SnapshotChunk>),
    /// Tell the sender how much is there.
    Tell(ChunkReceived),
    /// Nothing.
    Ignored,
}

impl Incoming {
    pub(super) fn take(&mut self, from: u64, chunk: SnapshotChunk, now: u64) -> Taken {
        let position = Position {
            index: chunk.index,
            term: chunk.term,
        };
        let is_known =
            |receiving: &Receiving| (receiving.from, receiving.position) == (from, position);
        if !self.receiving.as_ref().is_some_and(is_known) {
            let is_busy = self.receiving.as_ref().is_some_and(|receiving| {
                receiving.is_writing
                    || receiving.position >= position
                        && now < receiving.progress_at + RETRY_TICKS * 2
            });
            if self.installing.is_some() || is_busy {
                return Taken::Ignored;
            }
            self.receiving = Some(Receiving {
                from,
                position,
                received: 0,
                is_writing: false,
                message: None,
                progress_at: now,
            });
        }
        let Some(receiving) = &mut self.receiving else {
            return Taken::Ignored;
        };
        if receiving.is_writing {
            return Taken::Ignored;
        }
        if chunk.offset != receiving.received {
            return Taken::Tell(receiving.told(false));
        }
        receiving.is_writing = true;
        receiving.progress_at = now;
        receiving.message.clone_from(&chunk.message);
        Taken::Write(Box::new(chunk))
    }

    /// Handles a piece that is safe on disk. Returns the acknowledgement, and the message if the snapshot is complete.
    pub(super) fn written(
        &mut self,
        from: u64,
        position: Position,
        received: u64,
        is_damaged: bool,
    ) -> Option<(ChunkReceived, Completion)> {
        let receiving = self.receiving.as_mut()?;
        if (receiving.from, receiving.position) != (from, position) {
            return None;
        }
        receiving.is_writing = false;
        receiving.received = if is_damaged { 0 } else { received };
        let message = receiving.message.take().filter(|_| !is_damaged);
        let told = receiving.told(message.is_some());
        if message.is_some() || is_damaged {
            self.receiving = None;
        }
        Some((told, message))
    }
}

impl Receiving {
    fn told(&self, is_complete: bool) -> ChunkReceived {
        ChunkReceived {
            index: self.position.index,
            term: self.position.term,
            received: self.received,
            is_complete,
        }
    }
}
