//! feature "F" must not unlock after locking to default
lockstep_featuregate::features! { kube { F { "1.35": GA on locked, "1.36": GA on } } }

fn main() {}
