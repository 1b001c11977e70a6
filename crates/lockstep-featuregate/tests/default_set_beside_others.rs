//! Guards on the process default set beside other tests, other sets and the end of the run
//! (feature-gates.md §7/guard).
//!
//! Each test runs in its own process, which shares that set with no other test.

#[path = "support/installed.rs"]
mod installed;
#[path = "support/panics.rs"]
mod panics;
#[path = "support/sets.rs"]
mod sets;

use std::{process::Command, sync::mpsc, thread};

use installed::value_and_source;
use lockstep_featuregate::{
    BinaryVersion, Builder, Component, Registry, Source, enabled, features,
    testing::{
        emulate_component_for_test, emulate_for_test, serial, set_all_for_test, set_for_test,
    },
    v,
};
use panics::panic_text;
use sets::builder;

features! {
    kube {
        Base { "1.34": Alpha, "1.35": Beta on },
        Middle { "1.35": Beta on, after: [Base] },
        Top { "1.36": Beta on, after: [Middle] },
        Quiet { "1.36": Alpha },
        Finished { "1.34": Alpha, "1.35": Beta on, "1.37": GA on locked },
        Agreed { "1.36": Beta, scope: cluster },
    }
    store {
        Settled { "1.36": Beta on, "1.37": GA on locked },
    }
}

fn install() {
    let started = builder(v(1, 37), &[&KUBE]).flag("Quiet=false").try_finish();
    started.expect("it starts").gates.install();
}

/// feature-gates.md §7/disabling.
#[test]
fn disabling_a_gate_disables_its_dependants_and_tells_each() {
    let child = run_in_child(
        "disabling_a_gate_disables_its_dependants_and_tells_each",
        || {
            install();
            let guard = set_for_test(BASE, false);
            assert_eq!(guard.also_disabled(), ["Middle", "Top"]);
            assert_eq!([BASE, MIDDLE, TOP].map(|gate| enabled!(gate)), [false; 3]);
            drop(guard);
            assert_eq!([BASE, MIDDLE, TOP].map(|gate| enabled!(gate)), [true; 3]);
        },
    );
    let Some((succeeded, output)) = child else {
        return;
    };
    assert!(succeeded, "{output}");
    let told = "disabling Middle as well: it depends on Base\n\
                disabling Top as well: it depends on Middle\n";
    assert!(output.contains(told), "{output}");
}

/// feature-gates.md §7/second-guard.
#[test]
fn the_same_gate_from_another_test_thread_panics_naming_both() {
    let child = run_in_child(
        "the_same_gate_from_another_test_thread_panics_naming_both",
        || {
            install();
            let here = thread::current()
                .name()
                .expect("a test has a name")
                .to_owned();
            let _guard = set_for_test(BASE, false);
            let (text, texts) = mpsc::channel();
            on_test_thread("t2", move || {
                let parallel = |gate| panic_text(|| drop(set_for_test(gate, true)));
                text.send(parallel(BASE)).expect("heard");
                text.send(parallel(TOP)).expect("heard"); // off because of Base, so held as well
                let _other = set_for_test(QUIET, true); // not held by another test
                text.send(enabled!(QUIET).to_string()).expect("heard");
            })
            .expect("t2 handles its panics");
            let both =
                format!("Detected parallel setting of a feature gate by both {here:?} and \"t2\"");
            let expected = [both.clone(), both, "true".to_owned()];
            assert_eq!(texts.iter().collect::<Vec<_>>(), expected);
            assert_eq!([BASE, QUIET].map(|gate| enabled!(gate)), [false, false]);
        },
    );
    passed(child);
}

#[test]
fn a_gate_that_must_follow_but_is_held_elsewhere_panics_too() {
    let name = "a_gate_that_must_follow_but_is_held_elsewhere_panics_too";
    let child = run_in_child(name, || {
        install();
        let _guard = set_for_test(TOP, true);
        on_test_thread("t2", move || {
            assert_eq!(
                panic_text(|| drop(set_for_test(BASE, false))),
                format!("Detected parallel setting of a feature gate by both {name:?} and \"t2\"")
            );
        })
        .expect("t2 handles its panics");
        assert_eq!([BASE, MIDDLE, TOP].map(|gate| enabled!(gate)), [true; 3]);
    });
    passed(child);
}

#[test]
fn an_emulated_version_or_a_turn_keeps_every_other_test_out() {
    let child = run_in_child(
        "an_emulated_version_or_a_turn_keeps_every_other_test_out",
        || {
            install();
            let here = thread::current()
                .name()
                .expect("a test has a name")
                .to_owned();
            let both =
                format!("Detected parallel setting of a feature gate by both {here:?} and \"t2\"");
            let refused = || {
                let both = both.clone();
                on_test_thread("t2", move || {
                    assert_eq!(panic_text(|| drop(set_for_test(QUIET, true))), both);
                    assert_eq!(panic_text(|| drop(emulate_for_test(v(1, 36)))), both);
                })
            };
            let version = emulate_for_test(v(1, 36));
            refused().expect("t2 handles its panics");
            drop(version);
            let turn = serial();
            refused().expect("t2 handles its panics");
            drop(turn);
            let _guard = set_for_test(QUIET, true);
            assert_eq!(
                panic_text(|| drop(serial())),
                "a turn must be taken before Quiet is set: two tests could wait for each other"
            );
        },
    );
    passed(child);
}

