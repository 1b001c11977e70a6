//! Context of library functions during an evaluation.

use crate::dialect::Profile;
use crate::mutation::Merger;
use crate::value::{Arena, Eval, Fault, Value, code_points, decode, equal_counted};
use lockstep_gotext::re2::Pattern;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

/// Most bytes one evaluation may go over in functions whose price does not grow with them.
const UNPRICED_WORK_MAX: u64 = 200_000_000;

/// Compiling a pattern takes many times as long as reading it.
const WORK_PER_PATTERN_BYTE: usize = 1_000;

/// Going over one value of a list or map, in bytes of work.
const WORK_PER_VALUE: usize = 8;

/// The surroundings of a call.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) profile: Profile,
    work: Cell<u64>,
    /// The string measured last, by address and length, and its code points. Strings stay where they are while an
    /// evaluation borrows them.
    measured: Cell<(*const u8, usize, u64)>,
    /// Merges objects for `objects.apply`.
    merger: Option<&'a dyn Merger>,
    /// The pattern compiled last, by the address and length of its text.
    compiled: RefCell<Option<(*const u8, usize, Rc<Pattern>)>>,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(arena: &'a Arena, profile: Profile) -> Self {
        let (work, measured) = (Cell::new(0), Cell::new((std::ptr::null(), 0, 0)));
        Self {
            arena,
            profile,
            work,
            measured,
            merger: None,
            compiled: RefCell::new(None),
        }
    }

    /// Merges objects with this in `objects.apply`.
    pub(crate) fn with_merger(self, merger: Option<&'a dyn Merger>) -> Self {
        Self { merger, ..self }
    }

    /// Merges objects for `objects.apply`; none where no schema is known.
    pub(crate) fn merger(&self) -> Option<&'a dyn Merger> {
        self.merger
    }

    /// Compiles a pattern computed at run time; the last one is cached for loops. `complaint` is the prefix of
    /// its error.
    pub(crate) fn pattern(&self, text: &'a str, complaint: &str) -> Result<Rc<Pattern>, Fault<'a>> {
        if let Some((address, length, pattern)) = &*self.compiled.borrow()
            && (*address, *length) == (text.as_ptr(), text.len())
        {
            return Ok(Rc::clone(pattern));
        }
        self.work(text.len().saturating_mul(WORK_PER_PATTERN_BYTE))?;
        let pattern = Pattern::compile_at_run_time(text)
            .map_err(|error| self.fault(format_args!("{complaint}{error}")))?;
        let pattern = Rc::new(pattern);
        let compiled = (text.as_ptr(), text.len(), Rc::clone(&pattern));
        self.compiled.replace(Some(compiled));
        Ok(pattern)
    }

    /// Charges work on bytes that no cost covers.
    pub(crate) fn work(&self, bytes: usize) -> Result<(), Fault<'a>> {
        let work = self.work.get().saturating_add(bytes as u64);
        self.work.set(work);
        if work > UNPRICED_WORK_MAX {
            Err(Fault::Work)
        } else {
            Ok(())
        }
    }

    /// The `==` of the language, counted: lists and maps are priced by their own size, whatever they hold.
    pub(crate) fn equal(&self, left: &Value<'_>, right: &Value<'_>) -> Result<bool, Fault<'a>> {
        let mut compared = 0;
        let same = equal_counted(left, right, &mut compared);
        self.work(compared.saturating_mul(WORK_PER_VALUE))?;
        Ok(same)
    }

    /// The place of the first value that equals another; values that cannot be read equal nothing.
    pub(crate) fn position(
        &self,
        values: impl Iterator<Item = Eval<'a>>,
        wanted: &Value<'_>,
    ) -> Result<Option<usize>, Fault<'a>> {
        for (index, value) in values.enumerate() {
            if let Ok(value) = value
                && self.equal(&value, wanted)?
            {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// The code points of a string; measuring the same long string again is free.
    pub(crate) fn code_points(&self, text: &'a str) -> Result<u64, Fault<'a>> {
        let (address, length, count) = self.measured.get();
        if (address, length) == (text.as_ptr(), text.len()) {
            return Ok(count);
        }
        self.work(text.len())?;
        let count = code_points(text);
        self.measured.set((text.as_ptr(), text.len(), count));
        Ok(count)
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
