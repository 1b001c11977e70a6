//! The subresource `serviceaccounts/token`, which issues tokens.

use lockstep_object::field::{FieldError, Path};
use lockstep_object::metadata::{Seconds, check_namespace};
use lockstep_object::{ApiError, GroupKind, GroupResource, GroupVersionKind, Object, Value, json};
use serde_json::json;

use super::{Bound, Claims, Reference, ServiceAccounts};
use crate::resources::{Answer, Request, Subresource, check_scope};
use crate::state::Server;

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenRequest";
/// Default lifetime of a token.
const LIFETIME_SECONDS: i64 = 3600;
/// Shortest lifetime of a token.
const LIFETIME_SECONDS_MIN: i64 = 600;
/// Longest lifetime of a token.
const LIFETIME_SECONDS_MAX: i64 = 1 << 32;

/// Issues a token for the account that a request names.
pub(crate) async fn create(
    server: &Server,
    accounts: &ServiceAccounts,
    request: &Request<'_>,
) -> Result<Answer, ApiError> {
    check_scope(request)?;
    let dry_run = request.dry_run()?;
    let gvk = GroupVersionKind::new(GROUP, "v1", KIND);
    let asked = request.other(&gvk)?;
    let (namespace, name) = (&request.route.namespace, &request.route.name);
    check_namespace(&asked, namespace)?;
    let kind = GroupKind::new(GROUP, KIND);
    let given = asked.name();
    if !given.is_empty() && given != name {
        let path = Path::ROOT.field("metadata");
        let path = path.field("name");
        let text = "must match the service account name if specified";
        let error = FieldError::invalid(&path, given, text);
        return Err(ApiError::invalid(&kind, name, [error]));
    }
    let account = find(server, "serviceaccounts", namespace, name).await?;
    let account_uid = account.uid().to_owned();
    let given = asked.uid();
    if !given.is_empty() && given != account_uid {
        let text = format!(
            "the UID in the token request ({given}) does not match the UID of the service account ({account_uid})"
        );
        let resource = GroupResource::new(GROUP, KIND);
        return Err(ApiError::conflict(&resource, name, text));
    }
    let subresource = Some(Subresource::Token);
    let admitted = server.api.admit(request, subresource, asked, dry_run);
    let mut asked = admitted.await?;
    let spec = Wanted::read(&asked, accounts);
    spec.check(&kind)?;
    let bound = bind(server, namespace, name, &spec).await?;
    let lifetime = spec.lifetime(accounts, request);
    let issued = request.now.unix();
    let claims = Claims {
        id: uuid::Uuid::new_v4().to_string(),
        issuer: accounts.issuer().to_owned(),
        audiences: spec.audiences.clone(),
        issued,
        not_before: issued,
        expires: issued.saturating_add(lifetime),
        namespace: namespace.clone(),
        account: Reference {
            name: name.clone(),
            uid: account_uid.clone(),
        },
        bound,
    };
    let token = accounts.sign(&claims);
    let token = token.ok_or_else(|| ApiError::internal("the token cannot be signed"))?;
    let expires = Seconds::from_unix(claims.expires);
    let expires = expires.map(|expires| expires.to_string());
    asked.set_gvk(&gvk);
    asked.set_meta_text("name", name);
    asked.set_meta_text("namespace", namespace);
    asked.set_meta_text("uid", &account_uid);
    asked.set_meta_text("creationTimestamp", &request.now.to_string());
    let fields = asked.fields_mut();
    fields.insert(
        "spec".to_owned(),
        json!({
            "audiences": spec.audiences,
            "boundObjectRef": spec.bound,
            "expirationSeconds": lifetime,
        }),
    );
    fields.insert(
        "status".to_owned(),
        json!({ "token": token, "expirationTimestamp": expires }),
    );
    Ok(Answer::created(json::encode(asked.as_value())))
}

/// The `spec` of a `TokenRequest`.
struct Wanted {
    audiences: Vec<String>,
    seconds: i64,
    /// `boundObjectRef` as sent.
    bound: Value,
}

