//! What must hold for every input.

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
