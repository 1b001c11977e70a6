//! Arena for values built during an evaluation.

use super::{Fault, Opaque, Value};
use bumpalo::Bump;
use serde_json::Value as Json;
use std::fmt;

/// Most bytes one evaluation may build.
pub(crate) const ARENA_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Most opaque values for which a reset arena keeps room.
const OPAQUES_KEPT_MAX: usize = 1_000;

/// Arena that owns the values of an evaluation. Reset it between evaluations to reuse its memory.
#[derive(Default)]
pub struct Arena {
    bump: Bump,
    opaques: OpaqueArena,
    documents: Documents,
}

/// JSON made during an evaluation.
struct Documents(typed_arena::Arena<Json>);

impl Default for Documents {
    fn default() -> Self {
        Self(typed_arena::Arena::with_capacity(0))
    }
}

struct OpaqueArena(typed_arena::Arena<Opaque>);

impl Default for OpaqueArena {
    fn default() -> Self {
        Self(typed_arena::Arena::with_capacity(0))
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena")
            .field("bytes", &self.bump.allocated_bytes())
            .finish_non_exhaustive()
    }
}

impl Arena {
    /// An arena that holds no memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all values but keeps the memory.
    pub fn reset(&mut self) {
        self.bump.reset();
        if self.documents.0.len() > 0 {
            self.documents = Documents::default();
        }
        let used = self.opaques.0.len();
        if used > 0 {
            let kept = used.min(OPAQUES_KEPT_MAX);
            self.opaques = OpaqueArena(typed_arena::Arena::with_capacity(kept));
        }
    }

    /// Refuses to go on once too much was built; `more` bytes are about to be added.
    pub(crate) fn room<'a>(&self, more: usize) -> Result<(), Fault<'a>> {
        let used = self.bump.allocated_bytes();
        if used.saturating_add(more) > ARENA_BYTES_MAX {
            Err(Fault::Memory)
        } else {
            Ok(())
        }
    }

    pub(crate) fn text(&self, text: &str) -> &str {
        self.bump.alloc_str(text)
    }

    /// A string made of parts, built in place.
    pub(crate) fn concat<'a>(&'a self, parts: &[&str]) -> Result<&'a str, Fault<'a>> {
        let length = parts.iter().map(|part| part.len()).sum();
        self.room(length)?;
        let mut text = bumpalo::collections::String::with_capacity_in(length, &self.bump);
        for part in parts {
            text.push_str(part);
        }
        Ok(text.into_bump_str())
    }

    pub(crate) fn fault(&self, text: impl fmt::Display) -> Fault<'_> {
        Fault::Text(bumpalo::format!(in &self.bump, "{}", text).into_bump_str())
    }

    pub(crate) fn bytes(&self, bytes: &[u8]) -> &[u8] {
        self.bump.alloc_slice_copy(bytes)
    }

    pub(crate) fn put<T: Copy>(&self, value: T) -> &T {
        self.bump.alloc(value)
    }

    pub(crate) fn slice<T: Copy>(&self, values: &[T]) -> &[T] {
        self.bump.alloc_slice_copy(values)
    }

    /// Storage for loop variables.
    pub(crate) fn slots(&self, count: usize) -> &mut [Value<'_>] {
        self.bump.alloc_slice_fill_copy(count, Value::Null)
    }

    /// A growable vector of `Copy` items in the arena.
    pub(crate) fn vec<T>(&self) -> bumpalo::collections::Vec<'_, T> {
        bumpalo::collections::Vec::new_in(&self.bump)
    }

    pub(crate) fn vec_with<T>(&self, capacity: usize) -> bumpalo::collections::Vec<'_, T> {
        bumpalo::collections::Vec::with_capacity_in(capacity, &self.bump)
    }

    pub(crate) fn document(&self, document: Json) -> &Json {
        self.documents.0.alloc(document)
    }

    pub(crate) fn opaque(&self, opaque: Opaque) -> Value<'_> {
        Value::Opaque(self.opaques.0.alloc(opaque))
    }
}
