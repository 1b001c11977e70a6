//! The table of another program's flags.

/// One flag.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Flag {
    pub(super) name: &'static str,
    /// Whether it may stand without a value.
    pub(super) is_switch: bool,
    pub(super) fate: Fate,
}

/// Treatment of a kube-apiserver flag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// Passed on: `lockstep serve` has a flag with this name and meaning.
    PassedOn,
    /// Replaced by other flags of `lockstep serve`.
    Translated,
    /// Accepted without effect, with the reason why that is harmless.
    NoEffect(&'static str),
    /// Refused with a reason, since ignoring it would do harm, unless its value is `unless`.
    Refused {
        why: &'static str,
        unless: &'static str,
    },
}

/// Reads a table; none if a line is not what it should be.
pub(super) fn read(text: &'static str) -> Option<Vec<Flag>> {
    let mut fate = None;
    let mut flags = Vec::new();
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(heading) = line.strip_prefix('[') {
            let (word, why) = heading.split_once(']')?;
            fate = Some(heading_fate(word, why.trim())?);
            continue;
        }
        let (left, unless) = line.split_once('=').unwrap_or((line, ""));
        let mut words = left.split_whitespace();
        let name = words.next()?;
        let is_switch = words.next() == Some("?");
        let fate = match fate? {
            Fate::Refused { why, .. } => Fate::Refused {
                why,
                unless: unless.trim(),
            },
            other => other,
        };
        flags.push(Flag {
            name,
            is_switch,
            fate,
        });
    }
    Some(flags)
}

fn heading_fate(word: &str, why: &'static str) -> Option<Fate> {
    Some(match word {
        "passed on" => Fate::PassedOn,
        "translated" => Fate::Translated,
        "no effect" => Fate::NoEffect(why),
        "refused" => Fate::Refused { why, unless: "" },
        _ => return None,
    })
}
