//! no method named `enabled` found for struct `lockstep_featuregate::Builder`
lockstep_featuregate::features! { kube { FieldLevel { "1.36": Alpha } } }

fn reads_before_flags_are_parsed(builder: lockstep_featuregate::Builder) -> bool {
    builder.enabled(FIELD_LEVEL)
}

fn main() {}
