//! Types and defaults of resources, as policies use them.

use lockstep_admission::facts::Kind;
use lockstep_admission::request::ResourceVersion;
use lockstep_catalog::{Origin, Served, builtin};
use lockstep_kinds::{Table, typed};
use lockstep_merge::types::Type;
use lockstep_object::{GroupVersionResource, Object, Value};

use crate::decode::check_metadata;

/// A resource in one version.
pub(crate) struct OfServed(pub(crate) Served);

impl OfServed {
    /// Checks the types of an object from outside, drops unknown fields and applies defaults.
    pub(crate) fn read(&self, object: &mut Object) -> Result<(), String> {
        let Served { resource, version } = &self.0;
        let strategy = &resource.strategy;
        strategy.check_types(*version, object, &mut Vec::new())?;
        strategy.prune_and_default(*version, object, None);
        Ok(())
    }
}

impl Kind for OfServed {
    fn merge_type(&self) -> Option<Type<'_>> {
        self.0.resource.strategy.merge_type(self.0.version)
    }

    fn prune_and_default(&self, object: &mut Object, old: Option<&Object>) -> Result<(), String> {
        let Served { resource, version } = &self.0;
        let mut unknown = Vec::new();
        check_metadata(object, &mut unknown)?;
        let typed = resource
            .strategy
            .check_types(*version, object, &mut unknown);
        if resource.origin == Origin::BuiltIn {
            typed?;
            refuse_unknown(&unknown)?;
        }
        resource.strategy.prune_and_default(*version, object, old);
        Ok(())
    }
}

/// The body of a subresource with a kind of its own, such as `Scale`.
pub(super) struct OfBody(pub(super) [&'static str; 3]);

impl Kind for OfBody {
    fn merge_type(&self) -> Option<Type<'_>> {
        let [group, version, kind] = self.0;
        builtin::merge_type_of(group, version, kind)
    }

    fn prune_and_default(&self, object: &mut Object, _old: Option<&Object>) -> Result<(), String> {
        let [group, version, kind] = self.0;
        let table = Table::builtin();
        let mut unknown = Vec::new();
        if let Some(id) = table.kind(group, version, kind) {
            typed::read(table, id, object.fields_mut(), &mut unknown)
                .map_err(|error| error.to_string())?;
        }
        refuse_unknown(&unknown)
    }
}

fn refuse_unknown(unknown: &[String]) -> Result<(), String> {
    match unknown.first() {
        Some(field) => Err(format!("strict decoding error: unknown field {field:?}")),
        None => Ok(()),
    }
}

/// A kind whose defaults may depend on metadata that policies do not see.
pub(super) struct WithMetadata<'k> {
    pub(super) kind: &'k dyn Kind,
    pub(super) hidden: &'k [(&'static str, Value)],
}

impl Kind for WithMetadata<'_> {
    fn merge_type(&self) -> Option<Type<'_>> {
        self.kind.merge_type()
    }

    fn prune_and_default(&self, object: &mut Object, old: Option<&Object>) -> Result<(), String> {
        if !object
            .fields()
            .get("metadata")
            .is_some_and(Value::is_object)
        {
            check_metadata(object, &mut Vec::new())?;
        }
        let mut shown = Vec::new();
        for (field, value) in self.hidden {
            if !object.metadata().contains_key(*field) {
                object
                    .metadata_mut()
                    .insert((*field).to_owned(), value.clone());
                shown.push(*field);
            }
        }
        let defaulted = self.kind.prune_and_default(object, old);
        for field in shown {
            object.metadata_mut().remove(field);
        }
        defaulted
    }
}

/// A version of a resource as policies name it.
pub(crate) fn resource_version(served: &Served) -> ResourceVersion {
    let resource = &served.resource;
    let version = &*resource.versions[served.version].name;
    ResourceVersion {
        resource: GroupVersionResource::new(&*resource.group, version, &*resource.plural),
        kind: served.gvk(),
    }
}
