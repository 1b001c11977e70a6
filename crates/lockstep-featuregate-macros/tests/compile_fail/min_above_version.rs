//! feature "F" MinCompatibilityVersion 1.36 greater than Version 1.35
lockstep_featuregate::features! { kube { F { "1.35": Beta, "1.35": Beta on min "1.36" } } }

fn main() {}
