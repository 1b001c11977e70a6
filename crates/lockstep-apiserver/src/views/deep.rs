//! Work that recurses as deep as documents nest.

use std::io;
use std::thread;

use lockstep_object::yaml::YAML_STACK_BYTES;

/// The stack of such work: writing goes deeper than reading, as JSON may nest deeper than YAML.
const STACK_BYTES: usize = 4 * YAML_STACK_BYTES;

/// Reads or writes YAML on a thread that has the stack for the deepest document there can be. Fails
/// if the system gives no thread.
pub(crate) fn on_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(STACK_BYTES);
        let running = builder.spawn_scoped(scope, work)?;
        let done = running.join();
        Ok(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
