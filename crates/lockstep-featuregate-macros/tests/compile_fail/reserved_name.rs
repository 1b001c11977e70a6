//! feature "AllAlpha" has a reserved name
lockstep_featuregate::features! { kube { AllAlpha { "1.36": Alpha } } }

fn main() {}
