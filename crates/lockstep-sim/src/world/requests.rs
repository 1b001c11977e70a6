//! Requests of clients on their way through the cluster.

use lockstep_mvcc::{MemberId, WriteError};
use lockstep_raftstore::{Input, RequestId};
use lockstep_storage::contract::histories::{Outcome, RecordedRequest, Request};

use super::{Happening, World};
use crate::clients::{self, Asked, Form};
use crate::invariants::Broken;
use crate::planted::Bug;

/// The client that writes once more after everything healed.
const LAST_WRITER: usize = 0;

impl World {
    /// Lets a client send its next request to a member.
    pub(super) fn ask(&mut self, client: usize) -> Result<(), Broken> {
        if !self.is_busy || self.clients[client].asked.is_some() {
            return Ok(());
        }
        if self.is_quiet && client != LAST_WRITER {
            return Ok(());
        }
        let request = if self.is_quiet {
            self.clients[client].last_put()
        } else {
            self.clients[client].choose()
        };
        let ids: Vec<_> = self.hosts.keys().copied().collect();
        let nth = self.rng.below(ids.len() as u64);
        let member = ids[usize::try_from(nth).unwrap_or_default()];
        if !self.is_quiet {
            self.keep_alive(client)?;
        }
        self.send_request(client, member, request)
    }

    pub(super) fn send_request(
        &mut self,
        client: usize,
        member: MemberId,
        request: Request,
    ) -> Result<(), Broken> {
        let at = self.next_logical();
        let ttl_seconds = 1 + i64::try_from(self.rng.below(4)).unwrap_or_default();
        let form = clients::form(&request, ttl_seconds);
        let process = self
            .hosts
            .get_mut(&member)
            .and_then(|host| host.process.as_mut());
        let life = process.as_ref().map_or(0, |process| process.life);
        self.clients[client].asked = Some(RecordedRequest {
            store: life,
            at,
            answered_at: None,
            request,
            outcome: Outcome::Uncertain,
        });
        let now = self.now;
        let Some(process) = process.filter(|process| process.paused_until <= now) else {
            self.finish_request(client, Outcome::Refused);
            return Ok(());
        };
        let id = process.next_request();
        process.asked.insert(id, Asked::Client(client));
        let trusts = process.trusted_ticks > 0;
        let is_leader = process.member.node().role().is_leader;
        let is_trusting =
            self.has(Bug::ReadWithoutQuorum) || self.has(Bug::StaleReadAfterPause) && trusts;
        match form {
            Form::Write(command) => self.step(
                member,
                Input::Propose {
                    request: id,
                    command,
                },
            ),
            Form::Linearizable if !(is_leader && is_trusting) => {
                self.step(member, Input::Read { request: id })
            }
            Form::Linearizable | Form::Serializable => {
                self.read(member, id);
                Ok(())
            }
        }
    }

    /// Renews a lease of a client at the leader, without a record.
    fn keep_alive(&mut self, client: usize) -> Result<(), Broken> {
        let (lease, leader) = (self.clients[client].lease(), self.leader());
        let (Some(lease), Some(leader)) = (lease, leader) else {
            return Ok(());
        };
        let Some(process) = self.process(leader) else {
            return Ok(());
        };
        let request = process.next_request();
        process.asked.insert(request, Asked::Other);
        self.step(leader, Input::KeepAlive { request, lease })
    }

    /// Reads the state of a member for a client.
    pub(super) fn read(&mut self, member: MemberId, request: RequestId) {
        let Some(process) = self
            .hosts
            .get_mut(&member)
            .and_then(|host| host.process.as_mut())
        else {
            return;
        };
        let Some(Asked::Client(client)) = process.asked.remove(&request) else {
            return;
        };
        let machine = &process.member.state().machine;
        let asked = self.clients[client].asked.as_ref();
        let outcome = match asked.map(|asked| &asked.request) {
            Some(Request::Range(range, _)) => machine.range(range).map(Outcome::Range),
            Some(Request::Txn(txn)) => {
                let checked = clients::checked(txn);
                let read = checked.as_read_only().expect("writes are proposed");
                machine.read_txn(read).map(Outcome::Txn)
            }
            _ => return,
        };
        let outcome = outcome.map_err(WriteError::Read);
        self.finish_request(client, outcome.unwrap_or(Outcome::Refused));
    }

    pub(super) fn finish_request(&mut self, client: usize, outcome: Outcome) {
        let at = self.next_logical();
        let pause = if matches!(outcome, Outcome::Refused) {
            200
        } else {
            80
        };
        if self.is_quiet && self.clients[client].is_last(&outcome) {
            self.is_busy = false;
        }
        self.recorded
            .extend(self.clients[client].finish(outcome, at));
        let delay = 5 + self.rng.below(pause);
        self.schedule(delay, Happening::Client(client));
    }

    /// Lets a watcher follow some process.
    pub(super) fn follow(&mut self, watcher: usize) {
        if !self.watchers[watcher].is_free() {
            return;
        }
        let running = self.hosts.iter().filter(|(_, host)| host.process.is_some());
        let ids: Vec<_> = running.map(|(id, _)| *id).collect();
        let skips = self.has(Bug::WatchSkipsOnResume);
        let nth = self.rng.below(ids.len() as u64);
        let id = usize::try_from(nth).ok().and_then(|nth| ids.get(nth));
        let process = id.and_then(|id| self.hosts.get(id)?.process.as_ref());
        let (Some(id), Some(process)) = (id, process) else {
            self.schedule(100, Happening::Watcher(watcher));
            return;
        };
        let machine = &process.member.state().machine;
        let logical = &mut self.logical;
        self.watchers[watcher].follow(*id, process.life, machine, skips);
        self.watchers[watcher].read(machine, || {
            *logical += 1;
            *logical
        });
        if self.watchers[watcher].is_free() {
            self.schedule(20, Happening::Watcher(watcher));
        }
    }
}
