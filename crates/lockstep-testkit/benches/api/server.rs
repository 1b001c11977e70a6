//! Servers: starting them, asking the system about them, and ending them.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use lockstep_testkit::machine;
use lockstep_testkit::processes::Process;
use tempfile::TempDir;

use crate::client::{Call, Client, TOKEN};

/// Upper bound on the time until a server is ready.
const START_MAX: Duration = Duration::from_secs(120);
const START_POLL: Duration = Duration::from_millis(2);

/// Server under measurement.
pub(crate) enum Program {
    Lockstep(PathBuf),
    Kubernetes { server: PathBuf, etcd: PathBuf },
}

impl Program {
    pub(crate) fn title(&self) -> &'static str {
        match self {
            Self::Lockstep(_) => "lockstep",
            Self::Kubernetes { .. } => "kube-apiserver",
        }
    }

    /// The processes to start, the API server last.
    fn commands(&self, folder: &Path, port: u16) -> anyhow::Result<Vec<Command>> {
        let tokens = folder.join("tokens.csv");
        std::fs::write(&tokens, format!("{TOKEN},bench,bench,\"system:masters\"\n"))?;
        let mut command;
        let mut commands = Vec::new();
        match self {
            Self::Lockstep(path) => {
                command = Command::new(path);
                command
                    .arg("serve")
                    .arg("--data-dir")
                    .arg(folder.join("data"));
            }
            Self::Kubernetes { server, etcd } => {
                let (client, peer) = (free_port()?, free_port()?);
                let (client, peer) = (
                    format!("http://127.0.0.1:{client}"),
                    format!("http://127.0.0.1:{peer}"),
                );
                let mut store = Command::new(etcd);
                store.arg("--data-dir").arg(folder.join("etcd"));
                store.args(["--name=bench", "--log-level=error"]);
                store.arg(format!("--listen-client-urls={client}"));
                store.arg(format!("--advertise-client-urls={client}"));
                store.arg(format!("--listen-peer-urls={peer}"));
                store.arg(format!("--initial-advertise-peer-urls={peer}"));
                store.arg(format!("--initial-cluster=bench={peer}"));
                commands.push(store);
                let key = folder.join("sa.key");
                if !key.exists() {
                    let mut openssl = Command::new("openssl");
                    openssl
                        .args(["genrsa", "-out"])
                        .arg(&key)
                        .arg("2048")
                        .stderr(Stdio::null());
                    anyhow::ensure!(openssl.status()?.success(), "openssl makes no key");
                }
                command = Command::new(server);
                command.arg(format!("--etcd-servers={client}"));
                command.arg("--cert-dir").arg(folder.join("certs"));
                command.args([
                    "--service-account-issuer=https://bench",
                    "--service-cluster-ip-range=10.0.0.0/24",
                ]);
                command.arg("--service-account-key-file").arg(&key);
                command.arg("--service-account-signing-key-file").arg(&key);
            }
        }
        command.args(["--bind-address=127.0.0.1", "--authorization-mode=RBAC"]);
        command
            .arg(format!("--secure-port={port}"))
            .arg("--token-auth-file")
            .arg(tokens);
        commands.push(command);
        Ok(commands)
    }
}

/// A running server with a directory of its own. Ends when it is dropped.
pub(crate) struct Server {
    processes: Vec<Process>,
    pub(crate) port: u16,
    folder: TempDir,
    /// From its start to the first time that it was ready.
    pub(crate) start_time: Duration,
}

impl Server {
    pub(crate) async fn start(program: &Program) -> anyhow::Result<Self> {
        Self::start_in(program, tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?).await
    }

    /// Ends it in order and starts it again on what it left.
    pub(crate) async fn restart(self, program: &Program) -> anyhow::Result<Self> {
        for process in self.processes.into_iter().rev() {
            process.signal("TERM");
            process.wait();
        }
        Self::start_in(program, self.folder).await
    }

    async fn start_in(program: &Program, folder: TempDir) -> anyhow::Result<Self> {
        let port = free_port()?;
        let begun = now();
        let mut processes = Vec::new();
        for mut command in program.commands(folder.path(), port)? {
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let process = command.spawn().context("starting a server")?;
            processes.push(Process::from(process));
        }
        let mut server = Self {
            processes,
            port,
            folder,
            start_time: Duration::ZERO,
        };
        while !server.is_ready().await {
            anyhow::ensure!(begun.elapsed() < START_MAX, "it does not become ready");
            let api = server.processes.last_mut().context("a server")?;
            anyhow::ensure!(!api.has_ended(), "it ended");
            tokio::time::sleep(START_POLL).await;
        }
        server.start_time = begun.elapsed();
        Ok(server)
    }

    async fn is_ready(&self) -> bool {
        match Client::connect(self.port).await {
            Ok(client) => client.send(&Call::get("/readyz")).await.is_ok(),
            Err(_) => false,
        }
    }

    /// The processor time of the API server so far; a store in a process of its own is not counted.
    pub(crate) fn processor_time(&self) -> anyhow::Result<Duration> {
        machine::processor_time(self.api()?)
    }

    /// The memory of the API server, in MB.
    pub(crate) fn megabytes(&self) -> anyhow::Result<f64> {
        Ok(machine::resident_mebibytes(self.api()?)? * 1.048_576)
    }

    fn api(&self) -> anyhow::Result<u32> {
        Ok(self.processes.last().context("a server")?.id())
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
