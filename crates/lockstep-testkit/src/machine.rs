//! Resource usage of processes, and a description of the machine, from `/proc`.

use std::fs;
use std::time::Duration;

use anyhow::Context;

/// The kernel counts processor time for `/proc` in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// The processor time that a process has used so far.
pub fn processor_time(process: u32) -> anyhow::Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name in parentheses may hold anything, so fields are counted from behind it.
    let (_, fields) = stat.rsplit_once(") ").context("no name in stat")?;
    let mut fields = fields.split(' ').skip(11);
    let mut ticks = || fields.next().and_then(|field| field.parse::<u32>().ok());
    let user = ticks().context("no user time in stat")?;
    let system = ticks().context("no system time in stat")?;
    Ok(TICK * (user + system))
}

/// The memory of a process that no file stands behind, in MiB.
pub fn anonymous_mebibytes(process: u32) -> anyhow::Result<f64> {
    mebibytes(process, "RssAnon:")
}

/// All memory that a process holds at the moment, its program included, in MiB.
pub fn resident_mebibytes(process: u32) -> anyhow::Result<f64> {
    mebibytes(process, "VmRSS:")
}

fn mebibytes(process: u32, field: &str) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kibibytes = kibibytes.with_context(|| format!("no {field} in status"))?;
    let kibibytes: u32 = kibibytes.trim().parse()?;
    Ok(f64::from(kibibytes) / 1024.0)
}

/// The processor, how busy it is, and the system.
pub fn description() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let information = read("/proc/cpuinfo");
    let model = information.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "model name").then(|| value.trim().to_owned())
    });
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = read("/proc/loadavg");
    let load = load.split(' ').next().unwrap_or_default();
    let kernel = read("/proc/sys/kernel/osrelease");
    format!(
        "{cores} × {}, Linux {}, load {load} at the start",
        model.as_deref().unwrap_or("unknown processor"),
        kernel.trim()
    )
}
