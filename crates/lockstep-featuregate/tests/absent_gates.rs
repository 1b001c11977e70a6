//! Gates that a set does not have. One test, so that the groups get their places in this order.

#[path = "support/sets.rs"]
mod sets;

use lockstep_featuregate::v;
use sets::builder;

mod present {
    lockstep_featuregate::features! { kube { Present { "1.36": Alpha } } }
}

mod absent {
    lockstep_featuregate::features! {
        kube { Absent0 { "1.36": Alpha }, Absent1 { "1.36": Alpha }, Absent2 { "1.36": Alpha } }
    }
}

#[test]
fn a_gate_the_set_does_not_have_is_off_whatever_else_the_set_has() {
    let all = builder(v(1, 36), &[&present::KUBE]).flag("AllAlpha=true,AllBeta=true");
    let gates = all.try_finish().expect("it starts").gates;
    let read =
        || [absent::ABSENT0, absent::ABSENT1, absent::ABSENT2].map(|gate| gates.enabled(gate));
    assert_eq!(read(), [false; 3], "no set has them yet");
    let other = builder(v(1, 36), &[&absent::KUBE]).flag("AllAlpha=true");
    let other = other.try_finish().expect("it starts").gates;
    // Now their places follow those of the first set, where `AllAlpha` and `AllBeta` must not be found.
    assert_eq!(read(), [false; 3]);
    assert_eq!(gates.get("Absent0"), None);
    assert!(gates.enabled(present::PRESENT));
    assert!(!other.enabled(present::PRESENT));
    assert!(other.enabled(absent::ABSENT2));
}
