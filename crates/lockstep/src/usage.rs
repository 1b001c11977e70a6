//! Help texts and usage errors of the argument parser.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::{
    failure::{Exit, Failure},
    output, serve,
};

/// Prints help that was asked for; any other message of the parser is a usage error with this exit code.
pub(crate) fn report(
    error: &clap::Error,
    exit: Exit,
    arguments: &[OsString],
) -> Result<Exit, Failure> {
    let asked = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    if asked {
        output::data(&format!(
            "{}\n",
            error.render().ansi().to_string().trim_end()
        ));
        return Ok(Exit::Yes);
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        output::tell(&error.render().ansi().to_string());
        return Ok(exit);
    }
    let text = error.render().to_string();
    let text = text
        .strip_prefix("error: ")
        .unwrap_or(&text)
        .trim_end()
        .to_owned();
    Err(Failure {
        exit,
        message: text,
        causes: Vec::new(),
        help: variable_at_fault(error, arguments)
            .map(|variable| format!("the value is that of the environment variable `{variable}`")),
    })
}

/// The environment variable that a wrong value comes from: the one of a flag that was not given.
fn variable_at_fault(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let ContextValue::String(argument) = error.get(ContextKind::InvalidArg)? else {
        return None;
    };
    let flag = argument.split([' ', '=', '[']).next()?;
    let is_given = |given: &OsString| {
        let given = given.to_string_lossy();
        let rest = given.strip_prefix(flag);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    if arguments.iter().any(is_given) {
        return None;
    }
    let variable = serve::variable(flag.strip_prefix("--")?);
    std::env::var_os(&variable).map(|_| variable)
}
