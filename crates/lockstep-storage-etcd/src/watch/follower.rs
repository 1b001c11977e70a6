//! A resumable watch: reads a stream and opens the next one where it ended.

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
use super::source::ProgressSignal;
use super::stream::WatchStream;
use crate::call_error::{CallError, RetryElsewhere, unavailable};
use crate::cluster::Cluster;
use crate::reads;

/// Initial and maximum backoff of resuming a watch.
const RESUME_BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// Idle time after which progress is requested, so that a watch without events can resume after a compaction.
const SILENCE_MAX: Duration = Duration::from_secs(60);

pub(super) struct Follower {
    cluster: Arc<Cluster>,
    selector: WatchSelector,
    position: Position,
    stream: Option<WatchStream>,
    progress_signal: Arc<ProgressSignal>,
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
            progress_signal: Arc::default(),
            goal: Goal::None,
        }
    }

    pub(super) fn progress_signal(&self) -> Arc<ProgressSignal> {
        self.progress_signal.clone()
    }

    /// Opens the first stream; returns the member's revision.
    pub(super) async fn open(&mut self) -> Result<Revision, ReadFailure> {
        let mut attempts_left = self.cluster.members();
        loop {
            match self.try_open().await {
                Ok(created_at) => return Ok(created_at),
                Err(call_error) if attempts_left == 0 || !may_help(&call_error) => {
                    return Err(call_error.of_read());
                }
                Err(_) => attempts_left -= 1,
            }
        }
    }

    async fn try_open(&mut self) -> Result<Revision, CallError> {
        let stream = WatchStream::open(&self.cluster, &self.selector, self.position.next());
        let stream = self.stream.insert(stream.await?);
        Ok(stream.created_at)
    }

    /// Opens a new stream, retrying without limit.
    async fn resume(&mut self) -> Result<(), WatchError> {
        let (mut pause, pause_max) = RESUME_BACKOFF;
        self.position.restart();
        while let Err(call_error) = self.try_open().await {
            if !may_help(&call_error) {
                return Err(ended(call_error));
            }
            sleep(pause).await;
            pause = pause_max.min(pause * 2);
        }
        Ok(())
    }

    /// The next message. The caller must poll the future to completion, even across calls.
    pub(super) async fn next(&mut self) -> Result<WatchMessage, WatchError> {
        loop {
            if self.progress_signal.take() {
                self.goal = Goal::asked_now();
            }
            if let Some(progress) = self.reached() {
                return Ok(progress);
            }
            let Some(stream) = &mut self.stream else {
                self.resume().await?;
                continue;
            };
            match wait(stream, self.goal, &self.progress_signal).await {
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

    /// The progress message, once everything it covers is delivered.
    fn reached(&mut self) -> Option<WatchMessage> {
        let Goal::Owed { target, owed } = self.goal else {
            return None;
        };
        let delivered = self.position.next().previous();
        if delivered < owed {
            return None;
        }
        // The progress may precede the start of a watch in the future, which has not started.
        let progress = self.position.progress(target.max(owed));
        self.goal = match progress {
            Some(_) => Goal::None,
            None => Goal::asked_again(),
        };
        progress
    }

    /// Takes the next step towards a progress message.
    async fn pursue(&mut self) -> Result<(), WatchError> {
        let Some(stream) = &self.stream else {
            return Ok(());
        };
        let in_order = stream.connection.member().version.has_ordered_progress();
        match self.goal {
            Goal::None | Goal::Owed { .. } => {}
            Goal::MemberReports { target, .. } if in_order => {
                stream.ask_for_progress();
                self.goal = Goal::told_again(target);
            }
            // Also after a failover from a member without the progress bug to one with it.
            Goal::ReadCurrent { .. } | Goal::MemberReports { .. } => {
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

    /// Reports the revision to restart from. A member that may lose deletes rejects the compacted revision itself,
    /// so a later one is returned.
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
        if let Goal::MemberReports { target, .. } = self.goal
            && progress >= target
        {
            self.goal = Goal::None;
        }
        Some(message)
    }
}

async fn wait(stream: &mut WatchStream, goal: Goal, progress_signal: &ProgressSignal) -> Happened {
    let may_ask = stream.connection.member().version.has_ordered_progress();
    let due = async {
        match goal.due() {
            Some(due) => sleep_until(due).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        response = stream.next() => Happened::Response(response),
        () = progress_signal.made() => Happened::Wished,
        () = due => Happened::Due,
        () = sleep(SILENCE_MAX), if may_ask => Happened::Silence,
    }
}

fn may_help(call_error: &CallError) -> bool {
    match call_error {
        CallError::NotDone { elsewhere, .. } => *elsewhere == RetryElsewhere::MayHelp,
        CallError::Unknown { .. } => true,
        CallError::Wrong(_) | CallError::Refused(_) => false,
    }
}

fn ended(call_error: CallError) -> WatchError {
    match call_error {
        CallError::Wrong(error) => unavailable(error.to_string()).into(),
        CallError::Refused(error) => unavailable(error.to_string()).into(),
        CallError::NotDone { reason, .. } | CallError::Unknown { reason } => {
            unavailable(reason).into()
        }
    }
}
