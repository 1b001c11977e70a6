//! Who is asking: client certificates, static tokens, tokens of service accounts or of an issuer
//! elsewhere, or nobody in particular.

mod certificate;
mod impersonation;
mod tokens;
mod user;

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;

pub use certificate::ClientChain;
pub use impersonation::{Impersonation, ImpersonationError};
pub use tokens::{TokenFileError, Tokens};
pub use user::User;

use crate::accounts::{Doubt, Judged, ServiceAccounts};
use crate::oidc::{self, Oidc};
use crate::resources::Api;
use crate::trust::ClientTrust;

/// A credential was presented and is not good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unauthenticated;

/// The ways to say who one is. What they rest on may be exchanged while the server runs.
#[derive(Debug)]
pub struct Authentication {
    /// Whose client certificates count.
    pub clients: ArcSwap<ClientTrust>,
    /// Static tokens.
    pub tokens: ArcSwapOption<Tokens>,
    /// Tokens of service accounts.
    pub accounts: Option<ServiceAccounts>,
    /// Users of an issuer elsewhere.
    pub oidc: Option<Oidc>,
    /// Whether a request without a credential is served at all.
    pub anonymous: bool,
}

impl Authentication {
    /// Certificates only, and anonymous requests.
    pub fn new(clients: ClientTrust, anonymous: bool) -> Self {
        Self {
            clients: ArcSwap::from_pointee(clients),
            tokens: ArcSwapOption::empty(),
            accounts: None,
            oidc: None,
            anonymous,
        }
    }

    /// Tries each way in turn: the first that succeeds counts. If one was tried and none succeeded,
    /// the request is refused; anonymous is only who presented nothing.
    pub(crate) async fn authenticate(
        &self,
        api: &Api,
        chain: &ClientChain,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<Arc<User>, Unauthenticated> {
        let by_certificate = chain.user(&self.clients.load_full(), now);
        if let Ok(Some(user)) = by_certificate {
            return Ok(user);
        }
        let by_token = self.by_token(api, headers, now).await;
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
        api: &Api,
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
        let found = self.user_of_token(api, token, &[], now).await;
        found
            .map(|found| Some(found.user))
            .map_err(|_| Unauthenticated)
    }

    /// Whose token this is, for one of these audiences or else for this server. The error is why
    /// it is nobody's.
    pub(crate) async fn user_of_token(
        &self,
        api: &Api,
        token: &str,
        audiences: &[String],
        now: Timestamp,
    ) -> Result<Judged, Doubt> {
        let by_file = self
            .tokens
            .load()
            .as_ref()
            .and_then(|tokens| tokens.user(token));
        if let Some(user) = by_file {
            return self.for_anybody(user, audiences);
        }
        let by_account = match &self.accounts {
            Some(accounts) => accounts.judge(api, token, audiences, now).await,
            None => Err(Doubt::NotOurs),
        };
        let (Err(doubt), Some(oidc)) = (&by_account, &self.oidc) else {
            return by_account;
        };
        let seconds = &api.meters().token_seconds;
        match oidc.judge(token, now, seconds).await {
            Ok(user) => self.for_anybody(user, audiences),
            Err(oidc::Doubt::NotTheirs) => Err(doubt.clone()),
            Err(oidc::Doubt::Bad(why)) => Err(Doubt::Bad(why)),
        }
    }

    /// A user whose token does not say for whom of this server's names it is: for all of them.
    fn for_anybody(&self, user: Arc<User>, audiences: &[String]) -> Result<Judged, Doubt> {
        let own = self.audiences();
        let is_meant = |own: &&String| audiences.is_empty() || audiences.contains(own);
        let common: Vec<String> = own.iter().filter(is_meant).cloned().collect();
        if common.is_empty() && !own.is_empty() {
            return Err(Doubt::NotOurs);
        }
        Ok(Judged {
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

/// The token in an `Authorization` header; other schemes and empty tokens are none.
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
