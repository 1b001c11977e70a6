//! no method named `set` found for reference `&Gates`
lockstep_featuregate::features! { kube { FieldLevel { "1.36": Alpha } } }

fn switches(gates: &lockstep_featuregate::Gates) {
    gates.set(FIELD_LEVEL, true);
}

fn main() {}
