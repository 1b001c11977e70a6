//! The parts of a kubeconfig that say where a server is and who asks.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::exec::{self, Given};
use super::files::{Entry, Files};
use crate::failure::Failure;

/// Kubeconfig fields that kubectl honours and this client refuses as unsupported.
const OF_CLUSTER: &[&str] = &["proxy-url", "tls-server-name"];
const OF_USER: &[&str] = &[
    "as",
    "as-groups",
    "as-uid",
    "as-user-extra",
    "auth-provider",
    "password",
    "username",
];

/// Address, trust and credentials for an API server.
pub(crate) struct Access {
    server: String,
    pub(super) authority: Option<Vec<u8>>,
    /// True for `insecure-skip-tls-verify`: the server's certificate is not checked.
    pub(super) is_unverified: bool,
    pub(super) certificate: Option<(Vec<u8>, Vec<u8>)>,
    pub(super) token: Option<String>,
    namespace: Option<String>,
}

impl Access {
    /// Client without credentials, which verifies the server's certificate against the system's roots.
    pub(super) fn anonymous(server: Option<&str>) -> Result<Self, Failure> {
        let server =
            server.ok_or_else(|| Failure::bad_input("no server and no kubeconfig given"))?;
        Ok(Self {
            server: server.trim_end_matches('/').to_owned(),
            authority: None,
            is_unverified: false,
            certificate: None,
            token: None,
            namespace: None,
        })
    }

    /// Reads kubeconfigs; `server` takes the place of theirs.
    pub(super) fn read(
        files: &Files,
        context: Option<&str>,
        server: Option<&str>,
    ) -> Result<Self, Failure> {
        let context = context.or(files.current_context());
        let context = context.filter(|name| !name.is_empty());
        let context = context
            .ok_or_else(|| files.wrong("no context is current; choose one with `--context`"))?;
        let context = files.named("contexts", "context", context)?;
        let cluster = context.text("cluster").unwrap_or_default();
        let cluster = files.named("clusters", "cluster", cluster)?;
        let user = context.text("user");
        let user = user.map(|user| files.named("users", "user", user));
        let user = user.transpose()?;
        let server = server.or(cluster.text("server"));
        let server = server.ok_or_else(|| cluster.wrong("the cluster has no server"))?;
        let server = server.trim_end_matches('/').to_owned();
        cluster.refuse(OF_CLUSTER)?;
        let authority = cluster.bytes("certificate-authority")?;
        let is_unverified = is_unverified(&cluster);
        if is_unverified && authority.is_some() {
            return Err(cluster.wrong(
                "`insecure-skip-tls-verify` and a certificate authority exclude each other",
            ));
        }
        let known = || known(&cluster, &server, authority.as_deref());
        let Given { token, certificate } = match &user {
            None => Given::default(),
            Some(user) => credentials(user, known)?,
        };
        Ok(Self {
            server,
            authority,
            is_unverified,
            certificate,
            token,
            namespace: context.text("namespace").map(str::to_owned),
        })
    }

    /// Removes the credentials, so that requests are anonymous.
    #[cfg(feature = "dashboard")]
    pub(crate) fn without_credentials(self) -> Self {
        Self {
            certificate: None,
            token: None,
            ..self
        }
    }

    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// Namespace of the context, by default `default`.
    pub(crate) fn namespace(&self) -> &str {
        let namespace = self.namespace.as_deref();
        let namespace = namespace.filter(|namespace| !namespace.is_empty());
        namespace.unwrap_or("default")
    }
}

/// Credentials of a kubeconfig user: from the entry's fields, or from its exec plugin.
fn credentials(user: &Entry<'_>, cluster: impl Fn() -> Value) -> Result<Given, Failure> {
    user.refuse(OF_USER)?;
    let certificate = user.bytes("client-certificate")?;
    let certificate = certificate.zip(user.bytes("client-key")?);
    let token = match user.set("tokenFile").and_then(Value::as_str) {
        None => user.text("token").map(str::to_owned),
        Some(path) => {
            let text = String::from_utf8(user.file_at(path)?);
            let text = text.map_err(|_| user.wrong("tokenFile is not text"))?;
            Some(text.trim().to_owned())
        }
    };
    let token = token.filter(|token| !token.is_empty());
    match user.set("exec") {
        // A token that is there already is the one that counts.
        Some(exec) if token.is_none() => {
            let given = exec::run(user, exec, &cluster())?;
            let certificate = given.certificate.or(certificate);
            Ok(Given {
                certificate,
                ..given
            })
        }
        _ => Ok(Given { token, certificate }),
    }
}

fn is_unverified(cluster: &Entry<'_>) -> bool {
    cluster.set("insecure-skip-tls-verify") == Some(&Value::Bool(true))
}

/// Cluster information passed to an exec plugin (`spec.cluster` of `ExecCredential`).
fn known(cluster: &Entry<'_>, server: &str, authority: Option<&[u8]>) -> Value {
    let mut known = json!({ "server": server });
    if let Some(authority) = authority {
        known["certificate-authority-data"] = BASE64_STANDARD.encode(authority).into();
    }
    if is_unverified(cluster) {
        known["insecure-skip-tls-verify"] = true.into();
    }
    let extensions = cluster.set("extensions").and_then(Value::as_array);
    let mut extensions = extensions.into_iter().flatten();
    let own = extensions.find(|row| row["name"] == "client.authentication.k8s.io/exec");
    if let Some(own) = own {
        known["config"] = own["extension"].clone();
    }
    known
}

#[cfg(test)]
mod tests;
