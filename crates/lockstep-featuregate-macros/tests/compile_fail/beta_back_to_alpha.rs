//! feature "F" regresses stability from more stable level to ALPHA in 1.36
lockstep_featuregate::features! { kube { F { "1.35": Beta on, "1.36": Alpha } } }

fn main() {}
