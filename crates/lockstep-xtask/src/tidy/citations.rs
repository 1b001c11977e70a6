//! Citations of the specification: `NAME.md §SECTION/ROW` names a section, and a row, of `docs/spec/NAME.md`.

use std::collections::{BTreeMap, BTreeSet};

use super::SourceFile;
use super::finding::Finding;
use super::prose::outside_code;

/// Folder of the sheets.
const SHEETS: &str = "docs/spec/";

/// Files whose citations are examples of the notation.
const EXAMPLES: [&str; 3] = [
    "crates/lockstep-testkit/src/rows.rs",
    "crates/lockstep-xtask/src/tidy/citations.rs",
    "docs/spec/README.md",
];

/// Sections and rows of one sheet.
#[derive(Default)]
struct Sheet {
    sections: BTreeSet<String>,
    rows: BTreeSet<(String, String)>,
}

/// Every citation that does not resolve.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let sheets: BTreeMap<&str, Sheet> = files
        .iter()
        .filter_map(|file| {
            let name = file.path.strip_prefix(SHEETS)?.strip_suffix(".md")?;
            Some((name, Sheet::parse(&file.text)))
        })
        .collect();
    let citing = files
        .iter()
        .filter(|file| !EXAMPLES.contains(&file.path.as_str()));
    citing.flat_map(|file| check_file(file, &sheets)).collect()
}

fn check_file(file: &SourceFile, sheets: &BTreeMap<&str, Sheet>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        // JSON files may escape the sign.
        let line = line.replace("\\u00a7", "§");
        for citation in citations(&line) {
            if let Some(what) = citation.fault(sheets) {
                let remedy = format!("cite a row that `{SHEETS}` has");
                findings.push(Finding::problem(&file.path, index + 1, what, remedy));
            }
        }
    }
    findings
}

impl Sheet {
    fn parse(text: &str) -> Self {
        let mut sheet = Self::default();
        let mut current: Vec<String> = Vec::new();
        for (_, line) in outside_code(text) {
            if let Some(heading) = line.strip_prefix('#') {
                current = sections_of(heading.trim_start_matches('#').trim_start());
                sheet.sections.extend(current.iter().cloned());
            } else if let Some(row) = line.strip_prefix('|') {
                let cell = row.split('|').next().unwrap_or_default().trim();
                let cell = cell.trim_matches(['*', '`']);
                let named = cell.strip_prefix('§').and_then(|name| name.split_once('/'));
                if let Some((section, row)) = named {
                    sheet.rows.insert((section.to_owned(), row.to_owned()));
                }
                let of_section = |section: &String| (section.clone(), cell.to_owned());
                sheet.rows.extend(current.iter().map(of_section));
            }
        }
        sheet
    }
}

/// `6.1 Errors` is section 6.1 and belongs to section 6; a heading without a number is no section.
fn sections_of(heading: &str) -> Vec<String> {
    let number = heading.split(' ').next().unwrap_or_default();
    let number = number.trim_end_matches('.');
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return Vec::new();
    }
    let outer = number.split('.').next().unwrap_or(number);
    let mut sections = vec![number.to_owned()];
    if outer != number {
        sections.push(outer.to_owned());
    }
    sections
}

/// One `§SECTION/ROW` and the sheet that its line names before it.
#[derive(PartialEq, Eq, Debug)]
struct Citation<'l> {
    sheet: &'l str,
    section: &'l str,
    row: Option<&'l str>,
}

impl Citation<'_> {
    /// The reason why the citation does not resolve.
    fn fault(&self, sheets: &BTreeMap<&str, Sheet>) -> Option<String> {
        let Self {
            sheet,
            section,
            row,
        } = self;
        let Some(found) = sheets.get(sheet) else {
            return Some(format!("there is no sheet `{sheet}.md`"));
        };
        if !found.sections.contains(*section) {
            return Some(format!("`{sheet}.md` has no §{section}"));
        }
        let row = (*row)?;
        let key = ((*section).to_owned(), row.to_owned());
        (!found.rows.contains(&key)).then(|| format!("`{sheet}.md` has no row §{section}/{row}"))
    }
}

