//! The Python client.

use std::path::Path;
use std::process::Command;

use crate::server::on_each_store;

#[tokio::test]
async fn the_python_client_works() {
    let library = std::env::var_os("LOCKSTEP_TEST_PYTHON_CLIENT").unwrap_or_default();
    // The variable names a file of the package; Python wants the folder of packages.
    let packages = Path::new(&library)
        .ancestors()
        .nth(2)
        .unwrap_or(Path::new(""))
        .to_owned();
    let python = || {
        let mut command = Command::new("python3");
        command
            .env("PYTHONPATH", &packages)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        command
    };
    let known = python().args(["-c", "import kubernetes"]).output();
    if !known.is_ok_and(|output| output.status.success()) {
        println!(
            "SKIPPED: the Python package kubernetes is not installed, so nobody drove the server with it"
        );
        return;
    }
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
