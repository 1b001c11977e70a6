//! Environments: variables, functions, types and syntax available to an expression.

mod functions;

pub(crate) use functions::Functions;

use crate::ast::Ast;
use crate::check::Checked;
use crate::dialect::{Feature, Profile, Version};
use crate::parser::Syntax;
use crate::schema::{Fields, ObjectType, Schema};
use crate::types::Type;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything an expression is compiled against. Cheap to clone and to extend.
#[derive(Debug, Clone)]
pub struct Env {
    pub(crate) profile: Profile,
    pub(crate) version: Version,
    pub(crate) container: Box<str>,
    pub(crate) variables: BTreeMap<Box<str>, Variable>,
    pub(crate) functions: Arc<Functions>,
    pub(crate) mutation: bool,
    pub(crate) lazies: Vec<(Box<str>, Arc<Expression>)>,
}

/// A parsed expression with its environment.
#[derive(Debug)]
pub(crate) struct Expression {
    pub(crate) ast: Ast,
    /// Types and references; nothing for an expression that was compiled without them.
    pub(crate) checked: Option<Checked>,
    pub(crate) env: Env,
    /// Type of the result.
    pub(crate) ty: Type,
}

/// A name the caller binds when the expression runs.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) ty: Type,
    /// Schema of a JSON binding; without one it is `dyn`.
    pub(crate) schema: Option<Arc<Schema>>,
}

/// Resolution of a name.
#[derive(Debug, Clone)]
pub(crate) enum Resolved {
    Variable(Box<str>, Type),
    TypeName(Type),
}

impl Env {
    /// The specification's language with every library.
    pub fn spec() -> Self {
        Self::build(Profile::Spec, Version::LATEST, false)
    }

    /// The language of Kubernetes as an expression sees it that is new at this compatibility version; use
    /// [`Version::LATEST`] for expressions that are already stored.
    pub fn kubernetes(version: Version) -> Self {
        Self::build(Profile::Kubernetes, version, false)
    }

    fn build(profile: Profile, version: Version, mutation: bool) -> Self {
        Self {
            profile,
            version,
            container: "".into(),
            variables: BTreeMap::new(),
            functions: Functions::shared(profile, version, mutation),
            mutation,
            lazies: Vec::new(),
        }
    }

    /// Adds the object types and functions of mutations: `Object…`, `JSONPatch`, `jsonpatch.escapeKey`.
    #[must_use]
    pub fn with_mutation(mut self) -> Self {
        self.mutation = true;
        self.functions = Functions::shared(self.profile, self.version, true);
        self
    }

    /// The version features were chosen for.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Resolves short names inside this container first.
    #[must_use]
    pub fn with_container(mut self, container: &str) -> Self {
        self.container = container.into();
        self
    }

    /// Declares a variable of a type; JSON bound to it is read without a schema.
    #[must_use]
    pub fn with_variable(mut self, name: &str, ty: Type) -> Self {
        self.variables
            .insert(name.into(), Variable { ty, schema: None });
        self
    }

    /// Takes a variable away.
    #[must_use]
    pub fn without_variable(mut self, name: &str) -> Self {
        self.variables.remove(name);
        self
    }

    /// Declares a variable whose JSON is typed and read by a schema.
    #[must_use]
    pub fn with_schema_variable(mut self, name: &str, schema: Arc<Schema>) -> Self {
        self.variables.insert(
            name.into(),
            Variable {
                ty: schema.ty(),
                schema: Some(schema),
            },
        );
        self
    }

    /// Declares an optional variable whose JSON, when bound, is read by a schema.
    #[must_use]
    pub fn with_optional_schema_variable(mut self, name: &str, schema: Arc<Schema>) -> Self {
        let ty = Type::optional(schema.ty());
        self.variables.insert(
            name.into(),
            Variable {
                ty,
                schema: Some(schema),
            },
        );
        self
    }

    /// Declares a function without an implementation: calls type-check and fail when run.
    #[must_use]
    pub fn with_declared_function(mut self, name: &str, params: Vec<Type>, result: Type) -> Self {
        let mut functions = (*self.functions).clone();
        functions.declare(name, params, result);
        self.functions = Arc::new(functions);
        self
    }

    pub(crate) fn with_lazy_expression(mut self, name: &str, expression: Arc<Expression>) -> Self {
        self.lazies.push((name.into(), expression));
        let fields = self
            .lazies
            .iter()
            .map(|(name, expression)| (name.clone(), expression.ty.clone()));
        let fields = Fields::Typed(fields.collect());
        let object = ObjectType {
            name: "kubernetes.variables".into(),
            fields,
        };
        self.with_variable("variables", Type::Object(Arc::new(object)))
    }

    /// Declares `variables` even when there is none yet.
    #[must_use]
    pub fn with_no_lazy_variables(self) -> Self {
        let object = ObjectType {
            name: "kubernetes.variables".into(),
            fields: Fields::Typed(BTreeMap::new()),
        };
        self.with_variable("variables", Type::Object(Arc::new(object)))
    }

    pub(crate) fn has(&self, feature: Feature) -> bool {
        self.profile == Profile::Spec || self.version >= feature.since()
    }

    pub(crate) fn syntax(&self) -> Syntax {
        let spec = self.profile == Profile::Spec;
        Syntax {
            optionals: self.has(Feature::Optionals),
            quoted_fields: spec,
            two_variables: self.has(Feature::TwoVariableMacros),
            sort_by: self.has(Feature::ListsExt),
            bind: spec,
            math: spec,
        }
    }

    /// Candidate full names of a name in this environment's container, most specific first.
    pub(crate) fn candidates(&self, name: &str) -> Vec<Box<str>> {
        if let Some(root) = name.strip_prefix('.') {
            return vec![root.into()];
        }
        let mut names = Vec::new();
        let mut container = &*self.container;
        while !container.is_empty() {
            names.push(format!("{container}.{name}").into());
            container = container.rfind('.').map_or("", |dot| &container[..dot]);
        }
        names.push(name.into());
        names
    }

    /// Resolves a fully qualified name.
    pub(crate) fn global(&self, name: &str) -> Option<Resolved> {
        if let Some(variable) = self.variables.get(name) {
            return Some(Resolved::Variable(name.into(), variable.ty.clone()));
        }
        self.type_name(name).map(Resolved::TypeName)
    }

    /// The object type an object literal names.
    pub(crate) fn object_type(&self, name: &str) -> Option<Type> {
        self.mutation
            .then(|| crate::mutation::object_type(name))
            .flatten()
    }

    fn type_name(&self, name: &str) -> Option<Type> {
        let any = || Type::Dyn;
        Some(match name {
            "bool" => Type::Bool,
            "bytes" => Type::Bytes,
            "double" => Type::Double,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "string" => Type::String,
            "null_type" => Type::Null,
            "list" => Type::list(any()),
            "map" => Type::map(any(), any()),
            "type" => Type::type_of(any()),
            "google.protobuf.Timestamp" => Type::Timestamp,
            "google.protobuf.Duration" => Type::Duration,
            "optional_type" if self.has(Feature::Optionals) => Type::optional(any()),
            _ => return self.functions.opaque_type(name),
        })
    }
}
