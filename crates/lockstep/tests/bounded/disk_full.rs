//! A disk that becomes full under a server with an embedded store, and has space again: a small `tmpfs`.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use lockstep_testkit::processes::{Process, skipped};
use lockstep_testkit::wait::{eventually, holds};
use serde_json::json;

use crate::outage::get;

/// Room for the log, the state, and what the test writes before it fills the rest.
const DISK: &str = "size=64m";
const VALUE_BYTES: usize = 20_000;
/// More writes than the files of the store have room for without growing.
const WRITES_MAX: usize = 1000;
const REFUSED: &str = "Internal error occurred: etcdserver: mvcc: database space exceeded";
const FULL: &str = "No space left on device (os error 28)";

/// A command in a mount namespace of its own, where `folder` is a small disk; none if that is not allowed here.
fn on_small_disk(folder: &Path) -> Option<Command> {
    let unshare = |command: &mut Command| {
        command.args(["--mount", "--user", "--map-root-user", "sh", "-c"]);
        command.arg(format!(
            "mount -t tmpfs -o {DISK} tmpfs \"$0\" && exec \"$@\""
        ));
        command.arg(folder);
    };
    let mut probe = Command::new("unshare");
    unshare(&mut probe);
    let works = probe.arg("true").output();
    if !works.is_ok_and(|output| output.status.success()) {
        skipped("no disk can be mounted here, so no real disk became full");
        return None;
    }
    let mut command = Command::new("unshare");
    unshare(&mut command);
    Some(command)
}

fn config_map(name: &str) -> ConfigMap {
    let map = json!({ "metadata": { "name": name }, "data": { "k": "x".repeat(VALUE_BYTES) } });
    serde_json::from_value(map).unwrap()
}

#[tokio::test]
async fn a_server_on_a_full_disk_refuses_writes_says_why_and_recovers_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut command) = on_small_disk(folder.path()) else {
        return;
    };
    let data = folder.path().join("data");
    command.arg(env!("CARGO_BIN_EXE_lockstep"));
    command.args(["serve", "--secure-port", "0", "--data-dir"]);
    command.arg(&data);
    let (process, _) = Process::start(&mut command, &["  try  "]).unwrap();
    // The disk as the process sees it.
    let root = format!("/proc/{}/root", process.id());
    let seen = |path: &Path| Path::new(&root).join(path.strip_prefix("/").unwrap());
    let kubeconfig = Kubeconfig::read_from(seen(&data.join("admin.kubeconfig"))).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let client = Client::try_from(config.unwrap()).unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let post = PostParams::default();
    maps.create(&post, &config_map("before")).await.unwrap();

    let ballast = seen(&folder.path().join("ballast"));
    let mut file = fs::File::create(&ballast).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    let mut written = Vec::new();
    let refused = loop {
        assert!(written.len() < WRITES_MAX, "the disk is not full");
        let name = format!("m{}", written.len());
        match maps.create(&post, &config_map(&name)).await {
            Ok(_) => written.push(name),
            Err(kube::Error::Api(status)) => break status,
            Err(error) => panic!("{error}"),
        }
    };
    let told = (refused.code, refused.message.as_str());
    assert_eq!(told, (500, REFUSED));
    let (code, body) = get(&client, "/readyz").await;
    let line = body.lines().find(|line| line.contains("store-writable"));
    let line = line.unwrap_or_default();
    assert_eq!(code, 500);
    assert!(line.starts_with("[-]") && line.ends_with(FULL), "{line}");
    assert_eq!(get(&client, "/livez").await, (200, "ok".to_owned()));
    for name in &written {
        maps.get(name).await.unwrap();
    }

    drop(file);
    fs::remove_file(&ballast).unwrap();
    eventually("the server is ready again", async || {
        let answer = get(&client, "/readyz").await;
        holds(answer == (200, "ok".to_owned()), answer)
    })
    .await;
    maps.create(&post, &config_map("after")).await.unwrap();
    for name in &written {
        maps.get(name).await.unwrap();
    }
    process.signal("TERM");
    let (code, log) = process.wait();
    let count = |text: &str| log.lines().filter(|line| line.contains(text)).count();
    let told = [
        "the store refuses writes until it can write to disk again",
        "the store writes to disk again",
    ];
    assert_eq!((code, told.map(count)), (Some(0), [1, 1]), "{log}");
}
