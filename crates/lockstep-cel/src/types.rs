//! Types of the checker, their display forms, and the signature syntax that declares functions.

use crate::schema::ObjectType;
use std::fmt;
use std::sync::Arc;

/// A type of the language.
#[derive(Debug, Clone)]
pub enum Type {
    /// Known only when the expression runs.
    Dyn,
    /// The result of a part that was already reported.
    Error,
    /// `null_type`
    Null,
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `uint`
    Uint,
    /// `double`
    Double,
    /// `string`
    String,
    /// `bytes`
    Bytes,
    /// `google.protobuf.Timestamp`
    Timestamp,
    /// `google.protobuf.Duration`
    Duration,
    /// `list(T)`
    List(Arc<Type>),
    /// `map(K, V)`
    Map(Arc<(Type, Type)>),
    /// `optional_type(T)`
    Optional(Arc<Type>),
    /// `type(T)`: the type of a type.
    Type(Arc<Type>),
    /// A type with methods and equality only, and its parameters.
    Opaque(Arc<str>, Arc<[Type]>),
    /// An object with declared fields, or one of the mutation types.
    Object(Arc<ObjectType>),
    /// A parameter of a declared overload, such as `A`.
    Param(char),
    /// A parameter of one call, found while checking.
    Var(u32),
}

impl Type {
    /// `list(element)`
    pub fn list(element: Type) -> Self {
        Self::List(Arc::new(element))
    }

    /// `map(key, value)`
    pub fn map(key: Type, value: Type) -> Self {
        Self::Map(Arc::new((key, value)))
    }

    /// `optional_type(value)`
    pub fn optional(value: Type) -> Self {
        Self::Optional(Arc::new(value))
    }

    /// `type(of)`
    pub fn type_of(of: Type) -> Self {
        Self::Type(Arc::new(of))
    }

    /// An opaque type without parameters.
    pub fn opaque(name: &str) -> Self {
        Self::Opaque(name.into(), Arc::new([]))
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// The name the value `type(x)` of such a value has at run time.
    pub(crate) fn runtime_name(&self) -> &str {
        match self {
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Duration => "google.protobuf.Duration",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Opaque(name, _) => name,
            Self::Object(object) => &object.name,
            Self::Dyn | Self::Error | Self::Param(_) | Self::Var(_) => "dyn",
        }
    }

    /// The spelling error messages use: `null`, `duration` and `timestamp` are short there.
    pub fn in_message(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, true)
            .expect("writing to a string cannot fail");
        text
    }

    fn write(&self, out: &mut dyn fmt::Write, short: bool) -> fmt::Result {
        match self {
            Self::Null if short => out.write_str("null"),
            Self::Duration if short => out.write_str("duration"),
            Self::Timestamp if short => out.write_str("timestamp"),
            Self::Error => out.write_str("!error!"),
            Self::Param(name) => out.write_char(*name),
            Self::Var(number) => write!(out, "_var{number}"),
            Self::List(element) => Self::write_with("list", &[&**element], out, short),
            Self::Map(pair) => Self::write_with("map", &[&pair.0, &pair.1], out, short),
            Self::Optional(value) => Self::write_with("optional_type", &[&**value], out, short),
            Self::Type(of) => Self::write_with("type", &[&**of], out, short),
            Self::Opaque(name, params) if !params.is_empty() => {
                Self::write_with(name, &params.iter().collect::<Vec<_>>(), out, short)
            }
            _ => out.write_str(self.runtime_name()),
        }
    }

    fn write_with(
        name: &str,
        params: &[&Type],
        out: &mut dyn fmt::Write,
        short: bool,
    ) -> fmt::Result {
        out.write_str(name)?;
        for (index, param) in params.iter().enumerate() {
            out.write_str(if index == 0 { "(" } else { ", " })?;
            param.write(out, short)?;
        }
        out.write_char(')')
    }
}

impl fmt::Display for Type {
    /// The full spelling, as in `list(google.protobuf.Duration)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, false)
    }
}

impl PartialEq for Type {
    /// Same structure; objects are the same when they have one name.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(a), Self::List(b))
            | (Self::Optional(a), Self::Optional(b))
            | (Self::Type(a), Self::Type(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            (Self::Opaque(a, of), Self::Opaque(b, with)) => a == b && of == with,
            (Self::Object(a), Self::Object(b)) => a.name == b.name,
            (Self::Param(a), Self::Param(b)) => a == b,
            (Self::Var(a), Self::Var(b)) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other) && self.is_plain(),
        }
    }
}

