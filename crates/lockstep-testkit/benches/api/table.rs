//! Table of results, with the target of each measure.

use std::collections::BTreeMap;

/// Target of a measure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Bar {
    /// So many times less than the reference.
    TimesLess(f64),
    /// At most this, whatever the reference does.
    NoMoreThan(f64),
    /// None: it is there to be seen.
    None,
}

/// One row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Measure {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    /// Result of a kube-apiserver on another machine of this size.
    pub(crate) reference: Option<f64>,
    pub(crate) bar: Bar,
}

/// All rows, in the order in which they were measured first.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<(Measure, BTreeMap<&'static str, Vec<f64>>)>,
}

impl Table {
    /// Adds what a program gave in one round.
    pub(crate) fn add(&mut self, measure: Measure, program: &'static str, value: f64) {
        let at = self.rows.iter().position(|(known, _)| *known == measure);
        let at = at.unwrap_or_else(|| {
            self.rows.push((measure, BTreeMap::new()));
            self.rows.len() - 1
        });
        self.rows[at].1.entry(program).or_default().push(value);
    }

    /// As Markdown; of several rounds the middle one.
    pub(crate) fn text(&self, is_live: bool) -> String {
        let mut lines = vec!["| Measure | Lockstep | kube-apiserver | ratio | bar | |".to_owned()];
        lines.push("|---|---|---|---|---|---|".to_owned());
        for (measure, values) in &self.rows {
            let of = |program| values.get(program).map(|rounds| middle(rounds));
            let ours = of("lockstep");
            let reference = if is_live {
                of("kube-apiserver")
            } else {
                measure.reference
            };
            let ratio = ours
                .zip(reference)
                .map(|(ours, reference)| reference / ours);
            let (bar, is_met) = match measure.bar {
                Bar::TimesLess(times) => {
                    (format!("{times}× less"), ratio.map(|ratio| ratio >= times))
                }
                Bar::NoMoreThan(most) => (
                    format!("≤ {most} {}", measure.unit),
                    ours.map(|ours| ours <= most),
                ),
                Bar::None => (String::new(), None),
            };
            let verdict = match is_met {
                Some(true) => "met",
                Some(false) => "MISSED",
                None => "",
            };
            let cell = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), number);
            lines.push(format!(
                "| {}, {} | {} | {} | {} | {bar} | {verdict} |",
                measure.name,
                measure.unit,
                cell(ours),
                cell(reference),
                ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{}×", number(ratio))),
            ));
        }
        lines.join("\n")
    }
}

/// The one in the middle; of an even number the smaller of two.
fn middle(rounds: &[f64]) -> f64 {
    let mut sorted = rounds.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() - 1) / 2]
}

/// With as many digits as are worth reading.
fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        small if small >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
