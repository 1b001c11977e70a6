//! The flags of the issuer (OIDC) whose users may log in.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lockstep_apiserver::oidc::{ASK_INTERVAL, OidcError, OidcSettings, SigningAlgorithm};

use crate::failure::{Exit, Failure};

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_field_names, reason = "fields are named as their flags")]
pub(crate) struct OidcFlags {
    /// HTTPS URL of the OIDC issuer whose ID tokens are accepted
    #[arg(long, value_name = "URL")]
    oidc_issuer_url: Option<String>,
    /// Client ID, which must be an audience of ID tokens
    #[arg(long, value_name = "ID")]
    oidc_client_id: Option<String>,
    /// PEM bundle of authorities for the issuer's certificate; the system's when not given
    #[arg(long, value_name = "FILE")]
    oidc_ca_file: Option<PathBuf>,
    /// Claim with the user name; `sub` when not given
    #[arg(long, value_name = "CLAIM")]
    oidc_username_claim: Option<String>,
    /// Prefix of user names, `-` for none; when not given, the issuer and `#`, but nothing before an `email`
    #[arg(long, value_name = "PREFIX", allow_hyphen_values = true)]
    oidc_username_prefix: Option<String>,
    /// Claim with the groups: a string or a list of strings
    #[arg(long, value_name = "CLAIM")]
    oidc_groups_claim: Option<String>,
    /// Prefix of each group
    #[arg(long, value_name = "PREFIX", allow_hyphen_values = true)]
    oidc_groups_prefix: Option<String>,
    /// Required claim of ID tokens, as `claim=value`; may be repeated
    #[arg(long, value_name = "CLAIM=VALUE", value_parser = claim)]
    oidc_required_claim: Vec<(String, String)>,
    /// Accepted signature algorithms: RS, ES or PS with 256, 384 or 512; `RS256` when not given
    #[arg(long, value_name = "ALGORITHMS", value_delimiter = ',')]
    oidc_signing_algs: Vec<SigningAlgorithm>,
}

impl OidcFlags {
    /// The issuer, if there is one. `others` are issuers whose tokens are believed already.
    pub(super) fn settings(&self, others: &[String]) -> Result<Option<OidcSettings>, Failure> {
        let given = |flag: &Option<String>| flag.clone().filter(|text| !text.is_empty());
        let issuer = given(&self.oidc_issuer_url).zip(given(&self.oidc_client_id));
        let Some((issuer, client_id)) = issuer else {
            return if self.is_any_given() {
                let text = "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set";
                Err(Failure::of_server(Exit::ServerFlags, text))
            } else {
                Ok(None)
            };
        };
        let algorithms = match self.oidc_signing_algs.as_slice() {
            [] => vec![SigningAlgorithm::Rs256],
            given => given.to_vec(),
        };
        let username_claim = self.oidc_username_claim.clone();
        let settings = OidcSettings {
            issuer,
            client_id,
            ca_file: self.oidc_ca_file.clone(),
            username_claim: username_claim.unwrap_or_else(|| "sub".to_owned()),
            username_prefix: self.oidc_username_prefix.clone(),
            groups_claim: given(&self.oidc_groups_claim),
            groups_prefix: self.oidc_groups_prefix.clone().unwrap_or_default(),
            required_claims: self.required_claims(),
            algorithms,
            ask_interval: ASK_INTERVAL,
        };
        let wrong = |error: OidcError| Failure::of_server(Exit::ServerFlags, error.to_string());
        settings.check(others).map_err(wrong)?;
        Ok(Some(settings))
    }

    /// Of several values of a claim, the last counts.
    fn required_claims(&self) -> BTreeMap<String, String> {
        self.oidc_required_claim.iter().cloned().collect()
    }

    fn is_any_given(&self) -> bool {
        let texts = [
            &self.oidc_issuer_url,
            &self.oidc_client_id,
            &self.oidc_username_claim,
            &self.oidc_username_prefix,
            &self.oidc_groups_claim,
            &self.oidc_groups_prefix,
        ];
        texts.iter().any(|flag| flag.is_some())
            || self.oidc_ca_file.is_some()
            || !self.oidc_required_claim.is_empty()
            || !self.oidc_signing_algs.is_empty()
    }
}

fn claim(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = parts.ok_or("expected `claim=value`")?;
    Ok((name.to_owned(), value.to_owned()))
}
