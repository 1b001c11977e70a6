//! Service-account tokens: verification, signing, and the keys for both.
//!
//! A token is valid as long as its account and the object that it is bound to exist. Signatures are verified once for
//! each token, the objects on each use.

mod bound;
mod claims;
mod documents;
pub(crate) mod jws;
pub(crate) mod keys;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use lockstep_gotext::print::quote;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::trust::{FileError, read_file};
use crate::{Host, User};

use claims::user_name;
use keys::{PublicKey, SigningKey};

pub use claims::{Bound, Claims, Reference};

/// Default issuer of tokens.
pub const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
/// Most tokens whose verified signature is cached.
const VERIFIED_MAX: usize = 10_000;
/// Revision of an object that was never verified, or does not exist.
const NEVER: u64 = 0;

/// Settings of service-account tokens.
#[derive(Clone, Debug)]
pub struct AccountSettings {
    /// Accepted issuers; the first one issues new tokens.
    pub issuers: Vec<String>,
    /// Audiences of this server; the issuers if empty.
    pub audiences: Vec<String>,
    /// Private key that signs tokens; the server's own key by default.
    pub signing_key: Option<PathBuf>,
    /// PEM public keys that verify service-account tokens, in addition to the signing key.
    pub keys: Vec<PathBuf>,
    /// Longest lifetime of a token.
    pub lifetime_max: Option<Duration>,
    /// URL of the key set in the discovery document, if not at this server.
    pub jwks_uri: Option<String>,
}

/// Errors of loading the keys.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file contains no usable key.
    #[error("`{}` holds no {what} of RSA (2048 bits or more) or of the curves P-256, P-384 and P-521 in PEM form", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
        /// Kind of the missing key.
        what: &'static str,
    },
}

/// Issuer and verifier of service-account tokens.
pub struct ServiceAccounts {
    issuers: Vec<String>,
    audiences: Vec<String>,
    signing: SigningKey,
    keys: Vec<PublicKey>,
    lifetime_max: Option<Duration>,
    jwks_uri: Option<String>,
    verified: Mutex<HashMap<[u8; 32], Arc<Verified>>>,
}

/// A token with a verified signature.
struct Verified {
    claims: Claims,
    user: Arc<User>,
    /// Revision of the account when it was last found to match the token.
    account_revision: AtomicU64,
}

/// Result of a successful token authentication.
pub struct AuthenticatedToken {
    /// The user.
    pub user: Arc<User>,
    /// Requested audiences that the token is valid for.
    pub audiences: Vec<String>,
}

/// Errors of token authentication.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TokenError {
    /// The token is of another issuer, so that another authenticator may accept it.
    Unrecognized,
    /// The token names this issuer and is not valid, for the given reason.
    Invalid(String),
}

impl std::fmt::Debug for ServiceAccounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServiceAccounts")
            .field("issuers", &self.issuers)
            .field("keys", &self.keys.len())
            .finish_non_exhaustive()
    }
}

impl Default for AccountSettings {
    fn default() -> Self {
        Self {
            issuers: vec![DEFAULT_ISSUER.to_owned()],
            audiences: Vec::new(),
            signing_key: None,
            keys: Vec::new(),
            lifetime_max: None,
            jwks_uri: None,
        }
    }
}

impl ServiceAccounts {
    /// Loads the keys.
    pub fn load(settings: AccountSettings, own_key: PathBuf) -> Result<Self, AccountError> {
        let no_key = |path: &PathBuf, what| AccountError::NoKey {
            path: path.clone(),
            what,
        };
        let path = &settings.signing_key.unwrap_or(own_key);
        let signing = SigningKey::read(&read_file(path)?);
        let signing = signing.ok_or_else(|| no_key(path, "private key"))?;
        let mut keys = vec![signing.public.clone()];
        for path in &settings.keys {
            let found = PublicKey::read_all(&read_file(path)?);
            if found.is_empty() {
                return Err(no_key(path, "key"));
            }
            keys.extend(found);
        }
        let mut seen = std::collections::BTreeSet::new();
        keys.retain(|key| seen.insert(key.id.clone()));
        let audiences = if settings.audiences.is_empty() {
            settings.issuers.clone()
        } else {
            settings.audiences
        };
        Ok(Self {
            issuers: settings.issuers,
            audiences,
            signing,
            keys,
            lifetime_max: settings.lifetime_max,
            jwks_uri: settings.jwks_uri,
            verified: Mutex::default(),
        })
    }

