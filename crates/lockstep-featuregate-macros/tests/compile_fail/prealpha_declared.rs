//! expected `Alpha`, `Beta`, `GA` or `Deprecated`
lockstep_featuregate::features! { kube { F { "1.36": PreAlpha } } }

fn main() {}
