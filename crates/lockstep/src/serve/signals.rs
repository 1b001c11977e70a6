//! Signals that end a server, and the one that does not.

use std::convert::Infallible;
use std::io::IsTerminal as _;

use lockstep_apiserver::audit::Reopen;
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
    /// SIGHUP, by which supervisors ask a daemon to reload its files. The server opens its audit log again, and reads
    /// flags and gates only at its start. From a terminal it means that the terminal is closed, and its default action
    /// ends the process.
    hangup: Option<Stream>,
    audit_log: Option<Reopen>,
    parent: Parent,
}

impl Signals {
    pub(crate) fn listen(audit_log: Option<Reopen>) -> Result<Self, Failure> {
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
            audit_log,
            parent: Parent::now(),
        })
    }

    /// The signals that end a server which has a use of its own for SIGHUP.
    pub(crate) fn listen_to_ends() -> Result<Self, Failure> {
        Ok(Self {
            hangup: None,
            ..Self::listen(None)?
        })
    }

    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
            () = self.parent.gone() => Signal::Terminate,
            never = hangups(self.hangup.as_mut(), self.audit_log.as_ref()) => match never {},
        }
    }
}

/// Has the audit log opened again at each hangup, which changes nothing else.
async fn hangups(hangup: Option<&mut Stream>, audit_log: Option<&Reopen>) -> Infallible {
    if let Some(hangup) = hangup {
        while hangup.recv().await.is_some() {
            if let Some(audit_log) = audit_log {
                audit_log.request();
                tracing::info!("received SIGHUP: the audit log is opened again");
            } else {
                tracing::info!("received SIGHUP: flags and gates are read at the start alone");
            }
        }
    }
    std::future::pending().await
}
