//! The flags of kube-apiserver, in the words of `lockstep serve`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use super::table::{self, Fate, Flag};
use super::{Call, called};
use crate::failure::{Exit, Failure};

const TABLE: &str = include_str!("kube-apiserver.txt");
/// Default of kube-apiserver's `--cert-dir`.
const CERT_DIR: &str = "/var/run/kubernetes";
/// Subdirectory of `--cert-dir` for the server's data; the directory itself may also hold the user's certificates.
const OWN_DIR: &str = "lockstep";

/// Admission plugin that assigns a service account to pods.
const ACCOUNTS: &str = "ServiceAccount";
/// Value of `--controllers` without the controllers whose objects that plugin needs.
const WITHOUT_ACCOUNTS: &str =
    "*,-serviceaccount-controller,-root-ca-certificate-publisher-controller";

/// Grace period before the content of a deleted namespace is removed: suites delete a namespace and finalize it
/// themselves in the next request, since a bare kube-apiserver never would.
const NAMESPACE_GRACE: &str = "200ms";

/// Flag from the command line.
struct Given {
    flag: Flag,
    value: String,
}

pub(super) fn read(arguments: &[OsString]) -> Result<Call, Failure> {
    let table = table::read(TABLE).expect("the table is checked by a test");
    let words: Option<Vec<&str>> = arguments.iter().map(|word| word.to_str()).collect();
    let words = words.ok_or_else(|| refused("an argument is not UTF-8"))?;
    if words.iter().any(|word| matches!(*word, "--help" | "-h")) {
        return Ok(Call::Say(help(&table)));
    }
    let asks_version = |word: &&str| {
        *word == "--version" || word.starts_with("--version=") && !word.ends_with("=false")
    };
    if words.iter().any(asks_version) {
        return Ok(Call::Say(format!(
            "Kubernetes {}\n",
            lockstep_apiserver::version::git_version()
        )));
    }
    translate(&parse(&words, &table)?)
}

fn refused(message: impl Into<String>) -> Failure {
    let failure = Failure::of_server(Exit::ServerFlags, message);
    failure.with_help("`kube-apiserver --help` lists the flags and what becomes of each")
}

/// Splits words into flags as kube-apiserver does: underscores are dashes, a value follows after `=`
/// or as the next word, and a switch takes none without `=`.
fn parse(words: &[&str], table: &[Flag]) -> Result<Vec<Given>, Failure> {
    let mut given = Vec::new();
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let name = match word.strip_prefix("--") {
            Some(name) => name.to_owned(),
            None => match word.strip_prefix("-v") {
                Some("") => "v".to_owned(),
                Some(level) => format!("v={}", level.trim_start_matches('=')),
                None if word.starts_with('-') => {
                    return Err(refused(format!("unknown flag: {word}")));
                }
                None => {
                    let message =
                        format!("`{word}` is not a flag; kube-apiserver takes flags alone");
                    return Err(refused(message));
                }
            },
        };
        let (name, value) = match name.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (name, None),
        };
        let name = name.replace('_', "-");
        let flag = table.iter().find(|flag| flag.name == name);
        let flag = flag.ok_or_else(|| refused(format!("unknown flag: --{name}")))?;
        let value = match value {
            Some(value) => value,
            None if flag.is_switch => "true".to_owned(),
            None => match words.next() {
                Some(&value) => value.to_owned(),
                None => return Err(refused(format!("flag needs a value: --{name}"))),
            },
        };
        given.push(Given {
            flag: flag.clone(),
            value,
        });
    }
    Ok(given)
}

