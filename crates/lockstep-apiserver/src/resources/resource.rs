//! A resource as it is served: one row for each, built in or defined by a CRD.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_fieldgate::Gates;
use lockstep_merge::types::Type;
use lockstep_object::field::FieldErrors;
use lockstep_object::metadata::{Scope, StatusField};
use lockstep_object::names::NameRule;
use lockstep_object::{GroupKind, GroupResource, Object, Value};
use lockstep_storage::Revision;

use super::{ScalePaths, SchemaChange};
use crate::cache::BucketKey;
use crate::crd::Converter;
use crate::route::Verb;
use crate::views::Columns;

/// One resource in all its versions.
pub struct Resource {
    /// The group; empty for the core group.
    pub group: Box<str>,
    /// Its name in paths.
    pub plural: Box<str>,
    /// The name of one object of it, in lower case.
    pub singular: Box<str>,
    /// The kind of its objects.
    pub kind: Box<str>,
    /// The kind of its lists.
    pub list_kind: Box<str>,
    /// What people type instead of the plural.
    pub short_names: Vec<Box<str>>,
    /// Groups of resources it belongs to, such as `all`.
    pub categories: Vec<Box<str>>,
    /// Whether its objects live in namespaces.
    pub scope: Scope,
    /// What can be done with it.
    pub verbs: &'static [Verb],
    /// The versions, preferred ones first; at least one.
    pub versions: Vec<Version>,
    /// Which of them objects are stored in.
    pub storage: usize,
    /// Where its objects lie.
    pub bucket: BucketKey,
    /// Who made it.
    pub origin: Origin,
    /// Objects that were written after this revision have the shape that [`Strategy::prune_and_default`] gives;
    /// older ones get it when they are read.
    pub schema_revision: Revision,
    /// Whether it is about to go away, so that nothing new is made of it.
    pub is_terminating: bool,
    /// What is special about it.
    pub strategy: Arc<dyn Strategy>,
}

/// One version of a resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version {
    /// `v1`
    pub name: Box<str>,
    /// Whether requests for it are answered.
    pub is_served: bool,
    /// The parts of its objects that have their own endpoints.
    pub subresources: Vec<Subresource>,
    /// What clients are warned with.
    pub deprecation: Option<Box<str>>,
}

/// A part of an object with its own endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subresource {
    /// `status`
    Status,
    /// `finalize`, of namespaces.
    Finalize,
    /// `scale`, of what has replicas.
    Scale,
    /// `token`, of service accounts.
    Token,
    /// `binding`: a pod gets a node.
    Binding,
    /// `eviction`: a pod is deleted if those who count on it can do without.
    Eviction,
    /// `ephemeralcontainers`, of pods.
    EphemeralContainers,
    /// `resize`: what the containers of a pod may use.
    Resize,
    /// `approval`, of requests for certificates.
    Approval,
}

impl Version {
    /// The parts of its objects that have their own endpoints.
    pub fn parts(&self) -> &[Subresource] {
        &self.subresources
    }
}

impl Subresource {
    /// Its name in paths.
    pub fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Finalize => "finalize",
            Self::Scale => "scale",
            Self::Token => "token",
            Self::Binding => "binding",
            Self::Eviction => "eviction",
            Self::EphemeralContainers => "ephemeralcontainers",
            Self::Resize => "resize",
            Self::Approval => "approval",
        }
    }

    /// Group, version and kind of what it is shown as; none if that is the object.
    pub fn own_kind(self) -> Option<[&'static str; 3]> {
        match self {
            Self::Scale => Some(["autoscaling", "v1", "Scale"]),
            Self::Token => Some(["authentication.k8s.io", "v1", "TokenRequest"]),
            Self::Binding => Some(["", "v1", "Binding"]),
            Self::Eviction => Some(["policy", "v1", "Eviction"]),
            Self::Status
            | Self::Finalize
            | Self::EphemeralContainers
            | Self::Resize
            | Self::Approval => None,
        }
    }

    /// What can be done with it.
    pub fn verbs(self) -> &'static [Verb] {
        match self {
            Self::Status
            | Self::Scale
            | Self::EphemeralContainers
            | Self::Resize
            | Self::Approval => &[Verb::Get, Verb::Patch, Verb::Update],
            Self::Finalize => &[Verb::Update],
            Self::Token | Self::Binding | Self::Eviction => &[Verb::Create],
        }
    }
}