#[test]
fn a_set_installed_while_a_guard_lives_stays() {
    let child = run_in_child("a_set_installed_while_a_guard_lives_stays", || {
        install();
        let outer = set_for_test(TOP, false);
        let inner = set_for_test(QUIET, true);
        let fresh = builder(v(1, 37), &[&KUBE]).flag("Quiet=true").try_finish();
        fresh.expect("it starts").gates.install();
        for guard in [inner, outer] {
            drop(guard); // what it saved is of the set before
            assert_eq!([QUIET, TOP].map(|gate| enabled!(gate)), [true; 2]);
            assert_eq!(value_and_source(FINISHED, QUIET), (true, Source::Flag));
        }
    });
    passed(child);
}

#[test]
fn the_cluster_is_heard_through_the_default_set_once_the_guards_are_gone() {
    let child = run_in_child(
        "the_cluster_is_heard_through_the_default_set_once_the_guards_are_gone",
        || {
            let mut started = builder(v(1, 37), &[&KUBE]).try_finish().expect("it starts");
            assert!(started.cluster_switch.set("kube", "Agreed", true));
            started.gates.install();
            assert!(enabled!(AGREED));
            assert!(started.cluster_switch.set("kube", "Agreed", false));
            assert_eq!(
                [enabled!(AGREED), started.gates.enabled(AGREED)],
                [false; 2]
            );
            drop(set_for_test(QUIET, true));
            assert!(started.cluster_switch.set("kube", "Agreed", true));
            assert_eq!([enabled!(AGREED), started.gates.enabled(AGREED)], [true; 2]);
        },
    );
    passed(child);
}

/// feature-gates.md §0/U7, §7/check.
#[test]
fn without_a_default_set_reading_panics_and_a_guard_brings_one() {
    let child = run_in_child(
        "without_a_default_set_reading_panics_and_a_guard_brings_one",
        || {
            assert_eq!(
                panic_text(|| assert!(enabled!(QUIET))),
                "feature gate Quiet was read before the process default set was installed"
            );
            assert_eq!(
                panic_text(|| drop(emulate_for_test(v(1, 36)))),
                "no process default set is installed, so it has no version to change"
            );
            let guard = set_for_test(QUIET, true);
            assert_eq!([QUIET, BASE].map(|gate| enabled!(gate)), [true, true]);
            drop(guard);
            assert_eq!([QUIET, BASE].map(|gate| enabled!(gate)), [false, true]);
        },
    );
    passed(child);
}

#[test]
fn each_component_can_be_emulated() {
    let child = run_in_child("each_component_can_be_emulated", || {
        let declared = |group| Component::declared(BinaryVersion::of(v(1, 37)), &[group]);
        let both = [&KUBE, &STORE].map(|group| declared(group).expect("declared gates fit"));
        let registry = Registry::new(both).expect("two components");
        let started = Builder::new(registry).emulated_version("kube=1.36,store=1.37");
        started.try_finish().expect("it starts").gates.install();
        assert_eq!([FINISHED, SETTLED].map(|gate| enabled!(gate)), [true; 2]);
        let locked = "Feature Settled is locked at version 1.37. Try emulating 1.36.";
        assert_eq!(panic_text(|| drop(set_for_test(SETTLED, false))), locked);
        {
            let _version = emulate_component_for_test("store", v(1, 36));
            let _guards = set_all_for_test([(SETTLED, false), (FINISHED, false)]);
            assert_eq!([FINISHED, SETTLED].map(|gate| enabled!(gate)), [false; 2]);
        }
        let _version = emulate_component_for_test("kube", (v(1, 37), v(1, 36)));
        let locked = "Feature Finished is locked at version 1.37. Try emulating 1.36.";
        assert_eq!(panic_text(|| drop(set_for_test(FINISHED, false))), locked);
        assert_eq!(
            panic_text(|| drop(emulate_component_for_test("unknown", v(1, 36)))),
            "component not registered: unknown"
        );
    });
    passed(child);
}

/// feature-gates.md §7/leak.
#[test]
fn a_leaked_guard_fails_the_run_even_if_every_test_passes() {
    let name = "a_leaked_guard_fails_the_run_even_if_every_test_passes";
    let child = run_in_child(name, || {
        install();
        std::mem::forget(set_for_test(QUIET, true));
    });
    let Some((succeeded, output)) = child else {
        return;
    };
    assert!(!succeeded, "{output}");
    let told = format!(
        "feature gate guard leaked: test {name:?} ended while Quiet was still set, and the process \
         default set cannot be trusted any more\n"
    );
    assert!(output.contains(&told), "{output}");
}

/// Runs `body` on a thread of that name, as the harness does with tests.
fn on_test_thread(name: &str, body: impl FnOnce() + Send + 'static) -> thread::Result<()> {
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(body).expect("a thread").join()
}

/// The child's test passed; in the child itself there is nothing to look at.
fn passed(child: Option<(bool, String)>) {
    if let Some((succeeded, output)) = child {
        assert!(succeeded, "{output}");
    }
}

/// Runs one test of this binary in a process of its own, where it has the default set to itself.
/// There `body` runs and the answer is `None`; here it is whether that went well, and what it said.
fn run_in_child(test: &str, body: impl FnOnce()) -> Option<(bool, String)> {
    const CHILD: &str = "LOCKSTEP_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        body();
        return None;
    }
    let binary = std::env::current_exe().expect("this binary has a path");
    let mut child = Command::new(binary);
    child.args(["--exact", test, "--nocapture"]).env(CHILD, "1");
    let output = child.output().expect("the child ran");
    let said =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(said[0].contains("running 1 test\n"), "{said:?}");
    Some((output.status.success(), said.concat()))
}
