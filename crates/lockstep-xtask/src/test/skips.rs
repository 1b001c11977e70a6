//! The `SKIPPED: …` lines of tests that passed, which a runner would keep to itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Mark of a test that checked nothing, followed by the reason.
const MARK: &str = "SKIPPED:";

/// The JUnit reports that nextest keeps for `root`, one a profile.
pub(super) fn reports(root: &Path) -> Vec<PathBuf> {
    let Ok(profiles) = std::fs::read_dir(root.join("target").join("nextest")) else {
        return Vec::new();
    };
    let reports = profiles
        .flatten()
        .map(|profile| profile.path().join("junit.xml"));
    reports.filter(|report| report.is_file()).collect()
}

/// Reasons of skipped tests, each once.
pub(super) fn skipped_in(junit: &str) -> BTreeSet<String> {
    let reason = |line: &str| line.find(MARK).map(|at| plain(&line[at..]));
    junit.lines().filter_map(reason).collect()
}

/// Text as it was before it went into XML.
fn plain(line: &str) -> String {
    let text = line.split("</").next().unwrap_or(line).trim_end();
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ];
    let resolve = |text: String, (entity, character): (&str, &str)| text.replace(entity, character);
    entities.into_iter().fold(text.to_owned(), resolve)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_told_once_and_in_order() {
        let junit = "<testcase name=\"a\"><system-out>running 1 test\n\
                     SKIPPED: no `kubectl` &amp; no &lt;etcd&gt;\ntest a ... ok</system-out></testcase>\n\
                     <testcase><system-out>SKIPPED: no browser</system-out></testcase>\n\
                     test b ... SKIPPED: no browser\n";
        let expected = ["SKIPPED: no `kubectl` & no <etcd>", "SKIPPED: no browser"];
        assert_eq!(skipped_in(junit), expected.map(str::to_owned).into());
    }

    #[test]
    fn a_run_without_skips_has_nothing_to_tell() {
        assert_eq!(
            skipped_in("<system-out>test a ... ok\n0 skipped</system-out>"),
            BTreeSet::new()
        );
    }

    #[test]
    fn reports_of_all_profiles_are_found() {
        let root = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(reports(root.path()), Vec::<PathBuf>::new());
        let folder = root.path().join("target/nextest/ci");
        std::fs::create_dir_all(&folder).expect("made");
        assert_eq!(reports(root.path()), Vec::<PathBuf>::new());
        std::fs::write(folder.join("junit.xml"), "").expect("written");
        assert_eq!(reports(root.path()), [folder.join("junit.xml")]);
    }
}
