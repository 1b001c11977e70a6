//! A few members with a disk and a network that do everything at once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use lockstep_mvcc::{Command, Key, MemberId, Millis, Put};
use lockstep_raftstore::{
    Cluster, ClusterId, Contents, Envelope, FileOp, First, Identity, Input, Member, MemberOptions,
    Options, Output, RequestId, StopReason, cluster_id, member_id,
};

type Files = BTreeMap<String, Bytes>;

/// Members with their directories.
pub(crate) struct Net {
    pub(crate) cluster_id: ClusterId,
    pub(crate) ids: Vec<MemberId>,
    members: BTreeMap<MemberId, Member>,
    files: BTreeMap<MemberId, Files>,
    inputs: VecDeque<(MemberId, Input)>,
    /// Outputs other than messages and files.
    pub(crate) told: Vec<(MemberId, Output)>,
    pub(crate) sent: Vec<Envelope>,
    /// Members that nothing reaches and that reach none.
    pub(crate) away: BTreeSet<MemberId>,
    /// Members whose disk does nothing.
    pub(crate) stuck: BTreeSet<MemberId>,
    requests: u64,
}

pub(crate) fn put(value: &str) -> Command {
    let key = Key::new("k").expect("not empty");
    Command::Put(Put::new(key, value.to_owned()))
}

impl Net {
    /// A new cluster, with its first member as the leader.
    pub(crate) fn start(count: usize) -> Self {
        let urls = (0..count).map(|nth| vec![format!("http://host-{nth}:2380")]);
        let founders: Vec<_> = urls
            .map(|urls| (member_id(&urls, "test", None), urls))
            .collect();
        let ids: Vec<_> = founders.iter().map(|(id, _)| *id).collect();
        let cluster = Cluster::first(founders);
        let mut net = Self {
            cluster_id: cluster_id(&ids),
            ids: ids.clone(),
            members: BTreeMap::new(),
            files: BTreeMap::new(),
            inputs: VecDeque::new(),
            told: Vec::new(),
            sent: Vec::new(),
            away: BTreeSet::new(),
            stuck: BTreeSet::new(),
            requests: 0,
        };
        for id in &ids {
            net.open(*id, First::Founder(cluster.clone()));
        }
        net
    }

    /// Starts, or starts again, a member.
    pub(crate) fn open(&mut self, id: MemberId, first: First) {
        let identity = Identity {
            cluster_id: self.cluster_id,
            id,
        };
        let files = self.files.entry(id).or_default();
        let contents = Contents::read(identity, files, first).expect("the directory is whole");
        let mut node = Options::new(id, self.cluster_id, contents.boot, id.0);
        node.checkpoint_entries = 20;
        node.catch_up_entries = 5;
        node.chunk_bytes = 100;
        node.known.clone_from(&self.ids);
        let options = MemberOptions {
            node,
            name: format!("{:x}", id.0),
            client_urls: Vec::new(),
            segment_bytes: 1000,
            salt: 1,
        };
        let opened = Member::open(options, contents);
        let (member, outputs) = opened.expect("the directory is whole");
        self.members.insert(id, member);
        self.act(id, outputs);
        self.settle();
    }

    pub(crate) fn member(&self, id: MemberId) -> &Member {
        &self.members[&id]
    }

    pub(crate) fn leader(&self) -> Option<MemberId> {
        let present = self
            .members
            .iter()
            .filter(|(id, _)| !self.away.contains(id));
        let mut leaders = present.filter(|(_, member)| member.node().role().is_leader);
        leaders.next().map(|(id, _)| *id)
    }

    /// Lets time pass until a member leads that is not away and knows it.
    pub(crate) fn elect(&mut self) -> MemberId {
        for _ in 0..1000 {
            self.tick();
            if let Some(leader) = self.leader() {
                // Long enough to publish its attributes.
                (0..30).for_each(|_| self.tick());
                if self.leader() == Some(leader) {
                    return leader;
                }
            }
        }
        panic!("no member leads");
    }

