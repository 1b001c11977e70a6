//! Instruction counts under callgrind: the same on a busy machine as on an idle one.
//!
//! A crate `lockstep-x` takes part with an example called `instructions_x`: without arguments it lists its
//! cases, with a case and a number of rounds it runs that case. Two numbers of rounds are compared, so
//! that starting the program does not count. A line of the list is the name of a case; behind it may
//! stand, after tabs, that of one before it and how many percent more than that it may cost.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::process;
use crate::workspace::Workspace;

const ROUNDS_FEW: u64 = 100;
const ROUNDS_MANY: u64 = 1_100;
/// Runs of a case: seeds of hash tables differ by process, which moves a count by half a percent.
const PROCESSES: usize = 5;

/// Counts and prints every case of a crate's example, or says why not.
pub(super) fn run(workspace: &Workspace, package: &str, folder: &Path) -> anyhow::Result<()> {
    let short = package.strip_prefix("lockstep-").unwrap_or(package);
    let example = format!("instructions_{short}");
    if !folder.join(format!("examples/{example}.rs")).is_file() {
        return Ok(());
    }
    if process::find_in_path("valgrind").is_none() {
        println!("bench: SKIPPED: instruction counts need valgrind, which is not installed");
        return Ok(());
    }
    let mut cargo = process::cargo(workspace.root());
    cargo.args(["build", "--release", "--locked", "--package", package]);
    anyhow::ensure!(
        process::succeeds(cargo.args(["--example", &example]))?,
        "the example `{example}` of {package} does not build"
    );
    let program = workspace.target().join("release/examples").join(&example);
    let listed = Command::new(&program)
        .output()
        .context("listing the cases")?;
    println!("\ninstructions a round, by callgrind:");
    let mut counted = Vec::new();
    let listed = String::from_utf8(listed.stdout)?;
    for case in listed.lines().map(Case::parse) {
        let once = |_| {
            let few = count(&program, case.name, ROUNDS_FEW)?;
            let many = count(&program, case.name, ROUNDS_MANY)?;
            anyhow::Ok(per_round(few, many))
        };
        let counts: Vec<u64> = (0..PROCESSES).map(once).collect::<Result<_, _>>()?;
        let instructions = middle(counts);
        println!("{}", case.told(instructions, &counted));
        counted.push((case.name, instructions));
    }
    Ok(())
}

/// A line of an example's list.
#[derive(Debug, PartialEq, Eq)]
struct Case<'l> {
    name: &'l str,
    bar: Option<Bar<'l>>,
}

/// Upper bound on the cost of a case.
#[derive(Debug, PartialEq, Eq)]
struct Bar<'l> {
    /// The case that it is compared with.
    base: &'l str,
    percent_more_max: u64,
}

impl<'l> Case<'l> {
    fn parse(line: &'l str) -> Self {
        let mut parts = line.split('\t');
        let name = parts.next().unwrap_or_default();
        let bar = parts.next().zip(parts.next());
        let bar = bar.and_then(|(base, percent)| {
            let percent_more_max = percent.parse().ok()?;
            Some(Bar {
                base,
                percent_more_max,
            })
        });
        Self { name, bar }
    }

    /// The figure, and the bar beside it.
    fn told(&self, instructions: u64, counted: &[(&str, u64)]) -> String {
        let figure = format!("  {:<40} {instructions:>10}", self.name);
        let Some(bar) = &self.bar else {
            return figure;
        };
        let base = counted.iter().find(|(name, _)| *name == bar.base);
        let Some((_, base)) = base.filter(|(_, base)| *base > 0) else {
            return format!("{figure}  nothing to compare with: {}", bar.base);
        };
        let max = bar.percent_more_max;
        let is_met = instructions.saturating_mul(100) <= base.saturating_mul(100 + max);
        let verdict = if is_met { "met" } else { "MISSED" };
        let sign = if instructions < *base { '-' } else { '+' };
        let permille = instructions.abs_diff(*base).saturating_mul(1000) / base;
        let (percent, tenths) = (permille / 10, permille % 10);
        format!(
            "{figure}  {sign}{percent}.{tenths} % against `{}`, at most {max} %: {verdict}",
            bar.base
        )
    }
}

fn count(program: &Path, case: &str, rounds: u64) -> anyhow::Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([case, &rounds.to_string()])
        .output()
        .context("running valgrind")?;
    let told = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(
        output.status.success(),
        "valgrind failed on `{case}`:\n{told}"
    );
    collected(&told).with_context(|| format!("no count in what valgrind said:\n{told}"))
}

/// The number behind `Collected :`.
fn collected(told: &str) -> Option<u64> {
    let line = told.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

fn per_round(few: u64, many: u64) -> u64 {
    many.saturating_sub(few) / (ROUNDS_MANY - ROUNDS_FEW)
}

/// The middle one of an odd number of counts.
fn middle(mut counts: Vec<u64>) -> u64 {
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_what_valgrind_says() {
        let told = "==7== Events    : Ir\n==7== Collected : 123456\n==7== \n";
        assert_eq!(collected(told), Some(123_456));
        assert_eq!(collected("==7== nothing"), None);
    }

    #[test]
    fn a_bar_stands_beside_its_figure() {
        let plain = Case::parse("patch, none");
        let barred = Case::parse("patch, closed\tpatch, none\t10");
        let counted = [("patch, none", 2_000)];
        let figure = |name: &str, count: u64| format!("  {name:<40} {count:>10}");
        assert_eq!(plain.told(2_000, &[]), figure("patch, none", 2_000));
        for (instructions, told) in [
            (2_100, "+5.0 % against `patch, none`, at most 10 %: met"),
            (2_200, "+10.0 % against `patch, none`, at most 10 %: met"),
            (2_201, "+10.0 % against `patch, none`, at most 10 %: MISSED"),
            (1_999, "-0.0 % against `patch, none`, at most 10 %: met"),
        ] {
            let figure = figure("patch, closed", instructions);
            let expected = format!("{figure}  {told}");
            assert_eq!(barred.told(instructions, &counted), expected);
        }
        assert_eq!(
            barred.told(7, &[]),
            figure("patch, closed", 7) + "  nothing to compare with: patch, none"
        );
    }

    #[test]
    fn one_odd_count_of_three_is_not_told() {
        assert_eq!(middle(vec![9, 2, 3]), 3);
    }

    #[test]
    fn starting_the_program_does_not_count() {
        assert_eq!(per_round(50_000 + 100 * 7, 50_000 + 1_100 * 7), 7);
    }
}
