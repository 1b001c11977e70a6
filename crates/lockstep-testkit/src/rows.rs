//! Checks lists of a specification's rows: every row is cited by a test, and every citation names a row.
//!
//! A list is `tests/rows.txt` of a crate. A line that begins with a row (`§7/pages what it is about`)
//! is followed by the files that cite it, indented, which `LOCKSTEP_UPDATE=1` rewrites. A test
//! cites a row by its name; the text before the name on its line identifies the specification.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Extensions of files that can cite rows.
const ENDINGS: [&str; 6] = ["rs", "txt", "yaml", "json", "py", "md"];
/// Directories that hold tests, at any depth; `contract` holds suites of tests.
const FOLDERS: [&str; 2] = ["tests", "contract"];

/// Checks the list of a crate; panics with its errors. `is_meant` decides by the text before a row's name
/// whether the row belongs to this list.
pub fn check(crate_folder: &Path, is_meant: impl Fn(&str) -> bool) {
    let list = crate_folder.join("tests/rows.txt");
    let text = std::fs::read_to_string(&list).expect("the list can be read");
    let cited = citations(&crate_folder.join(".."), is_meant);
    let rows: BTreeSet<&str> = text.lines().filter_map(row).collect();
    let missing: Vec<&&str> = rows
        .iter()
        .filter(|row| !cited.contains_key(**row))
        .collect();
    assert!(missing.is_empty(), "rows that no test cites: {missing:#?}");
    let unknown: Vec<_> = cited
        .iter()
        .filter(|(row, _)| !rows.contains(row.as_str()))
        .collect();
    assert!(
        unknown.is_empty(),
        "citations of rows that are not listed: {unknown:#?}"
    );
    let written = with_places(&text, &cited);
    if std::env::var_os("LOCKSTEP_UPDATE").is_some() {
        std::fs::write(&list, written).expect("the list can be written");
    } else {
        assert!(
            written == text,
            "places have moved; LOCKSTEP_UPDATE=1 writes them anew"
        );
    }
}

/// The specification that a line names last before a citation, as in `sheet.md §1/x, §2/y`.
pub fn sheet(before: &str) -> Option<&str> {
    let line = before.rsplit('\n').next()?;
    let (start, _) = line.rsplit_once(".md")?;
    let name = start.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let name = name.map_or(start, |end| &start[end + 1..]);
    Some(name)
}

/// The row that a line of the list is about.
fn row(line: &str) -> Option<&str> {
    let (name, _) = line.split_once(' ')?;
    name.starts_with('§').then_some(name)
}

/// The list with the files that cite each row below it.
fn with_places(text: &str, cited: &BTreeMap<String, BTreeSet<String>>) -> String {
    let mut written = String::new();
    for line in text.lines().filter(|line| !line.starts_with(' ')) {
        written.push_str(line);
        written.push('\n');
        for place in row(line)
            .and_then(|row| cited.get(row))
            .into_iter()
            .flatten()
        {
            written.push_str(&format!("    {place}\n"));
        }
    }
    written
}

/// The rows that tests cite, and the files that do.
fn citations(crates: &Path, is_meant: impl Fn(&str) -> bool) -> BTreeMap<String, BTreeSet<String>> {
    let mut cited = BTreeMap::<String, BTreeSet<String>>::new();
    for file in files(crates) {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let place = file.strip_prefix(crates).expect("it was found there");
        let is_folder = |part: &str| FOLDERS.contains(&part);
        let mut parts = place
            .components()
            .filter_map(|part| part.as_os_str().to_str());
        let is_test =
            parts.any(is_folder) || place.ends_with("tests.rs") || text.contains("#[cfg(test)]");
        // The tests of tidy's own rule for citations cite rows that do not exist.
        let is_exempt = place.ends_with("tidy/citations.rs");
        if !is_test || is_exempt || place.ends_with("rows.rs") || place.ends_with("rows.txt") {
            continue;
        }
        for row in rows_in(&text, &is_meant) {
            let places = cited.entry(row).or_default();
            places.insert(place.display().to_string());
        }
    }
    cited
}

/// The rows that a text names.
fn rows_in(text: &str, is_meant: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let signs = text
        .match_indices('§')
        .filter(|(at, _)| is_meant(&text[..*at]));
    let named = signs.filter_map(|(at, _)| {
        let rest = &text[at + '§'.len_utf8()..];
        let section = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let word = rest[section..].strip_prefix('/')?;
        let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let word = &word[..end.unwrap_or(word.len())];
        (section > 0 && !word.is_empty()).then(|| format!("§{}/{word}", &rest[..section]))
    });
    named.collect()
}

/// The files of all crates that can cite.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the crates are there");
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.expect("the crates are there").path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if path.is_dir() && !path.ends_with("target") {
            found.extend(files(&path));
        } else if ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
            found.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_citation_is_a_section_a_slash_and_a_word() {
        let text = "§7/pages, §3.1/built-in: x; §8, §11: y (§0/T1) §/a §2/";
        let rows: Vec<String> = rows_in(text, |_| true).into_iter().collect();
        assert_eq!(rows, ["§0/T1", "§3.1/built-in", "§7/pages"]);
    }

    #[test]
    fn what_stands_before_a_citation_tells_of_which_sheet_it_is() {
        let text = "a.md §1/x, b.md §2/y, §3/z";
        let of = |name| rows_in(text, |before| sheet(before) == Some(name));
        assert_eq!(of("a").into_iter().collect::<Vec<_>>(), ["§1/x"]);
        assert_eq!(of("b").into_iter().collect::<Vec<_>>(), ["§2/y", "§3/z"]);
        let next_line = rows_in("(a.md, §0)\n§1/x, (`b.md` §2/y)", |before| {
            sheet(before).is_none()
        });
        assert_eq!(next_line.into_iter().collect::<Vec<_>>(), ["§1/x"]);
    }
}
