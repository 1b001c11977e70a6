//! Planning of comprehensions.

use super::build::Planner;
use super::{Fold, Op, Step};
use crate::ast;

impl Planner<'_> {
    pub(super) fn fold(&mut self, fold: &ast::Fold) -> Step {
        let range = self.node(fold.range);
        let (slot, value_slot, filter, body) =
            self.with_local(&fold.variable, |planner, slot| match &fold.value {
                None => {
                    let (filter, body) = planner.fold_body(fold);
                    (slot, None, filter, body)
                }
                Some(value) => planner.with_local(value, |planner, value_slot| {
                    let (filter, body) = planner.fold_body(fold);
                    (slot, Some(value_slot), filter, body)
                }),
            });
        let constant_body = self.constant_of(body).is_some();
        self.push(Op::Fold(Box::new(Fold {
            kind: fold.kind,
            range,
            slot,
            value_slot,
            filter,
            body,
            constant_body,
        })))
    }

    fn fold_body(&mut self, fold: &ast::Fold) -> (Option<Step>, Step) {
        let filter = fold.filter.map(|filter| self.node(filter));
        (filter, self.node(fold.body))
    }
}
