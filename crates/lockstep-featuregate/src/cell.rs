//! Storage of a gate's value: one byte, so that a read is one load.

use std::sync::atomic::{AtomicU8, Ordering};

pub(crate) const ABSENT: u8 = 0;
pub(crate) const OFF: u8 = 1;
pub(crate) const ON: u8 = 2;

pub(crate) const fn of(value: bool) -> u8 {
    if value { ON } else { OFF }
}

/// The byte. The second implementation is the model checker's, in the tests below.
pub(crate) trait Cell {
    fn load(&self) -> u8;
    fn store(&self, value: u8);
}

/// Relaxed ordering is enough: a gate synchronises no other data, and all readers see the writes of one location in
/// one order.
impl Cell for AtomicU8 {
    #[inline]
    fn load(&self) -> u8 {
        AtomicU8::load(self, Ordering::Relaxed)
    }

    #[inline]
    fn store(&self, value: u8) {
        AtomicU8::store(self, value, Ordering::Relaxed);
    }
}

/// Reads a gate.
#[inline]
pub(crate) fn is_on(cell: &impl Cell) -> bool {
    cell.load() == ON
}

/// Writes a gate's value to all of its cells.
pub(crate) fn switch<'a, C: Cell + 'a>(cells: impl IntoIterator<Item = &'a C>, value: bool) {
    for cell in cells {
        cell.store(of(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::{sync::Arc, sync::atomic as model, thread};

    impl Cell for model::AtomicU8 {
        fn load(&self) -> u8 {
            model::AtomicU8::load(self, Ordering::Relaxed)
        }

        fn store(&self, value: u8) {
            model::AtomicU8::store(self, value, Ordering::Relaxed);
        }
    }

    /// feature-gates.md §7/threads: every interleaving of one flip and two readers.
    #[test]
    fn a_reader_of_a_flipping_gate_sees_old_or_new_and_never_old_after_new() {
        loom::model(|| {
            let cell = Arc::new(model::AtomicU8::new(of(false)));
            let readers: Vec<_> = (0..2)
                .map(|_| {
                    let cell = Arc::clone(&cell);
                    thread::spawn(move || {
                        let seen = [is_on(&*cell), is_on(&*cell)];
                        assert!(seen.is_sorted(), "went back to the old value: {seen:?}");
                    })
                })
                .collect();
            switch([&*cell], true);
            for reader in readers {
                reader.join().expect("a reader only asserts");
            }
            assert!(
                is_on(&*cell),
                "the writer's own value is seen after the end"
            );
        });
    }
}
