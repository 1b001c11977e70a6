//! Parts of the benchmark, one measurement each.

use std::fmt;
use std::time::Duration;

use clap::ValueEnum;

use crate::client::{Call, Client};
use crate::load::Clients;
use crate::objects::{collection, crd, name, object};
use crate::server::{Program, Server};
use crate::table::{Bar, Measure, Table};
use crate::{crowd, policies, watch, wide};

/// Number of measured gets per object.
const GETS_PER_OBJECT: usize = 3;
const LISTS: usize = 60;
const PAGES: usize = 1_000;
/// Upper bound on the time until a new custom resource is served.
const SERVED_MAX: Duration = Duration::from_secs(120);
/// Pause before memory is measured, so that background work is done.
pub(crate) const SETTLE: Duration = Duration::from_secs(3);

/// Sizes of the load.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) objects: usize,
    pub(crate) clients: usize,
    pub(crate) crds: usize,
    pub(crate) wide: usize,
    pub(crate) many: usize,
    pub(crate) watches: usize,
    pub(crate) policies: usize,
}

/// A part of the benchmark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Part {
    /// Start, idle memory, the first object of a CRD
    Start,
    /// Cost of requests
    Requests,
    /// Cost of watch events
    Watch,
    /// Thousands of watches, some of which are not read
    Crowd,
    /// A start with many CRDs
    Crds,
    /// CRDs of hundreds of fields
    Wide,
    /// Many objects in memory
    Memory,
    /// Admission policies
    Policies,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

pub(crate) const fn measure(
    name: &'static str,
    unit: &'static str,
    reference: f64,
    bar: Bar,
) -> Measure {
    Measure {
        name,
        unit,
        reference: Some(reference),
        bar,
    }
}

const READY: Measure = measure(
    "start to ready, empty directory",
    "ms",
    3_700.0,
    Bar::NoMoreThan(300.0),
);
const IDLE: Measure = measure("memory, idle", "MB", 350.0, Bar::NoMoreThan(60.0));
const FIRST: Measure = measure("CRD to first object", "ms", 2_000.0, Bar::NoMoreThan(50.0));
const CREATE: Measure = measure("create, CPU", "µs", 2_600.0, Bar::TimesLess(5.0));
const GET: Measure = measure("get, CPU", "µs", 1_100.0, Bar::TimesLess(15.0));
const LIST: Measure = measure("full list, CPU", "µs", 214_000.0, Bar::TimesLess(30.0));
const PAGE: Measure = measure("page of 100, CPU", "µs", 7_000.0, Bar::TimesLess(15.0));
const PATCH: Measure = measure("merge patch, CPU", "µs", 2_700.0, Bar::TimesLess(5.0));
const APPLY: Measure = measure(
    "server-side apply by the second of two, CPU",
    "µs",
    3_100.0,
    Bar::TimesLess(5.0),
);
const MANY_CRDS: Measure = Measure {
    name: "start with 1,000 CRDs",
    unit: "ms",
    reference: None,
    bar: Bar::NoMoreThan(2_000.0),
};
const MANY_CRDS_MEMORY: Measure = Measure {
    name: "memory with 1,000 CRDs",
    unit: "MB",
    reference: None,
    bar: Bar::NoMoreThan(400.0),
};
const MANY_OBJECTS: Measure = Measure {
    name: "memory with 100,000 objects of 1 KB",
    unit: "MB",
    reference: None,
    bar: Bar::NoMoreThan(400.0),
};

impl Part {
    pub(crate) const ALL: [Self; 8] = [
        Self::Start,
        Self::Requests,
        Self::Watch,
        Self::Crowd,
        Self::Crds,
        Self::Wide,
        Self::Memory,
        Self::Policies,
    ];

    /// Whether it is about what a request costs, in which two programs are compared.
    pub(crate) const fn is_compared(self) -> bool {
        matches!(self, Self::Start | Self::Requests | Self::Watch)
    }

    pub(crate) async fn run(
        self,
        program: &Program,
        settings: Settings,
        table: &mut Table,
    ) -> anyhow::Result<()> {
        let mut add = |measure, value| table.add(measure, program.title(), value);
        match self {
            Self::Start => start(program, &mut add).await,
            Self::Requests => requests(program, settings, &mut add).await,
            Self::Watch => watch::run(program, settings, &mut add).await,
            Self::Crowd => crowd::run(program, settings, &mut add).await,
            Self::Crds => crds(program, settings, &mut add).await,
            Self::Wide => wide::run(program, settings, &mut add).await,
            Self::Memory => memory(program, settings, &mut add).await,
            Self::Policies => policies::run(program, settings, &mut add).await,
        }
    }
}

pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

pub(crate) fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

async fn start(program: &Program, add: &mut impl FnMut(Measure, f64)) -> anyhow::Result<()> {
    let server = Server::start(program).await?;
    add(READY, milliseconds(server.start_time));
    tokio::time::sleep(SETTLE).await;
    add(IDLE, server.megabytes()?);
    let client = Client::connect(server.port).await?;
    let begun = crate::server::now();
    define(&client, 0).await?;
    add(FIRST, milliseconds(begun.elapsed()));
    Ok(())
}

/// Makes a CRD, and an object of it, as soon as the server takes it.
pub(crate) async fn define(client: &Client, number: usize) -> anyhow::Result<()> {
    client
        .send(&Call::post(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            crd(number),
        ))
        .await?;
    if number == 0 {
        until_served(client, &Call::post(collection(0), object(0))).await?;
    }
    Ok(())
}

/// Sends a request again and again until it is answered, as a client has to where a new resource is
/// served some time after its CRD was made, or after a start.
pub(crate) async fn until_served(client: &Client, call: &Call) -> anyhow::Result<()> {
    let begun = crate::server::now();
    loop {
        match client.send(call).await {
            Ok(_) => return Ok(()),
            Err(error) if begun.elapsed() > SERVED_MAX => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

async fn requests(
    program: &Program,
    settings: Settings,
    add: &mut impl FnMut(Measure, f64),
) -> anyhow::Result<()> {
    let server = Server::start(program).await?;
    let clients = Clients::connect(&server, settings.clients).await?;
    define(clients.first(), 0).await?;
    let count = settings.objects;
    let path = |number| object_path(number, count);
    let made = |number: usize| Call::post(collection(0), object(number + 1));
    add(
        CREATE,
        microseconds(clients.cost(&server, count, made).await?),
    );
    let gets = clients.cost(&server, count * GETS_PER_OBJECT, |number| {
        Call::get(path(number))
    });
    add(GET, microseconds(gets.await?));
    let lists = clients.cost(&server, LISTS, |_| Call::get(collection(0)));
    add(LIST, microseconds(lists.await?));
    let pages = clients.cost(&server, PAGES, |_| {
        Call::get(format!("{}?limit=100", collection(0)))
    });
    add(PAGE, microseconds(pages.await?));
    let change = |number: usize| {
        Call::merge(
            path(number),
            format!(r#"{{"spec":{{"size":{}}}}}"#, number + count),
        )
    };
    let patched = clients.cost(&server, count, change).await?;
    add(PATCH, microseconds(patched));
    let applied = clients.cost(&server, count, |number| {
        let path = format!("{}?fieldManager=applier&force=true", path(number));
        Call::apply(path, object(number % count))
    });
    add(APPLY, microseconds(applied.await?));
    Ok(())
}

/// Where an object is, if there are `count`.
pub(crate) fn object_path(number: usize, count: usize) -> String {
    format!("{}/{}", collection(0), name(number % count))
}

async fn crds(
    program: &Program,
    settings: Settings,
    add: &mut impl FnMut(Measure, f64),
) -> anyhow::Result<()> {
    let server = Server::start(program).await?;
    let client = Client::connect(server.port).await?;
    for number in 0..settings.crds {
        define(&client, number).await?;
    }
    drop(client);
    let server = server.restart(program).await?;
    add(MANY_CRDS, milliseconds(server.start_time));
    let last = Client::connect(server.port).await?;
    let objects = Call::get(collection(settings.crds.saturating_sub(1)));
    until_served(&last, &objects).await?;
    tokio::time::sleep(SETTLE).await;
    add(MANY_CRDS_MEMORY, server.megabytes()?);
    Ok(())
}

async fn memory(
    program: &Program,
    settings: Settings,
    add: &mut impl FnMut(Measure, f64),
) -> anyhow::Result<()> {
    let server = Server::start(program).await?;
    let clients = Clients::connect(&server, settings.clients).await?;
    define(clients.first(), 0).await?;
    clients
        .cost(&server, settings.many, |number| {
            Call::post(collection(0), object(number + 1))
        })
        .await?;
    tokio::time::sleep(SETTLE).await;
    add(MANY_OBJECTS, server.megabytes()?);
    Ok(())
}
