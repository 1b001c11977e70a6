//! What a request asks for, read from its method, path and query: the words that authorization,
//! audit and routing share.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use crate::query::Query;

/// What a request wants to do, in the words of RBAC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "these are upstream's words")]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
    /// Of a path that is no resource: the method in lower case.
    Head,
    Post,
    Put,
    Options,
}

impl Verb {
    /// As RBAC rules, audit and metrics spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Head => "head",
            Self::Post => "post",
            Self::Put => "put",
            Self::Options => "options",
        }
    }

    /// Whether the request may change something.
    pub fn is_mutating(self) -> bool {
        !matches!(
            self,
            Self::Get | Self::List | Self::Watch | Self::Head | Self::Options
        )
    }
}

/// What a request is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Route {
    /// A path that is no resource: health, discovery, metrics.
    Path {
        /// The verb.
        verb: Verb,
        /// The path.
        path: String,
    },
    /// A resource.
    Resource(ResourceRoute),
}

/// A request for a resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResourceRoute {
    /// The verb.
    pub verb: Verb,
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The namespace in the path; empty at the cluster's scope.
    pub namespace: String,
    /// The resource.
    pub resource: String,
    /// The name in the path, or the one that the field selector of a list demands; or empty.
    pub name: String,
    /// Whether the name stands in the path.
    pub is_named: bool,
    /// The part of the object that is meant; or empty.
    pub subresource: String,
    /// What follows the subresource, as for a proxy.
    pub rest: Vec<String>,
}

impl ResourceRoute {
    /// `group/version`, or `version` of the core group.
    pub fn group_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

/// Subresources of a namespace; anything else below a namespace is a resource in it.
const NAMESPACE_PARTS: &[&str] = &["status", "finalize"];

impl Route {
    /// Reads a request. A path that cannot be a resource is a plain path, whatever it is.
    pub fn of(method: &str, path: &str, query: &Query<'_>) -> Self {
        let resource = segments(path).and_then(|segments| resource(method, &segments, query));
        resource.map_or_else(
            || Self::Path {
                verb: plain_verb(method),
                path: path.to_owned(),
            },
            Self::Resource,
        )
    }

    /// What is wanted.
    pub fn verb(&self) -> Verb {
        match self {
            Self::Path { verb, .. } => *verb,
            Self::Resource(route) => route.verb,
        }
    }

    /// Whether the request goes on until one side ends it.
    pub fn is_long_running(&self) -> bool {
        match self {
            Self::Path { .. } => false,
            Self::Resource(route) => {
                let is_stream = ["log", "exec", "attach", "portforward", "proxy"];
                route.verb == Verb::Watch || is_stream.contains(&route.subresource.as_str())
            }
        }
    }
}

/// The segments of a path, each decoded once; none if one is not UTF-8. Trailing slashes do not
/// count.
fn segments(path: &str) -> Option<Vec<Cow<'_, str>>> {
    let trimmed = path.trim_matches('/');
    let decode = |segment| percent_decode_str(segment).decode_utf8().ok();
    trimmed.split('/').map(decode).collect()
}

fn resource(method: &str, segments: &[Cow<'_, str>], query: &Query<'_>) -> Option<ResourceRoute> {
    let (prefix, rest) = segments.split_first()?;
    let (group, rest) = match prefix.as_ref() {
        "api" => ("", rest),
        "apis" => {
            let (group, rest) = rest.split_first()?;
            (group.as_ref(), rest)
        }
        _ => return None,
    };
    let (version, mut rest) = rest.split_first()?;
    let is_old_watch = rest.first().is_some_and(|word| word == "watch") && rest.len() > 1;
    if is_old_watch {
        rest = &rest[1..];
    }
    let (namespace, rest) = namespace(rest);
    let mut rest = rest.iter().map(|segment| segment.clone().into_owned());
    let resource = rest.next().filter(|resource| !resource.is_empty())?;
    let name = rest.next().unwrap_or_default();
    let subresource = rest.next().unwrap_or_default();
    let is_named = !name.is_empty();
    let verb = if is_old_watch && matches!(method, "GET" | "HEAD") {
        Verb::Watch
    } else {
        verb(method, is_named, query)?
    };
    let selects = matches!(verb, Verb::List | Verb::Watch | Verb::DeleteCollection);
    let selected = || {
        query
            .get("fieldSelector")
            .and_then(|text| selected_name(&text))
    };
    let name = if selects && !is_named {
        selected().unwrap_or_default()
    } else {
        name
    };
    Some(ResourceRoute {
        verb,
        group: group.to_owned(),
        version: version.to_string(),
        namespace: namespace.to_owned(),
        resource,
        name,
        is_named,
        subresource,
        rest: rest.collect(),
    })
}

/// The namespace, and the segments from the resource on. The namespace itself, and its parts, are
/// resources in that namespace, as roles see it.
fn namespace<'a, 's>(segments: &'a [Cow<'s, str>]) -> (&'a str, &'a [Cow<'s, str>]) {
    let [first, namespace, below @ ..] = segments else {
        return ("", segments);
    };
    if first != "namespaces" {
        return ("", segments);
    }
    match below.first() {
        Some(part) if !NAMESPACE_PARTS.contains(&part.as_ref()) => (namespace, below),
        _ => (namespace, segments),
    }
}

fn verb(method: &str, is_named: bool, query: &Query<'_>) -> Option<Verb> {
    Some(match method {
        "POST" => Verb::Create,
        "PUT" => Verb::Update,
        "PATCH" => Verb::Patch,
        "DELETE" if is_named => Verb::Delete,
        "DELETE" => Verb::DeleteCollection,
        "GET" | "HEAD" if is_named => Verb::Get,
        "GET" | "HEAD" if query.flag("watch") => Verb::Watch,
        "GET" | "HEAD" => Verb::List,
        _ => return None,
    })
}

fn plain_verb(method: &str) -> Verb {
    match method {
        "HEAD" => Verb::Head,
        "POST" => Verb::Post,
        "PUT" => Verb::Put,
        "PATCH" => Verb::Patch,
        "DELETE" => Verb::Delete,
        "OPTIONS" => Verb::Options,
        _ => Verb::Get,
    }
}

/// The name that a field selector demands, if it demands one.
fn selected_name(selector: &str) -> Option<String> {
    let terms = selector.split(',');
    let name = terms
        .filter_map(|term| term.split_once('='))
        .find(|(field, _)| field.trim() == "metadata.name");
    let value = name?.1.trim_start_matches('=').trim();
    (!value.is_empty() && !value.contains('/')).then(|| value.to_owned())
}
