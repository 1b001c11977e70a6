//! Runs the tables in `cases/*.json`, and the answers of upstream to generated inputs in `cases/samples/*.json`.
//!
//! A table holds rules (sentences), each with rows `[function, arguments, outcome]`. An outcome is the value returned,
//! or `{"error": message}`.

use std::fmt::Display;

use lockstep_gotext::duration::Duration;
use lockstep_gotext::formats::NamedFormat;
use lockstep_gotext::ip::{self, Cidr, Ip};
use lockstep_gotext::number_text::{self as numbers, HexCase, Integer, NumberStyle};
use lockstep_gotext::print;
use lockstep_gotext::quantity::Quantity;
use lockstep_gotext::re2::Pattern;
use lockstep_gotext::semver::{Normalize, Semver};
use lockstep_gotext::text::{self, OffsetBeyondEnd};
use lockstep_gotext::timestamp::{Timestamp, Zone};
use lockstep_gotext::url::Url;
use serde_json::{Value, json};

/// Result of a row's function: a value, or the text of its error.
type Outcome = Result<Value, Message>;

/// The text of any error.
struct Message(String);

impl<E: Display> From<E> for Message {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// The arguments of a row.
struct Arguments<'r>(&'r [Value]);

impl Arguments<'_> {
    fn text(&self, index: usize) -> &str {
        self.0[index].as_str().expect("a string argument")
    }

    fn int(&self, index: usize) -> i64 {
        self.0[index].as_i64().expect("an integer argument")
    }
}

/// The tables called `name`: facts with their rules, and answers recorded from upstream where there are any.
macro_rules! tables {
    ($name:literal) => {
        &[include_str!(concat!("cases/", $name, ".json"))]
    };
    ($name:literal, samples) => {
        &[
            include_str!(concat!("cases/", $name, ".json")),
            include_str!(concat!("cases/samples/", $name, ".json")),
        ]
    };
}

