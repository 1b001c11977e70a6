//! Gates of fields of custom resources, as kube-rs meets them on the real binary.

mod crontabs;
#[path = "../../../../lockstep-fieldgate/tests/rows/definition.rs"]
mod definition;
mod flips;
mod tables;
mod typed;

use std::ffi::OsStr;

/// The flags of a server that looks at gates of fields.
fn on() -> [&'static OsStr; 2] {
    ["--feature-gates", "CRDFieldLevelVersioning=true"].map(OsStr::new)
}
