//! Several crates contribute gates to one component (feature-gates.md §7/declare).

#[path = "support/sets.rs"]
mod sets;

use lockstep_featuregate::{
    BinaryVersion, Component, Entry, Explanation, Gates, RegistrationError, Registry, Source,
    Stage, v,
};
use sets::builder;

/// The gates of one crate.
mod lists {
    lockstep_featuregate::features! {
        kube {
            ShardedLists { "1.35": Alpha, "1.36": Beta on },
            Shared { "1.36": Beta on },
        }
        store {
            Compact { "1.36": Beta, scope: cluster },
            Settled { "1.36": GA on locked, scope: cluster },
            Local { "1.36": Beta },
        }
    }
}

/// The gates of another, which knows the first only by name.
mod fields {
    lockstep_featuregate::features! {
        kube {
            FieldLevel { "1.36": Beta, after: [ShardedLists] },
            Shared { "1.36": Beta on },
        }
        store {
            Compact { "1.36": Beta, scope: cluster },
        }
    }
}

/// A crate that disagrees with the first.
mod rival {
    lockstep_featuregate::features! { kube { ShardedLists { "1.36": Alpha } } }
}

/// A crate that depends on an undeclared gate.
mod orphan {
    lockstep_featuregate::features! { kube { Orphan { "1.36": Alpha, after: [Nothing] } } }
}

/// A crate that leans on something less stable of another crate.
mod hasty {
    lockstep_featuregate::features! { kube { Hasty { "1.35": Beta on, after: [ShardedLists] } } }
}

fn gates(flag: &str) -> Gates {
    let both = builder(v(1, 36), &[&lists::KUBE, &fields::KUBE]);
    both.flag(flag).try_finish().expect("it starts").gates
}

#[test]
fn two_groups_make_one_component() {
    let gates = gates("FieldLevel=true");
    assert!(gates.enabled(lists::SHARDED_LISTS));
    assert!(gates.enabled(fields::FIELD_LEVEL));
    let why = gates.explain("FieldLevel").expect("known");
    assert_eq!(
        (why.source, why.depends_on),
        (Source::Flag, vec!["ShardedLists".to_owned()])
    );
    let component = gates.component("kube").expect("known").component();
    let names: Vec<&str> = component.own_features().map(|one| &*one.name).collect();
    assert_eq!(names, ["FieldLevel", "ShardedLists", "Shared"]);
    let alone = builder(v(1, 36), &[&lists::KUBE, &fields::KUBE]);
    let wrong = alone
        .flag("FieldLevel=true,ShardedLists=false")
        .check()
        .expect_err("refused");
    assert_eq!(
        wrong.to_string(),
        "FieldLevel is enabled, but depends on features that are disabled: [ShardedLists]"
    );
}

#[test]
fn a_gate_declared_alike_in_two_groups_is_one_gate() {
    for (flag, value) in [("", true), ("Shared=false", false)] {
        let gates = gates(flag);
        let values = [lists::SHARED, fields::SHARED].map(|gate| gates.enabled(gate));
        assert_eq!(
            (values, gates.get("Shared")),
            ([value; 2], Some(value)),
            "{flag}"
        );
    }
    let off = gates("").with(fields::SHARED, false);
    assert!(!off.enabled(lists::SHARED));
}

/// feature-gates.md §7/explain, §6/in-code.
#[test]
fn a_set_tells_all_about_a_gate_and_which_version_it_emulates() {
    let emulating = builder(v(1, 37), &[&lists::KUBE, &fields::KUBE]).emulated_version("1.36");
    let started = emulating.flag("FieldLevel=true").try_finish();
    let gates = started.expect("it starts").gates;
    let expected = Explanation {
        value: true,
        held: Entry {
            version: v(1, 36),
            default: false,
            lock_to_default: false,
            stage: Stage::Beta,
            min_compatibility: None,
        },
        source: Source::Flag,
        remove_in: None,
        depends_on: vec!["ShardedLists".to_owned()],
    };
    assert_eq!(gates.explain("FieldLevel"), Some(expected));
    assert!(gates.emulation() >= v(1, 36) && gates.emulation() < v(1, 37));
    assert_eq!(gates.min_compatibility(), v(1, 35));
}

/// feature-gates.md §7/threads.
#[test]
fn a_set_is_read_from_any_thread() {
    fn anywhere<T: Send + Sync + Clone>(value: &T) -> T {
        value.clone()
    }
    let gates = anywhere(&gates("FieldLevel=true"));
    let elsewhere = std::thread::spawn(move || gates.enabled(fields::FIELD_LEVEL));
    assert!(elsewhere.join().expect("reading never panics"));
}

/// feature-gates.md §7/threads, §5/run-time.
#[test]
fn the_cluster_moves_its_own_gates_for_all_who_declare_them_and_no_others() {
    let both = builder(v(1, 36), &[&lists::STORE, &fields::STORE]);
    let mut started = both.try_finish().expect("it starts");
    let read = |gates: &Gates| {
        let all = [
            lists::COMPACT,
            fields::COMPACT,
            lists::SETTLED,
            lists::LOCAL,
        ];
        all.map(|gate| gates.enabled(gate))
    };
    let copy = started.gates.clone();
    assert_eq!(read(&copy), [false, false, true, false]);
    let switch = &mut started.cluster_switch;
    assert!(switch.set("store", "Compact", true));
    assert_eq!(read(&copy), [true, true, true, false]);
    for (component, name, value) in [
        ("store", "Settled", false),
        ("store", "Local", true),
        ("store", "AllAlpha", true),
        ("store", "Nothing", true),
        ("kube", "Compact", false),
    ] {
        assert!(!switch.set(component, name, value), "{component}:{name}");
    }
    assert_eq!(read(&copy), [true, true, true, false]);
    assert!(switch.set("store", "Compact", false));
    assert_eq!(read(&copy), [false, false, true, false]);
}

#[test]
fn groups_that_do_not_fit_together_are_refused_when_they_meet() {
    let declared =
        |groups: &[_]| Component::declared(BinaryVersion::of(v(1, 36)), groups).map(|_| ());
    assert_eq!(
        declared(&[&lists::KUBE, &rival::KUBE]),
        Err(vec![RegistrationError::Different {
            feature: "ShardedLists".to_owned(),
            existing: "1.35 Alpha off, 1.36 Beta on".to_owned(),
        }])
    );
    assert_eq!(
        declared(&[&fields::KUBE, &lists::STORE]),
        Err(vec![RegistrationError::ComponentUnknown {
            component: "store".to_owned()
        }])
    );
    for (group, text) in [
        (
            &orphan::KUBE,
            "cannot add dependency from Orphan to unknown feature Nothing",
        ),
        (
            &hasty::KUBE,
            "BETA feature Hasty cannot depend on ALPHA feature ShardedLists at version 1.35",
        ),
    ] {
        let groups = [&lists::KUBE, group];
        let component = Component::declared(BinaryVersion::of(v(1, 36)), &groups);
        let registry = Registry::new([component.expect("each name once")]);
        assert_eq!(registry.expect_err("refused").to_string(), text);
    }
}
