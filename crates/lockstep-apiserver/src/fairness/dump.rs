//! Pages for debugging: the state of levels and queues as upstream prints it.

use lockstep_fairness::LevelReport;

use super::Fairness;
use crate::cache::Cache;

/// One of the pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dump {
    /// A row for each level.
    Levels,
    /// A row for each queue with requests.
    Queues,
}

impl Fairness {
    /// Prints a page.
    pub(crate) fn dump(&self, page: Dump, cache: &Cache) -> String {
        drop(self.config(cache));
        let reports = self.seats.lock().report();
        let (header, rows) = match page {
            Dump::Levels => (LEVEL_COLUMNS, levels(&reports)),
            Dump::Queues => (QUEUE_COLUMNS, queues(&reports)),
        };
        let header = header.iter().map(|name| (*name).to_owned()).collect();
        let rows: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
        aligned(&rows)
    }
}

const LEVEL_COLUMNS: &[&str] = &[
    "PriorityLevelName",
    "ActiveQueues",
    "IsIdle",
    "IsQuiescing",
    "WaitingRequests",
    "ExecutingRequests",
    "DispatchedRequests",
    "RejectedRequests",
    "TimedoutRequests",
    "CancelledRequests",
];
const QUEUE_COLUMNS: &[&str] = &[
    "PriorityLevelName",
    "Index",
    "PendingRequests",
    "ExecutingRequests",
    "MaxSeatsSum",
    "TotalWorkSum",
];

fn levels(reports: &[LevelReport]) -> Vec<Vec<String>> {
    let row = |report: &LevelReport| {
        let waiting = report.queues.iter().filter(|queue| queue.waiting > 0);
        let is_idle = report.waiting == 0 && report.executing == 0;
        vec![
            report.name.clone(),
            waiting.count().to_string(),
            is_idle.to_string(),
            report.is_quiescing.to_string(),
            report.waiting.to_string(),
            report.executing.to_string(),
            report.dispatched.to_string(),
            report.rejected.to_string(),
            // Upstream has the column and counts such requests as cancelled.
            "0".to_owned(),
            report.cancelled.to_string(),
        ]
    };
    reports.iter().map(row).collect()
}

fn queues(reports: &[LevelReport]) -> Vec<Vec<String>> {
    let rows = reports.iter().flat_map(|report| {
        report.queues.iter().map(|queue| {
            vec![
                report.name.clone(),
                queue.index.to_string(),
                queue.waiting.to_string(),
                queue.executing.to_string(),
                queue.seats_waiting.to_string(),
                format!("{:.8}ss", queue.work_waiting.as_secs_f64()),
            ]
        })
    });
    rows.collect()
}

/// Columns of at least eight characters, each but the last followed by a comma.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(String::len).max().unwrap_or(0).max(6) + 2
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let last = row.len().saturating_sub(1);
        for (column, cell) in row.iter().enumerate() {
            if column == last {
                text.push_str(cell);
            } else {
                let cell = format!("{cell},");
                text.push_str(&format!("{cell:<width$}", width = widths[column]));
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_separated_by_commas() {
        let rows = [["Name", "Index"], ["global-default", "7"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows), "Name,           Index\nglobal-default, 7\n");
    }
}
