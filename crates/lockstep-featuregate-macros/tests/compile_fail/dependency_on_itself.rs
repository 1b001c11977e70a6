//! cycle detected with feature F
lockstep_featuregate::features! { kube { F { "1.36": Alpha, after: [F] } } }

fn main() {}
