//! Controller selection: `--controllers`.

use std::collections::BTreeSet;
use std::str::FromStr;

/// The loops by the names of kube-controller-manager.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Controller {
    /// Deletes what has no owner any more.
    GarbageCollector,
    /// Deletes the contents of terminating namespaces.
    Namespace,
    /// Creates the default service account of each namespace.
    ServiceAccount,
    /// Gives each namespace the authority of the cluster.
    RootCaPublisher,
    /// Fills aggregated roles.
    ClusterRoleAggregation,
    /// Recalculates the usage of resource quotas.
    ResourceQuota,
}

impl Controller {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::ClusterRoleAggregation,
        Self::GarbageCollector,
        Self::Namespace,
        Self::ResourceQuota,
        Self::RootCaPublisher,
        Self::ServiceAccount,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::GarbageCollector => "garbage-collector-controller",
            Self::Namespace => "namespace-controller",
            Self::ServiceAccount => "serviceaccount-controller",
            Self::RootCaPublisher => "root-ca-certificate-publisher-controller",
            Self::ClusterRoleAggregation => "clusterrole-aggregation-controller",
            Self::ResourceQuota => "resourcequota-controller",
        }
    }
}

/// The set of enabled controllers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnabledControllers(BTreeSet<Controller>);

/// A name that no loop has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{name:?} is not in the list of known controllers: {}", known())]
pub struct UnknownController {
    name: String,
}

fn known() -> String {
    Controller::ALL.map(Controller::name).join(", ")
}

impl EnabledControllers {
    /// True if a controller is enabled.
    pub fn has(&self, controller: Controller) -> bool {
        self.0.contains(&controller)
    }
}

impl Default for EnabledControllers {
    fn default() -> Self {
        Self(Controller::ALL.into())
    }
}

impl FromStr for EnabledControllers {
    type Err = UnknownController;

    /// `*` means all, `name` one, `-name` all but one; whatever is named wins over `*`.
    fn from_str(text: &str) -> Result<Self, UnknownController> {
        let mut chosen = BTreeSet::new();
        let items = || {
            text.split(',')
                .map(str::trim)
                .filter(|item| !item.is_empty())
        };
        if items().any(|item| item == "*") {
            chosen.extend(Controller::ALL);
        }
        for item in items().filter(|item| *item != "*") {
            let name = item.strip_prefix('-').unwrap_or(item);
            let mut all = Controller::ALL.into_iter();
            let found = all.find(|controller| controller.name() == name);
            let unknown = || UnknownController {
                name: name.to_owned(),
            };
            let found = found.ok_or_else(unknown)?;
            if item.starts_with('-') {
                chosen.remove(&found);
            } else {
                chosen.insert(found);
            }
        }
        Ok(Self(chosen))
    }
}
