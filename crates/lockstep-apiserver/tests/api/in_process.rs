//! An API without connections, controllers or clock, on a store. Tests here need one or more of: their own randomness, a
//! store that other servers share or that fails, a paused clock, a server that does not follow CRDs. All others use the
//! `World` of `tests/it`, which sends its requests over HTTP.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use lockstep_apiserver::builtin;
use lockstep_apiserver::cache::Cache;
use lockstep_apiserver::resources::{Answer, Api, Body, Registry, Request, Resource};
use lockstep_apiserver::views::Shape;
use lockstep_apiserver::{Notes, Query, RequestInfo, Whole};
use lockstep_authz::User;
use lockstep_object::ApiError;
use lockstep_object::metadata::Seconds;
use lockstep_storage::Store;
use tokio::task::JoinSet;

const PREFIX: &str = "/registry/";

/// Builds the API of a server on a store. The cache is fed by a task in `tasks`.
pub(crate) struct ApiBuilder<'a> {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) tasks: &'a mut JoinSet<()>,
    /// Version of CEL for new expressions.
    pub(crate) expressions: lockstep_cel::Version,
    /// Resources beside the built-in ones.
    pub(crate) custom: Vec<Resource>,
}

impl<'a> ApiBuilder<'a> {
    /// A server with all built-in resources.
    pub(crate) fn new(store: Arc<dyn Store>, tasks: &'a mut JoinSet<()>) -> Self {
        Self {
            store,
            tasks,
            expressions: lockstep_cel::Version::LATEST,
            custom: Vec::new(),
        }
    }

    /// Starts the feed of the cache, and waits until it has the whole store.
    pub(crate) async fn start(self, random: impl Fn() -> u128 + Send + Sync + 'static) -> Api {
        let cache = Cache::new(self.store.clone(), PREFIX);
        let feed = cache.clone().feed(|failure| panic!("{failure}"));
        self.tasks.spawn(feed);
        cache.caught_up().await.expect("the store is there");
        let apis = builtin::Apis::all();
        let built_in = builtin::resources(self.expressions, &apis);
        let registry = Registry::new(built_in.chain(self.custom));
        Api::new(self.store, cache, PREFIX, registry, random)
    }
}

/// Sends a request of an administrator at the beginning of 1970.
pub(crate) async fn send(
    api: &Api,
    method: &Method,
    target: &str,
    body: impl Into<Bytes>,
) -> Result<Answer, ApiError> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let query = Query::parse(query);
    let info = RequestInfo::new(method, path, &query);
    let route = info.route().expect("a resource");
    let request = Request {
        served: api.registry().find(&route).expect("it is served"),
        route: &route,
        query: &query,
        content_type: match *method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        },
        body: body.into(),
        shape: Shape::Whole,
        now: Seconds::from_unix(0).expect("a time"),
        user: &User::new("admin", ["system:masters"]),
        agent: "test",
        permits: &|_| Ok(()),
        notes: &Notes::new(String::new()),
    };
    api.answer(&request).await
}

/// Body of an answer that is no watch.
pub(crate) fn whole(answer: Answer) -> Whole {
    match answer.body {
        Body::Whole(whole) => whole,
        Body::Watch(_) => panic!("a watch has no end"),
    }
}
