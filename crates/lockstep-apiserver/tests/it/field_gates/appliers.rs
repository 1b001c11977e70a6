//! Ownership of frozen fields under apply and update in several versions, with and without a conversion webhook.

use lockstep_testkit::client::Answer;
use serde_json::{Value, json};

use super::conversion::{Converting, KEPT, VERSIONS, Webhook, widget};
use super::gated::{Dice, causes, gated, of_gates, owners};
use crate::world::Sent;

/// A server with gates, and objects that people apply.
struct Appliers {
    converting: Converting,
    webhook: Webhook,
}

/// Apply of a manager to an object in a version.
#[derive(Clone, Copy)]
struct Wish<'w> {
    name: &'w str,
    manager: &'w str,
    version: &'w str,
}

impl Appliers {
    async fn begin(webhook: Webhook) -> Self {
        let mut converting = Converting::begin(webhook).await;
        converting.gate(true).await;
        Self {
            converting,
            webhook,
        }
    }

    /// A spec with the number as a version calls it.
    fn numbered(&self, version: &str, number: u64) -> Value {
        json!({self.webhook.number(version): number})
    }

    async fn send(&mut self, method: &str, wish: Wish<'_>, query: &str, object: &Value) -> Answer {
        let Wish {
            name,
            manager,
            version,
        } = wish;
        let media_type = match method {
            "PUT" => "application/json",
            _ => "application/apply-patch+yaml",
        };
        let path = format!("/apis/ex.io/{version}/namespaces/default/widgets/{name}");
        let sent = Sent {
            method,
            path: format!("{path}?fieldManager={manager}{query}"),
            media_type,
        };
        self.converting.world.send(sent, object).await
    }

    async fn apply(&mut self, wish: Wish<'_>, query: &str, spec: &Value) -> Answer {
        let mut object = widget(wish.version, spec);
        object["metadata"]["name"] = wish.name.into();
        if spec.is_null() {
            object.as_object_mut().unwrap().remove("spec");
        }
        self.send("PATCH", wish, query, &object).await
    }

    /// An apply that nothing speaks against.
    async fn applied(&mut self, wish: Wish<'_>, spec: &Value) -> Answer {
        let answer = self.apply(wish, "", spec).await;
        assert!(answer.status.is_success(), "{}", answer.body);
        answer
    }

    async fn put(&mut self, wish: Wish<'_>, spec: &Value) -> Answer {
        let (name, version) = (wish.name, wish.version);
        let path = format!("/apis/ex.io/{version}/namespaces/default/widgets/{name}");
        let mut object = self.converting.world.client.get(&path).await.json();
        object["spec"] = spec.clone();
        self.send("PUT", wish, "", &object).await
    }

    async fn stored(&self, name: &str) -> Value {
        let key = format!("ex.io/widgets/default/{name}");
        self.converting.world.stored(&key).await.unwrap().0
    }

    async fn owners(&self, name: &str) -> Value {
        owners(&self.stored(name).await)
    }
}

/// Alice's apply in a version, to the object that is named after the version.
fn alice_in(version: &str) -> Wish<'_> {
    Wish {
        name: version,
        manager: "alice",
        version,
    }
}

/// field-gates.md §5/D12, field-gates.md §9/apply: a frozen field causes no conflict and changes no owner, even by
/// force, whatever the versions of the managedFields entry and of the apply.
async fn check_frozen_number(webhook: Webhook) {
    let mut appliers = Appliers::begin(webhook).await;
    for version in VERSIONS {
        let number = appliers.numbered(version, 3);
        appliers.applied(alice_in(version), &number).await;
    }
    appliers.converting.gate(false).await;
    for (claimed, version) in VERSIONS
        .into_iter()
        .flat_map(|claimed| VERSIONS.map(|version| (claimed, version)))
    {
        let told = format!("{webhook:?}, claimed in {claimed}, applied in {version}");
        let bob = Wish {
            name: claimed,
            manager: "bob",
            version,
        };
        let before = appliers.stored(claimed).await;
        for (query, number, warned) in [
            ("", 5, vec![KEPT]),
            ("&force=true", 5, vec![KEPT]),
            ("", 3, vec![]),
            ("&force=true", 3, vec![]),
        ] {
            let wanted = appliers.numbered(version, number);
            let answer = appliers.apply(bob, query, &wanted).await;
            assert_eq!(
                (answer.status.as_u16(), of_gates(&answer)),
                (200, warned.into_iter().map(str::to_owned).collect()),
                "{told}: {}",
                answer.body
            );
            assert_eq!(appliers.stored(claimed).await, before, "{told}");
        }
        // Other fields get owners as usual, and conflicts list only those fields.
        let mut wanted = appliers.numbered(version, 5);
        wanted["image"] = "b".into();
        appliers.applied(bob, &wanted).await;
        let number = webhook.number(claimed);
        let expected = json!({"alice": [number], "bob": ["image"]});
        assert_eq!(appliers.owners(claimed).await, expected, "{told}");
        wanted["image"] = "c".into();
        let carol = Wish {
            manager: "carol",
            ..bob
        };
        let answer = appliers.apply(carol, "", &wanted).await;
        let conflict = [".spec.image: conflict with \"bob\"".to_owned()];
        assert_eq!(
            (answer.status.as_u16(), causes(&answer)),
            (409, conflict.to_vec()),
            "{told}"
        );
        // Applying an empty configuration removes the manager's fields.
        appliers.applied(bob, &Value::Null).await;
        let expected = json!({"alice": [number]});
        assert_eq!(appliers.owners(claimed).await, expected, "{told}");
    }
}

