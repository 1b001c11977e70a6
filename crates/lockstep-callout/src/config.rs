//! Address of a webhook from its `clientConfig`.

use http::Uri;
use lockstep_object::webhook::{ClientConfig, ClientConfigError, Endpoint};
use rustls::pki_types::ServerName;

/// Default port of URLs.
const PORT: u16 = 443;

/// Errors of a `clientConfig` that is called.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// The configuration could not be read.
    #[error(transparent)]
    Read(#[from] ClientConfigError),
    /// The URL is not valid.
    #[error("the address {0:?} cannot be called; it should be https://host[:port]/path")]
    Url(String),
    /// `caBundle` contains no certificate in PEM.
    #[error("the caBundle holds no certificate in PEM")]
    NoCertificate,
    /// The trust store of the system is empty.
    #[error("there is no caBundle, and the system trusts no authority: {0}")]
    NoSystemTrust(String),
    /// The certificates cannot be used as trust anchors.
    #[error("the caBundle cannot be used: {0}")]
    Trust(String),
}

/// A parsed endpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    /// A name or an address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Host and port as written in the URL.
    pub(crate) authority: String,
    pub(crate) path: String,
    pub(crate) server_name: ServerName<'static>,
    /// Namespace and name of the Service, if the endpoint is one.
    pub(crate) service: Option<(String, String)>,
}

impl Target {
    /// Parses the endpoint of a webhook.
    pub(crate) fn of(config: &ClientConfig) -> Result<Self, ConfigError> {
        match &config.endpoint {
            Endpoint::Url(url) => from_url(url).ok_or_else(|| ConfigError::Url(url.clone())),
            Endpoint::Service {
                namespace,
                name,
                port,
                path,
            } => {
                let url = format!("https://{name}.{namespace}.svc:{port}{path}");
                let target = from_url(&url).ok_or(ConfigError::Url(url))?;
                Ok(Target {
                    service: Some((namespace.clone(), name.clone())),
                    ..target
                })
            }
        }
    }
}

fn from_url(url: &str) -> Option<Target> {
    let uri: Uri = url.parse().ok()?;
    let authority = uri
        .authority()
        .filter(|_| uri.scheme_str() == Some("https"))?;
    if authority.as_str().contains('@') || uri.query().is_some() {
        return None;
    }
    let host = authority.host();
    let inside = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    let host = inside.unwrap_or(host).to_owned();
    Some(Target {
        server_name: ServerName::try_from(host.clone()).ok()?,
        host,
        port: authority.port_u16().unwrap_or(PORT),
        authority: authority.as_str().to_owned(),
        path: cleaned(uri.path()),
        service: None,
    })
}

/// Normalises a path as upstream does with `path.Join`: single slashes, none at the end, `.` and `..` resolved.
/// A suite of controller-runtime registers `https://127.0.0.1:PORT//mutate` and serves `/mutate`.
fn cleaned(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn target_text(config: &Value) -> String {
        let config = ClientConfig::read(config).map_err(ConfigError::from);
        let target = config.and_then(|config| Target::of(&config));
        match target {
            Ok(t) => format!("{} {} {} {}", t.host, t.port, t.authority, t.path),
            Err(error) => error.to_string(),
        }
    }

    /// api-machinery.md §11/versions: url https only or service; §16: `https://127.0.0.1:PORT/convert`; §12/webhook-places: envtest
    /// writes `https://127.0.0.1:PORT//path`.
    #[test]
    fn a_url_or_a_service_names_the_endpoint_of_a_webhook() {
        let service = json!({ "namespace": "n", "name": "s", "path": "/convert" });
        let ported = json!({ "namespace": "n", "name": "s", "port": 8443 });
        let rows = [
            (
                json!({ "url": "https://127.0.0.1:9443/convert" }),
                "127.0.0.1 9443 127.0.0.1:9443 /convert",
            ),
            (json!({ "url": "https://h" }), "h 443 h /"),
            (json!({ "url": "https://h//a/./b/../c/" }), "h 443 h /a/c"),
            (json!({ "url": "https://h/../.." }), "h 443 h /"),
            (
                json!({ "service": { "namespace": "n", "name": "s", "path": "//x/" } }),
                "s.n.svc 443 s.n.svc:443 /x",
            ),
            (json!({ "url": "https://[::1]:1/x" }), "::1 1 [::1]:1 /x"),
            (
                json!({ "service": service }),
                "s.n.svc 443 s.n.svc:443 /convert",
            ),
            (json!({ "service": ported }), "s.n.svc 8443 s.n.svc:8443 /"),
            (
                json!({}),
                "webhook configuration must have either service or URL",
            ),
            (
                json!({ "url": "http://h/x" }),
                "the address \"http://h/x\" cannot be called; it should be https://host[:port]/path",
            ),
            (
                json!({ "url": "https://h/x", "caBundle": "%" }),
                "the caBundle is not base64",
            ),
        ];
        for (config, expected) in rows {
            assert_eq!(target_text(&config), expected, "{config}");
        }
    }
}
