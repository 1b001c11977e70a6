//! `/healthz`, `/livez` and `/readyz`. The names of the checks are upstream's; each maps to a condition of this server.

use std::fmt::Write as _;

use http::StatusCode;

use crate::milestones::Milestone;
use crate::request::Request;
use crate::response::{self, Response};
use crate::state::Server;

/// The three endpoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Healthz,
    Livez,
    Readyz,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Healthz, Kind::Livez, Kind::Readyz];

    fn name(self) -> &'static str {
        match self {
            Kind::Healthz => "healthz",
            Kind::Livez => "livez",
            Kind::Readyz => "readyz",
        }
    }
}

/// Condition that a check tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Condition {
    /// Always true while the server answers requests.
    Answering,
    /// The store answers a linearizable read.
    Store,
    /// The store accepts writes: its disk is not full, for example.
    Writable,
    /// No shutdown has been requested.
    NotStopping,
    /// A startup milestone has been reached.
    Done(Milestone),
}

struct Check {
    name: &'static str,
    condition: Condition,
    readiness_only: bool,
}

const fn check(name: &'static str, condition: Condition) -> Check {
    Check {
        name,
        condition,
        readiness_only: false,
    }
}

const fn readiness(name: &'static str, condition: Condition) -> Check {
    Check {
        name,
        condition,
        readiness_only: true,
    }
}

const CHECKS: &[Check] = &[
    check("ping", Condition::Answering),
    check("log", Condition::Answering),
    check("etcd", Condition::Store),
    readiness("informer-sync", Condition::Done(Milestone::Caches)),
    check(
        "poststarthook/start-apiserver-admission-initializer",
        Condition::Done(Milestone::Admission),
    ),
    check(
        "poststarthook/generic-apiserver-start-informers",
        Condition::Done(Milestone::Caches),
    ),
    check(
        "poststarthook/start-apiextensions-informers",
        Condition::Done(Milestone::Caches),
    ),
    check(
        "poststarthook/start-apiextensions-controllers",
        Condition::Done(Milestone::Loops),
    ),
    check(
        "poststarthook/crd-informer-synced",
        Condition::Done(Milestone::Caches),
    ),
    check(
        "poststarthook/bootstrap-controller",
        Condition::Done(Milestone::SystemObjects),
    ),
    check(
        "poststarthook/rbac/bootstrap-roles",
        Condition::Done(Milestone::Roles),
    ),
    check(
        "poststarthook/scheduling/bootstrap-system-priority-classes",
        Condition::Done(Milestone::SystemObjects),
    ),
    check(
        "poststarthook/start-system-namespaces-controller",
        Condition::Done(Milestone::SystemObjects),
    ),
    check(
        "poststarthook/start-service-ip-repair-controllers",
        Condition::Done(Milestone::Loops),
    ),
    check(
        "poststarthook/start-cluster-authentication-info-controller",
        Condition::Done(Milestone::Credentials),
    ),
    check(
        "poststarthook/start-kube-aggregator-informers",
        Condition::Done(Milestone::Caches),
    ),
    check(
        "poststarthook/apiservice-registration-controller",
        Condition::Done(Milestone::Discovery),
    ),
    check(
        "poststarthook/apiservice-status-local-available-controller",
        Condition::Done(Milestone::Discovery),
    ),
    check(
        "poststarthook/apiservice-status-remote-available-controller",
        Condition::Done(Milestone::Discovery),
    ),
    check(
        "poststarthook/kube-apiserver-autoregistration",
        Condition::Done(Milestone::Discovery),
    ),
    check(
        "autoregister-completion",
        Condition::Done(Milestone::Discovery),
    ),
    check(
        "poststarthook/apiservice-openapi-controller",
        Condition::Done(Milestone::Discovery),
    ),
    check("poststarthook/storage-readiness", Condition::Store),
    readiness("store-writable", Condition::Writable),
    readiness("shutdown", Condition::NotStopping),
];

fn checks_of(kind: Kind) -> impl Iterator<Item = &'static Check> {
    CHECKS
        .iter()
        .filter(move |check| !check.readiness_only || kind == Kind::Readyz)
}

/// Paths of the individual checks.
pub(super) fn paths() -> impl Iterator<Item = String> {
    Kind::ALL.into_iter().flat_map(|kind| {
        checks_of(kind).map(move |check| format!("/{}/{}", kind.name(), check.name))
    })
}