#[tokio::test]
async fn nobody_disagrees_about_a_frozen_field_in_versions_that_are_alike() {
    check_frozen_number(Webhook::Absent).await;
}

#[tokio::test]
async fn nobody_disagrees_about_a_frozen_field_in_versions_that_a_webhook_makes() {
    check_frozen_number(Webhook::Renames).await;
}

/// field-gates.md §5/D12: a PUT that changes or omits the number changes no owner, in any pair of versions.
#[tokio::test]
async fn a_put_takes_no_frozen_field_from_whoever_applied_it() {
    for webhook in [Webhook::Absent, Webhook::Renames] {
        let mut appliers = Appliers::begin(webhook).await;
        for version in VERSIONS {
            let number = appliers.numbered(version, 3);
            appliers.applied(alice_in(version), &number).await;
        }
        appliers.converting.gate(false).await;
        for claimed in VERSIONS {
            let before = appliers.stored(claimed).await;
            for version in VERSIONS {
                let bob = Wish {
                    name: claimed,
                    manager: "bob",
                    version,
                };
                for spec in [appliers.numbered(version, 5), json!({})] {
                    let answer = appliers.put(bob, &spec).await;
                    assert_eq!(answer.status, 200, "{}", answer.body);
                    let after = appliers.stored(claimed).await;
                    assert_eq!(after, before, "{webhook:?} {claimed} {version} {spec}");
                }
            }
        }
    }
}

/// field-gates.md §5/D12: a manager whose apply omits a frozen field stays its owner, alone or with others, in the
/// version of that apply.
#[tokio::test]
async fn who_asks_for_a_frozen_field_no_more_keeps_it_in_the_version_they_write() {
    for webhook in [Webhook::Absent, Webhook::Renames] {
        let mut appliers = Appliers::begin(webhook).await;
        let carol = Wish {
            name: "w",
            manager: "carol",
            version: "v1",
        };
        let number = appliers.numbered("v1", 3);
        appliers.applied(carol, &number).await;
        let alice = |version| Wish {
            name: "w",
            manager: "alice",
            version,
        };
        let mut both = appliers.numbered("v2", 3);
        both["image"] = "a".into();
        appliers.applied(alice("v2"), &both).await;
        appliers.converting.gate(false).await;
        for version in ["v2", "v1", "v3", "v2", "v3", "v1"] {
            appliers
                .applied(alice(version), &json!({"image": "b"}))
                .await;
            let mine = [webhook.number(version), "image"];
            let mine = if mine[0] < mine[1] {
                mine
            } else {
                [mine[1], mine[0]]
            };
            let expected = json!({"alice": mine, "carol": ["replicas"]});
            assert_eq!(
                appliers.owners("w").await,
                expected,
                "{webhook:?} {version}"
            );
        }
        // The gate opens, and the next wish counts again.
        appliers.converting.gate(true).await;
        appliers.applied(alice("v2"), &json!({"image": "b"})).await;
        let expected = json!({"alice": ["image"], "carol": ["replicas"]});
        assert_eq!(appliers.owners("w").await, expected, "{webhook:?}");
    }
}

