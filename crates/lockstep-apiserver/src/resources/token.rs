//! `continue` tokens of lists.

use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::{DecodeError, Engine};
use lockstep_object::ApiError;
use lockstep_storage::Revision;
use serde::{Deserialize, Serialize};

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

/// Content of a `continue` token, opaque to clients. It has upstream's form, extended by the number of objects in
/// earlier pages.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Token {
    v: String,
    /// Revision of the list; negative if the list continues at the current revision.
    rv: i64,
    /// Key, relative to the bucket, after which the page begins, followed by a zero byte.
    start: String,
    /// Number of objects in earlier pages.
    seen: usize,
}

impl Token {
    pub(super) fn new(at: Option<Revision>, after: &[u8], seen: usize) -> Self {
        let revision = at.map(|at| i64::try_from(at.0).unwrap_or(i64::MAX));
        Self {
            v: TOKEN_VERSION.to_owned(),
            rv: revision.unwrap_or(-1),
            start: format!("{}\0", String::from_utf8_lossy(after)),
            seen,
        }
    }

    /// Revision of the list; none if it continues at the current revision.
    pub(super) fn revision(&self) -> Option<Revision> {
        u64::try_from(self.rv).ok().map(Revision)
    }

    /// The key after which the page begins.
    pub(super) fn after(&self) -> &str {
        self.start.trim_end_matches('\0')
    }

    /// Number of objects in earlier pages.
    pub(super) fn seen(&self) -> usize {
        self.seen
    }

    pub(super) fn to_text(&self) -> String {
        let bytes = serde_json::to_vec(self).expect("texts and numbers can be printed");
        URL_SAFE_NO_PAD.encode(bytes)
    }

    pub(super) fn parse(text: &str) -> Result<Self, ApiError> {
        let bad = |why: &str| {
            ApiError::bad_request(format!(
                "invalid continue token: continue key is not valid: {why}"
            ))
        };
        let bytes =
            URL_SAFE_NO_PAD
                .decode(text.trim_end_matches('='))
                .map_err(|error| match error {
                    DecodeError::InvalidByte(place, _) => {
                        bad(&format!("illegal base64 data at input byte {place}"))
                    }
                    _ => bad("illegal base64 data"),
                })?;
        let token: Self = serde_json::from_slice(&bytes).map_err(|_| bad("it is no token"))?;
        if token.v != TOKEN_VERSION {
            let why = format!("server does not recognize this encoded version {}", token.v);
            return Err(bad(&why));
        }
        if token.rv == 0 {
            return Err(bad(
                "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
            ));
        }
        if token.start.is_empty() {
            return Err(bad("encoded start key empty (version meta.k8s.io/v1)"));
        }
        Ok(token)
    }
}
