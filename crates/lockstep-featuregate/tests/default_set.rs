//! Guards on the process default set (feature-gates.md §7, second table).
//!
//! Tests of one binary share that set, so each takes its turn first.

#[path = "support/panics.rs"]
mod panics;
#[path = "support/sets.rs"]
mod sets;

use std::{
    panic::catch_unwind,
    process::Command,
    sync::{Once, mpsc},
    thread,
};

use lockstep_featuregate::{
    Gate, Source, enabled, features,
    testing::{emulate_for_test, serial, set_all_for_test, set_for_test},
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
}

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let started = builder(v(1, 37), &[&KUBE]).flag("Quiet=false").try_finish();
        started.expect("it starts").gates.install();
    });
}

/// What the default set holds, as a test can see it: through a state of its own.
fn value_and_source(gate: Gate) -> (bool, Source) {
    let mut seen = None;
    // The matrix starts from the installed set; a neighbour's source shows the installed one's.
    lockstep_featuregate::for_each_state!(FINISHED, |gates| {
        seen = seen.or_else(|| {
            gates
                .explain(gate.name())
                .map(|why| (why.value, why.source))
        });
    });
    seen.expect("the gate is known")
}

#[test]
fn a_guard_restores_the_value_and_who_set_it() {
    let _turn = serial();
    install();
    assert_eq!(value_and_source(QUIET), (false, Source::Flag));
    assert_eq!(value_and_source(BASE), (true, Source::Default));
    {
        let _guard = set_all_for_test([(QUIET, true), (TOP, false)]);
        assert_eq!([QUIET, TOP, BASE].map(|g| enabled!(g)), [true, false, true]);
        assert_eq!(value_and_source(QUIET), (true, Source::Test));
    }
    assert_eq!([QUIET, TOP, BASE].map(|g| enabled!(g)), [false, true, true]);
    assert_eq!(value_and_source(QUIET), (false, Source::Flag));
    assert_eq!(value_and_source(TOP), (true, Source::Default));
}

#[test]
fn a_guard_restores_also_on_panic() {
    let _turn = serial();
    install();
    let panicked = catch_unwind(|| {
        let _outer = set_for_test(QUIET, true);
        let _inner = set_for_test(TOP, false);
        panic!("the test fails");
    });
    let panic = panicked.expect_err("it panicked");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the test fails"));
    assert_eq!([QUIET, TOP].map(|gate| enabled!(gate)), [false, true]);
}

#[test]
fn nested_guards_restore_in_reverse() {
    let _turn = serial();
    install();
    let outer = set_for_test(QUIET, true);
    let inner = set_for_test(QUIET, false);
    assert!(!enabled!(QUIET));
    drop(inner);
    assert!(enabled!(QUIET));
    assert_eq!(value_and_source(QUIET), (true, Source::Test));
    drop(outer);
    assert_eq!(value_and_source(QUIET), (false, Source::Flag));
}

#[test]
fn a_guard_dropped_out_of_order_panics_naming_both_and_still_restores() {
    let _turn = serial();
    install();
    let older = set_all_for_test([(QUIET, true), (TOP, false)]);
    let younger = set_for_test(QUIET, false);
    assert_eq!(
        panic_text(|| drop(older)),
        "the guard of Quiet, Top was dropped before the guard of Quiet, which is younger"
    );
    assert_eq!([QUIET, TOP].map(|gate| enabled!(gate)), [false, true]);
    drop(younger);
    assert_eq!(value_and_source(QUIET), (false, Source::Flag));
}

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

#[test]
fn a_locked_gate_hints_at_the_version_to_emulate() {
    let _turn = serial();
    install();
    assert_eq!(
        panic_text(|| drop(set_for_test(FINISHED, false))),
        "Feature Finished is locked at version 1.37. Try emulating 1.36."
    );
    let _version = emulate_for_test(v(1, 36));
    let _guard = set_for_test(FINISHED, false);
    assert!(!enabled!(FINISHED));
}

