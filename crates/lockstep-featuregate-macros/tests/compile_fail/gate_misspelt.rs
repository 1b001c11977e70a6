//! cannot find value `FIELD_LEVLE` in this scope
lockstep_featuregate::features! { kube { FieldLevel { "1.36": Alpha } } }

fn handles(gates: &lockstep_featuregate::Gates) -> bool {
    gates.enabled(FIELD_LEVLE)
}

fn main() {}
