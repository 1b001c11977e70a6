//! `--dry-run`, as kubectl has it.

use clap::ValueEnum;

/// kubectl's `--dry-run` strategies: write, send nothing, or let the server process the request without storing it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum DryRun {
    None,
    Client,
    Server,
}

#[derive(Debug, clap::Args)]
pub(super) struct Flag {
    /// Change nothing: `server` sends the request as a dry run, `client` sends nothing
    #[arg(
        long,
        value_name = "HOW",
        default_value = "none",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "server"
    )]
    pub(super) dry_run: DryRun,
}

impl DryRun {
    /// Query parameter of the strategy, to be appended to the URL of a write.
    pub(super) fn query(self) -> &'static str {
        match self {
            Self::None | Self::Client => "",
            Self::Server => "&dryRun=All",
        }
    }

    /// Suffix of the result line of a write, worded as in kubectl.
    pub(super) fn remark(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Client => " (dry run)",
            Self::Server => " (server dry run)",
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}
