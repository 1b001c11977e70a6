//! Guards on the process default set (feature-gates.md §7/guard).
//!
//! Tests of one binary share that set, so each takes its turn first.

#[path = "support/installed.rs"]
mod installed;
#[path = "support/panics.rs"]
mod panics;
#[path = "support/sets.rs"]
mod sets;

use std::{
    panic::catch_unwind,
    sync::{Once, mpsc},
    thread,
};

use installed::value_and_source;
use lockstep_featuregate::{
    Source, enabled, features,
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
    }
}

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let started = builder(v(1, 37), &[&KUBE]).flag("Quiet=false").try_finish();
        started.expect("it starts").gates.install();
    });
}

#[test]
fn a_guard_restores_the_value_and_who_set_it() {
    let _turn = serial();
    install();
    assert_eq!(value_and_source(FINISHED, QUIET), (false, Source::Flag));
    assert_eq!(value_and_source(FINISHED, BASE), (true, Source::Default));
    {
        let _guard = set_all_for_test([(QUIET, true), (TOP, false)]);
        assert_eq!([QUIET, TOP, BASE].map(|g| enabled!(g)), [true, false, true]);
        assert_eq!(value_and_source(FINISHED, QUIET), (true, Source::Test));
    }
    assert_eq!([QUIET, TOP, BASE].map(|g| enabled!(g)), [false, true, true]);
    assert_eq!(value_and_source(FINISHED, QUIET), (false, Source::Flag));
    assert_eq!(value_and_source(FINISHED, TOP), (true, Source::Default));
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
    assert_eq!(value_and_source(FINISHED, QUIET), (true, Source::Test));
    drop(outer);
    assert_eq!(value_and_source(FINISHED, QUIET), (false, Source::Flag));
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
    assert_eq!(value_and_source(FINISHED, QUIET), (false, Source::Flag));
}

/// feature-gates.md §7/locked-hint, §7/emulate.
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

/// feature-gates.md §7/emulate.
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

/// feature-gates.md §7/matrix.
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

/// feature-gates.md §7/second-guard.
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
