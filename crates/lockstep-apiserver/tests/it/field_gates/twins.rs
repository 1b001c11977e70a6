//! Differential tests of gates: two servers get equal requests, and one of them ignores gates.

use lockstep_fieldgate::{Action, FieldPath, Gates, Segment};
use lockstep_merge::managers::ManagedFields;
use lockstep_object::Object;
use lockstep_testkit::client::Answer;
use serde_json::{Value, json};

use super::gated::{causes, gated, of_gates, server_on};
use crate::server::memory;
use crate::world::{CRDS, Sent, World};

const CRD: &str = "things.ex.io";
const KEY: &str = "ex.io/things/default/t";
const CRD_KEY: &str = "apiextensions.k8s.io/customresourcedefinitions/things.ex.io";

/// The twins.
pub(super) struct Twins {
    gated: World,
    free: World,
    /// The CRD as the first of them has it.
    crd: Value,
    pub(super) seen: Seen,
}

/// Counts of requests, to prove that a test exercised the interesting cases.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// All of them.
    pub(super) asked: usize,
    /// Those that both twins took.
    pub(super) taken: usize,
    /// Those that gates did something to.
    pub(super) acted: usize,
    /// Those that only the twin with gates took.
    pub(super) relieved: usize,
}

/// A request for the object, as often as it is to be sent.
pub(super) struct Asked {
    pub(super) method: &'static str,
    /// Remainder of the path after the object's name.
    pub(super) rest: String,
    pub(super) version: &'static str,
    pub(super) media_type: &'static str,
    pub(super) body: Value,
    /// The fields of the spec that the version cannot say.
    pub(super) unsaid: &'static [&'static str],
}

impl Twins {
    pub(super) async fn begin() -> Self {
        Self {
            gated: gated().await,
            free: server_on(memory(), "").await,
            crd: Value::Null,
            seen: Seen::default(),
        }
    }

    /// Gives both the CRD, and one of them its gates. No object is written.
    pub(super) async fn define(&mut self, crd: &Value) {
        let before = self.stored().await;
        let mut without = crd.clone();
        without["spec"]
            .as_object_mut()
            .unwrap()
            .remove("customFeatureGates");
        without["metadata"]["annotations"] = Value::Null;
        define(&mut self.gated, crd).await;
        define(&mut self.free, &without).await;
        self.crd = crd.clone();
        assert_eq!(self.stored().await, before, "a CRD rewrites no object");
    }

    async fn stored(&self) -> Option<(Value, u64)> {
        self.gated.stored(KEY).await
    }

    /// Gives the twin without gates what the other one has. What is older than the CRD there gets its defaults with the
    /// next write, so it is older than the CRD here. Returns whether it is.
    async fn plant(&mut self, object: Option<&(Value, u64)>) -> bool {
        self.free.plant(KEY, object.map(|(value, _)| value)).await;
        let crd = self.gated.stored(CRD_KEY).await;
        let is_older = crd
            .zip(object)
            .is_some_and(|((_, crd), (_, object))| *object <= crd);
        if is_older {
            let patch = json!({"metadata": {"labels": {"touched": self.seen.asked.to_string()}}});
            let sent = Sent {
                method: "PATCH",
                path: format!("{CRDS}/{CRD}"),
                media_type: "application/merge-patch+json",
            };
            let answer = self.free.send(sent, &patch).await;
            assert_eq!(answer.status, 200, "{}", answer.body);
        }
        is_older
    }

    /// Sends both the same about the same, and checks what gates may have done to it.
    pub(super) async fn check(&mut self, asked: &Asked, what: &str) {
        let told = format!(
            "{what}: {} {}{} {}",
            asked.method, asked.version, asked.rest, asked.body
        );
        let before = self.stored().await;
        let is_older = self.plant(before.as_ref()).await;
        let free = send(&mut self.free, asked).await;
        let gated = send(&mut self.gated, asked).await;
        let after = self.stored().await;
        let (is_free, is_gated) = (free.status.is_success(), gated.status.is_success());
        self.seen.asked += 1;
        self.seen.taken += usize::from(is_free && is_gated);
        self.seen.relieved += usize::from(is_gated && !is_free);
        self.seen.acted += usize::from(!of_gates(&gated).is_empty());
        let wanted = self.free.stored(KEY).await.map(|(value, _)| value);
        assert!(
            is_gated || !is_free,
            "refused because of gates: {told}\n{before:?}\n{}",
            gated.body
        );
        let old = before.as_ref().map(|(value, _)| value);
        let told = format!("{told}\nbefore {before:?}\nfree   {wanted:?}\nafter  {after:?}");
        if !is_gated {
            assert_eq!(after, before, "{told}");
            for path in closed(&self.crd) {
                let is_about = |cause: &String| cause.starts_with(&format!("{path}:"));
                assert!(
                    !causes(&gated).iter().any(is_about),
                    "{told}\n{}",
                    gated.body
                );
            }
            return;
        }
        let Some((after, revision)) = &after else {
            assert_eq!(wanted, None, "{told}");
            return;
        };
        assert_eq!(self.gate(after, old), content(after), "{told}");
        if is_free {
            let mut wanted = self.gate(&wanted.unwrap(), old);
            if let Some(old) = old
                && after["metadata"] == old["metadata"]
            {
                // If gates left nothing of it, nothing is lost that the version cannot say. What is older gets its
                // defaults all the same, so it does not tell which of the two it is.
                let mut kept = wanted.clone();
                keep(&self.lasting(asked), &mut kept, Some(old));
                let is_idle = said(&wanted, asked) == said(old, asked);
                if is_idle || (is_older && content(after) == kept) {
                    wanted = kept;
                }
            }
            assert_eq!(content(after), wanted, "{told}");
        }
        self.check_claims(after, old, &told);
        if let Some((old, before)) = &before {
            assert_eq!(after == old, revision == before, "{told}");
            let counted = |object: &Value| object["metadata"]["generation"].as_u64().unwrap();
            if content(after)["spec"] == content(old)["spec"] {
                assert_eq!(counted(after), counted(old), "{told}");
            }
        }
    }

