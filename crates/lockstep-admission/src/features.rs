//! Parts of the API beyond upstream's, which feature gates can switch off.

use std::collections::BTreeSet;

use lockstep_object::{Map, Object, Value};

use crate::api::ApiKind;
use crate::look::{list, some, text};
use crate::policy::PolicyKind;

/// One part of the API with a feature gate of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Feature {
    /// `mutations[].apply`, `applyConfiguration.unset` and `.atomics`.
    ApplyDialect,
    /// `mutations[].scope`, and the order of policies by the depth of their scope.
    Scopes,
    /// `mutations[].safety` and `mutationValidationPolicy`.
    Safety,
    /// `reinvocationPolicy: IfAffected` and `reinvocationLimit`.
    PreciseReinvocation,
    /// `convergencePolicy`, and the detection of policies that undo the changes of one another.
    Convergence,
    /// `enforcement` of bindings.
    DryRunBinding,
}

impl Feature {
    /// All features.
    pub const ALL: [Self; 6] = [
        Self::ApplyDialect,
        Self::Scopes,
        Self::Safety,
        Self::PreciseReinvocation,
        Self::Convergence,
        Self::DryRunBinding,
    ];

    /// Name of the feature gate.
    pub fn gate(self) -> &'static str {
        match self {
            Self::ApplyDialect => "MutationApplyDialect",
            Self::Scopes => "MutationScopes",
            Self::Safety => "MutationSafety",
            Self::PreciseReinvocation => "MutationPreciseReinvocation",
            Self::Convergence => "MutationConvergence",
            Self::DryRunBinding => "MutationDryRunBinding",
        }
    }
}

/// The features that are on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Features {
    off: BTreeSet<Feature>,
}

impl Features {
    /// All features except these.
    pub fn without(off: impl IntoIterator<Item = Feature>) -> Self {
        Self {
            off: off.into_iter().collect(),
        }
    }

    /// True if a feature is on.
    pub fn has(&self, feature: Feature) -> bool {
        !self.off.contains(&feature)
    }

    /// Removes fields of features that are off, unless the stored object uses the same field. Returns a warning for
    /// each field that was removed.
    pub fn drop_fields(
        &self,
        kind: ApiKind,
        object: &mut Object,
        old: Option<&Object>,
    ) -> Vec<String> {
        let null = Value::Null;
        let stored = old.and_then(|old| old.at(&["spec"])).unwrap_or(&null);
        let spec = object.fields_mut().get_mut("spec");
        let Some(spec) = spec.and_then(Value::as_object_mut) else {
            return Vec::new();
        };
        let mut dropped = Vec::new();
        for feature in &self.off {
            let before = dropped.len();
            match kind {
                ApiKind::Policy(PolicyKind::Mutating) => {
                    feature.drop_from_policy(spec, stored, &mut dropped);
                }
                ApiKind::Binding(PolicyKind::Mutating) => {
                    feature.drop_from_binding(spec, stored, &mut dropped);
                }
                ApiKind::Policy(PolicyKind::Validating)
                | ApiKind::Binding(PolicyKind::Validating) => {}
            }
            for path in &mut dropped[before..] {
                *path = format!(
                    "{path}: dropped: feature gate {} is disabled",
                    feature.gate()
                );
            }
        }
        dropped
    }
}

