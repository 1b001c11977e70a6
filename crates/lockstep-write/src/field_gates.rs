//! Field gates in the write path: values of fields with disabled gates, in the encoding version.

use lockstep_fieldgate::{Action, Gates, Kind, difference};
use lockstep_merge::fields::Set;
use lockstep_object::field::FieldErrors;
use lockstep_object::{ApiError, Map, Object, Value, json};
use serde_json::json;

use super::codec::{Current, encode, parse_to_change};
use super::conversion::ServedVersion as _;
use super::conversion::unreadable;
use super::environment::Observation;
use super::io::Io;
use super::{InFlight, Served, SpecialKind, WritePath};
use lockstep_catalog::crd::{Kept, keep_gates};

/// Warning for a CRD whose field gates are dropped.
const NOT_LOOKED_AT: &str =
    "spec.customFeatureGates: dropped: feature gate CRDFieldLevelVersioning is disabled";
/// Audit annotation with the actions of field gates.
pub(super) const ACTIONS: &str = "field-gates.lockstep.dev/actions";
/// Maximal number of actions in the annotation.
const ACTIONS_MAX: usize = 20;

/// Result of applying field gates.
#[derive(Default)]
pub(super) struct Gated {
    /// The object in the encoding version, if the request has another one. It includes fields that the requested
    /// version cannot express.
    pub(super) stored: Option<Object>,
    /// The current object in the encoding version, if the request has another one.
    pub(super) replaced: Option<Object>,
    actions: Vec<Action>,
    /// Fields that gates changed in the version of the request; set only if a conversion webhook hides how field
    /// paths map.
    pub(super) changed: Set,
    /// Validation errors of gates whose CRD rejects writes to gated fields.
    pub(super) errors: FieldErrors,
}

impl WritePath<'_> {
    /// Drops or restores fields of an incoming CRD or policy, as far as this server's feature gates require it.
    pub(super) fn keep_gates(
        &self,
        request: &InFlight<'_>,
        object: &mut Object,
        old: Option<&Object>,
    ) {
        let resource = &request.served.resource;
        if resource.special == SpecialKind::AdmissionConfiguration {
            self.keep_policy_fields(request, object, old);
        }
        if resource.special != SpecialKind::CustomResourceDefinition {
            return;
        }
        let gates = self.env.field_gates();
        if keep_gates(object, old, gates, request.options.is_protobuf) == Kept::Dropped {
            request.notes.warn(NOT_LOOKED_AT.to_owned());
        }
    }

    /// Restores fields with disabled gates and emits warnings. The object must be pruned and defaulted; only
    /// validation may follow.
    pub(super) async fn gate(
        &self,
        request: &InFlight<'_>,
        object: &mut Object,
        current: Option<&Current>,
    ) -> Result<Gated, ApiError> {
        let resource = &request.served.resource;
        let Some(gates) = resource.strategy.gates() else {
            return Ok(Gated::default());
        };
        let began = self.env.elapsed();
        let mut step = if request.served.version == resource.encoding_version().index() {
            let old = current.map(|current| &current.object);
            Gated {
                actions: apply(gates, object, old),
                ..Gated::default()
            }
        } else {
            request.gate_converted(gates, object, current).await?
        };
        let took = self.env.elapsed().saturating_sub(began);
        step.errors = gates.refusals(&step.actions);
        self.report_actions(request, gates, &step.actions, took);
        let live = current.map(|current| &current.object);
        if step.is_acted_upon() || request.changes_gated_ownership(gates, object, live) {
            request
                .restore_gated_ownership(gates, object, live, &step)
                .await;
        }
        Ok(step)
    }

    fn report_actions(
        &self,
        request: &InFlight<'_>,
        gates: &Gates,
        actions: &[Action],
        took: std::time::Duration,
    ) {
        for warning in gates.warnings(actions) {
            request.notes.warn(warning);
        }
        let resource = &request.served.resource;
        let crd = format!("{}.{}", resource.plural, resource.group);
        self.env.observe(&Observation::FieldGates {
            crd: &crd,
            name: &request.route.name,
            took,
            gates,
            actions,
        });
        if actions.is_empty() {
            return;
        }
        let reported = actions.iter().take(ACTIONS_MAX).map(|action| {
            json!({
                "gate": gates.name(action),
                "path": action.place(),
                "action": action.kind.as_str(),
            })
        });
        let reported: Value = reported.collect();
        let reported = json::encode_to_string(&reported);
        request.notes.annotate(ACTIONS, &reported);
    }
}

impl Gated {
    /// True if a gate changed the object.
    pub(super) fn is_acted_upon(&self) -> bool {
        self.actions.iter().any(|action| action.kind.is_of_closed())
    }

    /// Warns of deprecated fields. Called after validation, so that rejected writes do not warn.
    pub(super) fn warn_of_deprecated(&self, request: &InFlight<'_>) {
        if let Some(gates) = request.served.resource.strategy.gates() {
            for warning in gates.deprecations(&self.actions) {
                request.notes.warn(warning);
            }
        }
    }
}

