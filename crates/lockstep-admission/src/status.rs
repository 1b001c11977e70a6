//! `status` of mutating policies: what their mutations read and write, whether they compile, and which other writers undo
//! their changes.

use std::collections::BTreeSet;

use lockstep_cel::paths::Segment;
use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};
use serde_json::json;

use crate::diff;
use crate::outcome::{Conflict, Writer};
use crate::policy::{MutatingPolicy, Mutation};

/// Most entries of `status.conflicts`; the oldest go first.
pub const CONFLICTS_MAX: usize = 16;
/// Most paths in `reads` and in `writes` of one mutation.
const PATHS_MAX: usize = 64;
/// Time without a conflict after which `Converging` is true again, in seconds.
pub const QUIET_SECONDS: i64 = 600;

/// Another writer of a field of a policy.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Rival {
    /// The policy whose status has the entry.
    pub policy: Box<str>,
    /// The other writer.
    pub writer: Writer,
    /// The field: `.spec.color`.
    pub field: String,
    /// Resource and group of the objects: `deployments.apps`.
    pub resource: String,
}

impl Rival {
    /// Entries for a conflict: one for each policy in it.
    pub fn of(conflict: &Conflict, resource: &str) -> Vec<Self> {
        let rival = |policy: &str, writer: Writer| Self {
            policy: policy.into(),
            writer,
            field: conflict.field.clone(),
            resource: resource.to_owned(),
        };
        let mut rivals = vec![rival(&conflict.policy, conflict.writer.clone())];
        if let Writer::Policy(other) = &conflict.writer {
            rivals.push(rival(other, Writer::Policy(conflict.policy.clone())));
        }
        rivals
    }

    fn is_in(&self, entry: &Value) -> bool {
        let (policy, webhook) = self.names();
        let text = |field: &str| entry[field].as_str().unwrap_or_default();
        (policy, webhook) == (text("policyName"), text("webhook"))
            && self.field == text("fieldPath")
            && self.resource == text("resource")
    }

    /// Name of the other policy, or of the webhook.
    fn names(&self) -> (&str, &str) {
        match &self.writer {
            Writer::Policy(name) => (name, ""),
            Writer::Webhook(name) => ("", name),
            Writer::Other => ("", ""),
        }
    }
}

/// A policy with its status as it should be, after these conflicts since it was written; none if it is so already.
pub fn updated(policy: &Object, conflicts: &[(Rival, u64)], now: Seconds) -> Option<Object> {
    let stored = policy
        .fields()
        .get("status")
        .filter(|status| status.is_object());
    let mut status = stored.cloned().unwrap_or_else(|| json!({}));
    if status["observedGeneration"] != policy.generation() {
        observe(&mut status, policy, now);
    }
    add_conflicts(&mut status, conflicts, now);
    let is_quiet = |entry: &Value| {
        let last = entry["lastTime"]
            .as_str()
            .and_then(|time| time.parse::<Seconds>().ok());
        last.is_none_or(|last| now.unix() - last.unix() >= QUIET_SECONDS)
    };
    let entries = status["conflicts"].as_array().cloned().unwrap_or_default();
    let condition = match entries.iter().find(|entry| !is_quiet(entry)) {
        Some(entry) => ("Converging", "False", "Conflicts", described(entry)),
        None => ("Converging", "True", "NoConflicts", String::new()),
    };
    set_condition(&mut status, condition, now);
    if stored == Some(&status) {
        return None;
    }
    let mut policy = policy.clone();
    policy.fields_mut().insert("status".to_owned(), status);
    Some(policy)
}

