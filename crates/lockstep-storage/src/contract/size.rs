//! Contract of [`Store::size`](crate::Store::size).

use super::Subject;
use super::subject::within_timeout;

const VALUE_BYTES: usize = 256 << 10;
const VALUES: usize = 8;

pub(super) async fn the_size_reaches_what_was_written(subject: Subject) {
    let value = "v".repeat(VALUE_BYTES);
    for nth in 0..VALUES {
        subject.put(&nth.to_string(), &value).await;
    }
    let reached = async {
        while subject.size().await < (VALUE_BYTES * VALUES) as u64 {
            tokio::task::yield_now().await;
        }
    };
    within_timeout(reached).await;
}
