//! feature "F" specified patch MinCompatibilityVersion: 1.36.1
lockstep_featuregate::features! { kube { F { "1.36": Beta, "1.36": Beta on min "1.36.1" } } }

fn main() {}
