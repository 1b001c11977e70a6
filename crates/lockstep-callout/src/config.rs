//! The `clientConfig` of a webhook.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use lockstep_object::Value;
use rustls::pki_types::ServerName;

/// Default port of Services and URLs.
const PORT: u16 = 443;

/// Endpoint of a webhook and the certificates to trust.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientConfig {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Certificates in PEM; if empty, the trust store of the system.
    pub ca_bundle: Vec<u8>,
}

/// The address of a webhook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Endpoint {
    /// `https://host[:port]/path`
    Url(String),
    /// A Service of the cluster.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// One of its ports.
        port: u16,
        /// Path of the request.
        path: String,
    },
}

/// Errors of a `clientConfig`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// Neither `url` nor `service` is set.
    #[error("webhook configuration must have either service or URL")]
    NoEndpoint,
    /// The URL is not valid.
    #[error("the address {0:?} cannot be called; it should be https://host[:port]/path")]
    Url(String),
    /// `caBundle` is not base64.
    #[error("the caBundle is not base64")]
    NotBase64,
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

impl ClientConfig {
    /// Reads a `clientConfig`.
    pub fn read(config: &Value) -> Result<Self, ConfigError> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let service = &config["service"];
        let endpoint = match (&config["url"], service.is_object()) {
            (Value::String(url), _) if !url.is_empty() => Endpoint::Url(url.clone()),
            (_, true) => Endpoint::Service {
                namespace: text(&service["namespace"]),
                name: text(&service["name"]),
                port: service["port"]
                    .as_u64()
                    .and_then(|port| u16::try_from(port).ok())
                    .filter(|port| *port > 0)
                    .unwrap_or(PORT),
                path: text(&service["path"]),
            },
            _ => return Err(ConfigError::NoEndpoint),
        };
        let bundle = text(&config["caBundle"]);
        let bundle = STANDARD.decode(bundle.trim());
        let mut ca_bundle = bundle.map_err(|_| ConfigError::NotBase64)?;
        if ca_bundle.iter().all(u8::is_ascii_whitespace) {
            ca_bundle.clear();
        }
        Ok(Self {
            endpoint,
            ca_bundle,
        })
    }

    /// Parses the endpoint.
    pub(crate) fn target(&self) -> Result<Target, ConfigError> {
        match &self.endpoint {
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
    use serde_json::json;

    use super::*;

    fn target_text(config: &Value) -> String {
        let target = ClientConfig::read(config).and_then(|config| config.target());
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

    #[test]
    fn a_bundle_of_white_space_is_none() {
        let config = json!({ "url": "https://h", "caBundle": STANDARD.encode(" \n") });
        let read = ClientConfig::read(&config).unwrap();
        assert_eq!(read.ca_bundle, b"");
    }
}
