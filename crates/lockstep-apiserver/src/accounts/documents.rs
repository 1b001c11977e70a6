//! What tells others how to check our tokens: the discovery document of `OpenID`, and the keys.

use serde_json::{Value, json};

use super::ServiceAccounts;

impl ServiceAccounts {
    /// The discovery document; none if the issuer is not a place where one could look.
    pub(crate) fn discovery(&self, address: &str) -> Option<Value> {
        let issuer = self.issuers.first()?;
        if !issuer.starts_with("https://") {
            return None;
        }
        let own = || format!("https://{address}/openid/v1/jwks");
        let mut algorithms: Vec<&str> = Vec::new();
        for key in &self.keys {
            let name = key.algorithm.name();
            if !algorithms.contains(&name) {
                algorithms.push(name);
            }
        }
        algorithms.sort_unstable();
        Some(json!({
            "issuer": issuer,
            "jwks_uri": self.jwks_uri.clone().unwrap_or_else(own),
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": algorithms,
        }))
    }

    /// The keys that tokens are checked with.
    pub(crate) fn key_set(&self) -> Value {
        let keys: Vec<Value> = self.keys.iter().map(super::PublicKey::as_jwk).collect();
        json!({ "keys": keys })
    }
}
