//! Policies that meet on one field.

use std::collections::BTreeSet;

use lockstep_admission::diff::{overlap, shown};
use lockstep_admission::policy::MutatingPolicy;
use lockstep_cel::paths::Segment;

use super::{Finding, find};

/// Findings about each pair of mutating policies on one resource.
pub(super) fn findings(policies: &[(usize, MutatingPolicy)]) -> Vec<Finding> {
    let writes: Vec<BTreeSet<Vec<Segment>>> =
        policies.iter().map(|(_, policy)| writes(policy)).collect();
    let reads: Vec<BTreeSet<Vec<Segment>>> =
        policies.iter().map(|(_, policy)| policy.reads()).collect();
    let mut findings = Vec::new();
    for (at, (index, policy)) in policies.iter().enumerate() {
        for (other_at, (other_index, other)) in policies.iter().enumerate().skip(at + 1) {
            if !meet(policy, other) {
                continue;
            }
            let names = [&*other.common.name, &*policy.common.name];
            let mut add = |id: &str, index: usize, message: String| {
                findings.push(Finding {
                    rule: find(id).expect("the table has every rule"),
                    index,
                    field: "spec.mutations".to_owned(),
                    message,
                });
            };
            if let Some(path) = common(&writes[at], &writes[other_at], Meeting::SamePath) {
                for (index, name) in [(*index, names[0]), (*other_index, names[1])] {
                    let message = format!("policy {name} writes {} too", shown(&path));
                    add("LP006", index, message);
                }
            }
            if policy.depth() != other.depth() {
                continue;
            }
            let one_way = common(&writes[at], &reads[other_at], Meeting::Overlap);
            let path = one_way.or_else(|| common(&reads[at], &writes[other_at], Meeting::Overlap));
            if let Some(path) = path {
                let message = format!(
                    "it and policy {} meet at {} and have scopes of one depth, so that names decide which runs first",
                    names[0],
                    shown(&path)
                );
                add("LP007", *index, message);
            }
        }
    }
    findings
}

/// Whether paths must be equal, or one may lie below the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meeting {
    SamePath,
    Overlap,
}

fn common(
    one: &BTreeSet<Vec<Segment>>,
    other: &BTreeSet<Vec<Segment>>,
    meeting: Meeting,
) -> Option<Vec<Segment>> {
    let is_met = |one: &[Segment], other: &[Segment]| {
        overlap(one, other) && (meeting == Meeting::Overlap || one.len() == other.len())
    };
    let mut paths = one.iter().filter(|path| !path.is_empty());
    paths
        .find(|path| {
            other
                .iter()
                .any(|other| !other.is_empty() && is_met(path, other))
        })
        .cloned()
}

fn writes(policy: &MutatingPolicy) -> BTreeSet<Vec<Segment>> {
    let programs = policy
        .mutations
        .iter()
        .flat_map(|mutation| &mutation.program);
    let writes = programs.flat_map(|program| program.paths().writes);
    let is_key = |path: &[Segment]| {
        // Keys of elements select them, and are the same in every policy.
        matches!(path, [.., Segment::Any, Segment::Field(name)] if matches!(&**name, "name" | "key"))
    };
    writes
        .filter(|write| !write.prefix && !is_key(&write.path))
        .map(|write| write.path)
        .collect()
}

/// True if both policies name a resource.
fn meet(one: &MutatingPolicy, other: &MutatingPolicy) -> bool {
    let is_same = |one: &str, other: &str| one == other || one == "*" || other == "*";
    one.common.constraints.resources().any(|(group, resource)| {
        let mut others = other.common.constraints.resources();
        others.any(|(other_group, other)| is_same(group, other_group) && is_same(resource, other))
    })
}