    /// Checks that writing back an object, in any version, gets no warning and keeps gated fields and generation.
    pub(super) async fn check_idle(&mut self, version: &'static str, what: &str) {
        let Some(before) = self.stored().await else {
            return;
        };
        let path = path(version, "");
        let present = self.gated.client.get(&path).await.json();
        let answer = self.gated.client.write("PUT", &path, &present).await;
        assert_eq!(
            (answer.status.as_u16(), of_gates(&answer)),
            (200, Vec::new()),
            "{what}: {version} {present}\n{}",
            answer.body
        );
        let (after, _) = self.stored().await.unwrap();
        let counted = |object: &Value| object["metadata"]["generation"].clone();
        assert_eq!(
            (self.gate(&after, Some(&before.0)), counted(&after)),
            (content(&after), counted(&before.0)),
            "{what}: {version} {present}"
        );
        let again = self.gated.client.write("PUT", &path, &answer.json()).await;
        assert_eq!(again.status, 200, "{}", again.body);
        assert_eq!(self.stored().await.unwrap().0, after, "{what}: {version}");
    }

    /// Fields that the storage version has and the version of the request does not.
    fn lasting(&self, asked: &Asked) -> Vec<&'static str> {
        let stored = &self.schema()["properties"]["spec"]["properties"];
        let is_stored = |field: &&str| stored.get(field).is_some();
        asked.unsaid.iter().copied().filter(is_stored).collect()
    }

    /// The schema of the version that is stored.
    fn schema(&self) -> &Value {
        let versions = self.crd["spec"]["versions"].as_array().unwrap();
        let storage = versions.iter().find(|version| version["storage"] == true);
        &storage.unwrap()["schema"]["openAPIV3Schema"]
    }

    /// Reference implementation of closed gates: restores or removes the gated fields path by path.
    fn gate(&self, new: &Value, old: Option<&Value>) -> Value {
        let mut paths = closed(&self.crd);
        // Parents come first: fields inside a restored parent are already as stored.
        paths.sort_by_key(|path| path.segments().len());
        let mut gated = content(new);
        for path in paths {
            put_back(self.schema(), &mut gated, old, path.segments());
        }
        gated
    }

    /// Checks that gated fields gain no owner and keep theirs if present; fields removed with their parent have none.
    fn check_claims(&self, after: &Value, before: Option<&Value>, told: &str) {
        let definition = Object::from_value(self.crd.clone()).unwrap();
        let Some(gates) = Gates::compile(&definition) else {
            return;
        };
        let held = |object: &Value| {
            let entries = object["metadata"]["managedFields"].as_array();
            let managed = ManagedFields::read(entries.map_or(&[][..], Vec::as_slice)).unwrap();
            let claims = managed.entries().map(|(owner, entry)| {
                let held = gates.frozen(&entry.fields).present_in(after);
                (format!("{owner:?}"), held.to_fields())
            });
            let mut claims: Vec<(String, Value)> =
                claims.filter(|(_, held)| *held != json!({})).collect();
            claims.sort_by(|one, other| one.0.cmp(&other.0));
            claims
        };
        let (now, then) = (held(after), before.map(held).unwrap_or_default());
        let is_there = before.is_some_and(|before| places(&gates, after) == places(&gates, before));
        if is_there {
            assert_eq!(now, then, "claims: {told}");
            return;
        }
        let is_new = |(owner, _): &&(String, Value)| !then.iter().any(|(other, _)| other == owner);
        let gained: Vec<_> = now.iter().filter(is_new).collect();
        assert!(gained.is_empty(), "claims: {gained:?} {told}");
    }
}

/// Content of an object without the fields that the version of the request does not have.
fn said(object: &Value, asked: &Asked) -> Value {
    let mut said = content(object);
    keep(asked.unsaid, &mut said, None);
    said
}

/// Makes fields of a spec what they are in another object.
fn keep(fields: &[&str], content: &mut Value, of: Option<&Value>) {
    let Some(spec) = content["spec"].as_object_mut() else {
        return;
    };
    for field in fields {
        match of.and_then(|of| of["spec"].get(field)) {
            Some(value) => drop(spec.insert((*field).to_owned(), value.clone())),
            None => drop(spec.remove(*field)),
        }
    }
}

