//! Service account admission: the token volume it mounts into pods, and the secrets it restricts.

use std::collections::BTreeSet;

use lockstep_object::{Map, Object, Value};
use serde_json::json;

use crate::defaults::same_account;
use crate::look::{list, map_in, maps_in, some, text};

/// The account of pods that name none.
pub const DEFAULT_ACCOUNT: &str = "default";
/// Name prefix of the projected token volume.
pub const TOKEN_VOLUME_PREFIX: &str = "kube-api-access-";
/// Mount path of the token.
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Token lifetime. The odd number marks tokens requested by admission; upstream extends their validity.
const TOKEN_SECONDS: i64 = 3607;
/// Annotation of mirror pods, which a kubelet creates for its static pods.
pub(crate) const MIRROR: &str = "kubernetes.io/config.mirror";
/// Annotation of service accounts that restricts the secrets their pods may mount.
const ENFORCED: &str = "kubernetes.io/enforce-mountable-secrets";

/// True for a mirror pod, which admission does not modify.
pub fn is_mirror(pod: &Object) -> bool {
    pod.annotation(MIRROR).is_some()
}

/// The account of a pod; the default one is written into it if it names none.
pub fn name_account(pod: &mut Object) -> String {
    let spec = map_in(pod.fields_mut(), "spec");
    let named = text_of(spec, "serviceAccountName");
    if named.is_empty() {
        spec.insert("serviceAccountName".to_owned(), DEFAULT_ACCOUNT.into());
    }
    same_account(spec);
    text_of(spec, "serviceAccountName")
}

/// Gives a pod the token and the pull secrets of its account. `volume` is the name of the volume,
/// if one has to be made.
pub fn mount(pod: &mut Object, account: &Value, volume: &str) {
    let spec = map_in(pod.fields_mut(), "spec");
    let own = spec.get("automountServiceAccountToken");
    let own = own.and_then(Value::as_bool);
    let of_account = account["automountServiceAccountToken"].as_bool();
    if own.or(of_account).unwrap_or(true) {
        mount_token(spec, volume);
    }
    let secrets = list(account, "imagePullSecrets");
    let has_own = spec.get("imagePullSecrets").and_then(Value::as_array);
    if has_own.is_none_or(Vec::is_empty) && !secrets.is_empty() {
        let names = secrets.iter();
        let names = names.map(|secret| json!({ "name": text(secret, "name") }));
        spec.insert("imagePullSecrets".to_owned(), names.collect());
    }
}

fn mount_token(spec: &mut Map<String, Value>, volume: &str) {
    let volumes = spec.get("volumes").and_then(Value::as_array);
    let mut volumes = volumes.into_iter().flatten();
    let present = volumes.find(|volume| text(volume, "name").starts_with(TOKEN_VOLUME_PREFIX));
    let present = present.map(|volume| text(volume, "name").to_owned());
    let name = present.clone().unwrap_or_else(|| volume.to_owned());
    let mut is_needed = false;
    for field in ["initContainers", "containers"] {
        for container in maps_in(spec, field) {
            let mounts = container.entry("volumeMounts").or_insert(Value::Null);
            if !mounts.is_array() {
                *mounts = json!([]);
            }
            let Some(mounts) = mounts.as_array_mut() else {
                continue;
            };
            if mounts
                .iter()
                .any(|mount| text(mount, "mountPath") == TOKEN_PATH)
            {
                continue;
            }
            mounts.push(json!({ "name": name, "readOnly": true, "mountPath": TOKEN_PATH }));
            is_needed = true;
        }
    }
    if is_needed && present.is_none() {
        let volumes = spec.entry("volumes").or_insert(Value::Null);
        if !volumes.is_array() {
            *volumes = json!([]);
        }
        if let Some(volumes) = volumes.as_array_mut() {
            volumes.push(token_volume(&name));
        }
    }
}

fn token_volume(name: &str) -> Value {
    let namespace = json!({
        "path": "namespace",
        "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.namespace" },
    });
    let authority = json!({
        "name": "kube-root-ca.crt",
        "items": [{ "key": "ca.crt", "path": "ca.crt" }],
    });
    json!({
        "name": name,
        "projected": {
            "defaultMode": 420,
            "sources": [
                { "serviceAccountToken": { "expirationSeconds": TOKEN_SECONDS, "path": "token" } },
                { "configMap": authority },
                { "downwardAPI": { "items": [namespace] } },
            ],
        },
    })
}

