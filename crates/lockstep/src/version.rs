//! `lockstep version`.

use serde_json::json;

use crate::{
    failure::Exit,
    output::{self, Format},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Exit {
    let (lockstep, kube) = (
        lockstep_gates::LOCKSTEP_VERSION,
        lockstep_gates::KUBE_VERSION,
    );
    let text = match arguments.output {
        Format::Table => format!("lockstep {lockstep} (Kubernetes v{kube} API)\n"),
        format => format.render(&output::document(
            "Version",
            json!({
                "lockstep": lockstep,
                "kubernetes": kube,
                "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
            }),
        )),
    };
    output::data(&text);
    Exit::Yes
}
