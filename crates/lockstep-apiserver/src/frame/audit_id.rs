//! Audit IDs, which identify a request in all logs.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderMap;

/// Longest `Audit-ID` accepted from a client; a longer one is replaced.
const AUDIT_ID_BYTES_MAX: usize = 64;

/// Valid `Audit-ID` of the client, or a new one.
pub(super) fn choose(headers: &HeaderMap) -> String {
    let given = headers
        .get("audit-id")
        .and_then(|value| value.to_str().ok());
    let given = given.filter(|text| is_valid(text));
    given.map_or_else(fresh, str::to_owned)
}

/// New audit ID: hashes of a counter under random keys. IDs have to be unique but not secret, so the keys are drawn
/// once per process and not per request.
fn fresh() -> String {
    static KEYS: LazyLock<[RandomState; 2]> = LazyLock::new(Default::default);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nth = COUNT.fetch_add(1, Ordering::Relaxed);
    let [high, low] = KEYS.each_ref().map(|key| u128::from(key.hash_one(nth)));
    let random = (high << 64 | low).to_be_bytes();
    let id = uuid::Builder::from_random_bytes(random).into_uuid();
    id.to_string()
}

fn is_valid(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    !text.is_empty() && text.len() <= AUDIT_ID_BYTES_MAX && text.bytes().all(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valid_id_is_kept_and_others_are_replaced() {
        let choose = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("audit-id", text.parse().unwrap());
            choose(&headers)
        };
        assert_eq!(choose("abc-1"), "abc-1");
        for wrong in ["", "a b", "a\"b", &"x".repeat(65)] {
            let new = choose(wrong);
            assert_eq!(new.len(), 36, "{wrong}");
            assert_ne!(new, choose(wrong));
        }
    }
}
