//! Field manager of a write.

use std::borrow::Cow;

use lockstep_object::ApiError;
use lockstep_object::field::{FieldError, Path};
use lockstep_object::go::is_printable;

use super::Request;
use crate::route::Verb;

/// Longest name of a field manager.
const MANAGER_BYTES_MAX: usize = 128;

impl Request<'_> {
    /// `fieldManager`, or the default that is derived from `User-Agent`.
    pub(super) fn field_manager(&self) -> Result<Cow<'_, str>, ApiError> {
        self.check_force()?;
        Ok(match self.named_manager()? {
            Some(manager) => Cow::Borrowed(manager),
            None => Cow::Owned(of_agent(self.agent)),
        })
    }

    /// `fieldManager` of an apply patch, where it is required.
    pub(super) fn applier(&self) -> Result<&str, ApiError> {
        self.named_manager()?.ok_or_else(|| {
            let path = Path::ROOT.field("fieldManager");
            self.invalid_options(FieldError::required(&path, "is required for apply patch"))
        })
    }

    fn named_manager(&self) -> Result<Option<&str>, ApiError> {
        let manager = self.query.get("fieldManager").unwrap_or_default();
        let path = Path::ROOT.field("fieldManager");
        if manager.len() > MANAGER_BYTES_MAX {
            let error = FieldError::too_long(&path, MANAGER_BYTES_MAX);
            return Err(self.invalid_options(error));
        }
        let bad = manager.char_indices().find(|(_, c)| !is_printable(*c));
        if let Some((at, character)) = bad {
            let code = u32::from(character);
            let detail = format!("invalid character U+{code:04X} (at position {at})");
            let error = FieldError::invalid(&path, manager, detail);
            return Err(self.invalid_options(error));
        }
        Ok((!manager.is_empty()).then_some(manager))
    }

    /// Rejects `force` on patches other than apply.
    fn check_force(&self) -> Result<(), ApiError> {
        if self.route.verb == Verb::Patch && self.query.get("force").is_some() {
            let path = Path::ROOT.field("force");
            let error = FieldError::forbidden(&path, "may not be specified for non-apply patch");
            return Err(self.invalid_options(error));
        }
        Ok(())
    }
}

/// Default field manager: the `User-Agent` up to the first slash, printable characters only.
fn of_agent(agent: &str) -> String {
    let first = agent.split('/').next().unwrap_or_default();
    let mut name = String::new();
    for character in first.chars().filter(|c| is_printable(*c)) {
        if name.len() + character.len_utf8() > MANAGER_BYTES_MAX {
            break;
        }
        name.push(character);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manager_is_the_agent_up_to_the_first_slash() {
        for (agent, manager) in [
            ("kubectl/v1.36.0 (linux/amd64) kubernetes/abc", "kubectl"),
            ("curl", "curl"),
            ("", ""),
            ("/x", ""),
            ("a\u{7}b/1", "ab"),
        ] {
            assert_eq!(of_agent(agent), manager);
        }
        assert_eq!(of_agent(&"ä".repeat(100)), "ä".repeat(64));
    }
}
