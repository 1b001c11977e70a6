//! Users of an issuer elsewhere (OIDC): tokens that somebody else signs are believed.
//!
//! The issuer is asked for its keys when the server starts and when a token names a key that is not known; the server
//! does not wait for it. What a token says of its user is mapped by `claims`, which is nothing but rules.

mod claims;
mod keys;
mod provider;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use lockstep_object::Value;
use prometheus::HistogramVec;
use tokio::sync::Mutex;
use tokio::time::Instant;

pub use settings::{ASK_INTERVAL, OidcError, OidcSettings, SigningAlgorithm};

use crate::accounts::jws::{self, NotSigned};
use crate::authn::User;
use claims::Mapping;
use keys::KeySet;
use provider::Provider;

/// Tells whose tokens of the issuer are.
pub struct Oidc {
    mapping: Mapping,
    algorithms: Vec<SigningAlgorithm>,
    provider: Provider,
    ask_interval: Duration,
    keys: ArcSwap<KeySet>,
    /// When the issuer was last asked. Held while it is being asked, so that it is asked once for all who wait.
    asked: Mutex<Option<Instant>>,
}

/// Why nobody is behind a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Doubt {
    /// Another issued it.
    NotTheirs,
    /// It is not good.
    Bad(String),
}

impl std::fmt::Debug for Oidc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Oidc")
            .field("issuer", &self.mapping.issuer)
            .finish_non_exhaustive()
    }
}

impl Oidc {
    /// Takes settings that were found to be sound, and reads the authorities of the issuer.
    pub fn load(settings: OidcSettings) -> Result<Self, OidcError> {
        let authorities = settings.authorities()?;
        Ok(Self {
            provider: Provider::new(&settings.issuer, authorities),
            algorithms: settings.algorithms.clone(),
            ask_interval: settings.ask_interval,
            mapping: Mapping::of(settings),
            keys: ArcSwap::default(),
            asked: Mutex::default(),
        })
    }

    /// Asks the issuer for its keys until it has told them once.
    pub(crate) async fn begin(&self) {
        loop {
            self.ask(None).await;
            if self.keys.load().is_told() {
                return;
            }
            tokio::time::sleep(self.ask_interval).await;
        }
    }

    /// Whose token this is.
    pub(crate) async fn judge(
        &self,
        token: &str,
        now: Timestamp,
        seconds: &HistogramVec,
    ) -> Result<Arc<User>, Doubt> {
        let issuer = jws::peek(token).and_then(|payload| claims::issuer(&payload));
        if issuer.as_deref() != Some(&self.mapping.issuer) {
            return Err(Doubt::NotTheirs);
        }
        let began = Instant::now();
        let judged = self.judged(token, now).await;
        let result = if judged.is_ok() { "success" } else { "failure" };
        let issuer = jwt_authenticator_issuer(&self.mapping.issuer);
        let seconds = seconds.with_label_values(&[result, &issuer]);
        seconds.observe(began.elapsed().as_secs_f64());
        judged.map(Arc::new).map_err(Doubt::Bad)
    }

    async fn judged(&self, token: &str, now: Timestamp) -> Result<User, String> {
        let payload = self.verified(token).await?;
        self.mapping.user(&payload, now.as_second())
    }

    /// The payload of a token that one of the issuer's keys signed. If it is none of those that are known, the issuer
    /// may have others by now.
    async fn verified(&self, token: &str) -> Result<Value, String> {
        let known = self.keys.load_full();
        let refused = match known.verify(&self.algorithms, token) {
            Ok(payload) => return Ok(payload),
            Err(NotSigned::Malformed) => return Err(told(NotSigned::Malformed)),
            Err(refused) => refused,
        };
        self.ask(Some(&known)).await;
        let keys = self.keys.load_full();
        if !keys.is_told() {
            return Err("oidc: authenticator not initialized".to_owned());
        }
        if Arc::ptr_eq(&keys, &known) {
            return Err(told(refused));
        }
        keys.verify(&self.algorithms, token).map_err(told)
    }

    /// Asks the issuer for its keys, unless it was asked just now, or told others than these meanwhile.
    async fn ask(&self, known: Option<&Arc<KeySet>>) {
        let mut asked = self.asked.lock().await;
        let is_news = known.is_some_and(|known| !Arc::ptr_eq(known, &self.keys.load()));
        let is_early = asked.is_some_and(|at| at.elapsed() < self.ask_interval);
        if is_news || is_early {
            return;
        }
        *asked = Some(Instant::now());
        let issuer = &self.mapping.issuer;
        match self.provider.keys().await {
            Ok(keys) => {
                tracing::info!(%issuer, keys = keys.len(), "the OIDC issuer told its keys");
                self.keys.store(Arc::new(keys));
            }
            Err(error) => {
                tracing::error!(%issuer, %error, "the OIDC issuer does not tell its keys; its users cannot log in with new ones");
            }
        }
    }
}

fn told(why: NotSigned) -> String {
    format!("oidc: verify token: {why}")
}

/// An issuer as metrics show it, which is not its name.
fn jwt_authenticator_issuer(issuer: &str) -> String {
    use sha2::{Digest as _, Sha256};
    let digest = Sha256::digest(issuer.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
