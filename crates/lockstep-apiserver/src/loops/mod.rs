//! Background loops: the driver of what `lockstep-controllers` plans.
//!
//! Of all servers on a store one runs the loops, by a lease ([`leader`]). It follows every change
//! through the cache ([`tracker`]), hands changes to the loops ([`machines`]) and carries out what
//! they want ([`perform`]), through the write path that everybody uses. Besides, each server keeps a
//! lease that says that it lives ([`identity`]).

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

use lockstep_controllers::{Switches, servers};
use lockstep_object::metadata::{Micros, Seconds};
use tokio::time::Instant;

use crate::clock;
use crate::resources::Api;
use identity::Identity;
use leader::Leader;
use machines::Machines;
use perform::Performed;
use tracker::{Fallen, Tracker};

/// How long changes are gathered before the loops look at them.
const GATHER: Duration = Duration::from_millis(5);
/// How often the leases of servers are looked through.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);
/// How long the loops wait before they begin anew.
const ANEW_PAUSE: Duration = Duration::from_secs(1);
/// Pause before actions that a quota refused are tried again.
const REFUSED_PAUSE: Duration = Duration::from_secs(30);
/// How long a server that stops takes to say so.
const RETIRE_MAX: Duration = Duration::from_secs(2);

/// What the loops of a server are made of.
#[derive(Clone, Debug)]
pub struct LoopConfig {
    /// Which loops run.
    pub controllers: Switches,
    /// What tells this server from all others on the store, also after a restart.
    pub server: String,
    /// The name of the machine.
    pub host: String,
    /// The authority by which clients know the server, in PEM.
    pub root_ca: String,
    /// How long a namespace that goes is left alone, so that others may finalize it.
    pub namespace_grace: Duration,
}

/// The loops of one server.
pub(crate) struct Loops {
    api: Arc<Api>,
    config: LoopConfig,
    leader: Leader,
    identity: Identity,
    has_identity: bool,
}

impl Loops {
    /// `has_identity` tells whether the server has a lease by which it says that it lives.
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

    /// The name of the lease by which this server says that it lives.
    pub(crate) fn server_id(&self) -> &str {
        self.identity.name()
    }

    /// Runs for ever. `decided` is called once it is known who runs the loops.
    pub(crate) async fn run(&self, decided: impl Fn() + Send + Sync) -> Infallible {
        let leading = self.lead(decided);
        if !self.has_identity {
            return leading.await;
        }
        let (never, _) = tokio::join!(leading, self.identity.keep());
        never
    }

    /// Tells the other servers that this one is about to end.
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
            tokio::time::sleep(ANEW_PAUSE).await;
        }
    }

    /// Follows everything from the start, until something is missed or a write fails.
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
            // A namespace is empty only if it has no objects of any CRD that there is.
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
                // A raised quota is no event of the controllers, so they look at everything again.
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
