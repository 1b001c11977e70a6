//! Properties of every input.

use lockstep_gotext::duration::Duration;
use lockstep_gotext::formats::NamedFormat;
use lockstep_gotext::ip::{Cidr, Ip};
use lockstep_gotext::number_text::{self as numbers, NumberStyle};
use lockstep_gotext::print::quote;
use lockstep_gotext::quantity::Quantity;
use lockstep_gotext::re2::{NESTING_MAX, PATTERN_BYTES_MAX, Pattern, PatternFault};
use lockstep_gotext::semver::{Normalize, Semver};
use lockstep_gotext::text::{self, OffsetBeyondEnd};
use lockstep_gotext::timestamp::{Timestamp, UNIX_SECONDS_MAX, UNIX_SECONDS_MIN, Zone};
use lockstep_gotext::url::{Url, parse_request_uri};
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

proptest! {
    #[test]
    fn no_text_makes_a_reader_panic(text in prop_oneof![
        any::<String>(),
        "[a-z]{0,5}:?/{0,3}[]@\\[%#?a-z0-9:.é]{0,20}",
        "[0-9a-fA-F:.%/]{0,24}",
        "[v0-9.+-]{0,16}",
        "[-+0-9hmsuµn.]{0,16}",
        "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{1,2}:[0-9]{2}:[0-9]{2}[.,0-9]{0,12}[-+Z0-9:]{0,6}",
    ]) {
        let _ = (Url::parse(&text), parse_request_uri(&text), Ip::parse(&text), Cidr::parse(&text));
        let _ = (Semver::parse(&text, Normalize::No), Semver::parse(&text, Normalize::Yes));
        let _ = (Duration::parse(&text), Timestamp::parse(&text).map(|parsed| parsed.to_string()));
        let _ = (numbers::parse_int(&text), numbers::parse_uint(&text), numbers::parse_double(&text));
        let _ = (text::quote(&text), quote(&text), Zone::parse(&text).map(|zone| format!("{zone:?}")));
        for format in NamedFormat::all() {
            let _ = format.validate(&text);
        }
    }

    #[test]
    fn a_printed_url_reads_back_as_the_same_url(text in "(https?://)?[a-z0-9.@]{0,8}(:[0-9]{0,3})?/[a-z%20 é/]{0,12}(\\?[a-z=&+;]{0,8})?(#[a-z ]{0,4})?") {
        if let Ok(url) = Url::parse(&text) {
            // `//` has neither host nor path; what is printed of it is no address, in Go either.
            prop_assume!(url.to_string().starts_with('/') || url.to_string().contains(':'));
            let again = Url::parse(&url.to_string());
            prop_assert_eq!(again.as_ref().map(Url::query), Ok(url.query()));
            prop_assert_eq!(again, Ok(url));
        }
    }

    #[test]
    fn printed_addresses_and_blocks_read_back(bits in any::<u128>(), short in any::<u32>(), length in 0_u8..=128) {
        for text in [std::net::Ipv6Addr::from(bits).to_string(), std::net::Ipv4Addr::from(short).to_string()] {
            let ip = Ip::parse(&text).expect("a random address is not mapped");
            prop_assert_eq!(Ip::parse(&ip.to_string()), Ok(ip));
            let length = if ip.family() == 4 { length / 4 } else { length };
            let block = Cidr::parse(&format!("{text}/{length}")).expect("a block");
            prop_assert_eq!(Cidr::parse(&block.to_string()), Ok(block));
            prop_assert!(block.contains_ip(ip) && block.contains_cidr(block.masked()));
            prop_assert_eq!(block.masked().masked(), block.masked());
        }
    }

    #[test]
    fn a_printed_duration_of_days_reads_back(nanoseconds in -1_000_000_000_000_000_i64..1_000_000_000_000_000) {
        let duration = Duration::from_nanoseconds(nanoseconds);
        prop_assert_eq!(Duration::parse(&duration.to_string()), Ok(duration));
    }

    #[test]
    fn any_timestamp_prints_reads_back_and_agrees_with_another_calendar(
        seconds in UNIX_SECONDS_MIN..=UNIX_SECONDS_MAX, nanoseconds in 0_i64..1_000_000_000,
    ) {
        let start = Timestamp::from_unix_seconds(seconds).expect("in range");
        let timestamp = start.plus(Duration::from_nanoseconds(nanoseconds)).expect("in range");
        prop_assert_eq!(Timestamp::parse(&timestamp.to_string()), Ok(timestamp));
        prop_assert_eq!(timestamp.since(start), Ok(Duration::from_nanoseconds(nanoseconds)));
        prop_assume!(seconds < jiff::Timestamp::MAX.as_second());
        let theirs = jiff::Timestamp::from_second(seconds).expect("in range").to_string();
        prop_assert_eq!(start.to_string(), theirs);
    }

    #[test]
    fn a_printed_double_reads_back(value in any::<f64>()) {
        let text = numbers::double_text(value);
        let again = numbers::parse_double(&text).expect("printed text is a double");
        let is_same = again.to_bits() == value.to_bits() || (again.is_nan() && value.is_nan());
        prop_assert!(is_same, "{value:e} printed as {text}");
        let fixed = numbers::fixed(value, 3, NumberStyle::Kubernetes).expect("a small precision");
        let plain = numbers::fixed(value, 3, NumberStyle::Spec).expect("a small precision");
        if value.is_finite() && value != 0.0 {
            prop_assert_eq!(fixed.replace(',', ""), plain);
        }
    }

    #[test]
    fn searches_agree_with_a_plain_model(text in "[aébc]{0,8}", wanted in "[aébc]{0,3}", offset in -1_i64..10) {
        let characters: Vec<char> = text.chars().collect();
        let sought: Vec<char> = wanted.chars().collect();
        let starts = |at: &usize| characters[*at..].starts_with(&sought);
        let size = characters.len();
        let number = |at: Option<usize>| at.map_or(-1, |at| i64::try_from(at).expect("small"));
        prop_assert_eq!(text::index_of(&text, &wanted), number((0..=size).find(starts)));
        prop_assert_eq!(text::last_index_of(&text, &wanted), number((0..=size).rev().find(starts)));
        prop_assume!(!wanted.is_empty() && offset >= 0);
        let from = usize::try_from(offset).expect("not negative");
        let first = (from..=size).find(starts);
        let last = (0..=size).rev().filter(|_| from < size).find(|at| *at <= from && starts(at));
        let beyond = OffsetBeyondEnd::NotFound;
        prop_assert_eq!(text::index_of_from(&text, &wanted, offset, beyond), Ok(number(first)));
        prop_assert_eq!(text::last_index_of_until(&text, &wanted, offset, beyond), Ok(number(last)));
    }

    #[test]
    fn splitting_and_joining_gives_the_text_back(text in "[a,é]{0,8}", separator in "(,|é|a,)", limit in 1_i64..5) {
        prop_assert_eq!(text::split(&text, &separator, limit).join(&separator), text.clone());
        prop_assert_eq!(text::split(&text, "", -1).concat(), text);
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
    let patterns = [
        "a".repeat(PATTERN_BYTES_MAX + 1),
        r"\pL".repeat(PATTERN_BYTES_MAX / 3),
        format!("[{}]", r"\pL".repeat(PATTERN_BYTES_MAX / 3 - 1)),
        r"\pL{1000}".to_owned(),
    ];
    for pattern in patterns {
        let refused = Pattern::compile(&pattern).map(|_| ());
        assert_eq!(
            refused.map_err(|error| error.fault),
            Err(PatternFault::TooLarge)
        );
    }
}

#[test]
fn a_pattern_known_only_at_run_time_has_less_room() {
    let name = r"^\pL{1,253}$";
    let compiled = Pattern::compile(name).expect("room for a constant");
    assert!(compiled.is_match("é"));
    let refused = Pattern::compile_at_run_time(name).map(|_| ());
    assert_eq!(
        refused.map_err(|error| error.fault),
        Err(PatternFault::TooLarge)
    );
}

#[test]
fn a_pattern_that_makes_backtracking_engines_explode_is_quick() {
    let pattern = Pattern::compile(&format!("^{}{}$", "a?".repeat(100), "a".repeat(100)));
    let pattern = pattern.expect("compiles");
    assert!(pattern.is_match(&"a".repeat(100)));
    assert!(!pattern.is_match(&"a".repeat(99)));
}
