//! The server: configuration, start, run and shutdown.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lockstep_admission::features::{Feature, Features};
use lockstep_builtins::services::ServiceRange;
use lockstep_featuregate::Gates;
use lockstep_gates::{
    API_SERVER_IDENTITY, CRD_FIELD_LEVEL_VERSIONING, MUTATING_ADMISSION_POLICY,
    MUTATION_APPLY_DIALECT, MUTATION_CONVERGENCE, MUTATION_DRY_RUN_BINDING,
    MUTATION_PRECISE_REINVOCATION, MUTATION_SAFETY, MUTATION_SCOPES, WATCH_LIST,
};
use lockstep_object::metadata::Seconds;
use lockstep_storage::Store;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admission::{Plugin, Plugins};
use crate::audit::{Audit, AuditLog};
use crate::authn::Authentication;
use crate::authz::{Authorizer, StoredRules};
use crate::builtin;
use crate::cache::Cache;
use crate::clock;
use crate::compaction::Compactor;
use crate::crd::{FieldGates, Follower};
use crate::drain::Drain;
use crate::expressions;
use crate::fairness;
use crate::featuregates::{self, Publisher};
use crate::frame::record_own;
use crate::handler::Handler;
use crate::heavy_work::HeavyWork;
use crate::limits::{DRAIN_MAX, Limits};
use crate::loops::{LoopConfig, Loops};
use crate::metrics::Metrics;
use crate::milestones::{Milestone, Milestones};
use crate::openapi::Documents;
use crate::policy_status;
use crate::resources::{Api, Registry};
use crate::standard::make_standard_objects;
use crate::start::{make_default_roles, make_system_objects, publish_client_ca};
use crate::state::Server;
use crate::transport::{self, TlsVersion};
use crate::trust::ServingIdentity;
use crate::turn::Turns;

/// Key prefix of all stored objects.
const PREFIX: &str = "/registry/";
/// Pause before a failed start step is retried.
const START_PAUSE: Duration = Duration::from_millis(200);

/// Pause before background work restarts after a panic.
const WORK_PAUSE: Duration = Duration::from_secs(1);

/// Configuration of a server.
pub struct Config {
    /// Feature gates.
    pub gates: Gates,
    /// Enabled built-in APIs.
    pub apis: builtin::Apis,
    /// Flags for `/flagz`, by name, without secrets.
    pub flags: Vec<(String, String)>,
    /// Limits.
    pub limits: Limits,
    /// Authenticators.
    pub authentication: Arc<Authentication>,
    /// Authorizer that precedes RBAC.
    pub authorizer: Authorizer,
    /// Audit policy and sink; none disables audit.
    pub audit: Option<Audit>,
    /// Serving certificates.
    pub identity: Arc<ServingIdentity>,
    /// Minimum TLS version.
    pub tls_min: TlsVersion,
    /// Store of all objects.
    pub store: Arc<dyn Store>,
    /// CAs of client certificates in PEM, published for extension API servers.
    pub client_ca: String,
    /// Time between compactions of the store; zero turns them off.
    pub compaction_interval: Duration,
    /// TTL of events after their last write; zero means no expiry.
    pub event_ttl: Duration,
    /// IP range for cluster IPs of Services.
    pub service_range: ServiceRange,
    /// Enabled admission plugins.
    pub plugins: Plugins,
    /// Controllers.
    pub loops: LoopConfig,
    /// Handler that replaces the server's own resources.
    pub handler: Option<Handler>,
}

/// Configured server that [`ApiServer::run`] starts.
pub struct ApiServer {
    background: Arc<Background>,
    acceptor: TlsAcceptor,
}

/// Work in the background of a server: caches, default objects and controllers.
struct Background {
    server: Arc<Server>,
    client_ca: String,
    service_range: ServiceRange,
    loops: Loops,
    gate_publisher: Publisher,
    compactor: Compactor,
    /// Cancelled when the start is complete.
    ready: CancellationToken,
}

