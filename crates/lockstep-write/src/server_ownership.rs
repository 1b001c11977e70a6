//! `managedFields` of objects created by the server, with the manager names of upstream.

use lockstep_merge::fields::Set;
use lockstep_merge::managers::{Endpoint, ManagedFields, Writer, update};
use lockstep_merge::types::Type;
use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};

use super::managed_fields::{remove, write_managed_fields};
use super::origin::WriteOrigin;
use super::ownable::{empty, ownable};
use super::{Origin, Resource};

/// Field manager of bootstrap objects.
const SERVER: &str = "kube-apiserver";
/// Field manager of objects that controllers create.
const CONTROLLERS: &str = "kube-controller-manager";

/// Ownership rules for objects that the server creates.
struct ServerObject<'a>(&'a Resource);

/// Error of conversion, which a create never needs.
#[derive(Debug)]
struct OtherVersion;

impl Endpoint for ServerObject<'_> {
    type Error = OtherVersion;

    fn type_of(&self, api_version: &str) -> Option<Type<'_>> {
        let version = self.0.version_of(api_version)?;
        self.0.strategy.merge_type(version)
    }

    fn convert(&self, _object: &Value, _api_version: &str) -> Result<Value, OtherVersion> {
        Err(OtherVersion)
    }

    fn empty(&self, api_version: &str) -> Value {
        empty(self.0, api_version)
    }

    fn owned(&self, api_version: &str, fields: Set) -> Set {
        ownable(self.0, api_version, None, fields)
    }
}

/// Sets the `managedFields` of an object created by the server. Fields that the server sets on every object of the
/// kind have no owner.
pub(super) fn set_managed_fields_of_server_object(
    origin: WriteOrigin,
    resource: &Resource,
    object: &mut Object,
) {
    let Ok(now) = object.creation_timestamp().parse::<Seconds>() else {
        return;
    };
    if resource.origin != Origin::BuiltIn || !object.managed_fields().is_empty() {
        return;
    }
    let mut owned = object.clone();
    for path in resource.strategy.server_fields() {
        remove(owned.fields_mut(), path);
    }
    let writer = Writer {
        manager: match origin {
            WriteOrigin::Controller { .. } => CONTROLLERS,
            WriteOrigin::Client | WriteOrigin::System => SERVER,
        },
        api_version: &resource.api_version(resource.encoding_version().index()),
        subresource: "",
        now,
    };
    let nothing = ManagedFields::default();
    if let Ok(managed) = update(
        &ServerObject(resource),
        None,
        owned.as_value(),
        nothing,
        &writer,
    ) {
        write_managed_fields(object, managed.write());
    }
}
