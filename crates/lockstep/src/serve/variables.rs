//! Flags of the server as they are in force, and the environment variables that set them.

use clap::{ArgMatches, parser::ValueSource};
use lockstep_featuregate::suggestion;

/// Text shown instead of flag values that must not be shown, such as URLs with a user name and password.
const CLASSIFIED: &str = "CLASSIFIED";

/// A flag as it is in force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ShownFlag {
    pub(crate) name: String,
    pub(crate) value: String,
    /// `flag`, `env` or `default`.
    pub(crate) source: &'static str,
}

/// Every flag of `serve`, by name. An address with a password is not shown.
pub(crate) fn shown_flags(commands: &clap::Command, matches: &ArgMatches) -> Vec<ShownFlag> {
    let Some(("serve", matches)) = matches.subcommand() else {
        return Vec::new();
    };
    let command = commands.find_subcommand("serve");
    let arguments = command.into_iter().flat_map(clap::Command::get_arguments);
    let mut shown: Vec<ShownFlag> = arguments
        .filter_map(|argument| {
            let id = argument.get_id().as_str();
            let values = matches.try_get_raw(id).ok()?.into_iter().flatten();
            let texts: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
            Some(ShownFlag {
                name: argument.get_long()?.to_owned(),
                value: masked(texts.join(",")),
                source: match matches.value_source(id) {
                    Some(ValueSource::CommandLine) => "flag",
                    Some(ValueSource::EnvVariable) => "env",
                    _ => "default",
                },
            })
        })
        .collect();
    shown.sort_by(|a, b| a.name.cmp(&b.name));
    shown
}

/// Gives every flag of the server a variable: `--data-dir` is `LOCKSTEP_DATA_DIR`. Gates have
/// variables with rules of their own.
pub(crate) fn with_variables(serve: clap::Command) -> clap::Command {
    serve.mut_args(|argument| match argument.get_long() {
        None | Some("feature-gates" | "print-config") => argument,
        Some(name) => {
            let variable = variable(name);
            argument.env(variable).hide_env(true)
        }
    })
}

/// The environment variable of a flag.
pub(crate) fn variable(flag: &str) -> String {
    format!("LOCKSTEP_{}", flag.replace('-', "_").to_uppercase())
}

/// Environment variables that look like those of flags and are not, each with the one that it looks like.
pub(crate) fn misspelt_variables(
    set: impl Iterator<Item = String>,
    flags: &[ShownFlag],
) -> Vec<(String, String)> {
    let known: Vec<String> = flags.iter().map(|flag| variable(&flag.name)).collect();
    let unknown = set.filter(|name| name.starts_with("LOCKSTEP_") && !known.contains(name));
    let pairs = unknown.filter_map(|name| {
        let meant = suggestion(&name, known.iter().map(String::as_str))?.to_owned();
        Some((name, meant))
    });
    pairs.collect()
}

fn masked(value: String) -> String {
    let has_user = value
        .split_once("://")
        .is_some_and(|(_, rest)| rest.contains('@'));
    if has_user {
        CLASSIFIED.to_owned()
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_variable_is_named_with_the_one_that_was_meant() {
        let flag = |name: &str| ShownFlag {
            name: name.to_owned(),
            value: String::new(),
            source: "default",
        };
        let flags = [flag("secure-port"), flag("data-dir")];
        // The others are right, of a service account's pod, and of no flag at all.
        let set = [
            "LOCKSTEP_SECURE_PROT",
            "LOCKSTEP_DATA_DIR",
            "LOCKSTEP_SERVICE_HOST",
            "PATH",
        ];
        let found = misspelt_variables(set.map(str::to_owned).into_iter(), &flags);
        let meant = "LOCKSTEP_SECURE_PORT".to_owned();
        assert_eq!(found, [("LOCKSTEP_SECURE_PROT".to_owned(), meant)]);
    }
}
