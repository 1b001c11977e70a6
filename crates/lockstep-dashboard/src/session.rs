//! Browser sessions started with the printed one-time URL.

use sha2::{Digest as _, Sha256};

/// Maximum number of sessions; a new one evicts the oldest.
const SESSIONS_MAX: usize = 16;

type Digested = [u8; 32];

/// Digests of the invitation and of session tokens. Comparing digests makes the comparison time independent of the
/// token.
#[derive(Debug)]
pub(crate) struct Sessions {
    invitation: Digested,
    is_used: bool,
    open: Vec<Digested>,
}

impl Sessions {
    pub(crate) fn new(invitation: &str) -> Self {
        Self {
            invitation: digest(invitation),
            is_used: false,
            open: Vec::new(),
        }
    }

    /// Starts a session with the one-time invitation, or replaces an open session. `fresh` becomes the session
    /// token.
    pub(crate) fn begin(&mut self, token: &str, fresh: &str) -> bool {
        let token = digest(token);
        let before = self.open.iter().position(|open| *open == token);
        let is_invited = !self.is_used && token == self.invitation;
        if before.is_none() && !is_invited {
            return false;
        }
        if let Some(before) = before {
            self.open.remove(before);
        }
        self.is_used |= is_invited;
        if self.open.len() == SESSIONS_MAX {
            self.open.remove(0);
        }
        self.open.push(digest(fresh));
        true
    }

    /// True if the session is open.
    pub(crate) fn has(&self, token: &str) -> bool {
        self.open.contains(&digest(token))
    }
}

fn digest(token: &str) -> Digested {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ux.md §8.2 U8: loopback mode uses a one-time token.
    #[test]
    fn an_invitation_is_good_once_and_a_session_goes_on() {
        let mut sessions = Sessions::new("invitation");
        assert!(!sessions.has("invitation"));
        assert!(!sessions.begin("guess", "s0"));
        assert!(sessions.begin("invitation", "s1"));
        assert!(!sessions.begin("invitation", "s2"));
        assert_eq!([sessions.has("s1"), sessions.has("s2")], [true, false]);
        assert!(sessions.begin("s1", "s3"));
        assert_eq!([sessions.has("s1"), sessions.has("s3")], [false, true]);
    }
}
