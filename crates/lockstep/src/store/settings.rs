//! From flags, variables or a file to the configuration of a server.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use lockstep_gotext::duration::Duration as GoDuration;
use lockstep_store::{Address, AutoCompaction, Config, InvalidLevel, Level, TlsFiles};
use serde_json::Value;

use super::flags::{Effect, FLAGS, Flag, Given, Kind};
use crate::document;
use crate::failure::{Exit, Failure};

/// The quota that etcd has when nothing is said, and where it begins to warn.
const QUOTA_DEFAULT: u64 = 2 << 30;
const QUOTA_LARGE: u64 = 8 << 30;

/// Effective settings, from the flags or else the configuration file, and the warnings to log about them.
pub(super) struct Settings {
    values: BTreeMap<&'static str, String>,
    pub(super) warnings: Vec<String>,
}

fn wrong(message: impl Into<String>) -> Failure {
    Failure::of_causes(Exit::ServerFlags, &message.into(), Vec::new())
}

impl Settings {
    /// A configuration file stands alone, as with etcd.
    pub(super) fn gather(given: &Given) -> Result<Self, Failure> {
        let mut warnings = Vec::new();
        let mut values = given.values.clone();
        if let Some(path) = values.remove("config-file").filter(|path| !path.is_empty()) {
            if !values.is_empty() {
                let names = values.keys().map(|name| format!("--{name}"));
                let names = names.collect::<Vec<_>>().join(", ");
                warnings.push(format!(
                    "ignored because of the configuration file: {names}"
                ));
            }
            values = read_file(Path::new(&path))?;
        }
        let mut settings = Self { values, warnings };
        settings.judge()?;
        Ok(settings)
    }

    /// Refuses what must not be ignored, and warns of what is.
    fn judge(&mut self) -> Result<(), Failure> {
        let mut idle = Vec::new();
        for flag in FLAGS {
            let Some(value) = self.values.get(flag.name) else {
                continue;
            };
            match flag.effect {
                Effect::Honoured => {}
                Effect::None(why) => idle.push(format!("--{} ({why})", flag.name)),
                Effect::Refused { unless, .. } if unless.contains(&value.as_str()) => {}
                Effect::Refused { why, .. } => {
                    let name = flag.name;
                    let text = format!("--{name}={value} is refused: {why}");
                    return Err(wrong(text).with_help(format!("leave --{name} out")));
                }
            }
        }
        if !idle.is_empty() {
            let text = format!("flags without effect: {}", idle.join(", "));
            self.warnings.push(text);
        }
        Ok(())
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let value = self.values.get(name).map(String::as_str);
        value.filter(|value| !value.is_empty())
    }

    fn list(&self, name: &str) -> Vec<&str> {
        let parts = self.text(name).unwrap_or_default().split(',');
        parts
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect()
    }

    fn number<T: std::str::FromStr>(&self, name: &str, default: T) -> Result<T, Failure> {
        match self.text(name) {
            None => Ok(default),
            Some(text) => {
                let number = text.parse();
                number.map_err(|_| wrong(format!("--{name}: `{text}` is not a fitting number")))
            }
        }
    }

    fn switch(&self, name: &str, default: bool) -> Result<bool, Failure> {
        match self.text(name) {
            None => Ok(default),
            Some("false" | "0" | "f" | "F" | "FALSE" | "False") => Ok(false),
            Some("true" | "1" | "t" | "T" | "TRUE" | "True") => Ok(true),
            Some(text) => Err(wrong(format!(
                "--{name}: `{text}` is neither true nor false"
            ))),
        }
    }

    fn level(&self) -> Result<Level, Failure> {
        let level = self.text("emulated-version").map(str::parse);
        let level = level.transpose();
        let level =
            level.map_err(|error: InvalidLevel| wrong(format!("--emulated-version: {error}")));
        Ok(level?.unwrap_or_default())
    }

    fn duration(&self, name: &str, default: Duration) -> Result<Duration, Failure> {
        match self.text(name) {
            None => Ok(default),
            Some(text) => non_negative_duration(text)
                .ok_or_else(|| wrong(format!("--{name}: `{text}` is no duration such as 10m"))),
        }
    }

