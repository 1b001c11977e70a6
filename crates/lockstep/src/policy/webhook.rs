//! `lockstep policy webhook` and `lockstep policy webhook-config`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use jiff::{Span, Timestamp};
use lockstep_apiserver::trust::{OwnServing, ServingIdentity, ServingNames};
use lockstep_authz::Authorizer;
use lockstep_object::yaml::YAML_STACK_BYTES;
use lockstep_object::{Object, json};
use lockstep_policy_webhook::cluster::{Cluster, Connect, Source, follow_cluster};
use lockstep_policy_webhook::configuration::{Endpoint, Settings, configurations};
use lockstep_policy_webhook::{Files, Loaded, Metrics, Policies, Webhook, follow};
use lockstep_write::offline::policies::Unbound;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::input;
use crate::failure::{Exit, Failure};
use crate::serve::{LogFormat, Signals, start_log};
use crate::{document, manifests, output, remote};

/// Time between two looks at files with policies.
const RELOAD_INTERVAL: Duration = Duration::from_secs(2);
/// Time between two looks at certificates.
const CERTIFICATE_INTERVAL: Duration = Duration::from_secs(60);
/// A certificate that expires sooner is worth a warning.
const EXPIRY_WARNING_DAYS: i64 = 14;
/// Threads decode YAML and JSON, whose depth takes stack.
const STACK_BYTES: usize = if json::STACK_BYTES > YAML_STACK_BYTES {
    json::STACK_BYTES
} else {
    YAML_STACK_BYTES
};
/// Folder of certificates that the webhook makes.
const OWN_FOLDER: &str = "lockstep-policy-webhook";

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep policy webhook --policies policies/ --service policies/webhook\n  lockstep policy webhook --policies policies/ --url https://192.0.2.7:8443 > registration.yaml\n  lockstep policy webhook --policies policies/ --tls-cert tls.crt --tls-key tls.key --listen :443\n  lockstep policy webhook --kubeconfig cluster.kubeconfig --tls-cert tls.crt --tls-key tls.key\n\nAnswers /mutate and /validate; /healthz, /readyz and /metrics are for the cluster. Without a certificate it makes one\nof an authority of its own, and prints the objects that register the webhook. Files are read again when they change,\nand on SIGHUP; if one is not valid, the policies in force stay."
)]
pub(crate) struct Arguments {
    /// Address to listen on; without a host, all addresses
    #[arg(long, value_name = "ADDRESS", default_value = ":8443", value_parser = address)]
    listen: SocketAddr,
    /// Files or directories with policies, bindings, parameters, definitions and namespaces; may be repeated
    #[arg(long, value_name = "FILE", required_unless_present_any = ["kubeconfig", "context"], conflicts_with_all = ["kubeconfig", "context"])]
    policies: Vec<PathBuf>,
    #[command(flatten)]
    cluster: remote::Flags,
    /// Objects of the cluster that hold the policies
    #[arg(long, value_name = "SOURCE", default_value = "own")]
    source: SourceName,
    /// Answers of the authorizer: `allow`, `deny`, or `rbac:DIR` with roles and bindings
    #[arg(long, value_name = "ANSWERS")]
    authorizer: Option<String>,
    /// The serving certificate
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its key
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Folder of the certificates that are made if none is given
    #[arg(long, value_name = "DIR", default_value = OWN_FOLDER, conflicts_with = "tls_cert")]
    cert_dir: PathBuf,
    #[command(flatten)]
    registration: Registration,
    /// Verbosity of the log
    #[arg(short, long = "v", value_name = "LEVEL", default_value = "0")]
    verbosity: u8,
    /// Form of the log
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    logging_format: LogFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum SourceName {
    /// Custom resources of policy.lockstep.dev
    Own,
    /// Kinds of admissionregistration.k8s.io, which the server must not run itself
    Native,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep policy webhook-config -f policies/ --service policies/webhook --ca-bundle ca.crt\n  lockstep policy webhook-config -f policies/ --url https://192.0.2.7:8443 | kubectl apply -f -\n\nThe rules are those of all policies together; the webhook decides which policy is about a request."
)]
pub(crate) struct ConfigArguments {
    /// Files or directories with policies; may be repeated
    #[arg(long, short, value_name = "FILE", required = true)]
    filename: Vec<PathBuf>,
    /// Certificates that the cluster trusts for the webhook; those that `policy webhook` made if there are any
    #[arg(long, value_name = "FILE")]
    ca_bundle: Option<PathBuf>,
    #[command(flatten)]
    registration: Registration,
}

