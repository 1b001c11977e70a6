//! Who is asking: client certificates, static tokens, or nobody in particular.

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

use crate::trust::ClientTrust;

/// Whom tokens are for that are good here.
pub(crate) const API_AUDIENCE: &str = "https://kubernetes.default.svc.cluster.local";

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
    /// Whether a request without a credential is served at all.
    pub anonymous: bool,
}

impl Authentication {
    /// Certificates only, and anonymous requests.
    pub fn new(clients: ClientTrust, anonymous: bool) -> Self {
        Self {
            clients: ArcSwap::from_pointee(clients),
            tokens: ArcSwapOption::empty(),
            anonymous,
        }
    }

    /// Tries each way in turn: the first that succeeds counts. If one was tried and none succeeded,
    /// the request is refused; anonymous is only who presented nothing.
    pub(crate) fn authenticate(
        &self,
        chain: &ClientChain,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<Arc<User>, Unauthenticated> {
        let by_certificate = chain.user(&self.clients.load_full(), now);
        if let Ok(Some(user)) = by_certificate {
            return Ok(user);
        }
        let by_token = self.by_token(headers);
        if let Ok(Some(user)) = by_token {
            return Ok(user);
        }
        if by_certificate.is_err() || by_token.is_err() || !self.anonymous {
            return Err(Unauthenticated);
        }
        Ok(User::anonymous())
    }

    fn by_token(&self, headers: &HeaderMap) -> Result<Option<Arc<User>>, Unauthenticated> {
        let Some(header) = headers.get(AUTHORIZATION) else {
            return Ok(None);
        };
        let Ok(text) = header.to_str() else {
            return Err(Unauthenticated);
        };
        let Some(token) = bearer(text) else {
            return Ok(None);
        };
        let user = self.user_of_token(token);
        user.map(Some).ok_or(Unauthenticated)
    }

    /// Whose token this is; none if nobody's.
    pub(crate) fn user_of_token(&self, token: &str) -> Option<Arc<User>> {
        let tokens = self.tokens.load();
        tokens.as_ref().and_then(|tokens| tokens.user(token))
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
