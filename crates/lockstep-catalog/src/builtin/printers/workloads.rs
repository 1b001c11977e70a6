//! Table columns of workloads, autoscalers and disruption budgets.

use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value, table};

use super::{
    NONE, Table, at, condition, count, first_few, labels, list, number, or, selector, show,
    template_columns, text, truth,
};
use crate::{Column, age};

/// The maximum number of metrics in a cell.
const METRICS_MAX: usize = 2;

pub(super) fn tables() -> Vec<Table> {
    vec![
        (("apps", "deployments"), deployments()),
        (("apps", "replicasets"), replicas()),
        (("", "replicationcontrollers"), replicas()),
        (("apps", "statefulsets"), stateful_sets()),
        (("apps", "daemonsets"), daemon_sets()),
        (("apps", "controllerrevisions"), revisions()),
        (("batch", "jobs"), jobs()),
        (("batch", "cronjobs"), cron_jobs()),
        (("autoscaling", "horizontalpodautoscalers"), autoscalers()),
        (("policy", "poddisruptionbudgets"), budgets()),
        (("", "podtemplates"), templates()),
    ]
}

/// Columns of a workload: name, its own ones, age, pod template, then `last`.
fn around(own: Vec<Column>, last: Vec<Column>) -> Vec<Column> {
    let mut columns = vec![Column::name()];
    columns.extend(own);
    columns.push(Column::age());
    columns.extend(template_columns());
    columns.extend(last);
    columns
}

fn selected() -> Vec<Column> {
    let told = |object: &Object, _: Seconds| {
        let value = at(object, &["spec", "selector"]);
        let labelled = value.as_object();
        if labelled.is_some_and(|map| map.values().all(Value::is_string)) {
            labels(value).into()
        } else {
            selector(value).into()
        }
    };
    vec![show("Selector", "Which pods are its own.", told).wide()]
}

fn ready(object: &Object, _now: Seconds) -> Value {
    let ready = number(object, &["status", "readyReplicas"]);
    format!("{ready}/{}", number(object, &["spec", "replicas"])).into()
}

fn deployments() -> Vec<Column> {
    let own = vec![
        show("Ready", "How many pods are ready, of how many.", ready),
        show(
            "Up-to-date",
            "How many pods are of the present template.",
            |o, _| number(o, &["status", "updatedReplicas"]).into(),
        ),
        show(
            "Available",
            "How many pods have been ready long enough.",
            |o, _| number(o, &["status", "availableReplicas"]).into(),
        ),
    ];
    around(own, selected())
}

fn replicas() -> Vec<Column> {
    let own = vec![
        count("Desired", "How many pods are wanted.", |o, _| {
            number(o, &["spec", "replicas"]).into()
        }),
        count("Current", "How many pods there are.", |o, _| {
            number(o, &["status", "replicas"]).into()
        }),
        count("Ready", "How many pods are ready.", |o, _| {
            number(o, &["status", "readyReplicas"]).into()
        }),
    ];
    around(own, selected())
}

fn stateful_sets() -> Vec<Column> {
    let own = show("Ready", "How many pods are ready, of how many.", ready);
    around(vec![own], Vec::new())
}

fn daemon_sets() -> Vec<Column> {
    let own = vec![
        count("Desired", "How many nodes should have a pod.", |o, _| {
            number(o, &["status", "desiredNumberScheduled"]).into()
        }),
        count("Current", "How many nodes have one.", |o, _| {
            number(o, &["status", "currentNumberScheduled"]).into()
        }),
        count("Ready", "How many of them are ready.", |o, _| {
            number(o, &["status", "numberReady"]).into()
        }),
        count(
            "Up-to-date",
            "How many are of the present template.",
            |o, _| number(o, &["status", "updatedNumberScheduled"]).into(),
        ),
        count(
            "Available",
            "How many have been ready long enough.",
            |o, _| number(o, &["status", "numberAvailable"]).into(),
        ),
        show("Node Selector", "Which nodes get a pod.", |o, _| {
            labels(at(o, &["spec", "template", "spec", "nodeSelector"])).into()
        }),
    ];
    around(own, selected())
}

