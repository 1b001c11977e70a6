//! Memory that the CEL rules of a schema hold.

use std::alloc::System;
use std::hint::black_box;

use lockstep_schema::Schema;
use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Rules of the schema: as many as a definition of the largest size has.
const RULES: usize = 5_000;
/// Bytes that a rule may hold.
const RULE_BYTES_MAX: usize = 10 << 10;
/// Measurements, of which the lowest counts: the test runner allocates too.
const MEASUREMENTS: usize = 3;

fn ruled() -> Value {
    let rules =
        (0..RULES).map(|at| json!({"rule": format!("self.size != {at} || !has(self.name)")}));
    json!({"type": "object", "properties": {"spec": {
        "type": "object",
        "properties": {"size": {"type": "integer"}, "name": {"type": "string"}},
        "x-kubernetes-validations": rules.collect::<Vec<_>>(),
    }}})
}

#[test]
fn five_thousand_rules_share_what_they_are_compiled_against() {
    let json = ruled();
    let measure = |_| {
        let region = Region::new(COUNTING);
        let schema = Schema::compile(&json).expect("it compiles");
        let change = region.change();
        drop(black_box(schema));
        change.bytes_allocated - change.bytes_deallocated
    };
    let held = (0..MEASUREMENTS).map(measure).min().expect("measurements");
    println!("a rule holds {} bytes", held / RULES);
    assert!(held <= RULES * RULE_BYTES_MAX, "{held} bytes");
    assert!(held > RULES * 100, "{held} bytes were counted");
}
