//! Parts of the benchmark, with their loads and rows.

use std::fmt;
use std::time::Duration;

use crate::client::{Call, Connection};
use crate::contents::{self, KEYS, LARGE_VALUE_BYTES, MANY_KEYS, VALUE_BYTES};
use crate::embedded::Embedded;
use crate::load::{self, Outcome, Until};
use crate::server::{Program, Server};
use crate::table::{Bar, Measure, Table};
use crate::watchers::{WATCHERS, Watchers};

/// Duration and number of rounds.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) rounds: u32,
    pub(crate) turn: Duration,
}

/// Something that can be run by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Part {
    Put,
    Get,
    Watch,
    List,
    Memory,
    Embedded,
}

const MANY_CLIENTS: usize = 256;
const MANY_CONNECTIONS: usize = 64;
const WRITERS: usize = 64;
/// Writers while others watch.
const WATCHED_WRITERS: usize = 8;

const fn measure(name: &'static str, unit: &'static str, bar: Bar) -> Measure {
    Measure { name, unit, bar }
}

const PUT_LATENCY: Measure = measure("put p50, 1 client", "µs", Bar::AtMost(0.9));
const PUT_ALONE_CPU: Measure = measure("put CPU, 1 client", "µs", Bar::AtMost(0.6));
const PUT_RATE: Measure = measure("puts/s, 256 clients", "1/s", Bar::AtLeast(1.3));
const PUT_CPU: Measure = measure("put CPU, 256 clients", "µs", Bar::AtMost(0.6));
const GET_LATENCY: Measure = measure("get p50, 1 client", "µs", Bar::AtMost(0.6));
const GET_CPU: Measure = measure("get CPU, 1 client", "µs", Bar::None);
const WATCH_CPU: Measure = measure("watch CPU an event, 100 watchers", "µs", Bar::AtMost(0.4));
const LIST_CPU: Measure = measure("list 500 of 100,000, CPU", "µs", Bar::AtMost(0.125));
const COUNT_CPU: Measure = measure("count 100,000, CPU", "µs", Bar::AtMost(0.01));
const MEMORY: Measure = measure("anonymous memory, 100,000 × 1 KiB", "MiB", Bar::AtMost(0.6));
const OPEN_TIME: Measure = measure("start on 100,000 × 1 KiB", "ms", Bar::None);
const EMBEDDED_RATE: Measure = measure("in process: puts/s, 64 writers", "1/s", Bar::AtLeast(3.0));
const EMBEDDED_GET: Measure = measure("in process: get", "µs", Bar::NoMoreThan(2.0));

impl Part {
    pub(crate) const ALL: [Self; 6] = [
        Self::Put,
        Self::Get,
        Self::Watch,
        Self::List,
        Self::Memory,
        Self::Embedded,
    ];

