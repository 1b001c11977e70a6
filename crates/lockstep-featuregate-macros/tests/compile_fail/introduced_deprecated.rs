//! feature "F" introduced as deprecated must provide a 1.0 entry indicating initial state
lockstep_featuregate::features! { kube { F { "1.36": Deprecated } } }

fn main() {}
