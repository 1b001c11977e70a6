//! The server that a command gets.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::failure::{Exit, Failure};
use crate::orphan;
use crate::remote::Access;

/// Interval between readiness checks.
const READY_INTERVAL: Duration = Duration::from_millis(5);
/// A server that takes this many questions will not get ready.
const READY_QUESTIONS_MAX: u32 = 6_000;

/// A server on a directory that goes when the server does.
pub(super) struct Server {
    child: Child,
    folder: Option<tempfile::TempDir>,
    data: PathBuf,
}

impl Server {
    /// Starts one on a free port and waits until it is ready.
    pub(super) fn start(feature_gates: &[String]) -> Result<Self, Failure> {
        let cannot = |error: &std::io::Error| {
            Failure::of_server(
                Exit::Configuration,
                format!("cannot start a server: {error}"),
            )
        };
        let folder = tempfile::Builder::new().prefix("lockstep-run-").tempdir();
        let folder = folder.map_err(|error| cannot(&error))?;
        let program = std::env::current_exe().map_err(|error| cannot(&error))?;
        let log = File::create(folder.path().join("server.log")).map_err(|error| cannot(&error))?;
        let mut command = Command::new(program);
        // Not started by the name it might have been reached by.
        command.arg0("lockstep").arg("serve").arg("--data-dir");
        command.arg(folder.path());
        command.args(["--secure-port", "0", "--bind-address", "127.0.0.1"]);
        command.args(["--store", "embedded", "--unsafe-no-fsync"]);
        for gates in feature_gates {
            command.arg("--feature-gates").arg(gates);
        }
        command.env(orphan::VARIABLE, "1");
        // Ctrl-C is for the command; the server ends after it.
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(log);
        let child = command.spawn().map_err(|error| cannot(&error))?;
        let mut server = Self {
            child,
            data: folder.path().to_owned(),
            folder: Some(folder),
        };
        server.wait()?;
        Ok(server)
    }

    fn wait(&mut self) -> Result<(), Failure> {
        for _ in 0..READY_QUESTIONS_MAX {
            let is_ready = self.kubeconfig().exists()
                && self
                    .access()
                    .is_ok_and(|access| access.get("/readyz").is_ok());
            if is_ready {
                return Ok(());
            }
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                break;
            }
            std::thread::sleep(READY_INTERVAL);
        }
        let log = std::fs::read_to_string(self.data.join("server.log")).unwrap_or_default();
        let message = format!("the server did not start: {}", log.trim_end());
        Err(Failure::of_server(Exit::Configuration, message))
    }

    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.data.join("admin.kubeconfig")
    }

    /// The administrator's way in.
    pub(super) fn access(&self) -> Result<Access, Failure> {
        Access::of_kubeconfig(&self.kubeconfig())
    }

    pub(super) fn url(&self) -> Result<String, Failure> {
        Ok(self.access()?.server().to_owned())
    }

    /// Ends the server and leaves its directory.
    pub(super) fn keep(mut self) -> PathBuf {
        if let Some(folder) = self.folder.take() {
            let _path = folder.keep();
        }
        self.data.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        super::terminate(&self.child);
        let _ended = self.child.wait();
    }
}
