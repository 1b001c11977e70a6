//! feature "F" lists transition without stability change (1.35 -> 1.36)
lockstep_featuregate::features! { kube { F { "1.35": Alpha, "1.36": Alpha } } }

fn main() {}
