//! Access log, audit and metrics for writes by the server itself.

use std::sync::Arc;

use http::Method;

use crate::audit;
use crate::authn::User;
use crate::request::{Query, RequestInfo};
use crate::resources::OwnWrite;
use crate::route::Verb;
use crate::state::Server;

/// User name of the server in audit events.
const NAME: &str = "system:apiserver";

/// Records a write by the server itself as if a client had sent it.
pub(crate) fn record(server: &Arc<Server>, write: &OwnWrite<'_>) {
    let (method, verb) = match write.verb {
        Verb::Create => (Method::POST, "POST"),
        Verb::Delete => (Method::DELETE, "DELETE"),
        _ => (Method::PUT, "PUT"),
    };
    let path = write.path();
    let info = RequestInfo::new(&method, &path, &Query::parse(""));
    let resource = write.resource;
    let version = &resource.versions[resource.encoding_version().index()].name;
    let code = write.code.to_string();
    let labels = [
        verb,
        &resource.group,
        version,
        &resource.plural,
        "",
        "resource",
        "apiserver",
        "",
        &code,
    ];
    let metrics = &server.metrics;
    metrics.requests.with_label_values(&labels).inc();
    let groups = ["system:masters", "system:authenticated"];
    let user = User {
        name: NAME.to_owned(),
        groups: groups.map(str::to_owned).to_vec(),
        ..User::default()
    };
    if let Some(log) = &server.audit {
        audit::own_write(log, &user, &info, &path, write.code);
    }
}
