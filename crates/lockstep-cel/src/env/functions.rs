//! Function declarations of an environment.

use crate::cost::Cost;
use crate::dialect::{Profile, Version};
use crate::library::{self, Row, Run};
use crate::types::{Signature, Type};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// One overload of a function.
#[derive(Debug, Clone)]
pub(crate) struct Overload {
    pub(crate) id: Box<str>,
    pub(crate) member: bool,
    /// The receiver, if any, comes first.
    pub(crate) params: Vec<Type>,
    pub(crate) result: Type,
    pub(crate) run: Run,
    pub(crate) cost: Cost,
}

/// All functions by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Functions {
    overloads: Vec<Overload>,
    by_name: HashMap<Box<str>, Vec<u32>>,
    opaque_types: BTreeMap<Box<str>, Type>,
}

/// The functions of the environments that were made: a process has few of them, and each of its expressions one.
static SHARED: Mutex<Vec<(Key, Arc<Functions>)>> = Mutex::new(Vec::new());

/// Profile, version and mutation: they decide which functions there are.
type Key = (Profile, Version, bool);

impl Functions {
    /// The functions of an environment, once for the whole process.
    pub(crate) fn shared(profile: Profile, version: Version, mutation: bool) -> Arc<Self> {
        let key = (profile, version, mutation);
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, functions)) = shared.iter().find(|(known, _)| *known == key) {
            return Arc::clone(functions);
        }
        let functions = Arc::new(Self::of(profile, version, mutation));
        shared.push((key, Arc::clone(&functions)));
        functions
    }

    fn of(profile: Profile, version: Version, mutation: bool) -> Self {
        let mut functions = Self::default();
        for library in library::all() {
            if library.is_in(profile, version, mutation) {
                library.rows.iter().for_each(|row| functions.add(row));
            }
        }
        functions
    }

    fn add(&mut self, row: &Row) {
        let Signature {
            function,
            member,
            params,
            result,
        } = Signature::parse(row.signature);
        for ty in params.iter().chain([&result]) {
            if let Type::Opaque(name, _) = ty {
                self.opaque_types.insert((**name).into(), ty.clone());
            }
        }
        let overload = Overload {
            id: row.id.into(),
            member,
            params,
            result,
            run: row.run,
            cost: row.cost,
        };
        self.insert(&function, overload);
    }

    fn insert(&mut self, function: &str, overload: Overload) {
        let index = u32::try_from(self.overloads.len()).unwrap_or(u32::MAX);
        self.overloads.push(overload);
        self.by_name.entry(function.into()).or_default().push(index);
    }

    pub(crate) fn declare(&mut self, name: &str, params: Vec<Type>, result: Type) {
        let id = format!("declared_{name}").into();
        let run: Run = library::not_implemented;
        self.insert(
            name,
            Overload {
                id,
                member: false,
                params,
                result,
                run,
                cost: Cost::One,
            },
        );
    }

    /// The overloads of a function, in declaration order.
    pub(crate) fn named(&self, name: &str) -> Option<&[u32]> {
        self.by_name.get(name).map(Vec::as_slice)
    }

    pub(crate) fn overload(&self, index: u32) -> &Overload {
        &self.overloads[index as usize]
    }

    pub(crate) fn opaque_type(&self, name: &str) -> Option<Type> {
        self.opaque_types.get(name).cloned()
    }
}
