//! Dependency rules. Usable in `const` code, so that the compiler checks declared gates.

use crate::{Entry, Stage, Version, resolve::resolve, text::Text};

/// A violated rule between a feature and its dependency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mismatch {
    LessStable {
        feature: Stage,
        on: Stage,
        at: Version,
    },
    OffByDefault {
        at: Version,
    },
    Unlocked {
        at: Version,
    },
}

/// The first violated rule, starting with the newest entry, because that is the one people edit.
pub(crate) const fn mismatch(feature: &[Entry], on: &[Entry]) -> Option<Mismatch> {
    let mut index = feature.len();
    while index > 0 {
        index -= 1;
        let entry = feature[index];
        let at = entry.version;
        let min = match entry.min_compatibility {
            Some(min) => min,
            None => at.minus_minors(1),
        };
        let held = resolve(on, at, min);
        if entry.stage.stability() > held.stage.stability() {
            return Some(Mismatch::LessStable {
                feature: entry.stage,
                on: held.stage,
                at,
            });
        }
        if entry.default && !held.default {
            return Some(Mismatch::OffByDefault { at });
        }
        if entry.lock_to_default && !held.lock_to_default {
            return Some(Mismatch::Unlocked { at });
        }
    }
    None
}

impl Mismatch {
    /// Error text for users and the compiler. Tools match it: it is a contract.
    pub(crate) const fn text(self, feature: &str, on: &str) -> Text {
        let (text, at) = match self {
            Mismatch::LessStable {
                feature: stage,
                on: on_stage,
                at,
            } => (
                Text::new()
                    .str(stage.spoken())
                    .str(" feature ")
                    .str(feature)
                    .str(" cannot depend on ")
                    .str(on_stage.spoken())
                    .str(" feature "),
                at,
            ),
            Mismatch::OffByDefault { at } => (
                Text::new()
                    .str("default-enabled feature ")
                    .str(feature)
                    .str(" cannot depend on default-disabled feature "),
                at,
            ),
            Mismatch::Unlocked { at } => (
                Text::new()
                    .str("locked-to-default feature ")
                    .str(feature)
                    .str(" cannot depend on unlocked feature "),
                at,
            ),
        };
        text.str(on).str(" at version ").version(at)
    }
}

/// A node on a cycle of `edges` (from, to), if there is one.
///
/// `alive` has one element per node and is overwritten. Nodes without live dependencies are removed repeatedly;
/// following edges among the rest leads to a cycle.
pub(crate) const fn cycle(edges: &[(usize, usize)], alive: &mut [bool]) -> Option<usize> {
    let mut node = 0;
    while node < alive.len() {
        alive[node] = true;
        node += 1;
    }
    let mut changed = true;
    while changed {
        changed = false;
        let mut node = 0;
        while node < alive.len() {
            if alive[node] && first_alive_target(edges, alive, node).is_none() {
                alive[node] = false;
                changed = true;
            }
            node += 1;
        }
    }
    let mut at = first_alive(alive);
    let mut steps = 0;
    while let Some(node) = at
        && steps < alive.len()
    {
        at = first_alive_target(edges, alive, node);
        steps += 1;
    }
    at
}

const fn first_alive(alive: &[bool]) -> Option<usize> {
    let mut node = 0;
    while node < alive.len() {
        if alive[node] {
            return Some(node);
        }
        node += 1;
    }
    None
}

const fn first_alive_target(
    edges: &[(usize, usize)],
    alive: &[bool],
    from: usize,
) -> Option<usize> {
    let mut at = 0;
    while at < edges.len() {
        if edges[at].0 == from && alive[edges[at].1] {
            return Some(edges[at].1);
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_found_even_behind_a_tail_and_at_a_single_node() {
        for (edges, nodes, cyclic) in [
            (&[(0, 1), (1, 2)][..], 3, false),
            (&[(0, 0)][..], 1, true),
            (&[(0, 1), (1, 2), (2, 1)][..], 3, true),
            (&[(0, 1), (0, 2), (1, 3), (2, 3)][..], 4, false),
            (&[(3, 2), (2, 3)][..], 4, true),
        ] {
            let found = cycle(edges, &mut vec![false; nodes]);
            assert_eq!(found.is_some(), cyclic, "{edges:?}");
            if let Some(node) = found {
                assert!(
                    edges.iter().any(|&(from, _)| from == node),
                    "{edges:?}: {node}"
                );
                assert!(edges.iter().any(|&(_, to)| to == node), "{edges:?}: {node}");
            }
        }
    }
}