/// Who made a resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// It is part of the server.
    BuiltIn,
    /// A CRD.
    Custom,
    /// The server: it alone writes the objects, and [`Strategy::schema`] says what they are made of.
    Own,
}

/// What is special about a kind. Everything else is the same for all kinds.
pub trait Strategy: Send + Sync {
    /// How its objects are named.
    fn names(&self) -> NameRule {
        NameRule::Subdomain
    }

    /// Whether `status` has its own endpoint in this version.
    fn status(&self, version: usize) -> StatusField;

    /// Whether its objects count changes of their spec.
    fn tracks_generation(&self) -> bool;

    /// What of the metadata is counted too when it changes.
    fn generation_metadata(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether its objects go by themselves when nobody has written them for a while.
    fn expires(&self) -> bool {
        false
    }

    /// Whether who deletes an object is shown it once more, instead of being told that it is gone.
    fn returns_deleted_object(&self) -> bool {
        false
    }

    /// Whether a `PUT` of an object that does not exist creates it.
    fn allows_create_on_update(&self) -> bool {
        false
    }

    /// What a `PUT` means that names no resource version.
    fn last_write(&self) -> LastWrite {
        LastWrite::Wins
    }

    /// Another kind that its objects are stored as; [`Strategy::prune_and_default`] turns them back.
    fn stored_as(&self) -> Option<&StoredAs> {
        None
    }

    /// Refuses fields of a type that the kind does not have, and drops those it does not know,
    /// adding their names to `unknown`. Of a custom resource these are fields of the metadata of
    /// resources inside it.
    fn check_types(
        &self,
        _version: usize,
        _object: &mut Object,
        _unknown: &mut Vec<String>,
    ) -> Result<(), String> {
        Ok(())
    }

    /// Brings an object that is to be stored into shape: drops unknown fields, returning their
    /// paths, and fills in defaults. `old` is the stored object, if there is one.
    fn prune_and_default(
        &self,
        version: usize,
        object: &mut Object,
        old: Option<&Object>,
    ) -> Vec<String>;

    /// Drops what a version does not know of an object that was made of one in another version. Nothing
    /// is filled in: defaults are those of the version that was written or is stored.
    fn fit(&self, version: usize, object: &mut Object) {
        self.prune_and_default(version, object, None);
    }

    /// Says what an object of another version is in this one, so that claims on its fields can be compared: what the
    /// version does not know goes. Nothing is filled in, since what is there by default was not kept by anybody.
    fn project_to_version(&self, _version: usize, _object: &mut Object) {}

    /// Whether objects in the shape of one version are in that of the other too.
    fn has_same_schema(&self, _one: usize, _other: usize) -> bool {
        true
    }

    /// Who makes an object of one version one of another; none if only its `apiVersion` differs,
    /// and its shape.
    fn converter(&self) -> Option<&Converter> {
        None
    }

    /// The gates of its fields, if they do anything.
    fn gates(&self) -> Option<&Gates> {
        None
    }

    /// When the kind is no longer what clients were told it is: watches end then, and clients begin
    /// anew. None if that never happens.
    fn schema_change(&self) -> Option<&SchemaChange> {
        None
    }

    /// What its objects are made of, as far as merging them is concerned; none if nobody knows.
    fn merge_type(&self, _version: usize) -> Option<Type<'_>> {
        None
    }

    /// Fields that the server fills in when an object is made, and which nobody owns then.
    fn server_fields(&self) -> &'static [&'static [&'static str]] {
        &[]
    }

