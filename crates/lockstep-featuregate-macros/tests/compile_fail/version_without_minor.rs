//! illegal version string "1"
lockstep_featuregate::features! { kube { F { "1": Alpha } } }

fn main() {}
