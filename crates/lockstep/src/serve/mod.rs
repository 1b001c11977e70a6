//! `lockstep serve`: the API server as a daemon.

mod directory;
mod flags;
mod gates;
mod logging;
mod oidc;
mod signals;
mod stores;
mod variables;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

use jiff::Timestamp;
use lockstep_apiserver::builtin::Apis;
use lockstep_apiserver::trust::server_url;
use lockstep_apiserver::{ApiServer, Config, Credentials, bind, limits::RELOAD_INTERVAL};
use lockstep_object::json;

pub(crate) use flags::Arguments;
pub(crate) use gates::help as gates_help;
pub(crate) use logging::{Format as LogFormat, start as start_log};
pub(crate) use signals::Signals;
pub(crate) use variables::{ShownFlag, shown_flags, variable, with_variables};

use crate::{
    failure::{Exit, Failure},
    output,
};

/// The command that shows a new user that it works.
const FIRST_COMMAND: &str = "get namespaces";

/// Whether the server prints its start-up messages for users, in addition to its log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Words {
    All,
    None,
}

pub(crate) fn run(
    arguments: &Arguments,
    shown: Vec<ShownFlag>,
    words: Words,
    notes: &[String],
) -> Result<Exit, Failure> {
    if arguments.print_config {
        let rows = shown.into_iter().map(|flag| {
            vec![
                flag.name,
                output::or_none(flag.value),
                flag.source.to_owned(),
            ]
        });
        output::data(&output::table(&["FLAG", "VALUE", "SOURCE"], rows));
        return Ok(Exit::Yes);
    }
    logging::start(arguments.verbosity, arguments.logging_format);
    for note in notes {
        tracing::warn!("{note}");
    }
    let variables = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    for (name, meant) in variables::misspelt_variables(variables, &shown) {
        tracing::warn!("the environment variable {name} has no effect: did you mean {meant}?");
    }
    let gates = gates::resolve(arguments)?;
    let apis = gates::apis(arguments, &gates)?;
    if let Err(error) = rlimit::increase_nofile_limit(rlimit::INFINITY) {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(json::STACK_BYTES)
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| {
        Failure::of_server(
            Exit::Configuration,
            format!("starting the runtime: {error}"),
        )
    })?;
    let exit = runtime.block_on(serve(arguments, shown, gates, apis, words));
    // Tasks that ignored the shutdown must not delay the exit of the process.
    runtime.shutdown_background();
    exit
}

async fn serve(
    arguments: &Arguments,
    shown: Vec<ShownFlag>,
    gates: lockstep_featuregate::Gates,
    apis: Apis,
    words: Words,
) -> Result<Exit, Failure> {
    let audit = arguments.audit()?;
    let mut signals = signals::Signals::listen(audit.as_ref().map(|audit| audit.sink.reopen()))?;
    let limits = arguments.limits()?;
    let authorizer = arguments.authorizer()?;
    let oidc = arguments.oidc()?;
    let mut directory = directory::Directory::claim(&arguments.data_dir)?;
    let opened = stores::open(
        &arguments.store,
        &arguments.etcd,
        arguments.durability(),
        &directory,
    )
    .await?;
    let listener = listen(arguments.address()).await?;
    let address = listener
        .local_addr()
        .map_err(|error| cannot_listen(arguments.address(), &error))?;
    directory.say_where(&server_url(address))?;
    let credentials = Credentials::prepare(
        arguments.credential_files(oidc),
        arguments.anonymous_auth,
        Timestamp::now(),
    );
    let credentials = credentials.map_err(|error| configuration(&error))?;
    let server = ApiServer::new(Config {
        gates,
        apis,
        flags: shown
            .into_iter()
            .map(|flag| (flag.name, flag.value))
            .collect(),
        limits,
        authentication: credentials.authentication(),
        authorizer,
        audit,
        identity: credentials.identity(),
        tls_min: arguments.tls_min(),
        store: Arc::clone(&opened.store),
        client_ca: credentials
            .client_ca(Timestamp::now())
            .map_err(|error| configuration(&error))?,
        compaction_interval: arguments.etcd_compaction_interval,
        event_ttl: arguments.event_ttl,
        service_range: arguments.service_cluster_ip_range,
        plugins: arguments.plugins()?,
        loops: arguments.loops(
            credentials
                .root_ca(Timestamp::now())
                .map_err(|error| configuration(&error))?,
        ),
        handler: None,
    });
    let server = server.map_err(|error| configuration(&error))?;
    credentials
        .write_kubeconfig(address, Timestamp::now())
        .map_err(|error| configuration(&error))?;
    #[cfg(feature = "dashboard")]
    let dashboard = dashboard(arguments).await?;
    let ready = server.ready();
    let announcing = async {
        ready.await;
        if words == Words::All {
            announce(arguments, address);
            #[cfg(feature = "dashboard")]
            if let Some((listening, _)) = &dashboard {
                output::tell(&format!("  dashboard   http://{}/ui/\n", listening.address));
            }
        }
        #[cfg(feature = "dashboard")]
        if let Some((listening, backend)) = dashboard {
            match crate::dashboard::beside(listening, backend).await {}
        }
        std::future::pending().await
    };
    let exit = tokio::select! {
        exit = run_until_told(server, listener, &mut signals) => Ok(exit),
        failure = opened.unusable() => Err(failure),
        never = reload(&credentials, address) => match never {},
        never = announcing => match never {},
    };
    drop(opened);
    exit
}

