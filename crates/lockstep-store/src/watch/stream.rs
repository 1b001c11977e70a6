//! A client's stream: requests in, responses out, nothing in between that grows.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use lockstep_etcd_api::Refusal;
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
use super::watcher::{Survey, Watcher, fragments};
use crate::member::Member;

/// How many watchers are looked at before other streams get their turn.
const LOOKS_MAX: usize = 64;

/// The id of a response that belongs to no watcher.
const NO_WATCHER: i64 = -1;

/// Requests are read only when every response was taken, and history only when a response can be
/// sent: a client that does not read is not served further and costs one message.
pub(crate) struct WatchStream {
    member: Arc<Member>,
    requests: Option<Streaming<pb::WatchRequest>>,
    watchers: BTreeMap<i64, Watcher>,
    next_id: i64,
    ready: Arc<ReadyList>,
    outbox: VecDeque<Frame>,
    survey: Option<Survey>,
    /// When progress is due again; runs while a watcher wants it.
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
            survey: None,
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
            Some(RequestUnion::ProgressRequest(_)) => self.start_survey(),
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

    /// The wished id unless it is in use; one that is not in use if there is no wish.
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

    /// Whether there was such a watcher.
    fn remove(&mut self, id: i64) -> bool {
        let was_there = self.watchers.remove(&id).is_some();
        if was_there {
            self.member.metrics.watchers.decrease();
            if let Some(survey) = &mut self.survey {
                survey.waiting.remove(&id);
            }
            self.finish_survey();
        }
        was_there
    }

    /// Asks every watcher for its progress; the client is told when all have answered.
    fn start_survey(&mut self) {
        if let Some(survey) = &mut self.survey {
            survey.again = true;
            return;
        }
        self.survey = Some(Survey {
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
        let Some(survey) = self.survey.take_if(|survey| survey.waiting.is_empty()) else {
            return;
        };
        let current = || self.member.live().revision();
        let progress = survey.progress.unwrap_or_else(current);
        let told = pb::WatchResponse {
            watch_id: NO_WATCHER,
            ..pb::WatchResponse::default()
        };
        self.answer(progress, told);
        if survey.again {
            self.start_survey();
        }
    }

    /// Looks at one watcher.
    fn look_at(&mut self, id: i64) {
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
                if let Some(survey) = &mut self.survey {
                    survey.told(id, progress);
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

    /// A watcher that cannot go on.
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

    /// How long until progress is due: the interval and up to a tenth more, so that not all
    /// streams are due at once.
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
                if watcher.notice.falls_due() {
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

    /// Whether a request was served.
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
        for _ in 0..LOOKS_MAX {
            if let Some(frame) = self.outbox.pop_front() {
                return Poll::Ready(Some(Ok(frame)));
            }
            if self.stopping.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Some(Err(Refusal::Stopped.into())));
            }
            match self.poll_requests(cx) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(status) => return Poll::Ready(Some(Err(status))),
            }
            self.poll_timer(cx);
            self.ready.register(cx);
            match self.ready.pop() {
                Some(id) => self.look_at(id),
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