/// field-gates.md §5/D12: a map that is one value is not contested because of a frozen field in it, and is because of
/// the rest of it.
#[tokio::test]
async fn a_map_that_is_one_value_is_not_contested_for_a_frozen_field_in_it() {
    for (webhook, version) in [
        (Webhook::Absent, "v1"),
        (Webhook::Absent, "v2"),
        (Webhook::Renames, "v1"),
        (Webhook::Renames, "v2"),
    ] {
        let mut appliers = Appliers::begin(webhook).await;
        let map = |baz: u64, qux: u64| json!({"foo": {"baz": baz, "qux": qux}});
        for claimed in VERSIONS {
            appliers.applied(alice_in(claimed), &map(1, 1)).await;
        }
        appliers.converting.gate(false).await;
        for claimed in VERSIONS {
            let told = format!("{webhook:?}, claimed in {claimed}, applied in {version}");
            let bob = Wish {
                name: claimed,
                manager: "bob",
                version,
            };
            let before = appliers.stored(claimed).await;
            let answer = appliers.put(bob, &map(1, 5)).await;
            assert_eq!(answer.status, 200, "{}", answer.body);
            assert_eq!(appliers.stored(claimed).await, before, "{told}");
            for query in ["", "&force=true"] {
                let answer = appliers.apply(bob, query, &map(1, 5)).await;
                assert_eq!(answer.status, 200, "{told}: {}", answer.body);
                let after = appliers.stored(claimed).await;
                assert_eq!(
                    (&after["spec"], &owners(&after)["alice"]),
                    (&map(1, 1), &json!(["foo"])),
                    "{told}"
                );
            }
            let answer = appliers.apply(bob, "", &map(2, 5)).await;
            let conflict = [".spec.foo: conflict with \"alice\"".to_owned()];
            assert_eq!(
                (answer.status.as_u16(), causes(&answer)),
                (409, conflict.to_vec()),
                "{told}"
            );
            let answer = appliers.apply(bob, "&force=true", &map(2, 5)).await;
            assert_eq!(answer.status, 200, "{}", answer.body);
            let after = appliers.stored(claimed).await;
            assert_eq!(
                (&after["spec"], owners(&after)),
                (&map(2, 1), json!({"bob": ["foo"]})),
                "{told}"
            );
        }
    }
}

/// field-gates.md §9/conversion: a webhook that does not know objects without the field is no reason to refuse a write.
#[tokio::test]
async fn a_webhook_that_insists_on_a_frozen_field_keeps_nobody_from_applying() {
    let mut appliers = Appliers::begin(Webhook::Insists).await;
    let number = appliers.numbered("v2", 3);
    appliers.applied(alice_in("v2"), &number).await;
    appliers.converting.gate(false).await;
    let bob = Wish {
        name: "v2",
        manager: "bob",
        version: "v3",
    };
    let before = appliers.stored("v2").await;
    let number = appliers.numbered("v3", 5);
    let answer = appliers.applied(bob, &number).await;
    assert_eq!(of_gates(&answer), [KEPT]);
    assert_eq!(appliers.stored("v2").await, before);
    let mut wanted = appliers.numbered("v3", 3);
    wanted["image"] = "b".into();
    appliers.applied(bob, &wanted).await;
    let spec = appliers.stored("v2").await["spec"].clone();
    assert_eq!(spec, json!({"replicas": 3, "image": "b"}));
}

/// Upper bound on webhook calls per write: to read the object, to convert managedFields entries of two versions,
/// for the gate step, for the frozen fields in the versions of those entries, and to store and show the object.
const CALLS_MAX: usize = 16;

impl Appliers {
    /// Field managers of the number, in any version.
    fn holders(&self, stored: &Value) -> Vec<String> {
        let entries = stored["metadata"]["managedFields"].as_array();
        let held = entries.into_iter().flatten().filter(|entry| {
            let number = self.webhook.number(entry["apiVersion"].as_str().unwrap());
            let owned = entry["fieldsV1"]["f:spec"].get(format!("f:{number}"));
            owned.is_some()
        });
        let told = held.map(|entry| {
            let version = match entry["operation"].as_str() {
                Some("Update") => &entry["apiVersion"],
                _ => &Value::Null,
            };
            format!("{} {} {version}", entry["manager"], entry["operation"])
        });
        let mut holders: Vec<String> = told.collect();
        holders.sort();
        holders
    }

