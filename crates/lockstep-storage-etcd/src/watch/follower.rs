//! Reads a watch's stream, and opens the next one where the last one ended.

use std::sync::Arc;
use std::time::Duration;

use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_etcd_api::response::revision_of;
use lockstep_etcd_api::watch::event_from_wire;
use lockstep_storage::{
    Consistency, ReadFailure, Revision, WatchError, WatchMessage, WatchSelector,
};
use tokio::time::{sleep, sleep_until};

use super::goal::Goal;
use super::position::Position;
use super::replay::{Replayed, replay};
use super::source::Wish;
use super::stream::WatchStream;
use crate::cluster::Cluster;
use crate::reads;
use crate::verdict::{Elsewhere, Verdict, unavailable};

/// How long to wait before a broken watch is made again, the first time and at most.
const RESUME_PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// After how long in silence the member is asked how far it is, so that a watch without news can
/// be made again after a compaction.
const SILENCE_MAX: Duration = Duration::from_secs(60);

pub(super) struct Follower {
    cluster: Arc<Cluster>,
    selector: WatchSelector,
    position: Position,
    stream: Option<WatchStream>,
    wish: Arc<Wish>,
    goal: Goal,
}

enum Happened {
    Response(Result<pb::WatchResponse, String>),
    Wished,
    Due,
    Silence,
}

impl Follower {
    pub(super) fn new(cluster: Arc<Cluster>, selector: WatchSelector, from: Revision) -> Self {
        Self {
            cluster,
            selector,
            position: Position::new(from),
            stream: None,
            wish: Arc::default(),
            goal: Goal::None,
        }
    }

    pub(super) fn wish(&self) -> Arc<Wish> {
        self.wish.clone()
    }

    /// Makes the watch for the first time, and answers with the revision of the member.
    pub(super) async fn open(&mut self) -> Result<Revision, ReadFailure> {
        let mut attempts_left = self.cluster.members();
        loop {
            match self.try_open().await {
                Ok(created_at) => return Ok(created_at),
                Err(verdict) if attempts_left == 0 || !may_help(&verdict) => {
                    return Err(verdict.of_read());
                }
                Err(_) => attempts_left -= 1,
            }
        }
    }

    async fn try_open(&mut self) -> Result<Revision, Verdict> {
        let stream = WatchStream::open(&self.cluster, &self.selector, self.position.next());
        let stream = self.stream.insert(stream.await?);
        Ok(stream.created_at)
    }

    /// Makes the watch again, as often as it takes.
    async fn resume(&mut self) -> Result<(), WatchError> {
        let (mut pause, pause_max) = RESUME_PAUSE;
        self.position.restart();
        while let Err(verdict) = self.try_open().await {
            if !may_help(&verdict) {
                return Err(ended(verdict));
            }
            sleep(pause).await;
            pause = pause_max.min(pause * 2);
        }
        Ok(())
    }

    /// The next message. The future is polled to its end, whoever waits for it.
    pub(super) async fn next(&mut self) -> Result<WatchMessage, WatchError> {
        loop {
            if self.wish.take() {
                self.goal = Goal::asked_now();
            }
            if let Some(progress) = self.reached() {
                return Ok(progress);
            }
            let Some(stream) = &mut self.stream else {
                self.resume().await?;
                continue;
            };
            match wait(stream, self.goal, &self.wish).await {
                Happened::Wished => {}
                Happened::Due => self.pursue().await?,
                Happened::Silence => stream.ask_for_progress(),
                Happened::Response(Ok(response)) => {
                    if let Some(message) = self.take_in(response)? {
                        return Ok(message);
                    }
                }
                Happened::Response(Err(_)) => {
                    self.cluster.leave(&stream.connection);
                    self.stream = None;
                }
            }
        }
    }

    /// What can be told if everything owed is delivered.
    fn reached(&mut self) -> Option<WatchMessage> {
        let Goal::Owed { target, owed } = self.goal else {
            return None;
        };
        let delivered = self.position.next().previous();
        if delivered < owed {
            return None;
        }
        // A watch that begins in the future may have nothing before it, and still has not begun.
        let progress = self.position.progress(target.max(owed));
        self.goal = match progress {
            Some(_) => Goal::None,
            None => Goal::asked_again(),
        };
        progress
    }

