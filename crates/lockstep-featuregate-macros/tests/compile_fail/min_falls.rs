//! feature "F" lists min compatibility version transitions in decreasing order (1.34 < 1.35)
lockstep_featuregate::features! { kube { F { "1.35": Beta, "1.35": Beta on min "1.35", "1.36": Beta, "1.36": Beta on min "1.34" } } }

fn main() {}