    /// Performs a random write and returns its description.
    async fn act(&mut self, dice: &mut Dice) -> String {
        let wish = Wish {
            name: "w",
            manager: dice.pick(&["alice", "bob"]),
            version: dice.pick(&VERSIONS),
        };
        let mut spec = json!({});
        if dice.roll(3) > 0 {
            spec["image"] = format!("i{}", dice.roll(2)).into();
        }
        if dice.roll(3) > 0 {
            spec[self.webhook.number(wish.version)] = dice.roll(3).into();
        }
        let kind = dice.roll(3);
        let answer = match kind {
            0 => self.apply(wish, "", &spec).await,
            1 => self.apply(wish, "&force=true", &spec).await,
            _ => self.put(wish, &spec).await,
        };
        let is_refused = kind == 0 && answer.status == 409;
        let told = format!("{kind} {} {} {spec}", wish.manager, wish.version);
        assert!(
            answer.status == 200 || is_refused,
            "{told}: {}",
            answer.body
        );
        for cause in causes(&answer) {
            let (field, _) = cause.split_once(':').unwrap();
            assert!(
                field == ".spec.image" || !self.is_closed(),
                "{told}: {cause}"
            );
        }
        told
    }

    fn is_closed(&self) -> bool {
        !self.converting.is_open()
    }
}

/// field-gates.md §14/property: random writes in any version leave the bytes and the owners of a frozen field as they
/// are stored, are not refused because of it, and need a bounded number of webhook calls.
#[tokio::test]
async fn a_closed_gate_changes_neither_bytes_nor_claims_whatever_version_is_written() {
    for (webhook, seed) in [
        (Webhook::Absent, 1),
        (Webhook::Renames, 2),
        (Webhook::Renames, 3),
    ] {
        let mut appliers = Appliers::begin(webhook).await;
        let mut dice = Dice(seed);
        let number = appliers.numbered("v2", 1);
        let alice = Wish {
            name: "w",
            manager: "alice",
            version: "v2",
        };
        appliers.applied(alice, &number).await;
        for round in 0..6 {
            appliers.converting.gate(round % 2 == 0).await;
            for _ in 0..12 {
                let before = appliers.stored("w").await;
                appliers.converting.hook.asked();
                let told = appliers.act(&mut dice).await;
                let calls = appliers.converting.hook.asked().len();
                assert!(calls <= CALLS_MAX, "{told}: {calls} calls");
                let after = appliers.stored("w").await;
                if appliers.is_closed() && after["spec"].is_object() {
                    let frozen = |object: &Value| {
                        let number = object["spec"].get("replicas").cloned();
                        (number, appliers.holders(object))
                    };
                    assert_eq!(
                        frozen(&after),
                        frozen(&before),
                        "{webhook:?} {seed}: {told}\nbefore {before}\nafter {after}"
                    );
                }
            }
        }
    }
}

/// field-gates.md §5/D2, field-gates.md §5/D12, field-gates.md §10/31, field-gates.md §10/40: removing an ungated
/// parent removes its frozen fields and their owners, so that a later apply of such a field meets no conflict.
#[tokio::test]
async fn nobody_owns_a_frozen_field_that_went_with_its_parent() {
    for way in ["apply", "put", "merge"] {
        let mut world = gated().await;
        for definition in [nested(true), nested(false)] {
            let answer = world.define(&definition).await;
            assert!(answer.status.is_success(), "{}", answer.body);
            if definition == nested(true) {
                let whole = json!({
                    "foo": {"baz": 1, "qux": 1},
                    "jobs": [{"name": "a", "probe": "/"}, {"name": "b", "probe": "/"}],
                });
                let answer = world.send(applying("alice"), &nesting(&whole)).await;
                assert!(answer.status.is_success(), "{}", answer.body);
            }
        }
        let rest = json!({"jobs": [{"name": "b"}]});
        let sent = match way {
            "apply" => applying("alice"),
            "put" => Sent {
                method: "PUT",
                media_type: "application/json",
                ..applying("bob")
            },
            _ => Sent {
                media_type: "application/merge-patch+json",
                ..applying("bob")
            },
        };
        let mut next = nesting(&rest);
        match way {
            "merge" => next["spec"]["foo"] = Value::Null,
            "put" => {
                let path = "/apis/ex.io/v1/namespaces/default/nests/n";
                next["metadata"] = world.client.get(path).await.json()["metadata"].take();
            }
            _ => {}
        }
        let answer = world.send(sent, &next).await;
        assert!(answer.status.is_success(), "{way}: {}", answer.body);
        let (stored, _) = world.stored("ex.io/nests/default/n").await.unwrap();
        let kept = json!({"jobs": [{"name": "b", "probe": "/"}]});
        assert_eq!(stored["spec"], kept, "{way}");
        let claims = stored["metadata"]["managedFields"].to_string();
        assert!(!claims.contains("qux"), "{way}: {claims}");
        assert_eq!(claims.matches("k:{").count(), 1, "{way}: {claims}");
        assert_eq!(claims.matches("f:probe").count(), 1, "{way}: {claims}");

        world.define(&nested(true)).await;
        let wish = json!({"foo": {"qux": 5}, "jobs": [{"name": "a", "probe": "/x"}]});
        let answer = world.send(applying("carol"), &nesting(&wish)).await;
        assert_eq!(answer.status, 200, "{way}: {}", answer.body);
    }
}

