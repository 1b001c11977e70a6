//! The server as a whole.

use std::sync::Arc;

use lockstep_featuregate::Gates;
use lockstep_storage::Store;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

use crate::audit::Audit;
use crate::authn::Authentication;
use crate::authz::Authorizer;
use crate::clock::{self, Moment};
use crate::endpoints::{Handler, Milestone, Milestones};
use crate::frame::InFlight;
use crate::limits::{DRAIN_MAX, Limits};
use crate::metrics::Metrics;
use crate::transport::{self, Drain, TlsVersion};
use crate::trust::ServingIdentity;

/// What a server is made of.
pub struct Config {
    /// Which features are on.
    pub gates: Gates,
    /// The flags to show, by name, with secrets left out.
    pub flags: Vec<(String, String)>,
    /// What is bounded.
    pub limits: Limits,
    /// Who is who.
    pub authentication: Arc<Authentication>,
    /// Who may do what.
    pub authorizer: Authorizer,
    /// What is logged about requests.
    pub audit: Option<Audit>,
    /// What the server shows to clients.
    pub identity: Arc<ServingIdentity>,
    /// The oldest version of TLS.
    pub tls_min: TlsVersion,
    /// Where objects live.
    pub store: Arc<dyn Store>,
    /// What answers for resources in place of the server's own.
    pub handler: Option<Handler>,
}

/// A server that is ready to run.
pub struct ApiServer {
    server: Arc<Server>,
    acceptor: TlsAcceptor,
}

/// What every request may need.
pub(crate) struct Server {
    pub(crate) gates: Gates,
    pub(crate) flags: Vec<(String, String)>,
    pub(crate) limits: Limits,
    pub(crate) authentication: Arc<Authentication>,
    pub(crate) authorizer: Authorizer,
    pub(crate) audit: Option<Audit>,
    pub(crate) metrics: Metrics,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) handler: Option<Handler>,
    pub(crate) in_flight: InFlight,
    pub(crate) milestones: Milestones,
    pub(crate) drain: Drain,
    pub(crate) started: Moment,
}

impl ApiServer {
    /// Puts a server together. Nothing is listened on before [`ApiServer::run`].
    pub fn new(config: Config) -> Result<Self, rustls::Error> {
        let tls = transport::server_config(config.identity, config.tls_min)?;
        let server = Server {
            in_flight: InFlight::new(&config.limits),
            gates: config.gates,
            flags: config.flags,
            limits: config.limits,
            authentication: config.authentication,
            authorizer: config.authorizer,
            audit: config.audit,
            metrics: Metrics::new(),
            store: config.store,
            handler: config.handler,
            milestones: Milestones::default(),
            drain: Drain::default(),
            started: clock::now(),
        };
        Ok(Self {
            server: Arc::new(server),
            acceptor: TlsAcceptor::from(Arc::new(tls)),
        })
    }

    /// Serves until `shutdown` is done, then lets running requests finish. Watches end at once.
    pub async fn run(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let Self { server, acceptor } = self;
        server.start();
        let tasks = TaskTracker::new();
        let accepting = transport::accept(Arc::clone(&server), listener, acceptor, &tasks);
        let stopping = async {
            shutdown.await;
            server.drain.stopping.cancel();
            tokio::time::sleep(server.limits.shutdown_delay).await;
            server.drain.closing.cancel();
        };
        tokio::join!(accepting, stopping);
        tasks.close();
        if tokio::time::timeout(DRAIN_MAX, tasks.wait()).await.is_err() {
            tracing::warn!(
                requests = tasks.len(),
                "requests were still running and are cut off"
            );
        }
    }
}

impl Server {
    /// What has to happen before the server is ready.
    fn start(&self) {
        for milestone in Milestone::ALL {
            self.milestones.reach(milestone);
        }
    }
}