impl Wanted {
    fn read(asked: &Object, accounts: &ServiceAccounts) -> Self {
        let spec = asked.at(&["spec"]).unwrap_or(&Value::Null);
        let given = spec["audiences"].as_array().into_iter().flatten();
        let given: Vec<String> = given.filter_map(Value::as_str).map(str::to_owned).collect();
        Self {
            audiences: if given.is_empty() {
                accounts.audiences().to_vec()
            } else {
                given
            },
            seconds: spec["expirationSeconds"]
                .as_i64()
                .unwrap_or(LIFETIME_SECONDS),
            bound: spec["boundObjectRef"].clone(),
        }
    }

    fn check(&self, kind: &GroupKind) -> Result<(), ApiError> {
        let text = match self.seconds {
            ..LIFETIME_SECONDS_MIN => "may not specify a duration less than 10 minutes",
            LIFETIME_SECONDS_MIN..=LIFETIME_SECONDS_MAX => return Ok(()),
            _ => "may not specify a duration larger than 2^32 seconds",
        };
        let path = Path::ROOT.field("spec");
        let path = path.field("expirationSeconds");
        let error = FieldError::invalid(&path, self.seconds, text);
        Err(ApiError::invalid(kind, "", [error]))
    }

    /// Lifetime of the token, at most that of the server.
    fn lifetime(&self, accounts: &ServiceAccounts, request: &Request<'_>) -> i64 {
        let most = accounts.lifetime_max().map(|most| most.as_secs());
        let most = most.and_then(|most| i64::try_from(most).ok());
        match most {
            Some(most) if self.seconds > most => {
                request.notes.warn(format!(
                    "requested expiration of {} seconds shortened to {most} seconds",
                    self.seconds
                ));
                most
            }
            _ => self.seconds,
        }
    }
}

/// Resolves the bound object reference.
async fn bind(
    server: &Server,
    namespace: &str,
    account: &str,
    wanted: &Wanted,
) -> Result<Option<Bound>, ApiError> {
    if !wanted.bound.is_object() {
        return Ok(None);
    }
    let text = |name: &str| wanted.bound[name].as_str().unwrap_or_default();
    let (version, kind, name, uid) = (text("apiVersion"), text("kind"), text("name"), text("uid"));
    let is_core = !version.contains('/');
    let plural = match kind {
        "Pod" if is_core => "pods",
        "Secret" if is_core => "secrets",
        "Node" if is_core => "nodes",
        _ => {
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            let text =
                format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(ApiError::bad_request(text));
        }
    };
    if name.is_empty() {
        return Err(ApiError::bad_request("Name parameter required."));
    }
    let place = if kind == "Node" { "" } else { namespace };
    let object = find(server, plural, place, name).await?;
    let in_spec = |field: &str| {
        let value = object.at(&["spec", field]).and_then(Value::as_str);
        value.unwrap_or_default()
    };
    if kind == "Pod" && in_spec("serviceAccountName") != account {
        let text = format!(
            "cannot bind token for serviceaccount \"{account}\" to pod running with different serviceaccount name."
        );
        return Err(ApiError::bad_request(text));
    }
    let own = object.uid().to_owned();
    if !uid.is_empty() && uid != own {
        let text = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        return Err(ApiError::conflict(
            &GroupResource::new("", kind),
            name,
            text,
        ));
    }
    let reference = Reference {
        name: name.to_owned(),
        uid: own,
    };
    Ok(Some(match kind {
        "Node" => Bound::Node(reference),
        "Secret" => Bound::Secret(reference),
        _ => Bound::Pod(reference, node_of(server, in_spec("nodeName")).await),
    }))
}

/// The node of a pod; without uid if it no longer exists.
async fn node_of(server: &Server, name: &str) -> Option<Reference> {
    if name.is_empty() {
        return None;
    }
    let node = find(server, "nodes", "", name).await.ok();
    Some(Reference {
        name: name.to_owned(),
        uid: node.map(|node| node.uid().to_owned()).unwrap_or_default(),
    })
}

async fn find(
    server: &Server,
    plural: &str,
    namespace: &str,
    name: &str,
) -> Result<Object, ApiError> {
    let key = match namespace {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    };
    let found = server.api.read_internally("", plural, &key).await;
    let missing = || ApiError::not_found(&GroupResource::new("", plural), name);
    found.map(|(object, _)| object).ok_or_else(missing)
}
