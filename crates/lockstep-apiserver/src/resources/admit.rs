//! What a new object gets from other objects, or from who makes it.

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
            ("", "pods") => self.prioritize(request, object).await,
            ("certificates.k8s.io", "certificatesigningrequests") => {
                sign(request, object);
                Ok(())
            }
            _ => Ok(()),
        }
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
        let snapshot = self.cache().bucket(&resource.bucket).snapshot();
        let classes = snapshot.objects(&Scope::All, None);
        let classes = classes.filter_map(|stored| {
            let value: Value = serde_json::from_slice(&stored.value).ok()?;
            Object::from_value(value).ok()
        });
        let defaults = classes.filter(|class| class.at(&["globalDefault"]) == Some(&true.into()));
        defaults.min_by_key(|class| class.at(&["value"]).and_then(Value::as_i64))
    }
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
