//! Bounded waiting for a condition that another process or task brings about.

use std::fmt::Debug;
use std::time::Duration;

/// Longest wait of `eventually` and `eventually_sync`: generous, but shorter than the minute after which nextest
/// kills a test, so that the last answer is printed.
const WAIT_MAX: Duration = Duration::from_secs(40);
/// Pause between two probes.
const PROBE_INTERVAL: Duration = Duration::from_millis(5);

/// Calls `probe` until it returns `Ok`, and returns that value.
///
/// # Panics
///
/// After 40 seconds, with `what` and the last `Err`.
#[cfg(feature = "tokio")]
pub async fn eventually<T, A: Debug>(
    what: &str,
    mut probe: impl AsyncFnMut() -> Result<T, A>,
) -> T {
    let until = tokio::time::Instant::now() + WAIT_MAX;
    loop {
        match probe().await {
            Ok(found) => return found,
            Err(last) if tokio::time::Instant::now() >= until => give_up(what, &last),
            Err(_) => tokio::time::sleep(PROBE_INTERVAL).await,
        }
    }
}

/// Form of `eventually` for tests without a runtime.
///
/// # Panics
///
/// After 40 seconds, with `what` and the last `Err`.
#[expect(
    clippy::disallowed_methods,
    reason = "a test that waits for another process has no other clock"
)]
pub fn eventually_sync<T, A: Debug>(what: &str, mut probe: impl FnMut() -> Result<T, A>) -> T {
    let until = std::time::Instant::now() + WAIT_MAX;
    loop {
        match probe() {
            Ok(found) => return found,
            Err(last) if std::time::Instant::now() >= until => give_up(what, &last),
            Err(_) => std::thread::sleep(PROBE_INTERVAL),
        }
    }
}

fn give_up(what: &str, last: &dyn Debug) -> ! {
    panic!("gave up after {WAIT_MAX:?}: {what}; last answer: {last:#?}")
}

/// `Ok` if the condition holds, otherwise the answer that shows why not: the result of most probes.
pub fn holds<A>(condition: bool, answer: A) -> Result<(), A> {
    if condition { Ok(()) } else { Err(answer) }
}

#[cfg(all(test, feature = "tokio"))]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_first_ok_ends_the_wait() {
        let mut probes = 0;
        let found = eventually("three probes", async || {
            probes += 1;
            holds(probes == 3, probes).map(|()| probes)
        });
        assert_eq!(found.await, 3);
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "gave up after 40s: a miracle; last answer: \"still none\"")]
    async fn the_last_answer_is_printed_when_the_time_is_up() {
        eventually("a miracle", async || Err::<(), _>("still none")).await;
    }
}