fn revisions() -> Vec<Column> {
    let controller = |revision: &Object, _: Seconds| {
        let owners = list(revision, &["metadata", "ownerReferences"]).iter();
        let mut owners = owners.filter(|owner| owner["controller"] == true);
        let Some(owner) = owners.next() else {
            return NONE.into();
        };
        let part = |field: &str| owner[field].as_str().unwrap_or_default();
        let kind = part("kind").to_lowercase();
        match part("apiVersion").split_once('/') {
            Some((group, _)) => format!("{kind}.{group}/{}", part("name")).into(),
            None => format!("{kind}/{}", part("name")).into(),
        }
    };
    vec![
        Column::name(),
        show("Controller", "What it is a state of.", controller),
        show("Revision", "Which of its states.", |o, _| {
            number(o, &["revision"]).into()
        }),
        Column::age(),
    ]
}

fn jobs() -> Vec<Column> {
    let own = vec![
        show("Status", "How far it is.", job_status),
        show(
            "Completions",
            "How many pods are done, of how many.",
            completions,
        ),
        show("Duration", "How long it took, or takes.", duration),
    ];
    around(own, selected())
}

fn job_status(job: &Object, _now: Seconds) -> Value {
    let is = |name: &str| condition(job, name) == Some("True");
    let told = match () {
        () if is("Complete") => "Complete",
        () if is("Failed") => "Failed",
        () if job.deletion_timestamp().is_some() => "Terminating",
        () if is("Suspended") => "Suspended",
        () if is("FailureTarget") => "FailureTarget",
        () if is("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    };
    told.into()
}

fn completions(job: &Object, _now: Seconds) -> Value {
    let done = number(job, &["status", "succeeded"]);
    let wanted = at(job, &["spec", "completions"]).as_i64();
    match (wanted, number(job, &["spec", "parallelism"])) {
        (Some(wanted), _) => format!("{done}/{wanted}").into(),
        (None, parallel) if parallel > 1 => format!("{done}/1 of {parallel}").into(),
        (None, _) => format!("{done}/1").into(),
    }
}

fn duration(job: &Object, now: Seconds) -> Value {
    let time = |field: &str| text(job, &["status", field]).parse::<Seconds>();
    match (time("startTime"), time("completionTime")) {
        (Err(_), _) => "".into(),
        (Ok(start), Ok(end)) => table::age(start, end).into(),
        (Ok(start), Err(_)) => table::age(start, now).into(),
    }
}

fn cron_jobs() -> Vec<Column> {
    let own = vec![
        show("Schedule", "When jobs are made.", |o, _| {
            text(o, &["spec", "schedule"]).into()
        }),
        show("Timezone", "Where the schedule is read.", |o, _| {
            or(text(o, &["spec", "timeZone"]), NONE)
        }),
        truth("Suspend", "Whether no jobs are made.", |o, _| {
            match at(o, &["spec", "suspend"]).as_bool() {
                Some(true) => "True".into(),
                Some(false) => "False".into(),
                None => "<unset>".into(),
            }
        }),
        count("Active", "How many jobs run.", |o, _| {
            list(o, &["status", "active"]).len().into()
        }),
        show(
            "Last Schedule",
            "When the last job was made.",
            |o, now| match at(o, &["status", "lastScheduleTime"]) {
                Value::String(time) => age(Some(&Value::from(time.as_str())), now),
                _ => NONE.into(),
            },
        ),
    ];
    let told = |o: &Object, _: Seconds| {
        selector(at(o, &["spec", "jobTemplate", "spec", "selector"])).into()
    };
    around(
        own,
        vec![show("Selector", "Which pods are its own.", told).wide()],
    )
}

fn autoscalers() -> Vec<Column> {
    vec![
        Column::name(),
        show("Reference", "What is scaled.", |o, _| {
            let part = |field| text(o, &["spec", "scaleTargetRef", field]);
            format!("{}/{}", part("kind"), part("name")).into()
        }),
        show("Targets", "What is measured, and what is wanted.", targets),
        show("MinPods", "The fewest pods.", |o, _| {
            match at(o, &["spec", "minReplicas"]).as_i64() {
                Some(least) => least.to_string().into(),
                None => "<unset>".into(),
            }
        }),
        show("MaxPods", "The most pods.", |o, _| {
            number(o, &["spec", "maxReplicas"]).into()
        }),
        show("Replicas", "How many pods there are.", |o, _| {
            number(o, &["status", "currentReplicas"]).into()
        }),
        Column::age(),
    ]
}

fn targets(autoscaler: &Object, _now: Seconds) -> Value {
    let old = at(autoscaler, &["spec", "targetCPUUtilizationPercentage"]).as_i64();
    if let Some(wanted) = old {
        let is = at(autoscaler, &["status", "currentCPUUtilizationPercentage"]).as_i64();
        let is = is.map_or_else(|| "<unknown>".to_owned(), |percent| format!("{percent}%"));
        return format!("cpu: {is}/{wanted}%").into();
    }
    let metrics = list(autoscaler, &["spec", "metrics"]);
    if metrics.is_empty() {
        return NONE.into();
    }
    let statuses = list(autoscaler, &["status", "currentMetrics"]);
    let lines = metrics.iter().enumerate().map(|(at, metric)| {
        let status = statuses.get(at).unwrap_or(&Value::Null);
        target(metric, status)
    });
    first_few(&lines.collect::<Vec<_>>(), METRICS_MAX, ", ").into()
}

/// Formats the current and the target value of a metric.
fn target(metric: &Value, status: &Value) -> String {
    const PLACES: [(&str, &str); 5] = [
        ("External", "external"),
        ("Pods", "pods"),
        ("Object", "object"),
        ("Resource", "resource"),
        ("ContainerResource", "containerResource"),
    ];
    let kind = metric["type"].as_str().unwrap_or_default();
    let Some((_, place)) = PLACES.into_iter().find(|(name, _)| *name == kind) else {
        return "<unknown type>".to_owned();
    };
    let (wanted, is) = (&metric[place]["target"], &status[place]["current"]);
    let shown = |value: &Value| value.as_str().unwrap_or("<unknown>").to_owned();
    let percent = |value: &Value, none: &str| {
        value
            .as_i64()
            .map_or_else(|| none.to_owned(), |percent| format!("{percent}%"))
    };
    let name = metric[place]["name"].as_str().unwrap_or_default();
    let is_average = wanted["averageValue"].is_string();
    match kind {
        "Pods" => format!(
            "{}/{}",
            shown(&is["averageValue"]),
            shown(&wanted["averageValue"])
        ),
        "External" | "Object" if is_average => {
            format!(
                "{}/{} (avg)",
                shown(&is["averageValue"]),
                shown(&wanted["averageValue"])
            )
        }
        "External" | "Object" => format!("{}/{}", shown(&is["value"]), shown(&wanted["value"])),
        _ if is_average => {
            format!(
                "{name}: {}/{}",
                shown(&is["averageValue"]),
                shown(&wanted["averageValue"])
            )
        }
        _ => {
            let is = percent(&is["averageUtilization"], "<unknown>");
            let wanted = percent(&wanted["averageUtilization"], "<auto>");
            format!("{name}: {is}/{wanted}")
        }
    }
}

fn budgets() -> Vec<Column> {
    fn amount(value: &Value) -> Value {
        match value {
            Value::String(percent) => percent.as_str().into(),
            Value::Number(number) => number.to_string().into(),
            _ => "N/A".into(),
        }
    }
    vec![
        Column::name(),
        show("Min Available", "How many pods must stay.", |o, _| {
            amount(at(o, &["spec", "minAvailable"]))
        }),
        show("Max Unavailable", "How many pods may go.", |o, _| {
            amount(at(o, &["spec", "maxUnavailable"]))
        }),
        count(
            "Allowed Disruptions",
            "How many pods may go now.",
            |o, _| number(o, &["status", "disruptionsAllowed"]).into(),
        ),
        Column::age(),
    ]
}

fn templates() -> Vec<Column> {
    let [names, images] = template_columns();
    vec![
        Column::name(),
        Column {
            priority: 0,
            ..names
        },
        Column {
            priority: 0,
            ..images
        },
        show("Pod Labels", "The labels of its pods.", |o, _| {
            labels(at(o, &["template", "metadata", "labels"])).into()
        }),
    ]
}
