//! Servers with and without field gates, and the parts of their answers that tests compare.

use std::sync::Arc;

use lockstep_storage::Store;
use lockstep_testkit::client::Answer;
use serde_json::{Value, json};

use crate::server::{Setup, memory};
use crate::world::World;

pub(crate) const ON: &str = "CRDFieldLevelVersioning=true";

/// Starts a server on which field gates have an effect.
pub(crate) async fn gated() -> World {
    server_on(memory(), ON).await
}

/// Starts a server on a store, without controllers.
pub(crate) async fn server_on(store: Arc<dyn Store>, gates: &'static str) -> World {
    World::start(Setup {
        gates,
        store,
        controllers: "",
        ..Setup::own()
    })
    .await
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let at = self.roll(u64::try_from(from.len()).unwrap());
        from[usize::try_from(at).unwrap()]
    }
}

/// The texts of `Warning` headers, in their order.
pub(crate) fn warnings(answer: &Answer) -> Vec<String> {
    let values = answer.headers.get_all("warning").iter();
    let texts = values.map(|value| {
        let text = value.to_str().unwrap();
        let text = text.strip_prefix("299 - \"").unwrap();
        let text = text.strip_suffix('"').unwrap();
        text.replace("\\\"", "\"").replace("\\\\", "\\")
    });
    texts.collect()
}

/// Warnings of gates alone.
pub(crate) fn of_gates(answer: &Answer) -> Vec<String> {
    let told = |text: &String| text.contains("feature gate") || text.ends_with("is deprecated");
    warnings(answer).into_iter().filter(told).collect()
}

/// The causes of a refusal.
pub(crate) fn causes(answer: &Answer) -> Vec<String> {
    let answer = answer.json();
    let causes = answer["details"]["causes"].as_array().cloned();
    let text = |cause: &Value, field: &str| cause[field].as_str().unwrap_or_default().to_owned();
    let causes = causes.unwrap_or_default();
    let told = causes
        .iter()
        .map(|cause| format!("{}: {}", text(cause, "field"), text(cause, "message")));
    told.collect()
}

/// Fields of the spec by field manager.
pub(crate) fn owners(object: &Value) -> Value {
    let mut owners = json!({});
    let entries = object["metadata"]["managedFields"].as_array();
    for entry in entries.into_iter().flatten() {
        let fields = entry["fieldsV1"]["f:spec"].as_object();
        let names = fields.into_iter().flatten();
        let names = names.filter_map(|(name, _)| name.strip_prefix("f:"));
        owners[entry["manager"].as_str().unwrap()] = names.collect();
    }
    owners
}
