//! Shuffle sharding: each flow is dealt a hand of queues by its hash.

/// Largest hand. A deck that allows a larger one needs more entropy than a hash has.
const HAND_MAX: usize = 15;
/// Bits of a hash that dealing may use, so that the last card is still dealt evenly.
const ENTROPY_BITS_MAX: f64 = 60.0;
/// Largest deck.
const DECK_MAX: u32 = 1 << 26;

/// True if a hand of this size can be dealt from a deck of this size with the entropy of one hash.
pub(crate) fn is_dealable(deck: u32, hand: u32) -> bool {
    let needed = (f64::from(deck).log2() * f64::from(hand)).ceil();
    let sizes = (1..=deck).contains(&hand) && deck <= DECK_MAX && hand as usize <= HAND_MAX;
    sizes && needed <= ENTROPY_BITS_MAX
}

/// Deals `hand` different cards of `0..deck`. Both must be [`is_dealable`].
pub(crate) fn deal(hash: u64, deck: u32, hand: u32) -> impl Iterator<Item = u32> {
    let mut rest = hash;
    let mut cards = [0; HAND_MAX];
    let size = (hand as usize).min(HAND_MAX);
    for nth in 0..size {
        let left = u64::from(
            deck.saturating_sub(u32::try_from(nth).unwrap_or(u32::MAX))
                .max(1),
        );
        let mut card = u32::try_from(rest % left).unwrap_or(0);
        rest /= left;
        // `card` counts the cards that are left. In ascending order, each dealt card at or below it moves it up by one.
        let dealt = &mut cards[..=nth];
        for &known in &dealt[..nth] {
            if known > card {
                break;
            }
            card += 1;
        }
        let at = dealt[..nth].partition_point(|known| *known < card);
        dealt[at..].rotate_right(1);
        dealt[at] = card;
    }
    cards.into_iter().take(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_has_different_cards_of_the_deck() {
        for (deck, hand) in [(1, 1), (2, 2), (16, 4), (15, 15), (64, 6), (128, 6)] {
            assert!(is_dealable(deck, hand), "{deck} {hand}");
            for seed in 0..500_u64 {
                let hash = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let cards: Vec<u32> = deal(hash, deck, hand).collect();
                assert_eq!(cards.len(), hand as usize);
                let ascending = cards.windows(2).all(|pair| pair[0] < pair[1]);
                assert!(ascending && cards[cards.len() - 1] < deck, "{cards:?}");
            }
        }
    }

    #[test]
    fn every_hand_is_dealt_equally_often() {
        let mut counts = std::collections::BTreeMap::<Vec<u32>, u32>::new();
        for hash in 0..(5 * 4 * 7) {
            *counts.entry(deal(hash, 5, 2).collect()).or_default() += 1;
        }
        assert_eq!(counts.len(), 10);
        assert!(counts.values().all(|count| *count == 14), "{counts:?}");
    }

    #[test]
    fn a_hand_that_needs_more_entropy_than_a_hash_has_is_refused() {
        for (deck, hand) in [
            (0, 0),
            (0, 1),
            (4, 0),
            (4, 5),
            (16, 16),
            (1024, 7),
            (DECK_MAX + 1, 1),
        ] {
            assert!(!is_dealable(deck, hand), "{deck} {hand}");
        }
        assert!(is_dealable(1024, 6));
    }
}
