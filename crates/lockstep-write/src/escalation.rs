//! RBAC privilege escalation prevention for roles and bindings.

use lockstep_authz::{check_binding_write, check_role_write};
use lockstep_object::{ApiError, Object};

use super::{InFlight, WritePath};

impl WritePath<'_> {
    /// Rejects a role or binding that grants permissions which the user does not have.
    pub(super) fn check_escalation(
        &self,
        request: &InFlight<'_>,
        object: &Object,
        old: Option<&Object>,
    ) -> Result<(), ApiError> {
        let resource = &request.served.resource;
        if *resource.group != *lockstep_authz::GROUP {
            return Ok(());
        }
        let policies = self.env.policies();
        let verdict = match &*resource.plural {
            "roles" | "clusterroles" => check_role_write(&policies, request.user, object, old),
            _ => check_binding_write(&policies, request.user, object, old),
        };
        verdict.map_err(|why| {
            ApiError::forbidden(&resource.group_resource(), object.name(), why.to_string())
        })
    }
}
