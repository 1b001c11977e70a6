//! Sets made for one test: `with`, `with_all` and `for_each_state!` (feature-gates.md §7/with, §7/matrix).

#[path = "support/panics.rs"]
mod panics;
#[path = "support/sets.rs"]
mod sets;

use lockstep_featuregate::{Gates, Source, features, for_each_state, v};
use panics::panic_text;
use sets::builder;

features! {
    kube {
        Base { "1.34": Alpha, "1.35": Beta on },
        Middle { "1.35": Beta on, after: [Base] },
        Top { "1.36": Beta on, after: [Middle] },
        Finished { "1.34": Alpha, "1.35": Beta on, "1.37": GA on locked },
        Retired { "1.0": GA on, "1.35": Deprecated, "1.37": Deprecated locked },
        Dreamt { "1.37": Alpha, after: [Asleep] },
        Asleep { "1.36": Alpha },
        Coming { "1.38": Alpha },
        Agreed { "1.36": Beta, scope: cluster },
        Ancient { "1.0": GA on locked },
    }
}

/// Gates of a component that the sets here do not have.
mod elsewhere {
    lockstep_featuregate::features! { other { Stranger { "1.36": Alpha } } }
}

fn gates() -> Gates {
    let started = builder(v(1, 37), &[&KUBE]).flag("Base=true").try_finish();
    started.expect("it starts").gates
}

/// feature-gates.md §7/with, §3/dependency-merge: copies of copies keep what depends on what.
#[test]
fn a_set_with_another_value_leaves_the_first_alone() {
    let first = gates();
    let second = first.clone().with(ASLEEP, true).with(BASE, false);
    assert_eq!(
        [&first, &second].map(|set| (set.enabled(BASE), set.enabled(ASLEEP))),
        [(true, false), (false, true)]
    );
    assert_eq!(first.to_string(), "Base=true");
    assert_eq!(
        second.to_string(),
        "Asleep=true,Base=false,Middle=false,Top=false"
    );
    let sources = [&first, &second].map(|set| set.explain("Base").map(|why| why.source));
    assert_eq!(sources, [Some(Source::Flag), Some(Source::Test)]);
}

/// feature-gates.md §7/disabling.
#[test]
fn disabling_a_gate_disables_what_depends_on_it_unless_it_is_named_too() {
    let values = |set: &Gates| [BASE, MIDDLE, TOP].map(|gate| set.enabled(gate));
    assert_eq!(values(&gates()), [true, true, true]);
    assert_eq!(values(&gates().with(BASE, false)), [false, false, false]);
    assert_eq!(values(&gates().with(MIDDLE, false)), [true, false, false]);
    let named = [(BASE, false), (MIDDLE, true), (TOP, false)];
    assert_eq!(
        panic_text(|| drop(gates().with_all(named))),
        "Middle is enabled, but depends on features that are disabled: [Base]"
    );
}

#[test]
fn a_gate_cannot_be_enabled_without_what_it_depends_on() {
    assert_eq!(
        panic_text(|| drop(gates().with(DREAMT, true))),
        "Dreamt is enabled, but depends on features that are disabled: [Asleep]"
    );
    let both = gates().with_all([(DREAMT, true), (ASLEEP, true)]);
    assert_eq!([DREAMT, ASLEEP].map(|gate| both.enabled(gate)), [true; 2]);
}

/// feature-gates.md §7/locked-hint.
#[test]
fn what_no_server_could_have_is_refused_with_a_hint() {
    for (gate, value, text) in [
        (
            FINISHED,
            false,
            "Feature Finished is locked at version 1.37. Try emulating 1.36.",
        ),
        (
            RETIRED,
            true,
            "Feature Retired is locked at version 1.37. Try emulating 1.36.",
        ),
        (
            ANCIENT,
            false,
            "Feature Ancient is locked at version 1.37. It was never unlocked before.",
        ),
        (
            COMING,
            true,
            "cannot set feature gate Coming to true, feature is PreAlpha at emulated version 1.37, \
             min compatibility version 1.36",
        ),
        (
            elsewhere::STRANGER,
            true,
            "feature gate Stranger of component other is not part of this set",
        ),
    ] {
        assert_eq!(panic_text(|| drop(gates().with(gate, value))), text);
    }
    assert!(gates().with(FINISHED, true).enabled(FINISHED), "as locked");
    assert!(
        gates().with(AGREED, true).enabled(AGREED),
        "tests may agree"
    );
}

#[test]
fn both_states_are_run_at_versions_where_they_can_be_had() {
    let states = |gate| {
        let mut seen = Vec::new();
        for_each_state!(gate, |gates| seen.push((
            gates.enabled(gate),
            gates.emulation(),
            gates.min_compatibility(),
        )));
        seen
    };
    // No default set is installed here, so the newest declared version, 1.38, is the binary's.
    let now = (v(1, 38), v(1, 37));
    let before_the_lock = (v(1, 36), v(1, 35));
    let state = |value, (emulation, min)| (value, emulation, min);
    assert_eq!(states(BASE), [state(true, now), state(false, now)]);
    assert_eq!(
        states(FINISHED),
        [state(true, now), state(false, before_the_lock)]
    );
    assert_eq!(
        states(RETIRED),
        [state(true, before_the_lock), state(false, now)]
    );
    assert_eq!(states(DREAMT), [state(true, now), state(false, now)]);
}

#[test]
fn a_state_out_of_reach_says_why() {
    let text = panic_text(|| for_each_state!(ANCIENT, |_| {}));
    assert_eq!(
        text,
        "Ancient cannot be tested as false: Feature Ancient is locked at version 1.38. \
         It was never unlocked before."
    );
    let text = panic_text(|| for_each_state!(OLD, |_| {}));
    assert_eq!(
        text,
        "Old cannot be tested as false: emulation version 1.31 is not between [1.35, 1.38]"
    );
}

mod long_locked {
    lockstep_featuregate::features! {
        kube {
            Old { "1.31": Beta on, "1.32": GA on locked },
            New { "1.38": Alpha },
        }
    }
}
use long_locked::OLD;