impl ApiServer {
    /// Builds a server. It does not listen before [`ApiServer::run`].
    pub fn new(config: Config) -> Result<Self, rustls::Error> {
        let tls = transport::server_config(config.identity, config.tls_min)?;
        let cache = Cache::new(Arc::clone(&config.store), PREFIX);
        let compactor = Compactor {
            store: Arc::clone(&config.store),
            cache: cache.clone(),
            interval: config.compaction_interval,
        };
        let compatibility = expressions::compatibility(&config.gates);
        let resources = builtin::resources(compatibility, &config.apis);
        let registry = Registry::new(resources.chain([featuregates::resource()]));
        let fresh = || uuid::Uuid::new_v4().as_u128();
        let api = Api::new(Arc::clone(&config.store), cache, PREFIX, registry, fresh);
        let rules = Arc::new(StoredRules::default());
        let metrics = Metrics::new();
        let api = api.with_rules(Arc::clone(&rules));
        let api = api.with_meters(metrics.meters.clone());
        let api = api.with_event_ttl(config.event_ttl);
        let api = api.with_service_range(config.service_range);
        let authorizer = rules.after(config.authorizer);
        let api = api.with_authorizer(Arc::clone(&authorizer));
        let plugins = if config.gates.enabled(MUTATING_ADMISSION_POLICY) {
            config.plugins
        } else {
            config.plugins.and_without(Plugin::MutatingAdmissionPolicy)
        };
        let api = api.with_plugins(plugins);
        let api = api.with_policy_features(policy_features(&config.gates));
        let field_gates = config.gates.enabled(CRD_FIELD_LEVEL_VERSIONING);
        let api = api.with_field_gates(FieldGates::when(field_gates));
        let api = Arc::new(api.with_watch_list(config.gates.enabled(WATCH_LIST)));
        let host = config.loops.host.clone();
        let has_identity = config.gates.enabled(API_SERVER_IDENTITY);
        let loops = Loops::new(Arc::clone(&api), config.loops, has_identity);
        let gate_publisher =
            Publisher::new(Arc::clone(&api), &config.gates, loops.server_id(), &host);
        let audit = config.audit.map(|audit| AuditLog {
            audit,
            events: metrics.audit_events.clone(),
            errors: metrics.audit_errors.clone(),
        });
        let server = Server {
            api,
            address: OnceLock::new(),
            turns: Turns::new(&config.limits, &metrics),
            bodies: Arc::default(),
            gates: config.gates,
            flags: config.flags,
            limits: config.limits,
            authentication: config.authentication,
            authorizer,
            rules: Arc::clone(&rules),
            audit: audit.map(Arc::new),
            metrics,
            handler: config.handler,
            openapi: Documents::default(),
            heavy: HeavyWork::for_this_machine(),
            milestones: Milestones::default(),
            drain: Drain::default(),
            started: clock::now(),
        };
        let server = Arc::new(server);
        let listening = Arc::downgrade(&server);
        server.api.tell_own_writes(Box::new(move |write| {
            if let Some(server) = listening.upgrade() {
                record_own(&server, write);
            }
        }));
        let background = Background {
            server,
            client_ca: config.client_ca,
            service_range: config.service_range,
            loops,
            gate_publisher,
            compactor,
            ready: CancellationToken::new(),
        };
        Ok(Self {
            background: Arc::new(background),
            acceptor: TlsAcceptor::from(Arc::new(tls)),
        })
    }

    /// Completes when the start is complete and the default objects exist.
    pub fn ready(&self) -> impl Future<Output = ()> + use<> {
        self.background.ready.clone().cancelled_owned()
    }

    /// Serves until `shutdown` completes, then waits for running requests. Watches end at once.
    pub async fn run(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let Self {
            background,
            acceptor,
        } = self;
        let server = Arc::clone(&background.server);
        if let Ok(address) = listener.local_addr() {
            let _first = server.address.set(address.to_string());
        }
        let tasks = TaskTracker::new();
        let accepting = transport::accept(Arc::clone(&server), listener, acceptor, &tasks);
        let stopping = async {
            shutdown.await;
            server.drain.stopping.cancel();
            tokio::time::sleep(server.limits.shutdown_delay).await;
            server.drain.closing.cancel();
        };
        let serving = async { tokio::join!(accepting, stopping) };
        tokio::select! {
            _ = serving => {}
            never = background.keep_going() => match never {},
            never = background.keep_working() => match never {},
        }
        background.loops.retire().await;
        tasks.close();
        if tokio::time::timeout(DRAIN_MAX, tasks.wait()).await.is_err() {
            tracing::warn!(
                requests = tasks.len(),
                "requests were still running and are cut off"
            );
        }
    }
}

