//! Evaluation of comprehensions. Each kind has a dedicated loop, charged with the cost of the macro's expansion.

use super::Machine;
use super::overload::no_range;
use crate::ast::FoldKind;
use crate::plan::Fold;
use crate::value::{BuiltMap, Eval, Fault, List, Map, Value, equal, key_order};
use std::cmp::Ordering;

/// Reading the accumulator and asking whether to go on.
const ALL_CONDITION: u64 = 2;
const EXISTS_CONDITION: u64 = 3;
/// Reading the accumulator in the step of `all` and `exists`.
const LOGIC_STEP: u64 = 1;
/// Accumulator, new list, addition.
pub(super) const LIST_STEP: u64 = 12;
/// Step cost if the accumulated list is a constant.
pub(super) const CONSTANT_LIST_STEP: u64 = 2;
const COUNT_STEP: u64 = 2;
/// Accumulator, key, insertion.
const MAP_STEP: u64 = 3;
/// Only the accumulator is read once it is a fault.
const FAILED_MAP_STEP: u64 = 1;
const MAP_ENTRY_STEP: u64 = 2;
pub(super) const RESULT: u64 = 1;
const COUNT_RESULT: u64 = 2;

impl<'a> Machine<'a, '_, '_> {
    #[inline(never)]
    pub(super) fn fold(&mut self, fold: &'a Fold) -> Eval<'a> {
        match self.step(fold.range)? {
            Value::List(list) => self.fold_list(fold, list),
            Value::Map(map) => self.fold_map(fold, map),
            other => Err(no_range(&self.scope, &other, fold.value_slot.is_some())),
        }
    }

    fn fold_list(&mut self, fold: &'a Fold, list: List<'a>) -> Eval<'a> {
        let mut progress = Progress::new(fold.kind, self.arena());
        for index in 0..list.len() {
            if self.ends(&progress.state)? {
                break;
            }
            let element = self.scope.settle(list.at(index))?;
            match fold.value_slot {
                None => self.locals[fold.slot] = element,
                Some(value_slot) => {
                    self.locals[fold.slot] = Value::Int(i64::try_from(index).unwrap_or(i64::MAX));
                    self.locals[value_slot] = element;
                }
            }
            self.turn(fold, &mut progress)?;
        }
        self.result(progress)
    }

