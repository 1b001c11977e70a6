//! A watch stream with backpressure in both directions.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use lockstep_etcd_api::EtcdError;
use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_etcd_api::watch::{Start, selector_from_wire, start_from_wire};
use lockstep_mvcc::{Event, ReadError, Revision};
use lockstep_storage::{WatchError, WatchMessage, WatchRequest};
use pb::watch_request::RequestUnion;
use tokio::time::{Instant, Sleep};
use tokio_stream::Stream;
use tokio_util::sync::WaitForCancellationFutureOwned;
use tonic::{Status, Streaming};

use super::codec::{Events, Frame};
use super::ready::ReadyList;
use super::watcher::{ProgressRequest, Watcher, fragments};
use crate::member::Member;

/// Watchers polled before the task yields.
const POLLS_MAX: usize = 64;

/// Watch id of responses without a watcher.
const NO_WATCHER: i64 = -1;

/// Requests are read only after all responses were sent, and history is read only when a response can be sent, so a
/// client that does not read costs one message.
pub(crate) struct WatchStream {
    member: Arc<Member>,
    requests: Option<Streaming<pb::WatchRequest>>,
    watchers: BTreeMap<i64, Watcher>,
    next_id: i64,
    ready: Arc<ReadyList>,
    outbox: VecDeque<Frame>,
    progress_request: Option<ProgressRequest>,
    /// Timer of progress notifications; runs while a watcher has them enabled.
    timer: Option<Pin<Box<Sleep>>>,
    stopping: Pin<Box<WaitForCancellationFutureOwned>>,
    is_over: bool,
}

impl WatchStream {
    pub(super) fn new(member: Arc<Member>, requests: Streaming<pb::WatchRequest>) -> Self {
        let stopping = member.stopping.token().clone().cancelled_owned();
        member.metrics.watch_streams.increase();
        Self {
            member,
            requests: Some(requests),
            watchers: BTreeMap::new(),
            next_id: 0,
            ready: Arc::default(),
            outbox: VecDeque::new(),
            progress_request: None,
            timer: None,
            stopping: Box::pin(stopping),
            is_over: false,
        }
    }

    fn header(&self, revision: Revision) -> pb::ResponseHeader {
        self.member.origin().header(revision)
    }

    fn answer(&mut self, revision: Revision, response: pb::WatchResponse) {
        let header = Some(self.header(revision));
        let response = pb::WatchResponse { header, ..response };
        self.outbox.push_back(Frame::Control(response));
    }

    fn serve(&mut self, request: pb::WatchRequest) {
        match request.request_union {
            Some(RequestUnion::CreateRequest(create)) => self.create(&create),
            Some(RequestUnion::CancelRequest(cancel)) => self.cancel(cancel.watch_id),
            Some(RequestUnion::ProgressRequest(_)) => self.start_progress_request(),
            None => {}
        }
    }

    fn create(&mut self, create: &pb::WatchCreateRequest) {
        let selector = selector_from_wire(create);
        let from = match start_from_wire(create) {
            Start::Next => None,
            Start::At(revision) => Some(revision),
            Start::BeforeAll => {
                let compacted = Revision::NONE;
                let text = ReadError::Compacted { compacted }.to_string();
                return self.refuse(text);
            }
        };
        if selector.keys.is_empty() {
            return self.refuse("mvcc: watcher range is empty".to_owned());
        }
        let Some(id) = self.id_for(create.watch_id) else {
            let text = "mvcc: duplicate watch ID provided on the WatchStream";
            return self.refuse(text.to_owned());
        };
        let watch = self.member.live().watch(WatchRequest { selector, from });
        let created = pb::WatchResponse {
            watch_id: id,
            created: true,
            ..pb::WatchResponse::default()
        };
        self.answer(watch.started_at(), created);
        let (fragment, progress) = (create.fragment, create.progress_notify);
        let watcher = Watcher::new(id, watch, &self.ready, fragment, progress);
        self.watchers.insert(id, watcher);
        self.member.metrics.watchers.increase();
        if progress && self.timer.is_none() {
            self.timer = Some(Box::pin(tokio::time::sleep(self.progress_interval())));
        }
    }

    /// The requested id if it is unused, or an unused one if none is requested.
    fn id_for(&mut self, wished: i64) -> Option<i64> {
        if wished != 0 {
            return (!self.watchers.contains_key(&wished)).then_some(wished);
        }
        while self.watchers.contains_key(&self.next_id) {
            self.next_id += 1;
        }
        let id = self.next_id;
        self.next_id += 1;
        Some(id)
    }

    fn refuse(&mut self, cancel_reason: String) {
        let refused = pb::WatchResponse {
            watch_id: NO_WATCHER,
            created: true,
            canceled: true,
            cancel_reason,
            ..pb::WatchResponse::default()
        };
        self.answer(self.member.live().revision(), refused);
    }

    fn cancel(&mut self, watch_id: i64) {
        if !self.remove(watch_id) {
            return;
        }
        let canceled = pb::WatchResponse {
            watch_id,
            canceled: true,
            ..pb::WatchResponse::default()
        };
        self.answer(self.member.live().revision(), canceled);
    }

    /// Returns true if the watcher existed.
    fn remove(&mut self, id: i64) -> bool {
        let was_there = self.watchers.remove(&id).is_some();
        if was_there {
            self.member.metrics.watchers.decrease();
            if let Some(progress_request) = &mut self.progress_request {
                progress_request.waiting.remove(&id);
            }
            self.finish_survey();
        }
        was_there
    }

