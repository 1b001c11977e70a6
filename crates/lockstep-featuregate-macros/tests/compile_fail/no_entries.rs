//! feature "F" lists no entries
lockstep_featuregate::features! { kube { F { api } } }

fn main() {}
