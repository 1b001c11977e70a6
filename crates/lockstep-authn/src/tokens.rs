//! Static tokens from a file: `token,user,uid,"group1,group2"` on each line.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::User;
use crate::trust::{FileError, read_file};

/// Errors of a token file.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A malformed line.
    #[error("token file `{}`: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The problem and its line. Never shows a token.
        what: String,
    },
}

/// Users by token. Tokens are stored as digests, so that a lookup takes no longer the more of a token is right, and no
/// token can be read from memory or a log.
pub struct Tokens {
    users: HashMap<[u8; 32], Arc<User>>,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens")
            .field("count", &self.users.len())
            .finish()
    }
}

impl Tokens {
    /// Reads a token file.
    pub fn load(path: &Path) -> Result<Self, TokenFileError> {
        Self::parse(&read_file(path)?).map_err(|what| TokenFileError::Line {
            path: path.to_owned(),
            what,
        })
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut reader = csv::ReaderBuilder::new();
        let reader = reader.has_headers(false).flexible(true);
        let mut users = HashMap::new();
        for (at, line) in reader.from_reader(bytes).records().enumerate() {
            let number = at + 1;
            let line = line.map_err(|_| format!("line {number} is not comma-separated text"))?;
            let field = |at: usize| line.get(at).unwrap_or_default().trim().to_owned();
            if line.len() < 3 {
                return Err(format!(
                    "line {number} must have at least 3 columns (token, user name, user uid), found {}",
                    line.len()
                ));
            }
            let (token, name) = (field(0), field(1));
            if token.is_empty() || name.is_empty() {
                return Err(format!("line {number} has an empty token or user name"));
            }
            let groups = field(3);
            let groups = groups
                .split(',')
                .map(str::trim)
                .filter(|group| !group.is_empty());
            let groups = groups.map(str::to_owned).collect();
            let user = Arc::new(User::authenticated(name, field(2), groups));
            if users.insert(digest(&token), user).is_some() {
                return Err(format!("line {number} repeats a token"));
            }
        }
        Ok(Self { users })
    }

    /// Looks up the user of a token.
    pub(crate) fn user(&self, token: &str) -> Option<Arc<User>> {
        self.users.get(&digest(token)).cloned()
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_token_user_uid_and_groups() {
        let tokens = Tokens::parse(b"t1,alice,7,\"dev, ops\"\nt2,bob,8\n").unwrap();
        let alice = tokens.user("t1").unwrap();
        assert_eq!(
            *alice,
            User::authenticated("alice".into(), "7".into(), vec!["dev".into(), "ops".into()])
        );
        assert_eq!(alice.groups, ["dev", "ops", "system:authenticated"]);
        let bob = tokens.user("t2").unwrap();
        assert_eq!(bob.groups, ["system:authenticated"]);
        assert_eq!(tokens.user("t3"), None);
    }

    #[test]
    fn a_broken_file_is_reported_by_line_and_shows_no_token() {
        for (text, expected) in [
            (
                "t1,alice\n",
                "line 1 must have at least 3 columns (token, user name, user uid), found 2",
            ),
            ("t1,a,1\n,b,2\n", "line 2 has an empty token or user name"),
            ("t1,a,1\nt1,b,2\n", "line 2 repeats a token"),
        ] {
            let parsed = Tokens::parse(text.as_bytes()).map(|_| ());
            assert_eq!(parsed, Err(expected.to_owned()), "{text}");
        }
    }
}
