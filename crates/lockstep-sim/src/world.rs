//! The event loop of a simulated cluster.

mod effects;
mod faults;
mod requests;
mod verdict;

use std::collections::{BTreeMap, VecDeque};

use lockstep_mvcc::MemberId;
use lockstep_raftstore::{
    Cluster, ClusterId, Contents, Envelope, First, Identity, Input, Member, MemberOptions, Options,
    ReadPurpose, cluster_id, member_id,
};
use lockstep_storage::contract::histories::{RecordedRequest, Rng};

use crate::clients::Client;
use crate::disk::Disk;
use crate::host::{Host, Process};
use crate::invariants::{self, Broken, Committed, Leaders, Membership};
use crate::nemesis::{self, Fault};
use crate::network::Network;
use crate::planted::Bug;
use crate::watchers::Watcher;
use crate::{Plan, Report};

/// Members that start a cluster.
const FOUNDERS: usize = 3;

/// Something that happens at a time.
#[derive(Debug)]
pub(super) enum Happening {
    Tick(MemberId, usize),
    Deliver(MemberId, Box<Envelope>),
    /// The next file operation of a job.
    FileOp(MemberId, usize, u64),
    ReadFile {
        at: (MemberId, usize),
        name: String,
        offset: u64,
        bytes_max: usize,
        purpose: ReadPurpose,
    },
    Start(MemberId),
    Kill(MemberId),
    Client(usize),
    Watcher(usize),
    Nemesis,
    Heal,
    /// Clients send nothing new.
    Quiet,
}

impl Happening {
    /// The process that has to be running, if it is about one.
    fn process(&self) -> Option<(MemberId, Option<usize>)> {
        match self {
            Self::Tick(member, life) | Self::FileOp(member, life, _) => {
                Some((*member, Some(*life)))
            }
            Self::ReadFile { at, .. } => Some((at.0, Some(at.1))),
            Self::Deliver(member, _) => Some((*member, None)),
            Self::Start(_)
            | Self::Kill(_)
            | Self::Client(_)
            | Self::Watcher(_)
            | Self::Nemesis
            | Self::Heal
            | Self::Quiet => None,
        }
    }
}

/// A cluster with its clients.
pub(crate) struct World {
    plan: Plan,
    rng: Rng,
    now: u64,
    queue: BTreeMap<(u64, u64), Happening>,
    scheduled: u64,
    cluster_id: ClusterId,
    hosts: BTreeMap<MemberId, Host>,
    network: Network,
    lives: usize,
    /// Logical time of requests and answers.
    logical: u64,
    clients: Vec<Client>,
    watchers: Vec<Watcher>,
    recorded: Vec<RecordedRequest>,
    /// False once everything has healed.
    is_faulty: bool,
    /// True once only one client writes a last time.
    is_quiet: bool,
    /// False once that has succeeded.
    is_busy: bool,
    leaders: Leaders,
    committed: Committed,
    membership: Membership,
    /// The newest membership that was applied, and its index.
    cluster: (u64, Cluster),
    report: Report,
}

impl World {
    pub(crate) fn new(plan: Plan) -> Self {
        let mut rng = Rng::new(plan.seed);
        let urls = (0..FOUNDERS).map(|nth| vec![format!("http://founder-{nth}:2380")]);
        let founders: Vec<_> = urls
            .map(|urls| (member_id(&urls, "simulated", None), urls))
            .collect();
        let ids: Vec<_> = founders.iter().map(|(id, _)| *id).collect();
        let cluster = Cluster::first(founders);
        let clients = (0..plan.clients).map(|name| Client::new(name, rng.fork()));
        let clients = clients.collect();
        let watchers = (0..plan.watchers).map(|_| Watcher::new(rng.fork()));
        let mut world = Self {
            plan,
            now: 0,
            queue: BTreeMap::new(),
            scheduled: 0,
            cluster_id: cluster_id(&ids),
            hosts: BTreeMap::new(),
            network: Network::default(),
            lives: 0,
            logical: 0,
            clients,
            watchers: watchers.collect(),
            recorded: Vec::new(),
            is_faulty: true,
            is_quiet: false,
            is_busy: true,
            leaders: Leaders::default(),
            committed: Committed::default(),
            membership: Membership::default(),
            cluster: (1, cluster.clone()),
            report: Report::default(),
            rng,
        };
        for id in ids {
            world.add_host(id, First::Founder(cluster.clone()));
        }
        for client in 0..plan.clients {
            world.schedule(500, Happening::Client(client));
        }
        for watcher in 0..plan.watchers {
            world.schedule(700, Happening::Watcher(watcher));
        }
        world.schedule(2000, Happening::Nemesis);
        world.schedule(plan.faulty_millis, Happening::Heal);
        world
    }

    /// Runs to the end, and checks what is checked at the end.
    pub(crate) fn run(mut self) -> Result<Report, Broken> {
        let end = self.plan.faulty_millis + invariants::convergence::HEAL_MILLIS_MAX;
        while self.is_faulty || self.is_busy || !self.is_converged() {
            let is_late = self.now >= end;
            invariants::convergence::check(!is_late, || {
                format!("the members do not agree: {}", self.shown())
            })?;
            self.happen()?;
        }
        self.finish(end)
    }

