//! cycle detected with feature D
lockstep_featuregate::features! { kube { D { "1.36": Alpha, after: [F] }, F { "1.36": Alpha, after: [D] } } }

fn main() {}
