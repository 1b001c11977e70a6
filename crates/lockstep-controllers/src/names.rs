//! Resources that controllers act on: the one table of their groups and plurals.

use lockstep_authz::GROUP as RBAC;

use crate::Resource;

/// Group and plural of a resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourceName {
    pub(crate) group: &'static str,
    plural: &'static str,
}

pub(crate) const API_SERVICES: ResourceName = name("apiregistration.k8s.io", "apiservices");
pub(crate) const CLUSTER_ROLES: ResourceName = name(RBAC, "clusterroles");
pub(crate) const CONFIG_MAPS: ResourceName = name("", "configmaps");
pub(crate) const EVENTS: ResourceName = name("", "events");
pub(crate) const LEASES: ResourceName = name("coordination.k8s.io", "leases");
pub(crate) const NAMESPACES: ResourceName = name("", "namespaces");
pub(crate) const PODS: ResourceName = name("", "pods");
pub(crate) const RESOURCE_QUOTAS: ResourceName = name("", "resourcequotas");
pub(crate) const SERVICE_ACCOUNTS: ResourceName = name("", "serviceaccounts");

const fn name(group: &'static str, plural: &'static str) -> ResourceName {
    ResourceName { group, plural }
}

impl ResourceName {
    /// The resource, to name objects of it.
    pub(crate) fn resource(self) -> Resource {
        Resource::new(self.group, self.plural)
    }

    /// True for this resource.
    pub(crate) fn is(self, resource: &Resource) -> bool {
        *resource.group == *self.group && *resource.plural == *self.plural
    }
}
