//! Signals that end a server, and the one that does not.

use std::convert::Infallible;
use std::io::IsTerminal as _;

use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

use crate::failure::{Exit, Failure};
use crate::orphan::Parent;

/// Signal that stops the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Signal {
    Interrupt,
    Terminate,
}

impl Signal {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Signal::Interrupt => "SIGINT",
            Signal::Terminate => "SIGTERM",
        }
    }

    pub(crate) fn exit(self) -> Exit {
        match self {
            Signal::Interrupt => Exit::Interrupted,
            Signal::Terminate => Exit::Terminated,
        }
    }
}

/// The signals as they come. That the parent is gone is one, for a server that is to end with it.
pub(crate) struct Signals {
    interrupt: Stream,
    terminate: Stream,
    /// SIGHUP, by which supervisors ask a daemon to reload its files. The server reads flags, gates and files only at
    /// its start. From a terminal it means that the terminal is closed, and its default action ends the process.
    hangup: Option<Stream>,
    parent: Parent,
}

impl Signals {
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Failure::of_server(
                    Exit::Configuration,
                    format!("cannot wait for signals: {error}"),
                )
            })
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: (!std::io::stderr().is_terminal())
                .then(|| listen(SignalKind::hangup()))
                .transpose()?,
            parent: Parent::now(),
        })
    }

    /// The signals that end a server which has a use of its own for SIGHUP.
    pub(crate) fn listen_to_ends() -> Result<Self, Failure> {
        Ok(Self {
            hangup: None,
            ..Self::listen()?
        })
    }

    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
            () = self.parent.gone() => Signal::Terminate,
            never = ignored(self.hangup.as_mut()) => match never {},
        }
    }
}

/// Says of each hangup that it changes nothing.
async fn ignored(hangup: Option<&mut Stream>) -> Infallible {
    if let Some(hangup) = hangup {
        while hangup.recv().await.is_some() {
            tracing::info!("received SIGHUP: flags and gates are read at the start alone");
        }
    }
    std::future::pending().await
}