#[test]
fn an_emulated_version_is_taken_before_gates_and_restores_both_versions() {
    let _turn = serial();
    install();
    let versions = || {
        let mut seen = None;
        lockstep_featuregate::for_each_state!(QUIET, |gates| {
            seen = Some((gates.emulation(), gates.min_compatibility()));
        });
        seen.expect("two states")
    };
    {
        let _version = emulate_for_test((v(1, 36), v(1, 36)));
        assert_eq!(versions(), (v(1, 36), v(1, 36)));
        let _older = emulate_for_test(v(1, 36));
        assert_eq!(versions(), (v(1, 36), v(1, 35)));
        let _guard = set_for_test(FINISHED, false);
        assert_eq!(
            panic_text(|| drop(emulate_for_test(v(1, 35)))),
            "the emulated version cannot change while Finished is set: take it before the gate"
        );
    }
    assert_eq!(versions(), (v(1, 37), v(1, 36)));
    assert!(enabled!(FINISHED));
    assert_eq!(
        panic_text(|| drop(emulate_for_test(v(1, 20)))),
        "emulation version 1.20 is not between [1.34, 1.37]"
    );
}

#[test]
fn both_states_of_a_gate_keep_what_guards_set_also_at_another_version() {
    let _turn = serial();
    install();
    let _guard = set_for_test(QUIET, true);
    let mut seen = Vec::new();
    lockstep_featuregate::for_each_state!(FINISHED, |gates| seen.push((
        gates.emulation(),
        gates.enabled(FINISHED),
        gates.enabled(QUIET)
    )));
    assert_eq!(seen, [(v(1, 37), true, true), (v(1, 36), false, true)]);
    assert!(enabled!(FINISHED), "nothing global changed");
}

#[test]
fn a_version_dropped_before_its_gates_panics_and_still_restores() {
    let _turn = serial();
    install();
    let version = emulate_for_test(v(1, 36));
    let gate = set_for_test(FINISHED, false);
    assert_eq!(
        panic_text(|| drop(version)),
        "the guard of version 1.36 of kube was dropped before the guard of Finished, which is younger"
    );
    assert!(enabled!(FINISHED));
    drop(gate);
    assert!(enabled!(FINISHED));
}

/// Runs `body` on a thread of that name, as the harness does with tests.
fn on_test_thread(name: &str, body: impl FnOnce() + Send + 'static) -> thread::Result<()> {
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(body).expect("a thread").join()
}

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
                let _other = set_for_test(QUIET, true); // nobody else's
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
    if let Some((succeeded, output)) = child {
        assert!(succeeded, "{output}");
    }
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
    if let Some((succeeded, output)) = child {
        assert!(succeeded, "{output}");
    }
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
    if let Some((succeeded, output)) = child {
        assert!(succeeded, "{output}");
    }
}

#[test]
fn serial_tests_wait_for_each_other() {
    let turn = serial();
    install();
    let guard = set_for_test(QUIET, true);
    let (said, events) = mpsc::channel();
    let waiting = thread::spawn({
        let said = said.clone();
        move || {
            said.send("asks").expect("heard");
            let _turn = serial();
            said.send("has its turn").expect("heard");
            let _guard = set_for_test(QUIET, true);
        }
    });
    assert_eq!(events.recv(), Ok("asks"));
    said.send("first is done").expect("heard");
    drop(guard);
    drop(turn);
    waiting.join().expect("the second waited");
    drop(said);
    let events: Vec<_> = events.iter().collect();
    assert_eq!(events, ["first is done", "has its turn"]);
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
            assert_eq!(value_and_source(QUIET), (true, Source::Flag));
        }
    });
    if let Some((succeeded, output)) = child {
        assert!(succeeded, "{output}");
    }
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
    if let Some((succeeded, output)) = child {
        assert!(succeeded, "{output}");
    }
}

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
    if let Some((succeeded, output)) = child {
        assert!(succeeded, "{output}");
    }
}

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
