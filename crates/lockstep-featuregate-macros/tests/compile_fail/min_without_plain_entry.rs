//! feature "F" specified MinCompatibilityVersion: 1.36 without a preceding entry at the same Version without MinCompatibilityVersion set
lockstep_featuregate::features! { kube { F { "1.36": Alpha min "1.36" } } }

fn main() {}