    fn addresses(&self, name: &str) -> Result<Vec<Address>, Failure> {
        let addresses = self.list(name).into_iter().map(str::parse);
        let addresses = addresses.collect::<Result<_, _>>();
        addresses
            .map_err(|error: lockstep_store::InvalidAddress| wrong(format!("--{name}: {error}")))
    }

    pub(super) fn config(&mut self) -> Result<Config, Failure> {
        let default = Config::default();
        let name = self.text("name").unwrap_or(&default.name).to_owned();
        let mut listen_client = self.addresses("listen-client-urls")?;
        if listen_client.is_empty() {
            let usual = "http://localhost:2379".parse::<Address>();
            listen_client = vec![usual.map_err(|error| wrong(error.to_string()))?];
        }
        let advertised = self.list("advertise-client-urls");
        let advertise_client_urls = if advertised.is_empty() {
            listen_client.iter().map(ToString::to_string).collect()
        } else {
            advertised.into_iter().map(str::to_owned).collect()
        };
        let millis = self.number("election-timeout", 1000)?;
        Ok(Config {
            data_dir: match self.text("data-dir") {
                Some(folder) => folder.into(),
                None => format!("{name}.etcd").into(),
            },
            listen_client_http: self.addresses("listen-client-http-urls")?,
            listen_metrics: self.addresses("listen-metrics-urls")?,
            peer_urls: self.peer_urls(&name, default.peer_urls)?,
            cluster_token: self
                .text("initial-cluster-token")
                .unwrap_or(&default.cluster_token)
                .to_owned(),
            gateway: self.switch("enable-grpc-gateway", default.gateway)?,
            tls: self.tls(&listen_client)?,
            request_bytes_max: self.number("max-request-bytes", default.request_bytes_max)?,
            txn_ops_max: self.number("max-txn-ops", default.txn_ops_max)?,
            quota_bytes: self.quota()?,
            level: self.level()?,
            election_timeout: Duration::from_millis(millis),
            auto_compaction: self.auto_compaction()?,
            watch_progress_interval: self.progress_interval(default.watch_progress_interval)?,
            streams_max: self.number("max-concurrent-streams", default.streams_max)?,
            keepalive_interval_min: self
                .duration("grpc-keepalive-min-time", default.keepalive_interval_min)?,
            keepalive_interval: self
                .duration("grpc-keepalive-interval", default.keepalive_interval)?,
            keepalive_timeout: self
                .duration("grpc-keepalive-timeout", default.keepalive_timeout)?,
            slow_apply: self.duration("warning-apply-duration", default.slow_apply)?,
            fsync: !self.switch("unsafe-no-fsync", false)?,
            name,
            listen_client,
            advertise_client_urls,
        })
    }

    fn peer_urls(&self, name: &str, default: Vec<String>) -> Result<Vec<String>, Failure> {
        let members = self.list("initial-cluster");
        let mut names: Vec<_> = members
            .iter()
            .filter_map(|member| member.split_once('=').map(|(name, _)| name))
            .collect();
        names.dedup();
        if names.len() > 1 || names.first().is_some_and(|only| *only != name) {
            let text = format!(
                "--initial-cluster names {}, but `lockstep store` is a single member named `{name}`",
                names.join(", ")
            );
            return Err(wrong(text));
        }
        let told = self.list("initial-advertise-peer-urls");
        if told.is_empty() {
            let urls = members.iter().filter_map(|member| member.split_once('='));
            let urls: Vec<_> = urls.map(|(_, url)| url.to_owned()).collect();
            return Ok(if urls.is_empty() { default } else { urls });
        }
        Ok(told.into_iter().map(str::to_owned).collect())
    }