impl Background {
    /// Feeds the watch cache and applies changes of CRDs and RBAC; never returns.
    ///
    /// Each is a task of its own, so that the compilation of a large CRD delays neither the others nor new connections.
    async fn keep_going(&self) -> Infallible {
        let server = &self.server;
        let told = |failure: &_| tracing::error!(%failure, "the cache begins anew");
        let mut going = JoinSet::new();
        going.spawn(server.api.cache().clone().feed(told));
        going.spawn(Follower::new(Arc::clone(&server.api), now).run());
        let (rules, cache) = (Arc::clone(&server.rules), server.api.cache().clone());
        going.spawn(async move { rules.follow(&cache).await });
        if let Some(fairness) = server.turns.fairness().cloned() {
            going.spawn(async move { fairness.keep().await });
        }
        let authentication = Arc::clone(&server.authentication);
        going.spawn(async move {
            if let Some(oidc) = &authentication.oidc {
                oidc.begin().await;
            }
        });
        let compactor = self.compactor.clone();
        going.spawn(async move {
            compactor.run().await;
        });
        while let Some(ended) = going.join_next().await {
            // Without one of them the server would serve an old state for ever.
            if let Err(error) = ended
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
        std::future::pending().await
    }

    /// Runs background work; restarts it after a panic.
    async fn keep_working(self: &Arc<Self>) -> Infallible {
        loop {
            let mut work = JoinSet::new();
            work.spawn(Arc::clone(self).work());
            work.join_next().await;
            tracing::error!("the work in the background ended and begins anew");
            tokio::time::sleep(WORK_PAUSE).await;
        }
    }

    /// Runs the start steps, then the controllers. It is a task of its own, so that a long plan does not delay
    /// requests.
    async fn work(self: Arc<Self>) {
        self.start().await;
        let decided = || {
            self.server.milestones.reach(Milestone::Loops);
            self.ready.cancel();
        };
        let publishing = self.gate_publisher.keep(now);
        let conditions = fairness::keep_conditions(Arc::clone(&self.server.api), now);
        let statuses = policy_status::keep(Arc::clone(&self.server.api), now);
        let (never, ..) = tokio::join!(self.loops.run(decided), publishing, conditions, statuses);
        match never {}
    }

    async fn start(&self) {
        self.server.milestones.reach(Milestone::Admission);
        while self.server.api.cache().caught_up().await.is_err() {}
        self.server.milestones.reach(Milestone::Caches);
        while !make_system_objects(&self.server.api, now()).await {
            self.server.rules.settle(self.server.api.cache()).await;
            tracing::warn!("the objects that every cluster has cannot be made; trying again");
            tokio::time::sleep(START_PAUSE).await;
        }
        self.server.milestones.reach(Milestone::SystemObjects);
        while !publish_client_ca(&self.server.api, &self.client_ca, now()).await {
            self.server.rules.settle(self.server.api.cache()).await;
            tracing::warn!("the authorities of clients cannot be published; trying again");
            tokio::time::sleep(START_PAUSE).await;
        }
        self.server.milestones.reach(Milestone::Credentials);
        let (range, address) = (self.service_range, self.server.address());
        loop {
            // Concurrently, because the store commits concurrent writes as one batch.
            let (roles, others) = tokio::join!(
                make_default_roles(&self.server.api, now()),
                make_standard_objects(&self.server.api, range, &address, now()),
            );
            if roles && others {
                break;
            }
            // Until the retry, the stored roles apply.
            self.server.rules.settle(self.server.api.cache()).await;
            tracing::warn!(
                roles,
                others,
                "the objects that every cluster has cannot be made; trying again"
            );
            tokio::time::sleep(START_PAUSE).await;
        }
        while self.server.api.cache().caught_up().await.is_err() {}
        self.server.rules.settle(self.server.api.cache()).await;
        self.server.milestones.reach(Milestone::Roles);
        self.server
            .api
            .in_force(lockstep_catalog::Configures::Registry)
            .await;
        self.server.milestones.reach(Milestone::Discovery);
    }
}

/// Parts of the API of admission policies that the gates leave on.
fn policy_features(gates: &Gates) -> Features {
    let off = Feature::ALL.into_iter().filter(|feature| {
        let gate = match feature {
            Feature::ApplyDialect => MUTATION_APPLY_DIALECT,
            Feature::Scopes => MUTATION_SCOPES,
            Feature::Safety => MUTATION_SAFETY,
            Feature::PreciseReinvocation => MUTATION_PRECISE_REINVOCATION,
            Feature::Convergence => MUTATION_CONVERGENCE,
            Feature::DryRunBinding => MUTATION_DRY_RUN_BINDING,
        };
        !gates.enabled(gate)
    });
    Features::without(off)
}

/// Current time in the precision of object metadata.
fn now() -> Seconds {
    let now = Seconds::from_unix(clock::now().wall.as_second());
    now.expect("clocks show a time that can be written")
}
