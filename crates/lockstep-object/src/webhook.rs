//! Client configuration of webhooks, shared by admission and conversion.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// Default port of Services.
const SERVICE_PORT: u16 = 443;

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

/// Errors of reading a `clientConfig`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ClientConfigError {
    /// Neither `url` nor `service` is set.
    #[error("webhook configuration must have either service or URL")]
    NoEndpoint,
    /// `caBundle` is not base64.
    #[error("the caBundle is not base64")]
    NotBase64,
}

impl ClientConfig {
    /// Reads a `clientConfig`.
    pub fn read(config: &Value) -> Result<Self, ClientConfigError> {
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
                    .unwrap_or(SERVICE_PORT),
                path: text(&service["path"]),
            },
            _ => return Err(ClientConfigError::NoEndpoint),
        };
        let bundle = text(&config["caBundle"]);
        let bundle = STANDARD.decode(bundle.trim());
        let mut ca_bundle = bundle.map_err(|_| ClientConfigError::NotBase64)?;
        if ca_bundle.iter().all(u8::is_ascii_whitespace) {
            ca_bundle.clear();
        }
        Ok(Self {
            endpoint,
            ca_bundle,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_bundle_of_white_space_is_none() {
        let config = json!({ "url": "https://h", "caBundle": STANDARD.encode(" \n") });
        let read = ClientConfig::read(&config).expect("the configuration is valid");
        assert_eq!(read.ca_bundle, b"");
    }
}
