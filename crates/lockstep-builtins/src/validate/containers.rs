//! Validation of containers.

use std::collections::BTreeSet;

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};

use super::scalar::{port_name, port_number};
use super::{
    Errors, env, label, one_of, one_of_or_none, pod_claims, probes, push_problems, required,
    resources, restarts, security, volumes,
};
use crate::look::{list, number, some, text};

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// Parts of a pod that its containers refer to.
struct Pod<'v> {
    volumes: &'v BTreeSet<&'v str>,
    claims: BTreeSet<&'v str>,
    restart_policy: &'v str,
}

/// All containers of a pod that start with it.
pub(super) fn containers(
    spec: &Value,
    volumes: &BTreeSet<&str>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let list_path = path.field("containers");
    let all = list(spec, "containers");
    if all.is_empty() {
        errors.push_with(|| FieldError::required(&list_path, ""));
    }
    let pod = Pod {
        volumes,
        claims: pod_claims::names(spec),
        restart_policy: text(spec, "restartPolicy"),
    };
    let mut names = BTreeSet::new();
    for (index, container) in all.iter().enumerate() {
        let path = list_path.index(index);
        common(container, &pod, &path, errors);
        if !names.insert(text(container, "name")) {
            let name = text(container, "name");
            errors.push_with(|| FieldError::duplicate(&path.field("name"), name));
        }
        probes::lifecycle(container, &path, errors);
        probes::probes(container, &path, errors);
        restarts::policy(container, &path, errors);
    }
    host_ports(all, &list_path, errors);
    if spec.get("hostNetwork") == Some(&Value::Bool(true)) {
        ports_of_the_host(all, &list_path, errors);
    }
    let init_path = path.field("initContainers");
    for (index, container) in list(spec, "initContainers").iter().enumerate() {
        let path = init_path.index(index);
        common(container, &pod, &path, errors);
        let name = text(container, "name");
        if !name.is_empty() && !names.insert(name) {
            errors.push_with(|| FieldError::duplicate(&path.field("name"), name));
        }
        host_ports(std::slice::from_ref(container), &init_path, errors);
        init_only(container, &path, errors);
    }
    ephemeral(spec, &names, &pod, path, errors);
}

/// Fields that init containers may only have as sidecars (`restartPolicy: Always`).
fn init_only(container: &Value, path: &Path<'_>, errors: &mut Errors) {
    restarts::policy(container, path, errors);
    if text(container, "restartPolicy") == "Always" {
        probes::lifecycle(container, path, errors);
        probes::probes(container, path, errors);
        return;
    }
    for field in [
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
    ] {
        if some(container, field).is_some() {
            let why = "may not be set for init containers without restartPolicy=Always";
            errors.push_with(|| FieldError::forbidden(&path.field(field), why));
        }
    }
}

/// Containers that are added to a pod that runs.
fn ephemeral(
    spec: &Value,
    names: &BTreeSet<&str>,
    pod: &Pod<'_>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    const FORBIDDEN: [&str; 6] = [
        "lifecycle",
        "livenessProbe",
        "ports",
        "readinessProbe",
        "startupProbe",
        "resizePolicy",
    ];
    let list_path = path.field("ephemeralContainers");
    let mut own = BTreeSet::new();
    for (index, container) in list(spec, "ephemeralContainers").iter().enumerate() {
        let path = list_path.index(index);
        common(container, pod, &path, errors);
        let name = text(container, "name");
        if names.contains(name) || !own.insert(name) {
            errors.push_with(|| FieldError::duplicate(&path.field("name"), name));
        }
        let target = text(container, "targetContainerName");
        if !target.is_empty() && !names.contains(target) {
            let path = path.field("targetContainerName");
            errors.push_with(|| FieldError::not_found(&path, target));
        }
        for field in FORBIDDEN
            .into_iter()
            .filter(|field| some(container, field).is_some())
        {
            let why = "cannot be set for an Ephemeral Container";
            errors.push_with(|| FieldError::forbidden(&path.field(field), why));
        }
    }
}

fn common(container: &Value, pod: &Pod<'_>, path: &Path<'_>, errors: &mut Errors) {
    if required(container, "name", path, errors) {
        label(text(container, "name"), &path.field("name"), errors);
    }
    required(container, "image", path, errors);
    let policy = text(container, "terminationMessagePolicy");
    let known = ["File", "FallbackToLogsOnError"];
    one_of(
        policy,
        &known,
        &path.field("terminationMessagePolicy"),
        errors,
    );
    ports(container, path, errors);
    env::variables(container, path, errors);
    env::sources(container, path, errors);
    volumes::mounts(container, pod.volumes, path, errors);
    volumes::devices(container, pod.volumes, path, errors);
    let policy = text(container, "imagePullPolicy");
    let known = ["Always", "IfNotPresent", "Never"];
    one_of(policy, &known, &path.field("imagePullPolicy"), errors);
    resources::requirements(&container["resources"], &path.field("resources"), errors);
    let place = path.field("resources");
    pod_claims::of_container(&container["resources"], &pod.claims, &place, errors);
    restarts::resize(container, pod.restart_policy, path, errors);
    security::of_container(container, path, errors);
}

fn ports(container: &Value, path: &Path<'_>, errors: &mut Errors) {
    let list_path = path.field("ports");
    let mut names = BTreeSet::new();
    for (index, port) in list(container, "ports").iter().enumerate() {
        let path = list_path.index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            let problems = port_name(name);
            if !problems.is_empty() {
                push_problems(problems, name, &path.field("name"), errors);
            } else if !names.insert(name) {
                errors.push_with(|| FieldError::duplicate(&path.field("name"), name));
            }
        }
        match number(port, "containerPort").unwrap_or_default() {
            0 => errors.push_with(|| FieldError::required(&path.field("containerPort"), "")),
            own => port_number(own, &path.field("containerPort"), errors),
        }
        match number(port, "hostPort").unwrap_or_default() {
            0 => {}
            host => port_number(host, &path.field("hostPort"), errors),
        }
        let protocol = text(port, "protocol");
        one_of_or_none(protocol, &PROTOCOLS, &path.field("protocol"), errors);
    }
}

/// On the host's network a port is the same inside and outside.
fn ports_of_the_host(containers: &[Value], path: &Path<'_>, errors: &mut Errors) {
    for (index, container) in containers.iter().enumerate() {
        let container_path = path.index(index);
        let ports_path = container_path.field("ports");
        for (at, port) in list(container, "ports").iter().enumerate() {
            let host = number(port, "hostPort").unwrap_or_default();
            if Some(host) != number(port, "containerPort") {
                let why = "must match `containerPort` when `hostNetwork` is true";
                let path = ports_path.index(at);
                errors.push_with(|| FieldError::invalid(&path.field("hostPort"), host, why));
            }
        }
    }
}

/// Ports of the host are used once.
fn host_ports(containers: &[Value], path: &Path<'_>, errors: &mut Errors) {
    let mut used = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        let container_path = path.index(index);
        let ports_path = container_path.field("ports");
        for (at, port) in list(container, "ports").iter().enumerate() {
            let host = number(port, "hostPort").unwrap_or_default();
            let taken = format!("{}/{}/{host}", text(port, "protocol"), text(port, "hostIP"));
            if host != 0 && !used.insert(taken.clone()) {
                let path = ports_path.index(at);
                errors.push_with(|| FieldError::duplicate(&path.field("hostPort"), taken));
            }
        }
    }
}
