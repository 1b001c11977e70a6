//! the name `FIELD_LEVEL` is defined multiple times
lockstep_featuregate::features! { kube { FieldLevel { "1.36": Alpha }, FieldLevel { "1.36": Alpha } } }

fn main() {}