/// Binds the dashboard's listener and builds its connection to this server from the kubeconfig, without
/// credentials: each user of the dashboard brings their own.
#[cfg(feature = "dashboard")]
async fn dashboard(
    arguments: &Arguments,
) -> Result<Option<(crate::dashboard::Listening, lockstep_dashboard::Backend)>, Failure> {
    let Some(address) = arguments.dashboard_listen else {
        return Ok(None);
    };
    let listening =
        crate::dashboard::listen(address, "--dashboard-listen", Exit::ServerFlags).await?;
    let access = crate::remote::Access::of_kubeconfig(&arguments.kubeconfig())?;
    Ok(Some((listening, access.without_credentials().backend()?)))
}

/// The first signal ends the server in order, the second at once.
async fn run_until_told(
    server: ApiServer,
    listener: tokio::net::TcpListener,
    signals: &mut signals::Signals,
) -> Exit {
    let (told, stop) = tokio::sync::oneshot::channel::<std::convert::Infallible>();
    let running = server.run(listener, async {
        drop(stop.await);
    });
    let second = async {
        let first = signals.next().await;
        tracing::info!(
            signal = first.name(),
            "stopping; a second signal stops at once"
        );
        drop(told);
        signals.next().await
    };
    tokio::select! {
        () = running => Exit::Yes,
        signal = second => signal.exit(),
    }
}

/// Looks after the files with credentials as long as the server runs.
async fn reload(credentials: &Credentials, address: SocketAddr) -> std::convert::Infallible {
    let mut told = String::new();
    loop {
        tokio::time::sleep(RELOAD_INTERVAL).await;
        let error = match credentials.reload(address, Timestamp::now()) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        if !error.is_empty() && error != told {
            tracing::error!(
                error,
                "credentials cannot be read again; the old ones stay in use"
            );
        }
        told = error;
    }
}

async fn listen(address: SocketAddr) -> Result<tokio::net::TcpListener, Failure> {
    bind(address)
        .await
        .map_err(|error| cannot_listen(address, &error))
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Failure {
    let (reason, help) = match error.kind() {
        ErrorKind::AddrNotAvailable => (
            "no network interface of this machine has this address".to_owned(),
            "set `--bind-address` to an address of this machine, or to 0.0.0.0 for all of them",
        ),
        ErrorKind::PermissionDenied => (
            error.to_string(),
            "choose a `--secure-port` of 1024 or more, which needs no privileges",
        ),
        _ => (
            error.to_string(),
            "choose another `--secure-port`, or 0 for any free one",
        ),
    };
    let message = format!("cannot listen on {address}: {reason}");
    Failure::of_server(Exit::Configuration, message).with_help(help)
}

fn configuration(error: &dyn std::error::Error) -> Failure {
    Failure::of_server(Exit::Configuration, error.to_string())
}

fn announce(arguments: &Arguments, address: SocketAddr) {
    let kubeconfig = arguments.kubeconfig();
    let kubeconfig = kubeconfig.display();
    output::tell(&format!(
        "lockstep {} · Kubernetes v{} API\n  store       {}\n  server      {}\n  kubeconfig  {kubeconfig}\n  try         kubectl --kubeconfig {kubeconfig} {FIRST_COMMAND}\n",
        lockstep_gates::LOCKSTEP_VERSION,
        lockstep_gates::KUBE_VERSION,
        arguments.store.describe(&arguments.data_dir),
        server_url(address),
    ));
}
