//! One collection of a cluster: listed, and then watched.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::{ACCEPT, AUTHORIZATION, HOST};
use hyper::{Request, Response};
use lockstep_callout::{ResponseBody, query_value};
use lockstep_object::{Object, Value, json as text};
use lockstep_write::offline::policies::Collection;
use tokio::sync::mpsc::Sender;
use tokio::time::{sleep, timeout};

use super::Connect;
use crate::limits::{
    EVENT_BYTES_MAX, LIST_BYTES_MAX, LIST_PAGE, OBJECTS_MAX, REQUEST_MAX, RETRY_MAX, RETRY_MIN,
    WATCH_SECONDS,
};

/// A change of a collection.
pub(super) enum Change {
    /// All objects.
    Listed(usize, Vec<Object>),
    /// An object is new or changed.
    Put(usize, Box<Object>),
    /// An object was deleted.
    Gone(usize, Box<Object>),
}

/// Lists and watches a collection for ever, and sends what changes. A collection that is not served is empty.
pub(super) async fn watch(
    at: usize,
    collection: Collection,
    connect: Connect,
    changes: Sender<Change>,
) {
    let follower = Follower {
        at,
        collection,
        connect,
        changes,
    };
    let mut pause = RETRY_MIN;
    loop {
        match follower.follow().await {
            Ok(()) => pause = RETRY_MIN,
            Err(Ended::Closed) => return,
            Err(Ended::Failed(why)) => {
                let path = follower.collection.path.as_str();
                tracing::warn!(path, why, "a collection cannot be followed");
                sleep(pause).await;
                pause = (pause * 2).min(RETRY_MAX);
            }
        }
    }
}

/// End of following a collection.
enum Ended {
    /// The receiver of changes is gone.
    Closed,
    Failed(String),
}

impl From<String> for Ended {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

struct Follower {
    at: usize,
    collection: Collection,
    connect: Connect,
    changes: Sender<Change>,
}

impl Follower {
    /// Lists once and watches from there, until the server wants a new list.
    async fn follow(&self) -> Result<(), Ended> {
        let Some((objects, mut version)) = self.list().await? else {
            self.send(Change::Listed(self.at, Vec::new())).await?;
            sleep(RETRY_MAX).await;
            return Ok(());
        };
        self.send(Change::Listed(self.at, objects)).await?;
        while self.watch_from(&mut version).await? {}
        Ok(())
    }

    async fn send(&self, change: Change) -> Result<(), Ended> {
        self.changes.send(change).await.map_err(|_| Ended::Closed)
    }

    /// All objects, and the version to watch from; none if the collection is not served.
    async fn list(&self) -> Result<Option<(Vec<Object>, String)>, Ended> {
        let (mut objects, mut token) = (Vec::new(), String::new());
        loop {
            let query = format!("limit={LIST_PAGE}&continue={}", query_value(&token));
            let response = timeout(REQUEST_MAX, self.get(&query)).await;
            let response = response.map_err(|_| "no answer in time".to_owned())??;
            if response.status() == 404 {
                return Ok(None);
            }
            let code = response.status();
            let body = Limited::new(response.into_body(), LIST_BYTES_MAX).collect();
            let body = timeout(REQUEST_MAX, body).await;
            let body = body.map_err(|_| "no answer in time".to_owned())?;
            let body = body.map_err(|error| error.to_string())?.to_bytes();
            let list = text::read(&body).unwrap_or_default();
            if code != 200 {
                let message = list["message"].as_str().unwrap_or_default();
                return Err(format!("the server answered {code}: {message}").into());
            }
            let items = list["items"].as_array().into_iter().flatten();
            objects.extend(items.filter_map(|item| self.object(item)));
            if objects.len() > OBJECTS_MAX {
                return Err(format!("there are more than {OBJECTS_MAX} objects").into());
            }
            let meta = &list["metadata"];
            meta["continue"]
                .as_str()
                .unwrap_or_default()
                .clone_into(&mut token);
            if token.is_empty() {
                let version = meta["resourceVersion"].as_str().unwrap_or_default();
                return Ok(Some((objects, version.to_owned())));
            }
        }
    }

    /// Watches until the server ends it. True if the watch can go on from `version`.
    async fn watch_from(&self, version: &mut String) -> Result<bool, Ended> {
        let query = format!(
            "watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}&resourceVersion={}",
            query_value(version)
        );
        let response = timeout(REQUEST_MAX, self.get(&query)).await;
        let response = response.map_err(|_| "no answer in time".to_owned())??;
        if response.status() == 410 {
            return Ok(false);
        }
        if response.status() != 200 {
            return Err(format!("the server answered {}", response.status()).into());
        }
        let mut body = response.into_body();
        let mut pending = BytesMut::new();
        let silence_max = Duration::from_secs(u64::from(WATCH_SECONDS)) + REQUEST_MAX;
        loop {
            let frame = timeout(silence_max, body.frame()).await;
            let Some(frame) = frame.map_err(|_| "the watch is silent".to_owned())? else {
                return Ok(true);
            };
            let frame = frame.map_err(|error| error.to_string())?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            pending.extend_from_slice(&data);
            while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                let line = pending.split_to(end + 1);
                if !self.event(&line, version).await? {
                    return Ok(false);
                }
            }
            if pending.len() > EVENT_BYTES_MAX {
                return Err(format!("an event is larger than {EVENT_BYTES_MAX} bytes").into());
            }
        }
    }

    /// Handles an event. False if the collection has to be listed again.
    async fn event(&self, line: &[u8], version: &mut String) -> Result<bool, Ended> {
        let event = text::read(line).ok_or_else(|| "an event is not JSON".to_owned())?;
        let seen = event["object"]["metadata"]["resourceVersion"].as_str();
        let change = match event["type"].as_str() {
            Some("ADDED" | "MODIFIED") => self
                .object(&event["object"])
                .map(|object| Change::Put(self.at, Box::new(object))),
            Some("DELETED") => self
                .object(&event["object"])
                .map(|object| Change::Gone(self.at, Box::new(object))),
            Some("BOOKMARK") => None,
            _ => return Ok(false),
        };
        if let Some(seen) = seen {
            seen.clone_into(version);
        }
        if let Some(change) = change {
            self.send(change).await?;
        }
        Ok(true)
    }

    /// An object without its managed fields. Items of lists have neither `apiVersion` nor `kind`.
    fn object(&self, item: &Value) -> Option<Object> {
        let mut item = item.clone();
        let fields = item.as_object_mut()?;
        let Collection {
            api_version, kind, ..
        } = &self.collection;
        fields.insert("apiVersion".to_owned(), api_version.as_str().into());
        fields.insert("kind".to_owned(), kind.as_str().into());
        let mut object = Object::from_value(item).ok()?;
        object.metadata_mut().remove("managedFields");
        Some(object)
    }

    async fn get(&self, query: &str) -> Result<Response<ResponseBody>, String> {
        let cluster = (self.connect)()?;
        let request = Request::get(format!("{}?{query}", self.collection.path))
            .header(HOST, cluster.server.authority())
            .header(ACCEPT, "application/json");
        let request = match cluster.authorization {
            Some(value) => request.header(AUTHORIZATION, value),
            None => request,
        };
        let request = request.body(Full::new(Bytes::new()));
        let request = request.map_err(|error| error.to_string())?;
        let connection = cluster
            .server
            .connect()
            .await
            .map_err(|error| error.to_string())?;
        let sent = connection.send_streaming(request).await;
        sent.map_err(|error| error.to_string())
    }
}
