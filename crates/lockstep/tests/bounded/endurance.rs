//! Many updates of few objects: what they leave behind is compacted. `cargo xtask endurance` makes 500,000.

use std::time::{Duration, Instant};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, Patch, PatchParams, PostParams, VersionMatch};
use kube::{Api, ResourceExt as _};
use lockstep_testkit::wait::eventually;
use serde_json::json;

use crate::server::Server;
use crate::usage::{Usage, heading};

const OBJECTS: usize = 100;
/// Updates under way at once.
const CONCURRENT: usize = 32;
/// Growth that the run with many updates may show over that with few.
const GROWTH_MAX: f64 = 2.0;
/// Growth of memory that is not counted: the page cache of the state file, which fills in time (`CACHE_BYTES`, 8 MiB),
/// and as much that an allocator keeps of what the history between two compactions took.
const MEMORY_SLACK_MEBIBYTES: f64 = 16.0;
/// Growth of disk that is not counted: the length below which the state file is not defragmented (`SPARSE_BYTES_MIN`).
/// The log needs none: one segment in use and one spare.
const DISK_SLACK_MEBIBYTES: f64 = 16.0;
/// Longest wait for memory and disk to be given back after the last compaction.
const SETTLE_MAX: Duration = Duration::from_secs(4 * 60);
/// Pause between two looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Length of a run.
#[derive(Clone, Copy)]
struct Length {
    few: usize,
    many: usize,
    /// Whether start times are compared: only where nothing else runs.
    is_timed: bool,
}

impl Length {
    fn of_environment() -> Self {
        match std::env::var("LOCKSTEP_ENDURANCE_UPDATES") {
            Ok(many) => Self {
                few: 5000,
                many: many.parse().unwrap(),
                is_timed: true,
            },
            Err(_) => Self {
                few: 200,
                many: 4000,
                is_timed: false,
            },
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_updates_of_few_objects_leave_nothing_behind_in_the_embedded_store() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::embedded(folder.path(), &["--etcd-compaction-interval", "1s"]);
    endure("embedded", server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_updates_of_few_objects_leave_nothing_behind_in_etcd() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--etcd-compaction-interval", "1s"];
    if let Some(server) = Server::on_etcd(folder.path(), &flags) {
        endure("etcd", server).await;
    }
}

async fn endure(name: &str, server: Server) {
    let length = Length::of_environment();
    let maps = maps_of(&server).await;
    for number in 0..OBJECTS {
        let map = json!({ "metadata": { "name": format!("m{number}") } });
        let map: ConfigMap = serde_json::from_value(map).unwrap();
        maps.create(&PostParams::default(), &map).await.unwrap();
    }
    update(&maps, 0..length.few).await;
    compacted(&maps).await;
    let (server, few_start) = restarted(server);
    let maps = maps_of(&server).await;
    compacted(&maps).await;
    let few = Usage::of(server.id(), server.data());
    update(&maps, length.few..length.many).await;
    compacted(&maps).await;
    let peak = Usage::of(server.id(), server.data());
    let many = settled(&server, &few).await;
    let (server, many_start) = restarted(server);
    println!("{name}: {OBJECTS} objects\n{}", heading());
    println!(
        "{} start {few_start:.2?}",
        few.row(&format!("{} updates", length.few))
    );
    println!("{}", peak.row("after the last update"));
    println!(
        "{} start {many_start:.2?}",
        many.row(&format!("{} updates", length.many))
    );
    assert!(is_memory_within(&few, &many), "memory of {name}");
    assert!(is_disk_within(&few, &many), "disk of {name}");
    let grows = many_start > few_start.mul_f64(GROWTH_MAX) + Duration::from_millis(200);
    assert!(!(length.is_timed && grows), "start of {name}");
    let found = maps_of(&server).await.list(&ListParams::default()).await;
    let named = |map: &&ConfigMap| map.name_any().starts_with('m');
    assert_eq!(found.unwrap().iter().filter(named).count(), OBJECTS);
}

async fn maps_of(server: &Server) -> Api<ConfigMap> {
    Api::default_namespaced(server.client().await)
}

fn is_memory_within(few: &Usage, many: &Usage) -> bool {
    many.memory <= few.memory * GROWTH_MAX + MEMORY_SLACK_MEBIBYTES
}

fn is_disk_within(few: &Usage, many: &Usage) -> bool {
    many.disk <= few.disk * GROWTH_MAX + DISK_SLACK_MEBIBYTES
}

async fn update(maps: &Api<ConfigMap>, numbers: std::ops::Range<usize>) {
    let filler = "x".repeat(300);
    futures::stream::iter(numbers)
        .map(|number| {
            let patch = json!({ "data": { "number": number.to_string(), "filler": filler } });
            async move {
                let name = format!("m{}", number % OBJECTS);
                let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
                maps.patch(&name, &params, &patch).await.unwrap();
            }
        })
        .buffer_unordered(CONCURRENT)
        .collect::<()>()
        .await;
}

/// Waits until the store is compacted beyond its present revision: then the list at this revision is gone.
async fn compacted(maps: &Api<ConfigMap>) {
    let now = maps.list(&ListParams::default().limit(1)).await.unwrap();
    let now = now.metadata.resource_version.unwrap();
    let at = ListParams::default().at(&now).matching(VersionMatch::Exact);
    eventually("the store is compacted", async || {
        match maps.list(&at).await {
            Ok(_) => Err("the list is still there"),
            Err(kube::Error::Api(status)) if status.code == 410 => Ok(()),
            Err(error) => panic!("{error}"),
        }
    })
    .await;
}

/// Waits until memory and disk are within their bounds; returns the last look.
#[expect(
    clippy::disallowed_methods,
    reason = "the server gives back what it no longer needs after a time of its own"
)]
async fn settled(server: &Server, few: &Usage) -> Usage {
    let until = Instant::now() + SETTLE_MAX;
    let mut interval = tokio::time::interval(LOOK_INTERVAL);
    loop {
        interval.tick().await;
        let now = Usage::of(server.id(), server.data());
        let is_settled = is_memory_within(few, &now) && is_disk_within(few, &now);
        if is_settled || Instant::now() >= until {
            return now;
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the start time is measured")]
fn restarted(server: Server) -> (Server, Duration) {
    let begun = Instant::now();
    let server = server.restart();
    (server, begun.elapsed())
}
