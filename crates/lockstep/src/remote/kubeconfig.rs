//! The parts of a kubeconfig that say where a server is and who asks.

use super::files::Files;
use crate::failure::Failure;

/// A server, whom to trust, and who asks.
pub(crate) struct Access {
    server: String,
    pub(super) authority: Option<Vec<u8>>,
    pub(super) certificate: Option<(Vec<u8>, Vec<u8>)>,
    pub(super) token: Option<String>,
    namespace: Option<String>,
}

impl Access {
    /// Nobody, at a server whose certificate the system's authorities would have to vouch for.
    pub(super) fn anonymous(server: Option<&str>) -> Result<Self, Failure> {
        let server =
            server.ok_or_else(|| Failure::bad_input("no server and no kubeconfig given"))?;
        Ok(Self {
            server: server.trim_end_matches('/').to_owned(),
            authority: None,
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
        let of_user = |key: &str| user.as_ref().map_or(Ok(None), |user| user.bytes(key));
        let (certificate, key) = (of_user("client-certificate")?, of_user("client-key")?);
        let token = user.as_ref().and_then(|user| user.text("token"));
        Ok(Self {
            server: server.trim_end_matches('/').to_owned(),
            authority: cluster.bytes("certificate-authority")?,
            certificate: certificate.zip(key),
            token: token.map(str::to_owned),
            namespace: context.text("namespace").map(str::to_owned),
        })
    }

    /// The same server, as nobody.
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

    /// The namespace of the context, or the one that everybody has.
    pub(crate) fn namespace(&self) -> &str {
        let namespace = self.namespace.as_deref();
        let namespace = namespace.filter(|namespace| !namespace.is_empty());
        namespace.unwrap_or("default")
    }
}
