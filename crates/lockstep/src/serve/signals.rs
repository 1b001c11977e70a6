//! Signals that end a server.

use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

use crate::failure::{Exit, Failure};
use crate::orphan::Parent;

/// Who told the server to stop.
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
            parent: Parent::now(),
        })
    }

    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
            () = self.parent.gone() => Signal::Terminate,
        }
    }
}
