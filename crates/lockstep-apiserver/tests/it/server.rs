//! A server in this process, on a free port and a directory of its own.

use lockstep_testkit::client::{Client, Identity};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use lockstep_apiserver::accounts::AccountSettings;
use lockstep_apiserver::admission::Plugins;
use lockstep_apiserver::audit::{Audit, Destination, Policy, Rotation, Sink};
use lockstep_apiserver::authz::{Authorizer, stored_rules_only};
use lockstep_apiserver::builtin::{ApiWishes, Apis};
use lockstep_apiserver::limits::{COMPACTION_INTERVAL, Limits};
use lockstep_apiserver::oidc::OidcSettings;
use lockstep_apiserver::resources::EVENT_TTL;
use lockstep_apiserver::trust::ServingNames;
use lockstep_apiserver::{
    ApiServer, Config, CredentialFiles, Credentials, Handler, LoopConfig, Request, Response,
    ResponseBody, ServiceRange, TlsVersion, bind, respond, text,
};
use lockstep_featuregate::Builder;
use lockstep_object::ApiError;
use lockstep_storage::{MemoryStore, Store};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Configuration of a test server.
pub(crate) struct Setup {
    pub(crate) limits: Limits,
    pub(crate) gates: &'static str,
    pub(crate) emulated: &'static str,
    pub(crate) wishes: ApiWishes,
    pub(crate) tokens: Option<&'static str>,
    pub(crate) anonymous: bool,
    pub(crate) authorizer: Authorizer,
    pub(crate) audit: Option<serde_json::Value>,
    pub(crate) client_authorities: Vec<String>,
    /// Handler with resources of the test; `None` serves the server's own resources.
    pub(crate) handler: Option<Handler>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) compaction_interval: Duration,
    pub(crate) controllers: &'static str,
    pub(crate) plugins: Plugins,
    pub(crate) oidc: Option<OidcSettings>,
}

impl Setup {
    /// The server's own resources.
    pub(crate) fn own() -> Self {
        Self {
            handler: None,
            ..Self::default()
        }
    }
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            gates: "",
            emulated: "",
            wishes: ApiWishes::default(),
            tokens: None,
            anonymous: true,
            authorizer: stored_rules_only(),
            audit: None,
            client_authorities: Vec::new(),
            handler: Some(test_resources()),
            store: memory(),
            compaction_interval: COMPACTION_INTERVAL,
            controllers: "*",
            plugins: Plugins::default(),
            oidc: None,
        }
    }
}

/// A running server.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) credentials: Credentials,
    pub(crate) stop: Option<oneshot::Sender<()>>,
    pub(crate) running: JoinHandle<()>,
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = files(&folder, &setup);
        let credentials = Credentials::prepare(files, setup.anonymous, Timestamp::now()).unwrap();
        let listener = bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.local_addr().unwrap();
        credentials
            .write_kubeconfig(address, Timestamp::now())
            .unwrap();
        let gates = Builder::new(lockstep_gates::registry())
            .flag(setup.gates)
            .emulated_version(setup.emulated);
        let audit = setup.audit.map(|policy| Audit {
            policy: Policy::read(&policy).unwrap(),
            sink: Sink::open(&Destination::File(
                folder.path().join("audit.log"),
                Rotation::default(),
            ))
            .unwrap(),
        });
        let gates = gates.try_finish().unwrap().gates;
        let server = ApiServer::new(Config {
            apis: Apis::decide(&gates, &setup.wishes).unwrap(),
            gates,
            flags: vec![
                ("data-dir".into(), "./d".into()),
                ("store".into(), "embedded".into()),
            ],
            limits: setup.limits,
            authentication: credentials.authentication(),
            authorizer: setup.authorizer,
            audit,
            identity: credentials.identity(),
            tls_min: TlsVersion::V12,
            store: setup.store,
            client_ca: credentials.client_ca(Timestamp::now()).unwrap(),
            compaction_interval: setup.compaction_interval,
            event_ttl: EVENT_TTL,
            service_range: ServiceRange::default(),
            plugins: setup.plugins,
            loops: LoopConfig {
                controllers: setup.controllers.parse().unwrap(),
                server: folder.path().display().to_string(),
                host: "test-host".into(),
                root_ca: credentials.root_ca(Timestamp::now()).unwrap(),
                namespace_grace: std::time::Duration::ZERO,
            },
            handler: setup.handler,
        });
        let server = server.unwrap();
        let (stop, stopped) = oneshot::channel();
        #[expect(
            clippy::disallowed_methods,
            reason = "the test keeps the handle and awaits it"
        )]
        let running = tokio::spawn(server.run(listener, async {
            drop(stopped.await);
        }));
        Self {
            address,
            folder,
            credentials,
            stop: Some(stop),
            running,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn authority(&self) -> Vec<u8> {
        std::fs::read(self.path("pki/ca.crt")).unwrap()
    }

    /// The administrator's certificate and key.
    pub(crate) fn admin(&self) -> Identity {
        let read = |name: &str| std::fs::read(self.path(name)).unwrap();
        Identity::from_pem(&read("pki/admin.crt"), &read("pki/admin.key"))
    }

    pub(crate) async fn client(&self, identity: Option<Identity>) -> Client {
        Client::connect(self.address, &self.authority(), identity, "h2").await
    }

    pub(crate) async fn client_http1(&self, identity: Option<Identity>) -> Client {
        Client::connect(self.address, &self.authority(), identity, "http/1.1").await
    }

    /// Waits until `/readyz` is 200.
    pub(crate) async fn ready(&self) {
        let mut client = self.client(Some(self.admin())).await;
        client
            .get_until("/readyz", |answer| answer.status == 200)
            .await;
    }

    /// Stops the server and waits for its end.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        (&mut self.running).await.unwrap();
    }
}

