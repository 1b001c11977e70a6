//! Process metrics from `/proc`; none on systems without it.

use std::fs;

use jiff::Timestamp;
use prometheus::proto::MetricFamily;

/// The `process_*` gauges.
pub(super) fn families(started: Timestamp) -> Vec<MetricFamily> {
    let numbers = [
        (
            "process_cpu_seconds_total",
            "Total user and system CPU time spent in seconds.",
            cpu_seconds(),
        ),
        (
            "process_open_fds",
            "Number of open file descriptors.",
            open_files(),
        ),
        (
            "process_resident_memory_bytes",
            "Resident memory size in bytes.",
            memory_bytes(1),
        ),
        (
            "process_start_time_seconds",
            "Start time of the process since unix epoch in seconds.",
            Some(started.as_second()),
        ),
        (
            "process_virtual_memory_bytes",
            "Virtual memory size in bytes.",
            memory_bytes(0),
        ),
    ];
    let known = numbers
        .into_iter()
        .filter_map(|(name, help, value)| Some((name, help, value?)));
    #[expect(
        clippy::cast_precision_loss,
        reason = "counters of the system are far below 2^52"
    )]
    known
        .map(|(name, help, value)| super::gauges(name, help, vec![(Vec::new(), value as f64)]))
        .collect()
}

/// User and system CPU time from `/proc/self/stat`. Fields are counted after the command name, which may contain
/// spaces.
fn cpu_seconds() -> Option<i64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<i64>().ok()? + fields.get(12)?.parse::<i64>().ok()?;
    let a_second = i64::try_from(rustix::param::clock_ticks_per_second()).ok()?;
    ticks.checked_div(a_second)
}

fn memory_bytes(field: usize) -> Option<i64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: i64 = statm.split_whitespace().nth(field)?.parse().ok()?;
    let page = i64::try_from(rustix::param::page_size()).ok()?;
    pages.checked_mul(page)
}

fn open_files() -> Option<i64> {
    i64::try_from(fs::read_dir("/proc/self/fd").ok()?.count()).ok()
}
