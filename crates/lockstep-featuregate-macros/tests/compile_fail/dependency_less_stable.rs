//! BETA feature F cannot depend on ALPHA feature D at version 1.36
lockstep_featuregate::features! { kube { D { "1.36": Alpha }, F { "1.36": Beta, after: [D] } } }

fn main() {}
