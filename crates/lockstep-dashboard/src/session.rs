//! Sessions of viewers who came by the address that the program printed.

use sha2::{Digest as _, Sha256};

/// The most sessions at once; the oldest goes when another begins.
const SESSIONS_MAX: usize = 16;

type Digested = [u8; 32];

/// One token for the first visit, and one for each session that began with it. Tokens are kept as
/// digests, so that comparing takes as long for wrong ones as for right ones.
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

    /// Begins a session with the invitation, which is good for one, or with a session that is open,
    /// which ends. `fresh` becomes the token of the session.
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

    /// Whether a session is open.
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