    fn happen(&mut self) -> Result<(), Broken> {
        let Some(((at, nth), happening)) = self.queue.pop_first() else {
            return Err("nothing is left to happen".to_owned());
        };
        self.now = at;
        if let Some((member, life)) = happening.process() {
            let host = self.hosts.get(&member);
            let process = host.and_then(|host| host.process.as_ref());
            let process = process.filter(|process| life.is_none_or(|life| process.life == life));
            let Some(process) = process else {
                return Ok(());
            };
            if process.paused_until > at {
                // In the order in which it would have happened.
                self.queue.insert((process.paused_until, nth), happening);
                return Ok(());
            }
        }
        self.report.events += 1;
        let text = format!("{at} {happening:?}");
        self.report.digest = crc32c::crc32c_append(self.report.digest, text.as_bytes());
        match happening {
            Happening::Tick(member, life) => self.tick(member, life),
            Happening::Deliver(member, envelope) => self.deliver(member, *envelope),
            Happening::FileOp(member, life, job) => self.file_op(member, life, job),
            Happening::ReadFile {
                at,
                name,
                offset,
                bytes_max,
                purpose,
            } => self.read_file(at.0, &name, offset, bytes_max, purpose),
            Happening::Start(member) => self.start(member),
            Happening::Kill(member) => self.strike(Fault::Kill(member)),
            Happening::Client(client) => self.ask(client),
            Happening::Watcher(watcher) => {
                self.follow(watcher);
                Ok(())
            }
            Happening::Nemesis => self.nemesis(),
            Happening::Heal => {
                self.heal();
                Ok(())
            }
            Happening::Quiet => {
                self.is_quiet = true;
                self.ask(0)
            }
        }
    }

    fn schedule(&mut self, delay: u64, happening: Happening) {
        self.scheduled += 1;
        self.queue
            .insert((self.now + delay, self.scheduled), happening);
    }

    fn has(&self, bug: Bug) -> bool {
        self.plan.bug == Some(bug)
    }

    fn process(&mut self, member: MemberId) -> Option<&mut Process> {
        self.hosts.get_mut(&member)?.process.as_mut()
    }

    fn add_host(&mut self, id: MemberId, first: First) {
        let host = Host {
            disk: Disk::default(),
            first,
            process: None,
            is_removed: false,
            disk_millis: 3,
        };
        self.hosts.insert(id, host);
        let delay = 1 + self.rng.below(50);
        self.schedule(delay, Happening::Start(id));
    }

    /// Starts the process of a host, unless it runs or was removed.
    fn start(&mut self, id: MemberId) -> Result<(), Broken> {
        let omissions = self.plan.bug.map(Bug::omissions).unwrap_or_default();
        let (seed, salt) = (self.rng.next_u64(), self.rng.next_u64());
        let rate = 900 + self.rng.below(200);
        let identity = Identity {
            cluster_id: self.cluster_id,
            id,
        };
        let known = self.hosts.keys().copied().collect();
        let Some(host) = self.hosts.get_mut(&id) else {
            return Ok(());
        };
        if host.process.is_some() || host.is_removed {
            return Ok(());
        }
        let contents = Contents::read(identity, &host.disk.read_all(), host.first.clone());
        let mut contents = contents.map_err(|error| format!("{:x} cannot start: {error}", id.0))?;
        self.plant_at_start(&mut contents);
        let mut node = Options::new(id, self.cluster_id, contents.boot, seed);
        node.checkpoint_entries = 40;
        node.catch_up_entries = 15;
        node.chunk_bytes = 700;
        node.request_ticks = 30;
        node.omissions = omissions;
        node.known = known;
        // Without the strict rules, the cluster is changed in worse moments.
        node.limits.is_strict = self.plan.seed.is_multiple_of(2);
        let options = MemberOptions {
            node,
            name: format!("{:x}", id.0),
            client_urls: Vec::new(),
            segment_bytes: 4096,
            salt,
        };
        let opened = Member::open(options, contents);
        let (member, outputs) =
            opened.map_err(|error| format!("{:x} cannot start: {error}", id.0))?;
        self.lives += 1;
        let life = self.lives;
        let process = Process::new(life, member, self.now, rate);
        let tick_millis = process.tick_millis();
        if let Some(host) = self.hosts.get_mut(&id) {
            host.process = Some(process);
        }
        let first_tick = self.rng.below(tick_millis);
        self.schedule(first_tick, Happening::Tick(id, life));
        self.act(id, outputs)
    }

    fn tick(&mut self, member: MemberId, life: usize) -> Result<(), Broken> {
        let now = self.now;
        let Some(process) = self.process(member) else {
            return Ok(());
        };
        process.trusted_ticks = process.trusted_ticks.saturating_sub(1);
        let (clock, tick_millis) = (process.clock(now), process.tick_millis());
        self.schedule(tick_millis, Happening::Tick(member, life));
        self.step(member, Input::Tick { now: clock })
    }

    /// Gives an input to a process, and acts on its outputs.
    fn step(&mut self, member: MemberId, input: Input) -> Result<(), Broken> {
        let Some(process) = self.process(member) else {
            return Ok(());
        };
        let outputs = process.member.step(input);
        self.act(member, outputs)
    }

    fn nemesis(&mut self) -> Result<(), Broken> {
        if !self.is_faulty {
            return Ok(());
        }
        let removed = self
            .hosts
            .iter()
            .filter(|(id, _)| self.cluster.1.is_removed(**id));
        let removed: Vec<_> = removed.map(|(id, _)| *id).collect();
        let (cluster, bug) = (&self.cluster.1, self.plan.bug);
        let fault = nemesis::choose(&mut self.rng, cluster, self.now, bug, &removed);
        let next = 100 + self.rng.below(1200);
        self.schedule(next, Happening::Nemesis);
        self.strike(fault)
    }

    fn next_logical(&mut self) -> u64 {
        self.logical += 1;
        self.logical
    }

    /// Jobs of a process, by which file operations follow each other.
    fn jobs(
        &mut self,
        member: MemberId,
    ) -> Option<&mut BTreeMap<u64, VecDeque<lockstep_raftstore::FileOp>>> {
        Some(&mut self.process(member)?.jobs)
    }
}