impl InFlight<'_> {
    /// Applies field gates in the encoding version to an object of another version, and converts the result back.
    async fn gate_converted(
        &self,
        gates: &Gates,
        object: &mut Object,
        current: Option<&Current>,
    ) -> Result<Gated, ApiError> {
        let old = match current {
            None => None,
            Some(current) => Some(self.current_in_storage(current).await?),
        };
        let mut new = self.served.in_storage(self.io(), object.clone()).await?;
        let mut actions = apply(gates, &mut new, old.as_ref());
        let is_changed = actions.iter().any(|action| action.kind.is_of_closed());
        let is_of_removal =
            |action: &Action| matches!(action.kind, Kind::RemovalRefused | Kind::ElementRemoved);
        if let Some(current) = current
            && actions.iter().any(is_of_removal)
        {
            // A value that the requested version cannot express was not removed by the client.
            let mut same = self
                .served
                .in_storage(self.io(), current.object.clone())
                .await?;
            let lost = apply(gates, &mut same, old.as_ref());
            actions.retain(|action| !is_of_removal(action) || !lost.contains(action));
        }
        let mut changed = Set::default();
        if is_changed {
            let mut back = out_of_storage(&self.served, self.io(), new.clone()).await?;
            let metadata = std::mem::take(object.metadata_mut());
            drop(std::mem::take(back.metadata_mut()));
            if !self.has_paths(&self.api_version()) {
                changed = self.difference(object, &back);
            }
            *object = back;
            *object.metadata_mut() = metadata;
        }
        Ok(Gated {
            stored: Some(new),
            replaced: old,
            actions,
            changed,
            ..Gated::default()
        })
    }

    /// Current object in the encoding version.
    pub(super) async fn current_in_storage(&self, current: &Current) -> Result<Object, ApiError> {
        let as_stored = Served {
            resource: self.served.resource.clone(),
            version: self.served.resource.encoding_version().index(),
        };
        let value = as_stored
            .converted(self.io(), current.value.clone())
            .await?;
        parse_to_change(&as_stored, &value, current.revision)
    }

    /// `apiVersion` of the request.
    pub(super) fn api_version(&self) -> String {
        self.served.resource.api_version(self.served.version)
    }

    /// Fields in which two objects of the request's version differ.
    pub(super) fn difference(&self, one: &Object, other: &Object) -> Set {
        let strategy = &self.served.resource.strategy;
        let of_version = strategy.merge_type(self.served.version);
        of_version.map_or_else(Set::default, |of_version| {
            difference(of_version, one.as_value(), other.as_value())
        })
    }

    /// True if gate paths apply to a version: without a conversion webhook to all, else to the encoding version only.
    pub(super) fn has_paths(&self, api_version: &str) -> bool {
        let resource = &self.served.resource;
        resource.strategy.converter().is_none()
            || resource.version_of(api_version) == Some(resource.encoding_version().index())
    }

    /// Encodes an object for storage after the gate step.
    pub(super) async fn encode_gated(
        &self,
        object: Object,
        gated: &Gated,
    ) -> Result<bytes::Bytes, ApiError> {
        let Some(mut stored) = gated.stored.clone() else {
            return self.served.to_stored(self.io(), object).await;
        };
        let mut metadata = object.metadata().clone();
        metadata.remove("resourceVersion");
        for field in ["labels", "annotations"] {
            match stored.metadata_mut().remove(field) {
                Some(value) => drop(metadata.insert(field.to_owned(), value)),
                None => drop(metadata.remove(field)),
            }
        }
        *stored.metadata_mut() = metadata;
        let resource = &self.served.resource;
        encode(resource, resource.encoding_version().index(), &mut stored)
    }
}

/// Converts an object of the encoding version to the served one.
async fn out_of_storage(served: &Served, via: &Io, mut object: Object) -> Result<Object, ApiError> {
    let resource = &served.resource;
    let desired = resource.api_version(served.version);
    if resource.strategy.converter().is_some() {
        let made = via.convert(resource, vec![object], &desired).await?;
        object = made.into_iter().next().ok_or_else(unreadable)?;
    }
    let fields = object.fields_mut();
    fields.insert("apiVersion".to_owned(), desired.into());
    let strategy = &resource.strategy;
    strategy.prune_and_default(served.version, &mut object, None);
    Ok(object)
}

pub(super) fn apply(gates: &Gates, object: &mut Object, old: Option<&Object>) -> Vec<Action> {
    let taken = std::mem::replace(object, Object::from_map(Map::new()));
    let mut value = taken.into_value();
    let actions = gates.apply(&mut value, old.map(Object::as_value));
    if let Value::Object(fields) = value {
        *object = Object::from_map(fields);
    }
    actions
}
