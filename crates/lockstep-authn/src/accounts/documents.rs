//! Discovery document and key set of `OpenID` Connect, with which others verify tokens of this server.

use serde_json::{Value, json};

use super::ServiceAccounts;

impl ServiceAccounts {
    /// The discovery document; `None` if the issuer is no HTTPS URL.
    pub fn discovery(&self, address: &str) -> Option<Value> {
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

    /// The key set that verifies tokens.
    pub fn key_set(&self) -> Value {
        let keys: Vec<Value> = self.keys.iter().map(super::PublicKey::as_jwk).collect();
        json!({ "keys": keys })
    }
}
