//! feature "F" lists locked to default changes with the same version (false -> true)
lockstep_featuregate::features! { kube { F { "1.36": GA on, "1.36": GA on locked min "1.36" } } }

fn main() {}
