//! The abstract syntax tree: a flat vector of nodes that refer to each other by index.
//!
//! A flat vector is walked and dropped without deep recursion. The depth of the tree is limited when nodes are added,
//! so every later pass may recurse.

use crate::source::Source;

/// Deepest tree accepted; each pass after the parser may recurse this deep.
pub(crate) const AST_DEPTH_MAX: u16 = 500;

/// A node of an [`Ast`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(pub(crate) u32);

impl NodeId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A literal of the text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// `1`
    Int(i64),
    /// `1u`
    Uint(u64),
    /// `1.0`
    Double(f64),
    /// `"text"`
    String(Box<str>),
    /// `b"bytes"`
    Bytes(Box<[u8]>),
}

/// Expression of a node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    /// A constant.
    Literal(Literal),
    /// A name; one that starts with a dot is looked up from the root.
    Ident(Box<str>),
    /// `operand.field`, `operand.?field` or `has(operand.field)`.
    Select {
        operand: NodeId,
        field: Box<str>,
        mode: SelectMode,
    },
    /// `operand[index]` or `operand[?index]`.
    Index {
        operand: NodeId,
        index: NodeId,
        optional: bool,
    },
    /// A function, method or operator call; operators are named `_+_`, `!_`, `@in`.
    Call {
        function: Box<str>,
        target: Option<NodeId>,
        args: Vec<NodeId>,
    },
    /// `a && b && …`
    And(Vec<NodeId>),
    /// `a || b || …`
    Or(Vec<NodeId>),
    /// `condition ? yes : no`
    Conditional {
        condition: NodeId,
        yes: NodeId,
        no: NodeId,
    },
    /// `[a, ?b]`
    List(Vec<Element>),
    /// `{k: v, ?k: v}`
    Map(Vec<Entry>),
    /// `Name{field: v, ?field: v}`
    Struct {
        name: Box<str>,
        fields: Vec<FieldInit>,
    },
    /// A comprehension macro over a list or map.
    Fold(Fold),
    /// `target.optMap(variable, body)` and `optFlatMap`.
    OptMap {
        target: NodeId,
        variable: Box<str>,
        body: NodeId,
        flat: bool,
    },
    /// `target.sortBy(variable, key)`.
    SortBy {
        target: NodeId,
        variable: Box<str>,
        key: NodeId,
    },
    /// `cel.bind(variable, init, body)`.
    Bind {
        variable: Box<str>,
        init: NodeId,
        body: NodeId,
    },
}

/// Mode of a field selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SelectMode {
    /// `a.f`
    Value,
    /// `a.?f`
    Optional,
    /// `has(a.f)`
    Test,
}

/// One element of a list literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element {
    /// The expression.
    pub(crate) value: NodeId,
    /// Written with `?`: an optional that is left out when empty.
    pub(crate) optional: bool,
}

/// One entry of a map literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The key expression.
    pub(crate) key: NodeId,
    /// The value expression.
    pub(crate) value: NodeId,
    /// Written with `?`.
    pub(crate) optional: bool,
}

/// One field of an object literal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FieldInit {
    /// The field's name.
    pub(crate) name: Box<str>,
    /// The value expression.
    pub(crate) value: NodeId,
    /// Written with `?`.
    pub(crate) optional: bool,
    /// Byte offset of the colon, where errors about the field point.
    pub(crate) at: u32,
}

/// Result kind of a comprehension macro.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum FoldKind {
    /// `all`
    All,
    /// `exists`
    Exists,
    /// `exists_one`, `existsOne`
    ExistsOne,
    /// `map`, `transformList`, and `filter` (whose body is the variable itself)
    List,
    /// `transformMap`
    Map,
    /// `transformMapEntry`
    MapEntry,
}

/// A macro over the elements of a list or the entries of a map.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fold {
    /// Kind of the comprehension.
    pub(crate) kind: FoldKind,
    /// The list or map.
    pub(crate) range: NodeId,
    /// The element or key; the index or key when `value` is there.
    pub(crate) variable: Box<str>,
    /// The second variable: the element or the entry's value.
    pub(crate) value: Option<Box<str>>,
    /// Elements for which this is false are passed over.
    pub(crate) filter: Option<NodeId>,
    /// The predicate or the new element.
    pub(crate) body: NodeId,
}

/// A parsed expression.
#[derive(Debug, Clone)]
pub(crate) struct Ast {
    source: Source,
    nodes: Vec<Expr>,
    offsets: Vec<u32>,
    depths: Vec<u16>,
    root: NodeId,
}

impl Ast {
    pub(crate) fn new(source: Source) -> Self {
        Self {
            source,
            nodes: Vec::new(),
            offsets: Vec::new(),
            depths: Vec::new(),
            root: NodeId(0),
        }
    }

    /// The text this was parsed from.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// The outermost node.
    pub(crate) fn root(&self) -> NodeId {
        self.root
    }

    pub(crate) fn set_root(&mut self, root: NodeId) {
        self.root = root;
    }

    /// Number of nodes; ids start at zero.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The content of a node.
    pub(crate) fn expr(&self, id: NodeId) -> &Expr {
        &self.nodes[id.index()]
    }

    /// Byte offset errors about this node point to.
    pub(crate) fn offset(&self, id: NodeId) -> u32 {
        self.offsets[id.index()]
    }

    /// Height of the tree under a node; a leaf has one.
    pub(crate) fn depth(&self, id: NodeId) -> u16 {
        self.depths[id.index()]
    }

    /// Adds a node; its children must be there already.
    pub(crate) fn push(&mut self, expr: Expr, at: u32) -> NodeId {
        let mut depth = 0;
        for_each_child(&expr, |child| depth = depth.max(self.depth(child)));
        self.nodes.push(expr);
        self.offsets.push(at);
        self.depths.push(depth.saturating_add(1));
        NodeId(crate::source::offset(self.nodes.len() - 1))
    }
}

/// Calls `visit` for each direct child, in the order of the text.
pub(crate) fn for_each_child(expr: &Expr, mut visit: impl FnMut(NodeId)) {
    match expr {
        Expr::Literal(_) | Expr::Ident(_) => {}
        Expr::Select { operand, .. } => visit(*operand),
        Expr::Index { operand, index, .. } => [*operand, *index].into_iter().for_each(visit),
        Expr::Call { target, args, .. } => target.iter().chain(args).copied().for_each(visit),
        Expr::And(terms) | Expr::Or(terms) => terms.iter().copied().for_each(visit),
        Expr::Conditional { condition, yes, no } => {
            [*condition, *yes, *no].into_iter().for_each(visit);
        }
        Expr::List(elements) => elements.iter().for_each(|element| visit(element.value)),
        Expr::Map(entries) => entries.iter().for_each(|entry| {
            visit(entry.key);
            visit(entry.value);
        }),
        Expr::Struct { fields, .. } => fields.iter().for_each(|field| visit(field.value)),
        Expr::Fold(fold) => {
            visit(fold.range);
            fold.filter.into_iter().for_each(&mut visit);
            visit(fold.body);
        }
        Expr::OptMap { target, body, .. } => [*target, *body].into_iter().for_each(visit),
        Expr::SortBy { target, key, .. } => [*target, *key].into_iter().for_each(visit),
        Expr::Bind { init, body, .. } => [*init, *body].into_iter().for_each(visit),
    }
}
