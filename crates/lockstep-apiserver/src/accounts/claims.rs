//! What a token of a service account says.

use std::collections::BTreeMap;

use lockstep_object::Value;
use serde_json::json;

/// Before the names of users that are service accounts.
const USER_PREFIX: &str = "system:serviceaccount:";
/// The claim that holds what only Kubernetes asks.
const PRIVATE: &str = "kubernetes.io";
/// How far clocks of servers may be apart.
const LEEWAY_SECONDS: i64 = 60;

/// An object by its name, and which of those that had the name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reference {
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// What a token is bound to: it ends with that object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Bound {
    Pod(Reference, Option<Reference>),
    Node(Reference),
    Secret(Reference),
}

/// The claims of a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Claims {
    pub(crate) id: String,
    pub(crate) issuer: String,
    pub(crate) audiences: Vec<String>,
    pub(crate) issued: i64,
    pub(crate) not_before: i64,
    pub(crate) expires: i64,
    pub(crate) namespace: String,
    pub(crate) account: Reference,
    pub(crate) bound: Option<Bound>,
}

/// The user that a service account is.
pub(crate) fn user_name(namespace: &str, name: &str) -> String {
    format!("{USER_PREFIX}{namespace}:{name}")
}

impl Claims {
    pub(crate) fn write(&self) -> Value {
        let reference = |to: &Reference| json!({ "name": to.name, "uid": to.uid });
        let mut private = json!({
            "namespace": self.namespace,
            "serviceaccount": reference(&self.account),
        });
        match &self.bound {
            None => {}
            Some(Bound::Pod(pod, node)) => {
                private["pod"] = reference(pod);
                if let Some(node) = node {
                    private["node"] = reference(node);
                }
            }
            Some(Bound::Node(node)) => private["node"] = reference(node),
            Some(Bound::Secret(secret)) => private["secret"] = reference(secret),
        }
        json!({
            "aud": self.audiences,
            "exp": self.expires,
            "iat": self.issued,
            "iss": self.issuer,
            "jti": self.id,
            PRIVATE: private,
            "nbf": self.not_before,
            "sub": user_name(&self.namespace, &self.account.name),
        })
    }

    /// Reads the payload of a token; the error is why it is none of ours.
    pub(crate) fn read(payload: &Value) -> Result<Self, &'static str> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let reference = |value: &Value| {
            value.is_object().then(|| Reference {
                name: text(&value["name"]),
                uid: text(&value["uid"]),
            })
        };
        let seconds = |name: &str| payload[name].as_i64();
        let audiences = match &payload["aud"] {
            Value::String(one) => vec![one.clone()],
            Value::Array(several) => several.iter().map(text).collect(),
            _ => Vec::new(),
        };
        let private = &payload[PRIVATE];
        let account = reference(&private["serviceaccount"]);
        let account = account.ok_or("the token names no service account")?;
        let namespace = text(&private["namespace"]);
        if payload["sub"] != user_name(&namespace, &account.name).as_str() {
            return Err("the subject of the token is not its service account");
        }
        let node = reference(&private["node"]);
        let bound = match (reference(&private["pod"]), reference(&private["secret"])) {
            (Some(pod), _) => Some(Bound::Pod(pod, node)),
            (None, Some(secret)) => Some(Bound::Secret(secret)),
            (None, None) => node.map(Bound::Node),
        };
        Ok(Self {
            id: text(&payload["jti"]),
            issuer: text(&payload["iss"]),
            audiences,
            issued: seconds("iat").unwrap_or_default(),
            not_before: seconds("nbf").unwrap_or_default(),
            expires: seconds("exp").ok_or("the token has no end")?,
            namespace,
            account,
            bound,
        })
    }

    /// Whether the token counts at a time.
    pub(crate) fn check_time(&self, now: i64) -> Result<(), &'static str> {
        if now.saturating_add(LEEWAY_SECONDS) < self.not_before {
            return Err("service account token is not valid yet");
        }
        if now.saturating_sub(LEEWAY_SECONDS) > self.expires {
            return Err("service account token has expired");
        }
        Ok(())
    }

    /// What else is known of the user.
    pub(crate) fn extra(&self) -> BTreeMap<String, Vec<String>> {
        let mut extra = BTreeMap::new();
        let mut add = |name: &str, value: &str| {
            let name = format!("authentication.kubernetes.io/{name}");
            extra.insert(name, vec![value.to_owned()]);
        };
        if !self.id.is_empty() {
            add("credential-id", &format!("JTI={}", self.id));
        }
        let (pod, node) = match &self.bound {
            Some(Bound::Pod(pod, node)) => (Some(pod), node.as_ref()),
            Some(Bound::Node(node)) => (None, Some(node)),
            Some(Bound::Secret(_)) | None => (None, None),
        };
        for (what, reference) in [("pod", pod), ("node", node)] {
            if let Some(Reference { name, uid }) = reference {
                add(&format!("{what}-name"), name);
                add(&format!("{what}-uid"), uid);
            }
        }
        extra
    }
}
