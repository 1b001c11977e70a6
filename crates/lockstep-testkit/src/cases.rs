//! The runner of case files: tests as data, in `tests/cases` of a crate.
//!
//! A file is YAML or JSON: a list of cases, or a mapping with `cases` and with values that all of them
//! share. Every case of a file runs, and all that fail are reported at once. A file or folder without
//! cases is a failure, because a test over nothing passes for ever.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// One case file.
pub struct CaseFile {
    path: PathBuf,
    document: Value,
}

/// One case, and the document around it.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The whole file; null where the file is a plain list.
    pub shared: &'a Value,
    /// The case itself.
    pub own: &'a Value,
}

impl std::ops::Deref for Case<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.own
    }
}

impl CaseFile {
    /// Reads `tests/cases/{file}` of the crate under test.
    ///
    /// # Panics
    ///
    /// If the file cannot be read or has no case.
    pub fn read(file: &str) -> Self {
        Self::at(&Path::new("tests/cases").join(file))
    }

    /// Reads all files of `tests/cases/{folder}`, sorted by name.
    ///
    /// # Panics
    ///
    /// If there are none, or one cannot be read or has no case.
    pub fn folder(folder: &str) -> Vec<Self> {
        let folder = Path::new("tests/cases").join(folder);
        let entries = std::fs::read_dir(&folder);
        let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut paths: Vec<PathBuf> = entries
            .map(|entry| entry.expect("the folder can be read").path())
            .filter(|path| path.is_file())
            .collect();
        paths.sort();
        assert!(!paths.is_empty(), "no case file in {}", folder.display());
        paths.iter().map(|path| Self::at(path)).collect()
    }

    /// Reads the file at a path that is relative to the crate under test.
    ///
    /// # Panics
    ///
    /// If the file cannot be read or has no case.
    pub fn at(path: &Path) -> Self {
        let text = std::fs::read_to_string(path);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let is_json = path
            .extension()
            .is_some_and(|extension| extension == "json");
        let document = if is_json {
            serde_json::from_str(&text).map_err(|error| error.to_string())
        } else {
            let options = serde_saphyr::options! { with_snippet: false };
            serde_saphyr::from_str_with_options(&text, options).map_err(|error| error.to_string())
        };
        let file = Self {
            document: document.unwrap_or_else(|error| panic!("{}: {error}", path.display())),
            path: path.to_owned(),
        };
        assert!(!file.list().is_empty(), "{} has no case", path.display());
        file
    }

    /// Changes the document before its cases run.
    #[must_use]
    pub fn map(mut self, change: impl FnOnce(&mut Value)) -> Self {
        change(&mut self.document);
        self
    }

    /// The whole file.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// The cases in the order of the file.
    pub fn cases(&self) -> impl Iterator<Item = Case<'_>> {
        let shared = match &self.document {
            Value::Array(_) => &Value::Null,
            document => document,
        };
        self.list().iter().map(move |own| Case { shared, own })
    }

    /// Compares the result of each case with what the case has in `field`.
    ///
    /// # Panics
    ///
    /// If a case differs, or has no text in `row` or `name`.
    pub fn results(&self, field: &str, judge: impl Fn(Case<'_>) -> Value) {
        self.check(|case| {
            let is_named = case["row"].is_string() && case["name"].is_string();
            assert!(is_named, "a case names its row and itself: {}", case.own);
            same(&case[field], &judge(case))
        });
    }

    /// Runs each case.
    ///
    /// # Panics
    ///
    /// If one fails, after all have run, with the reasons of all that failed.
    pub fn check(&self, check: impl Fn(Case<'_>) -> Result<(), String>) {
        let failed: Vec<String> = self
            .cases()
            .enumerate()
            .filter_map(|(at, case)| Some((at, case, check(case).err()?)))
            .map(|(at, case, why)| format!("case {at} {}\n{why}", label(case.own)))
            .collect();
        assert!(
            failed.is_empty(),
            "{} of {} fail in {}:\n{}",
            failed.len(),
            self.list().len(),
            self.path.display(),
            failed.join("\n")
        );
    }

    fn list(&self) -> &[Value] {
        let cases = self.document.get("cases").unwrap_or(&self.document);
        let cases = cases.as_array().map(Vec::as_slice);
        cases.unwrap_or_else(|| panic!("{} has no list of cases", self.path.display()))
    }
}

/// `Ok` if two values are equal, otherwise both of them.
pub fn same(expected: &Value, actual: &Value) -> Result<(), String> {
    if expected == actual {
        return Ok(());
    }
    Err(format!("  expected {expected}\n  actual   {actual}"))
}

/// The row and the name of a case, as far as it has them.
fn label(case: &Value) -> String {
    let fields = ["row", "name", "case", "path", "request"];
    let found = fields.iter().filter_map(|field| case[field].as_str());
    found.collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::with_suffix(".yaml").expect("a file can be made");
        std::fs::write(file.path(), text).expect("it can be written");
        file
    }

    #[test]
    #[should_panic(expected = "has no case")]
    fn a_file_without_cases_is_a_failure() {
        CaseFile::at(file("base: 1\ncases: []\n").path());
    }

    #[test]
    fn cases_see_what_their_file_shares() {
        let file = file("base: 1\ncases: [{row: r, name: a, result: 1}]\n");
        CaseFile::at(file.path()).results("result", |case| case.shared["base"].clone());
    }

    #[test]
    #[should_panic(expected = "1 of 2 fail")]
    fn a_case_that_differs_is_a_failure() {
        let file = file("- {row: r, name: a, result: 1}\n- {row: r, name: b, result: 2}\n");
        CaseFile::at(file.path()).results("result", |_| 1.into());
    }
}
