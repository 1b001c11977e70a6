//! Discovery document and key set of an issuer.

use std::time::Duration;

use lockstep_object::Value;

use super::keys::KeySet;
use lockstep_callout::{CallError, CallLimits, Client, ClientConfig, Endpoint};

/// Path of the discovery document.
const DISCOVERY: &str = "/.well-known/openid-configuration";
/// Limits of a fetch.
const LIMITS: CallLimits = CallLimits {
    timeout: Duration::from_secs(10),
    answer_bytes_max: 1 << 20,
};

/// Client of an issuer.
pub(super) struct Provider {
    issuer: String,
    /// Authorities in PEM; if empty, the trust store of the system.
    authorities: Vec<u8>,
}

/// Errors of fetching the keys.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProviderError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("`{0}` does not answer with a JSON object")]
    NotJson(String),
    #[error("it says that it is {told:?}, not {asked:?}")]
    AnotherIssuer { asked: String, told: String },
    #[error("it does not tell where its keys are: there is no `jwks_uri`")]
    NoKeys,
    #[error("`{0}` does not answer with a set of keys")]
    NotKeys(String),
}

impl Provider {
    pub(super) fn new(issuer: &str, authorities: Vec<u8>) -> Self {
        Self {
            issuer: issuer.to_owned(),
            authorities,
        }
    }

    /// Fetches the current keys.
    pub(super) async fn keys(&self) -> Result<KeySet, ProviderError> {
        let base = self.issuer.strip_suffix('/').unwrap_or(&self.issuer);
        let document = self.get(format!("{base}{DISCOVERY}")).await?;
        let told = document["issuer"].as_str().unwrap_or_default();
        if told != self.issuer {
            return Err(ProviderError::AnotherIssuer {
                asked: self.issuer.clone(),
                told: told.to_owned(),
            });
        }
        let url = document["jwks_uri"].as_str().ok_or(ProviderError::NoKeys)?;
        let set = self.get(url.to_owned()).await?;
        KeySet::read(&set).ok_or_else(|| ProviderError::NotKeys(url.to_owned()))
    }

    async fn get(&self, url: String) -> Result<Value, ProviderError> {
        let config = ClientConfig {
            endpoint: Endpoint::Url(url.clone()),
            ca_bundle: self.authorities.clone(),
        };
        let body = Client::new(config, None).get(LIMITS).await?;
        let value: Option<Value> = serde_json::from_slice(&body).ok();
        let object = value.filter(Value::is_object);
        object.ok_or(ProviderError::NotJson(url))
    }
}
