//! Captures panic messages.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// The panic message of `body`.
pub(crate) fn panic_text(body: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(body)).expect_err("it must panic");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().expect("a text")).to_owned(),
    }
}