    /// Does the next step towards the goal.
    async fn pursue(&mut self) -> Result<(), WatchError> {
        let Some(stream) = &self.stream else {
            return Ok(());
        };
        let in_order = stream.connection.member().version.tells_progress_in_order();
        match self.goal {
            Goal::None | Goal::Owed { .. } => {}
            Goal::Told { target, .. } if in_order => {
                stream.ask_for_progress();
                self.goal = Goal::told_again(target);
            }
            // Also after a change from a member whose word could be trusted to one of an older
            // release.
            Goal::Asked { .. } | Goal::Told { .. } => {
                let present = reads::revision(&self.cluster, Consistency::Linearizable).await;
                self.goal = match present {
                    Ok(target) if in_order => Goal::told_now(target),
                    Ok(target) => self.owed(target).await?,
                    Err(_) => Goal::asked_again(),
                };
            }
        }
        Ok(())
    }

    async fn owed(&self, target: Revision) -> Result<Goal, WatchError> {
        let next = self.position.next();
        match replay(&self.cluster, &self.selector, next, target).await {
            Replayed::Newest(owed) => Ok(Goal::Owed { target, owed }),
            Replayed::Compacted(compacted) => Err(self.compacted(compacted)),
            Replayed::Unread => Ok(Goal::asked_again()),
        }
    }

    fn take_in(&mut self, response: pb::WatchResponse) -> Result<Option<WatchMessage>, WatchError> {
        if response.canceled {
            return Err(self.canceled(&response));
        }
        if response.created {
            return Ok(None);
        }
        let senseless = |error: lockstep_etcd_api::response::Unexpected| {
            WatchError::from(unavailable(error.to_string()))
        };
        let message = if response.events.is_empty() {
            let progress = revision_of(response.header).map_err(senseless)?;
            self.progress(progress)
        } else {
            let events = response.events.into_iter().map(event_from_wire);
            let events = events.collect::<Result<_, _>>().map_err(senseless)?;
            self.position.events(events, response.fragment)
        };
        if let Some(WatchMessage::Events { progress, .. } | WatchMessage::Progress { progress }) =
            message
        {
            self.cluster.see(progress);
        }
        Ok(message)
    }

    fn canceled(&self, response: &pb::WatchResponse) -> WatchError {
        match u64::try_from(response.compact_revision) {
            Ok(0) | Err(_) => {
                unavailable(format!("watch canceled: {}", response.cancel_reason)).into()
            }
            Ok(compacted) => self.compacted(Revision(compacted)),
        }
    }

    /// Tells where the next watch may begin: not where this one was refused, which it is by a
    /// member that may lose what was deleted there.
    fn compacted(&self, compacted: Revision) -> WatchError {
        let compacted = if compacted == self.position.next() {
            compacted.next()
        } else {
            compacted
        };
        WatchError::Compacted { compacted }
    }

    fn progress(&mut self, progress: Revision) -> Option<WatchMessage> {
        let message = self.position.progress(progress)?;
        if let Goal::Told { target, .. } = self.goal
            && progress >= target
        {
            self.goal = Goal::None;
        }
        Some(message)
    }
}

async fn wait(stream: &mut WatchStream, goal: Goal, wish: &Wish) -> Happened {
    let may_ask = stream.connection.member().version.tells_progress_in_order();
    let due = async {
        match goal.due() {
            Some(due) => sleep_until(due).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        response = stream.next() => Happened::Response(response),
        () = wish.made() => Happened::Wished,
        () = due => Happened::Due,
        () = sleep(SILENCE_MAX), if may_ask => Happened::Silence,
    }
}

fn may_help(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::NotDone { elsewhere, .. } => *elsewhere == Elsewhere::MayHelp,
        Verdict::Unknown { .. } => true,
        Verdict::Wrong(_) | Verdict::Refused(_) => false,
    }
}

fn ended(verdict: Verdict) -> WatchError {
    match verdict {
        Verdict::Wrong(error) => unavailable(error.to_string()).into(),
        Verdict::Refused(error) => unavailable(error.to_string()).into(),
        Verdict::NotDone { reason, .. } | Verdict::Unknown { reason } => unavailable(reason).into(),
    }
}
