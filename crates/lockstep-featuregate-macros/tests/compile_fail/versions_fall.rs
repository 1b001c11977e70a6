//! feature "F" lists version transitions in decreasing order (1.35 < 1.36)
lockstep_featuregate::features! { kube { F { "1.36": Alpha, "1.35": Beta } } }

fn main() {}
