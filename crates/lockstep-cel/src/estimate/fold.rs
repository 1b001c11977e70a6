//! Cost estimate of comprehensions: the loop body times the maximum size of the range.

use super::{Estimate, Estimator, Known, Path, call};
use crate::ast::{Fold, FoldKind, NodeId};
use crate::cost;
use crate::schema::{Schema, Shape};
use crate::types::Type;

impl<'a> Estimator<'a> {
    /// Loop variables of a range: the first, and the second if there are two.
    fn loop_variables(
        &self,
        range: NodeId,
        known: &Known<'a>,
        pairs: bool,
    ) -> (Known<'a>, Known<'a>) {
        let is_list = matches!(self.checked.ty(range), Type::List(_));
        let variable = |path: Path<'a>, size: Option<Estimate>| Known {
            size,
            ..Known::at(Estimate::ONE, path)
        };
        let (key_size, value_size) = known
            .entries
            .map_or((None, None), |(key, value)| (Some(key), Some(value)));
        let items = self.items(known.path);
        let keys = match known.path {
            Path::Nowhere => Path::At(self.root),
            Path::At(Some(schema)) if matches!(schema.shape, Shape::Map(_)) => Path::At(Some(&KEY)),
            Path::At(_) => Path::At(None),
        };
        if is_list && !pairs {
            return (variable(items, value_size), variable(items, value_size));
        }
        (variable(keys, key_size), variable(items, value_size))
    }

    pub(super) fn fold(&mut self, fold: &'a Fold) -> Known<'a> {
        let range = self.node(fold.range);
        let count = self.size_or_unknown(fold.range, &range);
        let (first, second) = self.loop_variables(fold.range, &range, fold.value.is_some());
        let mut names = vec![(&*fold.variable, first)];
        names.extend(fold.value.iter().map(|value| (&**value, second)));
        let (filter, body, body_size) = self.within(&names, |estimator| {
            let filter = fold.filter.map(|filter| estimator.node(filter).cost);
            let body = estimator.node(fold.body);
            (filter, body, estimator.size_or_unknown(fold.body, &body))
        });
        let (init, step, result) = fold_costs(fold.kind, filter, body.cost);
        let total = range
            .cost
            .plus(Estimate::exactly(init + result))
            .plus(count.times(step));
        match fold.kind {
            FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne => {
                Known::sized(total, Estimate::ONE)
            }
            FoldKind::List => {
                let entries = Some((Estimate::ONE, body_size.or(Estimate::ZERO)));
                Known {
                    entries,
                    ..Known::sized(total, count)
                }
            }
            FoldKind::Map | FoldKind::MapEntry => Known::sized(total, count),
        }
    }

    pub(super) fn opt_map(
        &mut self,
        target: NodeId,
        variable: &'a str,
        body: NodeId,
        flat: bool,
    ) -> Known<'a> {
        let known = self.node(target);
        let local = Known::at(Estimate::ONE, Path::Nowhere);
        let body = self.within(&[(variable, local)], |estimator| estimator.node(body));
        let bound = known
            .cost
            .plus(Estimate::exactly(1 + cost::LIST))
            .plus(body.cost);
        let taken = if flat {
            bound
        } else {
            bound.plus(Estimate::ONE)
        };
        Known::costing(known.cost.plus(Estimate::ONE).plus(taken.or(Estimate::ONE)))
    }

    pub(super) fn sort_by(&mut self, target: NodeId, variable: &'a str, key: NodeId) -> Known<'a> {
        let known = self.node(target);
        let count = self.size_or_unknown(target, &known);
        let (element, _) = self.loop_variables(target, &known, false);
        let key = self.within(&[(variable, element)], |estimator| estimator.node(key));
        let (init, step, result) = fold_costs(FoldKind::List, None, key.cost);
        let mapped = Estimate::exactly(2 + init + result + cost::LIST).plus(count.times(step));
        let sorted = call::pairs(count);
        Known {
            entries: known.entries,
            ..Known::sized(known.cost.plus(mapped).plus(sorted), count)
        }
    }
}

/// Keys of maps have no limit of their own; they count as empty.
static KEY: Schema = Schema {
    shape: Shape::Bool,
    max: None,
    nullable: false,
    has_default: false,
};

/// Initial value, one turn with its condition, and result of a macro.
fn fold_costs(kind: FoldKind, filter: Option<Estimate>, body: Estimate) -> (u64, Estimate, u64) {
    let plus = |cost: u64| body.plus(Estimate::exactly(cost));
    let guarded = |taken: Estimate| match filter {
        Some(filter) => filter.plus(taken.or(Estimate::ONE)),
        None => taken,
    };
    match kind {
        FoldKind::All => (0, plus(3), 1),
        FoldKind::Exists => (0, plus(4), 1),
        FoldKind::ExistsOne => (0, body.plus(Estimate { min: 1, max: 2 }), 2),
        FoldKind::List => (cost::LIST, guarded(plus(2 + cost::LIST)), 1),
        FoldKind::Map => (cost::MAP, guarded(plus(3)), 1),
        FoldKind::MapEntry => (cost::MAP, guarded(plus(2)), 1),
    }
}