    fn tls(&mut self, listen: &[Address]) -> Result<Option<TlsFiles>, Failure> {
        let (certificate, key) = (self.text("cert-file"), self.text("key-file"));
        let authorities = self.text("trusted-ca-file");
        if self.switch("client-cert-auth", false)? && authorities.is_none() {
            return Err(wrong("--client-cert-auth needs --trusted-ca-file"));
        }
        let files = match (certificate, key) {
            (None, None) if authorities.is_some() => {
                return Err(wrong("--trusted-ca-file needs --cert-file and --key-file"));
            }
            (None, None) => return Ok(None),
            (Some(certificate), Some(key)) => TlsFiles {
                certificate: certificate.into(),
                key: key.into(),
                client_authorities: authorities.map(Into::into),
                revoked: self.text("client-crl-file").map(Into::into),
            },
            _ => return Err(wrong("--cert-file and --key-file need each other")),
        };
        let plain: Vec<_> = listen
            .iter()
            .filter(|address| !address.uses_tls())
            .collect();
        for address in plain {
            let text = format!("{address} is not encrypted, although a certificate is given");
            self.warnings.push(text);
        }
        Ok(Some(files))
    }

    fn quota(&mut self) -> Result<Option<u64>, Failure> {
        let bytes: i64 = self.number("quota-backend-bytes", 0)?;
        let quota = match u64::try_from(bytes) {
            Ok(0) => Some(QUOTA_DEFAULT),
            Ok(bytes) => Some(bytes),
            Err(_) => None,
        };
        if quota.is_some_and(|bytes| bytes > QUOTA_LARGE) {
            let text = format!("a quota above {QUOTA_LARGE} bytes makes starts slow");
            self.warnings.push(text);
        }
        Ok(quota)
    }

    fn auto_compaction(&self) -> Result<Option<AutoCompaction>, Failure> {
        let mode = self.text("auto-compaction-mode").unwrap_or("periodic");
        let retention = self.text("auto-compaction-retention").unwrap_or("0");
        let told = AutoCompaction::of_flags(mode, retention, non_negative_duration);
        told.map_err(|error| wrong(error.to_string()))
    }

    fn progress_interval(&self, default: Duration) -> Result<Duration, Failure> {
        const SHORTEST: Duration = Duration::from_millis(100);
        let interval = self.duration("watch-progress-notify-interval", default)?;
        if interval < SHORTEST {
            return Err(wrong(
                "--watch-progress-notify-interval is shorter than 100ms",
            ));
        }
        Ok(interval)
    }
}

fn non_negative_duration(text: &str) -> Option<Duration> {
    GoDuration::parse(text).ok()?.to_std()
}

fn read_file(path: &Path) -> Result<BTreeMap<&'static str, String>, Failure> {
    let in_file = |mut failure: Failure| {
        failure.exit = Exit::ServerFlags;
        failure
    };
    let document = document::read(path).map_err(in_file)?;
    let place = path.display();
    let Value::Object(keys) = document else {
        return Err(wrong(format!("{place}: it is not a map of settings")));
    };
    let mut values = BTreeMap::new();
    for (key, value) in &keys {
        match (key.as_str(), value) {
            ("client-transport-security", Value::Object(inner)) => {
                for (key, value) in inner {
                    set(&mut values, key, value)
                        .map_err(|what| wrong(format!("{place}: {what}")))?;
                }
            }
            ("peer-transport-security", Value::Object(inner)) => {
                for (key, value) in inner {
                    let key = format!("peer-{key}");
                    set(&mut values, &key, value)
                        .map_err(|what| wrong(format!("{place}: {what}")))?;
                }
            }
            _ => set(&mut values, key, value).map_err(|what| wrong(format!("{place}: {what}")))?,
        }
    }
    Ok(values)
}

fn set(
    values: &mut BTreeMap<&'static str, String>,
    key: &str,
    value: &Value,
) -> Result<(), String> {
    let flag = FLAGS.iter().find(|flag| flag.name == key);
    let flag = flag.ok_or_else(|| format!("`{key}` is not a setting"))?;
    if !value.is_null() {
        values.insert(
            flag.name,
            in_words(flag, value).ok_or_else(|| format!("`{key}` has no plain value"))?,
        );
    }
    Ok(())
}

/// A value as a flag would have it.
fn in_words(flag: &Flag, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(it) => Some(it.to_string()),
        Value::Number(number) if flag.kind == Kind::Duration => Some(format!("{number}ns")),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(parts) => {
            let parts = parts.iter().map(|part| part.as_str().map(str::to_owned));
            Some(parts.collect::<Option<Vec<_>>>()?.join(","))
        }
        Value::Null | Value::Object(_) => None,
    }
}
