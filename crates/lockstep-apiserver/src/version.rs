//! Version of this build.

use lockstep_featuregate::Gates;
use serde_json::{Value, json};

/// Kubernetes version that the server reports, followed by the Lockstep version.
pub fn git_version() -> String {
    let (kube, lockstep) = (
        lockstep_gates::KUBE_VERSION,
        lockstep_gates::LOCKSTEP_VERSION,
    );
    format!("v{kube}+lockstep.{lockstep}")
}

/// Body of `/version`, with all of upstream's keys.
pub(crate) fn document(gates: &Gates) -> Value {
    let (major, minor) = halves(lockstep_gates::KUBE_VERSION);
    let (emulation, compatible) = (gates.emulation(), gates.min_compatibility());
    json!({
        "major": major,
        "minor": minor,
        "emulationMajor": emulation.major().to_string(),
        "emulationMinor": emulation.minor().to_string(),
        "minCompatibilityMajor": compatible.major().to_string(),
        "minCompatibilityMinor": compatible.minor().to_string(),
        "gitVersion": git_version(),
        "gitCommit": option_env!("LOCKSTEP_GIT_COMMIT").unwrap_or_default(),
        "gitTreeState": option_env!("LOCKSTEP_GIT_TREE_STATE").unwrap_or_default(),
        "buildDate": option_env!("LOCKSTEP_BUILD_DATE").unwrap_or("1970-01-01T00:00:00Z"),
        "goVersion": "",
        "compiler": "rustc",
        "platform": platform(),
    })
}

/// `os/architecture` in Go's names.
pub fn platform() -> String {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    format!("{os}/{architecture}")
}

fn halves(version: &str) -> (String, String) {
    let mut numbers = version.split('.').map(str::to_owned);
    let mut next = || numbers.next().unwrap_or_default();
    (next(), next())
}