    /// What is wrong with an object, besides its metadata. `part` is what the request may change.
    fn validate(
        &self,
        version: usize,
        object: &Object,
        old: Option<&Object>,
        subresource: Option<Subresource>,
    ) -> Verdict;

    /// The fields that field selectors may name in this version, besides name and namespace.
    fn selectable_fields(&self, _version: usize) -> &[SelectableField] {
        &[]
    }

    /// Where this version keeps what its scale shows; none if it has no `scale`.
    fn scale(&self, _version: usize) -> Option<&ScalePaths> {
        None
    }

    /// What objects that are the server's own are made of, in the words of a CRD.
    fn schema(&self) -> Option<&Value> {
        None
    }

    /// The columns of its tables in this version.
    fn columns(&self, _version: usize) -> &Columns {
        Columns::name_and_age()
    }
}

/// A kind that is stored as another one, which clients see as well.
#[derive(Clone, Copy, Debug)]
pub struct StoredAs {
    /// The group of the stored kind.
    pub group: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Makes an object one of the stored kind, except for its `apiVersion`.
    pub write: fn(&mut Object),
}

/// What a change means that names no resource version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastWrite {
    /// It is made to whatever is there.
    Wins,
    /// It is an error.
    IsRefused,
}

impl StoredAs {
    /// The `apiVersion` of stored objects.
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }
}

/// A field that field selectors may name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SelectableField {
    /// What selectors call it.
    pub name: Box<str>,
    /// Where it may lie, as names with dots between; the first that holds something counts.
    pub paths: Vec<Box<str>>,
    /// What it is where it holds nothing.
    pub absent: &'static str,
}

impl SelectableField {
    /// A field that is called by where it lies.
    pub fn at(path: &str) -> Self {
        Self {
            name: path.into(),
            paths: vec![path.into()],
            absent: "",
        }
    }

    /// The same with what it is where it holds nothing.
    #[must_use]
    pub fn or(self, absent: &'static str) -> Self {
        Self { absent, ..self }
    }
}

/// What validation found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Verdict {
    /// What is wrong.
    pub errors: FieldErrors,
    /// What is only worth a warning.
    pub warnings: Vec<String>,
}

impl From<FieldErrors> for Verdict {
    fn from(errors: FieldErrors) -> Self {
        Self {
            errors,
            warnings: Vec::new(),
        }
    }
}

impl Resource {
    /// Group and plural, as errors name it.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(&*self.group, &*self.plural)
    }

    /// Group and kind, as errors of validation name it.
    ///
    /// What is kept as another kind is validated as that.
    pub fn group_kind(&self) -> GroupKind {
        match self.strategy.stored_as() {
            Some(kept) => GroupKind::new(kept.group, &*self.kind),
            None => GroupKind::new(&*self.group, &*self.kind),
        }
    }

    /// `group/version`, or the bare version of the core group.
    pub fn api_version(&self, version: usize) -> String {
        let name = &self.versions[version].name;
        match &*self.group {
            "" => name.to_string(),
            group => format!("{group}/{name}"),
        }
    }

    /// The version with a name, if it is served.
    pub fn served_version(&self, name: &str) -> Option<usize> {
        let mut versions = self.versions.iter();
        versions.position(|version| version.is_served && *version.name == *name)
    }

    /// Whether its objects are kept; others are questions, answered when they are created.
    pub fn is_stored(&self) -> bool {
        self.verbs.contains(&Verb::List)
    }

    /// Whether objects live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    /// The key of an object inside the bucket.
    pub fn object_key(&self, namespace: &str, name: &str) -> String {
        if self.is_namespaced() {
            format!("{namespace}/{name}")
        } else {
            name.to_owned()
        }
    }

    /// Where objects lie below the server's prefix.
    pub fn store_key(&self, prefix: &[u8], object_key: &str) -> Bytes {
        [prefix, self.bucket.name(), b"/", object_key.as_bytes()]
            .concat()
            .into()
    }
}
