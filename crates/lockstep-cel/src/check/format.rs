//! Compile-time check of `"…".format([…])` with literal arguments.

use super::Checked;
use crate::ast::{Ast, Expr, Literal, NodeId};
use crate::issue::{Issue, Phase};
use crate::library::format::{Clause, Piece, pieces, refusal};
use crate::types::Type;

pub(super) fn validate(
    ast: &Ast,
    checked: &Checked,
    call: NodeId,
    target: NodeId,
    list: NodeId,
) -> Vec<Issue> {
    let Expr::Literal(Literal::String(format)) = ast.expr(target) else {
        return Vec::new();
    };
    let Expr::List(elements) = ast.expr(list) else {
        return Vec::new();
    };
    let issue = |node: NodeId, message: String| {
        Issue::at(Phase::Check, ast.source(), ast.offset(node), message)
    };
    let mut next = 0;
    for piece in pieces(format) {
        let clause = match piece {
            Ok(Piece::Text(_)) => continue,
            Ok(Piece::Clause(clause)) => Ok(clause),
            Err(fault) => Err(fault),
        };
        if let Err(fault) = &clause
            && !fault.needs_argument()
        {
            return vec![issue(call, fault.to_string())];
        }
        let Some(element) = elements.get(next) else {
            return vec![issue(call, format!("index {next} out of range"))];
        };
        match clause {
            Err(fault) => return vec![issue(call, fault.to_string())],
            Ok(clause) => {
                if let Some(message) = refused(clause, checked.ty(element.value)) {
                    return vec![issue(element.value, message)];
                }
            }
        }
        next += 1;
    }
    if next < elements.len() {
        let given = elements.len();
        let message =
            format!("too many arguments supplied to string.format (expected {next}, got {given})");
        return vec![issue(call, message)];
    }
    Vec::new()
}

fn refused(clause: Clause, ty: &Type) -> Option<String> {
    if ty.is_dyn_or_error() {
        return None;
    }
    refusal(clause, ty.runtime_name()).map(|text| format!("error during formatting: {text}"))
}