fn applying(manager: &str) -> Sent<'static> {
    Sent {
        method: "PATCH",
        path: format!("/apis/ex.io/v1/namespaces/default/nests/n?fieldManager={manager}"),
        media_type: "application/apply-patch+yaml",
    }
}

fn nesting(spec: &Value) -> Value {
    json!({"apiVersion": "ex.io/v1", "kind": "Nest", "metadata": {"name": "n"}, "spec": spec})
}

/// A definition with gates inside a struct and inside the elements of a list.
fn nested(enabled: bool) -> Value {
    let (text, number) = (json!({"type": "string"}), json!({"type": "integer"}));
    let job = json!({"type": "object", "required": ["name"], "properties": {"name": text, "probe": text}});
    let jobs = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": job,
    });
    let gated_parent = json!({"type": "object", "properties": {"baz": number, "qux": number}});
    let spec = json!({"type": "object", "properties": {"foo": gated_parent, "jobs": jobs}});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let paths = [".spec.foo.qux", ".spec.jobs[*].probe"];
    let gate = json!({"name": "A", "preRelease": "alpha", "enabled": enabled, "fieldPaths": paths});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "nests.ex.io"},
        "spec": {
            "group": "ex.io", "scope": "Namespaced", "names": {"plural": "nests", "kind": "Nest"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
            "customFeatureGates": {"featureGates": [gate]},
        },
    })
}

/// field-gates.md §4, field-gates.md §9/pruning: a frozen value keeps fields that were removed from its schema, without
/// a warning, since the request did not set them. Once the gate is open, they are pruned as usual.
#[tokio::test]
async fn a_frozen_value_keeps_fields_that_left_its_schema() {
    let mut world = gated().await;
    let gated = |enabled, fields: &[&str]| {
        let mut definition = nested(enabled);
        let gates = &mut definition["spec"]["customFeatureGates"]["featureGates"];
        gates[0]["fieldPaths"] = json!([".spec.foo"]);
        let parent = definition.pointer_mut(FOO).unwrap();
        parent
            .as_object_mut()
            .unwrap()
            .retain(|name, _| fields.contains(&name.as_str()));
        definition
    };
    world.define(&gated(true, &["baz", "qux"])).await;
    let whole = json!({"foo": {"baz": 1, "qux": 2}});
    world.send(applying("alice"), &nesting(&whole)).await;
    for definition in [gated(false, &["baz", "qux"]), gated(false, &["baz"])] {
        let answer = world.define(&definition).await;
        assert!(answer.status.is_success(), "{}", answer.body);
    }
    let merge = || Sent {
        media_type: "application/merge-patch+json",
        ..applying("bob")
    };
    for (at, body) in [
        json!({"metadata": {"labels": {"a": "b"}}}),
        json!({"spec": {"jobs": [{"name": "a"}]}}),
    ]
    .iter()
    .enumerate()
    {
        let answer = world.send(merge(), body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let warned = of_gates(&answer);
        assert!(warned.is_empty(), "{at}: {warned:?}");
        let (stored, _) = world.stored("ex.io/nests/default/n").await.unwrap();
        assert_eq!(stored["spec"]["foo"], whole["foo"], "{at}");
    }
    let path = "/apis/ex.io/v1/namespaces/default/nests/n";
    let read = world.client.get(path).await.json();
    let sent = Sent {
        method: "PUT",
        path: format!("{path}?fieldValidation=Strict"),
        media_type: "application/json",
    };
    let answer = world.send(sent, &read).await;
    assert_eq!(
        answer.status, 200,
        "what was read is taken: {}",
        answer.body
    );

    world.define(&gated(true, &["baz"])).await;
    let opened = json!({"metadata": {"labels": {"a": "c"}}});
    world.send(merge(), &opened).await;
    let (stored, _) = world.stored("ex.io/nests/default/n").await.unwrap();
    assert_eq!(stored["spec"]["foo"], json!({"baz": 1}));
}

/// Where a definition has the fields of `foo`.
const FOO: &str =
    "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/foo/properties";
