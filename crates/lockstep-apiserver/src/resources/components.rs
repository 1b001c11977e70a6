//! `componentstatuses`, a deprecated resource that some clients still read. Its objects are not stored. The store is
//! the only component with a health of its own.

use lockstep_object::{ApiError, GroupResource, Object, json};
use lockstep_storage::{Consistency, Revision};
use serde_json::json;

use super::list::Page;
use super::print::Printer;
use super::{Answer, Api, Request, Resource, SpecialKind};
use crate::cache::Facts;
use crate::limits::STORE_CHECK_MAX;
use crate::route::Verb;
use crate::views::{Headers, Shape, close_table, write_row};

/// Name of the store, after upstream's first etcd server.
const STORE: &str = "etcd-0";

/// True for `componentstatuses`.
pub(super) fn is_of_components(resource: &Resource) -> bool {
    resource.special == SpecialKind::ComponentStatus
}

impl Api {
    /// Checks that the store answers a linearizable read; returns the reason if not.
    pub(crate) async fn store_answers(&self) -> Result<(), String> {
        let asked = self.store.revision(Consistency::Linearizable);
        match tokio::time::timeout(STORE_CHECK_MAX, asked).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(failure)) => Err(failure.to_string()),
            Err(_) => Err("the store does not answer in time".to_owned()),
        }
    }

    /// Reason why the store refuses all writes at present.
    pub(crate) fn write_outage(&self) -> Option<String> {
        self.store.write_outage()
    }

    /// Answers a get or a list of components.
    pub(super) async fn components(&self, request: &Request<'_>) -> Result<Answer, ApiError> {
        let (labels, fields) = (request.labels()?, request.fields()?);
        let is_listed = request.route.verb == Verb::List;
        if !is_listed && request.route.name != STORE {
            // Upstream uses the singular resource name in this message.
            let named = GroupResource {
                resource: request.served.resource.singular.clone(),
                ..request.served.resource.group_resource()
            };
            return Err(ApiError::not_found(&named, &request.route.name));
        }
        let is_selected = labels.matches(&Facts::default())
            && fields.matches(|field| (field == "metadata.name").then_some(STORE));
        let store = component(STORE, self.store_answers().await);
        if !is_listed {
            return Ok(Answer::ok(json::encode(store.as_value())));
        }
        let found: Vec<Object> = is_selected.then_some(store).into_iter().collect();
        Ok(Answer::ok(list(&Printer::of(request), found)))
    }
}

fn component(name: &str, answers: Result<(), String>) -> Object {
    let (status, message) = match answers {
        Ok(()) => ("True", "ok".to_owned()),
        Err(why) => ("False", why),
    };
    let component = json!({
        "kind": "ComponentStatus",
        "apiVersion": "v1",
        "metadata": { "name": name },
        "conditions": [{ "type": "Healthy", "status": status, "message": message }],
    });
    Object::from_value(component).expect("a component is an object")
}

/// Encodes a list without a resource version.
fn list(printer: &Printer<'_>, objects: Vec<Object>) -> Vec<u8> {
    let mut out = printer.list_head(&Page::whole(Revision::NONE));
    for (at, mut object) in objects.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        match printer.shape {
            Shape::Whole => {
                let fields = object.fields_mut();
                fields.remove("kind");
                fields.remove("apiVersion");
                out.extend(json::encode(object.as_value()));
            }
            Shape::Metadata(_) => printer.object(&object, Headers::Shown, &mut out),
            Shape::Table(version, include) => {
                write_row(
                    &object,
                    version,
                    include,
                    printer.columns,
                    printer.now,
                    &mut out,
                );
            }
        }
    }
    close_table(&mut out);
    out
}
