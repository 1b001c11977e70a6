//! A Lockstep API server inside a test: no download, no other process, gone with the test.
//!
//! ```no_run
//! use k8s_openapi::api::core::v1::Namespace;
//! use kube::Api;
//! use lockstep_testenv::TestEnv;
//!
//! # async fn test() -> Result<(), Box<dyn std::error::Error>> {
//! let env = TestEnv::start().await?;
//! let namespaces: Api<Namespace> = Api::all(env.client());
//! assert_eq!(namespaces.get("default").await?.metadata.name.as_deref(), Some("default"));
//! # Ok(())
//! # }
//! ```
//!
//! Each has a free port, a memory and certificates of its own, so any number of them run at once. What
//! `lockstep serve` does is done here too: CRDs with their rules, server-side apply, RBAC, webhooks,
//! deletion of namespaces and of objects whose owner is gone. Nothing is kept on disk but the
//! certificates and a kubeconfig, for programs that the test starts.

mod server;

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use lockstep_apiserver::CredentialError;
use tokio::sync::oneshot;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A gate was asked for that does not exist, or that cannot be had so; all that is wrong.
    #[error("{0}")]
    Gates(String),
    /// No directory, port or thread could be had.
    #[error("{0}")]
    System(#[from] std::io::Error),
    /// Certificates could not be made.
    #[error("{0}")]
    Credentials(#[from] CredentialError),
    /// The server did not start with them.
    #[error("{0}")]
    Tls(String),
    /// The server ended before it was ready.
    #[error("the server ended before it was ready")]
    Ended,
    /// The kubeconfig could not be read back.
    #[error("{0}")]
    Kubeconfig(#[from] KubeconfigError),
    /// No client could be made of it.
    #[error("{0}")]
    Client(#[from] Box<kube::Error>),
}

/// Settings of a server to start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[must_use = "it is nothing until it is started"]
pub struct Builder {
    feature_gates: Vec<String>,
}

impl Builder {
    /// Switches gates of the server, as `--feature-gates` does: `Name=true|false,…`.
    pub fn feature_gates(mut self, gates: impl Into<String>) -> Self {
        self.feature_gates.push(gates.into());
        self
    }

    /// Starts the server and waits until it is ready.
    pub async fn start(self) -> Result<TestEnv, StartError> {
        let folder = tempfile::Builder::new()
            .prefix("lockstep-testenv-")
            .tempdir()?;
        let kubeconfig = folder.path().join("admin.kubeconfig");
        let prepared = server::Prepared::new(folder.path(), &kubeconfig, &self.feature_gates)?;
        let (stop, stopped) = oneshot::channel();
        let (tell, ready) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("lockstep-testenv".to_owned())
            .stack_size(lockstep_object::json::STACK_BYTES);
        let thread = thread.spawn(move || prepared.run(tell, stopped))?;
        let running = Running {
            stop: Some(stop),
            thread: Some(thread),
        };
        ready.await.map_err(|_| StartError::Ended)??;
        let read = Kubeconfig::read_from(&kubeconfig)?;
        let config =
            kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
        let url = config.cluster_url.to_string();
        let client = kube::Client::try_from(config).map_err(Box::new)?;
        Ok(TestEnv {
            client,
            url,
            kubeconfig,
            _running: running,
            _folder: folder,
        })
    }
}

/// A running server. It ends when this is dropped, and what it held is gone.
pub struct TestEnv {
    client: kube::Client,
    url: String,
    kubeconfig: PathBuf,
    // Ends before its directory goes.
    _running: Running,
    _folder: tempfile::TempDir,
}

impl TestEnv {
    /// Starts a server with all gates at their defaults.
    pub async fn start() -> Result<Self, StartError> {
        Self::builder().start().await
    }

    /// A server that is started with something else.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A client with all rights.
    #[must_use]
    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// Where the server listens.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A kubeconfig with all rights, for `KUBECONFIG` of a program that the test starts. The file goes
    /// with the server.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

/// The thread of a server.
struct Running {
    stop: Option<oneshot::Sender<std::convert::Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in there has been printed.
            drop(thread.join());
        }
    }
}
