//! The parts of a kubeconfig that say where a server is and who asks.

use std::path::{Path, PathBuf};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::Value;

use crate::{document, failure::Failure};

/// A server, whom to trust, and who asks.
pub(crate) struct Access {
    server: String,
    pub(super) authority: Option<Vec<u8>>,
    pub(super) certificate: Option<(Vec<u8>, Vec<u8>)>,
    pub(super) token: Option<String>,
}

/// `$KUBECONFIG`, of which the first entry counts, or `~/.kube/config` if there is one.
pub(super) fn default_path() -> Option<PathBuf> {
    let listed = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let first = std::env::split_paths(&listed).find(|path| !path.as_os_str().is_empty());
    let home = || {
        let path = PathBuf::from(std::env::var_os("HOME")?).join(".kube/config");
        path.exists().then_some(path)
    };
    first.or_else(home)
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
        })
    }

    /// Reads a kubeconfig; `server` takes the place of its own.
    pub(super) fn read(
        path: &Path,
        context: Option<&str>,
        server: Option<&str>,
    ) -> Result<Self, Failure> {
        let file = File {
            path,
            document: document::read(path)?,
        };
        let current = file.document["current-context"].as_str();
        let context = context.or(current).filter(|name| !name.is_empty());
        let context = context
            .ok_or_else(|| file.wrong("no context is current; choose one with `--context`"))?;
        let context = file.named("contexts", "context", context)?;
        let cluster = file.named(
            "clusters",
            "cluster",
            context["cluster"].as_str().unwrap_or_default(),
        )?;
        let user = match context["user"].as_str() {
            Some(user) => file.named("users", "user", user)?,
            None => &Value::Null,
        };
        let server = server.or(cluster["server"].as_str());
        let server = server.ok_or_else(|| file.wrong("the cluster has no server"))?;
        let certificate = file.bytes(user, "client-certificate")?;
        let key = file.bytes(user, "client-key")?;
        Ok(Self {
            server: server.trim_end_matches('/').to_owned(),
            authority: file.bytes(cluster, "certificate-authority")?,
            certificate: certificate.zip(key),
            token: user["token"].as_str().map(str::to_owned),
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
}

struct File<'a> {
    path: &'a Path,
    document: Value,
}

impl File<'_> {
    fn wrong(&self, what: &str) -> Failure {
        Failure::bad_input(format!("{}: {what}", self.path.display()))
    }

    /// The entry of a list by its name.
    fn named(&self, list: &str, key: &str, name: &str) -> Result<&Value, Failure> {
        let entries = self.document[list].as_array();
        let entry = entries
            .into_iter()
            .flatten()
            .find(|entry| entry["name"] == name);
        let entry = entry.map(|entry| &entry[key]);
        entry.ok_or_else(|| self.wrong(&format!("{list} has no `{name}`")))
    }

    /// What stands in the file as base64 under `KEY-data`, or in another file under `KEY`.
    fn bytes(&self, entry: &Value, key: &str) -> Result<Option<Vec<u8>>, Failure> {
        let data = format!("{key}-data");
        if let Some(text) = entry[&data].as_str() {
            let bytes = BASE64_STANDARD.decode(text);
            return bytes
                .map(Some)
                .map_err(|_| self.wrong(&format!("{data} is not base64")));
        }
        let Some(path) = entry[key].as_str() else {
            return Ok(None);
        };
        let path = self.path.parent().unwrap_or(Path::new("")).join(path);
        let bytes = std::fs::read(&path);
        bytes
            .map(Some)
            .map_err(|error| self.wrong(&format!("cannot read {}: {error}", path.display())))
    }
}
