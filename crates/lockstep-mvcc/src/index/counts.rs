//! Fenwick tree: prefix sums with updates.

/// A list of counts with updates and range sums in logarithmic time.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    /// Node `i` (from 1) holds the sum of the `i & -i` counts that end at count `i - 1`.
    nodes: Vec<usize>,
}

impl Counts {
    pub(super) fn new(counts: impl IntoIterator<Item = usize>) -> Self {
        let mut nodes = vec![0];
        nodes.extend(counts);
        for node in 1..nodes.len() {
            let parent = node + lowest_bit(node);
            if parent < nodes.len() {
                nodes[parent] += nodes[node];
            }
        }
        Self { nodes }
    }

    pub(super) fn add(&mut self, at: usize, delta: isize) {
        if delta == 0 {
            return;
        }
        let mut node = at + 1;
        while node < self.nodes.len() {
            self.nodes[node] = self.nodes[node].saturating_add_signed(delta);
            node += lowest_bit(node);
        }
    }

    /// The sum of the counts from `first` to before `end`.
    pub(super) fn between(&self, first: usize, end: usize) -> usize {
        self.before(end) - self.before(first)
    }

    fn before(&self, end: usize) -> usize {
        let mut sum = 0;
        let mut node = end;
        while node > 0 {
            sum += self.nodes[node];
            node -= lowest_bit(node);
        }
        sum
    }
}

fn lowest_bit(node: usize) -> usize {
    node & node.wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_follow_changes() {
        let mut plain: Vec<usize> = (0..37).map(|at| at * 7 % 11).collect();
        let mut counts = Counts::new(plain.iter().copied());
        for (at, delta) in [(0, 5_isize), (36, 9), (17, -2), (31, 1), (32, 4)] {
            plain[at] = plain[at].saturating_add_signed(delta);
            counts.add(at, delta);
            for first in 0..plain.len() {
                for end in first..=plain.len() {
                    let expected: usize = plain[first..end].iter().sum();
                    assert_eq!(counts.between(first, end), expected, "{first}..{end}");
                }
            }
        }
    }
}