/// Runs every row of the tables through `evaluate` and reports all rows that differ at once.
fn check(tables: &[&str], evaluate: fn(&str, &Arguments<'_>) -> Outcome) {
    let tables = tables
        .iter()
        .map(|table| serde_json::from_str::<Value>(table).expect("a table is JSON"));
    let rules = tables.flat_map(|table| {
        table["rules"]
            .as_array()
            .expect("a table has rules")
            .clone()
    });
    let mut differences = Vec::new();
    let mut rows = 0;
    for rule in rules {
        for row in rule["rows"].as_array().expect("a rule has rows") {
            rows += 1;
            let function = row[0].as_str().expect("a row names its function");
            let arguments = Arguments(row[1].as_array().expect("a row has arguments"));
            let actual = match evaluate(function, &arguments) {
                Ok(value) => value,
                Err(Message(message)) => json!({ "error": message }),
            };
            if actual != row[2] {
                let rule = rule["rule"].as_str().expect("a rule is a sentence");
                differences.push(format!("{rule}\n    row    {row}\n    actual {actual}"));
            }
        }
    }
    assert!(rows > 0, "the table has no rows");
    assert!(
        differences.is_empty(),
        "{} of {rows} rows differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn patterns_follow_go_re2_syntax() {
    check(tables!("re2", samples), |function, arguments| {
        let pattern = Pattern::compile(arguments.text(0))?;
        let subject = arguments.text(1);
        let once = Pattern::compile_at_run_time(arguments.text(0))?;
        assert_eq!(once.find_all(subject, -1), pattern.find_all(subject, -1));
        Ok(match function {
            "matches" => json!(pattern.is_match(subject)),
            "find" => json!(pattern.find(subject)),
            "findAll" => json!(pattern.find_all(subject, arguments.int(2))),
            other => panic!("no function `{other}`"),
        })
    });
}

#[test]
fn quantities_follow_kubernetes() {
    check(tables!("quantity", samples), |function, arguments| {
        let quantity = |index| Quantity::parse(arguments.text(index));
        let whole = |index| Quantity::from_int(arguments.int(index));
        let first = quantity(0)?;
        Ok(match function {
            "print" => json!(first.to_string()),
            "add" => json!(first.add(&quantity(1)?)?.to_string()),
            "sub" => json!(first.sub(&quantity(1)?)?.to_string()),
            "addInt" => json!(first.add(&whole(1))?.to_string()),
            "subInt" => json!(first.sub(&whole(1))?.to_string()),
            "compareTo" => json!(first.cmp(&quantity(1)?) as i8),
            "sign" => json!(first.sign()),
            "isInteger" => json!(first.is_integer()),
            "asInteger" => json!(first.as_integer()?),
            "asApproximateFloat" => json!(first.as_approximate_float()),
            "sumAsApproximateFloat" => json!(first.add(&quantity(1)?)?.as_approximate_float()),
            other => panic!("no function `{other}`"),
        })
    });
}

#[test]
fn text_functions_count_code_points() {
    check(tables!("text"), |function, arguments| {
        let lenient = OffsetBeyondEnd::NotFound;
        let strict = OffsetBeyondEnd::Fails;
        let subject = arguments.text(0);
        let wanted = || arguments.text(1);
        let at = |index| arguments.int(index);
        Ok(match function {
            "size" => json!(text::size(subject)),
            "charAt" => json!(text::char_at(subject, at(1))?),
            "indexOf" => json!(text::index_of(subject, wanted())),
            "indexOfFrom" => json!(text::index_of_from(subject, wanted(), at(2), lenient)?),
            "specIndexOfFrom" => json!(text::index_of_from(subject, wanted(), at(2), strict)?),
            "lastIndexOf" => json!(text::last_index_of(subject, wanted())),
            "lastIndexOfUntil" => json!(text::last_index_of_until(
                subject,
                wanted(),
                at(2),
                lenient
            )?),
            "specLastIndexOfUntil" => {
                json!(text::last_index_of_until(subject, wanted(), at(2), strict)?)
            }
            "substring" => json!(text::substring(subject, at(1))?),
            "substringBetween" => json!(text::substring_between(subject, at(1), at(2))?),
            "replace" => json!(text::replace(subject, wanted(), arguments.text(2), at(3))),
            "split" => json!(text::split(subject, wanted(), at(2))),
            "trim" => json!(text::trim(subject)),
            "lowerAscii" => json!(text::lower_ascii(subject)),
            "upperAscii" => json!(text::upper_ascii(subject)),
            "reverse" => json!(text::reverse(subject)),
            "escapeKey" => json!(text::escape_json_pointer_key(subject)),
            "quote" => json!(text::quote(subject)),
            "quoteForError" => json!(print::quote(subject)),
            other => panic!("no function `{other}`"),
        })
    });
}

#[test]
fn versions_follow_semver_precedence() {
    check(tables!("semver"), |function, arguments| {
        let parts = |version: Semver| json!([version.major(), version.minor(), version.patch()]);
        let version = |index| Semver::parse(arguments.text(index), Normalize::No);
        Ok(match function {
            "parse" => parts(version(0)?),
            "normalize" => parts(Semver::parse(arguments.text(0), Normalize::Yes)?),
            "compareTo" => json!(version(0)?.cmp(&version(1)?) as i8),
            other => panic!("no function `{other}`"),
        })
    });
}

#[test]
fn addresses_and_blocks_follow_kubernetes() {
    fn kinds(ip: Ip) -> Vec<String> {
        let answers = [
            ("unspecified", ip.is_unspecified()),
            ("loopback", ip.is_loopback()),
            ("linkLocalMulticast", ip.is_link_local_multicast()),
            ("linkLocalUnicast", ip.is_link_local_unicast()),
            ("globalUnicast", ip.is_global_unicast()),
        ];
        let yes = answers.iter().filter(|answer| answer.1);
        let yes = yes.map(|answer| answer.0.to_owned());
        [ip.family().to_string()].into_iter().chain(yes).collect()
    }
    check(tables!("ip"), |function, arguments| {
        let block = |index| Cidr::parse(arguments.text(index));
        Ok(match function {
            "ip" => json!(Ip::parse(arguments.text(0))?.to_string()),
            "isCanonical" => json!(ip::is_canonical(arguments.text(0))?),
            "kind" => json!(kinds(Ip::parse(arguments.text(0))?)),
            "cidr" => {
                let block = block(0)?;
                let masked = block.masked().to_string();
                json!([
                    block.to_string(),
                    block.ip().to_string(),
                    block.prefix_length(),
                    masked
                ])
            }
            "containsIP" => json!(block(0)?.contains_ip(Ip::parse(arguments.text(1))?)),
            "containsCIDR" => json!(block(0)?.contains_cidr(block(1)?)),
            other => panic!("no function `{other}`"),
        })
    });
}

#[test]
fn formats_answer_with_the_messages_of_the_api() {
    check(tables!("formats"), |function, arguments| {
        let format = NamedFormat::named(arguments.text(0));
        Ok(match function {
            "validate" => json!(format.map(|format| format.validate(arguments.text(1)))),
            "patternSize" => json!(format.map(NamedFormat::pattern_size)),
            other => panic!("no function `{other}`"),
        })
    });
}

#[test]
fn urls_follow_go() {
    check(tables!("go_url", samples), |function, arguments| {
        let url = Url::parse(arguments.text(0))?;
        Ok(match function {
            "url" => json!({
                "scheme": url.scheme(),
                "host": url.host(),
                "hostname": url.hostname(),
                "port": url.port(),
                "escapedPath": url.escaped_path(),
                "query": url.query(),
            }),
            "print" => json!(url.to_string()),
            "equal" => json!(url == Url::parse(arguments.text(1))?),
            other => panic!("no function `{other}`"),
        })
    });
}

/// Parses a duration with the error of cel-go, which the tables record and which hides Go's reason.
fn parse_duration(text: &str) -> Result<Duration, &'static str> {
    let conversion = "type conversion error from 'string' to 'google.protobuf.Duration'";
    Duration::parse(text).map_err(|_| conversion)
}

#[test]
fn durations_follow_go() {
    check(tables!("go_duration", samples), |function, arguments| {
        let duration = |index| parse_duration(arguments.text(index));
        let first = duration(0)?;
        Ok(match function {
            "parse" => json!(first.nanoseconds()),
            "print" => json!(first.to_string()),
            "parts" => json!([
                first.hours(),
                first.minutes(),
                first.seconds(),
                first.milliseconds()
            ]),
            "plus" => json!(first.plus(duration(1)?)?.to_string()),
            "minus" => json!(first.minus(duration(1)?)?.to_string()),
            "negated" => json!(first.negated()?.to_string()),
            other => panic!("no function `{other}`"),
        })
    });
}

#[test]
fn timestamps_are_rfc_3339_from_year_1_to_9999() {
    check(tables!("timestamp", samples), |function, arguments| {
        if function == "fromUnix" {
            return Ok(json!(
                Timestamp::from_unix_seconds(arguments.int(0))?.to_string()
            ));
        }
        let timestamp = |index| Timestamp::parse(arguments.text(index));
        let duration = |index| parse_duration(arguments.text(index));
        let first = timestamp(0)?;
        Ok(match function {
            "print" => json!(first.to_string()),
            "unix" => json!(first.unix_seconds()),
            "plus" => json!(first.plus(duration(1)?)?.to_string()),
            "minus" => json!(first.minus(duration(1)?)?.to_string()),
            "since" => json!(first.since(timestamp(1)?)?.to_string()),
            "compare" => json!(first.cmp(&timestamp(1)?) as i8),
            "in" => {
                let time = first.in_zone(&Zone::parse(arguments.text(1))?);
                let date = [
                    time.year,
                    time.month,
                    time.date,
                    time.day_of_week,
                    time.day_of_year,
                ];
                let clock = [time.hours, time.minutes, time.seconds, time.milliseconds];
                json!([date.as_slice(), clock.as_slice()].concat())
            }
            other => panic!("no function `{other}`"),
        })
    });
}

#[test]
fn numbers_read_and_print_as_in_cel_go() {
    fn in_bases(integer: Integer) -> [String; 5] {
        let hex = |case| integer.hex(case);
        let (lower, upper) = (hex(HexCase::Lower), hex(HexCase::Upper));
        [
            integer.decimal(),
            lower,
            upper,
            integer.octal(),
            integer.binary(),
        ]
    }
    check(tables!("number_text"), |function, arguments| {
        let double = || numbers::parse_double(arguments.text(0));
        let precision = || usize::try_from(arguments.int(1)).expect("a precision");
        let (kubernetes, spec) = (NumberStyle::Kubernetes, NumberStyle::Spec);
        Ok(match function {
            "int" => json!(numbers::parse_int(arguments.text(0))?),
            "uint" => json!(numbers::parse_uint(arguments.text(0))?),
            "double" => json!(double()?),
            "bool" => json!(numbers::parse_bool(arguments.text(0))?),
            "doubleText" => json!(numbers::double_text(double()?)),
            "doubleToInt" => json!(numbers::double_to_int(double()?)?),
            "doubleToUint" => json!(numbers::double_to_uint(double()?)?),
            "fixed" => json!(numbers::fixed(double()?, precision(), kubernetes)?),
            "specFixed" => json!(numbers::fixed(double()?, precision(), spec)?),
            "scientific" => json!(numbers::scientific(double()?, precision(), kubernetes)?),
            "specScientific" => json!(numbers::scientific(double()?, precision(), spec)?),
            "integer" => json!(in_bases(Integer::Signed(arguments.int(0)))),
            "uinteger" => {
                let value = arguments.0[0].as_u64().expect("an unsigned argument");
                json!(in_bases(Integer::Unsigned(value)))
            }
            "hexText" => {
                let bytes = arguments.text(0).as_bytes();
                json!([HexCase::Lower, HexCase::Upper].map(|case| numbers::hex_bytes(bytes, case)))
            }
            other => panic!("no function `{other}`"),
        })
    });
}
