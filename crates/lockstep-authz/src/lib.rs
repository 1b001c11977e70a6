//! Role-based access control: authorization with reasons, and the privilege escalation check.
//!
//! ```
//! use lockstep_authz::{Policies, Request, User, Verdict};
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
//! let list = Request::resource("list", "ex.io", "widgets");
//! assert_eq!(
//!     policies.authorize(&alice, &list),
//!     Verdict::Allowed(
//!         "RBAC: allowed by ClusterRoleBinding \"viewers\" of ClusterRole \"viewer\" to User \"alice\"".to_owned()
//!     )
//! );
//! let delete = Request::resource("delete", "ex.io", "widgets").named("a").in_namespace("n");
//! assert_eq!(policies.authorize(&alice, &delete), Verdict::Denied(String::new()));
//! assert_eq!(
//!     delete.denial(&alice, ""),
//!     "User \"alice\" cannot delete resource \"widgets\" in API group \"ex.io\" in the namespace \"n\""
//! );
//! ```

mod aggregation;
mod binding;
mod defaults;
mod escalation;
mod policies;
mod request;
mod rule;
mod user;
mod validate;

pub use aggregation::aggregated_rules;
pub use binding::{Binding, RoleKind, RoleRef, Subject};
pub use defaults::{AUTO_UPDATE, Reconciled, default_objects, reconciled};
pub use escalation::{Escalation, check_binding_write, check_role_write};
pub use policies::{Policies, Verdict};
pub use request::{Request, Target};
pub use rule::{PolicyRule, uncovered};
pub use user::{MASTERS_GROUP, User};
pub use validate::{validate_binding, validate_binding_update, validate_role};

/// The API group of roles and bindings.
pub const GROUP: &str = "rbac.authorization.k8s.io";
