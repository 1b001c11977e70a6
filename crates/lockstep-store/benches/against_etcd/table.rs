//! Table of results with their targets.

use std::fmt;

/// Target of a measure: our value divided by etcd's unless stated otherwise.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Bar {
    AtMost(f64),
    AtLeast(f64),
    /// Limit of our own value, independent of etcd.
    NoMoreThan(f64),
    /// Reported without a target.
    None,
}

/// One row that is to be filled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measure {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) bar: Bar,
}

struct Row {
    measure: Measure,
    /// By program and round.
    samples: Vec<Vec<f64>>,
}

/// All rows, in the order in which they were measured first.
pub(crate) struct Table {
    programs: Vec<String>,
    rows: Vec<Row>,
}

impl Table {
    pub(crate) fn new(programs: impl Iterator<Item = String>) -> Self {
        Self {
            programs: programs.collect(),
            rows: Vec::new(),
        }
    }

    /// Adds what one turn of a program gave.
    pub(crate) fn add(&mut self, measure: Measure, program: usize, sample: f64) {
        let at = self
            .rows
            .iter()
            .position(|row| row.measure.name == measure.name);
        let at = at.unwrap_or_else(|| {
            let samples = vec![Vec::new(); self.programs.len()];
            self.rows.push(Row { measure, samples });
            self.rows.len() - 1
        });
        self.rows[at].samples[program].push(sample);
    }
}

impl Row {
    /// Ours divided by another's: the median over rounds, since neighbours in time had the same
    /// machine.
    fn ratio(&self, program: usize) -> Option<f64> {
        let pairs = self.samples[0].iter().zip(&self.samples[program]);
        median(pairs.map(|(ours, other)| ours / other))
    }

    /// Against the etcd that is hardest to meet; none if there is nothing to judge.
    fn is_met(&self) -> Option<bool> {
        let others = 1..self.samples.len();
        let all = |test: &dyn Fn(f64) -> bool| {
            let ratios: Vec<_> = others
                .clone()
                .filter_map(|other| self.ratio(other))
                .collect();
            (!ratios.is_empty()).then(|| ratios.into_iter().all(test))
        };
        match self.measure.bar {
            Bar::AtMost(bar) => all(&|ratio| ratio <= bar),
            Bar::AtLeast(bar) => all(&|ratio| ratio >= bar),
            Bar::NoMoreThan(bar) => median(self.samples[0].iter().copied()).map(|ours| ours <= bar),
            Bar::None => None,
        }
    }

    fn cells(&self) -> Vec<String> {
        let Measure { name, unit, bar } = self.measure;
        let mut cells = vec![format!("{name}, {unit}")];
        let medians = self
            .samples
            .iter()
            .map(|samples| median(samples.iter().copied()));
        cells.extend(medians.map(|median| median.map_or("–".to_owned(), number)));
        let ratios = (1..self.samples.len()).filter_map(|other| self.ratio(other));
        let ratios: Vec<_> = ratios.map(|ratio| format!("{}×", number(ratio))).collect();
        cells.push(ratios.join(" "));
        cells.push(match bar {
            Bar::AtMost(bar) => format!("≤ {bar}×"),
            Bar::AtLeast(bar) => format!("≥ {bar}×"),
            Bar::NoMoreThan(bar) => format!("≤ {bar} {unit}"),
            Bar::None => String::new(),
        });
        let verdict = match self.is_met() {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "",
        };
        cells.push(verdict.to_owned());
        cells
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut head = vec!["measure".to_owned()];
        head.extend(self.programs.iter().cloned());
        head.extend(["ratio", "bar", ""].map(str::to_owned));
        let rule = vec!["---".to_owned(); head.len()];
        let rows = self.rows.iter().map(Row::cells);
        let lines: Vec<_> = [head, rule].into_iter().chain(rows).collect();
        let columns = lines[0].len();
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
        let widths: Vec<_> = (0..columns)
            .map(|column| width(column).unwrap_or(0))
            .collect();
        for line in &lines {
            for (cell, width) in line.iter().zip(&widths) {
                write!(f, "| {cell:<width$} ")?;
            }
            writeln!(f, "|")?;
        }
        Ok(())
    }
}

fn median(samples: impl Iterator<Item = f64>) -> Option<f64> {
    let mut samples: Vec<_> = samples.collect();
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied()
}

/// With as many digits as are worth reading.
fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{middle:.1}"),
        small if small >= 0.1 => format!("{small:.2}"),
        tiny => format!("{tiny:.4}"),
    }
}