fn translate(given: &[Given]) -> Result<Call, Failure> {
    let value_of = |name: &str| {
        let given = given.iter().rev().find(|given| given.flag.name == name);
        given.map(|given| given.value.as_str())
    };
    let mut flags = vec![store(value_of("etcd-servers"))?];
    let mut notes = Vec::new();
    for Given { flag, value } in given {
        let name = flag.name;
        match flag.fate {
            // A log without a policy has nothing to write.
            Fate::PassedOn
                if name == "audit-log-path" && value_of("audit-policy-file").is_none() =>
            {
                notes.push(format!(
                    "--{name} has no effect without --audit-policy-file"
                ));
            }
            Fate::PassedOn => flags.push(format!("--{name}={value}")),
            Fate::Translated => {}
            Fate::NoEffect(why) => notes.push(format!("--{name} has no effect: {why}")),
            Fate::Refused { unless, .. } if value == unless => {}
            Fate::Refused { why, .. } => {
                return Err(refused(format!("--{name} cannot be honoured: {why}")));
            }
        }
    }
    flags.extend(defaults(&value_of));
    Ok(Call::Run {
        arguments: called("serve", flags.into_iter().map(OsString::from)),
        notes,
    })
}

/// Where the objects are.
fn store(servers: Option<&str>) -> Result<String, Failure> {
    let servers = servers.filter(|servers| !servers.is_empty());
    let servers = servers.ok_or_else(|| refused("--etcd-servers must be specified"))?;
    let mut members = Vec::new();
    for server in servers.split(',') {
        let member = server
            .strip_prefix("http://")
            .or_else(|| server.strip_prefix("https://"))
            .unwrap_or(server);
        members.push(member.trim_end_matches('/'));
    }
    Ok(format!("--store=etcd://{}", members.join(",")))
}

/// Flags for the cases where kube-apiserver's defaults differ from those of `lockstep serve`.
fn defaults<'a>(value_of: &impl Fn(&str) -> Option<&'a str>) -> Vec<String> {
    let mut flags = vec![
        "--foreign-feature-gates=ignore".to_owned(),
        "--removed-feature-gates=warn".to_owned(),
    ];
    let certificates = value_of("cert-dir").filter(|folder| !folder.is_empty());
    let certificates = certificates.unwrap_or(CERT_DIR);
    let mut unless_given = |name: &str, value: &str| {
        if value_of(name).is_none() {
            flags.push(format!("--{name}={value}"));
        }
    };
    unless_given("namespace-deletion-grace", NAMESPACE_GRACE);
    unless_given("cert-dir", certificates);
    let own = Path::new(certificates).join(OWN_DIR);
    unless_given("data-dir", &own.to_string_lossy());
    unless_given("bind-address", "0.0.0.0");
    let everybody_may = value_of("authorization-mode").is_none_or(|modes| modes == "AlwaysAllow");
    unless_given("authorization-mode", "AlwaysAllow");
    if everybody_may {
        unless_given("anonymous-auth", "false");
    }
    let without = value_of("disable-admission-plugins").unwrap_or_default();
    // A suite that counts what it made does not expect more.
    if without.split(',').any(|plugin| plugin.trim() == ACCOUNTS) {
        unless_given("controllers", WITHOUT_ACCOUNTS);
    }
    flags
}

