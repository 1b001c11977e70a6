//! JSON pointers in patch expressions.

use super::segment::Segment;
use crate::ast::{Ast, Expr, Literal, NodeId};

/// A constant text.
pub(super) fn text(ast: &Ast, node: NodeId) -> Option<&str> {
    match ast.expr(node) {
        Expr::Literal(Literal::String(text)) => Some(text),
        _ => None,
    }
}

/// The place a JSON pointer names, and whether only its beginning is known.
pub(super) fn pointer(ast: &Ast, node: Option<NodeId>) -> (Vec<Segment>, bool) {
    let Some(node) = node else {
        return (Vec::new(), true);
    };
    if let Some(text) = text(ast, node) {
        return (segments(text), false);
    }
    let mut first = node;
    while let Expr::Call { function, args, .. } = ast.expr(first)
        && &**function == "_+_"
    {
        first = args[0];
    }
    let prefix = text(ast, first).unwrap_or_default();
    // The last name may go on in the part that is not known.
    let whole = prefix.rfind('/').map_or("", |slash| &prefix[..slash]);
    (segments(whole), true)
}

/// The segments of a JSON pointer; numbers are positions, `-` is any.
fn segments(pointer: &str) -> Vec<Segment> {
    let segment = |name: &str| match name.parse::<i64>() {
        Ok(index) => Segment::Index(index),
        Err(_) if name == "-" => Segment::Any,
        Err(_) => Segment::Field(name.replace("~1", "/").replace("~0", "~").into()),
    };
    pointer.split('/').skip(1).map(segment).collect()
}
