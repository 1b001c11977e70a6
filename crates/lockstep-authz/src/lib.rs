//! Role-based access control: authorization with reasons, and the privilege escalation check.
//!
//! ```
//! use lockstep_authz::{Attributes, Decision, Policies, Target, User};
//! use lockstep_object::Object;
//! use serde_json::json;
//!
//! let mut policies = Policies::default();
//! for object in [
//!     json!({"kind": "ClusterRole", "metadata": {"name": "viewer"},
//!         "rules": [{"apiGroups": ["ex.io"], "resources": ["widgets"], "verbs": ["get", "list"]}]}),
//!     json!({"kind": "ClusterRoleBinding", "metadata": {"name": "viewers"},
//!         "roleRef": {"kind": "ClusterRole", "name": "viewer"}, "subjects": [{"kind": "User", "name": "alice"}]}),
//! ] {
//!     policies.put(&Object::from_value(object).expect("it is a map"));
//! }
//! let alice = User::new("alice", ["system:authenticated"]);
//! let list = Attributes { user: &alice, verb: "list", target: Target::resource("ex.io", "widgets") };
//! assert_eq!(
//!     policies.authorize(&list),
//!     Decision::allow("RBAC: allowed by ClusterRoleBinding \"viewers\" of ClusterRole \"viewer\" to User \"alice\"")
//! );
//! let target = Target::resource("ex.io", "widgets").named("a").in_namespace("n");
//! let delete = Attributes { user: &alice, verb: "delete", target };
//! assert_eq!(policies.authorize(&delete), Decision::deny(""));
//! assert_eq!(
//!     delete.denial(""),
//!     "User \"alice\" cannot delete resource \"widgets\" in API group \"ex.io\" in the namespace \"n\""
//! );
//! ```

mod aggregation;
mod attributes;
mod binding;
mod defaults;
mod escalation;
mod policies;
mod rule;
mod user;
mod validate;

pub use aggregation::aggregated_rules;
pub use attributes::{Attributes, Authorizer, Decision, Target};
pub use binding::{Binding, RoleKind, RoleRef, Subject};
pub use defaults::{AUTO_UPDATE, Reconciled, default_objects, reconciled};
pub use escalation::{Escalation, check_binding_write, check_role_write};
pub use policies::Policies;
pub use rule::{PolicyRule, uncovered};
pub use user::{ANONYMOUS_USER, AUTHENTICATED_GROUP, MASTERS_GROUP, UNAUTHENTICATED_GROUP, User};
pub use validate::{validate_binding, validate_binding_update, validate_role};

/// The API group of roles and bindings.
pub const GROUP: &str = "rbac.authorization.k8s.io";