    /// Starts a manual progress request: requests progress from every watcher and responds when all have reported.
    fn start_progress_request(&mut self) {
        if let Some(progress_request) = &mut self.progress_request {
            progress_request.again = true;
            return;
        }
        self.progress_request = Some(ProgressRequest {
            waiting: self.watchers.keys().copied().collect(),
            progress: None,
            again: false,
        });
        for watcher in self.watchers.values_mut() {
            watcher.request_progress();
        }
        self.finish_survey();
    }

    fn finish_survey(&mut self) {
        let Some(progress_request) = self
            .progress_request
            .take_if(|progress_request| progress_request.waiting.is_empty())
        else {
            return;
        };
        let current = || self.member.live().revision();
        let progress = progress_request.progress.unwrap_or_else(current);
        let told = pb::WatchResponse {
            watch_id: NO_WATCHER,
            ..pb::WatchResponse::default()
        };
        self.answer(progress, told);
        if progress_request.again {
            self.start_progress_request();
        }
    }

    /// Polls one watcher.
    fn poll_watcher(&mut self, id: i64) {
        let Some(watcher) = self.watchers.get_mut(&id) else {
            return;
        };
        match watcher.poll() {
            Poll::Pending => {}
            Poll::Ready(Ok(WatchMessage::Events { events, progress })) => {
                watcher.notice.was_busy = true;
                let may_cut = watcher.fragment;
                self.send(id, events, progress, may_cut);
            }
            Poll::Ready(Ok(WatchMessage::Progress { progress })) => {
                if std::mem::take(&mut watcher.notice.is_due) {
                    let told = pb::WatchResponse {
                        watch_id: id,
                        ..pb::WatchResponse::default()
                    };
                    self.answer(progress, told);
                }
                if let Some(progress_request) = &mut self.progress_request {
                    progress_request.told(id, progress);
                }
                self.finish_survey();
            }
            Poll::Ready(Err(error)) => self.end(id, &error),
        }
    }

    fn send(&mut self, watch_id: i64, events: Vec<Event>, progress: Revision, may_cut: bool) {
        self.member.metrics.events.add(events.len() as u64);
        let header = self.header(progress);
        let messages = if may_cut {
            fragments(events, self.member.config.request_bytes_max)
        } else {
            vec![events]
        };
        let last = messages.len() - 1;
        for (at, events) in messages.into_iter().enumerate() {
            self.outbox.push_back(Frame::Events(Events {
                header,
                watch_id,
                fragment: at < last,
                content: self.member.shared_events.share(events),
            }));
        }
    }

    /// Cancels a watcher that failed.
    fn end(&mut self, watch_id: i64, error: &WatchError) {
        self.remove(watch_id);
        let compact_revision = match error {
            WatchError::Compacted { compacted } => i64::try_from(compacted.0).unwrap_or(i64::MAX),
            WatchError::Unavailable(_) => 0,
        };
        let canceled = pb::WatchResponse {
            watch_id,
            canceled: true,
            compact_revision,
            cancel_reason: error.to_string(),
            ..pb::WatchResponse::default()
        };
        self.answer(self.member.live().revision(), canceled);
    }

    /// Interval of progress notifications plus up to a tenth of jitter, so that streams do not synchronise.
    fn progress_interval(&self) -> Duration {
        let interval = self.member.config.watch_progress_interval;
        let share = u32::try_from(self.member.metrics.watch_streams.total() * 37 % 100);
        interval + interval * share.unwrap_or_default() / 1000
    }

    fn poll_timer(&mut self, cx: &mut Context<'_>) {
        while let Some(timer) = &mut self.timer
            && timer.as_mut().poll(cx).is_ready()
        {
            if !self
                .watchers
                .values()
                .any(|watcher| watcher.notice.is_wanted)
            {
                self.timer = None;
                return;
            }
            let next = timer.deadline() + self.progress_interval();
            self.set_timer(next);
            for watcher in self.watchers.values_mut() {
                if watcher.notice.interval_passed() {
                    watcher.request_progress();
                }
            }
        }
    }

    fn set_timer(&mut self, deadline: Instant) {
        if let Some(timer) = &mut self.timer {
            timer.as_mut().reset(deadline);
        }
    }

    /// Returns true if a request was handled.
    fn poll_requests(&mut self, cx: &mut Context<'_>) -> Result<bool, Status> {
        let Some(requests) = &mut self.requests else {
            return Ok(false);
        };
        match Pin::new(requests).poll_next(cx) {
            Poll::Ready(Some(Ok(request))) => {
                self.serve(request);
                Ok(true)
            }
            Poll::Ready(Some(Err(status))) => Err(status),
            Poll::Ready(None) => {
                self.requests = None;
                Ok(false)
            }
            Poll::Pending => Ok(false),
        }
    }

    fn poll_response(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame, Status>>> {
        for _ in 0..POLLS_MAX {
            if let Some(frame) = self.outbox.pop_front() {
                return Poll::Ready(Some(Ok(frame)));
            }
            if self.stopping.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Some(Err(EtcdError::Stopped.into())));
            }
            match self.poll_requests(cx) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(status) => return Poll::Ready(Some(Err(status))),
            }
            self.poll_timer(cx);
            self.ready.register(cx);
            match self.ready.pop() {
                Some(id) => self.poll_watcher(id),
                None if self.requests.is_none() && self.watchers.is_empty() => {
                    return Poll::Ready(None);
                }
                None => return Poll::Pending,
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Stream for WatchStream {
    type Item = Result<Frame, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let polled = self.poll_response(cx);
        self.is_over = matches!(polled, Poll::Ready(None | Some(Err(_))));
        polled
    }
}

impl Drop for WatchStream {
    fn drop(&mut self) {
        let watchers = self.watchers.len() as u64;
        self.member.metrics.watchers.subtract(watchers);
        self.member.metrics.watch_streams.decrease();
    }
}
