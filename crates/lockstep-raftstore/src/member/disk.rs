//! Files of a member: jobs of its disk, and their completion.

use lockstep_mvcc::MemberId;

use super::io::{Output, ReadPurpose};
use super::jobs::Done;
use super::open::{checkpoint_name, snapshot_name};
use super::{INCOMING, Member};
use crate::entry::Position;
use crate::files::FileOp;
use crate::node::{Event, Persist};

impl Member {
    pub(super) fn read_piece(
        &mut self,
        to: MemberId,
        position: Position,
        offset: u64,
        bytes_max: usize,
    ) {
        let purpose = ReadPurpose::Piece {
            to,
            position,
            offset,
        };
        match self.states.get(&position.index) {
            Some(name) => self.outputs.push(Output::ReadFile {
                name: name.clone(),
                offset,
                bytes_max,
                purpose,
            }),
            None => self.node_step(Event::ChunkRead {
                to,
                position,
                offset,
                bytes: None,
                is_last: true,
            }),
        }
    }

    pub(super) fn release(&mut self, log: u64, checkpoint: u64) {
        let mut ops = self.log.release(log);
        let needed = self.states.split_off(&checkpoint);
        for name in std::mem::replace(&mut self.states, needed).into_values() {
            ops.push(FileOp::Remove { name });
        }
        if !ops.is_empty() {
            self.state_lane.push(ops, Done::Released);
        }
    }

    pub(super) fn files_done(&mut self, job: u64) {
        let done = self
            .log_lane
            .finish(job)
            .or_else(|| self.state_lane.finish(job));
        match done {
            None | Some(Done::Released) => {}
            Some(Done::Opened) => self.is_open = true,
            Some(Done::Persisted { ticket }) => self.node_step(Event::Persisted { ticket }),
            Some(Done::Installed { ticket }) => {
                self.state = self.received.take().expect("a snapshot was checked before");
                self.expiry.stop();
                self.outputs.push(Output::Installed);
                self.outputs.push(Output::StateChanged);
                self.node_step(Event::Persisted { ticket });
            }
            Some(Done::Checkpoint(position, cluster)) => {
                let name = checkpoint_name(position.index);
                self.states.insert(position.index, name);
                let cluster = *cluster;
                self.node_step(Event::CheckpointWritten { position, cluster });
            }
            Some(Done::Piece {
                from,
                position,
                received,
                is_last,
            }) => {
                if is_last {
                    self.outputs.push(Output::ReadFile {
                        name: INCOMING.to_owned(),
                        offset: 0,
                        bytes_max: usize::MAX,
                        purpose: ReadPurpose::Snapshot { from, position },
                    });
                } else {
                    self.node_step(Event::ChunkWritten {
                        from,
                        position,
                        received,
                        is_damaged: false,
                    });
                }
            }
        }
    }

    pub(super) fn start_jobs(&mut self) {
        self.collect_writes();
        for lane in [&mut self.log_lane, &mut self.state_lane] {
            if let Some((job, ops)) = lane.start(&mut self.next_job) {
                self.outputs.push(Output::Files { job, ops });
            }
        }
    }

    /// Group commit: all writes that wait go into one frame, unless one of them installs a snapshot.
    pub(super) fn collect_writes(&mut self) {
        if !self.log_lane.is_idle() || self.unwritten.is_empty() {
            return;
        }
        let installs = |persist: &Persist| persist.install.is_some();
        if self.unwritten.front().is_some_and(installs)
            && let Some(persist) = self.unwritten.pop_front()
        {
            let (ops, done) = self.install(persist);
            self.log_lane.push(ops, done);
            return;
        }
        let end = self.unwritten.iter().position(installs);
        let end = end.unwrap_or(self.unwritten.len());
        let writes: Vec<_> = self.unwritten.drain(..end).collect();
        let ticket = writes.last().map_or(0, |write| write.ticket);
        let ops = self.log.append(&writes);
        self.log_lane.push(ops, Done::Persisted { ticket });
    }

    pub(super) fn install(&mut self, persist: Persist) -> (Vec<FileOp>, Done) {
        let position = persist.install.unwrap_or_default();
        let name = snapshot_name(position.index);
        self.states.insert(position.index, name.clone());
        let mut ops = vec![
            FileOp::Rename {
                from: INCOMING.to_owned(),
                to: name,
            },
            FileOp::SyncNames,
        ];
        let ticket = persist.ticket;
        ops.extend(
            self.log
                .install(position, persist.hard_state.unwrap_or_default()),
        );
        if !persist.entries.is_empty() {
            ops.extend(self.log.append(&[persist]));
        }
        (ops, Done::Installed { ticket })
    }
}
