//! Planning of attributes: a variable and its selections become one operation.

use super::build::Planner;
use super::{Attribute, Key, Op, Qualifier, Root, Step};
use crate::ast::{Expr, NodeId, SelectMode};
use crate::check::{Reference, dotted};
use crate::dialect::Profile;
use crate::env::Resolved;
use crate::schema::Fields;
use crate::types::Type;
use crate::value::Constant;

/// A step of a chain as the tree has it.
enum Link {
    Field(Box<str>, bool),
    Index(NodeId, bool),
}

impl Planner<'_> {
    /// Plans a name, a selection or an index with everything selected before it.
    pub(super) fn attribute(&mut self, node: NodeId, charged: bool) -> Step {
        let mut links = Vec::new();
        let mut test = false;
        let mut at = node;
        let root = loop {
            if let Some(root) = self.named_root(at) {
                break root;
            }
            match self.ast.expr(at) {
                Expr::Select {
                    operand,
                    field,
                    mode,
                } => {
                    test |= *mode == SelectMode::Test && at == node;
                    if *mode == SelectMode::Test && at != node {
                        break Root::Value(self.node(at));
                    }
                    links.push(Link::Field(field.clone(), *mode == SelectMode::Optional));
                    at = *operand;
                }
                Expr::Index {
                    operand,
                    index,
                    optional,
                } => {
                    links.push(Link::Index(*index, *optional));
                    at = *operand;
                }
                _ => break Root::Value(self.node(at)),
            }
        };
        links.reverse();
        self.finish_attribute(root, links, charged, test)
    }

    fn finish_attribute(
        &mut self,
        root: Root,
        mut links: Vec<Link>,
        charged: bool,
        test: bool,
    ) -> Step {
        let root = match root {
            Root::Variable(name, ..) if self.is_lazy_object(&name) && !links.is_empty() => {
                match links.remove(0) {
                    Link::Field(field, false) if !(test && links.is_empty()) => Root::Lazy(field),
                    Link::Field(field, true) => {
                        links.insert(0, Link::Field(field, true));
                        Root::Variable(name, None, false)
                    }
                    Link::Field(..) => return self.constant(Constant::Bool(true)),
                    Link::Index(..) => return self.push(Op::Fail("no such overload".into())),
                }
            }
            root => root,
        };
        let charged = charged
            && !matches!(&root, Root::Value(step) if matches!(self.op(*step), Op::Conditional { .. } | Op::OptMap { .. }));
        if let (Root::Value(step), true) = (&root, links.is_empty()) {
            return *step;
        }
        let steps = links.into_iter().map(|link| self.qualifier(link)).collect();
        self.push(Op::Attribute(Box::new(Attribute {
            root,
            steps,
            charged,
            test,
        })))
    }

    fn qualifier(&mut self, link: Link) -> Qualifier {
        match link {
            Link::Field(name, optional) => Qualifier {
                key: Key::Field(name),
                optional,
            },
            Link::Index(index, optional) => {
                // Like a branch of a conditional, an index that is a name is read without charge.
                let step = self.branch(index);
                let key = match self.constant_of(step) {
                    Some(Constant::String(name)) => Key::Field(name.clone()),
                    Some(constant) => Key::Constant(constant.clone()),
                    None => Key::Computed(step),
                };
                if let Key::Constant(constant) = &key
                    && self.is_kubernetes()
                    && !is_qualifier(constant)
                {
                    let name = crate::eval::upstream_name(&constant.view());
                    self.refuse(format!("invalid qualifier type: {name}"));
                }
                Qualifier { key, optional }
            }
        }
    }

    fn is_lazy_object(&self, name: &str) -> bool {
        matches!(self.env.variables.get(name).map(|variable| &variable.ty),
            Some(Type::Object(object)) if matches!(object.fields, Fields::Typed(_)))
    }

    /// The variable, local or type a node names, if it is a name.
    fn named_root(&mut self, node: NodeId) -> Option<Root> {
        match self.reference(node).clone() {
            Reference::Variable(name) => return Some(self.variable(&name)),
            Reference::TypeName(ty) => return Some(self.type_root(&ty)),
            _ => {}
        }
        if let Expr::Ident(name) = self.ast.expr(node) {
            return Some(self.simple_name(name));
        }
        if self.checked.is_some() {
            return None;
        }
        let name = dotted(self.ast, node)?;
        let root = name.split('.').next().unwrap_or_default();
        if self.env.profile == Profile::Spec && self.locals.iter().any(|local| **local == *root) {
            return None;
        }
        match self
            .env
            .candidates(&name)
            .iter()
            .find_map(|full| self.env.global(full))?
        {
            Resolved::Variable(full, _) => Some(self.variable(&full)),
            Resolved::TypeName(ty) => Some(self.type_root(&ty)),
        }
    }

    fn type_root(&mut self, ty: &Type) -> Root {
        Root::Value(self.constant(Constant::Type(ty.runtime_name().into())))
    }

    fn variable(&self, name: &str) -> Root {
        let declared = self.env.variables.get(name);
        let schema = declared.and_then(|variable| variable.schema.clone());
        let optional = schema.is_some()
            && declared.is_some_and(|variable| matches!(variable.ty, Type::Optional(_)));
        Root::Variable(name.into(), schema, optional)
    }

    fn simple_name(&mut self, name: &str) -> Root {
        if self.checked.is_none() {
            match self.unchecked(name) {
                Some(Resolved::Variable(full, _)) if !full.is_empty() => {
                    return self.variable(&full);
                }
                Some(Resolved::TypeName(ty)) => return self.type_root(&ty),
                _ => {}
            }
        }
        let name = name.trim_start_matches('.');
        match self.locals.iter().rposition(|local| **local == *name) {
            Some(slot) => Root::Local(slot),
            None => Root::Variable(name.into(), None, false),
        }
    }
}

/// Constants that may select something.
fn is_qualifier(constant: &Constant) -> bool {
    matches!(
        constant,
        Constant::String(_)
            | Constant::Int(_)
            | Constant::Uint(_)
            | Constant::Bool(_)
            | Constant::Double(_)
    )
}