    pub(crate) fn tick(&mut self) {
        let ids: Vec<_> = self.members.keys().copied().collect();
        for id in ids {
            self.inputs.push_back((id, Input::Tick { now: Millis(0) }));
        }
        self.settle();
    }

    /// Gives an input to a member, and lets everything happen that follows.
    pub(crate) fn input(&mut self, id: MemberId, input: Input) {
        self.inputs.push_back((id, input));
        self.settle();
    }

    /// Sends a request, and returns the outputs that answer it so far.
    pub(crate) fn ask(
        &mut self,
        id: MemberId,
        input: impl FnOnce(RequestId) -> Input,
    ) -> RequestId {
        self.requests += 1;
        let request = RequestId(self.requests);
        self.input(id, input(request));
        request
    }

    pub(crate) fn put(&mut self, id: MemberId, value: &str) -> RequestId {
        let command = put(value);
        self.ask(id, |request| Input::Propose { request, command })
    }

    /// The answer to a request.
    pub(crate) fn answer(&self, asked: RequestId) -> Option<&Output> {
        let mut told = self.told.iter().map(|(_, output)| output);
        told.find(|output| match output {
            Output::Applied { request, .. }
            | Output::ReadReady { request }
            | Output::KeptAlive { request, .. }
            | Output::Done { request }
            | Output::Refused { request, .. } => *request == asked,
            _ => false,
        })
    }

    pub(crate) fn stopped(&self, id: MemberId) -> Option<&StopReason> {
        self.told.iter().find_map(|(member, output)| match output {
            Output::Stop(reason) if *member == id => Some(reason),
            _ => None,
        })
    }

    fn settle(&mut self) {
        while let Some((id, input)) = self.inputs.pop_front() {
            let is_message = matches!(input, Input::Message(_));
            if is_message && self.away.contains(&id) {
                continue;
            }
            if let Some(member) = self.members.get_mut(&id) {
                let outputs = member.step(input);
                self.act(id, outputs);
            }
        }
    }

    fn act(&mut self, id: MemberId, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Send(envelope) => {
                    self.sent.push(envelope.clone());
                    if !self.away.contains(&id) {
                        let to = MemberId(envelope.to);
                        self.inputs.push_back((to, Input::Message(envelope)));
                    }
                }
                Output::Files { job, ops } => {
                    if self.stuck.contains(&id) {
                        continue;
                    }
                    let files = self.files.entry(id).or_default();
                    for op in ops {
                        perform(files, op);
                    }
                    self.inputs.push_back((id, Input::FilesDone { job }));
                }
                Output::ReadFile {
                    name,
                    offset,
                    bytes_max,
                    purpose,
                } => {
                    let content = self.files[&id].get(&name).cloned();
                    let length = content.as_ref().map_or(0, Bytes::len);
                    let start = usize::try_from(offset).expect("files are small");
                    let end = start.saturating_add(bytes_max).min(length);
                    let read = Input::FileRead {
                        purpose,
                        bytes: content.map(|content| content.slice(start..end)),
                        is_last: end == length,
                    };
                    self.inputs.push_back((id, read));
                }
                output => self.told.push((id, output)),
            }
        }
    }
}

fn perform(files: &mut Files, op: FileOp) {
    match op {
        FileOp::Create { name } => {
            files.insert(name, Bytes::new());
        }
        FileOp::Write { name, bytes, .. } => {
            // All writes of members append.
            let content = [&files[&name][..], &bytes[..]].concat();
            files.insert(name, content.into());
        }
        FileOp::Rename { from, to } => {
            let content = files.remove(&from).expect("it is renamed once");
            files.insert(to, content);
        }
        FileOp::Remove { name } => {
            files.remove(&name);
        }
        FileOp::Sync { .. } | FileOp::SyncNames => {}
    }
}
