//! The policies in force, and their replacement while the webhook runs.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use jiff::Timestamp;
use lockstep_authz::Authorizer;
use lockstep_write::offline::policies::Workspace;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;

use crate::Metrics;

/// Policies with everything they are evaluated with.
pub struct Loaded {
    /// Policies, bindings, parameters, definitions and namespaces.
    pub workspace: Workspace,
    /// Answers the checks of expressions.
    pub authorizer: Authorizer,
}

/// The policies in force. They are replaced as a whole, and a request keeps those it began with.
pub struct Policies {
    current: ArcSwapOption<Loaded>,
    /// Reason for which there are none yet.
    absent: Mutex<String>,
    /// Number of attempts to load.
    attempts: watch::Sender<u64>,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            current: ArcSwapOption::empty(),
            absent: Mutex::new("policies are not loaded yet".to_owned()),
            attempts: watch::Sender::new(0),
        }
    }
}

impl Policies {
    /// The policies in force, or the reason why there are none.
    pub fn current(&self) -> Result<Arc<Loaded>, String> {
        let current = self.current.load_full();
        current.ok_or_else(|| self.absent.lock().clone())
    }

    /// Attempts to load, as they happen.
    pub fn attempts(&self) -> watch::Receiver<u64> {
        self.attempts.subscribe()
    }

    /// Puts policies into force.
    pub fn replace(&self, loaded: Loaded) {
        self.current.store(Some(Arc::new(loaded)));
        self.attempts.send_modify(|attempts| *attempts += 1);
    }

    /// Puts policies into force, and says so.
    pub fn enforce(&self, loaded: Loaded, metrics: &Metrics) {
        let set = loaded.workspace.policies();
        let (mutating, validating) = (set.mutating().len(), set.validating().len());
        metrics.loaded(mutating, validating, Timestamp::now());
        self.replace(loaded);
        tracing::info!(mutating, validating, "policies are in force");
    }

    /// Notes that policies could not be loaded; those in force stay.
    pub fn keep(&self, why: &str) {
        if self.current.load().is_none() {
            why.clone_into(&mut self.absent.lock());
        }
        self.attempts.send_modify(|attempts| *attempts += 1);
    }
}

/// Files with policies.
pub struct Files {
    /// Text that changes when a file does.
    pub stamp: Box<dyn Fn() -> String + Send + Sync>,
    /// Reads, validates and compiles all files.
    pub load: Box<dyn Fn() -> Result<Loaded, String> + Send + Sync>,
}

impl Files {
    /// Loads the files into `policies`: all of them, or nothing if one is not valid.
    fn load_into(&self, policies: &Policies, metrics: &Metrics) {
        match (self.load)() {
            Ok(loaded) => policies.enforce(loaded, metrics),
            Err(error) => {
                metrics.not_loaded();
                tracing::error!(error, "policies cannot be loaded; those in force stay");
                policies.keep(&error);
            }
        }
    }
}

/// Loads policies whose stamp is not `seen`, and again whenever a file changes or `asked` receives. Runs until it is
/// dropped.
pub async fn follow(
    policies: Arc<Policies>,
    metrics: Arc<Metrics>,
    files: Files,
    mut seen: Option<String>,
    interval: Duration,
    mut asked: mpsc::Receiver<()>,
) {
    let files = Arc::new(files);
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_asked = tokio::select! {
            _ = ticks.tick() => false,
            Some(()) = asked.recv() => true,
        };
        let (files, policies, metrics) = (files.clone(), policies.clone(), metrics.clone());
        let known = seen.clone();
        let work = tokio::task::spawn_blocking(move || {
            let stamp = (files.stamp)();
            if is_asked || known.as_ref() != Some(&stamp) {
                files.load_into(&policies, &metrics);
            }
            stamp
        });
        match work.await {
            Ok(stamp) => seen = Some(stamp),
            Err(error) => tracing::error!(%error, "loading policies broke down"),
        }
    }
}