fn files(folder: &tempfile::TempDir, setup: &Setup) -> CredentialFiles {
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(at(name), text).unwrap();
        std::fs::set_permissions(at(name), std::fs::Permissions::from_mode(0o600)).unwrap();
        at(name)
    };
    CredentialFiles {
        own: at("pki"),
        serving: at("pki"),
        serving_pair: None,
        client_authorities: setup
            .client_authorities
            .iter()
            .enumerate()
            .map(|(index, text)| write(&format!("client-ca-{index}.crt"), text))
            .collect(),
        tokens: setup.tokens.map(|text| write("tokens.csv", text)),
        accounts: AccountSettings::default(),
        oidc: setup.oidc.clone(),
        kubeconfig: at("admin.kubeconfig"),
        names: ServingNames::new(Some("test-host"), "127.0.0.1".parse().unwrap()),
    }
}

/// An empty store.
pub(crate) fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::start(lockstep_storage::Limits::default()))
}

/// Resources that behave as their names say.
fn test_resources() -> Handler {
    Arc::new(|request| Box::pin(answer(request)))
}

async fn answer(request: &mut Request) -> Response {
    let Some(path) = request.info.resource.clone() else {
        return text(StatusCode::OK, "discovery");
    };
    let known = [
        "echoes", "users", "headers", "panics", "sleeps", "warnings", "ticks",
    ];
    if known.contains(&path.resource.as_str()) {
        request.notes.resource_is_known();
    }
    match path.resource.as_str() {
        "echoes" => match request.body.read().await {
            Ok(body) => text(StatusCode::OK, format!("{} bytes", body.len())),
            Err(error) => respond(&ApiError::from(error)),
        },
        "users" => {
            let user = &request.user;
            text(
                StatusCode::OK,
                format!(
                    "{} {:?} {:?} {:?}",
                    user.name, user.uid, user.groups, user.extra
                ),
            )
        }
        "headers" => text(
            StatusCode::OK,
            format!("{:?}", request.headers.keys().collect::<Vec<_>>()),
        ),
        "panics" => panic!("secret {}", path.name),
        "sleeps" => {
            // Ended by the deadline of the request or by its client.
            std::future::pending().await
        }
        "warnings" => {
            request.notes.warn("first \"one\"");
            request.notes.warn("second");
            request.notes.warn("second");
            text(StatusCode::OK, "warned")
        }
        "ticks" if request.info.verb == "watch" => {
            let stream = Ticks { first: true };
            http::Response::new(ResponseBody::stream(Box::pin(stream), request.stop.clone()))
        }
        _ => respond(&ApiError::NoSuchResource),
    }
}

/// A watch: one event, then silence for ever.
struct Ticks {
    first: bool,
}

impl http_body::Body for Ticks {
    type Data = bytes::Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<bytes::Bytes>, std::io::Error>>> {
        if std::mem::take(&mut self.first) {
            let event = bytes::Bytes::from_static(b"{\"type\":\"ADDED\"}\n");
            return std::task::Poll::Ready(Some(Ok(http_body::Frame::data(event))));
        }
        std::task::Poll::Pending
    }
}
