//! Rust code from protobuf definitions, without a compiler that would have to be installed.

use std::fmt::Write;
use std::path::Path;

use anyhow::Context;
use protox::Compiler;

/// Where the definitions are, told from the root of the repository.
pub(super) const DEFINITIONS: &str = "crates/lockstep-etcd-api/proto";

/// Bytes on a line of the descriptors.
const LINE_BYTES: usize = 32;

/// Messages, clients and servers of one protobuf package.
pub(super) fn produce(root: &Path, package: &str) -> anyhow::Result<String> {
    let set = compiled(root)?.file_descriptor_set();
    let out = tempfile::tempdir()?;
    tonic_prost_build::configure()
        .bytes(".")
        .build_transport(false)
        .out_dir(out.path())
        .compile_fds(set)?;
    let code = std::fs::read_to_string(out.path().join(format!("{package}.rs")));
    code.with_context(|| format!("no definition is in package `{package}`"))
}

/// All definitions as a constant, for code that learns of messages when it runs.
pub(super) fn descriptors(root: &Path) -> anyhow::Result<String> {
    let bytes = compiled(root)?.encode_file_descriptor_set();
    let mut code = String::from(
        "/// Every file in `proto/`, as an encoded `google.protobuf.FileDescriptorSet`.\n\
         pub const DESCRIPTORS: &[u8] = b\"\\\n",
    );
    for line in bytes.chunks(LINE_BYTES) {
        for byte in line {
            write!(code, "\\x{byte:02x}").expect("writing to a string succeeds");
        }
        code.push_str("\\\n");
    }
    code.push_str("\";\n");
    Ok(code)
}

fn compiled(root: &Path) -> anyhow::Result<Compiler> {
    let folder = root.join(DEFINITIONS);
    let files = definitions(&folder).with_context(|| format!("reading `{DEFINITIONS}`"))?;
    let mut compiler = Compiler::new([&folder])?;
    compiler.include_imports(true).open_files(files)?;
    Ok(compiler)
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
