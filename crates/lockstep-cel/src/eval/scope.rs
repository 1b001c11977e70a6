//! What library functions may use.

use crate::env::Profile;
use crate::value::{Arena, Eval, Fault, Value, decode};
use std::fmt;

/// The surroundings of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) profile: Profile,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(arena: &'a Arena, profile: Profile) -> Self {
        Self { arena, profile }
    }

    /// A fault with a text made on the spot.
    pub(crate) fn fault(&self, text: impl fmt::Display) -> Fault<'a> {
        self.arena.fault(text)
    }

    /// A new string.
    pub(crate) fn text(&self, text: &str) -> Eval<'a> {
        self.arena.room(text.len())?;
        Ok(Value::String(self.arena.text(text)))
    }

    /// An optional that holds a value.
    pub(crate) fn some(&self, value: Value<'a>) -> Value<'a> {
        Value::Optional(Some(self.arena.put(value)))
    }

    /// Decodes bytes of typed data now that there is a place for them.
    pub(crate) fn settle(&self, value: Eval<'a>) -> Eval<'a> {
        match value {
            Err(Fault::Encoded(text)) => match decode(text) {
                Some(bytes) => Ok(Value::Bytes(self.arena.bytes(&bytes))),
                None => Err(Fault::Encoded(text)),
            },
            other => other,
        }
    }
}
