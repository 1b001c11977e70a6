//! Properties of all RBAC rules.

use lockstep_authz::{Attributes, PolicyRule, Target, User, uncovered};
use proptest::prelude::*;

fn words(words: &'static [&'static str]) -> impl Strategy<Value = Vec<Box<str>>> {
    prop::collection::vec(prop::sample::select(words).prop_map(Into::into), 0..3)
}

fn rule() -> impl Strategy<Value = PolicyRule> {
    let resource = (
        words(&["get", "list", "*"]),
        words(&["", "ex.io", "*"]),
        words(&["pods", "pods/log", "*/log", "*"]),
        words(&["a", "b"]),
    );
    let urls = (words(&["get", "*"]), words(&["/a", "/a/*", "*", "/a/b"]));
    prop_oneof![
        resource.prop_map(
            |(verbs, api_groups, resources, resource_names)| PolicyRule {
                verbs,
                api_groups,
                resources,
                resource_names,
                non_resource_urls: Vec::new(),
            }
        ),
        urls.prop_map(|(verbs, non_resource_urls)| PolicyRule {
            verbs,
            non_resource_urls,
            ..PolicyRule::default()
        }),
    ]
}

fn requests(user: &User) -> Vec<Attributes<'_>> {
    let mut requests = Vec::new();
    for verb in ["get", "list", "other"] {
        for group in ["", "ex.io", "other"] {
            for resource in ["pods", "nodes"] {
                for name in ["", "a", "c"] {
                    let target = Target::resource(group, resource).named(name);
                    let log = target.at_subresource("log");
                    requests.extend([log, target].map(|target| Attributes { user, verb, target }));
                }
            }
        }
        let paths = ["/a", "/a/b", "/c"].map(Target::Path);
        requests.extend(paths.map(|target| Attributes { user, verb, target }));
    }
    requests
}

proptest! {
    /// A rule that the held rules cover allows no request that they do not allow.
    #[test]
    fn rules_that_are_covered_allow_nothing_more(held in prop::collection::vec(rule(), 0..4), wanted in rule()) {
        if !uncovered(&held, std::slice::from_ref(&wanted)).is_empty() {
            return Ok(());
        }
        for request in requests(&User::default()) {
            if wanted.allows(&request) {
                prop_assert!(held.iter().any(|rule| rule.allows(&request)), "{:?}", request);
            }
        }
    }

    #[test]
    fn rules_cover_themselves_and_are_read_as_they_are_written(rule in rule()) {
        prop_assert_eq!(uncovered(std::slice::from_ref(&rule), std::slice::from_ref(&rule)), Vec::new());
        prop_assert_eq!(PolicyRule::from_value(&rule.to_value()), rule);
    }
}
