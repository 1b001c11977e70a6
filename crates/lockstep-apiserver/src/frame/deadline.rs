//! How long a request may take.

use std::time::Duration;

use crate::failure::Refusal;
use crate::request::Request;

/// The time for a request; none for a watch. `timeout=` may shorten it; nothing, zero and more than
/// there is leave it as it is.
pub(super) fn of(request: &Request, longest: Duration) -> Result<Option<Duration>, Refusal> {
    if request.info.is_long_running() {
        return Ok(None);
    }
    let asked = match request.query.get("timeout") {
        None | Some("") => return Ok(Some(longest)),
        Some(text) => parse_go_duration(text).map_err(Refusal::BadTimeout)?,
    };
    Ok(Some(
        asked.filter(|asked| *asked < longest).unwrap_or(longest),
    ))
}

/// A duration as Go writes it: `1h15m30.918s`. Zero and negative ones are none.
pub fn parse_go_duration(text: &str) -> Result<Option<Duration>, String> {
    let invalid = || {
        format!(
            "time: invalid duration {}",
            lockstep_object::go::quote(text)
        )
    };
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(None);
    }
    let mut rest = rest;
    let mut nanos: u128 = 0;
    if rest.is_empty() {
        return Err(invalid());
    }
    while !rest.is_empty() {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let whole = digits(rest);
        let (integer, after) = rest.split_at(whole);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => after.split_at(digits(after)),
            None => ("", after),
        };
        if integer.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let unit_end = after.find(|next: char| next == '.' || next.is_ascii_digit());
        let (unit, after) = after.split_at(unit_end.unwrap_or(after.len()));
        if unit.is_empty() {
            let quoted = lockstep_object::go::quote(text);
            return Err(format!("time: missing unit in duration {quoted}"));
        }
        let scale = unit_nanos(unit).ok_or_else(|| {
            let (unit, text) = (
                lockstep_object::go::quote(unit),
                lockstep_object::go::quote(text),
            );
            format!("time: unknown unit {unit} in duration {text}")
        })?;
        let number = |text: &str| {
            if text.is_empty() {
                Some(0)
            } else {
                text.parse::<u64>().ok()
            }
        };
        nanos += u128::from(number(integer).ok_or_else(invalid)?) * scale;
        let fraction = fraction.get(..fraction.len().min(9)).unwrap_or_default();
        let part = u128::from(number(fraction).ok_or_else(invalid)?);
        let power = 10_u128.pow(u32::try_from(fraction.len()).unwrap_or(0));
        nanos += part * scale / power;
        if nanos > i64::MAX as u128 {
            return Err(invalid());
        }
        rest = after;
    }
    let nanos = u64::try_from(nanos).map_err(|_| invalid())?;
    Ok((nanos > 0 && !negative).then(|| Duration::from_nanos(nanos)))
}

fn unit_nanos(unit: &str) -> Option<u128> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// api-machinery.md §4/timeout; dependencies.md §3, durations.
    #[test]
    fn durations_are_read_as_go_reads_them() {
        let millis = |millis| Ok(Some(Duration::from_millis(millis)));
        for (text, expected) in [
            ("1s", millis(1000)),
            ("1h15m30.918s", millis(4_530_918)),
            ("1.5h", millis(5_400_000)),
            (".5s", millis(500)),
            ("100µs", Ok(Some(Duration::from_micros(100)))),
            ("0", Ok(None)),
            ("0s", Ok(None)),
            ("-3s", Ok(None)),
            (
                "32",
                Err("time: missing unit in duration \"32\"".to_owned()),
            ),
            (
                "1d",
                Err("time: unknown unit \"d\" in duration \"1d\"".to_owned()),
            ),
            ("", Err("time: invalid duration \"\"".to_owned())),
            ("s", Err("time: invalid duration \"s\"".to_owned())),
            (".s", Err("time: invalid duration \".s\"".to_owned())),
            (
                "99999999999999999999h",
                Err("time: invalid duration \"99999999999999999999h\"".to_owned()),
            ),
            (
                "9999999h",
                Err("time: invalid duration \"9999999h\"".to_owned()),
            ),
        ] {
            assert_eq!(parse_go_duration(text), expected, "{text}");
        }
    }
}
