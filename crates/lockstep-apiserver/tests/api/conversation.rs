//! One server on an empty store, and a client.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, USER_AGENT};
use http::{HeaderName, Method};
use lockstep_apiserver::admission::{Plugin, Plugins};
use lockstep_apiserver::crd::Follower;
use lockstep_apiserver::resources::{Answer, Api, Body, Request, WatchStream};
use lockstep_apiserver::route::Verb;
use lockstep_apiserver::views::{Asked, Form};
use lockstep_apiserver::{Notes, Query, RequestInfo};
use lockstep_authz::User;
use lockstep_object::metadata::Seconds;
use lockstep_object::{ApiError, Status, json};
use lockstep_storage::{Consistency, Key, Limits, MemoryStore, Op, Put, Revision, Store, Txn};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::in_process::ApiBuilder;
use crate::masks::Moment;

/// 2026-11-16T00:00:00Z
const START: i64 = 1_794_787_200;

/// Response to a refused request.
fn refused(error: &ApiError) -> Answer {
    Answer {
        code: error.code(),
        ..Answer::ok(json::encode(&Status::from(error).to_value()))
    }
}

/// The store has a history before the server starts.
async fn write_elsewhere(store: &MemoryStore) {
    let put = Put::new(Key::new("/elsewhere").expect("a key"), "1");
    let txn = Txn {
        success: vec![Op::Put(put)],
        ..Txn::default()
    };
    let txn = txn.check(1).expect("a sound transaction");
    store.txn(txn).await.expect("the store writes");
}

/// Randomness that depends on the step alone, so that a new step changes neither UIDs nor generated names of others.
#[derive(Default)]
struct Random {
    step: AtomicU64,
    drawn: AtomicU64,
}

impl Random {
    fn begin_step(&self, request: &str, times: u64) {
        // FNV-1a: the addresses of services depend on it, so it must not change with the standard library.
        let hash = request.bytes().fold(times, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        self.step.store(hash, Ordering::Relaxed);
        self.drawn.store(0, Ordering::Relaxed);
    }

    /// The server takes a letter of a generated name from each group of 24 bits, modulo 27. All groups but the lowest are
    /// multiples of 27, so that the names of each step are the first of `bbbbb`, `cbbbb`, … that are free.
    fn next(&self) -> u128 {
        let step = self.step.load(Ordering::Relaxed);
        let drawn = self.drawn.fetch_add(1, Ordering::Relaxed);
        (1..=4).fold(u128::from(drawn), |number, group| {
            let bits = (step >> (16 * (group - 1))) & 0xffff;
            number | u128::from(bits * 27) << (24 * group)
        })
    }
}

pub(crate) struct Conversation {
    store: Arc<MemoryStore>,
    api: Arc<Api>,
    started: Instant,
    user: User,
    /// Of the next request.
    headers: HeaderMap,
    watches: BTreeMap<String, Box<WatchStream>>,
    random: Arc<Random>,
    /// Number of times that each step was taken.
    sent: BTreeMap<String, u64>,
    _feed: JoinSet<()>,
}

impl Conversation {
    pub(crate) async fn begin() -> Self {
        let store = Arc::new(MemoryStore::start(Limits::default()));
        for _ in 0..2 {
            write_elsewhere(&store).await;
        }
        let mut feed = JoinSet::new();
        let random = Arc::new(Random::default());
        let builder = ApiBuilder {
            expressions: lockstep_cel::Version::new(1, 35),
            ..ApiBuilder::new(store.clone(), &mut feed)
        };
        let of_step = Arc::clone(&random);
        let api = builder.start(move || of_step.next()).await;
        // No controller creates service accounts here, and no RBAC rules permit signing.
        let off = [
            Plugin::ServiceAccount,
            Plugin::CertificateApproval,
            Plugin::CertificateSigning,
        ];
        let api = api.with_plugins(Plugins::without(off));
        let api = Arc::new(api);
        let now = || Seconds::from_unix(START).expect("a time of this century");
        feed.spawn(Follower::new(api.clone(), now).run());
        Self {
            store,
            api,
            started: Instant::now(),
            user: User::new("admin", ["system:masters"]),
            headers: HeaderMap::new(),
            watches: BTreeMap::new(),
            random,
            sent: BTreeMap::new(),
            _feed: feed,
        }
    }

    /// Gives a step its own randomness. `step` has masks, so that it is the same after other steps.
    pub(crate) fn begin_step(&mut self, step: &str) {
        let times = self.sent.entry(step.to_owned()).or_default();
        *times += 1;
        self.random.begin_step(step, *times);
    }

    pub(crate) async fn moment(&self) -> Moment {
        let revision = self.store.revision(Consistency::Linearizable).await;
        Moment {
            revision: revision.expect("the store is there").0,
            time: START + self.started.elapsed().as_secs().cast_signed(),
        }
    }

