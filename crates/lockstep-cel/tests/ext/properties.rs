//! What must hold for every input.

use lockstep_cel::ext::quantity::Quantity;
use lockstep_cel::ext::re2::{NESTING_MAX, PATTERN_BYTES_MAX, Pattern, PatternFault};
use proptest::prelude::*;

/// Text rich in the characters patterns give a meaning to.
fn pattern_text() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just("a"),
        Just("é"),
        Just("("),
        Just(")"),
        Just("["),
        Just("]"),
        Just("^"),
        Just("$"),
        Just("*"),
        Just("+"),
        Just("?"),
        Just("{2}"),
        Just("{,3}"),
        Just("{4,}"),
        Just("|"),
        Just("\\"),
        Just("d"),
        Just("Q"),
        Just("E"),
        Just("pL"),
        Just("(?i)"),
        Just("(?P<n>"),
        Just("[:alpha:]"),
        Just("-"),
        Just("&&"),
        Just("."),
        Just("x{e9}"),
        Just("7"),
        Just("B"),
    ];
    prop::collection::vec(token, 0..24).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn no_pattern_panics_and_a_found_match_is_part_of_the_text(pattern in pattern_text(), text in "[aé\\n{}]{0,12}") {
        if let Ok(compiled) = Pattern::compile(&pattern) {
            let all = compiled.find_all(&text, -1);
            prop_assert_eq!(compiled.is_match(&text), !all.is_empty());
            prop_assert_eq!(compiled.find(&text), all.first().copied());
            prop_assert!(all.iter().all(|found| text.contains(found)));
        }
    }

    #[test]
    fn quoted_text_matches_itself_alone(text in any::<String>()) {
        prop_assume!(!text.contains("\\E"));
        let compiled = Pattern::compile(&format!("^\\Q{text}\\E$")).expect("quoted text compiles");
        prop_assert!(compiled.is_match(&text));
        let longer = format!("{text}x");
        prop_assert!(!compiled.is_match(&longer));
    }
}

/// Quantities of all suffixes and sizes, on both sides of the 64-bit road.
fn quantity_text() -> impl Strategy<Value = String> {
    let suffix = prop_oneof![
        Just(""),
        Just("n"),
        Just("u"),
        Just("m"),
        Just("k"),
        Just("M"),
        Just("G"),
        Just("E"),
        Just("Ki"),
        Just("Gi"),
        Just("Ei"),
        Just("e-3"),
        Just("e12"),
        Just("E4"),
    ];
    ("[+-]?[0-9]{1,22}(\\.[0-9]{0,12})?", suffix).prop_map(|(number, suffix)| number + suffix)
}

proptest! {
    #[test]
    fn no_quantity_text_panics(text in "[+-]?[0-9.]{0,30}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,11}") {
        if let Ok(quantity) = Quantity::parse(&text) {
            let _ = (quantity.is_integer(), quantity.as_approximate_float(), quantity.to_string());
            let _ = quantity.add(&Quantity::from_int(1));
        }
    }

    #[test]
    fn a_printed_quantity_reads_back_as_the_same_value_and_text(text in quantity_text()) {
        let quantity = Quantity::parse(&text).expect("well-formed");
        let canonical = quantity.add(&Quantity::from_int(0)).expect("no digits are added").to_string();
        let again = Quantity::parse(&canonical).expect("printed text is well-formed");
        prop_assert_eq!(&again, &quantity, "{} printed as {}", text, canonical);
        prop_assert_eq!(again.to_string(), canonical);
    }

    #[test]
    fn quantities_are_totally_ordered_and_addition_keeps_the_order(
        a in quantity_text(), b in quantity_text(), c in quantity_text(),
    ) {
        let [a, b, c] = [a, b, c].map(|text| Quantity::parse(&text).expect("well-formed"));
        let sum = |x: &Quantity, y: &Quantity| x.add(y).expect("few digits");
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        if a <= b && b <= c {
            prop_assert!(a <= c);
        }
        prop_assert_eq!(sum(&a, &c).cmp(&sum(&b, &c)), a.cmp(&b));
        prop_assert_eq!(sum(&a, &b), sum(&b, &a));
        prop_assert_eq!(sum(&sum(&a, &b), &c), sum(&a, &sum(&b, &c)));
        prop_assert_eq!(sum(&a, &b).sub(&b).expect("few digits"), a);
    }
}

#[test]
fn the_deepest_pattern_compiles_and_one_deeper_is_refused() {
    // Each level adds a sequence and a repetition; the innermost one adds its letter.
    let nested = |depth: usize| format!("{}a{}", "(?:b".repeat(depth), ")*".repeat(depth));
    let deepest = (NESTING_MAX as usize - 1) / 2;
    assert!(Pattern::compile(&nested(deepest)).is_ok());
    let refused = Pattern::compile(&nested(deepest + 1)).map(|_| ());
    assert_eq!(
        refused.map_err(|error| error.fault),
        Err(PatternFault::NestingDepth)
    );
}

#[test]
fn plain_parentheses_nest_without_end() {
    let pattern = format!("{}a{}", "(".repeat(10_000), ")".repeat(10_000));
    let pattern = Pattern::compile(&pattern).expect("compiles");
    assert_eq!(pattern.find("bab"), Some("a"));
}

#[test]
fn a_pattern_beyond_a_size_limit_is_refused() {
    for pattern in [
        "a".repeat(PATTERN_BYTES_MAX + 1),
        "[^a\\PN]{1000}".repeat(100),
    ] {
        let refused = Pattern::compile(&pattern).map(|_| ());
        assert_eq!(
            refused.map_err(|error| error.fault),
            Err(PatternFault::TooLarge)
        );
    }
}

#[test]
fn a_pattern_that_makes_backtracking_engines_explode_is_quick() {
    let pattern = Pattern::compile(&format!("^{}{}$", "a?".repeat(100), "a".repeat(100)));
    let pattern = pattern.expect("compiles");
    assert!(pattern.is_match(&"a".repeat(100)));
    assert!(!pattern.is_match(&"a".repeat(99)));
}
