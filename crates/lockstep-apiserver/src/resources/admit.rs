//! What a new object gets from other objects, or from who makes it.

use lockstep_builtins::limits;
use lockstep_object::{Object, Status, Value};
use serde_json::json;

use super::{Api, Request};
use crate::cache::Scope;

const SCHEDULING: &str = "scheduling.k8s.io";
const CLASSES: &str = "priorityclasses";

impl Api {
    /// Gives a new object what follows from others. Refuses one that names what is not there.
    pub(super) async fn admit(
        &self,
        request: &Request<'_>,
        object: &mut Object,
    ) -> Result<(), Status> {
        let resource = &request.served.resource;
        match (&*resource.group, &*resource.plural) {
            ("", "pods") => {
                self.prioritize(request, object).await?;
                let ranges = self.limit_ranges(object.namespace()).await?;
                limits::fill(object, &ranges);
                let refused = limits::check_pod(object.as_value(), &ranges);
                refuse(request, object, &refused)
            }
            ("", "persistentvolumeclaims") => {
                let ranges = self.limit_ranges(object.namespace()).await?;
                let refused = limits::check_claim(object.as_value(), &ranges);
                refuse(request, object, &refused)
            }
            ("certificates.k8s.io", "certificatesigningrequests") => {
                sign(request, object);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The limit ranges of a namespace, also those that were just made.
    async fn limit_ranges(&self, namespace: &str) -> Result<Vec<Value>, Status> {
        let registry = self.registry();
        let Some(resource) = registry.resource("", "limitranges") else {
            return Ok(Vec::new());
        };
        if self.cache.caught_up().await.is_err() {
            let why = "the store is not available";
            return Err(Status::service_unavailable(why).with_retry_after(1));
        }
        let snapshot = self.cache.bucket(&resource.bucket).snapshot();
        let scope = Scope::Namespace(namespace.into());
        let ranges = snapshot.objects(&scope, None);
        let ranges = ranges
            .filter_map(|stored| serde_json::from_slice(&stored.value).ok())
            .collect();
        Ok(ranges)
    }

    /// The priority of a pod is that of its class, or of the class for pods without one.
    async fn prioritize(&self, request: &Request<'_>, pod: &mut Object) -> Result<(), Status> {
        let resource = request.served.resource.group_resource();
        let name = pod.name().to_owned();
        let refused = |why: String| Err(Status::forbidden(&resource, &name, &why));
        let named = pod
            .at(&["spec", "priorityClassName"])
            .and_then(Value::as_str);
        let named = named.unwrap_or_default();
        let class = if named.is_empty() {
            self.default_class()
        } else {
            match self.read_internally(SCHEDULING, CLASSES, named).await {
                Some((class, _)) => Some(class),
                None => return refused(format!("no PriorityClass with name {named} was found")),
            }
        };
        let Some(class) = class else {
            return Ok(());
        };
        let value = class.at(&["value"]).and_then(Value::as_i64).unwrap_or(0);
        let given = pod
            .at(&["spec", "priority"])
            .and_then(Value::as_i64)
            .unwrap_or(0);
        if given != 0 && given != value {
            return refused(format!(
                "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {value} from the given PriorityClass name"
            ));
        }
        let policy = class.at(&["preemptionPolicy"]).cloned();
        let name = class.name().to_owned();
        if let Some(Value::Object(spec)) = pod.fields_mut().get_mut("spec") {
            spec.insert("priority".to_owned(), value.into());
            spec.insert("priorityClassName".to_owned(), name.into());
            if let Some(policy) = policy {
                spec.insert("preemptionPolicy".to_owned(), policy);
            }
        }
        Ok(())
    }

    /// The class for pods that name none; of several, the lowest.
    fn default_class(&self) -> Option<Object> {
        let registry = self.registry();
        let resource = registry.resource(SCHEDULING, CLASSES)?;
        let snapshot = self.cache.bucket(&resource.bucket).snapshot();
        let classes = snapshot.objects(&Scope::All, None);
        let classes = classes.filter_map(|stored| {
            let value: Value = serde_json::from_slice(&stored.value).ok()?;
            Object::from_value(value).ok()
        });
        let defaults = classes.filter(|class| class.at(&["globalDefault"]) == Some(&true.into()));
        defaults.min_by_key(|class| class.at(&["value"]).and_then(Value::as_i64))
    }
}

/// 403 with everything that is wrong.
fn refuse(request: &Request<'_>, object: &Object, problems: &[String]) -> Result<(), Status> {
    let why = match problems {
        [] => return Ok(()),
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let resource = request.served.resource.group_resource();
    Err(Status::forbidden(&resource, object.name(), &why))
}

/// A request for a certificate tells who asks.
fn sign(request: &Request<'_>, object: &mut Object) {
    let user = request.user;
    let spec = object
        .fields_mut()
        .entry("spec")
        .or_insert_with(|| json!({}));
    let Some(spec) = spec.as_object_mut() else {
        return;
    };
    for field in ["username", "uid", "groups", "extra"] {
        spec.remove(field);
    }
    spec.insert("username".to_owned(), (&*user.name).into());
    if !user.groups.is_empty() {
        let groups = user.groups.iter().map(|group| Value::from(&**group));
        spec.insert("groups".to_owned(), groups.collect());
    }
}
