//! The flags of etcd: which there are, and what becomes of each. One row a flag.

use std::collections::BTreeMap;

use clap::{Arg, ArgAction, ArgMatches, parser::ValueSource};

/// One flag.
pub(super) struct Flag {
    /// Without its dashes; also its key in a configuration file.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) effect: Effect,
    help: &'static str,
}

/// Type of a flag's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Text,
    /// `true` if it stands alone.
    Switch,
    /// As Go writes it; a number of nanoseconds in a file.
    Duration,
}

/// Level of support for an etcd flag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    /// Works as in etcd.
    Honoured,
    /// Accepted without effect, with the reason why that is harmless. Its use is logged as a warning.
    None(&'static str),
    /// It cannot be ignored, so it is refused, and why, unless it says what holds anyway.
    Refused {
        unless: &'static [&'static str],
        why: &'static str,
    },
}

const fn used(name: &'static str, kind: Kind, help: &'static str) -> Flag {
    Flag {
        name,
        kind,
        effect: Effect::Honoured,
        help,
    }
}

const fn idle(name: &'static str, kind: Kind, why: &'static str) -> Flag {
    Flag {
        name,
        kind,
        effect: Effect::None(why),
        help: "Accepted for manifests that have it; has no effect here",
    }
}

const fn refused(
    name: &'static str,
    kind: Kind,
    unless: &'static [&'static str],
    why: &'static str,
) -> Flag {
    Flag {
        name,
        kind,
        effect: Effect::Refused { unless, why },
        help: why,
    }
}

use Kind::{Duration, Switch, Text};

const ONE_MEMBER: &str = "there is a single member";
const NO_AUTH: &str = "there is no authentication";
const NO_GATES: &str = "this store has no feature gates to set";
const OWN_LOG: &str = "the log is kept as long as the state needs it";

