//! Mutation scope: the common ancestor of all written paths, by which policies are ordered.

use super::pointer::{pointer, text};
use super::segment::{Segment, is_name};
use super::write::is_mutation;
use crate::ast::{Ast, Expr, FieldInit, Fold, FoldKind, NodeId, SelectMode};
use crate::mutation::JSON_PATCH;
use crate::program::Program;
use crate::types::Type;
use std::fmt;

/// One step of a scope.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScopeStep {
    /// A field: `spec`.
    Field(Box<str>),
    /// A constant key of a map: `["app"]`.
    Key(Box<str>),
    /// Each element of a list: `[*]`.
    Each,
}

/// A path from the root of the object; the root itself is the empty one.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MutationScope {
    /// The way from the root.
    pub steps: Vec<ScopeStep>,
}

impl MutationScope {
    /// Depth below the root; policies run from the shallowest to the deepest scope.
    pub fn depth(&self) -> usize {
        self.steps.len()
    }

    /// True if this scope is `other` or below it. A field and a map key with one name are equal.
    pub fn is_within(&self, other: &Self) -> bool {
        self.common(other).depth() == other.depth()
    }

    /// The deepest scope that holds both.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        let pairs = self.steps.iter().zip(&other.steps);
        let shared = pairs.take_while(|(ours, theirs)| ours.name() == theirs.name());
        Self {
            steps: shared.map(|(step, _)| step.clone()).collect(),
        }
    }
}

impl ScopeStep {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Field(name) | Self::Key(name) => Some(name),
            Self::Each => None,
        }
    }
}

impl fmt::Display for MutationScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps.iter().enumerate() {
            match step {
                ScopeStep::Field(name) if is_name(name) && index == 0 => f.write_str(name)?,
                ScopeStep::Field(name) if is_name(name) => write!(f, ".{name}")?,
                ScopeStep::Field(key) | ScopeStep::Key(key) => write!(f, "[{key:?}]")?,
                ScopeStep::Each => f.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

impl Program {
    /// The scope of the mutation that this expression produces; none if it produces none.
    ///
    /// `list_keys` returns the key fields of the list at a scope: setting them selects an element and writes nothing.
    /// `objects` names the variables that hold the object that is mutated.
    pub fn mutation_scope(
        &self,
        list_keys: &dyn Fn(&MutationScope) -> Vec<String>,
        objects: &[&str],
    ) -> Option<MutationScope> {
        let (ty, patches) = match self.static_type() {
            Type::List(element) => (&**element, true),
            ty => (ty, false),
        };
        let Type::Object(object) = ty else {
            return None;
        };
        let finder = Finder {
            ast: &self.expression.ast,
            list_keys,
            objects,
        };
        let root = self.expression.ast.root();
        match &*object.name {
            name if !is_mutation(name) => None,
            JSON_PATCH if patches => Some(finder.patches(root)),
            "Object" if !patches => Some(finder.value(root, MutationScope::default())),
            // A nested object type; its name contains its path.
            name => Some(named(name)),
        }
    }
}

fn named(type_name: &str) -> MutationScope {
    let fields = type_name.split('.').skip(1);
    MutationScope {
        steps: fields.map(|name| ScopeStep::Field(name.into())).collect(),
    }
}

struct Finder<'a> {
    ast: &'a Ast,
    list_keys: &'a dyn Fn(&MutationScope) -> Vec<String>,
    /// Variables that hold the object that is mutated.
    objects: &'a [&'a str],
}

