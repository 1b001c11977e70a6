//! Schedules: five fields, or a word that stands for them.

use lockstep_gotext::duration::Duration;

/// Words that stand for schedules.
const DESCRIPTORS: [&str; 7] = [
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The lowest and the highest number of a field, and words for numbers.
struct Bounds {
    lowest: u32,
    highest: u32,
    names: &'static [&'static str],
}

const FIELDS: [Bounds; 5] = [
    Bounds {
        lowest: 0,
        highest: 59,
        names: &[],
    },
    Bounds {
        lowest: 0,
        highest: 23,
        names: &[],
    },
    Bounds {
        lowest: 1,
        highest: 31,
        names: &[],
    },
    Bounds {
        lowest: 1,
        highest: 12,
        names: &MONTHS,
    },
    Bounds {
        lowest: 0,
        highest: 6,
        names: &DAYS,
    },
];

/// Whether a text is a schedule; else what is wrong with it.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    let mut rest = schedule;
    if schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=") {
        let (_, fields) = schedule.split_once(' ').unwrap_or(("", ""));
        rest = fields.trim();
    }
    if rest.starts_with('@') {
        return descriptor(rest);
    }
    let fields: Vec<&str> = rest.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!(
            "expected exactly {} fields, found {}: [{}]",
            FIELDS.len(),
            fields.len(),
            fields.join(" ")
        ));
    }
    let mut checked = fields.iter().zip(&FIELDS);
    checked.try_for_each(|(field, bounds)| bounds.field(field))
}

fn descriptor(text: &str) -> Result<(), String> {
    if DESCRIPTORS.contains(&text) {
        return Ok(());
    }
    match text.strip_prefix("@every ") {
        Some(every) if Duration::parse(every).is_ok() => Ok(()),
        Some(_) => Err(format!("failed to parse duration {text}")),
        None => Err(format!("unrecognized descriptor: {text}")),
    }
}

impl Bounds {
    fn field(&self, field: &str) -> Result<(), String> {
        let mut ranges = field.split(',').filter(|range| !range.is_empty());
        ranges.try_for_each(|range| self.range(range))
    }

    fn range(&self, text: &str) -> Result<(), String> {
        let by_step: Vec<&str> = text.split('/').collect();
        let ends: Vec<&str> = by_step[0].split('-').collect();
        let (start, end) = match ends[..] {
            ["*" | "?"] => (self.lowest, self.highest),
            [one] => {
                let one = self.number(one)?;
                (one, if by_step.len() > 1 { self.highest } else { one })
            }
            ["*" | "?", ..] | [] => (self.lowest, self.highest),
            [start, end] => (self.number(start)?, self.number(end)?),
            _ => return Err(format!("too many hyphens: {text}")),
        };
        let step = match by_step[..] {
            [_] | [] => 1,
            [_, step] => number(step)?,
            _ => return Err(format!("too many slashes: {text}")),
        };
        if start < self.lowest {
            return Err(format!(
                "beginning of range ({start}) below minimum ({}): {text}",
                self.lowest
            ));
        }
        if end > self.highest {
            return Err(format!(
                "end of range ({end}) above maximum ({}): {text}",
                self.highest
            ));
        }
        if start > end {
            return Err(format!(
                "beginning of range ({start}) beyond end of range ({end}): {text}"
            ));
        }
        if step == 0 {
            return Err(format!("step of range should be a positive number: {text}"));
        }
        Ok(())
    }

    fn number(&self, text: &str) -> Result<u32, String> {
        let lower = text.to_lowercase();
        match self.names.iter().position(|name| *name == lower) {
            Some(at) => Ok(u32::try_from(at).unwrap_or_default() + self.lowest),
            None => number(text),
        }
    }
}

fn number(text: &str) -> Result<u32, String> {
    text.parse::<i64>()
        .map_err(|_| {
            format!(
                "failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"
            )
        })
        .and_then(|number| {
            u32::try_from(number)
                .map_err(|_| format!("negative number ({number}) not allowed: {text}"))
        })
}
