//! Thousands of watches on few connections, a tenth of which are never read.

use futures::future::try_join_all;
use http_body_util::BodyExt as _;
use hyper::Response;
use hyper::body::Incoming;

use crate::client::{Call, Client};
use crate::objects::{collection, name, object};
use crate::parts::{SETTLE, Settings, define};
use crate::server::{Program, Server};
use crate::table::{Bar, Measure};

/// Watches per connection: kube-apiserver's default limit of HTTP/2 streams.
const STREAMS: usize = 100;
/// Every tenth watch is never read.
const DEAF_OF: usize = 10;
/// Window of a connection that is never read: the initial size of HTTP/2, which is the smallest in practice.
const DEAF_WINDOW_BYTES: u32 = 65_535;
/// Number of changes that every watch gets: their events exceed the window of a connection that is not read.
const CHANGES: usize = 50;

const fn seen(name: &'static str, unit: &'static str) -> Measure {
    Measure {
        name,
        unit,
        reference: None,
        bar: Bar::None,
    }
}

const OPEN: Measure = seen("memory with all watches open", "MB");
const EACH: Measure = seen("memory of a watch with its share of a connection", "KB");
const AFTER: Measure = seen(
    "memory after changes that a tenth of the watches never reads",
    "MB",
);
const EVENT: Measure = seen("event delivered to one of all watches, CPU", "µs");

/// Watches of one connection.
struct Crowd {
    client: Client,
    watches: Vec<Response<Incoming>>,
}

impl Crowd {
    async fn open(port: u16, count: usize, window_bytes: Option<u32>) -> anyhow::Result<Self> {
        let client = match window_bytes {
            None => Client::connect(port).await?,
            Some(bytes) => Client::connect_with(port, bytes).await?,
        };
        let watch = Call::get(format!("{}?watch=true&resourceVersion=0", collection(0)));
        let opening = (0..count).map(|_| client.open(&watch));
        let watches = try_join_all(opening).await?;
        Ok(Self { client, watches })
    }
}

/// Reads a watch until it has seen so many events.
async fn read(watch: Response<Incoming>, events: usize) -> anyhow::Result<Response<Incoming>> {
    let (head, mut body) = watch.into_parts();
    let mut lines = 0;
    while lines < events {
        let Some(frame) = body.frame().await else {
            anyhow::bail!("a watch ended")
        };
        let data = frame?.into_data().unwrap_or_default();
        lines += data.split(|byte| *byte == b'\n').count() - 1;
    }
    Ok(Response::from_parts(head, body))
}

pub(crate) async fn run(
    program: &Program,
    settings: Settings,
    add: &mut impl FnMut(Measure, f64),
) -> anyhow::Result<()> {
    let server = Server::start(program).await?;
    let writer = Client::connect(server.port).await?;
    define(&writer, 0).await?;
    tokio::time::sleep(SETTLE).await;
    let before = server.megabytes()?;
    let count = settings.watches.max(DEAF_OF);
    let (deaf, reading) = (count / DEAF_OF, count - count / DEAF_OF);
    let deaf = open(server.port, deaf, Some(DEAF_WINDOW_BYTES)).await?;
    let reading = open(server.port, reading, None).await?;
    let heard = reading
        .iter()
        .map(|crowd| crowd.watches.len())
        .sum::<usize>();
    tokio::time::sleep(SETTLE).await;
    let all = server.megabytes()?;
    add(OPEN, all);
    add(EACH, (all - before) * 1e3 / as_float(count));

    let begun = server.processor_time()?;
    // A connection stays while its watches are read.
    let (clients, watches): (Vec<Client>, Vec<_>) = reading
        .into_iter()
        .map(|crowd| (crowd.client, crowd.watches))
        .unzip();
    // The object that `define` made is the first event of each.
    let reads = watches
        .into_iter()
        .flatten()
        .map(|watch| read(watch, CHANGES + 1));
    let changes = async {
        for number in 1..=CHANGES {
            let mut changed: serde_json::Value = serde_json::from_str(&object(number))?;
            changed["metadata"]["name"] = name(0).into();
            let path = format!(
                "{}/{}?fieldManager=crowd&force=true",
                collection(0),
                name(0)
            );
            writer.send(&Call::apply(path, changed.to_string())).await?;
        }
        anyhow::Ok(())
    };
    let (read, ()) = tokio::try_join!(try_join_all(reads), changes)?;
    let used = server.processor_time()?.saturating_sub(begun);
    let events = as_float(heard * CHANGES);
    add(EVENT, used.as_secs_f64() * 1e6 / events);
    tokio::time::sleep(SETTLE).await;
    add(AFTER, server.megabytes()?);
    drop((read, clients, deaf));
    Ok(())
}

async fn open(port: u16, count: usize, window_bytes: Option<u32>) -> anyhow::Result<Vec<Crowd>> {
    let mut crowds = Vec::new();
    let mut left = count;
    while left > 0 {
        let some = left.min(STREAMS);
        crowds.push(Crowd::open(port, some, window_bytes).await?);
        left -= some;
    }
    Ok(crowds)
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn as_float(count: usize) -> f64 {
    count as f64
}
