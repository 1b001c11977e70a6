//! Service accounts as users: tokens are issued to them, and believed as long as the account is there,
//! and what the token is bound to. What was signed is checked once a token; what it depends on, each
//! time.

mod bound;
mod claims;
mod documents;
pub(crate) mod jws;
pub(crate) mod keys;
mod token;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use lockstep_object::go::quote;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::authn::User;
use crate::resources::Api;
use crate::trust::{FileError, read_file};

use claims::Claims;
use keys::{PublicKey, SigningKey};

pub(crate) use claims::user_name;
pub(crate) use token::create;

/// Whom tokens are issued by, if nobody says otherwise.
pub const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
/// How many tokens are remembered as well signed.
const VERIFIED_MAX: usize = 10_000;
/// No revision of an object.
const NEVER: u64 = 0;

/// How tokens of service accounts are issued and believed.
#[derive(Clone, Debug)]
pub struct AccountSettings {
    /// Who issues tokens; the first does, the others did.
    pub issuers: Vec<String>,
    /// Whom tokens are for that are good here; the issuers if there are none.
    pub audiences: Vec<String>,
    /// Signs tokens; the server's own key does if none is given.
    pub signing_key: Option<PathBuf>,
    /// Tell whether tokens were signed; the signing key does in any case.
    pub keys: Vec<PathBuf>,
    /// The longest life of a token.
    pub lifetime_max: Option<Duration>,
    /// Where the keys are told to be, if not at this server.
    pub jwks_uri: Option<String>,
}

/// Why tokens cannot be issued.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// It does not hold a key.
    #[error("`{}` holds no {what} of RSA (2048 bits or more) or of the curves P-256, P-384 and P-521 in PEM form", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
        /// Which kind of key.
        what: &'static str,
    },
}

/// Issues tokens of service accounts, and tells whose they are.
pub struct ServiceAccounts {
    issuers: Vec<String>,
    audiences: Vec<String>,
    signing: SigningKey,
    keys: Vec<PublicKey>,
    lifetime_max: Option<Duration>,
    jwks_uri: Option<String>,
    verified: Mutex<HashMap<[u8; 32], Arc<Verified>>>,
}

/// A token whose signature was found good.
struct Verified {
    claims: Claims,
    user: Arc<User>,
    /// The revision of the account that was looked at last and found to be the one.
    account_revision: AtomicU64,
}

/// Whose token it is, and for whom of those who asked.
pub(crate) struct Judged {
    pub(crate) user: Arc<User>,
    pub(crate) audiences: Vec<String>,
}

/// Why nobody is behind a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Doubt {
    /// It is not a token of a service account; others may know it.
    NotOurs,
    /// It is one, or says so, and is not good.
    Bad(String),
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
    /// Reads the keys.
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

    /// Whom tokens are for that are good here.
    pub(crate) fn audiences(&self) -> &[String] {
        &self.audiences
    }

    /// Whose token this is, for one of these audiences or else for this server.
    pub(crate) async fn judge(
        &self,
        api: &Api,
        token: &str,
        audiences: &[String],
        now: Timestamp,
    ) -> Result<Judged, Doubt> {
        let verified = self.verified(token)?;
        let claims = &verified.claims;
        let bad = |why: &str| Doubt::Bad(why.to_owned());
        claims.check_time(now.as_second()).map_err(bad)?;
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
            return Err(Doubt::Bad(text));
        }
        if !verified.holds(api, now) {
            // What is not there may be news that has not arrived.
            let up_to_date = api.cache().caught_up().await.is_ok();
            if !up_to_date || !verified.holds(api, now) {
                return Err(bad("service account token has been invalidated"));
            }
        }
        Ok(Judged {
            user: Arc::clone(&verified.user),
            audiences: common,
        })
    }

    fn verified(&self, token: &str) -> Result<Arc<Verified>, Doubt> {
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(known) = self.verified.lock().get(&digest) {
            return Ok(Arc::clone(known));
        }
        let says = jws::peek(token).ok_or(Doubt::NotOurs)?;
        let issuer = says["iss"].as_str().unwrap_or_default();
        if !self.issuers.iter().any(|own| own == issuer) {
            return Err(Doubt::NotOurs);
        }
        let payload = jws::verify(&self.keys, token);
        let payload = payload.map_err(|error| Doubt::Bad(error.to_string()))?;
        let claims = Claims::read(&payload).map_err(|why| Doubt::Bad(why.to_owned()))?;
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

    /// Whether the account is there, and what the token is bound to, as far as this server knows.
    fn holds(&self, api: &Api, now: Timestamp) -> bool {
        let Claims {
            namespace, account, ..
        } = &self.claims;
        let key = format!("{namespace}/{}", account.name);
        let revision = api.cached_revision("", "serviceaccounts", &key);
        let revision = revision.map_or(NEVER, |revision| revision.0);
        let was_seen = self.account_revision.load(Ordering::Relaxed) == revision;
        if revision == NEVER {
            return false;
        }
        if !was_seen {
            match bound::look(api, "serviceaccounts", &key, &account.uid, now) {
                bound::Found::Gone => return false,
                bound::Found::Leaving => {}
                bound::Found::There => self.account_revision.store(revision, Ordering::Relaxed),
            }
        }
        bound::holds(api, &self.claims, now)
    }
}

/// Texts as Go prints a list of them.
fn listed(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quote(text)).collect();
    format!("[{}]", quoted.join(" "))
}
