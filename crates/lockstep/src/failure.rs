//! Exit codes of commands, and the single place that prints errors.

use std::{fmt::Write, process::ExitCode};

use serde_json::json;

use crate::output::{self, Format};

/// The exit codes of tools and servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// Yes, done, clean.
    Yes,
    /// The answer is no.
    No,
    /// Wrong use or broken input.
    BadInput,
    /// A server cannot be reached.
    Unreachable,
    /// The server does not let us.
    NotAllowed,
    /// A server would refuse to start with these flags.
    ServerFlags,
    /// Stored data cannot be used by the server.
    Data,
    /// A server cannot use its directory, its addresses or its disk.
    ServerIo,
    /// Our own bug.
    Bug,
    /// Another server has the directory.
    InUse,
    /// A configured file or address cannot be used.
    Configuration,
    /// Stopped by SIGINT.
    Interrupted,
    /// Stopped by SIGTERM.
    Terminated,
    /// Exit status of the command that `lockstep run` executed.
    OfCommand(u8),
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Exit::Yes => 0,
            Exit::No => 1,
            Exit::BadInput => 2,
            Exit::Unreachable => 3,
            Exit::NotAllowed => 4,
            Exit::ServerFlags => 64,
            Exit::Data => 65,
            Exit::ServerIo => 74,
            Exit::Bug => 70,
            Exit::InUse => 73,
            Exit::Configuration => 78,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
            Exit::OfCommand(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

/// Why a command could not answer.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// Error and its location, in lower case without a full stop.
    pub(crate) message: String,
    /// Each single cause, when there are several.
    pub(crate) causes: Vec<String>,
    /// Hint for the user on fixing the error.
    pub(crate) help: Option<String>,
}

impl Failure {
    pub(crate) fn bad_input(message: impl Into<String>) -> Self {
        let (causes, help) = (Vec::new(), None);
        Self {
            exit: Exit::BadInput,
            message: message.into(),
            causes,
            help,
        }
    }

    /// A server that cannot start.
    pub(crate) fn of_server(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            ..Self::bad_input(message)
        }
    }

    /// All causes at once, as `[a, b]` when there are several.
    pub(crate) fn of_causes(
        exit: Exit,
        message: &dyn std::fmt::Display,
        causes: Vec<String>,
    ) -> Self {
        Self {
            exit,
            message: message.to_string(),
            causes,
            help: None,
        }
    }

    #[must_use]
    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Writes the error to stderr: lines for people, or a `Status` for programs.
    pub(crate) fn report(&self, format: Format) -> Exit {
        let text = match format {
            Format::Table => self.as_lines(),
            Format::Json | Format::Yaml => format.render(&self.as_status()),
        };
        output::tell(&text);
        self.exit
    }

    fn as_lines(&self) -> String {
        let red = anstyle::AnsiColor::Red.on_default().bold();
        let mut lines = format!("{red}error{red:#}: {}\n", self.message);
        if let Some(help) = &self.help {
            writeln!(lines, "help: {help}").expect("writing to a String");
        }
        lines
    }

    fn as_status(&self) -> serde_json::Value {
        let causes = if self.causes.is_empty() {
            std::slice::from_ref(&self.message)
        } else {
            &self.causes
        };
        let causes: Vec<_> = causes
            .iter()
            .map(|cause| json!({ "message": cause }))
            .collect();
        let mut status = json!({
            "apiVersion": "v1",
            "kind": "Status",
            "metadata": {},
            "status": "Failure",
            "reason": "BadRequest",
            "code": 400,
            "message": self.message,
            "details": { "causes": causes },
        });
        if let Some(help) = &self.help {
            status["details"]["help"] = json!(help);
        }
        status
    }
}

/// A panic is our bug: say what to attach to a report, once, and nothing else.
pub(crate) fn explain_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        let payload = panic.payload();
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let what = text
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        let arguments: Vec<String> = std::env::args().skip(1).take(2).collect();
        output::tell(&format!(
            "error: a bug in lockstep stopped it: {what}\n\
             help: please report it with this text, `lockstep version`, and the input: \
             {place}, in `lockstep {}`\n",
            arguments.join(" ")
        ));
        if std::env::var_os("RUST_BACKTRACE").is_some() {
            output::tell(&format!("{}\n", std::backtrace::Backtrace::force_capture()));
        }
    }));
}
