//! Access log: one line per logged request.

use std::time::Duration;

use super::cut;
use crate::clock::{self, Moment};
use crate::request::Request;
use crate::response::Response;

/// Duration above which a request is slow and is logged above debug level.
const SLOW: Duration = Duration::from_secs(1);
/// Longest logged prefix of a text that the client chose.
const TEXT_BYTES_MAX: usize = 512;

/// Logs a request: at debug level, or above it if the request was slow or failed. Headers and bodies are never logged.
pub(super) fn record(request: &Request, response: &Response, received: Moment) {
    let took = clock::now().steady - received.steady;
    let code = response.status().as_u16();
    let slow = took > SLOW && !request.info.is_long_running();
    if code < 500 && !slow && !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    let target = request
        .uri
        .path_and_query()
        .map_or("", |target| target.as_str());
    let agent = request.headers.get(http::header::USER_AGENT);
    let agent = agent
        .and_then(|agent| agent.to_str().ok())
        .unwrap_or_default();
    macro_rules! line {
        ($level:ident) => {
            tracing::$level!(
                verb = request.info.verb,
                uri = cut(target, TEXT_BYTES_MAX),
                code,
                ms = took.as_secs_f64() * 1e3,
                user = cut(&request.user.name, TEXT_BYTES_MAX),
                peer = %request.peer,
                user_agent = cut(agent, TEXT_BYTES_MAX),
                audit_id = request.notes.audit_id(),
                "request"
            )
        };
    }
    if code >= 500 {
        line!(warn);
    } else if slow {
        line!(info);
    } else {
        line!(debug);
    }
}
