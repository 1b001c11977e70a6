//! Evaluation of function calls.

use super::Machine;
use super::overload::no_overload;
use crate::cost::Cost;
use crate::env::Functions;
use crate::plan::{Call, Dispatch, Regex, RegexKind, Step};
use crate::scope::Scope;
use crate::types::Type;
use crate::value::{Constant, Eval, Fault, List, Value, code_points, equal};

const ARGUMENTS_MAX: usize = 4;
/// Going over one value to find a price and again to compute, in bytes of work; short strings cost nothing.
const WORK_PER_WALKED_VALUE: usize = 64;

/// Up to four evaluated arguments on the stack.
struct Arguments<'a> {
    values: [Value<'a>; ARGUMENTS_MAX],
    count: usize,
    fault: Option<Fault<'a>>,
}

impl<'a> Arguments<'a> {
    fn values(&self) -> &[Value<'a>] {
        &self.values[..self.count]
    }
}

impl<'a> Machine<'a, '_, '_> {
    /// Evaluates arguments. A call is charged for once all are evaluated, also when one of them is a fault.
    fn arguments(&mut self, steps: &[Step], stops_early: bool) -> Result<Arguments<'a>, Fault<'a>> {
        let mut arguments = Arguments {
            values: [Value::Null; ARGUMENTS_MAX],
            count: steps.len(),
            fault: None,
        };
        for (index, &step) in steps.iter().enumerate() {
            let last = index + 1 == steps.len();
            match self.step(step) {
                Ok(value) => arguments.values[index] = value,
                Err(fault) if fault.is_final() || (stops_early && !last) => return Err(fault),
                Err(fault) => {
                    arguments.fault.get_or_insert(fault);
                }
            }
        }
        Ok(arguments)
    }

    pub(super) fn call(&mut self, call: &'a Call) -> Eval<'a> {
        match *call.args {
            [only] => self.call_one(call, only),
            [left, right] if !call.stops_early => self.call_two(call, left, right),
            _ => self.call_many(call),
        }
    }

    #[inline(never)]
    fn call_one(&mut self, call: &'a Call, only: Step) -> Eval<'a> {
        let only = self.step(only);
        let args = [only.unwrap_or(Value::Null)];
        self.pay(call.cost, &args)?;
        only?;
        self.invoke(call, &args)
    }

    #[inline(never)]
    fn call_two(&mut self, call: &'a Call, left: Step, right: Step) -> Eval<'a> {
        let left = self.step(left);
        if let Err(fault) = left
            && fault.is_final()
        {
            return Err(fault);
        }
        let right = self.step(right);
        let args = [left.unwrap_or(Value::Null), right.unwrap_or(Value::Null)];
        self.pay(call.cost, &args)?;
        left?;
        right?;
        self.invoke(call, &args)
    }

    #[inline(never)]
    fn call_many(&mut self, call: &'a Call) -> Eval<'a> {
        let arguments = self.arguments(&call.args, call.stops_early)?;
        self.pay(call.cost, arguments.values())?;
        if let Some(fault) = arguments.fault {
            return Err(fault);
        }
        self.invoke(call, arguments.values())
    }

    /// Charges for a call.
    #[inline]
    fn pay(&mut self, cost: Cost, args: &[Value<'a>]) -> Result<(), Fault<'a>> {
        let walked = cost.walk(args);
        if walked > 0 {
            self.scope
                .work(walked.saturating_mul(WORK_PER_WALKED_VALUE))?;
        }
        self.budget.charge(cost.of(args))
    }

    #[inline]
    fn invoke(&mut self, call: &'a Call, args: &[Value<'a>]) -> Eval<'a> {
        match (call.run)(&self.scope, args) {
            Err(Fault::NoSuchOverload) => Err(no_overload(&self.scope, &call.function, args)),
            outcome => outcome,
        }
    }

    #[inline(never)]
    pub(super) fn dispatch(&mut self, dispatch: &'a Dispatch) -> Eval<'a> {
        let arguments = self.arguments(&dispatch.args, dispatch.stops_early)?;
        self.pay(dispatch.cost, arguments.values())?;
        if let Some(fault) = arguments.fault {
            return Err(fault);
        }
        for candidate in &dispatch.candidates {
            if fits(&candidate.params, arguments.values()) {
                return match (candidate.run)(&self.scope, arguments.values()) {
                    Err(Fault::NoSuchOverload) => Err(no_overload(
                        &self.scope,
                        &dispatch.function,
                        arguments.values(),
                    )),
                    outcome => outcome,
                };
            }
        }
        Err(no_overload(
            &self.scope,
            &dispatch.function,
            arguments.values(),
        ))
    }

    pub(super) fn in_constants(&mut self, needle: Step, list: &'a Constant) -> Eval<'a> {
        let needle = self.step(needle)?;
        let Constant::List(elements) = list else {
            return Err(Fault::NoSuchOverload);
        };
        Ok(Value::Bool(
            elements
                .iter()
                .any(|element| equal(&element.view(), &needle)),
        ))
    }

    #[inline(never)]
    pub(super) fn regex(&mut self, regex: &'a Regex) -> Eval<'a> {
        let text = self.step(regex.text);
        let limit = regex.limit.map(|limit| self.step(limit)).transpose()?;
        let size = match &text {
            Ok(Value::String(text)) => code_points(text),
            _ => 1,
        };
        self.budget
            .charge(crate::cost::regex(size, regex.pattern_size))?;
        let text = text?.as_text()?;
        match regex.kind {
            RegexKind::Matches => Ok(Value::Bool(regex.pattern.is_match(text))),
            RegexKind::Find => Ok(Value::String(regex.pattern.find(text).unwrap_or(""))),
            RegexKind::FindAll => {
                let limit = limit.map_or(Ok(-1), |limit| limit.as_int())?;
                let found = regex.pattern.find_all(text, limit);
                let mut values = self.arena().vec_with(found.len());
                values.extend(found.into_iter().map(Value::String));
                Ok(Value::List(List::Built(values.into_bump_slice())))
            }
        }
    }
}

/// Runs the first overload that fits the values.
pub(crate) fn dispatch_first<'a>(
    scope: &Scope<'a>,
    functions: &Functions,
    overloads: &[u32],
    args: &[Value<'a>],
) -> Eval<'a> {
    for &index in overloads {
        let overload = functions.overload(index);
        if fits(&overload.params, args) {
            return (overload.run)(scope, args);
        }
    }
    Err(Fault::NoSuchOverload)
}

/// True if values match the parameter types; element types of lists and maps are not checked.
fn fits(params: &[Type], args: &[Value<'_>]) -> bool {
    params
        .iter()
        .zip(args)
        .all(|(param, arg)| match (param, arg) {
            (Type::Dyn | Type::Param(_) | Type::Var(_) | Type::Error, _)
            | (Type::Null, Value::Null)
            | (Type::Bool, Value::Bool(_))
            | (Type::Int, Value::Int(_))
            | (Type::Uint, Value::Uint(_))
            | (Type::Double, Value::Double(_))
            | (Type::String, Value::String(_))
            | (Type::Bytes, Value::Bytes(_))
            | (Type::Timestamp, Value::Timestamp(_))
            | (Type::Duration, Value::Duration(_))
            | (Type::List(_), Value::List(_))
            | (Type::Map(_), Value::Map(_))
            | (Type::Optional(_), Value::Optional(_))
            | (Type::Type(_), Value::Type(_)) => true,
            (Type::Opaque(name, _), Value::Opaque(opaque)) => **name == *opaque.type_name(),
            (Type::Object(object), Value::Object(value)) => *object.name == *value.type_name,
            _ => false,
        })
}