/// Citations of one line. A section without a sheet belongs to the sheet named last; before the first sheet it
/// may be of any document, and is not checked.
fn citations(line: &str) -> Vec<Citation<'_>> {
    let mut found = Vec::new();
    let signs = line.match_indices('§');
    for (at, sign) in signs {
        let Some(sheet) = sheet_before(&line[..at]) else {
            continue;
        };
        let rest = &line[at + sign.len()..];
        let section = prefix_of(rest, |c| c.is_ascii_digit() || c == '.');
        let section = section.trim_end_matches('.');
        if section.is_empty() {
            continue;
        }
        let row = rest[section.len()..].strip_prefix('/');
        let row = row.map(|row| prefix_of(row, |c| c.is_ascii_alphanumeric() || c == '-'));
        let row = row.filter(|row| !row.is_empty());
        found.push(Citation {
            sheet,
            section,
            row,
        });
    }
    found
}

/// Name of the sheet that the text names last. Documents of other folders are no sheets.
fn sheet_before(text: &str) -> Option<&str> {
    let (start, _) = text.rsplit_once(".md")?;
    let is_path = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let path = &start[start.rfind(|c| !is_path(c)).map_or(0, |at| {
        at + start[at..].chars().next().map_or(1, char::len_utf8)
    })..];
    let name = path.strip_prefix(SHEETS).unwrap_or(path);
    (!name.contains('/')).then_some(name)
}

fn prefix_of(text: &str, is_part: impl Fn(char) -> bool) -> &str {
    &text[..text.find(|c| !is_part(c)).unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{file, shown};

    const SHEET: &str = "# A sheet\n\n## 1. One\n\n| # | x |\n|---|---|\n| T1 | a |\n\n### 1.1 Inner\n\n\
                         | **D2** | b |\n\n```\n## 7. Code\n```\n\n## Row names\n\n| §1/word | c |\n";

    fn found(text: &str) -> Vec<String> {
        let files = [
            file("docs/spec/sheet.md", SHEET),
            file("crates/x/tests/a.txt", text),
        ];
        shown(check(&files))
    }

    #[test]
    fn citations_of_sections_rows_and_named_rows_resolve() {
        for text in [
            "sheet.md §1",
            "sheet.md §1/T1, §1.1/D2 and §1/D2.",
            "`docs/spec/sheet.md` §1/word: x",
            "sheet.md \\u00a71.1.",
            "RFC 9110 §15, docs/decisions/0001-sheet.md §9",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_citation_that_names_nothing_is_found() {
        for (text, what) in [
            ("sheet.md §2", "`sheet.md` has no §2"),
            ("sheet.md §7", "`sheet.md` has no §7"),
            ("sheet.md §1, §1/T2", "`sheet.md` has no row §1/T2"),
            ("sheet.md \\u00a71.1/T1", "`sheet.md` has no row §1.1/T1"),
            ("other.md §1", "there is no sheet `other.md`"),
        ] {
            let remedy = "cite a row that `docs/spec/` has";
            assert_eq!(
                found(text),
                [format!("crates/x/tests/a.txt:1: {what}; {remedy}")]
            );
        }
    }

    #[test]
    fn the_sheet_named_last_is_the_one_that_is_cited() {
        let cited = citations("a.md §1/x, b-c.md §2, §3.1/y");
        let cited: Vec<_> = cited
            .iter()
            .map(|one| (one.sheet, one.section, one.row))
            .collect();
        let expected = [
            ("a", "1", Some("x")),
            ("b-c", "2", None),
            ("b-c", "3.1", Some("y")),
        ];
        assert_eq!(cited, expected);
    }
}
