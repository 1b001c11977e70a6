//! default-enabled feature F cannot depend on default-disabled feature D at version 1.36
lockstep_featuregate::features! { kube { D { "1.36": Beta }, F { "1.36": Beta on, after: [D] } } }

fn main() {}