impl Type {
    fn is_plain(&self) -> bool {
        !matches!(
            self,
            Self::List(_)
                | Self::Map(_)
                | Self::Optional(_)
                | Self::Type(_)
                | Self::Opaque(..)
                | Self::Object(_)
                | Self::Param(_)
                | Self::Var(_)
        )
    }
}

/// Names of opaque types in declarations, and the names users see.
const OPAQUE: [(&str, &str); 11] = [
    ("Quantity", "kubernetes.Quantity"),
    ("URL", "kubernetes.URL"),
    ("Semver", "kubernetes.Semver"),
    ("NamedFormat", "kubernetes.NamedFormat"),
    ("IP", "net.IP"),
    ("CIDR", "net.CIDR"),
    ("Authorizer", "kubernetes.authorization.Authorizer"),
    ("PathCheck", "kubernetes.authorization.PathCheck"),
    ("GroupCheck", "kubernetes.authorization.GroupCheck"),
    ("ResourceCheck", "kubernetes.authorization.ResourceCheck"),
    ("Decision", "kubernetes.authorization.Decision"),
];

/// A declared overload's types: `<string>.indexOf(string, int) -> int` or `size(list(A)) -> int`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Signature {
    pub(crate) function: String,
    pub(crate) member: bool,
    /// The receiver, if any, comes first.
    pub(crate) params: Vec<Type>,
    pub(crate) result: Type,
}

impl Signature {
    /// Reads a declaration of our own tables.
    pub(crate) fn parse(text: &str) -> Self {
        Reader { rest: text }
            .signature()
            .unwrap_or_else(|| panic!("`{text}` in a function table is no signature"))
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn signature(mut self) -> Option<Signature> {
        let mut params = Vec::new();
        let member = self.eat("<");
        if member {
            params.push(self.ty()?);
            self.eat(">.").then_some(())?;
        }
        let open = self.rest.find('(')?;
        let function = self.rest[..open].to_owned();
        self.rest = &self.rest[open + 1..];
        while !self.eat(")") {
            params.push(self.ty()?);
            self.eat(", ");
        }
        self.eat(" -> ").then_some(())?;
        let result = self.ty()?;
        self.rest.is_empty().then_some(Signature {
            function,
            member,
            params,
            result,
        })
    }

    fn eat(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn ty(&mut self) -> Option<Type> {
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        let mut params = Vec::new();
        let parameterised = matches!(name, "list" | "map" | "optional" | "type");
        if parameterised && self.eat("(") {
            while !self.eat(")") {
                params.push(self.ty()?);
                self.eat(", ");
            }
        }
        named(name, params)
    }
}

fn named(name: &str, params: Vec<Type>) -> Option<Type> {
    let mut params = params.into_iter();
    Some(match name {
        "dyn" => Type::Dyn,
        "null" => Type::Null,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "list" => Type::list(params.next()?),
        "map" => Type::map(params.next()?, params.next()?),
        "optional" => Type::optional(params.next()?),
        "type" => Type::type_of(params.next()?),
        _ => match OPAQUE.iter().find(|(short, _)| *short == name) {
            Some((_, full)) => Type::opaque(full),
            None => Type::Param(name.chars().next().filter(|_| name.len() == 1)?),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_read_back() {
        let index_of = Signature::parse("<string>.indexOf(string, int) -> int");
        let expected = vec![Type::String, Type::String, Type::Int];
        assert_eq!(
            (index_of.member, index_of.params, index_of.result),
            (true, expected, Type::Int)
        );
        let of = Signature::parse("optional.of(A) -> optional(A)");
        assert_eq!((of.function.as_str(), of.member), ("optional.of", false));
        assert_eq!(of.result.to_string(), "optional_type(A)");
        assert_eq!(
            Signature::parse("f() -> map(string, list(IP))")
                .result
                .to_string(),
            "map(string, list(net.IP))"
        );
    }

    #[test]
    fn messages_spell_three_types_short() {
        let ty = Type::map(Type::Null, Type::list(Type::Duration));
        assert_eq!(
            ty.to_string(),
            "map(null_type, list(google.protobuf.Duration))"
        );
        assert_eq!(ty.in_message(), "map(null, list(duration))");
    }
}