/// Rejects mirror pods that use service accounts, secrets or service account tokens: a node must not gain access
/// through them.
pub fn check_mirror(pod: &Value) -> Result<(), &'static str> {
    let spec = &pod["spec"];
    if !text(spec, "serviceAccountName").is_empty() {
        return Err("a mirror pod may not reference service accounts");
    }
    let volumes = list(spec, "volumes");
    let has_secret = volumes.iter().any(|volume| {
        let sources = list(&volume["projected"], "sources");
        some(volume, "secret").is_some()
            || sources
                .iter()
                .any(|source| some(source, "secret").is_some())
            || SECRET_REFS
                .iter()
                .any(|(kind, field)| volume.get(kind).is_some_and(|of| some(of, field).is_some()))
    });
    let has_pull_secret = !list(spec, "imagePullSecrets").is_empty();
    let of_containers = KINDS_OF_CONTAINERS.iter().any(|(field, _)| {
        let containers = list(spec, field).iter();
        containers.flat_map(secrets_of).next().is_some()
    });
    if has_secret || has_pull_secret || of_containers {
        return Err("a mirror pod may not reference secrets");
    }
    let has_token = volumes.iter().any(|volume| {
        let sources = list(&volume["projected"], "sources");
        let mut tokens = sources.iter();
        tokens.any(|source| some(source, "serviceAccountToken").is_some())
    });
    if has_token {
        return Err("a mirror pod may not use ServiceAccountToken volume projections");
    }
    Ok(())
}

/// Sources of volumes that name a secret, and where.
const SECRET_REFS: [(&str, &str); 9] = [
    ("azureFile", "secretName"),
    ("cephfs", "secretRef"),
    ("cinder", "secretRef"),
    ("csi", "nodePublishSecretRef"),
    ("flexVolume", "secretRef"),
    ("rbd", "secretRef"),
    ("scaleIO", "secretRef"),
    ("iscsi", "secretRef"),
    ("storageos", "secretRef"),
];

/// Container lists of a pod spec, with their names in messages.
const KINDS_OF_CONTAINERS: [(&str, &str); 3] = [
    ("initContainers", "init container"),
    ("containers", "container"),
    ("ephemeralContainers", "ephemeral container"),
];

/// The secrets that a container reads its environment from, and which variable from which.
fn secrets_of(container: &Value) -> impl Iterator<Item = (Option<&str>, &str)> {
    let single = list(container, "env").iter().filter_map(|variable| {
        let secret = some(&variable["valueFrom"], "secretKeyRef")?;
        Some((Some(text(variable, "name")), text(secret, "name")))
    });
    let whole = list(container, "envFrom").iter().filter_map(|source| {
        let secret = some(source, "secretRef")?;
        Some((None, text(secret, "name")))
    });
    single.chain(whole)
}

/// Containers of a pod that an admission check visits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Containers {
    /// The containers of a new pod, and its volumes.
    Initial,
    /// The ephemeral containers that are added later.
    Ephemeral,
}

/// Rejects secrets that the service account does not list, if it enforces mountable secrets.
pub fn check_secrets(pod: &Value, account: &Value, containers: Containers) -> Result<(), String> {
    let enforced = text(&account["metadata"]["annotations"], ENFORCED);
    if !matches!(enforced, "1" | "t" | "T" | "true" | "TRUE" | "True") {
        return Ok(());
    }
    let names = |field: &str| -> BTreeSet<&str> {
        let all = list(account, field).iter();
        all.map(|secret| text(secret, "name")).collect()
    };
    let (allowed, name) = (names("secrets"), text(&account["metadata"], "name"));
    let refused = |what: String| {
        Err(format!(
            "{what} is not allowed because service account {name} does not reference that secret"
        ))
    };
    let spec = &pod["spec"];
    if containers == Containers::Initial {
        for volume in list(spec, "volumes") {
            let Some(secret) = some(volume, "secret") else {
                continue;
            };
            let secret = text(secret, "secretName");
            if !allowed.contains(secret) {
                return refused(format!("volume with secret.secretName=\"{secret}\""));
            }
        }
    }
    for (field, words) in KINDS_OF_CONTAINERS {
        if (field == "ephemeralContainers") != (containers == Containers::Ephemeral) {
            continue;
        }
        for container in list(spec, field) {
            for (variable, secret) in secrets_of(container) {
                if allowed.contains(secret) {
                    continue;
                }
                let container = text(container, "name");
                let with = match variable {
                    Some(variable) => format!("envVar {variable}"),
                    None => "envFrom".to_owned(),
                };
                return refused(format!(
                    "{words} {container} with {with} referencing secret.secretName=\"{secret}\""
                ));
            }
        }
    }
    if containers == Containers::Ephemeral {
        return Ok(());
    }
    let allowed = names("imagePullSecrets");
    for (index, secret) in list(spec, "imagePullSecrets").iter().enumerate() {
        let secret = text(secret, "name");
        if !allowed.contains(secret) {
            return Err(format!(
                "imagePullSecrets[{index}].name=\"{secret}\" is not allowed because service account {name} does not reference that imagePullSecret"
            ));
        }
    }
    Ok(())
}

fn text_of(map: &Map<String, Value>, field: &str) -> String {
    let text = map.get(field).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}
