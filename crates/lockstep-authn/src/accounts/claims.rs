//! Claims of service-account tokens.

use std::collections::BTreeMap;

use lockstep_object::Value;
use serde_json::json;

/// Prefix of user names of service accounts.
const USER_PREFIX: &str = "system:serviceaccount:";
/// Claim with the attributes of Kubernetes.
const PRIVATE: &str = "kubernetes.io";
/// Tolerated clock skew between servers.
const LEEWAY_SECONDS: i64 = 60;

/// An object by name and uid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reference {
    /// The name.
    pub name: String,
    /// The uid.
    pub uid: String,
}

/// The object that a token is bound to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Bound {
    /// A pod, and its node once it is scheduled.
    Pod(Reference, Option<Reference>),
    /// A node.
    Node(Reference),
    /// A secret.
    Secret(Reference),
}

/// Claims of a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claims {
    /// Unique id of the token (`jti`).
    pub id: String,
    /// The issuer (`iss`).
    pub issuer: String,
    /// The audiences (`aud`).
    pub audiences: Vec<String>,
    /// Time of issue in Unix seconds (`iat`).
    pub issued: i64,
    /// Start of validity in Unix seconds (`nbf`).
    pub not_before: i64,
    /// Expiry in Unix seconds (`exp`).
    pub expires: i64,
    /// Namespace of the account.
    pub namespace: String,
    /// The account.
    pub account: Reference,
    /// The bound object, if any.
    pub bound: Option<Bound>,
}

/// User name of a service account.
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

    /// Reads the payload of a token; the error is the message of upstream.
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

    /// Checks the validity period.
    pub(crate) fn check_time(&self, now: i64) -> Result<(), &'static str> {
        if now.saturating_add(LEEWAY_SECONDS) < self.not_before {
            return Err("service account token is not valid yet");
        }
        if now.saturating_sub(LEEWAY_SECONDS) > self.expires {
            return Err("service account token has expired");
        }
        Ok(())
    }

    /// Extra attributes of the user.
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
