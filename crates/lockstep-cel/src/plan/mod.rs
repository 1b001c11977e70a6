//! Execution plans: the AST with variables resolved to slots, overloads to function pointers, and constants folded.

mod attribute;
mod build;
mod call;
mod fold;

pub(crate) use build::plan;

use crate::cost::Cost;
use crate::dialect::Profile;
use crate::library::Run;
use crate::schema::Schema;
use crate::types::Type;
use crate::value::Constant;
use lockstep_gotext::re2::Pattern;
use std::sync::Arc;

/// A node of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step(u32);

/// An execution plan.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Op>,
    pub(crate) root: Step,
    /// Maximum number of loop variables alive at once.
    pub(crate) slots: usize,
    /// Depth of the tree, for programs that run inside others.
    pub(crate) depth: u16,
    pub(crate) profile: Profile,
}

impl Plan {
    pub(crate) fn op(&self, step: Step) -> &Op {
        &self.steps[step.0 as usize]
    }
}

/// One operation.
#[derive(Debug)]
pub(crate) enum Op {
    Constant(Constant),
    /// A call computed in advance, at the price of running it.
    Computed(Constant, u64),
    Attribute(Box<Attribute>),
    Call(Box<Call>),
    Dispatch(Box<Dispatch>),
    Equal(Step, Step),
    NotEqual(Step, Step),
    Not(Step),
    And(Box<[Step]>),
    Or(Box<[Step]>),
    Conditional {
        condition: Step,
        yes: Step,
        no: Step,
    },
    /// `x in [constants]`
    InConstants {
        needle: Step,
        list: Constant,
    },
    /// `matches`, `find` or `findAll` with a constant pattern.
    Regex(Box<Regex>),
    /// `a.or(b)` and `a.orValue(b)`.
    OptionalOr {
        target: Step,
        other: Step,
        value: bool,
    },
    List(Box<[ListPart]>),
    Map(Box<[MapPart]>),
    Object {
        name: Box<str>,
        fields: Box<[FieldPart]>,
    },
    Fold(Box<Fold>),
    OptMap {
        target: Step,
        slot: usize,
        body: Step,
        flat: bool,
    },
    SortBy(Box<SortBy>),
    Bind {
        slot: usize,
        init: Step,
        body: Step,
    },
    /// Always this error.
    Fail(Box<str>),
}

/// A variable or other value with the selections after it.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) root: Root,
    pub(crate) steps: Box<[Qualifier]>,
    /// True if reading the root is charged; it is not in branches of a conditional.
    pub(crate) charged: bool,
    /// `has(…)`: only whether the last step is there.
    pub(crate) test: bool,
}

/// Root of an attribute.
#[derive(Debug)]
pub(crate) enum Root {
    Variable(Box<str>, Option<Arc<Schema>>, bool),
    /// `variables.name`
    Lazy(Box<str>),
    Local(usize),
    Value(Step),
}

/// One selection.
#[derive(Debug)]
pub(crate) struct Qualifier {
    pub(crate) key: Key,
    pub(crate) optional: bool,
}

/// A selected key.
#[derive(Debug)]
pub(crate) enum Key {
    Field(Box<str>),
    Constant(Constant),
    Computed(Step),
}

/// A call whose overload is known.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) function: Box<str>,
    pub(crate) args: Box<[Step]>,
    pub(crate) run: Run,
    pub(crate) cost: Cost,
    /// The first argument that fails ends the call, rather than the last.
    pub(crate) stops_early: bool,
}

/// A call whose overload depends on the values.
#[derive(Debug)]
pub(crate) struct Dispatch {
    pub(crate) function: Box<str>,
    pub(crate) args: Box<[Step]>,
    pub(crate) candidates: Box<[Candidate]>,
    pub(crate) cost: Cost,
    /// The first argument that fails ends the call, rather than the last.
    pub(crate) stops_early: bool,
}

#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) params: Box<[Type]>,
    pub(crate) run: Run,
}

/// A search with a pattern that was compiled in advance.
#[derive(Debug)]
pub(crate) struct Regex {
    pub(crate) kind: RegexKind,
    pub(crate) text: Step,
    pub(crate) pattern: Pattern,
    pub(crate) pattern_size: u64,
    pub(crate) limit: Option<Step>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegexKind {
    Matches,
    Find,
    FindAll,
}

#[derive(Debug)]
pub(crate) struct ListPart {
    pub(crate) value: Step,
    pub(crate) optional: bool,
}

#[derive(Debug)]
pub(crate) struct MapPart {
    pub(crate) key: Step,
    pub(crate) value: Step,
    pub(crate) optional: bool,
}

#[derive(Debug)]
pub(crate) struct FieldPart {
    pub(crate) name: Box<str>,
    pub(crate) value: Step,
    pub(crate) optional: bool,
}

/// A loop over a list or map.
#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) kind: crate::ast::FoldKind,
    pub(crate) range: Step,
    pub(crate) slot: usize,
    /// The slot of the second variable.
    pub(crate) value_slot: Option<usize>,
    pub(crate) filter: Option<Step>,
    pub(crate) body: Step,
    /// The body is a constant, so that the list around it costs nothing.
    pub(crate) constant_body: bool,
}

#[derive(Debug)]
pub(crate) struct SortBy {
    pub(crate) target: Step,
    pub(crate) slot: usize,
    pub(crate) key: Step,
    pub(crate) constant_key: bool,
    pub(crate) cost: Cost,
}
