//! could not parse "1.36abc" as version
lockstep_featuregate::features! { kube { F { "1.36abc": Alpha } } }

fn main() {}
