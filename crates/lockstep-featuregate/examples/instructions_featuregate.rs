//! Work to count instructions of: `instructions` lists the cases, `instructions CASE ROUNDS` runs one.
//!
//! `cargo xtask bench featuregate` runs it under callgrind, which counts the same on a busy machine.

#![expect(clippy::print_stdout, reason = "the list of cases is its answer")]

use std::hint::black_box;

use lockstep_featuregate::{
    BinaryVersion, Builder, Component, Gates, Registry, enabled, features, v,
};

features! {
    kube {
        Quick { "1.36": Beta on },
    }
}

const CASES: [&str; 3] = ["empty loop", "enabled/static", "enabled/handle"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, rounds] = &arguments[..] else {
        println!("{}", CASES.join("\n"));
        return;
    };
    let rounds: u64 = rounds.parse().expect("a number of rounds");
    let gates = gates();
    gates.install();
    let mut on = 0_u64;
    for round in 0..rounds {
        on += u64::from(match case.as_str() {
            "enabled/static" => enabled!(QUICK),
            "enabled/handle" => black_box(&gates).enabled(QUICK),
            _ => black_box(round) != u64::MAX,
        });
    }
    assert_eq!(black_box(on), rounds);
}

fn gates() -> Gates {
    let kube = Component::declared(BinaryVersion::of(v(1, 37)), &[&KUBE]).expect("it fits");
    let registry = Registry::new([kube]).expect("one component");
    Builder::new(registry)
        .try_finish()
        .expect("it starts")
        .gates
}
