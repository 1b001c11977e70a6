//! Mapping of claims to a user.

use std::collections::BTreeMap;

use lockstep_object::Value;

use super::OidcSettings;
use crate::User;

/// Tolerated clock skew for `nbf`.
const NOT_BEFORE_LEEWAY_SECONDS: i64 = 60;
/// Google issues tokens under an older issuer name without scheme.
const GOOGLE: (&str, &str) = ("accounts.google.com", "https://accounts.google.com");

/// Mapping of claims.
pub(super) struct Mapping {
    pub(super) issuer: String,
    client_id: String,
    username_claim: String,
    username_prefix: String,
    groups_claim: Option<String>,
    groups_prefix: String,
    required_claims: BTreeMap<String, String>,
}

/// The unverified issuer of a token.
pub(super) fn issuer(payload: &Value) -> Option<String> {
    let issuer = payload["iss"].as_str()?;
    let (old, new) = GOOGLE;
    Some(if issuer == old { new } else { issuer }.to_owned())
}

impl Mapping {
    pub(super) fn of(settings: OidcSettings) -> Self {
        let username_prefix = match settings.username_prefix.as_deref() {
            Some("-") => String::new(),
            // Email addresses cannot collide with other user names and need no prefix.
            None | Some("") if settings.username_claim == "email" => String::new(),
            None | Some("") => format!("{}#", settings.issuer),
            Some(prefix) => prefix.to_owned(),
        };
        Self {
            issuer: settings.issuer,
            client_id: settings.client_id,
            username_claim: settings.username_claim,
            username_prefix,
            groups_claim: settings.groups_claim.filter(|claim| !claim.is_empty()),
            groups_prefix: settings.groups_prefix,
            required_claims: settings.required_claims,
        }
    }

    /// Maps a verified token to its user.
    pub(super) fn user(&self, payload: &Value, now: i64) -> Result<User, String> {
        self.check(payload, now)?;
        let name = self.name(payload)?;
        let groups = self.groups(payload)?;
        for (claim, wanted) in &self.required_claims {
            match &payload[claim] {
                Value::Null => {
                    return Err(format!(
                        "oidc: required claim {claim} not present in ID token"
                    ));
                }
                Value::String(value) if value == wanted => {}
                Value::String(value) => {
                    return Err(format!(
                        "oidc: required claim {claim} value does not match. Got = {value}, want = {wanted}"
                    ));
                }
                _ => return Err(format!("oidc: parse claim {claim}: it is not a string")),
            }
        }
        let mut user = User::authenticated(name, String::new(), groups);
        if let Some(id) = payload["jti"].as_str().filter(|id| !id.is_empty()) {
            let key = "authentication.kubernetes.io/credential-id".to_owned();
            user.extra.insert(key, vec![format!("JTI={id}")]);
        }
        Ok(user)
    }

    /// Checks issuer, audience and validity period.
    fn check(&self, payload: &Value, now: i64) -> Result<(), String> {
        let wrong = |why: String| Err(format!("oidc: verify token: {why}"));
        if issuer(payload).as_ref() != Some(&self.issuer) {
            return wrong("id token issued by a different provider".to_owned());
        }
        let Some(audiences) = texts(&payload["aud"]) else {
            return wrong("the audience is neither a string nor a list of strings".to_owned());
        };
        if !audiences.contains(&self.client_id) {
            return wrong(format!(
                "expected audience {:?} got {audiences:?}",
                self.client_id
            ));
        }
        let Some(expires) = seconds(&payload["exp"]) else {
            return wrong("the token has no expiry".to_owned());
        };
        if expires < now {
            return wrong("token is expired".to_owned());
        }
        let not_before = seconds(&payload["nbf"]).unwrap_or(i64::MIN);
        if now.saturating_add(NOT_BEFORE_LEEWAY_SECONDS) < not_before {
            return wrong("current time before the nbf (not before) time".to_owned());
        }
        Ok(())
    }

    fn name(&self, payload: &Value) -> Result<String, String> {
        let claim = &self.username_claim;
        let name = payload[claim].as_str().unwrap_or_default();
        if name.is_empty() {
            return Err(format!(
                "oidc: parse username claims {claim:?}: claim not present"
            ));
        }
        if claim == "email" {
            match &payload["email_verified"] {
                Value::Null | Value::Bool(true) => {}
                Value::Bool(false) => return Err("oidc: email not verified".to_owned()),
                _ => return Err("oidc: parse 'email_verified' claim".to_owned()),
            }
        }
        Ok(format!("{}{name}", self.username_prefix))
    }

    fn groups(&self, payload: &Value) -> Result<Vec<String>, String> {
        let Some(claim) = &self.groups_claim else {
            return Ok(Vec::new());
        };
        // Distributed groups would have to be fetched; ignoring them would silently drop memberships.
        let is_elsewhere = !payload["_claim_names"][claim].is_null();
        if payload[claim].is_null() && is_elsewhere {
            return Err(format!(
                "oidc: could not expand distributed claims: {claim:?} is not in the token"
            ));
        }
        if payload[claim].is_null() {
            return Ok(Vec::new());
        }
        let groups = texts(&payload[claim]).ok_or_else(|| {
            format!("oidc: parse groups claim {claim:?}: neither a string nor a list of strings")
        })?;
        let prefix = &self.groups_prefix;
        let groups = groups.into_iter().map(|group| format!("{prefix}{group}"));
        Ok(groups.collect())
    }
}

/// A string or a list of strings.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect(),
        _ => None,
    }
}

