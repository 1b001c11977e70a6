//! feature "F" lists duplicate entries with the same versions (1.36 = 1.36)
lockstep_featuregate::features! { kube { F { "1.36": Alpha, "1.36": Beta } } }

fn main() {}
