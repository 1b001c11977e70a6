//! Rust code from protobuf definitions, without a compiler that would have to be installed.

use std::path::Path;

use anyhow::Context;

/// Where the definitions are, told from the root of the repository.
pub(super) const DEFINITIONS: &str = "crates/lockstep-etcd-api/proto";

/// Messages, clients and servers of one protobuf package.
pub(super) fn produce(root: &Path, package: &str) -> anyhow::Result<String> {
    let folder = root.join(DEFINITIONS);
    let files = definitions(&folder).with_context(|| format!("reading `{DEFINITIONS}`"))?;
    let set = protox::compile(files, [&folder])?;
    let out = tempfile::tempdir()?;
    tonic_prost_build::configure()
        .bytes(".")
        .build_transport(false)
        .out_dir(out.path())
        .compile_fds(set)?;
    let code = std::fs::read_to_string(out.path().join(format!("{package}.rs")));
    code.with_context(|| format!("no definition is in package `{package}`"))
}

/// All definitions, by name, so that their order is the same everywhere.
fn definitions(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "proto")
        {
            let name = path.file_name().and_then(|name| name.to_str());
            names.extend(name.map(str::to_owned));
        }
    }
    names.sort();
    Ok(names)
}
