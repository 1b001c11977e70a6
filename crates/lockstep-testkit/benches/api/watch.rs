//! Cost of watch events.

use std::cell::Cell;
use std::time::Duration;

use futures::future::try_join_all;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;

use crate::client::{Call, Client};
use crate::load::Clients;
use crate::objects::{collection, object};
use crate::parts::{Settings, define, measure, microseconds, object_path};
use crate::server::{Program, Server};
use crate::table::{Bar, Measure};

const WATCHERS: usize = 50;
/// Changes that one client makes, each after the last was answered.
const CHANGES: usize = 400;
/// Changes that all clients make.
const CROWD_CHANGES: usize = 1_600;

const EVENT: Measure = measure(
    "watch event delivered, CPU",
    "µs",
    52.0,
    Bar::TimesLess(8.0),
);
const CROWD_EVENT: Measure = Measure {
    name: "watch event delivered while all clients write, CPU",
    unit: "µs",
    reference: None,
    bar: Bar::None,
};

pub(crate) async fn run(
    program: &Program,
    settings: Settings,
    add: &mut impl FnMut(Measure, f64),
) -> anyhow::Result<()> {
    let server = Server::start(program).await?;
    let clients = Clients::connect(&server, settings.clients).await?;
    define(clients.first(), 0).await?;
    let count = settings.objects;
    let made = |number: usize| Call::post(collection(0), object(number + 1));
    clients.send(count, made).await?;
    let path = |number| object_path(number, count);
    let alone = clients.alone();
    let event = watched(&server, &clients, &alone, CHANGES, &path).await?;
    add(EVENT, microseconds(event));
    let event = watched(&server, &clients, &clients, CROWD_CHANGES, &path).await?;
    add(CROWD_EVENT, microseconds(event));
    Ok(())
}

/// Measures the cost of one event for one watcher: the cost of changes with watchers, minus the cost of
/// equal changes by the same clients without watchers.
async fn watched(
    server: &Server,
    clients: &Clients,
    writers: &Clients,
    changes: usize,
    path: &impl Fn(usize) -> String,
) -> anyhow::Result<Duration> {
    // Every change has a size of its own, so that each is one.
    let change = |first: usize| {
        move |number: usize| {
            let body = format!(r#"{{"spec":{{"size":{}}}}}"#, first + number);
            Call::merge(path(number), body)
        }
    };
    let unwatched = writers.cost(server, changes, change(1_000_000)).await?;
    let listed = clients
        .first()
        .send(&Call::get(format!("{}?limit=1", collection(0))))
        .await?;
    let listed: Value = serde_json::from_slice(&listed)?;
    let from = revision(&listed);
    let opening = clients
        .iter()
        .cycle()
        .take(WATCHERS)
        .map(|client| Watch::open(client, from));
    let watches = try_join_all(opening).await?;
    let delivered = Cell::new(0_usize);
    let delivered = &delivered;
    let before = server.processor_time()?;
    let reading = watches.into_iter().map(|mut watch| async move {
        let mut seen = 0;
        while seen < changes {
            let events = watch.some_events().await?;
            seen += events;
            delivered.set(delivered.get() + events);
        }
        anyhow::Ok(())
    });
    let writing = writers.send(changes, change(2_000_000));
    tokio::try_join!(try_join_all(reading), writing)?;
    let used = server.processor_time()?.saturating_sub(before);
    let changing = unwatched * u32::try_from(changes)?;
    Ok(used.saturating_sub(changing) / u32::try_from(delivered.get())?.max(1))
}

fn revision(value: &Value) -> &str {
    let revision = &value["metadata"]["resourceVersion"];
    revision.as_str().unwrap_or_default()
}

/// A watch that goes on where it was when the server ends it, as informers do: kube-apiserver ends
/// watches that fall behind.
struct Watch<'c> {
    client: &'c Client,
    body: Incoming,
    /// Bytes after the last complete line.
    rest: Vec<u8>,
    from: String,
}

impl<'c> Watch<'c> {
    async fn open(client: &'c Client, from: &str) -> anyhow::Result<Self> {
        let path = format!("{}?watch=true&resourceVersion={from}", collection(0));
        let answer = client.open(&Call::get(path)).await?;
        Ok(Self {
            client,
            body: answer.into_body(),
            rest: Vec::new(),
            from: from.to_owned(),
        })
    }

    /// Number of events in the next frame; 0 if the watch had ended and was reopened.
    async fn some_events(&mut self) -> anyhow::Result<usize> {
        let Some(frame) = self.body.frame().await else {
            *self = Self::open(self.client, &self.from).await?;
            return Ok(0);
        };
        let data = frame?.into_data().unwrap_or_default();
        let events = data.split(|byte| *byte == b'\n').count() - 1;
        self.rest.extend_from_slice(&data);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
            return Ok(0);
        };
        let last = self.rest[..end].rsplit(|byte| *byte == b'\n').next();
        let last: Value = serde_json::from_slice(last.unwrap_or_default())?;
        anyhow::ensure!(last["type"] != "ERROR", "a watch failed: {last}");
        revision(&last["object"]).clone_into(&mut self.from);
        self.rest.drain(..=end);
        Ok(events)
    }
}
