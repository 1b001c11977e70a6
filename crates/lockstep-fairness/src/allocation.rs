//! Division of the server's seats among levels that borrow from each other.

/// Least target, so that a level without demand can be compared with others.
const TARGET_MIN: f64 = 0.001;

/// Bounds and wish of one level.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Item {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    pub(crate) target: f64,
}

impl Item {
    fn share(&self, proportion: f64) -> f64 {
        let wish = self.target.max(TARGET_MIN) * proportion;
        wish.min(self.upper).max(self.lower)
    }
}

/// Gives each level one common proportion of its target, but no less than its lower and no more than its upper bound,
/// so that all of it adds up to `total`. Bounds that do not allow that win over the total.
pub(crate) fn allocate(total: f64, items: &[Item]) -> Vec<f64> {
    let sum = |proportion: f64| -> f64 { items.iter().map(|item| item.share(proportion)).sum() };
    // The sum grows with the proportion and bends where a level leaves its lower or reaches its upper bound.
    let mut bends: Vec<f64> = items
        .iter()
        .flat_map(|item| [item.lower, item.upper].map(|bound| bound / item.target.max(TARGET_MIN)))
        .collect();
    bends.sort_by(f64::total_cmp);
    let above = bends.partition_point(|bend| sum(*bend) <= total);
    let proportion = match (above.checked_sub(1).map(|at| bends[at]), bends.get(above)) {
        (None, _) => 0.0,
        (Some(last), None) => last,
        (Some(from), Some(&to)) => {
            let slope = (sum(to) - sum(from)) / (to - from);
            from + (total - sum(from)) / slope
        }
    };
    items.iter().map(|item| item.share(proportion)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn item((lower, upper, target): (f64, f64, f64)) -> Item {
        Item {
            lower,
            upper,
            target,
        }
    }

    #[test]
    fn levels_share_in_proportion_within_their_bounds() {
        for (items, expected) in [
            ([(0.0, 10.0, 1.0), (0.0, 10.0, 4.0)], [2.0, 8.0]),
            ([(3.0, 10.0, 3.0), (0.0, 10.0, 17.0)], [3.0, 7.0]),
            ([(0.0, 10.0, 1.0), (0.0, 5.0, 4.0)], [5.0, 5.0]),
            ([(6.0, 10.0, 6.0), (7.0, 10.0, 7.0)], [6.0, 7.0]),
            ([(1.0, 2.0, 2.0), (1.0, 3.0, 1.0)], [2.0, 3.0]),
        ] {
            let items = items.map(item);
            let found = allocate(10.0, &items);
            let mut pairs = found.iter().zip(&expected);
            assert!(
                pairs.all(|(a, b)| (a - b).abs() < 1e-9),
                "{found:?} {expected:?}"
            );
        }
        assert_eq!(allocate(10.0, &[]), [0.0; 0]);
    }

    proptest! {
        #[test]
        fn all_seats_are_given_if_the_bounds_allow(
            parts in prop::collection::vec((0_u32..50, 0_u32..50, 0_u32..50), 1..8),
            total in 0_u32..600,
        ) {
            let items: Vec<Item> = parts
                .into_iter()
                .map(|(lower, more, target)| item((
                    f64::from(lower),
                    f64::from(lower + more),
                    f64::from(lower + target),
                )))
                .collect();
            let total = f64::from(total);
            let given = allocate(total, &items);
            for (given, item) in given.iter().zip(&items) {
                prop_assert!((item.lower..=item.upper).contains(given));
            }
            let lower: f64 = items.iter().map(|item| item.lower).sum();
            let upper: f64 = items.iter().map(|item| item.upper).sum();
            let sum: f64 = given.iter().sum();
            prop_assert!((sum - total.clamp(lower, upper)).abs() < 1e-6, "{sum} {total}");
        }
    }
}
