//! Driver of the controllers of `lockstep-controllers`.
//!
//! Of all servers on a store, the leader runs the controllers ([`leader`]). It receives every change through the watch
//! cache ([`tracker`]), delivers it to the controllers ([`machines`]) and performs their actions ([`perform`]) through
//! the write path that client requests use. Each server, leader or not, also renews an identity lease ([`identity`]).

mod identity;
mod leader;
mod machines;
mod perform;
mod tracker;

#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use lockstep_controllers::{EnabledControllers, servers};
use lockstep_object::metadata::{Micros, Seconds};
use tokio::time::Instant;

use crate::clock;
use crate::resources::Api;
use identity::Identity;
use leader::Leader;
use machines::Machines;
use perform::Performed;
use tracker::{Fallen, Tracker};

/// Time for which changes are batched before the controllers plan.
const GATHER: Duration = Duration::from_millis(5);
/// Interval of the cleanup of expired identity leases.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);
/// Pause before the controllers restart.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Pause before actions that a quota refused are tried again.
const REFUSED_PAUSE: Duration = Duration::from_secs(30);
/// Longest time that release of the leases may take at shutdown.
const RETIRE_MAX: Duration = Duration::from_secs(2);

/// Configuration of the controllers of a server.
#[derive(Clone, Debug)]
pub struct LoopConfig {
    /// Enabled controllers.
    pub controllers: EnabledControllers,
    /// Unique name of this server on the store, stable across restarts.
    pub server: String,
    /// Host name of the machine.
    pub host: String,
    /// CA certificate of the server in PEM, which `kube-root-ca.crt` publishes.
    pub root_ca: String,
    /// Grace period after the deletion of a namespace, in which external controllers may finalize it.
    pub namespace_grace: Duration,
}

/// Controllers and leases of one server.
pub(crate) struct Loops {
    api: Arc<Api>,
    config: LoopConfig,
    leader: Leader,
    identity: Identity,
    has_identity: bool,
}

impl Loops {
    /// `has_identity` is true if the server maintains an identity lease.
    pub(crate) fn new(api: Arc<Api>, config: LoopConfig, has_identity: bool) -> Self {
        let identity = Identity::new(Arc::clone(&api), &config.server, &config.host);
        let leader = Leader::new(Arc::clone(&api), identity.holder());
        Self {
            api,
            config,
            leader,
            identity,
            has_identity,
        }
    }

    /// Name of the identity lease.
    pub(crate) fn server_id(&self) -> &str {
        self.identity.name()
    }

    /// Runs forever. `decided` is called once a leader is known.
    pub(crate) async fn run(&self, decided: impl Fn() + Send + Sync) -> Infallible {
        let leading = self.lead(decided);
        if !self.has_identity {
            return leading.await;
        }
        let (never, _) = tokio::join!(leading, self.identity.keep());
        never
    }

    /// Releases the leader lease and deletes the identity lease, so that another server takes over without waiting for
    /// expiry.
    pub(crate) async fn retire(&self) {
        let forgetting = async {
            if self.has_identity {
                self.identity.remove().await;
            }
        };
        let leaving = async { tokio::join!(self.leader.release(), forgetting) };
        if tokio::time::timeout(RETIRE_MAX, leaving).await.is_err() {
            tracing::warn!(
                "the store does not answer; others will find out that this server ended"
            );
        }
    }

    async fn lead(&self, decided: impl Fn() + Send + Sync) -> Infallible {
        loop {
            self.leader.campaign(&decided).await;
            tracing::info!("the background loops run here");
            tokio::select! {
                () = self.leader.hold() => {
                    tracing::warn!("the background loops stop: the lease is lost");
                }
                never = self.work() => match never {},
            }
        }
    }

    async fn work(&self) -> Infallible {
        loop {
            let Err(Fallen) = self.follow().await;
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    /// Runs the controllers from an empty state until changes are missed or a write fails.
    async fn follow(&self) -> Result<Infallible, Fallen> {
        let mut tracker = Tracker::new(Arc::clone(&self.api));
        let mut machines = Machines::new(&self.config);
        let mut seen = self.api.cache().follow_seen();
        let mut crds = self.api.follow_crds();
        let began = Instant::now();
        let mut sweep = began;
        let mut refused_until = None;
        loop {
            let visible = *seen.borrow_and_update();
            crds.mark_unchanged();
            // A namespace counts as empty only after all stored CRDs are served, because it may contain their objects.
            self.api.seen_in_force().await;
            tracker.catch_up(visible, &mut machines).await?;
            let view = tracker.view(visible);
            let mut actions = machines.plan(&view, seconds(), began.elapsed());
            if Instant::now() >= sweep {
                actions.extend(servers::collect(&view, micros()));
                sweep = Instant::now() + SWEEP_INTERVAL;
            }
            let meters = &self.api.meters().loops;
            match perform::all(&self.api, actions, seconds(), meters).await {
                Performed::All => {}
                Performed::Refused => {
                    refused_until.get_or_insert_with(|| Instant::now() + REFUSED_PAUSE);
                }
                Performed::Failed => return Err(Fallen),
            }
            let due = machines.due().map_or(sweep, |due| sweep.min(began + due));
            let refused = refused_until.unwrap_or(due + REFUSED_PAUSE);
            tokio::select! {
                // Controllers receive no event when a quota is raised, so they restart and plan everything again.
                () = tokio::time::sleep_until(refused) => return Err(Fallen),
                _ = seen.changed() => {}
                _ = crds.changed() => {}
                () = tokio::time::sleep_until(due) => {}
            }
            tokio::time::sleep(GATHER).await;
        }
    }
}

fn seconds() -> Seconds {
    let now = Seconds::from_unix(clock::now().wall.as_second());
    now.expect("clocks show a time that can be written")
}

fn micros() -> Micros {
    let now = Micros::from_unix(clock::now().wall.as_microsecond());
    now.expect("clocks show a time that can be written")
}
