//! Writes of policies and bindings: permission to read their parameters, and fields beyond upstream's.

use lockstep_authz::{Attributes as Authorized, Target, User};
use lockstep_object::field::{FieldError, Path};
use lockstep_object::{Object, Value};

use lockstep_admission::api::{ApiKind, EARLY_SHAPE, convert_early_shape};
use lockstep_admission::features::lost_fields;
use lockstep_admission::policy::PolicyKind;
use lockstep_catalog::Verb;

use super::super::super::{InFlight, WritePath};
use super::served_kind;

impl WritePath<'_> {
    /// Drops fields whose feature gate is off, and warns of fields that an update drops because its client does not know
    /// them.
    pub(crate) fn keep_policy_fields(
        &self,
        request: &InFlight<'_>,
        object: &mut Object,
        old: Option<&Object>,
    ) {
        let Some(kind) = ApiKind::of(object) else {
            return;
        };
        if convert_early_shape(object) {
            request.notes.warn(EARLY_SHAPE);
        }
        if let Some(old) = old.filter(|_| request.route.verb == Verb::Update)
            && request.route.subresource.is_empty()
        {
            for field in lost_fields(kind, object, old) {
                request.notes.warn(format!(
                    "{field}: removed by this update; clients that do not know the field lose it, patch and apply keep it"
                ));
            }
        }
        let features = self.env.policy_features();
        for dropped in features.drop_fields(kind, object, old) {
            request.notes.warn(dropped);
        }
    }

    /// The error for a new or changed `paramKind` or `paramRef` whose objects the user may not read.
    pub(crate) fn check_param_access(
        &self,
        request: &InFlight<'_>,
        object: &Object,
        old: Option<&Object>,
    ) -> Option<FieldError> {
        let kind = ApiKind::of(object)?;
        if request.user.is_master() {
            return None;
        }
        let null = Value::Null;
        let spec = object.at(&["spec"]).unwrap_or(&null);
        let stored = old.and_then(|old| old.at(&["spec"])).unwrap_or(&null);
        let is_changed = |field: &str| spec[field] != stored[field];
        let path = Path::ROOT.field("spec");
        match kind {
            ApiKind::Policy(_) if spec["paramKind"].is_object() && is_changed("paramKind") => {
                let refused = self
                    .check_param_kind(request.user, &spec["paramKind"])
                    .err()?;
                Some(FieldError::forbidden(&path.field("paramKind"), refused))
            }
            ApiKind::Binding(kind)
                if spec["paramRef"].is_object()
                    && (is_changed("paramRef") || is_changed("policyName")) =>
            {
                let refused = self.check_param_ref(request.user, kind, spec).err()?;
                Some(FieldError::forbidden(&path.field("paramRef"), refused))
            }
            ApiKind::Policy(_) | ApiKind::Binding(_) => None,
        }
    }

    /// The user of a policy with parameters must be allowed to get all objects of their kind.
    fn check_param_kind(&self, user: &User, param_kind: &Value) -> Result<(), String> {
        let text = |field: &str| param_kind[field].as_str().unwrap_or_default();
        let (group, resource) = self.param_target(param_kind);
        let allowed = self.is_allowed(user, "get", (&group, &resource), ("*", "*"));
        if allowed {
            return Ok(());
        }
        Err(format!(
            "user {} must have \"get\" permission on all objects of the referenced paramKind (kind={}, apiVersion={})",
            shown(user),
            text("kind"),
            text("apiVersion"),
        ))
    }

    /// The user of a binding must be allowed to read the parameters that it names.
    fn check_param_ref(&self, user: &User, kind: PolicyKind, spec: &Value) -> Result<(), String> {
        let plural = match kind {
            PolicyKind::Mutating => "mutatingadmissionpolicies",
            PolicyKind::Validating => "validatingadmissionpolicies",
        };
        let policy_name = spec["policyName"].as_str().unwrap_or_default();
        let policy = self.cached(lockstep_admission::api::GROUP, plural, policy_name);
        let null = Value::Null;
        let param_kind = policy
            .as_ref()
            .and_then(|(policy, _)| policy.at(&["spec", "paramKind"]));
        let param_kind = param_kind.unwrap_or(&null);
        let (group, resource) = self.param_target(param_kind);
        let param_ref = &spec["paramRef"];
        let text = |field: &str| param_ref[field].as_str().unwrap_or_default();
        let name = text("name");
        let verb = if name.is_empty() { "list" } else { "get" };
        let place = (text("namespace"), name);
        if self.is_allowed(user, verb, (&group, &resource), place) {
            return Ok(());
        }
        let user = shown(user);
        let needs_all = format!(
            "to determine minimum required permissions and user {user} does not have {verb:?} permission for all groups, versions and resources"
        );
        Err(match (&policy, &*resource) {
            (None, _) => format!("unable to get policy {policy_name} {needs_all}"),
            (Some(_), "*") if param_kind.is_object() => {
                let text = |field: &str| param_kind[field].as_str().unwrap_or_default();
                let kind = format!("&{{{} {}}}", text("apiVersion"), text("kind"));
                format!("unable to resolve paramKind {kind} {needs_all}")
            }
            (Some(_), _) => format!(
                "user {user} does not have {verb:?} permission on the object referenced by paramRef"
            ),
        })
    }

    /// Group and resource of a kind of parameters, each `*` if it is unknown.
    fn param_target(&self, param_kind: &Value) -> (String, String) {
        let text = |field: &str| param_kind[field].as_str().unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let group = match api_version.split_once('/') {
            _ if api_version.is_empty() => "*",
            Some((group, _)) => group,
            None => "",
        };
        let resource = match served_kind(&self.registry(), api_version, kind) {
            Some(served) => served.resource.plural.to_string(),
            None => "*".to_owned(),
        };
        (group.to_owned(), resource)
    }

    fn is_allowed(
        &self,
        user: &User,
        verb: &str,
        (group, resource): (&str, &str),
        (namespace, name): (&str, &str),
    ) -> bool {
        let target = Target::Resource {
            group,
            version: "*",
            namespace,
            resource,
            subresource: "",
            name,
        };
        let decision = self.env.authorize(&Authorized { user, verb, target });
        decision.allowed
    }
}

/// A user as Go prints it in upstream's messages.
fn shown(user: &User) -> String {
    let groups = user.groups.join(" ");
    format!("&{{{} {} [{groups}] map[]}}", user.name, user.uid)
}
