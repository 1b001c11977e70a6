//! Server processes: start, measurement and stop.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use tempfile::TempDir;

use crate::client::Connection;
use crate::contents;
use crate::load::{as_float, now};
use lockstep_testkit::machine;
use lockstep_testkit::processes::Process;

/// Timeout of a server's start.
const START_TIMEOUT: Duration = Duration::from_secs(30);
const START_POLL: Duration = Duration::from_millis(5);
/// Every server writes its state in the background, about once a second.
const SETTLE_MIN: Duration = Duration::from_millis(1250);
const SETTLE_STEP: Duration = Duration::from_millis(250);
const SETTLE_STEPS_MAX: u32 = 40;

/// A program that can be started as a server.
pub(crate) struct Program {
    pub(crate) title: String,
    path: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lockstep,
    Etcd,
}

impl Program {
    pub(crate) fn lockstep(path: PathBuf) -> Self {
        Self {
            title: "lockstep".to_owned(),
            path,
            kind: Kind::Lockstep,
        }
    }

    /// With the version that it tells.
    pub(crate) fn etcd(path: PathBuf) -> anyhow::Result<Self> {
        let told = Command::new(&path).arg("--version").output();
        let told = told.with_context(|| format!("starting `{}`", path.display()))?;
        let told = String::from_utf8(told.stdout)?;
        let version = told
            .lines()
            .find_map(|line| line.strip_prefix("etcd Version: "));
        let version = version.context("etcd tells no version")?;
        Ok(Self {
            title: format!("etcd {version}"),
            path,
            kind: Kind::Etcd,
        })
    }

    pub(crate) fn is_etcd(&self) -> bool {
        self.kind == Kind::Etcd
    }

    fn command(&self, folder: &Path, client: u16, peer: u16) -> Command {
        let client = format!("http://127.0.0.1:{client}");
        let peer = format!("http://127.0.0.1:{peer}");
        let mut command = Command::new(&self.path);
        match self.kind {
            Kind::Lockstep => {
                command.arg("store");
            }
            Kind::Etcd => {
                command.args(["--logger=zap", "--log-outputs=/dev/null"]);
            }
        }
        command
            .arg("--data-dir")
            .arg(folder)
            .args(["--name=bench", "--log-level=error"])
            .args([format!("--listen-client-urls={client}")])
            .args([format!("--advertise-client-urls={client}")])
            .args([format!("--listen-peer-urls={peer}")])
            .args([format!("--initial-advertise-peer-urls={peer}")])
            .args([format!("--initial-cluster=bench={peer}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

/// A running server with a directory of its own. Ends when it is dropped.
pub(crate) struct Server {
    process: Process,
    pub(crate) port: u16,
    peer_port: u16,
    folder: TempDir,
    /// From its start to its first answer.
    pub(crate) start_time: Duration,
}

impl Server {
    pub(crate) async fn start(program: &Program) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let (port, peer_port) = free_ports()?;
        Self::start_in(program, folder, port, peer_port).await
    }

    /// Starts a server on what another left behind.
    pub(crate) async fn restart(self, program: &Program) -> anyhow::Result<Self> {
        // As a service manager does it; both servers write everything down first.
        self.process.signal("TERM");
        self.process.wait();
        Self::start_in(program, self.folder, self.port, self.peer_port).await
    }

    async fn start_in(
        program: &Program,
        folder: TempDir,
        port: u16,
        peer_port: u16,
    ) -> anyhow::Result<Self> {
        let start = now();
        let mut command = program.command(folder.path(), port, peer_port);
        let process = command.spawn();
        let process = process.with_context(|| format!("starting {}", program.title))?;
        let mut server = Self {
            process: process.into(),
            port,
            peer_port,
            folder,
            start_time: Duration::ZERO,
        };
        while !server.answers().await {
            let is_late = start.elapsed() > START_TIMEOUT;
            anyhow::ensure!(!is_late, "{} does not answer", program.title);
            anyhow::ensure!(!server.process.has_ended(), "{} ended", program.title);
            tokio::time::sleep(START_POLL).await;
        }
        server.start_time = start.elapsed();
        Ok(server)
    }

    /// True if the server answers reads: a member without a leader answers only status requests.
    async fn answers(&self) -> bool {
        let Ok(connection) = Connection::open(self.port).await else {
            return false;
        };
        connection.handle().call(contents::get(0, 1)).await.is_ok()
    }

    pub(crate) async fn connect(&self, count: usize) -> anyhow::Result<Vec<Connection>> {
        Connection::open_many(self.port, count).await
    }

    pub(crate) fn processor_time(&self) -> anyhow::Result<Duration> {
        machine::processor_time(self.process.id())
    }

    /// The processor time since `before` for each of some operations, in microseconds.
    pub(crate) fn micros_since(&self, before: Duration, operations: u64) -> anyhow::Result<f64> {
        let used = self.processor_time()?.saturating_sub(before);
        Ok(used.as_secs_f64() * 1e6 / as_float(operations))
    }

    pub(crate) fn anonymous_mebibytes(&self) -> anyhow::Result<f64> {
        machine::anonymous_mebibytes(self.process.id())
    }

    /// Waits until the server has finished background work of a load.
    pub(crate) async fn settle(&self) -> anyhow::Result<()> {
        tokio::time::sleep(SETTLE_MIN).await;
        for _ in 0..SETTLE_STEPS_MAX {
            let before = self.processor_time()?;
            tokio::time::sleep(SETTLE_STEP).await;
            if self.processor_time()?.saturating_sub(before) < SETTLE_STEP / 10 {
                break;
            }
        }
        Ok(())
    }
}

/// Two unused ports.
fn free_ports() -> anyhow::Result<(u16, u16)> {
    let first = TcpListener::bind(("127.0.0.1", 0))?;
    let second = TcpListener::bind(("127.0.0.1", 0))?;
    Ok((first.local_addr()?.port(), second.local_addr()?.port()))
}