    /// Gives the next request a header.
    pub(crate) fn header(&mut self, header: &str) {
        let (name, value) = header.split_once(": ").expect("a header has a name");
        let name: HeaderName = name.parse().expect("a header has a name");
        let value = value.parse().expect("a header is printable");
        self.headers.append(name, value);
    }

    /// Compacts the store.
    pub(crate) async fn command(&mut self, command: &str) {
        let at = command.strip_prefix("compact ").expect("a known command");
        let at = Revision(at.parse().expect("a revision"));
        self.store.compact(at).await.expect("the store forgets");
    }

    /// Sends a request and returns the lines of its answer, each with what stands before its text. A watch gets the name
    /// before the colon.
    pub(crate) async fn ask(&mut self, request: &str) -> Vec<(String, String)> {
        let (name, request) = match request.split_once(": ") {
            Some((name, rest)) if !name.contains(' ') => (name, rest),
            _ => ("", request),
        };
        let headers = std::mem::take(&mut self.headers);
        let (answer, warnings) = self.send(request, &headers).await;
        let warnings = warnings.into_iter();
        let mut lines: Vec<_> = warnings.map(|text| ("! 299 ".to_owned(), text)).collect();
        let body = match answer.body {
            Body::Whole(bytes) => String::from_utf8_lossy(&bytes.joined()).into_owned(),
            Body::Watch(stream) => {
                self.watches.insert(name.to_owned(), stream);
                "watching".to_owned()
            }
        };
        lines.push((format!("< {} ", answer.code), body));
        lines
    }

    async fn send(&self, request: &str, headers: &HeaderMap) -> (Answer, Vec<String>) {
        let mut words = request.splitn(3, ' ');
        let method = words.next().unwrap_or_default();
        let target = words.next().unwrap_or_default();
        let body = words.next().unwrap_or_default();
        let content_type = headers.get(CONTENT_TYPE);
        let content_type = content_type.map(|value| value.to_str().expect("it is printable"));
        let agent = headers.get(USER_AGENT);
        let agent = agent.map(|value| value.to_str().expect("it is printable"));
        let body = match content_type {
            Some("application/yaml" | "application/apply-patch+yaml") => {
                Bytes::from(body.replace("\\n", "\n"))
            }
            _ => Bytes::copy_from_slice(body.as_bytes()),
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = Query::parse(query);
        let verb = Method::from_bytes(method.as_bytes()).expect("a method");
        let info = RequestInfo::new(&verb, path, &query);
        let route = info.route();
        let route = route.unwrap_or_else(|| panic!("{target} is no resource"));
        let notes = Notes::new(String::new());
        let served = self.api.registry().find(&route);
        let seconds = self.started.elapsed().as_secs();
        let asked = match route.verb {
            Verb::List | Verb::DeleteCollection => Asked::List,
            Verb::Watch => Asked::Watch,
            _ => Asked::Object,
        };
        let form = match Form::negotiate(headers, &query, asked) {
            Ok(form) => form,
            Err(error) => return (refused(&error), Vec::new()),
        };
        let request = Request {
            route: &route,
            served: served.unwrap_or_else(|| panic!("{target} is not served")),
            query: &query,
            content_type: match method {
                _ if content_type.is_some() => content_type.unwrap_or_default(),
                "PATCH" if body.starts_with(b"[") => "application/json-patch+json",
                "PATCH" if body.starts_with(b"<") => "text/html",
                "PATCH" => "application/merge-patch+json; charset=utf-8",
                _ => "application/json",
            },
            body,
            shape: form.shape,
            now: Seconds::from_unix(START + seconds.cast_signed()).expect("a time of this century"),
            user: &self.user,
            agent: agent.unwrap_or("script/1"),
            permits: &|_| Ok(()),
            notes: &notes,
        };
        let answer = self.api.answer(&request).await;
        let answer = answer.unwrap_or_else(|error| refused(&error));
        (answer, notes.warnings())
    }

    /// The events of a watch within so many seconds, a line each.
    pub(crate) async fn listen(&mut self, watch: &str) -> Vec<(String, String)> {
        let (name, seconds) = watch.split_once(' ').unwrap_or((watch, "0"));
        let stream = self.watches.get_mut(name).expect("the watch was begun");
        let patience = Duration::from_secs(seconds.parse().expect("a number of seconds"));
        let mut events = String::new();
        let until = Instant::now() + patience.max(Duration::from_millis(1));
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match timeout(left, stream.next()).await {
                Ok(Some(bytes)) => events.push_str(&String::from_utf8_lossy(&bytes)),
                Ok(None) => break events.push_str("{end}"),
                Err(_) => break,
            }
        }
        let lines = events.lines().filter(|line| !line.is_empty());
        lines.map(|line| (String::new(), line.to_owned())).collect()
    }
}
