//! Type parameters and assignability.

use crate::types::Type;
use std::sync::Arc;

/// Bindings of the type variables of one check, with a log so that a failed attempt leaves no trace.
#[derive(Debug, Default)]
pub(super) struct Unifier {
    bindings: Vec<Option<Type>>,
    log: Vec<(u32, Option<Type>)>,
}

impl Unifier {
    pub(super) fn fresh(&mut self) -> Type {
        self.bindings.push(None);
        Type::Var(u32::try_from(self.bindings.len() - 1).unwrap_or(u32::MAX))
    }

    /// Replaces the parameters of a declared overload by fresh variables, the same for the same letter.
    pub(super) fn instantiate(&mut self, ty: &Type, letters: &mut Vec<(char, Type)>) -> Type {
        map_type(ty, &mut |leaf| match leaf {
            Type::Param(letter) => {
                let known = letters.iter().find(|(known, _)| known == letter);
                let var = known.map_or_else(|| self.fresh(), |(_, var)| var.clone());
                letters.push((*letter, var.clone()));
                Some(var)
            }
            _ => None,
        })
    }

    /// The type with all bound variables replaced.
    pub(super) fn substitute(&self, ty: &Type) -> Type {
        self.replace(ty, None)
    }

    /// The type with all variables replaced; unbound ones are `dyn`.
    pub(super) fn settle(&self, ty: &Type) -> Type {
        self.replace(ty, Some(&Type::Dyn))
    }

    fn replace(&self, ty: &Type, unbound: Option<&Type>) -> Type {
        map_type(ty, &mut |leaf| match leaf {
            Type::Var(number) => match &self.bindings[*number as usize] {
                Some(bound) => Some(self.replace(bound, unbound)),
                None => unbound.cloned(),
            },
            _ => None,
        })
    }

    /// True if the types are assignable; binds type parameters in that case.
    pub(super) fn assignable(&mut self, left: &Type, right: &Type) -> bool {
        self.all_assignable(&[(left, right)])
    }

    /// True if all pairs are assignable; binds type parameters only in that case.
    pub(super) fn all_assignable(&mut self, pairs: &[(&Type, &Type)]) -> bool {
        let mark = self.log.len();
        if pairs
            .iter()
            .all(|(left, right)| self.try_assign(left, right))
        {
            self.log.truncate(mark);
            return true;
        }
        while self.log.len() > mark {
            if let Some((number, old)) = self.log.pop() {
                self.bindings[number as usize] = old;
            }
        }
        false
    }

    fn bind(&mut self, number: u32, ty: Type) {
        let old = self.bindings[number as usize].replace(ty);
        self.log.push((number, old));
    }

    fn try_assign(&mut self, left: &Type, right: &Type) -> bool {
        if let Type::Var(number) = right {
            let (fits, bound) = self.try_substitution(left, *number);
            if fits {
                return true;
            }
            if bound {
                return false;
            }
        }
        if let Type::Var(number) = left {
            return self.try_substitution(right, *number).0;
        }
        if left.is_dyn_or_error() || right.is_dyn_or_error() {
            return true;
        }
        match (left, right) {
            (Type::Null, other) | (other, Type::Null) => takes_null(other),
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => {
                self.try_assign(a, b)
            }
            (Type::Map(a), Type::Map(b)) => {
                self.try_assign(&a.0, &b.0) && self.try_assign(&a.1, &b.1)
            }
            (Type::Opaque(a, of), Type::Opaque(b, with)) => {
                a == b
                    && of.len() == with.len()
                    && of
                        .iter()
                        .zip(with.iter())
                        .all(|(a, b)| self.try_assign(a, b))
            }
            _ => left == right,
        }
    }

    /// Tries to substitute `ty` for type parameter `number`; also returns true if the parameter was bound before.
    fn try_substitution(&mut self, ty: &Type, number: u32) -> (bool, bool) {
        if *ty == Type::Var(number) {
            return (true, true);
        }
        if let Some(bound) = self.bindings[number as usize].clone() {
            if *ty == bound {
                return (true, true);
            }
            if !self.try_assign(ty, &bound) {
                return (false, true);
            }
            let general = most_general(ty, &bound);
            if !self.occurs(number, &general) {
                self.bind(number, general);
            }
            return (true, true);
        }
        if self.occurs(number, ty) {
            return (false, false);
        }
        self.bind(number, ty.clone());
        (true, false)
    }

    fn occurs(&self, number: u32, ty: &Type) -> bool {
        match ty {
            Type::Var(other) if *other == number => true,
            Type::Var(other) => match &self.bindings[*other as usize] {
                Some(bound) => self.occurs(number, bound),
                None => false,
            },
            Type::List(inner) | Type::Optional(inner) | Type::Type(inner) => {
                self.occurs(number, inner)
            }
            Type::Map(pair) => self.occurs(number, &pair.0) || self.occurs(number, &pair.1),
            Type::Opaque(_, params) => params.iter().any(|param| self.occurs(number, param)),
            _ => false,
        }
    }
}

/// Types whose values may be null.
fn takes_null(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Null
            | Type::Optional(_)
            | Type::Opaque(..)
            | Type::Object(_)
            | Type::Timestamp
            | Type::Duration
    )
}

/// The more general of two assignable types.
pub(super) fn most_general(left: &Type, right: &Type) -> Type {
    if says_no_more(left, right) {
        left.clone()
    } else {
        right.clone()
    }
}

fn says_no_more(left: &Type, right: &Type) -> bool {
    match (left, right) {
        (Type::Dyn | Type::Var(_) | Type::Param(_), _) | (Type::Type(_), Type::Type(_)) => true,
        (_, Type::Dyn | Type::Var(_) | Type::Param(_)) => false,
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => {
            says_no_more(a, b)
        }
        (Type::Map(a), Type::Map(b)) => says_no_more(&a.0, &b.0) && says_no_more(&a.1, &b.1),
        (Type::Opaque(a, of), Type::Opaque(b, with)) => {
            a == b
                && of.len() == with.len()
                && of.iter().zip(with.iter()).all(|(a, b)| says_no_more(a, b))
        }
        // A nullable type and null: keep the type.
        (_, Type::Null) => takes_null(left),
        _ => left == right,
    }
}

fn map_type(ty: &Type, leaf: &mut impl FnMut(&Type) -> Option<Type>) -> Type {
    if let Some(replaced) = leaf(ty) {
        return replaced;
    }
    match ty {
        Type::List(inner) => Type::List(Arc::new(map_type(inner, leaf))),
        Type::Optional(inner) => Type::Optional(Arc::new(map_type(inner, leaf))),
        Type::Type(inner) => Type::Type(Arc::new(map_type(inner, leaf))),
        Type::Map(pair) => {
            let key = map_type(&pair.0, leaf);
            Type::map(key, map_type(&pair.1, leaf))
        }
        Type::Opaque(name, params) if !params.is_empty() => Type::Opaque(
            name.clone(),
            params.iter().map(|param| map_type(param, leaf)).collect(),
        ),
        _ => ty.clone(),
    }
}
