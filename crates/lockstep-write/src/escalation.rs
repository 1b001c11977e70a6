//! RBAC privilege escalation prevention for roles and bindings.

use lockstep_authz::{check_binding_write, check_role_write};
use lockstep_object::{ApiError, Object};

use super::{InFlight, SpecialKind, WritePath};

impl WritePath<'_> {
    /// Rejects a role or binding that grants permissions which the user does not have.
    pub(super) fn check_escalation(
        &self,
        request: &InFlight<'_>,
        object: &Object,
        old: Option<&Object>,
    ) -> Result<(), ApiError> {
        let resource = &request.served.resource;
        let check = match resource.special {
            SpecialKind::Role => check_role_write,
            SpecialKind::RoleBinding => check_binding_write,
            _ => return Ok(()),
        };
        let checked = check(&self.env.policies(), request.user, object, old);
        checked.map_err(|why| {
            ApiError::forbidden(&resource.group_resource(), object.name(), why.to_string())
        })
    }
}
