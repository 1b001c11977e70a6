//! Every row of `tests/rows.txt` is cited by a test, and every citation names a row.
//!
//! `LOCKSTEP_UPDATE=1` writes the places into the list.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The files whose text can cite.
const ENDINGS: [&str; 6] = ["rs", "txt", "yaml", "json", "py", "md"];

#[test]
fn every_row_is_cited_and_every_citation_is_of_a_row() {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rows.txt");
    let text = std::fs::read_to_string(&list).expect("the list can be read");
    let cited = citations();
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
fn citations() -> BTreeMap<String, BTreeSet<String>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut cited = BTreeMap::<String, BTreeSet<String>>::new();
    for file in files(&crates) {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let place = file.strip_prefix(&crates).expect("it was found there");
        let is_test = place.components().any(|part| part.as_os_str() == "tests")
            || place.ends_with("tests.rs")
            || text.contains("#[cfg(test)]");
        if !is_test || place.ends_with("rows.rs") || place.ends_with("rows.txt") {
            continue;
        }
        for row in rows_in(&text) {
            let places = cited.entry(row).or_default();
            places.insert(place.display().to_string());
        }
    }
    cited
}

/// The rows that a text names.
fn rows_in(text: &str) -> BTreeSet<String> {
    let named = text.match_indices('§').filter_map(|(at, _)| {
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

#[test]
fn a_citation_is_a_section_a_slash_and_a_word() {
    let text = "§7/pages, §3.1/built-in: x; §8, §11: y (§0/T1) §/a §2/";
    let rows: Vec<String> = rows_in(text).into_iter().collect();
    assert_eq!(rows, ["§0/T1", "§3.1/built-in", "§7/pages"]);
}
