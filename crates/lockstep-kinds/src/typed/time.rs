//! Time parsing with Go's error messages.

use lockstep_object::go::quote;
use lockstep_object::metadata::{Micros, Seconds};

use super::error::TypeError;

const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
const MICROS: &str = "2006-01-02T15:04:05.000000Z07:00";
/// Offset of the fraction in a valid timestamp.
const FRACTION_AT: usize = "2006-01-02T15:04:05".len();
const FRACTION: &str = ".000000";

/// A time in whole seconds, in UTC.
pub(super) fn seconds(text: &str) -> Result<String, TypeError> {
    let at: Result<Seconds, _> = text.parse();
    at.map(|at| at.to_string())
        .map_err(|_| complaint(text, SECONDS))
}

/// A time in microseconds, in UTC; all six digits have to be there.
pub(super) fn micros(text: &str) -> Result<String, TypeError> {
    let at: Result<Micros, _> = text.parse();
    let at = at.map_err(|_| complaint(text, MICROS))?;
    let rest = text.get(FRACTION_AT..).unwrap_or_default();
    let digits = rest.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    if !rest.starts_with('.') || digits != FRACTION.len() - 1 {
        return Err(unparsed(text, MICROS, rest, FRACTION));
    }
    Ok(at.to_string())
}

/// Go's error message for a text that is not a time.
fn complaint(text: &str, layout: &str) -> TypeError {
    let mut rest = text;
    for part in [
        "2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05",
    ] {
        let is_number = part.len() > 1;
        let found = rest.get(..part.len());
        let fits = found.is_some_and(|found| {
            if is_number {
                found.bytes().all(|byte| byte.is_ascii_digit())
            } else {
                found == part
            }
        });
        if !fits {
            return unparsed(text, layout, rest, part);
        }
        let number = found.and_then(|found| found.parse().ok()).unwrap_or(0);
        let range = match part {
            "01" => ("month", 1..=12),
            "02" => ("day", 1..=31),
            "15" => ("hour", 0..=23),
            "04" => ("minute", 0..=59),
            "05" => ("second", 0..=59),
            _ => ("", number..=number),
        };
        if !range.1.contains(&number) {
            return TypeError::Time(format!("{}: {} out of range", quote(text), range.0));
        }
        rest = rest.get(part.len()..).unwrap_or_default();
    }
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    match rest.strip_prefix('Z') {
        Some("") => TypeError::Time(format!("{}: day out of range", quote(text))),
        Some(extra) => TypeError::Time(format!("{}: extra text: {}", quote(text), quote(extra))),
        None => unparsed(text, layout, rest, "Z07:00"),
    }
}

fn unparsed(text: &str, layout: &str, rest: &str, part: &str) -> TypeError {
    let [text, layout, rest, part] = [text, layout, rest, part].map(quote);
    TypeError::Time(format!("{text} as {layout}: cannot parse {rest} as {part}"))
}