    /// Audiences of this server.
    pub fn audiences(&self) -> &[String] {
        &self.audiences
    }

    /// Issuer of new tokens.
    pub fn issuer(&self) -> &str {
        self.issuers.first().map_or("", String::as_str)
    }

    /// Longest lifetime of new tokens.
    pub fn lifetime_max(&self) -> Option<Duration> {
        self.lifetime_max
    }

    /// Signs a token; `None` if the signing key cannot, which depends on its size.
    pub fn sign(&self, claims: &Claims) -> Option<String> {
        jws::sign(&self.signing, &claims.write())
    }

    /// Authenticates a token for one of the audiences, or for this server if there are none.
    pub async fn authenticate(
        &self,
        host: &impl Host,
        token: &str,
        audiences: &[String],
        now: Timestamp,
    ) -> Result<AuthenticatedToken, TokenError> {
        let verified = self.verified(token)?;
        let claims = &verified.claims;
        let invalid = |why: &str| TokenError::Invalid(why.to_owned());
        claims.check_time(now.as_second()).map_err(invalid)?;
        let wanted = if audiences.is_empty() {
            &self.audiences
        } else {
            audiences
        };
        let common: Vec<String> = wanted
            .iter()
            .filter(|audience| claims.audiences.contains(audience))
            .cloned()
            .collect();
        if common.is_empty() {
            let (has, wants) = (listed(&claims.audiences), listed(wanted));
            let text = format!("token audiences {has} is invalid for the target audiences {wants}");
            return Err(TokenError::Invalid(text));
        }
        if !verified.objects_exist(host, now) {
            // A token may be used before the watch cache has received the objects that it is bound to.
            let up_to_date = host.caught_up().await;
            if !up_to_date || !verified.objects_exist(host, now) {
                return Err(invalid("service account token has been invalidated"));
            }
        }
        Ok(AuthenticatedToken {
            user: Arc::clone(&verified.user),
            audiences: common,
        })
    }

    fn verified(&self, token: &str) -> Result<Arc<Verified>, TokenError> {
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(known) = self.verified.lock().get(&digest) {
            return Ok(Arc::clone(known));
        }
        let says = jws::peek(token).ok_or(TokenError::Unrecognized)?;
        let issuer = says["iss"].as_str().unwrap_or_default();
        if !self.issuers.iter().any(|own| own == issuer) {
            return Err(TokenError::Unrecognized);
        }
        let payload = jws::verify(&self.keys, token);
        let payload = payload.map_err(|error| TokenError::Invalid(error.to_string()))?;
        let claims = Claims::read(&payload).map_err(|why| TokenError::Invalid(why.to_owned()))?;
        let verified = Arc::new(Verified::of(claims));
        let mut known = self.verified.lock();
        if known.len() >= VERIFIED_MAX {
            known.clear();
        }
        known.insert(digest, Arc::clone(&verified));
        Ok(verified)
    }
}

impl Verified {
    fn of(claims: Claims) -> Self {
        let namespace = &claims.namespace;
        let groups = vec![
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
        ];
        let name = user_name(namespace, &claims.account.name);
        let mut user = User::authenticated(name, claims.account.uid.clone(), groups);
        user.extra = claims.extra();
        Self {
            claims,
            user: Arc::new(user),
            account_revision: AtomicU64::new(NEVER),
        }
    }

    /// True if the account and the bound object exist in the watch cache.
    fn objects_exist(&self, host: &impl Host, now: Timestamp) -> bool {
        let Claims {
            namespace, account, ..
        } = &self.claims;
        let key = format!("{namespace}/{}", account.name);
        let revision = host.cached_revision("serviceaccounts", &key);
        let revision = revision.unwrap_or(NEVER);
        let was_seen = self.account_revision.load(Ordering::Relaxed) == revision;
        if revision == NEVER {
            return false;
        }
        if !was_seen {
            match bound::find(host, "serviceaccounts", &key, &account.uid, now) {
                bound::Found::Gone => return false,
                bound::Found::Terminating => {}
                bound::Found::Present => self.account_revision.store(revision, Ordering::Relaxed),
            }
        }
        bound::exists(host, &self.claims, now)
    }
}

/// Formats texts as Go's `%q` formats a slice.
fn listed(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quote(text)).collect();
    format!("[{}]", quoted.join(" "))
}
