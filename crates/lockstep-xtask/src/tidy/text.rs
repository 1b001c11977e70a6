//! Text that no file may hold: places on one machine, hosts of package registries, and
//! words that say nothing.

use super::SourceFile;
use super::finding::Finding;

/// Home folders and the like. Each is written in two parts, so this file passes its own check.
const MACHINE_PATHS: [&str; 5] = [
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("C:\\Us", "ers\\"),
];

/// Where packages come from is the business of each machine's own configuration.
const REGISTRY_HOSTS: [&str; 6] = [
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("registry.npm", "js.org"),
    concat!("deb.deb", "ian.org"),
    concat!("registry.yarn", "pkg.com"),
];

/// Cargo writes the address of the public index into each entry.
const LOCKFILE: &str = "Cargo.lock";

/// Phrases that do not belong in prose, and what to do instead.
struct Phrases {
    phrases: &'static [&'static str],
    instead: &'static str,
}

const PROSE: &[Phrases] = &[
    Phrases {
        phrases: &[
            "robust",
            "production-ready",
            "comprehensive",
            "world-class",
            "blazing",
        ],
        instead: "state a fact or a number",
    },
    Phrases {
        phrases: &["for now", "todo", "xxx", "placeholder", "wip"],
        instead: "finish it, or refuse the input with a clear error",
    },
    Phrases {
        phrases: &["as requested", "per the brief"],
        instead: "say what the code does and why, not how it came about",
    },
];

/// Pictures among the letters.
const EMOJI: [std::ops::RangeInclusive<char>; 3] = [
    '\u{1f300}'..='\u{1faff}',
    '\u{2705}'..='\u{2705}',
    '\u{274c}'..='\u{274c}',
];

/// Every finding of this module, line by line.
pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    let lines = file.text.lines().enumerate();
    lines
        .flat_map(|(index, line)| check_line(file, index + 1, line))
        .collect()
}

fn check_line(file: &SourceFile, number: usize, line: &str) -> Vec<Finding> {
    let problem = |what: String, remedy: &str| Finding::problem(&file.path, number, what, remedy);
    let mut findings = Vec::new();
    for path in MACHINE_PATHS
        .into_iter()
        .filter(|path| starts_a_path(line, path))
    {
        let remedy = "tell it from the root of the repository";
        findings.push(problem(
            format!("`{path}…` is a place on one machine"),
            remedy,
        ));
    }
    let hosts = REGISTRY_HOSTS
        .into_iter()
        .filter(|host| line.contains(host));
    for host in hosts.filter(|_| file.path != LOCKFILE) {
        let remedy = "leave it to the configuration of the package tool";
        findings.push(problem(format!("`{host}` is a registry's host"), remedy));
    }
    let prose = prose_of(file, line);
    for row in PROSE {
        for phrase in row
            .phrases
            .iter()
            .filter(|phrase| has_phrase(prose, phrase))
        {
            findings.push(problem(format!("says `{phrase}`"), row.instead));
        }
    }
    if prose
        .chars()
        .any(|c| EMOJI.iter().any(|range| range.contains(&c)))
    {
        findings.push(problem("has an emoji".to_owned(), "use a word"));
    }
    findings
}

/// The part of a line that speaks to people: all of a document, the comments of code.
fn prose_of<'a>(file: &SourceFile, line: &'a str) -> &'a str {
    let mark = match file.path.rsplit_once('.') {
        Some((_, "md")) => return line,
        Some((_, "rs" | "ts" | "js" | "svelte")) => "//",
        Some((_, "toml" | "yaml" | "yml" | "sh")) => "#",
        _ => return "",
    };
    line.split_once(mark).map_or("", |(_, comment)| comment)
}

/// Whether `path` stands in `line` as the start of an absolute path, not as part of a longer one.
fn starts_a_path(line: &str, path: &str) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || "._-/~*}>)$".contains(c);
    line.match_indices(path)
        .any(|(at, _)| !line[..at].ends_with(is_inner))
}

fn has_phrase(prose: &str, phrase: &str) -> bool {
    let lower = prose.to_lowercase();
    let is_inner = |c: char| c.is_alphanumeric() || c == '_';
    lower.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (&lower[..at], &lower[at + phrase.len()..]);
        !before.ends_with(is_inner) && !after.starts_with(is_inner)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{file, shown};

    fn check_text(path: &str, text: &str) -> Vec<String> {
        shown(check(&file(path, text)))
    }

    #[test]
    fn a_place_on_one_machine_is_found_in_any_file() {
        for path in MACHINE_PATHS {
            assert_eq!(
                check_text("a.yaml", &format!("x\nfile: {path}me/x\n")),
                [format!(
                    "a.yaml:2: `{path}…` is a place on one machine; tell it from the root of the \
                     repository"
                )]
            );
        }
    }

    #[test]
    fn a_path_inside_the_tree_is_no_place_on_a_machine() {
        for path in MACHINE_PATHS {
            assert_eq!(
                check_text("a.md", &format!("docs{path}x and ..{path}x")),
                [""; 0]
            );
        }
    }

    #[test]
    fn a_registry_host_is_found_except_in_the_lockfile() {
        for host in REGISTRY_HOSTS {
            let text = format!("url = \"https://index.{host}/x\"\n");
            assert_eq!(
                check_text("a.toml", &text),
                [format!(
                    "a.toml:1: `{host}` is a registry's host; leave it to the configuration of the \
                     package tool"
                )]
            );
            assert_eq!(check_text(LOCKFILE, &text), [""; 0]);
        }
    }

    #[test]
    fn every_phrase_of_the_table_is_found_in_prose() {
        for Phrases { phrases, instead } in PROSE {
            for phrase in *phrases {
                let expected = [format!("a.md:1: says `{phrase}`; {instead}")];
                assert_eq!(check_text("a.md", &format!("It is {phrase}.")), expected);
                assert_eq!(check_text("a.md", &phrase.to_uppercase()), [&*expected[0]]);
                let in_code = format!("let a = 1; // {phrase}, so");
                assert_eq!(check_text("a.rs", &in_code).len(), 1, "{phrase}");
                assert_eq!(
                    check_text("a.toml", &format!("a = 1 # {phrase}")).len(),
                    1,
                    "{phrase}"
                );
            }
        }
    }

    #[test]
    fn code_data_and_longer_words_may_hold_a_phrase() {
        for Phrases { phrases, .. } in PROSE {
            for phrase in *phrases {
                assert_eq!(
                    check_text("a.rs", &format!("let a = \"{phrase}\";")),
                    [""; 0]
                );
                assert_eq!(check_text("a.json", phrase), [""; 0]);
                assert_eq!(check_text("a.md", &format!("{phrase}ly")), [""; 0]);
                assert_eq!(check_text("a.md", &format!("un{phrase}")), [""; 0]);
            }
        }
    }

    #[test]
    fn an_emoji_is_found_in_prose_alone() {
        assert_eq!(
            check_text("a.md", "done \u{2705}"),
            ["a.md:1: has an emoji; use a word"]
        );
        assert_eq!(
            check_text("a.md", "\u{1f680}"),
            ["a.md:1: has an emoji; use a word"]
        );
        assert_eq!(check_text("a.rs", "let a = \"\u{1f680}\";"), [""; 0]);
        assert_eq!(check_text("a.md", "a → b … 2 §"), [""; 0]);
    }
}