/// Facts that follow from the spec.
fn observe(status: &mut Value, policy: &Object, now: Seconds) {
    let compiled = MutatingPolicy::compile(policy);
    status["observedGeneration"] = policy.generation().into();
    let mutations = compiled.mutations.iter().enumerate();
    status["mutations"] = mutations
        .map(|(at, mutation)| facts(at, mutation))
        .collect();
    let variables = compiled.common.variables.iter();
    let variables = variables.filter_map(|variable| variable.program.as_ref().err());
    let mutations = compiled.mutations.iter();
    let mutations = mutations.filter_map(|mutation| mutation.program.as_ref().err());
    let condition = match variables.chain(mutations).next() {
        Some(error) => ("Ready", "False", "CompileError", error.clone()),
        None => ("Ready", "True", "Compiled", String::new()),
    };
    set_condition(status, condition, now);
}

fn facts(index: usize, mutation: &Mutation) -> Value {
    let shown = |paths: &mut dyn Iterator<Item = &Vec<Segment>>| -> Vec<String> {
        let shown: BTreeSet<String> = paths.map(|path| diff::shown(path)).collect();
        shown.into_iter().take(PATHS_MAX).collect()
    };
    let writes = mutation.program.as_ref().map(|program| {
        let paths = program.paths();
        shown(&mut paths.writes.iter().map(|write| &write.path))
    });
    let mut facts = json!({ "index": index, "name": mutation.name });
    let scope = mutation.scope.to_string();
    if !scope.is_empty() {
        facts["scope"] = scope.into();
    }
    for (field, paths) in [
        ("reads", shown(&mut mutation.reads.iter())),
        ("writes", writes.unwrap_or_default()),
    ] {
        if !paths.is_empty() {
            facts[field] = paths.into();
        }
    }
    facts
}

fn add_conflicts(status: &mut Value, conflicts: &[(Rival, u64)], now: Seconds) {
    if conflicts.is_empty() {
        return;
    }
    let mut entries = status["conflicts"].as_array().cloned().unwrap_or_default();
    for (rival, count) in conflicts {
        let known = entries.iter().position(|entry| rival.is_in(entry));
        let mut entry = known.map_or_else(|| described_by(rival), |at| entries.remove(at));
        let before = entry["count"].as_u64().unwrap_or_default();
        entry["count"] = before.saturating_add(*count).into();
        entry["lastTime"] = now.to_string().into();
        entries.insert(0, entry);
    }
    entries.truncate(CONFLICTS_MAX);
    status["conflicts"] = entries.into();
}

fn described_by(rival: &Rival) -> Value {
    let mut entry = json!({ "fieldPath": rival.field, "resource": rival.resource });
    let (policy, webhook) = rival.names();
    for (field, name) in [("policyName", policy), ("webhook", webhook)] {
        if !name.is_empty() {
            entry[field] = name.into();
        }
    }
    entry
}

fn described(entry: &Value) -> String {
    let text = |field: &str| entry[field].as_str().unwrap_or_default();
    let other = match (text("policyName"), text("webhook")) {
        ("", "") => "another admission plugin".to_owned(),
        ("", webhook) => format!("webhook {webhook:?}"),
        (policy, _) => format!("policy {policy:?}"),
    };
    format!(
        "{other} writes {} of {} too",
        text("fieldPath"),
        text("resource")
    )
}