impl Finder<'_> {
    /// Follows a value placed at `at` while it sets a single thing.
    fn value(&self, node: NodeId, at: MutationScope) -> MutationScope {
        match self.ast.expr(node) {
            Expr::Struct { fields, .. } => self.fields(fields, at, &[]),
            Expr::Map(entries) => match &entries[..] {
                [entry] => match text(self.ast, entry.key) {
                    Some(key) => self.below(entry.value, at, ScopeStep::Key(key.into())),
                    None => at,
                },
                _ => at,
            },
            Expr::Conditional { yes, no, .. } => {
                let yes = self.value(*yes, at.clone());
                yes.common(&self.value(*no, at))
            }
            Expr::Fold(fold) => self.elements(fold, at),
            _ => at,
        }
    }

    /// An object literal; fields named in `ignored` do not count.
    fn fields(&self, fields: &[FieldInit], at: MutationScope, ignored: &[String]) -> MutationScope {
        let mut counted = fields
            .iter()
            .filter(|field| !ignored.iter().any(|name| **name == *field.name));
        match (counted.next(), counted.next()) {
            (Some(only), None) => self.below(only.value, at, ScopeStep::Field(only.name.clone())),
            _ => at,
        }
    }

    /// `object.P.map(v, Literal)` placed at `P` changes elements one by one; any other list replaces the whole.
    fn elements(&self, fold: &Fold, at: MutationScope) -> MutationScope {
        let Expr::Struct { fields, .. } = self.ast.expr(fold.body) else {
            return at;
        };
        let each = fold.kind == FoldKind::List && fold.filter.is_none() && fold.value.is_none();
        if !each || !self.is_object_at(fold.range, &at.steps) {
            return at;
        }
        let mut ignored = (self.list_keys)(&at);
        // A field that is copied from the element writes nothing; keys are named that way.
        let copied = fields.iter().filter(|field| {
            matches!(self.ast.expr(field.value), Expr::Select { operand, field: from, mode: SelectMode::Value }
                if *from == field.name
                    && matches!(self.ast.expr(*operand), Expr::Ident(name) if *name == fold.variable))
        });
        ignored.extend(copied.map(|field| field.name.to_string()));
        let mut at = at;
        at.steps.push(ScopeStep::Each);
        self.fields(fields, at, &ignored)
    }

    /// True if an expression selects `object` at these steps.
    fn is_object_at(&self, node: NodeId, steps: &[ScopeStep]) -> bool {
        let Some((last, before)) = steps.split_last() else {
            return matches!(self.ast.expr(node), Expr::Ident(name) if self.objects.contains(&&**name));
        };
        match self.ast.expr(node) {
            Expr::Select {
                operand,
                field,
                mode: SelectMode::Value,
            } => last.name() == Some(field) && self.is_object_at(*operand, before),
            Expr::Index {
                operand,
                index,
                optional: false,
            } => {
                let key = text(self.ast, *index);
                key.is_some() && last.name() == key && self.is_object_at(*operand, before)
            }
            _ => false,
        }
    }

    fn below(&self, node: NodeId, at: MutationScope, step: ScopeStep) -> MutationScope {
        let mut at = at;
        at.steps.push(step);
        self.value(node, at)
    }

    /// Common scope of a list of patch literals.
    fn patches(&self, node: NodeId) -> MutationScope {
        match self.ast.expr(node) {
            Expr::List(elements) => {
                let scopes = elements.iter().map(|element| self.patch(element.value));
                let common = scopes.reduce(|all, one| all.common(&one));
                common.unwrap_or_default()
            }
            Expr::Conditional { yes, no, .. } => self.patches(*yes).common(&self.patches(*no)),
            _ => MutationScope::default(),
        }
    }

    /// The place of one patch; a move also empties the place it takes from.
    fn patch(&self, node: NodeId) -> MutationScope {
        let Expr::Struct { fields, .. } = self.ast.expr(node) else {
            return MutationScope::default();
        };
        let field = |name: &str| {
            let found = fields.iter().rev().find(|field| &*field.name == name);
            found.map(|field| field.value)
        };
        let scope = |name: &str| pointed_at(pointer(self.ast, field(name)).0);
        match field("op").and_then(|op| text(self.ast, op)) {
            Some("add" | "remove" | "replace" | "copy" | "test") => scope("path"),
            _ if field("from").is_some() => scope("path").common(&scope("from")),
            _ => scope("path"),
        }
    }
}

/// The scope of a pointer: positions are any element, and at the end the list itself.
fn pointed_at(mut segments: Vec<Segment>) -> MutationScope {
    if matches!(segments.last(), Some(Segment::Index(_) | Segment::Any)) {
        segments.pop();
    }
    let step = |segment| match segment {
        Segment::Field(name) => ScopeStep::Field(name),
        Segment::Index(_) | Segment::Any => ScopeStep::Each,
    };
    MutationScope {
        steps: segments.into_iter().map(step).collect(),
    }
}