/// The way of a cluster to the webhook.
#[derive(Debug, clap::Args)]
struct Registration {
    /// Namespace, name and port of the Service of the webhook
    #[arg(
        long,
        value_name = "NAMESPACE/NAME[:PORT]",
        default_value = "lockstep-policies/policy-webhook"
    )]
    service: String,
    /// Address of a webhook outside of the cluster, instead of a Service
    #[arg(long, value_name = "URL", conflicts_with = "service")]
    url: Option<String>,
    /// Name of the configurations
    #[arg(long, value_name = "NAME", default_value = "lockstep-policies")]
    name: String,
    /// Seconds that the API server waits for an answer
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=30))]
    timeout: u32,
}

/// An address, whose host may be missing as in `:8443`.
fn address(text: &str) -> Result<SocketAddr, String> {
    let whole = match text.strip_prefix(':') {
        Some(port) => format!("[::]:{port}"),
        None => text.to_owned(),
    };
    whole
        .parse()
        .map_err(|_| "not an address such as :8443 or 127.0.0.1:8443".to_owned())
}

impl Registration {
    fn endpoint(&self) -> Result<Endpoint, Failure> {
        if let Some(url) = &self.url {
            let is_sound = url
                .strip_prefix("https://")
                .is_some_and(|rest| !rest.is_empty());
            return is_sound
                .then(|| Endpoint::Url(url.clone()))
                .ok_or_else(|| Failure::bad_input("--url does not begin with https://"));
        }
        let wrong = || {
            Failure::bad_input(format!("--service {:?} is no NAMESPACE/NAME", self.service))
                .with_help("write for instance --service policies/webhook:443")
        };
        let (namespace, rest) = self.service.split_once('/').ok_or_else(wrong)?;
        let (name, port) = rest.split_once(':').unwrap_or((rest, "443"));
        if namespace.is_empty() || name.is_empty() {
            return Err(wrong());
        }
        Ok(Endpoint::Service {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            port: port.parse().map_err(|_| wrong())?,
        })
    }

    /// Names in a certificate of our own.
    fn names(&self, listen: SocketAddr) -> Result<ServingNames, Failure> {
        let (mut dns, mut addresses) = (vec!["localhost".to_owned()], Vec::new());
        match self.endpoint()? {
            Endpoint::Service {
                namespace, name, ..
            } => {
                let short = format!("{name}.{namespace}");
                dns.extend([
                    format!("{short}.svc"),
                    format!("{short}.svc.cluster.local"),
                    short,
                ]);
            }
            Endpoint::Url(url) => {
                let uri: hyper::Uri = url
                    .parse()
                    .map_err(|_| Failure::bad_input(format!("--url {url:?} is not a URL")))?;
                let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
                match host.parse() {
                    Ok(address) => addresses.push(address),
                    Err(_) => dns.push(host.to_lowercase()),
                }
            }
        }
        let loopback = [
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        ];
        addresses.extend(loopback);
        if !listen.ip().is_unspecified() {
            addresses.push(listen.ip());
        }
        dns.sort();
        dns.dedup();
        addresses.sort();
        addresses.dedup();
        Ok(ServingNames { dns, addresses })
    }

    fn documents(&self, policies: &[Object], authority: String) -> Result<String, Failure> {
        let settings = Settings {
            name: self.name.clone(),
            endpoint: self.endpoint()?,
            authority,
            timeout_seconds: self.timeout,
        };
        let made = configurations(policies, &settings);
        if made.is_empty() {
            return Err(Failure::bad_input("the files have no policy"));
        }
        let texts: Vec<String> = made.iter().map(document::to_yaml).collect();
        Ok(texts.join("---\n"))
    }
}

