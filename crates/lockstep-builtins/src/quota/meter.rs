//! What objects use, by resource.

use std::collections::BTreeMap;

use lockstep_object::Value;
use lockstep_object::metadata::Seconds;

use super::scopes::{self, Standing};
use super::{claims, device_claims, pods, services};
use crate::amounts::{self, Amounts};

/// Knows what objects of one resource use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meter {
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
    /// Nothing but how many there are, which may have a second name.
    Count(Option<&'static str>),
}

/// What is done to an object, as far as quotas care.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Write {
    /// It is new.
    Create,
    /// It is changed.
    Update,
    /// Its status is changed.
    Status,
    /// What the containers of a pod may use is changed.
    Resize,
    /// Anything else.
    Other,
}

/// One object, as far as quotas care.
#[derive(Clone, PartialEq, Debug)]
pub struct Counted {
    /// What it uses.
    pub(super) uses: Amounts,
    pub(super) standing: Standing,
    /// When it uses less without being changed.
    frees_at: Option<Seconds>,
}

/// What is counted under a second, older name.
const ALIASES: [&str; 4] = [
    "configmaps",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
];

impl Meter {
    /// What measures a resource; none if no quota is about it.
    pub fn of(group: &str, plural: &str) -> Option<Self> {
        if Self::ignores(group, plural) {
            return None;
        }
        let measure = match (group, plural) {
            ("", "pods") => Measure::Pods,
            ("", "services") => Measure::Services,
            ("", "persistentvolumeclaims") => Measure::Claims,
            ("resource.k8s.io", "resourceclaims") => Measure::DeviceClaims,
            ("", plural) => Measure::Count(ALIASES.into_iter().find(|alias| *alias == plural)),
            _ => Measure::Count(None),
        };
        let count = match group {
            "" => format!("count/{plural}"),
            group => format!("count/{plural}.{group}"),
        };
        Some(Self { count, measure })
    }

    /// Whether no quota is about a resource.
    pub fn ignores(group: &str, plural: &str) -> bool {
        matches!((group, plural), ("" | "events.k8s.io", "events"))
    }

    /// Whether objects of the resource may use something.
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

    /// Whether it matters what is in an object, and not only that it is there.
    pub fn looks_inside(&self) -> bool {
        !matches!(self.measure, Measure::Count(_))
    }

    /// Whether a write may use more than was used before.
    pub fn minds(&self, write: Write, new: &Value, old: Option<&Value>) -> bool {
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

    /// What an object uses at a time.
    pub fn counted(&self, object: &Value, now: Seconds) -> Counted {
        let one = || amounts::whole(1);
        let mut uses = BTreeMap::from([(self.count.clone(), one())]);
        let mut frees_at = None;
        let standing = match self.measure {
            Measure::Pods => {
                frees_at = pods::frees_at(object).filter(|at| *at > now);
                if !pods::is_over(object, now) {
                    uses.extend(pods::uses(object));
                }
                scopes::of_pod(object)
            }
            Measure::Services => {
                uses.extend(services::uses(object));
                Standing::Other
            }
            Measure::Claims => {
                uses.extend(claims::uses(object));
                scopes::of_claim(object)
            }
            Measure::DeviceClaims => {
                uses.extend(device_claims::uses(object));
                Standing::Other
            }
            Measure::Count(alias) => {
                uses.extend(alias.map(|alias| (alias.to_owned(), one())));
                Standing::Other
            }
        };
        Counted {
            uses,
            standing,
            frees_at,
        }
    }

    /// What an object has to say before a quota that limits something lets it in.
    pub(super) fn unsaid(&self, object: &Value, limited: &[&str]) -> Option<String> {
        match self.measure {
            Measure::Pods => pods::unsaid(object, limited),
            _ => None,
        }
    }
}

impl Counted {
    /// Whether the object uses less by now than it was counted with.
    pub fn is_stale(&self, now: Seconds) -> bool {
        self.frees_at.is_some_and(|at| at < now)
    }
}
