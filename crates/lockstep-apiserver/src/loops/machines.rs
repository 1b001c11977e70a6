//! The enabled controllers.

use std::time::Duration;

use lockstep_controllers::{
    Action, Aggregation, ApiServices, Change, ClusterView, Controller, Garbage, NamespaceDefaults,
    Namespaces, Quotas, Resource,
};
use lockstep_object::metadata::Seconds;

use super::LoopConfig;

/// All controllers; none for a disabled one.
pub(super) struct Machines {
    garbage: Option<Garbage>,
    namespaces: Option<Namespaces>,
    namespace_defaults: Vec<NamespaceDefaults>,
    aggregation: Option<Aggregation>,
    quotas: Option<Quotas>,
    /// Always enabled: `APIService` objects describe the server itself.
    api_services: ApiServices,
}

impl Machines {
    pub(super) fn new(config: &LoopConfig) -> Self {
        let is_on = |controller| config.controllers.has(controller);
        let accounts = is_on(Controller::ServiceAccount).then(NamespaceDefaults::service_accounts);
        let root_ca =
            is_on(Controller::RootCaPublisher).then(|| NamespaceDefaults::root_ca(&config.root_ca));
        Self {
            garbage: is_on(Controller::GarbageCollector).then(Garbage::default),
            namespaces: is_on(Controller::Namespace)
                .then(|| Namespaces::with_grace(config.namespace_grace)),
            namespace_defaults: accounts.into_iter().chain(root_ca).collect(),
            aggregation: is_on(Controller::ClusterRoleAggregation).then(Aggregation::default),
            quotas: is_on(Controller::ResourceQuota).then(Quotas::default),
            api_services: ApiServices::default(),
        }
    }

    /// Delivers a change to every controller.
    pub(super) fn observe(&mut self, change: &Change<'_>) {
        if let Some(garbage) = &mut self.garbage {
            garbage.observe(change);
        }
        if let Some(namespaces) = &mut self.namespaces {
            namespaces.observe(change);
        }
        for namespace_defaults in &mut self.namespace_defaults {
            namespace_defaults.observe(change);
        }
        if let Some(aggregation) = &mut self.aggregation {
            aggregation.observe(change);
        }
        if let Some(quotas) = &mut self.quotas {
            quotas.observe(change);
        }
        self.api_services.observe(change);
    }

    /// Drops the state of a resource that is no longer served.
    pub(super) fn forget(&mut self, resource: &Resource) {
        if let Some(garbage) = &mut self.garbage {
            garbage.forget(resource);
        }
        if let Some(quotas) = &mut self.quotas {
            quotas.forget(resource);
        }
    }

    /// Informs the controllers that the served resources changed.
    pub(super) fn kinds_changed(&mut self) {
        if let Some(garbage) = &mut self.garbage {
            garbage.kinds_changed();
        }
        if let Some(namespaces) = &mut self.namespaces {
            namespaces.kinds_changed();
        }
        if let Some(quotas) = &mut self.quotas {
            quotas.kinds_changed();
        }
        self.api_services.kinds_changed();
    }

    /// Time of the next plan if nothing changes, in the time base of [`plan`](Self::plan).
    pub(super) fn due(&self) -> Option<Duration> {
        self.namespaces.as_ref()?.due()
    }

    /// Actions of all controllers. `elapsed` is the time since they started.
    pub(super) fn plan(
        &mut self,
        cluster: &dyn ClusterView,
        now: Seconds,
        elapsed: Duration,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        if let Some(garbage) = &mut self.garbage {
            actions.extend(garbage.plan(cluster, now));
        }
        if let Some(namespaces) = &mut self.namespaces {
            actions.extend(namespaces.plan(cluster, now, elapsed));
        }
        for namespace_defaults in &mut self.namespace_defaults {
            actions.extend(namespace_defaults.plan(cluster));
        }
        if let Some(aggregation) = &mut self.aggregation {
            actions.extend(aggregation.plan(cluster));
        }
        if let Some(quotas) = &mut self.quotas {
            actions.extend(quotas.plan(cluster, now));
        }
        actions.extend(self.api_services.plan(cluster, now));
        actions
    }
}
