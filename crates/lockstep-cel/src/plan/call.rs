//! Planning of calls: resolved overloads are called directly, constant conversions are folded.

use super::build::Planner;
use super::{Call, Candidate, Dispatch, Op, Regex, RegexKind, SortBy, Step};
use crate::ast::NodeId;
use crate::check::{Reference, dotted};
use crate::cost::Cost;
use crate::scope::Scope;
use crate::value::{Arena, Constant, code_points};
use lockstep_gotext::re2::Pattern;

/// Conversions of constants are computed when planned.
const CONVERSIONS: [&str; 10] = [
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "int",
    "string",
    "timestamp",
    "type",
    "uint",
];
/// Functions of constants that are computed when planned but cost what running them would.
const CONSTRUCTORS: [&str; 5] = ["cidr", "ip", "quantity", "semver", "url"];
/// Most arguments of a function.
pub(crate) const ARGUMENTS_MAX: usize = 4;

impl Planner<'_> {
    pub(super) fn call(
        &mut self,
        node: NodeId,
        function: &str,
        target: Option<NodeId>,
        args: &[NodeId],
    ) -> Step {
        let (function, receiver, overloads) = self.overloads(node, function, target, args);
        let nodes: Vec<NodeId> = receiver.iter().chain(args).copied().collect();
        let steps = self.nodes(&nodes);
        match (&*function, &*steps) {
            ("_==_", [left, right]) => return self.push(Op::Equal(*left, *right)),
            ("_!=_", [left, right]) => return self.push(Op::NotEqual(*left, *right)),
            ("!_", [operand]) => return self.push(Op::Not(*operand)),
            ("or" | "orValue", [target, other]) if receiver.is_some() => {
                let value = &*function == "orValue";
                return self.push(Op::OptionalOr {
                    target: *target,
                    other: *other,
                    value,
                });
            }
            ("@in", [needle, list]) => {
                if let Some(step) = self.membership(*needle, *list, &overloads) {
                    return step;
                }
            }
            ("matches" | "find" | "findAll", [text, pattern, rest @ ..]) => {
                if let Some(step) = self.regex(&function, *text, *pattern, rest.first().copied()) {
                    return step;
                }
            }
            _ => {}
        }
        if CONVERSIONS.contains(&&*function)
            && steps.len() == 1
            && let Some(step) = self.conversion(&overloads, steps[0])
        {
            return step;
        }
        if CONSTRUCTORS.contains(&&*function)
            && let Some(step) = self.construct(&overloads, &steps)
        {
            return step;
        }
        self.invoke(function, steps, &overloads)
    }

    /// Folds a constructor with constant arguments; a failing one is evaluated at run time, where it reports its error.
    fn construct(&mut self, overloads: &[u32], steps: &[Step]) -> Option<Step> {
        let [overload] = overloads else { return None };
        let overload = self.env.functions.overload(*overload);
        let args: Option<Vec<_>> = steps.iter().map(|&step| self.view(step)).collect();
        let args = args?;
        let arena = Arena::new();
        let value = (overload.run)(&Scope::new(&arena, self.env.profile), &args).ok()?;
        let computed = Op::Computed(Constant::of(&value)?, overload.cost.of(&args));
        Some(self.push(computed))
    }

    /// The function's full name, its receiver unless that is a namespace, and the overloads that may run.
    fn overloads(
        &self,
        node: NodeId,
        function: &str,
        target: Option<NodeId>,
        args: &[NodeId],
    ) -> (Box<str>, Option<NodeId>, Vec<u32>) {
        if let Reference::Call {
            overloads,
            namespaced,
        } = self.reference(node)
        {
            return match target {
                Some(target) if !namespaced => (function.into(), Some(target), overloads.clone()),
                Some(target) => {
                    let full = dotted(self.ast, target)
                        .map_or_else(|| function.to_owned(), |name| format!("{name}.{function}"));
                    (full.into(), None, overloads.clone())
                }
                None => (function.into(), None, overloads.clone()),
            };
        }
        if let Some(target) = target
            && let Some(namespace) = dotted(self.ast, target)
        {
            let candidates = self.env.candidates(&format!("{namespace}.{function}"));
            if let Some(full) = candidates
                .into_iter()
                .find(|full| self.env.functions.named(full).is_some())
            {
                let overloads = self.by_arity(&full, false, args.len());
                return (full, None, overloads);
            }
        }
        let candidates = self.env.candidates(function);
        let full = candidates
            .into_iter()
            .find(|full| self.env.functions.named(full).is_some());
        let full = full.unwrap_or_else(|| function.into());
        let count = args.len() + usize::from(target.is_some());
        let overloads = self.by_arity(&full, target.is_some(), count);
        (full, target, overloads)
    }

    fn by_arity(&self, function: &str, member: bool, count: usize) -> Vec<u32> {
        let all = self
            .env
            .functions
            .named(function)
            .unwrap_or_default()
            .iter()
            .copied();
        all.filter(|&index| {
            let overload = self.env.functions.overload(index);
            overload.member == member && overload.params.len() == count
        })
        .collect()
    }

    fn invoke(&mut self, function: Box<str>, args: Box<[Step]>, overloads: &[u32]) -> Step {
        if overloads.is_empty()
            && self.is_kubernetes()
            && self.env.functions.named(&function).is_some()
        {
            self.refuse(format!("no such overload: {function}"));
        }
        if args.len() > ARGUMENTS_MAX || overloads.is_empty() {
            return self.push(Op::Fail(format!("no such overload: {function}").into()));
        }
        let functions = &self.env.functions;
        let first = functions.overload(overloads[0]);
        let cost = match overloads {
            [_] => first.cost,
            _ => self.ambiguous_cost(overloads),
        };
        // Upstream collects the arguments of a function with several overloads, and of `format`, one by one.
        let operator = function.starts_with(['_', '-', '!', '@']);
        let stops_early =
            args.len() > 2 || &*function == "format" || (overloads.len() > 1 && !operator);
        // Overloads with one implementation leave it to look at the values.
        let alike = |index: &u32| std::ptr::fn_addr_eq(functions.overload(*index).run, first.run);
        if overloads.iter().all(alike) {
            let run = first.run;
            return self.push(Op::Call(Box::new(Call {
                function,
                args,
                run,
                cost,
                stops_early,
            })));
        }
        let candidate = |index: &u32| {
            let overload = functions.overload(*index);
            Candidate {
                params: overload.params.clone().into(),
                run: overload.run,
            }
        };
        let candidates = overloads.iter().map(candidate).collect();
        self.push(Op::Dispatch(Box::new(Dispatch {
            function,
            args,
            candidates,
            cost,
            stops_early,
        })))
    }

    fn ambiguous_cost(&self, overloads: &[u32]) -> Cost {
        let mut costs = overloads
            .iter()
            .map(|&index| self.env.functions.overload(index).cost.of_any_overload());
        let first = costs.next().unwrap_or(Cost::One);
        if costs.all(|cost| cost == first) {
            first
        } else {
            Cost::One
        }
    }

    /// Membership in a constant list of plain values is free.
    fn membership(&mut self, needle: Step, list: Step, overloads: &[u32]) -> Option<Step> {
        let in_list =
            matches!(overloads, [index] if &*self.env.functions.overload(*index).id == "in_list");
        let constant = self
            .constant_of(list)
            .filter(|_| in_list || self.checked.is_none())?;
        let Constant::List(elements) = constant else {
            return None;
        };
        if elements.is_empty() {
            return Some(self.constant(Constant::Bool(false)));
        }
        let plain = |element: &Constant| {
            matches!(
                element,
                Constant::Bool(_)
                    | Constant::Int(_)
                    | Constant::Uint(_)
                    | Constant::Double(_)
                    | Constant::String(_)
            )
        };
        if !elements.iter().all(plain) {
            return None;
        }
        let list = constant.clone();
        Some(self.push(Op::InConstants { needle, list }))
    }

    fn regex(
        &mut self,
        function: &str,
        text: Step,
        pattern: Step,
        limit: Option<Step>,
    ) -> Option<Step> {
        let Some(Constant::String(source)) = self.constant_of(pattern) else {
            return None;
        };
        let pattern_size = code_points(source);
        let kind = match function {
            "matches" => RegexKind::Matches,
            "find" => RegexKind::Find,
            _ => RegexKind::FindAll,
        };
        match Pattern::compile(source) {
            Ok(pattern) => Some(self.push(Op::Regex(Box::new(Regex {
                kind,
                text,
                pattern,
                pattern_size,
                limit,
            })))),
            Err(error) if self.is_kubernetes() => {
                self.refuse(error.to_string());
                None
            }
            Err(_) => None,
        }
    }

    /// Runs a conversion of a constant now. In the specification's profile a failure stays for the evaluation,
    /// where logic may absorb it.
    fn conversion(&mut self, overloads: &[u32], arg: Step) -> Option<Step> {
        let arena = std::mem::take(&mut self.arena);
        let outcome = self.view(arg).map(|value| {
            let scope = Scope::new(&arena, self.env.profile);
            crate::eval::dispatch_first(&scope, &self.env.functions, overloads, &[value])
                .map(|value| Constant::of(&value))
                .map_err(|fault| fault.to_string())
        });
        let step = match outcome {
            Some(Ok(Some(constant))) => Some(self.constant(constant)),
            Some(Err(message)) if self.is_kubernetes() => {
                self.refuse(message);
                Some(arg)
            }
            _ => None,
        };
        self.arena = arena;
        step
    }

    pub(super) fn sort_by(
        &mut self,
        node: NodeId,
        target: NodeId,
        variable: &str,
        key: NodeId,
    ) -> Step {
        let cost = match self.reference(node) {
            Reference::Call { overloads, .. } if overloads.len() == 1 => Cost::Pairs,
            _ => Cost::One,
        };
        let target = self.node(target);
        let (slot, key) = self.with_local(variable, |planner, slot| (slot, planner.node(key)));
        let constant_key = self.constant_of(key).is_some();
        self.push(Op::SortBy(Box::new(SortBy {
            target,
            slot,
            key,
            constant_key,
            cost,
        })))
    }
}
