//! Quotas as data: what writes are charged or refused, and what is counted.
//!
//! A case of `charge.yaml` has quotas, a write, and either what is used afterwards of the quotas that were charged, or
//! why the write is refused; one of `count.yaml` has a quota and what is there. Objects get their defaults first.

#![expect(
    clippy::unwrap_used,
    reason = "a case file that does not fit its check is a failure"
)]

use std::collections::BTreeMap;

use lockstep_builtins::defaults;
use lockstep_builtins::quota::{Attempt, Counted, Evaluator, Quota, Write, charge};
use lockstep_kinds::{Table, typed};
use lockstep_object::Object;
use lockstep_object::metadata::Seconds;
use lockstep_testkit::cases::CaseFile;
use serde::Deserialize;
use serde_json::{Value, json};

/// 2026-01-01T00:00:00Z
const NOW: i64 = 1_767_225_600;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChargeCase {
    row: String,
    name: String,
    resource: String,
    #[serde(default)]
    write: String,
    quotas: Vec<Value>,
    old: Option<Value>,
    new: Value,
    /// Whether a server cannot be asked for this alone.
    #[serde(default)]
    unsent: bool,
    used: Option<BTreeMap<String, Value>>,
    refused: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CountCase {
    row: String,
    name: String,
    quota: Value,
    served: Vec<String>,
    objects: Vec<Value>,
    used: Value,
}

fn now() -> Seconds {
    Seconds::from_unix(NOW).unwrap()
}

fn cases<T: for<'de> Deserialize<'de>>(file: &str) -> Vec<T> {
    let file = CaseFile::read(&format!("quota/{file}"));
    let cases = file
        .cases()
        .map(|case| serde_json::from_value(case.own.clone()));
    cases.collect::<Result<_, _>>().unwrap()
}

fn evaluator(resource: &str) -> Option<Evaluator> {
    let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
    Evaluator::of(group, plural)
}

/// An object as the server keeps it.
fn kept(resource: &str, given: &Value) -> Value {
    let (version, kind) = match resource {
        "pods" => ("v1", "Pod"),
        "services" => ("v1", "Service"),
        "persistentvolumeclaims" => ("v1", "PersistentVolumeClaim"),
        _ => return given.clone(),
    };
    let id = Table::builtin().kind("", version, kind).unwrap();
    let mut object = given.clone();
    let fields = object.as_object_mut().unwrap();
    let mut unknown = Vec::new();
    typed::read(Table::builtin(), id, fields, &mut unknown).unwrap();
    assert_eq!(unknown, Vec::<String>::new(), "{given}");
    defaults::fill(id, fields);
    object
}

fn quota(given: &Value, used: &Value) -> Object {
    let mut spec = given.clone();
    let fields = spec.as_object_mut().unwrap();
    fields.remove("used");
    let name = fields.remove("name").unwrap_or_else(|| "q".into());
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let amounts = |value: &Value| -> Value {
        let entries = value.as_object().into_iter().flatten();
        let entries = entries.map(|(name, value)| (name.clone(), text(value).into()));
        Value::Object(entries.collect())
    };
    spec["hard"] = amounts(&spec["hard"]);
    let mut quota = json!({ "metadata": { "name": name }, "spec": spec, "status": {} });
    if !used.is_null() {
        quota["status"] = json!({ "hard": quota["spec"]["hard"], "used": amounts(used) });
    }
    Object::from_value(quota).unwrap()
}

fn charged(case: &ChargeCase) -> Result<BTreeMap<String, Value>, String> {
    let given = case.quotas.iter();
    let objects: Vec<Object> = given.map(|given| quota(given, &given["used"])).collect();
    let Some(evaluator) = evaluator(&case.resource) else {
        return Ok(BTreeMap::new());
    };
    let quotas: Vec<Quota> = objects
        .iter()
        .map(|quota| Quota::read(quota.as_value()))
        .collect();
    for quota in &quotas {
        assert!(!quota.is_uncounted(&evaluator), "{}", case.name);
    }
    let old = case.old.as_ref().map(|old| kept(&case.resource, old));
    let attempt = Attempt {
        write: match case.write.as_str() {
            "" => Write::Create,
            "update" => Write::Update,
            "resize" => Write::Resize,
            "status" => Write::Status,
            other => panic!("{other} is no write"),
        },
        new: &kept(&case.resource, &case.new),
        old: old.as_ref(),
        now: now(),
    };
    let charges = charge(&evaluator, &quotas, &attempt)?;
    let used = charges.into_iter().map(|charge| {
        let mut object = objects[charge.index].clone();
        assert!(charge.quota.write_status(&mut object), "a charge is news");
        let used = object.at(&["status", "used"]).unwrap().clone();
        (object.name().to_owned(), used)
    });
    Ok(used.collect())
}

#[test]
fn writes_are_charged_and_refused_as_upstream_does() {
    let mut failures = Vec::new();
    for case in cases::<ChargeCase>("charge.yaml") {
        assert!(!case.row.is_empty(), "{} cites its row", case.name);
        let expected = match (&case.used, &case.refused) {
            (Some(used), None) => Ok(used.clone()),
            (None, Some(why)) => Err(why.clone()),
            _ => panic!("{} says what comes of it", case.name),
        };
        let _ = case.unsent;
        let actual = charged(&case);
        if actual != expected {
            let name = &case.name;
            failures.push(format!(
                "{name}\n expected {expected:?}\n actual   {actual:?}"
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn counted(case: &CountCase) -> Value {
    let mut evaluators: BTreeMap<&str, (Evaluator, Vec<Counted>)> = BTreeMap::new();
    for resource in &case.served {
        evaluators.insert(resource, (evaluator(resource).unwrap(), Vec::new()));
    }
    for given in &case.objects {
        let mut object = given.clone();
        let fields = object.as_object_mut().unwrap();
        let of = fields.remove("of").unwrap();
        let times = fields.remove("times").and_then(|times| times.as_u64());
        let (evaluator, all) = evaluators.get_mut(of.as_str().unwrap()).unwrap();
        let one = evaluator.counted(&kept(of.as_str().unwrap(), &object), now());
        for _ in 0..times.unwrap_or(1) {
            all.push(one.clone());
        }
    }
    let mut object = quota(&case.quota, &Value::Null);
    let mut quota = Quota::read(object.as_value());
    for (evaluator, all) in evaluators.values() {
        quota.recount(evaluator, all);
    }
    assert!(quota.write_status(&mut object), "{}", case.name);
    assert_eq!(object.at(&["status", "hard"]), object.at(&["spec", "hard"]));
    assert!(!quota.write_status(&mut object), "what is told is no news");
    object.at(&["status", "used"]).cloned().unwrap_or_default()
}

#[test]
fn what_is_there_is_counted_as_upstream_counts_it() {
    let mut failures = Vec::new();
    for case in cases::<CountCase>("count.yaml") {
        assert!(!case.row.is_empty(), "{} cites its row", case.name);
        let actual = counted(&case);
        if actual != case.used {
            let (name, expected) = (&case.name, &case.used);
            failures.push(format!("{name}\n expected {expected}\n actual   {actual}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn what_was_never_counted_is_known_to_be_so() {
    let hard = json!({ "hard": { "pods": 1, "configmaps": 1 } });
    let counted = quota(&hard, &json!({ "pods": 0 }));
    let quota = Quota::read(counted.as_value());
    let is_uncounted = |resource| quota.is_uncounted(&evaluator(resource).unwrap());
    let asked = ["pods", "configmaps", "secrets"].map(is_uncounted);
    assert_eq!(asked, [false, true, false]);
}

#[test]
fn a_pod_that_is_going_uses_less_after_its_grace() {
    let evaluator = evaluator("pods").unwrap();
    let pod = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30 } });
    let counted = evaluator.counted(&pod, now());
    let at = |seconds| Seconds::from_unix(NOW + seconds).unwrap();
    let stale = [0, 30, 31].map(|seconds| counted.is_stale(at(seconds)));
    assert_eq!(stale, [false, false, true]);
    let over = evaluator.counted(&pod, at(31));
    assert!(!over.is_stale(at(99)), "it does not use less than nothing");
}
