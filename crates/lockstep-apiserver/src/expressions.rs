//! CEL compatibility version: the CEL features that the oldest compatible server supports.

use lockstep_cel::{Feature, Version};
use lockstep_featuregate::Gates;
use lockstep_featuregate::listing::Row;

/// Newest CEL version that new expressions may use.
pub fn compatibility(gates: &Gates) -> Version {
    let version = gates.min_compatibility();
    Version::new(version.major(), version.minor())
}

/// CEL features as rows of the feature-gate list. They cannot be disabled, because stored expressions must keep their
/// meaning.
pub fn rows(gates: &Gates) -> Vec<Row> {
    let compatibility = compatibility(gates);
    let row = |feature: &Feature| Row {
        component: "cel".to_owned(),
        name: feature.name().to_owned(),
        stage: "GA".to_owned(),
        enabled: feature.since() <= compatibility,
        default: feature.since() <= compatibility,
        locked: true,
        since: feature.since().to_string(),
        source: "default".to_owned(),
        remove_in: None,
        depends_on: Vec::new(),
    };
    Feature::ALL.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use lockstep_featuregate::Builder;

    use super::*;

    /// cel.md §10: new expressions compile at the compatibility version, one minor below by default.
    #[test]
    fn a_part_is_on_when_every_server_knows_it() {
        let on = |emulated: &str| -> Vec<String> {
            let builder = Builder::new(lockstep_gates::registry()).emulated_version(emulated);
            let gates = builder.try_finish().expect("a version to emulate").gates;
            let off = rows(&gates).into_iter().filter(|row| !row.enabled);
            off.map(|row| row.name).collect()
        };
        assert_eq!(on("1.36"), ["includes"]);
        assert_eq!(on("1.34"), ["lists-ext", "includes"]);
    }
}
