//! feature "F" specified patch version: 1.36.1
lockstep_featuregate::features! { kube { F { "1.36.1": Alpha } } }

fn main() {}
