//! The server and the thread it runs on.
//!
//! A thread of its own, so that a test may block, use any runtime, and know that everything has ended
//! when the thread has.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use lockstep_apiserver::accounts::AccountSettings;
use lockstep_apiserver::admission::Plugins;
use lockstep_apiserver::authz::stored_rules_only;
use lockstep_apiserver::builtin::{ApiWishes, Apis};
use lockstep_apiserver::limits::{COMPACTION_INTERVAL, Limits};
use lockstep_apiserver::resources::EVENT_TTL;
use lockstep_apiserver::trust::ServingNames;
use lockstep_apiserver::{
    ApiServer, Config, CredentialFiles, Credentials, EnabledControllers, LoopConfig, ServiceRange,
    TlsVersion,
};
use lockstep_featuregate::{Builder, Gates};
use lockstep_storage::MemoryStore;
use tokio::sync::oneshot;

use crate::StartError;

const HOST: &str = "localhost";

/// Everything that can be wrong has been looked at; the rest runs on the thread.
pub(crate) struct Prepared {
    credentials: Credentials,
    listener: TcpListener,
    gates: Gates,
    apis: Apis,
    server: String,
}

impl Prepared {
    pub(crate) fn new(
        folder: &Path,
        kubeconfig: &Path,
        feature_gates: &[String],
    ) -> Result<Self, StartError> {
        let registry = lockstep_gates::registry();
        let builder = Builder::new(registry);
        let builder = feature_gates.iter().fold(builder, Builder::flag);
        let started = builder.try_finish();
        let gates = started
            .map_err(|errors| StartError::Gates(errors.to_string()))?
            .gates;
        let apis = Apis::decide(&gates, &ApiWishes::default())
            .map_err(|errors| StartError::Gates(errors.texts().join(", ")))?;
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let listener = TcpListener::bind(SocketAddr::new(loopback, 0))?;
        listener.set_nonblocking(true)?;
        let files = CredentialFiles {
            own: folder.join("pki"),
            serving: folder.join("pki"),
            serving_pair: None,
            client_authorities: Vec::new(),
            tokens: None,
            accounts: AccountSettings::default(),
            oidc: None,
            kubeconfig: kubeconfig.to_owned(),
            names: ServingNames::new(Some(HOST), loopback),
        };
        let now = Timestamp::now();
        let credentials = Credentials::prepare(files, true, now)?;
        credentials.write_kubeconfig(listener.local_addr()?, now)?;
        Ok(Self {
            credentials,
            listener,
            gates,
            apis,
            server: format!("{HOST}:{}", folder.display()),
        })
    }

    /// Serves until the other side of `stopped` is dropped.
    pub(crate) fn run(
        self,
        tell: oneshot::Sender<Result<(), StartError>>,
        stopped: oneshot::Receiver<std::convert::Infallible>,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .thread_stack_size(lockstep_object::json::STACK_BYTES)
            .enable_all()
            .build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => {
                let _nobody_waits = tell.send(Err(error.into()));
                return;
            }
        };
        runtime.block_on(async {
            let (server, listener) = match self.start() {
                Ok(started) => started,
                Err(error) => {
                    let _nobody_waits = tell.send(Err(error));
                    return;
                }
            };
            let ready = server.ready();
            let telling = async {
                ready.await;
                let _nobody_waits = tell.send(Ok(()));
                std::future::pending::<std::convert::Infallible>().await
            };
            tokio::select! {
                () = server.run(listener, async { drop(stopped.await) }) => {}
                never = telling => match never {},
            }
        });
    }

    fn start(self) -> Result<(ApiServer, tokio::net::TcpListener), StartError> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let now = Timestamp::now();
        let store = MemoryStore::start(lockstep_storage::Limits::default());
        let server = ApiServer::new(Config {
            gates: self.gates,
            apis: self.apis,
            flags: Vec::new(),
            limits: Limits::default(),
            authentication: self.credentials.authentication(),
            authorizer: stored_rules_only(),
            audit: None,
            identity: self.credentials.identity(),
            tls_min: TlsVersion::default(),
            store: Arc::new(store),
            client_ca: self.credentials.client_ca(now)?,
            compaction_interval: COMPACTION_INTERVAL,
            event_ttl: EVENT_TTL,
            service_range: ServiceRange::default(),
            plugins: Plugins::default(),
            loops: LoopConfig {
                controllers: EnabledControllers::default(),
                server: self.server,
                host: HOST.to_owned(),
                root_ca: self.credentials.root_ca(now)?,
                namespace_grace: std::time::Duration::ZERO,
            },
            handler: None,
        });
        let server = server.map_err(|error| StartError::Tls(error.to_string()))?;
        Ok((server, listener))
    }
}
