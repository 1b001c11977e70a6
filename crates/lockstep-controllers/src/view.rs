//! Read-only view of the cluster for controllers.

use lockstep_object::Object;
use std::fmt;
use std::sync::Arc;

use crate::Meta;

/// A resource by its group, which is empty for the core group, and its plural. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Resource {
    /// The group.
    pub group: Arc<str>,
    /// The plural.
    pub plural: Arc<str>,
}

/// One object: its resource, and `[namespace/]name` in it. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Id {
    /// The resource.
    pub resource: Resource,
    /// The key.
    pub key: Arc<str>,
}

/// A served resource and its kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kind {
    /// The resource.
    pub resource: Resource,
    /// The kind of its objects.
    pub kind: Box<str>,
    /// The versions that are served.
    pub versions: Vec<Box<str>>,
    /// True for namespaced resources.
    pub is_namespaced: bool,
    /// True if objects can be listed and deleted.
    pub is_deletable: bool,
}

/// An object, and the revision that left it.
#[derive(Clone, PartialEq, Debug)]
pub struct Stored {
    /// The object.
    pub object: Object,
    /// The revision.
    pub revision: u64,
}

/// A read-only view of the cluster that includes all changes up to [`ClusterView::seen`]. It is not a snapshot: later
/// changes may become visible between two reads.
pub trait ClusterView {
    /// Everything up to this revision is visible.
    fn seen(&self) -> u64;

    /// The served resources.
    fn kinds(&self) -> &[Kind];

    /// Metadata of an object; none if it does not exist.
    fn meta(&self, id: &Id) -> Option<Meta>;

    /// A whole object.
    fn object(&self, id: &Id) -> Option<Stored>;

    /// The keys of a resource, of one namespace if one is given, in their order.
    fn keys(&self, resource: &Resource, namespace: Option<&str>) -> Vec<Arc<str>>;
}

/// Something that happened to an object. One of `before` and `now` is there.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The object.
    pub id: &'a Id,
    /// As it was; none if it is new, or new to the loop.
    pub before: Option<&'a Meta>,
    /// As it is; none if it is gone.
    pub now: Option<&'a Meta>,
}

impl Resource {
    /// By group and plural.
    pub fn new(group: &str, plural: &str) -> Self {
        Self {
            group: group.into(),
            plural: plural.into(),
        }
    }

    /// One object of it.
    pub fn id(&self, key: &str) -> Id {
        Id {
            resource: self.clone(),
            key: key.into(),
        }
    }
}

impl Id {
    /// The namespace; none if the object has none.
    pub fn namespace(&self) -> Option<&str> {
        self.key.split_once('/').map(|(namespace, _)| namespace)
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.key
            .split_once('/')
            .map_or(&*self.key, |(_, name)| name)
    }
}

impl fmt::Display for Resource {
    /// `configmaps`, `widgets.ex.io`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.group {
            "" => f.write_str(&self.plural),
            group => write!(f, "{}.{group}", self.plural),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.resource, self.key)
    }
}
