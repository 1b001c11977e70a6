//! Authentication: maps a request to a [`User`] by client certificate, static token, service-account token or OIDC
//! token, or to `system:anonymous`.
//!
//! [`Authentication`] tries the authenticators in turn. [`Credentials`] loads what they rest on from files, creates what
//! is missing and reloads it. [`Host`] is all that it needs from the API server.

pub mod accounts;
mod certificate;
mod credentials;
mod host;
mod impersonation;
pub mod oidc;
mod tokens;
pub mod trust;

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;

pub use certificate::ClientChain;
pub use credentials::{CredentialError, CredentialFiles, Credentials};
pub use host::Host;
pub use impersonation::{Impersonation, ImpersonationError};
pub use lockstep_authz::User;
pub use tokens::{TokenFileError, Tokens};

use crate::accounts::{AuthenticatedToken, ServiceAccounts, TokenError};
use crate::oidc::Oidc;
use crate::trust::ClientTrust;

/// A credential was presented and is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unauthenticated;

/// The authenticators of a server. Trust anchors and tokens can be replaced while the server runs.
#[derive(Debug)]
pub struct Authentication {
    /// Authorities of client certificates.
    pub clients: ArcSwap<ClientTrust>,
    /// Static tokens.
    pub tokens: ArcSwapOption<Tokens>,
    /// Service-account tokens.
    pub accounts: Option<ServiceAccounts>,
    /// Tokens of an OIDC issuer.
    pub oidc: Option<Oidc>,
    /// True if a request without a credential is served as `system:anonymous`.
    pub anonymous: bool,
}

impl Authentication {
    /// Creates an authenticator for client certificates only.
    pub fn new(clients: ClientTrust, anonymous: bool) -> Self {
        Self {
            clients: ArcSwap::from_pointee(clients),
            tokens: ArcSwapOption::empty(),
            accounts: None,
            oidc: None,
            anonymous,
        }
    }

    /// Tries the authenticators in turn and returns the first user. A request with a credential that none accepts is
    /// rejected: only a request without any credential is anonymous.
    pub async fn authenticate(
        &self,
        host: &impl Host,
        chain: &ClientChain,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<Arc<User>, Unauthenticated> {
        let by_certificate = chain.user(&self.clients.load_full(), now);
        if let Ok(Some(user)) = by_certificate {
            return Ok(user);
        }
        let by_token = self.by_token(host, headers, now).await;
        if let Ok(Some(user)) = by_token {
            return Ok(user);
        }
        if by_certificate.is_err() || by_token.is_err() || !self.anonymous {
            return Err(Unauthenticated);
        }
        Ok(User::anonymous())
    }

    async fn by_token(
        &self,
        host: &impl Host,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<Option<Arc<User>>, Unauthenticated> {
        let Some(header) = headers.get(AUTHORIZATION) else {
            return Ok(None);
        };
        let Ok(text) = header.to_str() else {
            return Err(Unauthenticated);
        };
        let Some(token) = bearer(text) else {
            return Ok(None);
        };
        let found = self.user_of_token(host, token, &[], now).await;
        found
            .map(|found| Some(found.user))
            .map_err(|_| Unauthenticated)
    }

    /// Authenticates a bearer token for one of the audiences, or for this server if there are none.
    pub async fn user_of_token(
        &self,
        host: &impl Host,
        token: &str,
        audiences: &[String],
        now: Timestamp,
    ) -> Result<AuthenticatedToken, TokenError> {
        let by_file = self
            .tokens
            .load()
            .as_ref()
            .and_then(|tokens| tokens.user(token));
        if let Some(user) = by_file {
            return self.for_own_audiences(user, audiences);
        }
        let by_account = match &self.accounts {
            Some(accounts) => accounts.authenticate(host, token, audiences, now).await,
            None => Err(TokenError::Unrecognized),
        };
        let (Err(error), Some(oidc)) = (&by_account, &self.oidc) else {
            return by_account;
        };
        match oidc.authenticate(host, token, now).await {
            Ok(user) => self.for_own_audiences(user, audiences),
            Err(TokenError::Unrecognized) => Err(error.clone()),
            Err(invalid) => Err(invalid),
        }
    }

    /// Intersects the requested audiences with the server's, for tokens that carry none of their own.
    fn for_own_audiences(
        &self,
        user: Arc<User>,
        audiences: &[String],
    ) -> Result<AuthenticatedToken, TokenError> {
        let own = self.audiences();
        let is_requested = |own: &&String| audiences.is_empty() || audiences.contains(own);
        let common: Vec<String> = own.iter().filter(is_requested).cloned().collect();
        if common.is_empty() && !own.is_empty() {
            return Err(TokenError::Unrecognized);
        }
        Ok(AuthenticatedToken {
            user,
            audiences: common,
        })
    }

    fn audiences(&self) -> &[String] {
        self.accounts
            .as_ref()
            .map(ServiceAccounts::audiences)
            .unwrap_or_default()
    }
}

/// The token of a `Bearer` authorization header; `None` for other schemes and empty tokens.
fn bearer(text: &str) -> Option<&str> {
    let (scheme, rest) = text.trim().split_once(' ')?;
    let token = rest.split(' ').next().unwrap_or_default();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bearer_scheme_with_a_token_is_a_credential() {
        for (text, expected) in [
            ("Bearer abc", Some("abc")),
            ("bearer abc", Some("abc")),
            ("BEARER abc trailing", Some("abc")),
            ("Bearer", None),
            ("Bearer  abc", None),
            ("Basic YTpi", None),
            ("", None),
        ] {
            assert_eq!(bearer(text), expected, "{text:?}");
        }
    }
}
