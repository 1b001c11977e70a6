//! Settings of the flags `--oidc-…` and their validation.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ECDSA_P521_SHA512_FIXED,
    EcdsaVerificationAlgorithm, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384,
    RSA_PSS_2048_8192_SHA512, RsaParameters,
};
use http::Uri;

use crate::trust::{FileError, read_file};

/// Shortest time between fetches of the keys: tokens with made-up key ids must not flood the issuer.
pub const ASK_INTERVAL: Duration = Duration::from_secs(10);

/// An OIDC issuer and the mapping of its claims.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OidcSettings {
    /// URL of the issuer, equal to the `iss` claim.
    pub issuer: String,
    /// Client id that tokens must have as audience.
    pub client_id: String,
    /// Authorities of its certificate; by default the trust store of the system.
    pub ca_file: Option<PathBuf>,
    /// Claim with the user name.
    pub username_claim: String,
    /// Prefix of the user name; `-` disables it, `None` derives it from the issuer.
    pub username_prefix: Option<String>,
    /// Claim with the groups.
    pub groups_claim: Option<String>,
    /// Prefix of each group.
    pub groups_prefix: String,
    /// Required claims.
    pub required_claims: BTreeMap<String, String>,
    /// Accepted signature algorithms.
    pub algorithms: Vec<SigningAlgorithm>,
    /// Shortest time between fetches of the keys.
    pub ask_interval: Duration,
}

/// Errors of the settings.
#[derive(Debug, thiserror::Error)]
pub enum OidcError {
    /// The address of the issuer.
    #[error("`--oidc-issuer-url {url}`: {why}")]
    Issuer {
        /// The address.
        url: String,
        /// The problem.
        why: &'static str,
    },
    /// The claim of the name.
    #[error("`--oidc-username-claim` must not be empty")]
    NoUsernameClaim,
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// It does not hold a certificate.
    #[error("`{}` holds no certificate in PEM form", .0.display())]
    NoCertificate(PathBuf),
}

/// Signature algorithms of RFC 7518.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "these are the names of RFC 7518")]
pub enum SigningAlgorithm {
    Rs256,
    Rs384,
    Rs512,
    Es256,
    Es384,
    Es512,
    Ps256,
    Ps384,
    Ps512,
}

/// Type of key and parameters of an algorithm.
pub(super) enum Verification {
    Rsa(&'static RsaParameters),
    /// On the curve with this name.
    Ec(&'static str, &'static EcdsaVerificationAlgorithm),
}

impl SigningAlgorithm {
    const ALL: [Self; 9] = [
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Es256,
        Self::Es384,
        Self::Es512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Es512 => "ES512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
        }
    }

    pub(super) fn verification(self) -> Verification {
        match self {
            Self::Rs256 => Verification::Rsa(&RSA_PKCS1_2048_8192_SHA256),
            Self::Rs384 => Verification::Rsa(&RSA_PKCS1_2048_8192_SHA384),
            Self::Rs512 => Verification::Rsa(&RSA_PKCS1_2048_8192_SHA512),
            Self::Ps256 => Verification::Rsa(&RSA_PSS_2048_8192_SHA256),
            Self::Ps384 => Verification::Rsa(&RSA_PSS_2048_8192_SHA384),
            Self::Ps512 => Verification::Rsa(&RSA_PSS_2048_8192_SHA512),
            Self::Es256 => Verification::Ec("P-256", &ECDSA_P256_SHA256_FIXED),
            Self::Es384 => Verification::Ec("P-384", &ECDSA_P384_SHA384_FIXED),
            Self::Es512 => Verification::Ec("P-521", &ECDSA_P521_SHA512_FIXED),
        }
    }
}

impl FromStr for SigningAlgorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|known| known.name() == text);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            format!("unsupported signing alg: {text:?}; known are {known}")
        })
    }
}

impl OidcSettings {
    /// Validates the settings. `others` are issuers that are accepted already.
    pub fn check(&self, others: &[String]) -> Result<(), OidcError> {
        let wrong = |why| {
            Err(OidcError::Issuer {
                url: self.issuer.clone(),
                why,
            })
        };
        let Ok(url) = self.issuer.parse::<Uri>() else {
            return wrong("it is not an address");
        };
        if url.scheme_str() != Some("https") {
            return wrong("URL scheme must be https");
        }
        let authority = url.authority().map(http::uri::Authority::as_str);
        if authority.is_none_or(|authority| authority.contains('@')) {
            return wrong("URL must not contain a username or password");
        }
        if self.issuer.contains('?') {
            return wrong("URL must not contain a query");
        }
        if self.issuer.contains('#') {
            return wrong("URL must not contain a fragment");
        }
        if others.contains(&self.issuer) {
            return wrong(
                "URL must not overlap with disallowed issuers: it issues tokens of service accounts",
            );
        }
        if self.username_claim.is_empty() {
            return Err(OidcError::NoUsernameClaim);
        }
        Ok(())
    }

    /// The authorities of the issuer, in PEM; empty if they are those of the system.
    pub(super) fn authorities(&self) -> Result<Vec<u8>, OidcError> {
        let Some(path) = &self.ca_file else {
            return Ok(Vec::new());
        };
        let pem = read_file(path)?;
        let text = String::from_utf8_lossy(&pem);
        if !text.contains("-----BEGIN CERTIFICATE-----") {
            return Err(OidcError::NoCertificate(path.clone()));
        }
        Ok(pem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// api-machinery.md §13/oidc: invalid flags are reported at the start.
    #[test]
    fn an_issuer_is_an_https_address_that_is_nobody_elses() {
        let check = |issuer: &str| {
            let settings = OidcSettings {
                issuer: issuer.to_owned(),
                client_id: "c".to_owned(),
                ca_file: None,
                username_claim: "sub".to_owned(),
                username_prefix: None,
                groups_claim: None,
                groups_prefix: String::new(),
                required_claims: BTreeMap::new(),
                algorithms: vec![SigningAlgorithm::Rs256],
                ask_interval: ASK_INTERVAL,
            };
            let checked = settings.check(&["https://accounts".to_owned()]);
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(check("https://i.ex.io:8443/realms/a/"), Ok(()));
        for (issuer, why) in [
            ("http://i.ex.io", "URL scheme must be https"),
            ("i.ex.io", "URL scheme must be https"),
            ("https://", "it is not an address"),
            (
                "https://a:b@i.ex.io",
                "URL must not contain a username or password",
            ),
            ("https://i.ex.io?a=b", "URL must not contain a query"),
            ("https://i.ex.io/#a", "URL must not contain a fragment"),
            (
                "https://accounts",
                "URL must not overlap with disallowed issuers: it issues tokens of service accounts",
            ),
        ] {
            let told = format!("`--oidc-issuer-url {issuer}`: {why}");
            assert_eq!(check(issuer), Err(told));
        }
    }

    #[test]
    fn ways_to_sign_are_known_by_name() {
        assert_eq!("PS384".parse(), Ok(SigningAlgorithm::Ps384));
        let told = "unsupported signing alg: \"HS256\"; known are RS256, RS384, RS512, ES256, ES384, ES512, PS256, PS384, PS512";
        assert_eq!("HS256".parse::<SigningAlgorithm>(), Err(told.to_owned()));
    }
}
