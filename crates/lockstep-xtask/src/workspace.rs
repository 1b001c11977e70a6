//! Where the workspace is.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::metadata::Metadata;
use crate::process;

/// The checkout that the chore was started in.
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The workspace around the current directory.
    pub(crate) fn locate() -> anyhow::Result<Self> {
        let printed = process::output_of(process::cargo(Path::new(".")).args([
            "locate-project",
            "--workspace",
            "--message-format",
            "plain",
        ]))?;
        let manifest = PathBuf::from(printed.trim());
        let root = manifest
            .parent()
            .context("the root manifest has a folder")?;
        Ok(Self {
            root: root.to_owned(),
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Build folder of cargo.
    pub(crate) fn target(&self) -> PathBuf {
        let told = std::env::var_os("CARGO_TARGET_DIR");
        told.map_or_else(|| self.root.join("target"), PathBuf::from)
    }

    /// Where fetched programs go; inside `target`, so `cargo clean` takes them along.
    pub(crate) fn tools(&self) -> PathBuf {
        self.root.join("target").join("tools")
    }

    /// The resolved dependency graph, with the features that the workspace enables.
    pub(crate) fn metadata(&self) -> anyhow::Result<Metadata> {
        let printed = process::output_of(process::cargo(&self.root).args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
        ]))
        .context("reading the dependency graph (`cargo check` refreshes a stale Cargo.lock)")?;
        Metadata::parse(&printed)
    }
}
