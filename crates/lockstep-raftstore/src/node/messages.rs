//! Messages from and to other members.

use std::collections::BTreeSet;

use lockstep_mvcc::MemberId;
use raft::SnapshotStatus;
use raft::prelude::MessageType;

use super::events::{Effect, StopReason};
use super::snapshots::{Ended, Piece, Taken};
use super::{GREETING_ELECTIONS, Node};
use crate::entry::Position;
use crate::peer::{
    Body, ChunkReceived, Envelope, Hello, RaftMessage, Removed, SnapshotChunk, to_raft,
};

impl Node {
    /// Greets all peers while no leader is known, so that a member learns that it was removed while it was away. One
    /// that knows it greets to learn that another member knows it too.
    pub(super) fn greet(&mut self) {
        if self.role.leader.is_some() && self.leaving.is_none() {
            self.leaderless_since = self.ticks;
        }
        let interval = match self.leaving {
            Some(_) => 1,
            None => GREETING_ELECTIONS,
        };
        let interval = interval * self.options.election_ticks as u64;
        let alone = self.ticks - self.leaderless_since;
        if alone > 0 && alone.is_multiple_of(interval) {
            for peer in self.peers() {
                let greeting = self.send(peer.0, Body::Hello(Hello {}));
                self.effects.push(greeting);
            }
        }
    }

    pub(super) fn peers(&self) -> BTreeSet<MemberId> {
        let members = self.cluster.members().map(|(id, _)| id);
        let mut peers: BTreeSet<_> = members.chain(self.options.known.iter().copied()).collect();
        peers.remove(&self.options.id);
        peers
    }

    pub(super) fn receive(&mut self, envelope: Envelope) {
        let Envelope {
            cluster_id,
            from,
            to,
            boot,
            body: Some(body),
        } = envelope
        else {
            return;
        };
        if (cluster_id, to) != (self.options.cluster_id.0, self.options.id.0) {
            return;
        }
        if self.is_removed(MemberId(from)) {
            if !matches!(body, Body::Removed(_)) {
                let told = self.send(from, Body::Removed(Removed {}));
                self.effects.push(told);
            }
            return;
        }
        let newest = self.boots.entry(from).or_default();
        if boot < *newest {
            return;
        }
        *newest = boot;
        match body {
            Body::Raft(message) => self.step_raft(message),
            Body::Chunk(chunk) => self.receive_chunk(from, chunk),
            Body::ChunkReceived(received) => self.receive_progress(from, &received),
            Body::Hello(_) => {}
            Body::Removed(_) => {
                if self.peers().contains(&MemberId(from)) {
                    self.leave();
                    self.stop(StopReason::Removed);
                }
            }
        }
    }

    pub(super) fn is_removed(&self, id: MemberId) -> bool {
        self.cluster.is_removed(id)
    }

    pub(super) fn step_raft(&mut self, message: RaftMessage) {
        // A snapshot arrives in pieces, and its message with the last of them.
        if message.snapshot.is_some() {
            return;
        }
        let last = self.last().index;
        // A heartbeat commits no more than its receiver acknowledged in the term. The library would panic.
        let is_heartbeat = message.kind == MessageType::MsgHeartbeat as i32;
        if is_heartbeat && message.term >= self.raft.raft.term && message.commit > last {
            let known = message.commit;
            return self.stop(StopReason::EntriesLost { last, known });
        }
        if let Some(message) = to_raft(message, self.options.id.0) {
            // A message that does not fit the present term or members is dropped; Raft sends it again.
            drop(self.raft.step(message));
        }
    }

    pub(super) fn receive_chunk(&mut self, from: u64, chunk: SnapshotChunk) {
        match self.incoming.take(from, chunk, self.ticks) {
            Taken::Write(chunk) => self.effects.push(Effect::WriteChunk {
                from: MemberId(from),
                position: Position {
                    index: chunk.index,
                    term: chunk.term,
                },
                offset: chunk.offset,
                bytes: chunk.bytes,
                is_last: chunk.message.is_some(),
            }),
            Taken::Tell(received) => {
                let told = self.send(from, Body::ChunkReceived(received));
                self.effects.push(told);
            }
            Taken::Ignored => {}
        }
    }

    pub(super) fn receive_progress(&mut self, from: u64, received: &ChunkReceived) {
        match self.outgoing.received(from, received, self.ticks) {
            Ok(piece) => self.read_pieces(piece),
            Err(ended) => self.end_transfer(ended),
        }
    }

    pub(super) fn chunk_written(
        &mut self,
        from: u64,
        position: Position,
        received: u64,
        is_damaged: bool,
    ) {
        let written = self.incoming.written(from, position, received, is_damaged);
        let Some((received, message)) = written else {
            return;
        };
        let told = self.send(from, Body::ChunkReceived(received));
        self.effects.push(told);
        let id = self.options.id.0;
        if let Some(message) = message.and_then(|message| to_raft(message, id)) {
            drop(self.raft.step(message));
        }
    }

    pub(super) fn read_pieces(&mut self, pieces: impl IntoIterator<Item = Piece>) {
        let bytes_max = self.options.chunk_bytes;
        let effects = pieces.into_iter().map(|piece| Effect::ReadChunk {
            to: MemberId(piece.to),
            position: piece.position,
            offset: piece.offset,
            bytes_max,
        });
        self.effects.extend(effects);
    }

    pub(super) fn end_transfer(&mut self, ended: Ended) {
        let (to, status) = match ended {
            Ended::Complete(to) => (to, SnapshotStatus::Finish),
            Ended::GivenUp(to) => (to, SnapshotStatus::Failure),
        };
        self.raft.report_snapshot(to, status);
        self.release();
    }

    pub(super) fn send(&self, to: u64, body: Body) -> Effect {
        Effect::Send(Envelope {
            cluster_id: self.options.cluster_id.0,
            from: self.options.id.0,
            to,
            boot: self.options.boot,
            body: Some(body),
        })
    }
}