/// A time, which may have a fraction.
fn seconds(value: &Value) -> Option<i64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "what is beyond all times is beyond all times when it is cut, too"
    )]
    let whole = |fraction: f64| fraction.floor() as i64;
    value.as_i64().or_else(|| value.as_f64().map(whole))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings() -> OidcSettings {
        OidcSettings {
            issuer: "https://i".to_owned(),
            client_id: "c".to_owned(),
            ca_file: None,
            username_claim: "sub".to_owned(),
            username_prefix: None,
            groups_claim: Some("groups".to_owned()),
            groups_prefix: "oidc:".to_owned(),
            required_claims: BTreeMap::new(),
            algorithms: Vec::new(),
            ask_interval: super::super::ASK_INTERVAL,
        }
    }

    fn told(settings: OidcSettings, payload: &Value) -> Result<(String, Vec<String>), String> {
        let user = Mapping::of(settings).user(payload, 1000)?;
        Ok((user.name, user.groups))
    }

    fn changed(with: &Value) -> Value {
        let mut payload = json!({ "iss": "https://i", "aud": "c", "exp": 1000, "sub": "alice" });
        for (name, value) in with.as_object().expect("a map") {
            payload[name] = value.clone();
        }
        payload
    }

    /// api-machinery.md §13/oidc: who a token is for, and when.
    #[test]
    fn a_token_counts_for_its_audience_and_its_time() {
        let groups = vec!["system:authenticated".to_owned()];
        let alice = Ok(("https://i#alice".to_owned(), groups));
        let wrong = |why: &str| Err(format!("oidc: verify token: {why}"));
        for (with, expected) in [
            (json!({}), alice.clone()),
            (json!({ "aud": ["x", "c"] }), alice.clone()),
            (json!({ "exp": 1000.9, "nbf": 1060 }), alice.clone()),
            (json!({ "exp": 999 }), wrong("token is expired")),
            (json!({ "exp": null }), wrong("the token has no expiry")),
            (json!({ "exp": "9999" }), wrong("the token has no expiry")),
            (
                json!({ "nbf": 1061 }),
                wrong("current time before the nbf (not before) time"),
            ),
            (
                json!({ "aud": "x" }),
                wrong("expected audience \"c\" got [\"x\"]"),
            ),
            (
                json!({ "aud": null }),
                wrong("the audience is neither a string nor a list of strings"),
            ),
            (
                json!({ "iss": "https://j" }),
                wrong("id token issued by a different provider"),
            ),
        ] {
            assert_eq!(told(settings(), &changed(&with)), expected, "{with}");
        }
    }

    /// api-machinery.md §13/oidc: prefixes, and addresses that are not verified.
    #[test]
    fn names_have_the_prefix_that_is_asked_for() {
        let named = |claim: &str, prefix: Option<&str>, with: Value| {
            let settings = OidcSettings {
                username_claim: claim.to_owned(),
                username_prefix: prefix.map(str::to_owned),
                ..settings()
            };
            told(settings, &changed(&with)).map(|(name, _)| name)
        };
        let ok = |name: &str| Ok(name.to_owned());
        let mail = |verified: Value| json!({ "email": "a@b", "email_verified": verified });
        assert_eq!(named("sub", Some("-"), json!({})), ok("alice"));
        assert_eq!(named("sub", Some("p:"), json!({})), ok("p:alice"));
        assert_eq!(named("sub", Some(""), json!({})), ok("https://i#alice"));
        assert_eq!(named("email", None, mail(Value::Null)), ok("a@b"));
        assert_eq!(named("email", Some("p:"), mail(true.into())), ok("p:a@b"));
        let unverified = Err("oidc: email not verified".to_owned());
        assert_eq!(named("email", None, mail(false.into())), unverified);
        let odd = Err("oidc: parse 'email_verified' claim".to_owned());
        assert_eq!(named("email", None, mail("yes".into())), odd);
        let missing = Err("oidc: parse username claims \"upn\": claim not present".to_owned());
        assert_eq!(named("upn", None, json!({})), missing);
    }

    /// api-machinery.md §13/oidc: groups, and what a token has to say.
    #[test]
    fn groups_are_one_or_several_and_required_claims_are_required() {
        let groups = |with: Value| told(settings(), &changed(&with)).map(|(_, groups)| groups);
        let ok = |groups: &[&str]| {
            let own = groups.iter().map(|group| (*group).to_owned());
            Ok(own.chain(["system:authenticated".to_owned()]).collect())
        };
        assert_eq!(groups(json!({ "groups": "a" })), ok(&["oidc:a"]));
        let two = json!({ "groups": ["a", "b"] });
        assert_eq!(groups(two), ok(&["oidc:a", "oidc:b"]));
        assert_eq!(groups(json!({ "groups": null })), ok(&[]));
        let wrong = "oidc: parse groups claim \"groups\": neither a string nor a list of strings";
        assert_eq!(groups(json!({ "groups": [1] })), Err(wrong.to_owned()));
        let elsewhere = "oidc: could not expand distributed claims: \"groups\" is not in the token";
        let names = json!({ "_claim_names": { "groups": "src" } });
        assert_eq!(groups(names), Err(elsewhere.to_owned()));

        let required = |with: Value| {
            let settings = OidcSettings {
                required_claims: [("hd".to_owned(), "ex.io".to_owned())].into(),
                ..settings()
            };
            told(settings, &changed(&with)).map(|(name, _)| name)
        };
        let alice = Ok("https://i#alice".to_owned());
        assert_eq!(required(json!({ "hd": "ex.io" })), alice);
        let missing = "oidc: required claim hd not present in ID token";
        assert_eq!(required(json!({})), Err(missing.to_owned()));
        let other = "oidc: required claim hd value does not match. Got = x, want = ex.io";
        assert_eq!(required(json!({ "hd": "x" })), Err(other.to_owned()));
        let odd = "oidc: parse claim hd: it is not a string";
        assert_eq!(required(json!({ "hd": ["ex.io"] })), Err(odd.to_owned()));
    }
}
