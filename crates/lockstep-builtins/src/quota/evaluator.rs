//! Usage evaluators by resource.

use std::collections::BTreeMap;

use lockstep_object::Value;
use lockstep_object::metadata::Seconds;

use super::scopes::{self, ScopeProperties};
use super::{claims, device_claims, pods, services};
use crate::amounts::{self, Amounts};

/// Computes the quota usage of the objects of one resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evaluator {
    /// `count/plural.group`
    count: String,
    measure: Measure,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Measure {
    Pods,
    Services,
    Claims,
    DeviceClaims,
    /// Only the number of objects, which may have a second name.
    Count(Option<&'static str>),
}

/// Kind of write, as far as quotas distinguish it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Write {
    /// It is new.
    Create,
    /// It is changed.
    Update,
    /// Its status is changed.
    Status,
    /// An update through the resize subresource of a pod.
    Resize,
    /// Anything else.
    Other,
}

/// One object, as far as quotas care.
#[derive(Clone, PartialEq, Debug)]
pub struct Counted {
    /// The usage.
    pub(super) uses: Amounts,
    pub(super) scope_properties: ScopeProperties,
    /// Time at which usage drops without a write.
    frees_at: Option<Seconds>,
}

/// Measures of resources by group and plural, which quotas use as names. The number of all others can be limited.
const MEASURES: &[(&str, &str, Measure)] = &[
    ("", "pods", Measure::Pods),
    ("", "services", Measure::Services),
    ("", "persistentvolumeclaims", Measure::Claims),
    ("resource.k8s.io", "resourceclaims", Measure::DeviceClaims),
    ("", "configmaps", Measure::Count(Some("configmaps"))),
    (
        "",
        "replicationcontrollers",
        Measure::Count(Some("replicationcontrollers")),
    ),
    ("", "resourcequotas", Measure::Count(Some("resourcequotas"))),
    ("", "secrets", Measure::Count(Some("secrets"))),
];

/// Group and plural of resources that quotas cannot limit.
const UNLIMITED: [(&str, &str); 2] = [("", "events"), ("events.k8s.io", "events")];

impl Measure {
    fn of(group: &str, plural: &str) -> Self {
        let known = MEASURES.iter().find(|(known_group, known_plural, _)| {
            (*known_group, *known_plural) == (group, plural)
        });
        known.map_or(Self::Count(None), |(_, _, measure)| *measure)
    }
}

impl Evaluator {
    /// The evaluator of a resource; none if quotas cannot limit it.
    pub fn of(group: &str, plural: &str) -> Option<Self> {
        if Self::ignores(group, plural) {
            return None;
        }
        let measure = Measure::of(group, plural);
        let count = match group {
            "" => format!("count/{plural}"),
            group => format!("count/{plural}.{group}"),
        };
        Some(Self { count, measure })
    }

    /// True if quotas cannot limit a resource.
    pub fn ignores(group: &str, plural: &str) -> bool {
        UNLIMITED.contains(&(group, plural))
    }

    /// True if objects of the resource may use this quota resource.
    pub fn measures(&self, name: &str) -> bool {
        name == self.count
            || match self.measure {
                Measure::Pods => pods::use_some(name),
                Measure::Services => services::use_some(name),
                Measure::Claims => claims::use_some(name),
                Measure::DeviceClaims => device_claims::use_some(name),
                Measure::Count(alias) => alias == Some(name),
            }
    }

    /// True if usage depends on the contents of an object, not only on its existence.
    pub fn depends_on_contents(&self) -> bool {
        !matches!(self.measure, Measure::Count(_))
    }

    /// True if a write may increase usage.
    pub fn may_increase_usage(&self, write: Write, new: &Value, old: Option<&Value>) -> bool {
        match (self.measure, write) {
            (Measure::Pods, Write::Update) => {
                let ends = |pod: &Value| pod["spec"]["activeDeadlineSeconds"].is_i64();
                old.is_some_and(|old| ends(old) != ends(new))
            }
            (_, Write::Create)
            | (Measure::Pods, Write::Resize)
            | (Measure::Services | Measure::Claims | Measure::DeviceClaims, Write::Update) => true,
            (Measure::Claims, Write::Status) => old.is_some_and(|old| claims::is_other(new, old)),
            _ => false,
        }
    }

    /// Usage of an object at a time.
    pub fn counted(&self, object: &Value, now: Seconds) -> Counted {
        let one = || amounts::whole(1);
        let mut uses = BTreeMap::from([(self.count.clone(), one())]);
        let mut frees_at = None;
        let scope_properties = match self.measure {
            Measure::Pods => {
                frees_at = pods::frees_at(object).filter(|at| *at > now);
                if !pods::is_over(object, now) {
                    uses.extend(pods::uses(object));
                }
                scopes::of_pod(object)
            }
            Measure::Services => {
                uses.extend(services::uses(object));
                ScopeProperties::Other
            }
            Measure::Claims => {
                uses.extend(claims::uses(object));
                scopes::of_claim(object)
            }
            Measure::DeviceClaims => {
                uses.extend(device_claims::uses(object));
                ScopeProperties::Other
            }
            Measure::Count(alias) => {
                uses.extend(alias.map(|alias| (alias.to_owned(), one())));
                ScopeProperties::Other
            }
        };
        Counted {
            uses,
            scope_properties,
            frees_at,
        }
    }

    /// Fields that an object must specify for the limited resources, as an error message.
    pub(super) fn missing_resources(&self, object: &Value, limited: &[&str]) -> Option<String> {
        match self.measure {
            Measure::Pods => pods::missing_resources(object, limited),
            _ => None,
        }
    }
}

impl Counted {
    /// True if the counted usage has expired.
    pub fn is_stale(&self, now: Seconds) -> bool {
        self.frees_at.is_some_and(|at| at < now)
    }
}
