//! Help texts and usage errors of the argument parser.

use clap::error::ErrorKind;

use crate::{
    failure::{Exit, Failure},
    output,
};

/// Prints help that was asked for; any other message of the parser is a usage error with this exit code.
pub(crate) fn report(error: &clap::Error, exit: Exit) -> Result<Exit, Failure> {
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
        help: None,
    })
}
