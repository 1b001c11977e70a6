//! The labels of a request. Only words of ours become labels: what a client invents does not.

use http::Method;

use crate::request::Request;

/// The seven labels that metrics about requests share.
pub(crate) struct RequestLabels {
    values: [String; 7],
}

impl RequestLabels {
    pub(crate) fn of(request: &Request) -> Self {
        let known = request.notes.facts().is_known;
        let resource = request.info.resource.as_ref().filter(|_| known);
        let part = |text: Option<&String>| text.cloned().unwrap_or_default();
        let scope = match resource {
            None => "",
            Some(resource) if !resource.name.is_empty() => "resource",
            Some(resource) if !resource.namespace.is_empty() => "namespace",
            Some(_) => "cluster",
        };
        Self {
            values: [
                verb(request).to_owned(),
                part(resource.map(|resource| &resource.group)),
                part(resource.map(|resource| &resource.version)),
                part(resource.map(|resource| &resource.resource)),
                part(resource.map(|resource| &resource.subresource)),
                scope.to_owned(),
                "apiserver".to_owned(),
            ],
        }
    }

    /// The labels, and others behind them.
    pub(crate) fn and<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let own = self.values.iter().map(String::as_str);
        own.chain(more.iter().copied()).collect()
    }
}

/// The verb in metrics: the HTTP method, and what it means for resources.
fn verb(request: &Request) -> &'static str {
    match request.info.verb.as_str() {
        "list" => return "LIST",
        "watch" => return "WATCH",
        "deletecollection" => return "DELETECOLLECTION",
        _ => {}
    }
    let content_type = request.headers.get(http::header::CONTENT_TYPE);
    let apply =
        content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/apply-patch+"));
    match request.method {
        Method::GET | Method::HEAD => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH if apply => "APPLY",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

/// A user's name in metrics: well-known ones as they are, others in one heap.
pub(crate) fn user_label(name: &str) -> &'static str {
    match name {
        "admin" => "admin",
        "kubernetes-admin" => "kubernetes-admin",
        "system:anonymous" => "system:anonymous",
        "system:apiserver" => "system:apiserver",
        name if name.starts_with("system:serviceaccount:") => "service_account",
        name if name.contains('@') => "email_id",
        _ => "other",
    }
}
