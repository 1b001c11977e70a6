//! `sortBy`: computes keys, then sorts by them.

use super::Machine;
use super::fold::{CONSTANT_LIST_STEP, LIST_STEP, RESULT};
use super::overload::no_range;
use crate::plan::SortBy;
use crate::value::{Eval, Fault, List, Value, compare};
use std::cmp::Ordering;

/// The function that sorts, once the keys are known.
const SORT_BY: &str = "@sortByAssociatedKeys";
/// Reading the list for its keys and again to sort it.
const READS: u64 = 2;

/// Elements with their keys.
type Pairs<'a> = bumpalo::collections::Vec<'a, (Value<'a>, Value<'a>)>;

impl<'a> Machine<'a, '_, '_> {
    #[inline(never)]
    pub(super) fn sort_by(&mut self, sort: &'a SortBy) -> Eval<'a> {
        let target = self.step(sort.target);
        if let Err(fault) = target
            && fault.is_final()
        {
            return Err(fault);
        }
        self.budget.charge(READS)?;
        let keyed = match target {
            Ok(Value::List(list)) => self.keyed(sort, list.values())?,
            Ok(Value::Map(map)) => {
                let keyed = self.keyed(sort, map.entries().map(|(key, _)| Ok(key)))?;
                keyed.and(Err(Fault::NoSuchOverloadOf(SORT_BY)))
            }
            _ => {
                self.budget.charge(RESULT)?;
                return Err(no_range(&self.scope, &target?, false));
            }
        };
        match keyed {
            Ok(pairs) => self.sorted(sort, target?, pairs),
            Err(fault) => {
                self.budget.charge(1)?;
                Err(fault)
            }
        }
    }

    /// The elements with their keys, or the first key error; like other loops it continues after an error.
    fn keyed(
        &mut self,
        sort: &'a SortBy,
        elements: impl Iterator<Item = Eval<'a>>,
    ) -> Result<Result<Pairs<'a>, Fault<'a>>, Fault<'a>> {
        let step = if sort.constant_key {
            CONSTANT_LIST_STEP
        } else {
            LIST_STEP
        };
        let mut keyed = Ok(self.arena().vec());
        for element in elements {
            self.budget.step()?;
            self.budget.charge(step)?;
            let element = self.scope.settle(element)?;
            self.locals[sort.slot] = element;
            match (self.step(sort.key), &mut keyed) {
                (Ok(key), Ok(pairs)) => pairs.push((key, element)),
                (Err(fault), _) if fault.is_final() => return Err(fault),
                (Err(fault), Ok(_)) => keyed = Err(fault),
                (_, Err(_)) => {}
            }
        }
        self.budget.charge(RESULT)?;
        Ok(keyed)
    }

    fn sorted(&mut self, sort: &'a SortBy, list: Value<'a>, mut pairs: Pairs<'a>) -> Eval<'a> {
        let mut keys = self.arena().vec_with(pairs.len());
        keys.extend(pairs.iter().map(|(key, _)| *key));
        let keys: &[Value<'a>] = keys.into_bump_slice();
        let arguments = [list, Value::List(List::Built(keys))];
        self.budget.charge(sort.cost.of(&arguments))?;
        crate::library::ordered(keys)?;
        pairs.sort_by(|(left, _), (right, _)| {
            compare(left, right).flatten().unwrap_or(Ordering::Equal)
        });
        let mut sorted = self.arena().vec_with(pairs.len());
        sorted.extend(pairs.iter().map(|(_, element)| *element));
        Ok(Value::List(List::Built(sorted.into_bump_slice())))
    }
}
