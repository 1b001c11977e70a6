//! Modules of npm packages, fetched at one version and turned into JSON.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::process;

/// Programs that fetch, unpack and read a package.
pub(super) const PROGRAMS: [&str; 3] = ["node", "npm", "tar"];

/// One module of an npm package.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Npm {
    pub(crate) package: &'static str,
    pub(crate) version: &'static str,
    /// Digest of the package file, as `package-lock.json` writes it.
    pub(crate) integrity: &'static str,
    /// `CommonJS` module inside the package. It must be plain data: its dependencies are not fetched.
    pub(crate) module: &'static str,
}

/// Prints the digest of the file named by the first argument.
const DIGEST: &str = "process.stdout.write('sha512-' + require('crypto').createHash('sha512')\
    .update(require('fs').readFileSync(process.argv[1])).digest('base64'))";

/// Writes the exports of the module named by the first argument as JSON into the second.
const EXPORTS: &str = "require('fs').writeFileSync(process.argv[2], \
    JSON.stringify(require(process.argv[1])))";

impl Npm {
    /// JSON file with the exports of the module. Its folder names the version, so another version is fetched again.
    pub(super) fn exports(&self, tools: &Path) -> PathBuf {
        let module = Path::new(self.module).with_extension("json");
        self.folder(tools)
            .join(module.file_name().unwrap_or_default())
    }

    fn folder(&self, tools: &Path) -> PathBuf {
        let name = self.package.rsplit('/').next().unwrap_or(self.package);
        tools.join(format!("{name}-{}", self.version))
    }

    /// Fetches the package, compares its digest and writes the exports. False if a program failed.
    pub(super) fn install(&self, tools: &Path) -> anyhow::Result<bool> {
        let folder = self.folder(tools);
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("making `{}`", folder.display()))?;
        let scratch = tempfile::tempdir_in(&folder).context("making a temporary folder")?;
        let mut npm = Command::new("npm");
        npm.args(["pack", "--silent", "--ignore-scripts"])
            .arg(format!("{}@{}", self.package, self.version))
            .current_dir(scratch.path());
        if !process::succeeds(&mut npm)? {
            return Ok(false);
        }
        self.unpack(scratch.path(), &self.exports(tools))
    }

    /// Checks the one package file in `scratch`, and writes the exports of its module to `place`.
    fn unpack(&self, scratch: &Path, place: &Path) -> anyhow::Result<bool> {
        let archive = std::fs::read_dir(scratch)?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|extension| extension == "tgz"))
            .context("npm left no package file")?;
        let digest = process::output_of(Command::new("node").args(["-e", DIGEST]).arg(&archive))?;
        anyhow::ensure!(
            digest == self.integrity,
            "the digest of {}@{} is {digest}, not {}",
            self.package,
            self.version,
            self.integrity
        );
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(&archive).arg("-C").arg(scratch);
        // The archive has one folder at its top, by npm's convention `package`.
        tar.args(["--strip-components", "1"]);
        if !process::succeeds(&mut tar)? {
            return Ok(false);
        }
        let written = scratch.join("exports.json");
        let mut node = Command::new("node");
        node.args(["-e", EXPORTS])
            .args([&scratch.join(self.module), &written]);
        if !process::succeeds(&mut node)? {
            return Ok(false);
        }
        // Renamed when complete, so that an interrupted run leaves nothing that looks installed.
        std::fs::rename(&written, place)
            .with_context(|| format!("writing `{}`", place.display()))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package file with one module, and its digest.
    fn packed(scratch: &Path) -> Option<String> {
        if PROGRAMS
            .iter()
            .any(|name| process::find_in_path(name).is_none())
        {
            println!("SKIPPED: no `node`, `npm` and `tar` to unpack a package with");
            return None;
        }
        let package = scratch.join("package");
        std::fs::create_dir(&package).expect("made");
        std::fs::write(package.join("odd.js"), "exports.cases = [1, 'two'];").expect("written");
        let archive = scratch.join("odd.tgz");
        let mut tar = Command::new("tar");
        tar.arg("-czf").arg(&archive).arg("-C").arg(scratch);
        assert!(process::succeeds(tar.arg("package")).expect("tar runs"));
        let mut node = Command::new("node");
        Some(process::output_of(node.args(["-e", DIGEST]).arg(&archive)).expect("node runs"))
    }

    fn odd(integrity: String) -> Npm {
        Npm {
            package: "odd",
            version: "1.2.3",
            integrity: integrity.leak(),
            module: "odd.js",
        }
    }

    #[test]
    fn the_exports_of_a_module_become_json() {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let Some(digest) = packed(scratch.path()) else {
            return;
        };
        let place = scratch.path().join("odd.json");
        let is_done = odd(digest).unpack(scratch.path(), &place);
        assert!(is_done.expect("the digest is right"));
        let json = std::fs::read_to_string(place).expect("written");
        assert_eq!(json, r#"{"cases":[1,"two"]}"#);
    }

    #[test]
    fn a_package_with_another_digest_is_refused() {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let Some(digest) = packed(scratch.path()) else {
            return;
        };
        let place = scratch.path().join("odd.json");
        let refused = odd("sha512-other".to_owned()).unpack(scratch.path(), &place);
        assert_eq!(
            refused.expect_err("the digest is wrong").to_string(),
            format!("the digest of odd@1.2.3 is {digest}, not sha512-other")
        );
        assert!(!place.exists());
    }
}
