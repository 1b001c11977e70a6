//! One server on an empty store, and a client.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, USER_AGENT};
use http::{HeaderName, Method};
use lockstep_apiserver::admission::{Plugin, Plugins};
use lockstep_apiserver::builtin;
use lockstep_apiserver::cache::Cache;
use lockstep_apiserver::crd::Follower;
use lockstep_apiserver::resources::{Answer, Api, Body, Registry, Request, WatchStream};
use lockstep_apiserver::route::{ResourceRoute, Verb};
use lockstep_apiserver::views::{Asked, Form};
use lockstep_apiserver::{Notes, Query, RequestInfo};
use lockstep_authz::User;
use lockstep_object::metadata::Seconds;
use lockstep_storage::{Key, Limits, MemoryStore, Op, Put, Revision, Store, Txn};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

const PREFIX: &str = "/registry/";
/// 2026-11-16T00:00:00Z
const START: i64 = 1_794_787_200;

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

pub(crate) struct Conversation {
    store: Arc<MemoryStore>,
    api: Arc<Api>,
    started: Instant,
    user: User,
    /// Of the next request.
    headers: HeaderMap,
    watches: BTreeMap<String, Box<WatchStream>>,
    _feed: JoinSet<()>,
}

impl Conversation {
    pub(crate) async fn begin() -> Self {
        let store = Arc::new(MemoryStore::start(Limits::default()));
        for _ in 0..2 {
            write_elsewhere(&store).await;
        }
        let cache = Cache::new(store.clone(), PREFIX);
        let mut feed = JoinSet::new();
        feed.spawn(cache.clone().feed(|failure| panic!("{failure}")));
        cache.caught_up().await.expect("the store is there");
        let registry = Registry::new(builtin::resources(
            lockstep_cel::Version::new(1, 35),
            &builtin::Apis::all(),
        ));
        let counter = AtomicU64::new(0);
        let fresh = move || u128::from(counter.fetch_add(1, Ordering::Relaxed));
        let api = Api::new(store.clone(), cache, PREFIX, registry, fresh);
        // Nobody makes the accounts of pods here, or has rules that say who signs.
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
            _feed: feed,
        }
    }

    /// Gives the next request a header.
    pub(crate) fn header(&mut self, header: &str) -> String {
        let (name, value) = header.split_once(": ").expect("a header has a name");
        let name: HeaderName = name.parse().expect("a header has a name");
        let value = value.parse().expect("a header is printable");
        self.headers.append(name, value);
        String::new()
    }

    /// Does something to the store.
    pub(crate) async fn command(&mut self, command: &str) -> String {
        let at = command.strip_prefix("compact ").expect("a known command");
        let at = Revision(at.parse().expect("a revision"));
        self.store.compact(at).await.expect("the store forgets");
        String::new()
    }

    /// Sends a request; a watch gets the name before the colon.
    pub(crate) async fn ask(&mut self, request: &str) -> String {
        let (name, request) = match request.split_once(": ") {
            Some((name, rest)) if !name.contains(' ') => (name, rest),
            _ => ("", request),
        };
        let headers = std::mem::take(&mut self.headers);
        let (answer, warnings) = self.send(request, &headers).await;
        let mut told = String::new();
        for warning in warnings {
            told.push_str(&format!("! 299 {warning}\n"));
        }
        let body = match answer.body {
            Body::Whole(bytes) => String::from_utf8_lossy(&bytes.joined()).into_owned(),
            Body::Watch(stream) => {
                self.watches.insert(name.to_owned(), stream);
                "watching".to_owned()
            }
        };
        format!("{told}< {} {body}", answer.code)
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
        let route = ResourceRoute::of(&info);
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
            Err(status) => return (Answer::from(&status), Vec::new()),
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
            caller: &lockstep_apiserver::authn::User::anonymous(),
            notes: &notes,
        };
        let answer = self.api.answer(&request).await;
        let answer = answer.unwrap_or_else(|status| Answer::from(&status));
        (answer, notes.warnings())
    }

    /// What a watch has to say before it waits, after so many seconds.
    pub(crate) async fn listen(&mut self, watch: &str) -> String {
        let (name, seconds) = watch.split_once(' ').unwrap_or((watch, "0"));
        let stream = self.watches.get_mut(name).expect("the watch was begun");
        let patience = Duration::from_secs(seconds.parse().expect("a number of seconds"));
        let mut told = String::new();
        let until = Instant::now() + patience.max(Duration::from_millis(1));
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match timeout(left, stream.next()).await {
                Ok(Some(bytes)) => told.push_str(&String::from_utf8_lossy(&bytes)),
                Ok(None) => return told + "{end}",
                Err(_) => return told,
            }
        }
    }
}
