//! feature "F" did not provide a version
lockstep_featuregate::features! { kube { F { Alpha, "1.36": Beta } } }

fn main() {}
