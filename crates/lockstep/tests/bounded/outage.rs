//! A store that is away when the server starts, and later.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use lockstep_testkit::processes::Process;
use lockstep_testkit::wait::{eventually, holds};

/// Status code and body of a GET.
pub(crate) async fn get(client: &Client, path: &str) -> (u16, String) {
    let request = hyper::Request::get(path).body(Body::empty()).unwrap();
    let response = client.send(request).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, String::from_utf8(body.to_vec()).unwrap())
}

fn lockstep() -> Command {
    Command::new(env!("CARGO_BIN_EXE_lockstep"))
}

/// A process of `lockstep store`, which speaks etcd's protocol.
fn store(folder: &Path, port: u16) -> Result<Process, String> {
    let url = format!("http://127.0.0.1:{port}");
    let mut command = lockstep();
    command.args(["store", "--listen-client-urls", &url, "--data-dir"]);
    command.arg(folder.join("store"));
    let (process, _) = Process::start(&mut command, &["ready to serve client requests"])?;
    Ok(process.drained())
}

async fn client(kubeconfig: &Path) -> Client {
    let read = async || Kubeconfig::read_from(kubeconfig).map_err(|error| error.to_string());
    let kubeconfig = eventually("the kubeconfig is written", read).await;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.unwrap()).unwrap()
}

async fn is_ready(client: &Client) {
    eventually("the server is ready", async || {
        let answer = get(client, "/readyz").await;
        holds(answer == (200, "ok".to_owned()), answer)
    })
    .await;
}

async fn is_alive_and_unready(client: &Client) {
    eventually("the server is not ready", async || {
        let (code, body) = get(client, "/readyz").await;
        holds(code == 500 && body.contains("[-]etcd failed"), body)
    })
    .await;
    assert_eq!(get(client, "/livez").await, (200, "ok".to_owned()));
}

#[tokio::test]
async fn a_store_that_is_away_at_the_start_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let data = folder.path().join("data");
    let mut command = lockstep();
    command.args(["serve", "--secure-port", "0", "--data-dir"]);
    command.arg(&data).arg("--store");
    command.arg(format!("etcd://127.0.0.1:{port}"));
    let waiting = ["the store cannot be reached and is waited for"];
    let (process, _) = Process::start(&mut command, &waiting).unwrap();
    let client = client(&data.join("admin.kubeconfig")).await;
    is_alive_and_unready(&client).await;
    let first = store(folder.path(), port).unwrap();
    is_ready(&client).await;
    first.kill();
    is_alive_and_unready(&client).await;
    let _second = store(folder.path(), port).unwrap();
    is_ready(&client).await;
    process.signal("TERM");
    let (code, log) = process.wait();
    let told = log
        .lines()
        .filter(|line| line.contains("the store can be reached"));
    assert_eq!(code, Some(0), "{log}");
    // The cache may be ready, and the server stopped, before the next check of the store tells it.
    assert!(told.count() <= 1, "{log}");
}