pub(crate) fn print(arguments: &ConfigArguments) -> Result<Exit, Failure> {
    let manifests = input::read(&arguments.filename)?;
    input::workspace(&manifests, Unbound::Bound)?;
    let own = PathBuf::from(OWN_FOLDER).join("ca.crt");
    let authority = match &arguments.ca_bundle {
        Some(path) => document::read_text(path)?,
        None if own.exists() => document::read_text(&own)?,
        None => String::new(),
    };
    let policies = input::objects(&manifests)?;
    output::data(&arguments.registration.documents(&policies, authority)?);
    Ok(Exit::Yes)
}

pub(crate) fn run(arguments: &Arguments, quiet: bool) -> Result<Exit, Failure> {
    start_log(arguments.verbosity, arguments.logging_format);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .build();
    let runtime =
        runtime.map_err(|error| configuration(format!("starting the runtime: {error}")))?;
    runtime.block_on(serve(arguments, quiet))
}

async fn serve(arguments: &Arguments, quiet: bool) -> Result<Exit, Failure> {
    let mut signals = Signals::listen_to_ends()?;
    let policies = Arc::<Policies>::default();
    let metrics = Arc::<Metrics>::default();
    let is_of_cluster = arguments.policies.is_empty();
    let stamp = stamp(&arguments.policies);
    if !is_of_cluster {
        let loaded = load(&arguments.policies, arguments.authorizer.as_deref())?;
        policies.enforce(loaded, &metrics);
    }
    let certificates = Certificates::prepare(arguments)?;
    let listener = TcpListener::bind(arguments.listen).await;
    let listener = listener.map_err(|error| {
        configuration(format!("cannot listen on {}: {error}", arguments.listen))
    })?;
    let address = listener
        .local_addr()
        .map_err(|error| configuration(error.to_string()))?;
    if let Some(own) = certificates
        .own
        .as_ref()
        .filter(|_| !quiet && !is_of_cluster)
    {
        let manifests = input::read(&arguments.policies)?;
        let policies = input::objects(&manifests)?;
        let registration = &arguments.registration;
        output::data(&registration.documents(&policies, own.authority.clone())?);
    }
    if !quiet {
        output::tell(&format!("policy webhook on https://{address}\n"));
    }
    let (ask, asked) = mpsc::channel(1);
    let (kept, counted) = (Arc::clone(&policies), Arc::clone(&metrics));
    let following: Pin<Box<dyn Future<Output = ()>>> = if is_of_cluster {
        let source = match arguments.source {
            SourceName::Own => Source::Own,
            SourceName::Native => Source::Native,
        };
        let authorizer = arguments.cluster_authorizer()?;
        let connect = arguments.connect()?;
        Box::pin(follow_cluster(kept, counted, connect, source, authorizer))
    } else {
        let files = files(arguments);
        Box::pin(follow(
            kept,
            counted,
            files,
            Some(stamp),
            RELOAD_INTERVAL,
            asked,
        ))
    };
    let webhook = Webhook::new(policies, Arc::clone(&metrics));
    let identity = Arc::clone(&certificates.identity);
    let mut exit = Exit::Yes;
    let ended = async { exit = signals.next().await.exit() };
    let serving = webhook.run(listener, identity, ended);
    tokio::select! {
        served = serving => served.map_err(|error| configuration(error.to_string()))?,
        () = following => {}
        () = certificates.renew(&metrics, ask) => {}
    }
    Ok(exit)
}

impl Arguments {
    /// The connection to the cluster. The kubeconfig is read again for each, because tokens expire.
    fn connect(&self) -> Result<Connect, Failure> {
        self.cluster.access(None)?.connection()?;
        let flags = self.cluster.clone();
        Ok(Arc::new(move || {
            let connection = flags.access(None).and_then(|access| access.connection());
            let (server, authorization) = connection.map_err(|failure| failure.message)?;
            Ok(Cluster {
                server,
                authorization,
            })
        }))
    }