fn set_condition(
    status: &mut Value,
    (name, state, reason, message): (&str, &str, &str, String),
    now: Seconds,
) {
    let mut conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let mut wanted = json!({
        "type": name, "status": state, "reason": reason, "message": message,
        "lastTransitionTime": now.to_string(),
    });
    match conditions.iter_mut().find(|known| known["type"] == name) {
        Some(known) => {
            if known["status"] == state {
                wanted["lastTransitionTime"] = known["lastTransitionTime"].clone();
            }
            *known = wanted;
        }
        None => conditions.push(wanted),
    }
    status["conditions"] = conditions.into();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Seconds {
        Seconds::from_unix(seconds).expect("it is a time")
    }

    fn policy() -> Object {
        let expression = "Object{spec: Object.spec{color: object.metadata.name}}";
        let mutation = json!({
            "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": expression },
        });
        Object::from_value(json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingAdmissionPolicy",
            "metadata": { "name": "p", "generation": 1 },
            "spec": { "mutations": [mutation], "matchConstraints": {} },
        }))
        .expect("it is a map")
    }

    fn condition<'s>(status: &'s Value, name: &str) -> &'s Value {
        let mut conditions = status["conditions"].as_array().expect("a list").iter();
        conditions
            .find(|condition| condition["type"] == name)
            .expect("it is there")
    }

    /// mutating-admission.md §2.10: scope, reads and writes; written once for each generation.
    #[test]
    fn the_status_says_what_mutations_touch() {
        let written = updated(&policy(), &[], at(0)).expect("it has no status");
        let status = &written.fields()["status"];
        assert_eq!(status["observedGeneration"], 1);
        let expected = json!([{
            "index": 0, "name": "mutations[0]", "scope": "spec.color",
            "reads": [".metadata.name"], "writes": [".spec.color"],
        }]);
        assert_eq!(status["mutations"], expected);
        assert_eq!(condition(status, "Ready")["status"], "True");
        assert_eq!(condition(status, "Converging")["status"], "True");
        assert_eq!(updated(&written, &[], at(1)), None);
        let mut broken = written.clone();
        broken.set_generation(2);
        let expression = json!("Object{");
        broken.fields_mut()["spec"]["mutations"][0]["applyConfiguration"]["expression"] =
            expression;
        let written = updated(&broken, &[], at(1)).expect("another generation");
        let ready = condition(&written.fields()["status"], "Ready");
        assert_eq!(ready["status"], "False");
        assert_eq!(ready["lastTransitionTime"], at(1).to_string());
    }

    /// mutating-admission.md §3.5: conflicts are counted, bounded, and forgotten by the condition after ten minutes.
    #[test]
    fn conflicts_are_counted_until_they_stop() {
        let conflict = Conflict {
            policy: "p".into(),
            writer: Writer::Policy("q".into()),
            field: ".spec.color".to_owned(),
        };
        let rivals = Rival::of(&conflict, "configmaps");
        let about: Vec<(&str, String)> = rivals
            .iter()
            .map(|rival| (&*rival.policy, rival.writer.to_string()))
            .collect();
        assert_eq!(
            about,
            [
                ("p", "policy \"q\"".to_owned()),
                ("q", "policy \"p\"".to_owned())
            ]
        );
        let once = updated(&policy(), &[(rivals[0].clone(), 2)], at(0)).expect("a conflict");
        let twice = updated(&once, &[(rivals[0].clone(), 3)], at(30)).expect("a conflict");
        let status = &twice.fields()["status"];
        let expected = json!([{
            "policyName": "q", "fieldPath": ".spec.color", "resource": "configmaps",
            "count": 5, "lastTime": at(30).to_string(),
        }]);
        assert_eq!(status["conflicts"], expected);
        let converging = condition(status, "Converging");
        assert_eq!(converging["status"], "False");
        assert_eq!(converging["lastTransitionTime"], at(0).to_string());
        assert_eq!(
            converging["message"],
            "policy \"q\" writes .spec.color of configmaps too"
        );
        assert_eq!(updated(&twice, &[], at(30 + QUIET_SECONDS - 1)), None);
        let later = updated(&twice, &[], at(30 + QUIET_SECONDS)).expect("it is quiet");
        assert_eq!(
            condition(&later.fields()["status"], "Converging")["status"],
            "True"
        );
        let many: Vec<(Rival, u64)> = (0..40)
            .map(|at| {
                let field = format!(".spec.f{at}");
                (
                    Rival {
                        field,
                        ..rivals[0].clone()
                    },
                    1,
                )
            })
            .collect();
        let full = updated(&twice, &many, at(60)).expect("conflicts");
        let kept = full.fields()["status"]["conflicts"]
            .as_array()
            .map(Vec::len);
        assert_eq!(kept, Some(CONFLICTS_MAX));
    }
}
