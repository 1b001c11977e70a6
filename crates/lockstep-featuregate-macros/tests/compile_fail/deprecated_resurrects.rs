//! deprecated feature "F" must not resurrect from its terminal state
lockstep_featuregate::features! { kube { F { "1.0": GA on, "1.35": Deprecated, "1.36": GA on } } }

fn main() {}
