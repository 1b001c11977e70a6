//! Labels of requests. Values are names that the server knows, never text that a client invents: series stay bounded.

use http::Method;

use crate::request::Request;

/// The seven labels common to request metrics: verb, group, version, resource, subresource, scope, component.
#[derive(Clone, Copy)]
pub(crate) struct RequestLabels<'a>([&'a str; 7]);

impl<'a> RequestLabels<'a> {
    pub(crate) fn of(request: &'a Request) -> Self {
        let known = request.notes.facts().is_known;
        let resource = request.info.resource.as_ref().filter(|_| known);
        let scope = match resource {
            None => "",
            Some(resource) if !resource.name.is_empty() => "resource",
            Some(resource) if !resource.namespace.is_empty() => "namespace",
            Some(_) => "cluster",
        };
        let parts = resource.map_or([""; 4], |path| {
            [
                &path.group,
                &path.version,
                &path.resource,
                &path.subresource,
            ]
            .map(String::as_str)
        });
        let [group, version, name, subresource] = parts;
        Self([
            verb(request),
            group,
            version,
            name,
            subresource,
            scope,
            "apiserver",
        ])
    }

    /// The common labels.
    pub(crate) fn shared(self) -> [&'a str; 7] {
        self.0
    }

    /// The common labels and `dry_run`.
    pub(crate) fn and_dry_run(self, dry_run: &'a str) -> [&'a str; 8] {
        let mut labels = [dry_run; 8];
        labels[..7].copy_from_slice(&self.0);
        labels
    }

    /// The common labels, `dry_run` and `code`.
    pub(crate) fn and_code(self, dry_run: &'a str, code: &'a str) -> [&'a str; 9] {
        let mut labels = [code; 9];
        labels[..8].copy_from_slice(&self.and_dry_run(dry_run));
        labels
    }
}

/// The `verb` label: the HTTP method, or the Kubernetes verb where the two differ.
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

/// The `username` label: well-known users by name, all others under one value.
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
