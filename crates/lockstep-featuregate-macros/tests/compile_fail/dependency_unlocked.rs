//! locked-to-default feature F cannot depend on unlocked feature D at version 1.36
lockstep_featuregate::features! { kube { D { "1.36": GA on }, F { "1.36": GA on locked, after: [D] } } }

fn main() {}
