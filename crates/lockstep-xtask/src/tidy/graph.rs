//! Faults of the resolved dependency graph: a runtime under a rule, surprising features, two
//! crypto providers, a crate that could be published.

use super::finding::Finding;
use super::layers::{self, Layer};
use crate::metadata::{Metadata, Package};

/// Crates that bring waiting, sockets or tasks along.
const RUNTIMES: [&str; 4] = ["tokio", "hyper", "tonic", "axum"];

/// Features of `serde_json` that change what every crate in the build reads and prints.
const JSON_FEATURES: [&str; 2] = ["preserve_order", "arbitrary_precision"];

/// Crypto providers, of which the binary links one.
const PROVIDERS: [&str; 2] = ["aws-lc-rs", "ring"];

/// Every finding of this module.
pub(super) fn check(metadata: &Metadata) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in metadata.members() {
        findings.extend(runtimes(metadata, package));
        findings.extend(publishable(metadata, package));
    }
    findings.extend(json_features(metadata));
    findings.extend(providers(metadata));
    findings
}

/// A words or rules crate neither names a runtime in its manifest nor reaches one.
fn runtimes(metadata: &Metadata, package: &Package) -> Vec<Finding> {
    let is_pure = layers::layer_of(&package.name).is_some_and(|layer| layer <= Layer::Rules);
    if !is_pure {
        return Vec::new();
    }
    let path = metadata.manifest_of(package);
    let chains = metadata.chains_from(package);
    let reached = RUNTIMES.iter().filter_map(|runtime| {
        let named = package
            .dependencies
            .iter()
            .any(|declared| declared.name == *runtime);
        let what = match chains.get(runtime) {
            Some(chain) => format!("reaches a runtime: {}", chain.join(" -> ")),
            None if named => format!("names `{runtime}` in its manifest"),
            None => return None,
        };
        let remedy = "keep the rule pure and wait in a store or server crate";
        Some(Finding::problem(
            &path,
            1,
            format!("`{}` {what}", package.name),
            remedy,
        ))
    });
    reached.collect()
}

/// Nothing of ours goes to a registry by accident.
fn publishable(metadata: &Metadata, package: &Package) -> Option<Finding> {
    let is_private = package.publish.as_ref().is_some_and(Vec::is_empty);
    let path = metadata.manifest_of(package);
    let what = format!("`{}` could be published", package.name);
    let remedy = "write `publish.workspace = true` under [package]";
    (!is_private).then(|| Finding::problem(&path, 1, what, remedy))
}

/// The map order and number type of JSON are the same for every crate.
fn json_features(metadata: &Metadata) -> Vec<Finding> {
    let enabled: Vec<_> = metadata.features_of("serde_json").flatten().collect();
    let is_enabled = |feature: &&str| enabled.iter().any(|name| name == feature);
    let found = JSON_FEATURES.into_iter().filter(is_enabled).map(|feature| {
        let what = format!("`serde_json` is built with `{feature}`");
        let remedy =
            "find who asks with `cargo tree -e features -i serde_json` and turn it off there";
        Finding::problem("Cargo.toml", 1, what, remedy)
    });
    found.collect()
}

/// One crypto provider in the whole workspace.
fn providers(metadata: &Metadata) -> Option<Finding> {
    let chains = PROVIDERS.map(|provider| {
        let members = metadata.members().into_iter();
        members
            .filter_map(|member| metadata.chains_from(member).remove(provider))
            .min()
    });
    let [Some(first), Some(second)] = chains else {
        return None;
    };
    let what = format!(
        "two crypto providers are linked: {} and {}",
        first.join(" -> "),
        second.join(" -> ")
    );
    Some(Finding::problem(
        "Cargo.toml",
        1,
        what,
        "choose features that keep `aws-lc-rs` alone",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::sample::Sample;
    use crate::tidy::shown;

    fn check_sample(sample: Sample) -> Vec<String> {
        shown(check(&sample.build()))
    }

    #[test]
    fn a_rule_that_reaches_a_runtime_is_told_by_which_way() {
        let sample = Sample::default()
            .member("lockstep-cel", &["helper"])
            .outside("helper", &["build:tokio"], &[])
            .outside("tokio", &[], &[]);
        assert_eq!(
            check_sample(sample),
            [
                "crates/lockstep-cel/Cargo.toml:1: `lockstep-cel` reaches a runtime: lockstep-cel -> \
              helper -> tokio; keep the rule pure and wait in a store or server crate"
            ]
        );
    }

    #[test]
    fn a_word_does_not_name_a_runtime_even_for_its_tests() {
        let sample = Sample::default()
            .member("lockstep-featuregate", &["dev:hyper"])
            .outside("hyper", &[], &[]);
        assert_eq!(
            check_sample(sample),
            [
                "crates/lockstep-featuregate/Cargo.toml:1: `lockstep-featuregate` names `hyper` in \
              its manifest; keep the rule pure and wait in a store or server crate"
            ]
        );
    }

    #[test]
    fn servers_and_the_tests_of_dependencies_may_have_a_runtime() {
        let sample = Sample::default()
            .member("lockstep-apiserver", &["tokio", "hyper", "tonic", "axum"])
            .member("lockstep-cel", &["helper"])
            .outside("helper", &["dev:tokio"], &[])
            .outside("tokio", &[], &[])
            .outside("hyper", &[], &[])
            .outside("tonic", &[], &[])
            .outside("axum", &[], &[]);
        assert_eq!(check_sample(sample), [""; 0]);
    }

    #[test]
    fn each_runtime_is_known() {
        for runtime in RUNTIMES {
            let sample = Sample::default().member("lockstep-mvcc", &[runtime]);
            assert_eq!(
                check_sample(sample.outside(runtime, &[], &[])).len(),
                1,
                "{runtime}"
            );
        }
    }

    #[test]
    fn a_crate_that_could_be_published_is_found() {
        assert_eq!(
            check_sample(Sample::default().publishable_member("lockstep-cel")),
            [
                "crates/lockstep-cel/Cargo.toml:1: `lockstep-cel` could be published; write \
              `publish.workspace = true` under [package]"
            ]
        );
    }

    #[test]
    fn json_features_that_change_bytes_are_found() {
        for feature in JSON_FEATURES {
            let sample = Sample::default().outside("serde_json", &[], &["std", feature]);
            assert_eq!(
                check_sample(sample),
                [format!(
                    "Cargo.toml:1: `serde_json` is built with `{feature}`; find who asks with \
                     `cargo tree -e features -i serde_json` and turn it off there"
                )]
            );
        }
        let quiet = Sample::default()
            .outside("serde_json", &[], &["std", "raw_value"])
            .outside("toml", &[], &["preserve_order"]);
        assert_eq!(check_sample(quiet), [""; 0]);
    }

    #[test]
    fn one_crypto_provider_is_enough() {
        let one = Sample::default()
            .member("lockstep", &["ring"])
            .outside("ring", &[], &[]);
        assert_eq!(check_sample(one), [""; 0]);
        let both = Sample::default()
            .member("lockstep", &["ring", "tls"])
            .outside("ring", &[], &[])
            .outside("tls", &["aws-lc-rs"], &[])
            .outside("aws-lc-rs", &[], &[]);
        assert_eq!(
            check_sample(both),
            [
                "Cargo.toml:1: two crypto providers are linked: lockstep -> tls -> aws-lc-rs and \
              lockstep -> ring; choose features that keep `aws-lc-rs` alone"
            ]
        );
    }
}
