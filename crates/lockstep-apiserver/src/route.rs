//! What a request for a resource asks for, in words that handlers share.

use crate::request::RequestInfo;

/// What is wanted, in the words of RBAC.
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
}

impl Verb {
    const ALL: [Self; 8] = [
        Self::Get,
        Self::List,
        Self::Watch,
        Self::Create,
        Self::Update,
        Self::Patch,
        Self::Delete,
        Self::DeleteCollection,
    ];

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
        }
    }

    /// Whether the request may change something.
    pub fn is_mutating(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch)
    }

    /// Whether it is about many objects, so that a name comes from a selector if from anywhere.
    pub(crate) fn is_of_collection(self) -> bool {
        matches!(self, Self::List | Self::Watch | Self::DeleteCollection)
    }
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
    /// The name in the path; empty if there is none.
    pub name: String,
    /// The part of the object that is meant; or empty.
    pub subresource: String,
}

impl ResourceRoute {
    /// What a request asks for; none if it is not about a resource, or its method has no meaning.
    pub fn of(info: &RequestInfo) -> Option<Self> {
        let path = info.resource.as_ref()?;
        let verb = Verb::ALL
            .into_iter()
            .find(|verb| verb.as_str() == info.verb)?;
        let is_selected = verb.is_of_collection() && !path.is_watch_path;
        let name = if is_selected { "" } else { &path.name };
        Some(Self {
            verb,
            group: path.group.clone(),
            version: path.version.clone(),
            namespace: path.namespace.clone(),
            resource: path.resource.clone(),
            name: name.to_owned(),
            subresource: path.subresource.clone(),
        })
    }

    /// Whether the path names an object.
    pub fn is_named(&self) -> bool {
        !self.name.is_empty()
    }
}
