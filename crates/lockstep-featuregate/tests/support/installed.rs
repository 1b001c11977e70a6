//! Observes the process default set through a derived set.

use lockstep_featuregate::{Gate, Source, for_each_state};

/// Value and source of `gate` in the installed set. The matrix over a `neighbour` starts from that set, so
/// what it shows of other gates is the set's own.
pub(crate) fn value_and_source(neighbour: Gate, gate: Gate) -> (bool, Source) {
    let mut seen = None;
    for_each_state!(neighbour, |gates| {
        let why = gates.explain(gate.name());
        seen = seen.or(why.map(|why| (why.value, why.source)));
    });
    seen.expect("the gate is known")
}
