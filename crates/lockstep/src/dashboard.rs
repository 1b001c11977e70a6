//! `lockstep dashboard`, and the dashboard of a server.

use std::future::pending;
use std::net::SocketAddr;

use lockstep_dashboard::{Backend, Dashboard, Viewer};
use tokio::net::TcpListener;

use crate::failure::{Exit, Failure};
use crate::serve::Signals;
use crate::{output, remote};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep dashboard\n  lockstep dashboard --kubeconfig lockstep-data/admin.kubeconfig\n  lockstep dashboard --listen 127.0.0.1:0 --context production\n\nWhoever opens the address that is printed reads with the rights of the user in the kubeconfig. It is good for one visit."
)]
pub(crate) struct Arguments {
    /// The loopback address to listen on; port 0 means any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6480")]
    listen: SocketAddr,
    #[command(flatten)]
    kubeconfig: remote::Flags,
}

/// A listener of a dashboard.
pub(crate) struct Listening {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let access = arguments.kubeconfig.access(None)?;
    let backend = access.backend()?;
    access.check_reachable()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime =
        runtime.map_err(|error| configuration(format!("starting the runtime: {error}")))?;
    runtime.block_on(serve(arguments.listen, backend))
}

async fn serve(address: SocketAddr, backend: Backend) -> Result<Exit, Failure> {
    let mut signals = Signals::listen(None)?;
    let listening = listen(address, "--listen", Exit::BadInput).await?;
    let invitation = fresh();
    output::tell(&format!(
        "dashboard of https://{}:{}\n  http://{}/ui/#t={invitation}\n",
        backend.server.host, backend.server.port, listening.address
    ));
    let dashboard = Dashboard::new(backend, Viewer::Invited { invitation, fresh });
    let mut exit = Exit::Yes;
    let told = async { exit = signals.next().await.exit() };
    dashboard.run(listening.listener, told).await;
    Ok(exit)
}

/// Listens on a loopback address: tokens are sent in the clear, which must not leave the machine.
pub(crate) async fn listen(
    address: SocketAddr,
    flag: &str,
    exit: Exit,
) -> Result<Listening, Failure> {
    if !address.ip().is_loopback() {
        let message = format!("`{flag} {address}` is not a loopback address");
        let failure = Failure::of_server(exit, message);
        return Err(failure.with_help(
            "the dashboard speaks plain HTTP; use 127.0.0.1 or [::1], and a tunnel from elsewhere",
        ));
    }
    let wrong = |error| {
        let message = format!("cannot listen on {address}: {error}");
        configuration(message).with_help(format!(
            "choose another port with `{flag}`, or 0 for any free one"
        ))
    };
    let listener = TcpListener::bind(address).await.map_err(wrong)?;
    let address = listener.local_addr().map_err(wrong)?;
    Ok(Listening { listener, address })
}

/// The dashboard of a server, for viewers with tokens of their own. Runs for ever.
pub(crate) async fn beside(listening: Listening, backend: Backend) -> std::convert::Infallible {
    let dashboard = Dashboard::new(backend, Viewer::Own);
    dashboard.run(listening.listener, pending()).await;
    pending().await
}

/// Random token for the dashboard's URL, with 244 bits of entropy (two version 4 UUIDs).
fn fresh() -> String {
    let [a, b] = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()];
    format!("{}{}", a.simple(), b.simple())
}

fn configuration(message: String) -> Failure {
    Failure::of_server(Exit::Configuration, message)
}