    /// Nothing is allowed unless `--authorizer` says so.
    fn cluster_authorizer(&self) -> Result<Authorizer, Failure> {
        let answers = self.authorizer.as_deref().unwrap_or("deny");
        input::authorizer(Some(answers), &input::workspace(&[], Unbound::Inert)?)
    }
}

fn files(arguments: &Arguments) -> Files {
    let (seen, places) = (arguments.policies.clone(), arguments.policies.clone());
    let authorizer = arguments.authorizer.clone();
    Files {
        stamp: Box::new(move || stamp(&seen)),
        load: Box::new(move || {
            load(&places, authorizer.as_deref()).map_err(|failure| failure.message)
        }),
    }
}

/// Names, times and sizes of all files.
fn stamp(places: &[PathBuf]) -> String {
    let mut stamp = String::new();
    for place in places {
        for path in manifests::files(place).unwrap_or_default() {
            let about = std::fs::metadata(&path).ok();
            let about = about.map(|about| (about.modified().ok(), about.len()));
            stamp.push_str(&format!("{} {about:?}\n", path.display()));
        }
    }
    stamp
}

fn load(places: &[PathBuf], authorizer: Option<&str>) -> Result<Loaded, Failure> {
    let manifests = input::read(places)?;
    let workspace = input::workspace(&manifests, Unbound::Bound)?;
    for warning in workspace.warnings() {
        tracing::warn!("{warning}");
    }
    let authorizer = input::authorizer(authorizer, &workspace)?;
    Ok(Loaded {
        workspace,
        authorizer,
    })
}

/// The serving certificate: given, or of an authority of our own.
struct Certificates {
    identity: Arc<ServingIdentity>,
    own: Option<OwnServing>,
    folder: PathBuf,
    names: ServingNames,
}

impl Certificates {
    fn prepare(arguments: &Arguments) -> Result<Self, Failure> {
        let now = Timestamp::now();
        let names = arguments.registration.names(arguments.listen)?;
        let folder = arguments.cert_dir.clone();
        let wrong = |error: &dyn std::fmt::Display| configuration(error.to_string());
        let own = match &arguments.tls_cert {
            Some(_) => None,
            None => Some(OwnServing::prepare(&folder, &names, now).map_err(|error| wrong(&error))?),
        };
        let (certificate, key) = match (&own, &arguments.tls_cert, &arguments.tls_key) {
            (None, Some(certificate), Some(key)) => (certificate, key),
            (Some(own), ..) => (&own.certificate, &own.key),
            _ => return Err(wrong(&"--tls-cert and --tls-key belong together")),
        };
        let identity = ServingIdentity::load(certificate, key, now);
        Ok(Self {
            identity: identity.map_err(|error| wrong(&error))?,
            own,
            folder,
            names,
        })
    }

    /// Renews our own certificate, reads a given one again, and asks for policies on SIGHUP.
    async fn renew(&self, metrics: &Metrics, ask: mpsc::Sender<()>) {
        let Ok(mut hangups) = signal(SignalKind::hangup()) else {
            return std::future::pending().await;
        };
        let mut ticks = tokio::time::interval(CERTIFICATE_INTERVAL);
        let mut warned = None;
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = hangups.recv() => drop(ask.try_send(())),
            }
            let now = Timestamp::now();
            if self.own.is_some()
                && let Err(error) = OwnServing::prepare(&self.folder, &self.names, now)
            {
                tracing::error!(%error, "the certificate cannot be renewed");
            }
            match self.identity.reload(now) {
                Ok(true) => tracing::info!("the serving certificate was replaced"),
                Ok(false) => {}
                Err(error) => tracing::error!(%error, "the serving certificate stays"),
            }
            let Some(expires) = self.identity.expires() else {
                continue;
            };
            metrics.certificate_expires(expires);
            let soon = now.checked_add(Span::new().hours(24 * EXPIRY_WARNING_DAYS));
            if soon.is_ok_and(|soon| expires < soon) && warned != Some(expires) {
                tracing::warn!(%expires, "the serving certificate expires soon");
                warned = Some(expires);
            }
        }
    }
}

fn configuration(message: String) -> Failure {
    Failure::of_server(Exit::Configuration, message)
}
