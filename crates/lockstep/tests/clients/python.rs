//! The Python client (api-machinery.md §15/python).

use std::path::{Path, PathBuf};
use std::process::Command;

use lockstep_testkit::processes::skipped;

use crate::server::on_each_store;

/// Python with a package, of which the variable names a file; none if the package is not installed.
pub(crate) fn python(variable: &str, package: &str) -> Option<impl Fn() -> Command + use<>> {
    let file = PathBuf::from(std::env::var_os(variable).unwrap_or_default());
    // Python wants the folder of packages.
    let packages = file
        .ancestors()
        .nth(2)
        .map(Path::to_owned)
        .unwrap_or_default();
    let python = move || {
        let mut command = Command::new("python3");
        command
            .env("PYTHONPATH", &packages)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        command
    };
    let import = format!("import {package}");
    let known = python().args(["-c", &import]).output();
    known
        .is_ok_and(|output| output.status.success())
        .then_some(python)
}

#[tokio::test]
async fn the_python_client_works() {
    let Some(python) = python("LOCKSTEP_TEST_PYTHON_CLIENT", "kubernetes") else {
        skipped(
            "the Python package kubernetes is not installed, so nobody drove the server with it",
        );
        return;
    };
    on_each_store(async |server| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/suite.py");
        let output = python()
            .arg(script)
            .env("KUBECONFIG", server.kubeconfig())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        assert!(said.contains("\nOK\n"), "{said}");
    })
    .await;
}