/// The paths of closed gates, as a CRD says them.
fn closed(crd: &Value) -> Vec<FieldPath> {
    let annotation = &crd["metadata"]["annotations"]["lockstep.dev/custom-feature-gates"];
    let gates = match annotation.as_str() {
        Some(text) => serde_json::from_str(text).unwrap(),
        None => crd["spec"]["customFeatureGates"].clone(),
    };
    let gates = gates["featureGates"].as_array().into_iter().flatten();
    let is_closed = |gate: &&Value| {
        let said = gate["enabled"].as_bool().or(gate["default"].as_bool());
        !said.unwrap_or(gate["preRelease"] == "beta")
    };
    let paths = gates
        .filter(is_closed)
        .flat_map(|gate| gate["fieldPaths"].as_array().unwrap());
    let paths = paths.map(|path| FieldPath::parse(path.as_str().unwrap()).unwrap());
    paths.collect()
}

/// Where closed gates hold something of an object.
fn places(gates: &Gates, object: &Value) -> Vec<String> {
    let actions = gates.apply(&mut object.clone(), None);
    let held = actions.iter().filter(|action| action.kind.is_of_closed());
    held.map(Action::place).collect()
}

/// Object without metadata and apiVersion.
fn content(object: &Value) -> Value {
    let mut content = object.clone();
    let fields = content.as_object_mut().unwrap();
    fields.retain(|name, _| !matches!(name.as_str(), "metadata" | "apiVersion"));
    content
}

fn put_back(schema: &Value, new: &mut Value, old: Option<&Value>, rest: &[Segment]) {
    match (rest, new) {
        ([Segment::Name(name)], Value::Object(entries)) => {
            match old.and_then(|old| old.get(&**name)) {
                Some(old) => drop(entries.insert(name.to_string(), old.clone())),
                None => drop(entries.remove(&**name)),
            }
        }
        ([Segment::Name(name), rest @ ..], Value::Object(entries)) => {
            let declared = &schema["properties"][&**name];
            let schema = match declared {
                Value::Null => &schema["additionalProperties"],
                declared => declared,
            };
            if let Some(below) = entries.get_mut(&**name) {
                put_back(schema, below, old.and_then(|old| old.get(&**name)), rest);
            }
        }
        ([Segment::Each, rest @ ..], Value::Object(entries)) => {
            for (name, below) in entries {
                let old = old.and_then(|old| old.get(name));
                put_back(&schema["additionalProperties"], below, old, rest);
            }
        }
        ([Segment::Each, rest @ ..], Value::Array(elements)) => {
            let keys = schema["x-kubernetes-list-map-keys"].as_array().unwrap();
            let keys: Vec<&str> = keys.iter().filter_map(Value::as_str).collect();
            for below in elements {
                let old = old.and_then(Value::as_array).and_then(|old| {
                    let is_same =
                        |old: &&Value| keys.iter().all(|key| old.get(key) == below.get(key));
                    old.iter().find(is_same)
                });
                put_back(&schema["items"], below, old, rest);
            }
        }
        _ => {}
    }
}

fn path(version: &str, rest: &str) -> String {
    format!("/apis/ex.io/{version}/namespaces/default/things/t{rest}")
}

async fn send(world: &mut World, asked: &Asked) -> Answer {
    let mut path = path(asked.version, &asked.rest);
    let mut body = asked.body.clone();
    if asked.method == "POST" {
        path = path.replace("/things/t", "/things");
    }
    if asked.method == "PUT" {
        let revision = world.stored(KEY).await.map(|(_, revision)| revision);
        body["metadata"]["resourceVersion"] = revision.unwrap_or_default().to_string().into();
    }
    let sent = Sent {
        method: asked.method,
        path,
        media_type: asked.media_type,
    };
    world.send(sent, &body).await
}

/// Makes a CRD, or what an author and an admin say about it, the one that is given.
async fn define(world: &mut World, crd: &Value) {
    let path = format!("{CRDS}/{CRD}");
    loop {
        let found = world.client.get(&path).await;
        let answer = if found.status == 404 {
            world.client.write("POST", CRDS, crd).await
        } else {
            let mut next = found.json();
            next["spec"] = crd["spec"].clone();
            next["metadata"]["annotations"] = crd["metadata"]["annotations"].clone();
            world.client.write("PUT", &path, &next).await
        };
        if answer.status != 409 {
            assert!(answer.status.is_success(), "{crd}\n{}", answer.body);
            return;
        }
    }
}

/// The object with a spec and a status, unless they are null.
pub(super) fn thing(version: &str, spec: &Value, status: &Value) -> Value {
    let mut thing = json!({
        "apiVersion": format!("ex.io/{version}"), "kind": "Thing", "metadata": {"name": "t", "namespace": "default"},
    });
    for (field, value) in [("spec", spec), ("status", status)] {
        if !value.is_null() {
            thing[field] = value.clone();
        }
    }
    thing
}
