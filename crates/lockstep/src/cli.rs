//! The commands, and which file answers each.

use std::ffi::OsString;

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    cel, completion, crd, dropin, envtest,
    failure::{Exit, Failure},
    features, output, policy, run, serve, store, usage, version,
};

/// A Kubernetes-compatible control plane in one binary, built for safe change
#[derive(Debug, Parser)]
#[command(
    name = "lockstep",
    disable_version_flag = true,
    arg_required_else_help = true
)]
#[command(
    after_help = "Examples:\n  lockstep serve --data-dir ./lockstep-data\n  lockstep features list\n  lockstep features check --to 1.37 \
    --feature-gates WatchList=false"
)]
struct Cli {
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
    /// Print data only
    #[arg(long, short, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run, check and price expressions of the Common Expression Language
    #[command(subcommand)]
    Cel(cel::Command),
    /// List, switch and check field gates of custom resource definitions
    #[command(subcommand)]
    Crd(crd::Command),
    /// List and explain feature gates, and what changes with an upgrade
    #[command(subcommand)]
    Features(features::Command),
    /// Evaluate and test admission policies without a cluster
    #[command(subcommand)]
    Policy(policy::Command),
    /// Run the API server
    Serve(Box<serve::Arguments>),
    /// Run a command with an API server of its own
    Run(run::Arguments),
    /// Stand in for the kube-apiserver and etcd of controller-runtime's envtest
    #[command(subcommand)]
    Envtest(envtest::Command),
    /// Serve a store on a directory to etcd's clients, or look into one
    Store(store::Arguments),
    /// Serve the dashboard of a server, with the rights of the user in the kubeconfig
    #[cfg(feature = "dashboard")]
    Dashboard(crate::dashboard::Arguments),
    /// Write the completion script of a shell to standard output
    Completion(completion::Arguments),
    /// Show the versions of this binary
    Version(version::Arguments),
}

/// Parses the arguments and runs the command they name.
pub(crate) fn run(arguments: Vec<OsString>) -> Result<Exit, Failure> {
    let (arguments, notes) = match dropin::read(arguments)? {
        dropin::Call::Run { arguments, notes } => (arguments, notes),
        dropin::Call::Say(text) => {
            output::data(&text);
            return Ok(Exit::Yes);
        }
    };
    let arguments = store::with_two_dashes(arguments);
    let serves = arguments.get(1).is_some_and(|name| name == "serve");
    let usage_exit = if serves || store::serves(&arguments) {
        Exit::ServerFlags
    } else {
        Exit::BadInput
    };
    let matches = match command().try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) => return usage::report(&error, usage_exit, &arguments),
    };
    let cli = Cli::from_arg_matches(&matches).expect("clap checked these arguments");
    choose_color(cli.color);
    match cli.command {
        Command::Cel(command) => cel::run(command),
        Command::Crd(command) => crd::run(command, cli.quiet),
        Command::Features(command) => features::run(command, cli.quiet),
        Command::Policy(command) => policy::run(&command, cli.quiet),
        Command::Serve(arguments) => {
            let words = if cli.quiet {
                serve::Words::None
            } else {
                serve::Words::All
            };
            serve::run(
                &arguments,
                serve::shown_flags(&command(), &matches),
                words,
                &notes,
            )
        }
        Command::Run(arguments) => run::run(&arguments, cli.quiet),
        Command::Envtest(command) => envtest::run(&command),
        Command::Store(arguments) => store::run(arguments, cli.quiet),
        #[cfg(feature = "dashboard")]
        Command::Dashboard(arguments) => crate::dashboard::run(&arguments),
        Command::Completion(arguments) => Ok(completion::run(&arguments, &mut command())),
        Command::Version(arguments) => Ok(version::run(&arguments)),
    }
}

/// The whole tree of commands, for parsing, help and completion.
fn command() -> clap::Command {
    let command = Cli::command().mut_subcommand("serve", |serve| {
        let serve = serve.mut_arg("feature_gates", |flag| flag.help(serve::gates_help()));
        serve::with_variables(serve)
    });
    examples_first(command)
}

/// Help begins with what it is and examples to paste; flags come after them.
fn examples_first(command: clap::Command) -> clap::Command {
    let template = "{about}{after-help}\n\n{usage-heading} {usage}\n\n{all-args}\n";
    let command = if command.get_after_help().is_some() {
        command.help_template(template)
    } else {
        command
    };
    command.mut_subcommands(examples_first)
}

fn choose_color(choice: ColorChoice) {
    let choice = match choice {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}
