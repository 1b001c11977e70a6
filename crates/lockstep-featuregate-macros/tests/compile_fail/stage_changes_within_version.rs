//! feature "F" lists stability changes with the same version (ALPHA -> BETA)
lockstep_featuregate::features! { kube { F { "1.36": Alpha, "1.36": Beta min "1.36" } } }

fn main() {}