impl Feature {
    fn drop_from_policy(
        self,
        spec: &mut Map<String, Value>,
        stored: &Value,
        dropped: &mut Vec<String>,
    ) {
        let mut drop_field = |spec: &mut Map<String, Value>, field: &str| {
            if some(stored, field).is_none() && spec.remove(field).is_some() {
                dropped.push(format!("spec.{field}"));
            }
        };
        match self {
            Self::Convergence => drop_field(spec, "convergencePolicy"),
            Self::Safety => drop_field(spec, "mutationValidationPolicy"),
            Self::PreciseReinvocation => {
                drop_field(spec, "reinvocationLimit");
                let affected = "IfAffected";
                let is_used = text(stored, "reinvocationPolicy") == affected;
                if !is_used
                    && spec
                        .get("reinvocationPolicy")
                        .is_some_and(|is| is == affected)
                {
                    drop_field(spec, "reinvocationPolicy");
                }
                if !is_used && !spec.contains_key("reinvocationPolicy") && uses_apply_only(spec) {
                    // The default of such policies is the value that is off.
                    spec.insert("reinvocationPolicy".to_owned(), "Never".into());
                }
            }
            Self::ApplyDialect | Self::Scopes | Self::DryRunBinding => {}
        }
        let fields: &[&[&str]] = match self {
            Self::ApplyDialect => &[
                &["apply"],
                &["applyConfiguration", "unset"],
                &["applyConfiguration", "atomics"],
            ],
            Self::Scopes => &[&["scope"]],
            Self::Safety => &[&["safety"]],
            Self::PreciseReinvocation | Self::Convergence | Self::DryRunBinding => &[],
        };
        let mutations = spec.get_mut("mutations").and_then(Value::as_array_mut);
        for (index, mutation) in mutations.into_iter().flatten().enumerate() {
            for path in fields {
                let uses = |mutation: &Value| {
                    let found = path.iter().try_fold(mutation, |at, field| at.get(field));
                    found.is_some_and(|value| !value.is_null())
                };
                if uses(mutation) && !list(stored, "mutations").iter().any(uses) {
                    remove(mutation, path);
                    dropped.push(format!("spec.mutations[{index}].{}", path.join(".")));
                }
            }
        }
    }

    fn drop_from_binding(
        self,
        spec: &mut Map<String, Value>,
        stored: &Value,
        dropped: &mut Vec<String>,
    ) {
        let is_unused = self == Self::DryRunBinding && some(stored, "enforcement").is_none();
        if is_unused && spec.remove("enforcement").is_some() {
            dropped.push("spec.enforcement".to_owned());
        }
    }
}

fn uses_apply_only(spec: &Map<String, Value>) -> bool {
    let mutations = spec.get("mutations").and_then(Value::as_array);
    mutations.is_some_and(|all| {
        !all.is_empty() && all.iter().all(|mutation| some(mutation, "apply").is_some())
    })
}

fn remove(value: &mut Value, path: &[&str]) {
    let Some((last, outer)) = path.split_last() else {
        return;
    };
    let place = outer.iter().try_fold(value, |at, field| at.get_mut(*field));
    if let Some(entries) = place.and_then(Value::as_object_mut) {
        entries.remove(*last);
    }
}

/// Fields beyond upstream's that a stored policy or binding has and its replacement has not. A client that knows
/// upstream's types alone loses them when it writes back what it read.
pub fn lost_fields(kind: ApiKind, new: &Object, old: &Object) -> Vec<String> {
    let null = Value::Null;
    let (new, old) = (
        new.at(&["spec"]).unwrap_or(&null),
        old.at(&["spec"]).unwrap_or(&null),
    );
    let lost_of = |place: &str, fields: &[&str], new: &Value, old: &Value| -> Vec<String> {
        let is_lost = |field: &&&str| some(old, field).is_some() && some(new, field).is_none();
        let fields = fields.iter().filter(is_lost);
        fields.map(|field| format!("{place}.{field}")).collect()
    };
    match kind {
        ApiKind::Policy(PolicyKind::Mutating) => {
            let mut lost = lost_of("spec", &OWN_FIELDS, new, old);
            let mutations = list(new, "mutations").iter().zip(list(old, "mutations"));
            for (index, (new, old)) in mutations.enumerate() {
                let place = format!("spec.mutations[{index}]");
                lost.extend(lost_of(&place, &OWN_MUTATION_FIELDS, new, old));
                let field = "applyConfiguration";
                let place = format!("{place}.{field}");
                let own = ["unset", "atomics"];
                lost.extend(lost_of(&place, &own, &new[field], &old[field]));
            }
            lost
        }
        ApiKind::Binding(PolicyKind::Mutating) => lost_of("spec", &["enforcement"], new, old),
        ApiKind::Policy(PolicyKind::Validating) | ApiKind::Binding(PolicyKind::Validating) => {
            Vec::new()
        }
    }
}

/// Fields of a policy beyond upstream's.
const OWN_FIELDS: [&str; 3] = [
    "reinvocationLimit",
    "convergencePolicy",
    "mutationValidationPolicy",
];
/// Fields of a mutation beyond upstream's.
const OWN_MUTATION_FIELDS: [&str; 4] = ["name", "apply", "scope", "safety"];
