//! feature "F" regresses stability from more stable level to BETA in 1.36
lockstep_featuregate::features! { kube { F { "1.35": GA on, "1.36": Beta on } } }

fn main() {}