    pub(crate) async fn run(
        self,
        programs: &[Program],
        settings: Settings,
        table: &mut Table,
    ) -> anyhow::Result<()> {
        match self {
            Self::Put => put(programs, settings, table).await,
            Self::Get => get(programs, settings, table).await,
            Self::Watch => watch(programs, settings, table).await,
            Self::List => list(programs, settings, table).await,
            Self::Memory => memory(programs, table).await,
            Self::Embedded => embedded(programs, settings, table).await,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

async fn put(programs: &[Program], settings: Settings, table: &mut Table) -> anyhow::Result<()> {
    let servers = start_all(programs).await?;
    let until = Until::Elapsed(settings.turn);
    for _ in 0..settings.rounds {
        for (at, server) in servers.iter().enumerate() {
            let connections = server.connect(1).await?;
            let (mut outcome, cpu) = puts(server, &connections, 1, until).await?;
            table.add(PUT_LATENCY, at, outcome.median_micros());
            table.add(PUT_ALONE_CPU, at, cpu);
        }
        for (at, server) in servers.iter().enumerate() {
            let connections = server.connect(MANY_CONNECTIONS).await?;
            let (outcome, cpu) = puts(server, &connections, MANY_CLIENTS, until).await?;
            table.add(PUT_RATE, at, outcome.rate());
            table.add(PUT_CPU, at, cpu);
        }
    }
    Ok(())
}

async fn get(programs: &[Program], settings: Settings, table: &mut Table) -> anyhow::Result<()> {
    let servers = start_all(programs).await?;
    for server in &servers {
        fill(server, KEYS, VALUE_BYTES).await?;
    }
    for _ in 0..settings.rounds {
        for (at, server) in servers.iter().enumerate() {
            let call = |nth| contents::get(nth, KEYS);
            let (mut outcome, cpu) = reads(server, settings, call).await?;
            table.add(GET_LATENCY, at, outcome.median_micros());
            table.add(GET_CPU, at, cpu);
        }
    }
    Ok(())
}

async fn list(programs: &[Program], settings: Settings, table: &mut Table) -> anyhow::Result<()> {
    let servers = start_all(programs).await?;
    for server in &servers {
        fill(server, MANY_KEYS, VALUE_BYTES).await?;
    }
    let (page, count) = (contents::list(), contents::count());
    for _ in 0..settings.rounds {
        for (measure, call) in [(LIST_CPU, &page), (COUNT_CPU, &count)] {
            for (at, server) in servers.iter().enumerate() {
                let call = call.clone();
                let (_, cpu) = reads(server, settings, move |_| call.clone()).await?;
                table.add(measure, at, cpu);
            }
        }
    }
    Ok(())
}

async fn watch(programs: &[Program], settings: Settings, table: &mut Table) -> anyhow::Result<()> {
    let servers = start_all(programs).await?;
    for _ in 0..settings.rounds {
        for (at, server) in servers.iter().enumerate() {
            let connections = server.connect(1).await?;
            let mut watchers = Watchers::start(server.port).await?;
            let before = server.processor_time()?;
            let value = contents::value(VALUE_BYTES);
            let call = move |nth| contents::put(nth, KEYS, &value);
            let until = Until::Elapsed(settings.turn);
            let outcome = load::run(&connections, WATCHED_WRITERS, until, call).await?;
            watchers.wait_for(outcome.requests).await?;
            server.settle().await?;
            let events = outcome.requests * WATCHERS as u64;
            table.add(WATCH_CPU, at, server.micros_since(before, events)?);
        }
    }
    Ok(())
}

async fn memory(programs: &[Program], table: &mut Table) -> anyhow::Result<()> {
    for (at, program) in programs.iter().enumerate() {
        let server = Server::start(program).await?;
        fill(&server, MANY_KEYS, LARGE_VALUE_BYTES).await?;
        table.add(MEMORY, at, server.anonymous_mebibytes()?);
        let server = server.restart(program).await?;
        table.add(OPEN_TIME, at, server.start_time.as_secs_f64() * 1e3);
    }
    Ok(())
}

async fn embedded(
    programs: &[Program],
    settings: Settings,
    table: &mut Table,
) -> anyhow::Result<()> {
    let etcds = programs
        .iter()
        .enumerate()
        .filter(|(_, program)| program.is_etcd());
    let mut servers = Vec::new();
    for (at, program) in etcds {
        servers.push((at, Server::start(program).await?));
    }
    let ours = Embedded::open()?;
    for _ in 0..settings.rounds {
        table.add(EMBEDDED_RATE, 0, ours.puts(WRITERS, settings.turn).await?);
        for (at, server) in &servers {
            let connections = server.connect(WRITERS).await?;
            let until = Until::Elapsed(settings.turn);
            let (outcome, _) = puts(server, &connections, WRITERS, until).await?;
            table.add(EMBEDDED_RATE, *at, outcome.rate());
        }
    }
    let filled = Embedded::open()?;
    filled.fill().await?;
    for _ in 0..settings.rounds {
        table.add(
            EMBEDDED_GET,
            0,
            filled.read_micros(settings.turn / 4).await?,
        );
    }
    Ok(())
}

async fn start_all(programs: &[Program]) -> anyhow::Result<Vec<Server>> {
    let mut servers = Vec::new();
    for program in programs {
        servers.push(Server::start(program).await?);
    }
    Ok(servers)
}

/// Writes every key once.
async fn fill(server: &Server, keys: u64, value_bytes: usize) -> anyhow::Result<()> {
    let connections = server.connect(MANY_CONNECTIONS).await?;
    let value = contents::value(value_bytes);
    let call = move |nth| contents::put(nth, keys, &value);
    load::run(&connections, MANY_CLIENTS, Until::Done(keys), call).await?;
    server.settle().await
}

/// Puts, and what each cost the server with all that it did about it afterwards, in microseconds.
async fn puts(
    server: &Server,
    connections: &[Connection],
    clients: usize,
    until: Until,
) -> anyhow::Result<(Outcome, f64)> {
    let value = contents::value(VALUE_BYTES);
    let call = move |nth| contents::put(nth, KEYS, &value);
    let before = server.processor_time()?;
    let outcome = load::run(connections, clients, until, call).await?;
    server.settle().await?;
    let cpu = server.micros_since(before, outcome.requests)?;
    Ok((outcome, cpu))
}

/// Reads by one client, and what each cost the server, in microseconds.
async fn reads(
    server: &Server,
    settings: Settings,
    call: impl Fn(u64) -> Call + Clone + Send + 'static,
) -> anyhow::Result<(Outcome, f64)> {
    let connections = server.connect(1).await?;
    let before = server.processor_time()?;
    let outcome = load::run(&connections, 1, Until::Elapsed(settings.turn), call).await?;
    let cpu = server.micros_since(before, outcome.requests)?;
    Ok((outcome, cpu))
}