/// Every flag that is known.
pub(super) const FLAGS: &[Flag] = &[
    used("name", Text, "The name of this member [default: default]"),
    used("data-dir", Text, "The directory [default: NAME.etcd]"),
    used(
        "listen-client-urls",
        Text,
        "Where clients come in, with commas between [default: http://localhost:2379]",
    ),
    used(
        "advertise-client-urls",
        Text,
        "What clients are told [default: the URLs that are listened at]",
    ),
    used(
        "listen-client-http-urls",
        Text,
        "Where HTTP without gRPC comes in [default: where clients come in]",
    ),
    used(
        "listen-metrics-urls",
        Text,
        "Where health and metrics are served besides",
    ),
    used(
        "initial-advertise-peer-urls",
        Text,
        "The peer URLs of this member [default: http://localhost:2380]",
    ),
    used(
        "initial-cluster",
        Text,
        "The members, as NAME=URL; more than one is refused",
    ),
    used(
        "initial-cluster-token",
        Text,
        "Tells clusters apart [default: etcd-cluster]",
    ),
    used(
        "election-timeout",
        Text,
        "In milliseconds; leases live at least one and a half times as long [default: 1000]",
    ),
    used(
        "quota-backend-bytes",
        Text,
        "The most bytes of the state; 0 is 2 GiB, negative is without end [default: 0]",
    ),
    used(
        "emulated-version",
        Text,
        "The release line of etcd that clients meet, 3.4 to 3.7 [default: 3.7]",
    ),
    used(
        "max-txn-ops",
        Text,
        "The most operations of a transaction [default: 128]",
    ),
    used(
        "max-request-bytes",
        Text,
        "The most bytes of a request [default: 1572864]",
    ),
    used(
        "max-concurrent-streams",
        Text,
        "The most streams of a connection [default: without end]",
    ),
    used(
        "auto-compaction-mode",
        Text,
        "periodic or revision [default: periodic]",
    ),
    used(
        "auto-compaction-retention",
        Text,
        "A duration, hours, or revisions to keep; 0 keeps all [default: 0]",
    ),
    used(
        "watch-progress-notify-interval",
        Duration,
        "How often watchers are told their progress [default: 10m]",
    ),
    used(
        "grpc-keepalive-min-time",
        Duration,
        "How long clients wait between pings; who does not is cut off, 0 lets them [default: 5s]",
    ),
    used(
        "grpc-keepalive-interval",
        Duration,
        "How often an idle connection is asked whether it is there [default: 2h]",
    ),
    used(
        "grpc-keepalive-timeout",
        Duration,
        "How long the answer may take [default: 20s]",
    ),
    used(
        "warning-apply-duration",
        Duration,
        "From how long on a write counts as slow, in metrics [default: 100ms]",
    ),
    used(
        "enable-grpc-gateway",
        Switch,
        "Whether those who speak JSON are served [default: true]",
    ),
    used("cert-file", Text, "The certificate of the server"),
    used("key-file", Text, "The key of the certificate"),
    used("client-cert-auth", Switch, "Clients need a certificate"),
    used(
        "trusted-ca-file",
        Text,
        "The authorities of clients' certificates",
    ),
    used(
        "client-crl-file",
        Text,
        "Certificates of clients that are no longer good",
    ),
    used(
        "unsafe-no-fsync",
        Switch,
        "Do not wait for the disk: a loss of power loses writes",
    ),
    used(
        "config-file",
        Text,
        "A YAML file with all of these; other flags and variables are then ignored",
    ),
    used(
        "log-level",
        Text,
        "debug, info, warn or error [default: info]",
    ),
    used("log-format", Text, "json or console [default: json]"),
    used(
        "log-outputs",
        Text,
        "default, stderr, stdout or a file [default: default]",
    ),
    refused(
        "initial-cluster-state",
        Text,
        &["new"],
        "a single member has no cluster to join",
    ),
    refused(
        "force-new-cluster",
        Switch,
        &["false"],
        "a single member has no others to forget",
    ),
    refused(
        "auto-tls",
        Switch,
        &["false"],
        "no certificates are made here; give --cert-file and --key-file",
    ),
    refused(
        "client-cert-allowed-hostname",
        Text,
        &[""],
        "the names in clients' certificates are not looked at",
    ),
    refused(
        "tls-min-version",
        Text,
        &["", "TLS1.2"],
        "TLS 1.2 and 1.3 are always offered",
    ),
    refused(
        "tls-max-version",
        Text,
        &["", "TLS1.3"],
        "TLS 1.2 and 1.3 are always offered",
    ),
    refused(
        "cipher-suites",
        Text,
        &[""],
        "the suites of the TLS library are offered, and cannot be chosen",
    ),
    refused(
        "cors",
        Text,
        &["", "*"],
        "which web pages may ask cannot be chosen",
    ),
    refused(
        "host-whitelist",
        Text,
        &["", "*"],
        "the host that a request names is not looked at",
    ),
    refused("feature-gates", Text, &[""], NO_GATES),
    refused("cluster-feature-gates", Text, &[""], NO_GATES),
    idle("listen-peer-urls", Text, ONE_MEMBER),
    idle("heartbeat-interval", Text, ONE_MEMBER),
    idle("initial-election-tick-advance", Switch, ONE_MEMBER),
    idle("strict-reconfig-check", Switch, ONE_MEMBER),
    idle("pre-vote", Switch, ONE_MEMBER),
    idle("max-learners", Text, ONE_MEMBER),
    idle("peer-cert-file", Text, ONE_MEMBER),
    idle("peer-key-file", Text, ONE_MEMBER),
    idle("peer-client-cert-auth", Switch, ONE_MEMBER),
    idle("peer-trusted-ca-file", Text, ONE_MEMBER),
    idle("peer-crl-file", Text, ONE_MEMBER),
    idle("peer-auto-tls", Switch, ONE_MEMBER),
    idle("peer-cert-allowed-cn", Text, ONE_MEMBER),
    idle("peer-cert-allowed-hostname", Text, ONE_MEMBER),
    idle("corrupt-check-time", Duration, ONE_MEMBER),
    idle("compact-hash-check-time", Duration, ONE_MEMBER),
    idle("initial-corrupt-check", Switch, ONE_MEMBER),
    idle("experimental-initial-corrupt-check", Switch, ONE_MEMBER),
    idle("experimental-corrupt-check-time", Duration, ONE_MEMBER),
    idle("downgrade-check-time", Duration, ONE_MEMBER),
    idle("lease-checkpoint-interval", Duration, ONE_MEMBER),
    idle("snapshot-count", Text, OWN_LOG),
    idle("snapshot-catchup-entries", Text, OWN_LOG),
    idle("max-snapshots", Text, OWN_LOG),
    idle("max-wals", Text, OWN_LOG),
    idle("wal-dir", Text, "the log is in the directory of the data"),
    idle(
        "backend-batch-interval",
        Duration,
        "the state is committed about once a second",
    ),
    idle(
        "backend-batch-limit",
        Text,
        "the state is committed about once a second",
    ),
    idle("auth-token", Text, NO_AUTH),
    idle("auth-token-ttl", Text, NO_AUTH),
    idle("bcrypt-cost", Text, NO_AUTH),
    idle("enable-pprof", Switch, "there are no profiles to serve"),
    idle("enable-v2", Switch, "there is no v2 API"),
    idle("metrics", Text, "all metrics are always served"),
    idle("logger", Text, "there is one logger"),
    idle(
        "experimental-watch-progress-notify-interval",
        Duration,
        "use --watch-progress-notify-interval",
    ),
];

/// The flags and variables that were given, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Given {
    pub(super) values: BTreeMap<&'static str, String>,
}

impl clap::Args for Given {
    fn augment_args(command: clap::Command) -> clap::Command {
        FLAGS
            .iter()
            .fold(command, |command, flag| command.arg(argument(flag)))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Self::default();
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for flag in FLAGS {
            let is_given = matches.value_source(flag.name) > Some(ValueSource::DefaultValue);
            let value = matches.get_one::<String>(flag.name).filter(|_| is_given);
            if let Some(value) = value {
                self.values.insert(flag.name, value.clone());
            }
        }
        Ok(())
    }
}

fn argument(flag: &'static Flag) -> Arg {
    let argument = Arg::new(flag.name)
        .long(flag.name)
        .env(format!(
            "ETCD_{}",
            flag.name.replace('-', "_").to_uppercase()
        ))
        .hide_env(true)
        .help(flag.help)
        .action(ArgAction::Set)
        .hide(matches!(flag.effect, Effect::None(_)));
    let argument = match flag.effect {
        Effect::Refused { .. } => argument.help_heading("Refused, since they cannot be ignored"),
        Effect::Honoured | Effect::None(_) => argument,
    };
    match flag.kind {
        Kind::Switch => argument
            .num_args(0..=1)
            .require_equals(true)
            .value_name("BOOL")
            .default_missing_value("true"),
        Kind::Text => argument.value_name("VALUE"),
        Kind::Duration => argument.value_name("DURATION"),
    }
}
