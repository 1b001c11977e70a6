//! OIDC: tokens of an external issuer.
//!
//! The keys of the issuer are fetched when the server starts, which does not wait for them, and again when a token names
//! an unknown key. `claims` maps the claims of a token to a user and is pure.

mod claims;
mod keys;
mod provider;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use lockstep_object::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

pub use settings::{ASK_INTERVAL, OidcError, OidcSettings, SigningAlgorithm};

use crate::accounts::TokenError;
use crate::accounts::jws::{self, NotSigned};
use crate::{Host, User};
use claims::Mapping;
use keys::KeySet;
use provider::Provider;

/// Authenticator for tokens of an OIDC issuer.
pub struct Oidc {
    mapping: Mapping,
    algorithms: Vec<SigningAlgorithm>,
    provider: Provider,
    ask_interval: Duration,
    keys: ArcSwap<KeySet>,
    /// Time of the last fetch. Locked during a fetch, so that concurrent requests share one.
    fetched: Mutex<Option<Instant>>,
}

impl std::fmt::Debug for Oidc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Oidc")
            .field("issuer", &self.mapping.issuer)
            .finish_non_exhaustive()
    }
}

impl Oidc {
    /// Loads the authorities of the issuer. The settings must have been checked.
    pub fn load(settings: OidcSettings) -> Result<Self, OidcError> {
        let authorities = settings.authorities()?;
        Ok(Self {
            provider: Provider::new(&settings.issuer, authorities),
            algorithms: settings.algorithms.clone(),
            ask_interval: settings.ask_interval,
            mapping: Mapping::of(settings),
            keys: ArcSwap::default(),
            fetched: Mutex::default(),
        })
    }

    /// Fetches the keys of the issuer, and retries until it succeeds.
    pub async fn begin(&self) {
        loop {
            self.fetch_keys(None).await;
            if self.keys.load().is_fetched() {
                return;
            }
            tokio::time::sleep(self.ask_interval).await;
        }
    }

    /// Authenticates a token of the issuer.
    pub async fn authenticate(
        &self,
        host: &impl Host,
        token: &str,
        now: Timestamp,
    ) -> Result<Arc<User>, TokenError> {
        let issuer = jws::peek(token).and_then(|payload| claims::issuer(&payload));
        if issuer.as_deref() != Some(&self.mapping.issuer) {
            return Err(TokenError::Unrecognized);
        }
        let began = Instant::now();
        let user = self.user(token, now).await;
        let result = if user.is_ok() { "success" } else { "failure" };
        let issuer = jwt_authenticator_issuer(&self.mapping.issuer);
        host.observe_oidc(result, &issuer, began.elapsed());
        user.map(Arc::new).map_err(TokenError::Invalid)
    }

    async fn user(&self, token: &str, now: Timestamp) -> Result<User, String> {
        let payload = self.verified(token).await?;
        self.mapping.user(&payload, now.as_second())
    }

    /// Verifies a token and returns its payload. An unknown key triggers a fetch, since the issuer may have rotated its
    /// keys.
    async fn verified(&self, token: &str) -> Result<Value, String> {
        let known = self.keys.load_full();
        let refused = match known.verify(&self.algorithms, token) {
            Ok(payload) => return Ok(payload),
            Err(NotSigned::Malformed) => return Err(verify_error(NotSigned::Malformed)),
            Err(refused) => refused,
        };
        self.fetch_keys(Some(&known)).await;
        let keys = self.keys.load_full();
        if !keys.is_fetched() {
            return Err("oidc: authenticator not initialized".to_owned());
        }
        if Arc::ptr_eq(&keys, &known) {
            return Err(verify_error(refused));
        }
        keys.verify(&self.algorithms, token).map_err(verify_error)
    }

    /// Fetches the keys of the issuer, unless the last fetch is recent or has replaced `known` meanwhile.
    async fn fetch_keys(&self, known: Option<&Arc<KeySet>>) {
        let mut fetched = self.fetched.lock().await;
        let is_news = known.is_some_and(|known| !Arc::ptr_eq(known, &self.keys.load()));
        let is_early = fetched.is_some_and(|at| at.elapsed() < self.ask_interval);
        if is_news || is_early {
            return;
        }
        *fetched = Some(Instant::now());
        let issuer = &self.mapping.issuer;
        match self.provider.keys().await {
            Ok(keys) => {
                tracing::info!(%issuer, keys = keys.len(), "fetched the keys of the OIDC issuer");
                self.keys.store(Arc::new(keys));
            }
            Err(error) => {
                tracing::error!(%issuer, %error, "cannot fetch the keys of the OIDC issuer; tokens signed with new keys are rejected");
            }
        }
    }
}

fn verify_error(why: NotSigned) -> String {
    format!("oidc: verify token: {why}")
}

/// Digest of the issuer, as upstream labels its metrics.
fn jwt_authenticator_issuer(issuer: &str) -> String {
    use sha2::{Digest as _, Sha256};
    let digest = Sha256::digest(issuer.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
