//! The deadline of a request, from the server's limit and `?timeout=`.

use std::time::Duration;

use lockstep_gotext::duration::Duration as GoDuration;

use crate::failure::Refusal;
use crate::request::Request;

/// Time limit of a request, or `None` for a watch. `?timeout=` can only shorten the server's limit: a value that is
/// empty, zero, negative or longer leaves the limit unchanged, as upstream does.
pub(super) fn of(request: &Request, longest: Duration) -> Result<Option<Duration>, Refusal> {
    if request.info.is_long_running() {
        return Ok(None);
    }
    let requested = match request.query.get("timeout") {
        None | Some("") => return Ok(Some(longest)),
        Some(text) => GoDuration::parse(text)
            .map_err(|error| Refusal::BadTimeout(error.to_string()))?
            .to_std_positive(),
    };
    Ok(Some(
        requested
            .filter(|requested| *requested < longest)
            .unwrap_or(longest),
    ))
}