    fn fold_map(&mut self, fold: &'a Fold, map: Map<'a>) -> Eval<'a> {
        let mut progress = Progress::new(fold.kind, self.arena());
        for (key, value) in map.entries() {
            if self.ends(&progress.state)? {
                break;
            }
            self.locals[fold.slot] = key;
            if let Some(value_slot) = fold.value_slot {
                self.locals[value_slot] = self.scope.settle(value)?;
            }
            self.turn(fold, &mut progress)?;
        }
        self.result(progress)
    }

    /// Charges the loop condition; returns true if the loop ends.
    fn ends(&mut self, state: &State<'a>) -> Result<bool, Fault<'a>> {
        self.budget.step()?;
        match state {
            State::Logic {
                stop: false,
                outcome,
            } => {
                self.budget.charge(ALL_CONDITION)?;
                Ok(matches!(outcome, Ok(false)))
            }
            State::Logic {
                stop: true,
                outcome,
            } => {
                self.budget.charge(EXISTS_CONDITION)?;
                Ok(matches!(outcome, Ok(true)))
            }
            _ => Ok(false),
        }
    }

    /// One turn of the loop. Loops go on after a fault, as upstream's do, so that they cost what they cost there; a
    /// predicate that fails takes the place of what failed before.
    fn turn(&mut self, fold: &'a Fold, progress: &mut Progress<'a>) -> Result<(), Fault<'a>> {
        if let Some(filter) = fold.filter {
            let fault = match self.step(filter) {
                Ok(Value::Bool(true)) => None,
                Ok(Value::Bool(false)) => return Ok(()),
                Ok(_) => Some(Fault::NoSuchOverload),
                Err(fault) if fault.is_final() => return Err(fault),
                Err(fault) => Some(fault),
            };
            if fault.is_some() {
                progress.fault = fault;
                return Ok(());
            }
        }
        match self.add(fold, &mut progress.state, progress.fault.is_some()) {
            Err(fault) if fault.is_final() => return Err(fault),
            Err(fault) if matches!(progress.state, State::Count(_)) => progress.fault = Some(fault),
            Err(fault) => progress.fault = progress.fault.or(Some(fault)),
            Ok(()) => {}
        }
        Ok(())
    }

    /// Adds the result of one iteration; ignored once the loop has failed.
    fn add(
        &mut self,
        fold: &'a Fold,
        state: &mut State<'a>,
        failed: bool,
    ) -> Result<(), Fault<'a>> {
        match state {
            State::Logic { stop, outcome } => {
                self.budget.charge(LOGIC_STEP)?;
                let term = self.step(fold.body);
                absorb(*stop, outcome, term)
            }
            State::Count(count) => match self.step(fold.body)? {
                Value::Bool(true) => {
                    self.budget.charge(COUNT_STEP)?;
                    *count += 1;
                    Ok(())
                }
                Value::Bool(false) => Ok(()),
                _ => Err(Fault::NoSuchOverload),
            },
            State::List(values) => {
                self.budget.charge(if fold.constant_body {
                    CONSTANT_LIST_STEP
                } else {
                    LIST_STEP
                })?;
                let value = self.step(fold.body)?;
                if failed {
                    return Ok(());
                }
                if values.len().is_power_of_two() {
                    self.scope
                        .arena
                        .room(values.len() * size_of::<Value<'_>>())?;
                }
                values.push(value);
                Ok(())
            }
            State::Map { whole: false, .. } if failed => self.budget.charge(FAILED_MAP_STEP),
            State::Map {
                entries,
                whole: false,
            } => {
                self.budget.charge(MAP_STEP)?;
                let value = self.step(fold.body)?;
                entries.push((self.locals[fold.slot], value));
                Ok(())
            }
            State::Map {
                entries,
                whole: true,
            } => {
                self.budget.charge(MAP_ENTRY_STEP)?;
                match self.step(fold.body)? {
                    Value::Map(_) if failed => Ok(()),
                    Value::Map(map) => {
                        for (key, value) in map.entries() {
                            entries.push((key, value?));
                        }
                        Ok(())
                    }
                    _ => Err(Fault::NoSuchOverload),
                }
            }
        }
    }

    fn result(&mut self, progress: Progress<'a>) -> Eval<'a> {
        let counts = matches!(progress.state, State::Count(_));
        self.budget
            .charge(if counts { COUNT_RESULT } else { RESULT })?;
        if let Some(fault) = progress.fault {
            return Err(fault);
        }
        match progress.state {
            State::Logic { outcome, .. } => outcome.map(Value::Bool),
            State::Count(count) => Ok(Value::Bool(count == 1)),
            State::List(values) => Ok(Value::List(List::Built(values.into_bump_slice()))),
            State::Map { mut entries, .. } => {
                self.unique(&mut entries)?;
                let map = BuiltMap {
                    entries: entries.into_bump_slice(),
                    omitted: &[],
                };
                Ok(Value::Map(Map::Built(self.arena().put(map))))
            }
        }
    }

    /// Sorts entries by key; a key that comes twice is an error.
    fn unique(&mut self, entries: &mut [(Value<'a>, Value<'a>)]) -> Result<(), Fault<'a>> {
        entries.sort_by(|(left, _), (right, _)| key_order(left, right).unwrap_or(Ordering::Equal));
        match entries
            .windows(2)
            .find(|pair| equal(&pair[0].0, &pair[1].0))
        {
            Some(pair) => {
                let key = Fault::NoSuchKey(pair[0].0).to_string();
                let key = key.trim_start_matches("no such key: ");
                Err(self
                    .scope
                    .fault(format_args!("insert failed: key {key} already exists")))
            }
            None => Ok(()),
        }
    }
}

/// Adds one term to `all` (`stop` is false) or `exists`; a deciding term beats an earlier fault.
fn absorb<'a>(
    stop: bool,
    outcome: &mut Result<bool, Fault<'a>>,
    term: Eval<'a>,
) -> Result<(), Fault<'a>> {
    match term {
        Ok(Value::Bool(value)) if value == stop => *outcome = Ok(stop),
        Ok(Value::Bool(_)) => {}
        Err(fault) if fault.is_final() => return Err(fault),
        Ok(_) if outcome.is_ok() => *outcome = Err(Fault::NoSuchOverload),
        Err(fault) if outcome.is_ok() => *outcome = Err(fault),
        _ => {}
    }
    Ok(())
}

/// Accumulated result and error of a loop.
struct Progress<'a> {
    state: State<'a>,
    fault: Option<Fault<'a>>,
}

impl<'a> Progress<'a> {
    fn new(kind: FoldKind, arena: &'a crate::value::Arena) -> Self {
        Self {
            state: State::new(kind, arena),
            fault: None,
        }
    }
}

/// Accumulator of a comprehension.
enum State<'a> {
    Logic {
        stop: bool,
        outcome: Result<bool, Fault<'a>>,
    },
    Count(u64),
    List(bumpalo::collections::Vec<'a, Value<'a>>),
    Map {
        entries: bumpalo::collections::Vec<'a, (Value<'a>, Value<'a>)>,
        whole: bool,
    },
}

impl<'a> State<'a> {
    fn new(kind: FoldKind, arena: &'a crate::value::Arena) -> Self {
        match kind {
            FoldKind::All => Self::Logic {
                stop: false,
                outcome: Ok(true),
            },
            FoldKind::Exists => Self::Logic {
                stop: true,
                outcome: Ok(false),
            },
            FoldKind::ExistsOne => Self::Count(0),
            FoldKind::List => Self::List(arena.vec()),
            FoldKind::Map => Self::Map {
                entries: arena.vec(),
                whole: false,
            },
            FoldKind::MapEntry => Self::Map {
                entries: arena.vec(),
                whole: true,
            },
        }
    }
}
