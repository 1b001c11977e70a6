//! Table columns of pods, computed from their container statuses as upstream does.

use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};

use super::{NONE, at, condition, list, or, show, text};
use crate::{Column, age};

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::name(),
        show("Ready", "How many containers are ready.", |pod, _| {
            let seen = Summary::of(pod);
            format!("{}/{}", seen.ready, seen.total).into()
        }),
        show("Status", "What the pod does.", |pod, _| {
            Summary::of(pod).reason.into()
        }),
        show("Restarts", "How often containers were restarted.", restarts),
        Column::age(),
        show("IP", "The address of the pod.", |pod, _| {
            let first = list(pod, &["status", "podIPs"]).first();
            or(
                first.and_then(|ip| ip["ip"].as_str()).unwrap_or_default(),
                NONE,
            )
        })
        .wide(),
        show("Node", "The node it runs on.", |pod, _| {
            or(text(pod, &["spec", "nodeName"]), NONE)
        })
        .wide(),
        show("Nominated Node", "The node it may get.", |pod, _| {
            or(text(pod, &["status", "nominatedNodeName"]), NONE)
        })
        .wide(),
        show("Readiness Gates", "How many gates are open.", gates).wide(),
    ]
}

/// A summary of container statuses.
struct Summary {
    ready: usize,
    total: usize,
    restarts: i64,
    last_restart: String,
    reason: String,
}

/// True for a restartable init container.
fn is_sidecar(pod: &Object, name: &Value) -> bool {
    let mut containers = list(pod, &["spec", "initContainers"]).iter();
    containers.any(|container| container["name"] == *name && container["restartPolicy"] == "Always")
}

impl Summary {
    fn of(pod: &Object) -> Self {
        let sidecars = list(pod, &["spec", "initContainers"]).iter();
        let sidecars = sidecars.filter(|container| container["restartPolicy"] == "Always");
        let mut seen = Self {
            ready: 0,
            total: list(pod, &["spec", "containers"]).len() + sidecars.count(),
            restarts: 0,
            last_restart: String::new(),
            reason: match text(pod, &["status", "reason"]) {
                "" => text(pod, &["status", "phase"]).to_owned(),
                reason => reason.to_owned(),
            },
        };
        let mut conditions = list(pod, &["status", "conditions"]).iter();
        if conditions
            .any(|told| told["type"] == "PodScheduled" && told["reason"] == "SchedulingGated")
        {
            "SchedulingGated".clone_into(&mut seen.reason);
        }
        let sidecars = seen.look_at_init(pod);
        if let Some((restarts, last)) = sidecars {
            (seen.restarts, seen.last_restart) = (restarts, last);
            seen.look_at_containers(pod);
        }
        seen.look_at_end(pod);
        seen
    }

    /// Adds init containers. Returns restarts and last restart of the sidecars if initialization is complete.
    fn look_at_init(&mut self, pod: &Object) -> Option<(i64, String)> {
        let mut sidecars = (0, String::new());
        let mut is_initializing = false;
        let statuses = list(pod, &["status", "initContainerStatuses"]);
        let total = list(pod, &["spec", "initContainers"]).len();
        for (index, status) in statuses.iter().enumerate() {
            let is_sidecar = is_sidecar(pod, &status["name"]);
            let restarts = status["restartCount"].as_i64().unwrap_or_default();
            let ended = ended_last(status);
            self.restarts += restarts;
            self.last_restart = std::mem::take(&mut self.last_restart).max(ended.clone());
            if is_sidecar {
                sidecars = (sidecars.0 + restarts, sidecars.1.max(ended));
            }
            let (terminated, waiting) =
                (&status["state"]["terminated"], &status["state"]["waiting"]);
            let why_waiting = waiting["reason"].as_str().unwrap_or_default();
            if terminated.is_object() && terminated["exitCode"] == 0 {
                continue;
            }
            if is_sidecar && status["started"] == true {
                self.ready += usize::from(status["ready"] == true);
                continue;
            }
            self.reason = match (terminated.is_object(), why_waiting) {
                (true, _) => format!("Init:{}", why_ended(terminated)),
                (false, "" | "PodInitializing") => format!("Init:{index}/{total}"),
                (false, why) => format!("Init:{why}"),
            };
            is_initializing = true;
            break;
        }
        let is_past = !is_initializing || condition(pod, "Initialized") == Some("True");
        is_past.then_some(sidecars)
    }

    fn look_at_containers(&mut self, pod: &Object) {
        let (mut is_running, mut failure) = (false, String::new());
        for status in list(pod, &["status", "containerStatuses"]).iter().rev() {
            self.restarts += status["restartCount"].as_i64().unwrap_or_default();
            let ended = ended_last(status);
            self.last_restart = std::mem::take(&mut self.last_restart).max(ended);
            let (terminated, waiting) =
                (&status["state"]["terminated"], &status["state"]["waiting"]);
            let why_waiting = waiting["reason"].as_str().unwrap_or_default();
            if !why_waiting.is_empty() {
                why_waiting.clone_into(&mut self.reason);
            } else if terminated.is_object() {
                self.reason = why_ended(terminated);
                if terminated["exitCode"] != 0 {
                    failure.clone_from(&self.reason);
                }
            } else if status["ready"] == true && status["state"]["running"].is_object() {
                is_running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            let is_ready = condition(pod, "Ready") == Some("True");
            self.reason = match (is_running, failure.as_str()) {
                (true, _) if is_ready => "Running".to_owned(),
                (true, "") => "NotReady".to_owned(),
                (false, "") => "Completed".to_owned(),
                (_, _) => failure,
            };
        }
    }

    fn look_at_end(&mut self, pod: &Object) {
        let phase = text(pod, &["status", "phase"]);
        if pod.deletion_timestamp().is_none() {
            return;
        }
        if text(pod, &["status", "reason"]) == "NodeLost" {
            "Unknown".clone_into(&mut self.reason);
        } else if !matches!(phase, "Succeeded" | "Failed") {
            "Terminating".clone_into(&mut self.reason);
        }
    }
}

fn ended_last(status: &Value) -> String {
    let ended = &status["lastState"]["terminated"]["finishedAt"];
    ended.as_str().unwrap_or_default().to_owned()
}

fn why_ended(terminated: &Value) -> String {
    let reason = terminated["reason"].as_str().unwrap_or_default();
    let number = |field: &str| terminated[field].as_i64().unwrap_or_default();
    match (reason, number("signal")) {
        ("", 0) => format!("ExitCode:{}", number("exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn restarts(pod: &Object, now: Seconds) -> Value {
    let seen = Summary::of(pod);
    if seen.restarts == 0 || seen.last_restart.is_empty() {
        return seen.restarts.to_string().into();
    }
    let ago = age(Some(&Value::from(seen.last_restart)), now);
    format!(
        "{} ({} ago)",
        seen.restarts,
        ago.as_str().unwrap_or_default()
    )
    .into()
}

fn gates(pod: &Object, _now: Seconds) -> Value {
    let gates = list(pod, &["spec", "readinessGates"]);
    if gates.is_empty() {
        return NONE.into();
    }
    let is_open = |gate: &&Value| {
        let name = gate["conditionType"].as_str().unwrap_or_default();
        condition(pod, name) == Some("True")
    };
    let open = gates.iter().filter(is_open).count();
    format!(
        "{open}/{}",
        at(pod, &["spec", "readinessGates"])
            .as_array()
            .map_or(0, Vec::len)
    )
    .into()
}
