//! The loops that are switched on.

use std::time::Duration;

use lockstep_controllers::{
    Action, Aggregation, ApiServices, Change, Controller, Furnish, Garbage, Namespaces, Quotas,
    Resource, World,
};
use lockstep_object::metadata::Seconds;

use super::LoopConfig;

/// All loops; one that is switched off is none.
pub(super) struct Machines {
    garbage: Option<Garbage>,
    namespaces: Option<Namespaces>,
    furnish: Vec<Furnish>,
    aggregation: Option<Aggregation>,
    quotas: Option<Quotas>,
    /// What the server says of itself is always right.
    api_services: ApiServices,
}

impl Machines {
    pub(super) fn new(config: &LoopConfig) -> Self {
        let is_on = |controller| config.controllers.has(controller);
        let accounts = is_on(Controller::ServiceAccount).then(Furnish::service_accounts);
        let root_ca = is_on(Controller::RootCaPublisher).then(|| Furnish::root_ca(&config.root_ca));
        Self {
            garbage: is_on(Controller::GarbageCollector).then(Garbage::default),
            namespaces: is_on(Controller::Namespace)
                .then(|| Namespaces::with_grace(config.namespace_grace)),
            furnish: accounts.into_iter().chain(root_ca).collect(),
            aggregation: is_on(Controller::ClusterRoleAggregation).then(Aggregation::default),
            quotas: is_on(Controller::ResourceQuota).then(Quotas::default),
            api_services: ApiServices::default(),
        }
    }

    /// Hands a change to every loop.
    pub(super) fn observe(&mut self, change: &Change<'_>) {
        if let Some(garbage) = &mut self.garbage {
            garbage.observe(change);
        }
        if let Some(namespaces) = &mut self.namespaces {
            namespaces.observe(change);
        }
        for furnish in &mut self.furnish {
            furnish.observe(change);
        }
        if let Some(aggregation) = &mut self.aggregation {
            aggregation.observe(change);
        }
        if let Some(quotas) = &mut self.quotas {
            quotas.observe(change);
        }
        self.api_services.observe(change);
    }

    /// A resource is served no longer.
    pub(super) fn forget(&mut self, resource: &Resource) {
        if let Some(garbage) = &mut self.garbage {
            garbage.forget(resource);
        }
        if let Some(quotas) = &mut self.quotas {
            quotas.forget(resource);
        }
    }

    /// What is served has changed.
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

    /// When to plan again though nothing changes, in the time of [`plan`](Self::plan).
    pub(super) fn due(&self) -> Option<Duration> {
        self.namespaces.as_ref()?.due()
    }

    /// What all loops want done. `elapsed` is the time since they began.
    pub(super) fn plan(
        &mut self,
        world: &dyn World,
        now: Seconds,
        elapsed: Duration,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        if let Some(garbage) = &mut self.garbage {
            actions.extend(garbage.plan(world, now));
        }
        if let Some(namespaces) = &mut self.namespaces {
            actions.extend(namespaces.plan(world, now, elapsed));
        }
        for furnish in &mut self.furnish {
            actions.extend(furnish.plan(world));
        }
        if let Some(aggregation) = &mut self.aggregation {
            actions.extend(aggregation.plan(world));
        }
        if let Some(quotas) = &mut self.quotas {
            actions.extend(quotas.plan(world, now));
        }
        actions.extend(self.api_services.plan(world, now));
        actions
    }
}