/// Runs all checks, or the one that the path names.
pub(super) async fn answer(
    server: &Server,
    request: &Request,
    kind: Kind,
    below: &str,
) -> Response {
    if below.is_empty() {
        return all(server, request, kind).await;
    }
    let Some(check) = checks_of(kind).find(|check| check.name == below) else {
        return response::page_not_found();
    };
    match Conditions::look(server, kind, [check].into_iter())
        .await
        .judge(server, check)
    {
        Ok(()) => response::text(StatusCode::OK, "ok"),
        Err(why) => response::text(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("internal server error: {why}\n"),
        ),
    }
}

async fn all(server: &Server, request: &Request, kind: Kind) -> Response {
    let excluded: Vec<&str> = request.query.all("exclude").collect();
    let is_excluded = |check: &&Check| excluded.contains(&check.name);
    let checks = checks_of(kind).filter(|check| !is_excluded(check));
    let looked = Conditions::look(server, kind, checks).await;
    let (mut lines, mut failed) = (String::new(), Vec::new());
    for check in checks_of(kind) {
        let name = check.name;
        let line = if is_excluded(&check) {
            format!("[+]{name} excluded: ok\n")
        } else {
            match looked.judge(server, check) {
                Ok(()) => format!("[+]{name} ok\n"),
                Err(why) => {
                    failed.push(format!("{name}: {why}"));
                    let shown = match check.condition {
                        Condition::Writable => &why,
                        _ => "reason withheld",
                    };
                    format!("[-]{name} failed: {shown}\n")
                }
            }
        };
        lines.push_str(&line);
    }
    let unknown: Vec<String> = excluded
        .iter()
        .filter(|name| !checks_of(kind).any(|check| check.name == **name))
        .map(|name| lockstep_object::go::quote(name))
        .collect();
    if !unknown.is_empty() {
        let unknown = unknown.join(",");
        writeln!(
            lines,
            "warn: some health checks cannot be excluded: no matches for {unknown}"
        )
        .expect("writing to a String");
    }
    let endpoint = kind.name();
    if !failed.is_empty() {
        tracing::debug!(endpoint, failed = failed.join("; "), "health check failed");
        let text = format!("{lines}{endpoint} check failed\n");
        return response::text(StatusCode::INTERNAL_SERVER_ERROR, text);
    }
    if request.query.get("verbose").is_some() {
        return response::text(StatusCode::OK, format!("{lines}{endpoint} check passed\n"));
    }
    response::text(StatusCode::OK, "ok")
}

/// Results of expensive conditions, evaluated once per request.
struct Conditions {
    kind: Kind,
    store: Result<(), String>,
}

impl Conditions {
    async fn look(server: &Server, kind: Kind, mut checks: impl Iterator<Item = &Check>) -> Self {
        let is_reached = |milestone| server.milestones.is_reached(milestone);
        let needs_store = checks.any(|check| match check.condition {
            Condition::Store => kind != Kind::Livez,
            Condition::Done(milestone) => kind == Kind::Livez && !is_reached(milestone),
            Condition::Answering | Condition::Writable | Condition::NotStopping => false,
        });
        let store = if needs_store {
            server.api.store_answers().await
        } else {
            Ok(())
        };
        Self { kind, store }
    }

    /// True if `/livez` is asked, and does not depend on the store or the store is away.
    fn is_excused(&self, condition: Condition) -> bool {
        self.kind == Kind::Livez && (condition == Condition::Store || self.store.is_err())
    }

    fn judge(&self, server: &Server, check: &Check) -> Result<(), String> {
        match check.condition {
            // A restart of this process brings no store back, and no start that waits for it comes further.
            Condition::Store | Condition::Done(_) if self.is_excused(check.condition) => Ok(()),
            Condition::Store => self.store.clone(),
            Condition::Writable => server.api.write_outage().map_or(Ok(()), Err),
            Condition::NotStopping if server.drain.stopping.is_cancelled() => {
                Err("process is shutting down".to_owned())
            }
            Condition::Answering | Condition::NotStopping => Ok(()),
            Condition::Done(milestone) if server.milestones.is_reached(milestone) => Ok(()),
            Condition::Done(_) => Err("not finished".to_owned()),
        }
    }
}
