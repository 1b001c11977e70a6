//! Feature gates for single fields of custom resources: fields of closed gates are frozen at their stored value.
//!
//! ```
//! use lockstep_fieldgate::Gates;
//! use lockstep_object::Object;
//! use serde_json::json;
//!
//! let definition = Object::from_value(json!({"spec": {
//!     "versions": [{"name": "v1", "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {
//!         "spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}}
//!     }}}}],
//!     "customFeatureGates": {"component": "istio", "featureGates": [
//!         {"name": "Replicas", "preRelease": "alpha", "fieldPaths": [".spec.replicas"]}
//!     ]}
//! }})).expect("it is a map");
//! let gates = Gates::compile(&definition).expect("a gate is closed");
//!
//! let stored = json!({"spec": {"replicas": 3}});
//! let mut object = json!({"spec": {"replicas": 5}});
//! let actions = gates.apply(&mut object, Some(&stored));
//! assert_eq!(object, stored);
//! assert_eq!(
//!     gates.warnings(&actions),
//!     ["spec.replicas: not updated: feature gate istio/Replicas (alpha) is disabled, the stored value was kept"]
//! );
//! ```

mod action;
mod changes;
mod check;
mod explain;
mod export;
mod frozen;
mod gate;
mod gates;
mod lint;
mod named;
mod ownership;
mod path;
mod place;
mod publish;
mod relax;
mod same;
mod step;
mod switch;
mod usage;

pub use action::{Action, Kind};
pub use changes::gate_warnings;
pub use check::{GATES_MAX, PATHS_MAX, check_gates};
pub use explain::{AffectingGate, ExplainError, Explanation, Position, explain};
pub use export::{ExportError, Exported, Import, export, import, read_export};
pub use frozen::{ObjectStates, difference, frozen_in_version};
pub use gate::{ANNOTATION, Gate, GateList, Policy, Rule, Stage, State};
pub use gates::Gates;
pub use lint::{LintFinding, LintRule, Severity, lint};
use lockstep_object::field::FieldErrors;
pub use path::{FieldPath, PATH_BYTES_MAX, PathError, Segment};
pub use publish::{publish, status};
pub use relax::relax_closed_fields;
pub use switch::{MANAGER, Switch, SwitchError, Switched, switch};
pub use usage::{FieldUsage, NAMES_MAX, Usage};
