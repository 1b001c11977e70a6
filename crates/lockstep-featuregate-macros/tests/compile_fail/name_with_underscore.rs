//! feature "F_G" has an invalid name: use [A-Za-z][A-Za-z0-9]*, at most 100 characters
lockstep_featuregate::features! { kube { F_G { "1.36": Alpha } } }

fn main() {}