/// One line a flag, which begins with it: programs look there for what is supported.
fn help(table: &[Flag]) -> String {
    let mut text =
        "The API server of Lockstep, with the flags of kube-apiserver\n\nFlags:\n".to_owned();
    let mut flags: Vec<&Flag> = table.iter().collect();
    flags.sort_by_key(|flag| flag.name);
    let width = flags.iter().map(|flag| flag.name.len()).max().unwrap_or(0);
    for Flag { name, fate, .. } in flags {
        let becomes = match fate {
            Fate::PassedOn | Fate::Translated => "honoured".to_owned(),
            Fate::NoEffect(why) => format!("no effect: {why}"),
            Fate::Refused { why, .. } => format!("refused: {why}"),
        };
        writeln!(text, "      --{name:width$}  {becomes}").expect("writing to a String");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(words: &[&str]) -> Result<(Vec<String>, Vec<String>), String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        match read(&words) {
            Ok(Call::Run { arguments, notes }) => {
                let arguments = arguments.iter().skip(2);
                let texts = arguments.map(|word| word.to_string_lossy().into_owned());
                Ok((texts.collect(), notes))
            }
            Ok(Call::Say(text)) => Ok((vec![text], Vec::new())),
            Err(failure) => Err(failure.message),
        }
    }

    const DEFAULTS: [&str; 8] = [
        "--foreign-feature-gates=ignore",
        "--removed-feature-gates=warn",
        "--namespace-deletion-grace=200ms",
        "--cert-dir=/var/run/kubernetes",
        "--data-dir=/var/run/kubernetes/lockstep",
        "--bind-address=0.0.0.0",
        "--authorization-mode=AlwaysAllow",
        "--anonymous-auth=false",
    ];

    /// ux.md §3.1 E4: the flags of envtest. Controllers that create objects in namespaces are off, so a suite finds
    /// only the objects that it created.
    #[test]
    fn flags_of_envtest_are_honoured() {
        let (arguments, notes) = outcome(&[
            "--etcd-servers=http://127.0.0.1:2379",
            "--cert-dir=/tmp/k8s",
            "--secure-port=40001",
            "--bind-address=127.0.0.1",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",
            "--allow-privileged=true",
            "--client_ca_file",
            "/tmp/k8s/client-cert-auth-ca.crt",
        ])
        .unwrap();
        assert_eq!(
            arguments,
            [
                "--store=etcd://127.0.0.1:2379",
                "--cert-dir=/tmp/k8s",
                "--secure-port=40001",
                "--bind-address=127.0.0.1",
                "--authorization-mode=RBAC",
                "--disable-admission-plugins=ServiceAccount",
                "--client-ca-file=/tmp/k8s/client-cert-auth-ca.crt",
                "--foreign-feature-gates=ignore",
                "--removed-feature-gates=warn",
                "--namespace-deletion-grace=200ms",
                "--data-dir=/tmp/k8s/lockstep",
                "--controllers=*,-serviceaccount-controller,-root-ca-certificate-publisher-controller",
            ]
        );
        assert_eq!(
            notes,
            ["--allow-privileged has no effect: pods are stored, not run"]
        );
    }

    /// ux.md §3.1 E9: `--controllers` overrides the default list; with the `ServiceAccount` plugin its controllers run.
    #[test]
    fn loops_that_are_named_run_whatever_admission_does() {
        let given = |more: &str| {
            let words = [
                "--etcd-servers=h",
                "--disable-admission-plugins=A, ServiceAccount",
                more,
            ];
            let words = if more.is_empty() {
                &words[..1]
            } else {
                &words[..]
            };
            let (arguments, _) = outcome(words).unwrap();
            let mut loops = arguments
                .into_iter()
                .filter(|word| word.starts_with("--controllers"));
            (loops.next(), loops.next())
        };
        assert_eq!(given(""), (None, None));
        let all = "--controllers=*";
        assert_eq!(given(all), (Some(all.to_owned()), None));
        let without = Some(format!("--controllers={WITHOUT_ACCOUNTS}"));
        assert_eq!(given("--v=1"), (without, None));
    }

    /// api-machinery.md §16/kwok: the other flags that kwokctl passes.
    #[test]
    fn flags_of_kwokctl_are_taken() {
        let (arguments, notes) = outcome(&[
            "--etcd-servers=http://127.0.0.1:2379",
            "--etcd-prefix=/registry",
            "--endpoint-reconciler-type=none",
            "--enable-priority-and-fairness=false",
            "--max-requests-inflight=0",
            "--max-mutating-requests-inflight=0",
            "--requestheader-client-ca-file=ca",
            "--requestheader-allowed-names=a",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-username-headers=X-Remote-User",
            "--proxy-client-cert-file=crt",
            "--proxy-client-key-file=key",
            "--tls-cert-file=crt",
            "--tls-private-key-file=key",
            "--audit-policy-file=policy",
            "--audit-log-path=log",
            "--tracing-config-file=tracing",
        ])
        .unwrap();
        let honoured = [
            "--store=etcd://127.0.0.1:2379",
            "--enable-priority-and-fairness=false",
            "--max-requests-inflight=0",
            "--max-mutating-requests-inflight=0",
            "--tls-cert-file=crt",
            "--tls-private-key-file=key",
            "--audit-policy-file=policy",
            "--audit-log-path=log",
        ];
        assert_eq!(arguments[..honoured.len()], honoured);
        let named: Vec<&str> = notes
            .iter()
            .map(|note| note.split_once(" has no effect: ").unwrap().0)
            .collect();
        let expected = [
            "--endpoint-reconciler-type",
            "--requestheader-client-ca-file",
            "--requestheader-allowed-names",
            "--requestheader-extra-headers-prefix",
            "--requestheader-group-headers",
            "--requestheader-username-headers",
            "--proxy-client-cert-file",
            "--proxy-client-key-file",
            "--tracing-config-file",
        ];
        assert_eq!(named, expected);
    }

    #[test]
    fn what_is_not_said_is_as_kube_apiserver_has_it() {
        let mut expected = vec!["--store=etcd://a:1,b:2"];
        expected.extend(DEFAULTS);
        let (arguments, notes) = outcome(&["--etcd-servers", "https://a:1,http://b:2/"]).unwrap();
        assert_eq!(
            (arguments, notes),
            (
                expected.iter().map(|&text| text.to_owned()).collect(),
                vec![]
            )
        );
    }

    #[test]
    fn verbosity_has_a_short_form() {
        for words in [&["-v2"][..], &["-v=2"], &["-v", "2"], &["--v", "2"]] {
            let words = [&["--etcd-servers=a:1"], words].concat();
            let (arguments, _) = outcome(&words).unwrap();
            assert_eq!(arguments[1], "--v=2", "{words:?}");
        }
    }

    /// ux.md §3.1/E10: an unknown flag stops the start, and so does one that cannot be ignored.
    #[test]
    fn wrong_flags_are_told() {
        for (words, expected) in [
            (&["--x"][..], "unknown flag: --x"),
            (&["-x"], "unknown flag: -x"),
            (
                &["serve"],
                "`serve` is not a flag; kube-apiserver takes flags alone",
            ),
            (&["--cert-dir"], "flag needs a value: --cert-dir"),
            (&["--allow-privileged"], "--etcd-servers must be specified"),
            (
                &["--etcd-servers=a:1", "--etcd-prefix=/other"],
                "--etcd-prefix cannot be honoured: everything lies below one prefix, in one store",
            ),
            (
                &["--etcd-servers=a:1", "--encryption-provider-config=f"],
                "--encryption-provider-config cannot be honoured: secrets would be stored unencrypted",
            ),
        ] {
            assert_eq!(outcome(words), Err(expected.to_owned()), "{words:?}");
        }
    }

    #[test]
    fn a_refused_flag_may_say_what_holds_anyway() {
        let (arguments, notes) =
            outcome(&["--etcd-servers=a:1", "--etcd-prefix=/registry"]).unwrap();
        assert_eq!((arguments.len(), notes), (1 + DEFAULTS.len(), Vec::new()));
    }

    /// ux.md §3.1 E1: help lists each flag at the start of a line, and never one that is gone.
    #[test]
    fn every_flag_is_in_the_help_and_has_one_fate() {
        let table = table::read(TABLE).unwrap();
        let text = help(&table);
        let mut names: Vec<&str> = table.iter().map(|flag| flag.name).collect();
        for name in &names {
            let line = format!("\n      --{name} ");
            assert_eq!(text.matches(&line).count(), 1, "{name}");
        }
        assert!(!text.contains("--insecure-port"));
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    /// ux.md §3.1/E10: every flag is taken, or refused with its reason.
    #[test]
    fn every_flag_is_known() {
        for flag in table::read(TABLE).unwrap() {
            let told = outcome(&["--etcd-servers=a:1", &format!("--{}=x", flag.name)]);
            let is_refused = matches!(flag.fate, Fate::Refused { .. });
            let says_so = told
                .as_ref()
                .is_err_and(|text| text.contains("cannot be honoured"));
            assert_eq!(says_so, is_refused, "--{}: {told:?}", flag.name);
        }
    }
}
