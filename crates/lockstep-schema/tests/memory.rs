//! Memory of a compiled schema: a server holds those of all custom resources.

use std::alloc::System;
use std::hint::black_box;

use lockstep_schema::Schema;
use serde_json::{Map, Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const FIELDS: usize = 200;
/// For each field, its name and what little is said about it.
const FIELD_BYTES_MAX: usize = 64;
/// Pieces of memory of a schema with one map of fields below `spec`.
const PIECES_MAX: usize = 10;
/// The harness may allocate at the same moment, which can only add: the least of these is ours.
const MEASUREMENTS: usize = 20;

fn wide() -> Value {
    let fields: Map<String, Value> = (0..FIELDS)
        .map(|at| {
            (
                format!("field{at}"),
                json!({"type": "string", "description": "It says something."}),
            )
        })
        .collect();
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}})
}

// One test, so that no other allocates at the same time.
#[test]
fn a_wide_schema_is_held_in_few_small_pieces() {
    let json = wide();
    let measure = |_| {
        let region = Region::new(COUNTING);
        let schema = Schema::compile(&json).expect("it compiles");
        let change = region.change();
        drop(black_box(schema));
        let bytes = change.bytes_allocated - change.bytes_deallocated;
        (bytes, change.allocations - change.deallocations)
    };
    let held = (0..MEASUREMENTS).map(measure).min().expect("measurements");
    let (bytes, pieces) = held;
    println!("a schema of {FIELDS} fields: {bytes} bytes in {pieces} pieces");
    assert!(bytes <= FIELDS * FIELD_BYTES_MAX, "{bytes} bytes");
    assert!(
        bytes > FIELDS,
        "one byte a field at least: {bytes} bytes were counted"
    );
    assert!(pieces <= PIECES_MAX, "{pieces} pieces");
}
