//! Faults that strike.

use lockstep_mvcc::MemberId;
use lockstep_raftstore::Input;
use lockstep_storage::contract::histories::Outcome;

use super::{Happening, World};
use crate::clients::Asked;
use crate::host::Process;
use crate::invariants::Broken;
use crate::nemesis::Fault;

/// Time between the end of all faults and the end of all requests.
const QUIET_AFTER_MILLIS: u64 = 3000;

impl World {
    pub(super) fn strike(&mut self, fault: Fault) -> Result<(), Broken> {
        let now = self.now;
        match fault {
            Fault::Kill(id) => self.end_for_a_while(id),
            Fault::PowerOff(id) => self.power_off(id),
            Fault::PowerOffAll => {
                let all: Vec<_> = self.hosts.keys().copied().collect();
                for id in all {
                    self.power_off(id);
                }
            }
            Fault::Pause(id, millis) => {
                if let Some(process) = self.process(id) {
                    process.paused_until = now + millis;
                }
            }
            Fault::Jump(id, millis) => {
                if let Some(process) = self.process(id) {
                    process.ahead += millis;
                }
            }
            Fault::Partition { side, is_one_way } => {
                let all: Vec<_> = self.hosts.keys().copied().collect();
                for from in &side {
                    for to in all.iter().filter(|id| !side.contains(id)) {
                        self.network.cut(*from, *to);
                        if !is_one_way {
                            self.network.cut(*to, *from);
                        }
                    }
                }
            }
            Fault::Chaos {
                lose_one_in,
                duplicate_one_in,
                delay_one_in,
            } => {
                self.network.lose_one_in = lose_one_in;
                self.network.duplicate_one_in = duplicate_one_in;
                self.network.delay_one_in = delay_one_in;
            }
            Fault::Contest => {
                self.network.is_contested = true;
                if let Some(leader) = self.leader() {
                    self.end_for_a_while(leader);
                }
            }
            Fault::Heal => self.network.heal(),
            Fault::SlowDisk(id, millis) => {
                if let Some(host) = self.hosts.get_mut(&id) {
                    host.disk_millis = millis;
                }
            }
            Fault::Change(change) => {
                let leader = self.leader();
                if let Some(process) = leader.and_then(|id| self.process(id)) {
                    let request = process.next_request();
                    process.asked.insert(request, Asked::Other);
                    let leader = leader.unwrap_or_default();
                    return self.step(leader, Input::Change { request, change });
                }
            }
            Fault::Transfer(to) => {
                let leader = self.leader();
                if let Some(process) = leader.and_then(|id| self.process(id)) {
                    let request = process.next_request();
                    process.asked.insert(request, Asked::Other);
                    let leader = leader.unwrap_or_default();
                    return self.step(leader, Input::Transfer { request, to });
                }
            }
        }
        Ok(())
    }

    /// A member that believes to lead and is not paused.
    pub(super) fn leader(&self) -> Option<MemberId> {
        let is_leading = |process: &Process| {
            process.member.node().role().is_leader && process.paused_until <= self.now
        };
        let mut hosts = self.hosts.iter();
        let (id, _) = hosts.find(|(_, host)| host.process.as_ref().is_some_and(is_leading))?;
        Some(*id)
    }

    /// Ends a process in the middle of something: by a kill, or with the power.
    pub(super) fn crash(&mut self, id: MemberId, life: usize) {
        let is_running = self.process(id).is_some_and(|process| process.life == life);
        if !is_running {
            return;
        }
        if self.rng.one_in(2) {
            self.power_off(id);
        } else {
            self.end_for_a_while(id);
        }
    }

    fn power_off(&mut self, id: MemberId) {
        self.end_for_a_while(id);
        if let Some(host) = self.hosts.get_mut(&id) {
            host.disk.lose_power(&mut self.rng);
        }
    }

    fn end_for_a_while(&mut self, id: MemberId) {
        if self.end(id) {
            // Some supervisors are quick.
            let longest = if self.rng.one_in(2) { 30 } else { 3000 };
            let delay = 5 + self.rng.below(longest);
            self.schedule(delay, Happening::Start(id));
        }
    }

    /// Ends a process. Writes that were under way have an uncertain outcome.
    pub(super) fn end(&mut self, id: MemberId) -> bool {
        let process = self.hosts.get_mut(&id).and_then(|host| host.process.take());
        let Some(process) = process else {
            return false;
        };
        self.report.crashes += 1;
        for asked in process.asked.into_values() {
            if let Asked::Client(client) = asked {
                self.finish_request(client, Outcome::Uncertain);
            }
        }
        for nth in 0..self.watchers.len() {
            if self.watchers[nth].follows(id, process.life) {
                self.watchers[nth].leave();
                let delay = 1 + self.rng.below(300);
                self.schedule(delay, Happening::Watcher(nth));
            }
        }
        true
    }

    /// Ends all faults.
    pub(super) fn heal(&mut self) {
        self.is_faulty = false;
        self.network.heal();
        let now = self.now;
        let ids: Vec<_> = self.hosts.keys().copied().collect();
        for host in self.hosts.values_mut() {
            host.disk_millis = 3;
            if let Some(process) = &mut host.process {
                process.paused_until = process.paused_until.min(now);
            }
        }
        for id in ids {
            self.schedule(1, Happening::Start(id));
        }
        self.schedule(QUIET_AFTER_MILLIS, Happening::Quiet);
    }
}
