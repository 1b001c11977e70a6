//! Admission policies: match, bind, evaluate, order, reinvoke.
//!
//! [`api`] knows the kinds, their fields and defaults; [`validate`] gives the causes for which a server refuses one.
//! [`policy`] and [`binding`] compile what is stored, and [`set::PolicySet`] holds all of it, in order and found by
//! resource. [`mutate::Mutating`] and [`validating::Validating`] are the phases of one request, step by step;
//! [`evaluate`] runs them for callers that have no webhooks in between. What policies see of a cluster comes through
//! [`facts::Facts`] and [`facts::Kind`]. Nothing here waits or reads a clock.
//!
//! ```
//! use lockstep_admission::api::{ApiKind, apply_defaults};
//! use lockstep_object::Object;
//! use serde_json::json;
//!
//! let mut policy = Object::from_value(json!({
//!     "apiVersion": "admissionregistration.k8s.io/v1",
//!     "kind": "MutatingAdmissionPolicy",
//!     "metadata": { "name": "team" },
//!     "spec": {
//!         "matchConstraints": { "resourceRules": [{
//!             "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
//!         }] },
//!         "reinvocationPolicy": "Never",
//!         "mutations": [{ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": "object" } }],
//!     },
//! }))
//! .expect("it is a map");
//! let kind = ApiKind::of(&policy).expect("it is a policy");
//! apply_defaults(kind, &mut policy);
//! let errors = lockstep_admission::validate(kind, &policy, None, lockstep_cel::Version::LATEST);
//! let first = &errors.as_slice()[0];
//! assert_eq!(first.field, "spec.mutations[0].applyConfiguration.expression");
//! assert_eq!(first.detail, "must evaluate to Object but got dyn");
//! ```

pub mod api;
pub mod binding;
pub mod conditions;
mod denial;
pub mod diff;
pub mod envs;
pub mod evaluate;
pub mod facts;
pub mod features;
mod inputs;
mod look;
pub mod matching;
pub mod mutate;
pub mod outcome;
pub mod policy;
pub mod request;
pub mod rules;
pub mod set;
pub mod status;
pub mod trace;
mod tuples;
mod validate;
pub mod validating;

pub use inputs::ErrorClass;
pub use validate::validate;
