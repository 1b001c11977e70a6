//! `lockstep store`: the server.

use std::time::Duration;

use lockstep_store::{Server, StartError};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use super::flags::Given;
use super::logs;
use super::settings::Settings;
use crate::failure::{Exit, Failure};
use crate::orphan::Parent;

/// The most threads that serve requests; a store is done sooner than more of them help.
const WORKERS_MAX: usize = 4;
/// Upper bound on the wait for the runtime's threads after the server has stopped.
const RUNTIME_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves until a signal comes.
pub(super) fn run(given: &Given) -> Result<Exit, Failure> {
    let mut settings = Settings::gather(given)?;
    let config = settings.config()?;
    logs::start(&settings)?;
    for warning in &settings.warnings {
        tracing::warn!("{warning}");
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut builder = Builder::new_multi_thread();
    let builder = builder.worker_threads(cores.min(WORKERS_MAX)).enable_all();
    let runtime = builder.thread_name("store").build();
    let runtime = runtime.map_err(|error| io(&format!("starting threads: {error}")))?;
    let outcome = runtime.block_on(async {
        let (mut terminate, mut interrupt) = signals()?;
        let parent = Parent::now();
        let server = Server::start(config)
            .await
            .map_err(|error| refused(&error))?;
        let told = async {
            tokio::select! {
                _ = terminate.recv() => tracing::info!("received SIGTERM"),
                _ = interrupt.recv() => tracing::info!("received SIGINT"),
                () = parent.gone() => {}
            }
        };
        server.run(told).await.map_err(|reason| io(&reason))
    });
    runtime.shutdown_timeout(RUNTIME_TIMEOUT);
    outcome?;
    tracing::info!("closed in order");
    Ok(Exit::Yes)
}

fn signals() -> Result<(tokio::signal::unix::Signal, tokio::signal::unix::Signal), Failure> {
    let listen = |kind| signal(kind).map_err(|error| io(&format!("listening to signals: {error}")));
    Ok((
        listen(SignalKind::terminate())?,
        listen(SignalKind::interrupt())?,
    ))
}

fn io(message: &str) -> Failure {
    Failure::of_causes(Exit::ServerIo, &message, Vec::new())
}

fn refused(error: &StartError) -> Failure {
    let failure = io(&error.to_string());
    match error {
        StartError::NoTls(_) | StartError::Tls(_) => Failure {
            exit: Exit::ServerFlags,
            ..failure
        },
        StartError::Open(_) | StartError::Identity { .. } | StartError::Listen { .. } => failure,
    }
}
