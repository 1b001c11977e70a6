//! Cost and result size estimates of calls.

use super::{Estimate, Estimator, Known, Path, path_size};
use crate::ast::{Expr, Literal, NodeId};
use crate::check::Reference;
use crate::cost::Cost;
use crate::dialect::Feature;
use crate::types::Type;

/// Length of the longest regular expression of a named format.
const FORMAT_PATTERN_SIZE_MAX: u64 = 128;
const NEW_LIST: Estimate = Estimate::exactly(11);

/// An operand of a call.
struct Operand<'a> {
    node: NodeId,
    known: Known<'a>,
    size: Estimate,
}

/// Each of `count` elements compared with each.
pub(super) fn pairs(count: Estimate) -> Estimate {
    count
        .times(count)
        .times(Estimate::exactly(2))
        .plus(NEW_LIST)
}

impl<'a> Estimator<'a> {
    pub(super) fn call(
        &mut self,
        node: NodeId,
        function: &str,
        target: Option<NodeId>,
        args: &[NodeId],
    ) -> Known<'a> {
        let Reference::Call {
            overloads,
            namespaced,
        } = self.checked.reference(node)
        else {
            return Known::costing(Estimate::ZERO);
        };
        let receiver = target.filter(|_| !namespaced);
        let nodes = receiver.iter().chain(args).copied();
        let operands: Vec<Operand<'a>> = nodes.map(|node| self.operand(node)).collect();
        let arguments = operands
            .iter()
            .fold(Estimate::ZERO, |sum, operand| sum.plus(operand.known.cost));
        if function == "dyn" && operands.len() == 1 {
            return Known {
                cost: arguments.plus(Estimate::ONE),
                path: Path::Nowhere,
                size: Some(operands[0].size),
                ..operands[0].known
            };
        }
        let mut price: Option<Estimate> = None;
        for &index in overloads {
            let overload = self.env.functions.overload(index);
            let found = self.price(overload.cost, function, &operands);
            price = Some(price.map_or(found, |price| price.or(found)));
        }
        let total = arguments.plus(price.unwrap_or(Estimate::ONE));
        let size = self.result_size(function, &operands);
        let entries = match function {
            "_+_" => match (operands[0].known.entries, operands[1].known.entries) {
                (Some(a), Some(b)) => Some((a.0.or(b.0), a.1.or(b.1))),
                _ => None,
            },
            _ => None,
        };
        Known {
            size,
            entries,
            ..Known::costing(total)
        }
    }

    fn operand(&mut self, node: NodeId) -> Operand<'a> {
        let known = self.node(node);
        Operand {
            node,
            known,
            size: self.size_or_unknown(node, &known),
        }
    }

    /// The price of one overload, without its arguments.
    fn price(&self, cost: Cost, function: &str, operands: &[Operand<'a>]) -> Estimate {
        let size = |index: usize| {
            operands
                .get(index)
                .map_or(Estimate::UNKNOWN, |operand| operand.size)
        };
        match cost {
            Cost::One => Estimate::ONE,
            Cost::Fixed(cost) => Estimate::exactly(cost),
            // The shorter text decides, so the prefix is what counts.
            Cost::Tenth if matches!(function, "startsWith" | "endsWith") => size(1).tenths(1),
            Cost::Tenth => size(0).tenths(1),
            Cost::Fifth => size(0).tenths(2),
            Cost::Smaller => {
                let max = size(0).max.min(size(1).max);
                Estimate {
                    min: u64::from(max > 0),
                    max,
                }
                .tenths(1)
            }
            Cost::Nodes => size(0).plus(size(1)).tenths(1).plus(Estimate::ONE),
            Cost::Both => size(0).plus(size(1)).tenths(1),
            Cost::Second => size(1),
            Cost::Search => size(0).tenths(1).times(size(1).tenths(1)),
            Cost::Regex => size(0)
                .plus(Estimate::ONE)
                .tenths(1)
                .times(size(1).quarter()),
            Cost::Join => self.joined(operands).tenths(1),
            Cost::Elements => self.elements(&operands[0]),
            Cost::NewList => NEW_LIST.plus(self.new_list(function, operands)),
            Cost::Flatten => NEW_LIST.plus(size(0).times(self.depth(operands))),
            Cost::Pairs => pairs(size(0)),
            Cost::Product(factor) => size(0)
                .times(size(1))
                .times(Estimate::exactly(factor))
                .plus(Estimate::ONE),
            Cost::ContainsIp => network_price(false),
            Cost::ContainsIpText => network_price(false).plus(size(1).tenths(1)),
            Cost::ContainsCidr => network_price(true),
            Cost::ContainsCidrText => network_price(true).plus(size(1).tenths(1)),
            Cost::Selector => {
                let half = Estimate {
                    min: size(1).min.div_ceil(2),
                    max: size(1).max.div_ceil(2),
                };
                size(1)
                    .tenths(1)
                    .plus(half.times(Estimate::exactly(50)))
                    .plus(Estimate::exactly(10))
            }
            Cost::Validate => {
                let pattern = Estimate::exactly(FORMAT_PATTERN_SIZE_MAX).quarter();
                size(1).plus(Estimate::ONE).tenths(1).times(pattern)
            }
        }
    }

    /// One for each element, and a tenth of the longest text each.
    fn elements(&self, list: &Operand<'a>) -> Estimate {
        let Type::List(element) = self.checked.ty(list.node) else {
            return list.size.tenths(1);
        };
        let each = match **element {
            Type::String | Type::Bytes => Estimate::ONE.plus(self.element_size(list).tenths(1)),
            _ => Estimate::ONE,
        };
        list.size.times(each)
    }

    /// Size of a list's elements according to its schema.
    fn element_size(&self, list: &Operand<'a>) -> Estimate {
        if matches!(list.known.path, Path::Nowhere) {
            return Estimate::UNKNOWN;
        }
        let element = Known::at(Estimate::ZERO, self.items(list.known.path));
        path_size(&element).unwrap_or(Estimate::UNKNOWN)
    }

    fn joined(&self, operands: &[Operand<'a>]) -> Estimate {
        let list = operands[0].size;
        let parts = list.times(self.element_size(&operands[0]));
        let separator = operands
            .get(1)
            .map_or(Estimate::ZERO, |separator| separator.size);
        let gaps = Estimate {
            min: list.min.saturating_sub(1),
            max: list.max.saturating_sub(1),
        };
        parts.plus(separator.times(gaps))
    }

    /// The size of the list that `range`, `slice` and others return.
    fn new_list(&self, function: &str, operands: &[Operand<'a>]) -> Estimate {
        let most = operands[0].size.max;
        match function {
            "range" => Estimate::exactly(self.count(operands, 0, u64::MAX)),
            "slice" => {
                let (start, end) = (self.count(operands, 1, 0), self.count(operands, 2, most));
                // An end before the start has no honest size; no budget covers such a rule.
                Estimate::exactly(end.checked_sub(start).unwrap_or(u64::MAX))
            }
            _ => Estimate::up_to(most),
        }
    }

    fn depth(&self, operands: &[Operand<'a>]) -> Estimate {
        match operands.len() {
            1 => Estimate::ONE,
            _ => Estimate::exactly(self.count(operands, 1, u64::MAX)),
        }
    }

    /// A number that is written down, if it is, and never below zero.
    fn count(&self, operands: &[Operand<'a>], index: usize, unknown: u64) -> u64 {
        let written = self.constant_int(operands, index);
        written.map_or(unknown, |count| u64::try_from(count).unwrap_or(0))
    }

    fn constant_int(&self, operands: &[Operand<'a>], index: usize) -> Option<i64> {
        match self.ast.expr(operands.get(index)?.node) {
            Expr::Literal(Literal::Int(value)) => Some(*value),
            _ => None,
        }
    }

    /// Size of a call's result, if it follows from its operands.
    fn result_size(&self, function: &str, operands: &[Operand<'a>]) -> Option<Estimate> {
        let size = |index: usize| operands[index].size;
        match function {
            "_+_" => Some(size(0).plus(size(1))).filter(|_| !self.is_number(operands)),
            "lowerAscii" | "upperAscii" | "substring" | "trim" => Some(size(0)),
            "replace" if operands.len() >= 3 => Some(replaced(size(0), size(1), size(2))),
            "split" => match self.constant_int(operands, 2) {
                Some(limit) if limit >= 0 => Some(Estimate::up_to(limit.unsigned_abs())),
                _ => Some(Estimate::up_to(size(0).max)),
            },
            "find" | "findAll" => Some(Estimate::up_to(size(0).max)),
            "join" => Some(self.joined(operands)),
            "bytes" => Some(Estimate {
                min: size(0).min,
                max: size(0).max.saturating_mul(4),
            }),
            "quote" => Some(Estimate {
                min: size(0).min.saturating_add(2),
                max: size(0).max.saturating_mul(2).saturating_add(2),
            }),
            "range" => Some(self.new_list(function, operands)),
            "sort" | "reverse" | "distinct" | "slice" | "flatten"
                if self.env.has(Feature::ListsExt) =>
            {
                Some(self.new_list(function, operands))
                    .filter(|_| matches!(self.checked.ty(operands[0].node), Type::List(_)))
            }
            _ => None,
        }
    }

    fn is_number(&self, operands: &[Operand<'a>]) -> bool {
        !matches!(
            self.checked.ty(operands[0].node),
            Type::String | Type::Bytes | Type::List(_) | Type::Dyn
        )
    }
}

/// Comparing the bytes of two addresses of either family, and of a prefix if both are networks.
fn network_price(networks: bool) -> Estimate {
    let bytes = Estimate { min: 4, max: 16 };
    let compared = bytes.plus(bytes).tenths(1);
    if networks {
        compared.plus(bytes.tenths(1)).plus(Estimate::ONE)
    } else {
        compared
    }
}

/// The longest text `replace` can make, and the shortest.
fn replaced(text: Estimate, old: Estimate, new: Estimate) -> Estimate {
    let longest = if old.min == 0 {
        text.max
            .saturating_add(1)
            .saturating_mul(new.max)
            .saturating_add(text.max)
    } else if new.max <= old.min {
        text.max
    } else {
        text.max.div_ceil(old.min).saturating_mul(new.max)
    };
    let shortest = if old.max == 0 {
        text.min
            .saturating_add(1)
            .saturating_mul(new.min)
            .saturating_add(text.min)
    } else if old.max <= new.min {
        text.min
    } else {
        text.min.div_ceil(old.max).saturating_mul(new.min)
    };
    Estimate {
        min: shortest,
        max: longest,
    }
}
