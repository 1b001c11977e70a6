//! The cases of `lockstep-admission`, through the library.

use std::path::{Path, PathBuf};

use lockstep_object::yaml;
use lockstep_write::offline::policies::cases;

/// Every case file in a folder and the folders in it, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn check(path: &Path) -> Vec<String> {
    let text = std::fs::read(path).expect("the file can be read");
    let case = yaml::decode(&text).map(|document| document.value);
    let case = match case {
        Ok(case) => case,
        Err(error) => return vec![error.to_string()],
    };
    cases::run(&case).unwrap_or_else(|error| vec![error.to_string()])
}

/// mutating-admission.md §5, §9: every row as a case.
#[test]
fn every_case_ends_as_it_says() {
    let folder = Path::new("../lockstep-admission/tests/cases");
    let files = files(folder);
    assert!(!files.is_empty(), "there are no cases");
    let failed: Vec<String> = files
        .iter()
        .filter_map(|path| {
            let problems = check(path);
            let path = path.strip_prefix(folder).unwrap_or(path);
            (!problems.is_empty())
                .then(|| format!("{}\n  {}", path.display(), problems.join("\n  ")))
        })
        .collect();
    let (failed_count, total) = (failed.len(), files.len());
    assert!(
        failed.is_empty(),
        "{failed_count} of {total} cases fail:\n{}",
        failed.join("\n")
    );
}
