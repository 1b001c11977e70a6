//! Parses verb and resource of a request from method and path, like upstream's `RequestInfo`, without knowledge of the
//! served resources.

use std::borrow::Cow;

use http::Method;
use percent_encoding::percent_decode_str;

use super::Query;

/// Initial capacity for path segments; an object in a namespace has seven.
const PARTS_USUAL: usize = 8;
/// Subresources with unbounded responses.
const STREAMING_SUBRESOURCES: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];
/// Segment of a path before the name of a namespace.
const NAMESPACES: &str = "namespaces";
/// Segments after `/namespaces/NAME/` that are subresources of the Namespace and not resources in it.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

/// Verb and resource of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestInfo {
    /// The RBAC verb: `list`, `watch`, `deletecollection`, …; for other paths the method in lower case.
    pub verb: String,
    /// Decoded path without a trailing slash.
    pub path: String,
    /// Resource part of a path below `/api` or `/apis`.
    pub resource: Option<ResourcePath>,
}

/// Segments of a resource path. Absent segments are empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResourcePath {
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The namespace. For a Namespace object, its own name.
    pub namespace: String,
    /// The plural name of the resource.
    pub resource: String,
    /// The subresource.
    pub subresource: String,
    /// The object name; for a list or watch also the name in `fieldSelector`.
    pub name: String,
    /// Segments after the subresource, as for `proxy`.
    pub rest: Vec<String>,
    /// True for the legacy watch path `/watch/…`, whose name comes from the path.
    pub is_watch_path: bool,
}

impl RequestInfo {
    /// Parses method, path and the parameters `watch` and `fieldSelector`.
    pub fn new(method: &Method, raw_path: &str, query: &Query) -> Self {
        let trimmed = raw_path.trim_matches('/');
        let path = ["/", &decode(trimmed)].concat();
        let mut parts: Vec<Cow<'_, str>> = Vec::with_capacity(PARTS_USUAL);
        if !trimmed.is_empty() {
            parts.extend(trimmed.split('/').map(decode));
        }
        let (verb, resource) = match resource(method, &parts, query) {
            Some((verb, resource)) => (verb.to_owned(), Some(resource)),
            None => (method.as_str().to_ascii_lowercase(), None),
        };
        Self {
            verb,
            path,
            resource,
        }
    }

    /// True if the response is unbounded, so that no deadline applies.
    pub fn is_long_running(&self) -> bool {
        let Some(resource) = &self.resource else {
            return false;
        };
        self.verb == "watch" || STREAMING_SUBRESOURCES.contains(&resource.subresource.as_str())
    }

    /// True if the verb cannot change anything.
    pub fn is_read_only(&self) -> bool {
        matches!(
            self.verb.as_str(),
            "get" | "list" | "watch" | "head" | "options"
        )
    }
}

/// Percent-decodes; borrows if nothing is encoded, which is the usual case.
fn decode(text: &str) -> Cow<'_, str> {
    if text.contains('%') {
        percent_decode_str(text).decode_utf8_lossy()
    } else {
        Cow::Borrowed(text)
    }
}

fn resource(
    method: &Method,
    parts: &[Cow<'_, str>],
    query: &Query,
) -> Option<(&'static str, ResourcePath)> {
    let (group, version, rest) = match parts {
        [prefix, version, rest @ ..] if prefix == "api" => ("", version, rest),
        [prefix, group, version, rest @ ..] if prefix == "apis" => (&**group, version, rest),
        _ => return None,
    };
    let (legacy_watch, rest) = match rest {
        [] => return None,
        [watch] if watch == "watch" => return None,
        [watch, rest @ ..] if watch == "watch" => (true, rest),
        rest => (false, rest),
    };
    let mut found = ResourcePath {
        group: group.to_owned(),
        version: version.clone().into_owned(),
        is_watch_path: legacy_watch,
        ..ResourcePath::default()
    };
    let rest = match rest {
        [namespaces, namespace, inside @ ..] if namespaces == NAMESPACES => {
            found.namespace = namespace.clone().into_owned();
            match inside.first() {
                Some(first) if !NAMESPACE_SUBRESOURCES.contains(&&**first) => inside,
                _ => rest,
            }
        }
        rest => rest,
    };
    let mut rest = rest.iter().map(|part| part.clone().into_owned());
    found.resource = rest.next().unwrap_or_default();
    found.name = rest.next().unwrap_or_default();
    found.subresource = rest.next().unwrap_or_default();
    found.rest = rest.collect();
    let verb = verb(method, &mut found, query);
    Some((verb, found))
}

fn verb(method: &Method, found: &mut ResourcePath, query: &Query) -> &'static str {
    let named = !found.name.is_empty();
    match *method {
        Method::GET | Method::HEAD if found.is_watch_path => "watch",
        _ if found.is_watch_path => "",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if named => "delete",
        Method::DELETE => {
            found.name = query
                .get("fieldSelector")
                .and_then(selected_name)
                .unwrap_or_default();
            "deletecollection"
        }
        Method::GET | Method::HEAD if named => "get",
        Method::GET | Method::HEAD => {
            if let Some(name) = query.get("fieldSelector").and_then(selected_name) {
                found.name = name;
            }
            if query.flag("watch") { "watch" } else { "list" }
        }
        _ => "",
    }
}

/// Name that a field selector requires with `metadata.name=`.
fn selected_name(selector: &str) -> Option<String> {
    let terms = selector.split(',').map(str::trim);
    let mut names = terms.filter_map(|term| {
        let value = term.strip_prefix("metadata.name=")?;
        Some(value.strip_prefix('=').unwrap_or(value).to_owned())
    });
    names.next().filter(|name| !name.is_empty())
}
