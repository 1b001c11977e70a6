//! The parser: hand-written precedence climbing with limits and error recovery.

mod macros;
mod operand;

use crate::ast::{AST_DEPTH_MAX, Ast, Expr, Literal, NodeId};
use crate::issue::{Issue, Phase};
use crate::lexer::{self, Token, TokenKind};
use crate::source::Source;

/// Longest expression, in code points.
pub(crate) const EXPRESSION_CODE_POINTS_MAX: usize = 100_000;
/// Maximum nesting depth of brackets, calls and conditionals.
pub(crate) const NESTING_MAX: u16 = 250;
/// Maximum number of errors before parsing stops.
pub(crate) const ERRORS_MAX: usize = 100;

/// Syntax extensions beyond the core grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches of the grammar"
)]
pub(crate) struct Syntax {
    /// `a.?b`, `a[?b]`, `[?a]`, `{?k: v}` and the macros `optMap` and `optFlatMap`.
    pub(crate) optionals: bool,
    /// `` a.`b-c` ``
    pub(crate) quoted_fields: bool,
    /// Macros with an index or key and a value.
    pub(crate) two_variables: bool,
    /// `list.sortBy(x, key)`
    pub(crate) sort_by: bool,
    /// `cel.bind(x, value, result)`
    pub(crate) bind: bool,
    /// `math.greatest(a, b, …)` and `math.least(a, b, …)`
    pub(crate) math: bool,
}

/// Parses a whole expression.
pub(crate) fn parse(text: &str, syntax: Syntax) -> Result<Ast, Vec<Issue>> {
    let size = text.chars().count();
    if size > EXPRESSION_CODE_POINTS_MAX {
        let message = format!(
            "expression code point size exceeds limit: size: {size}, limit {EXPRESSION_CODE_POINTS_MAX}"
        );
        return Err(vec![Issue::whole(Phase::Parse, message)]);
    }
    let (tokens, faults) = lexer::tokens(text);
    let mut parser = Parser {
        text,
        tokens,
        at: 0,
        nesting: 0,
        stopped: false,
        syntax,
        ast: Ast::new(Source::new(text)),
        issues: Vec::new(),
    };
    for fault in faults.iter().take(ERRORS_MAX) {
        let skipped = &text[fault.start as usize..fault.end as usize];
        parser.error(
            fault.start,
            format!("Syntax error: token recognition error at: '{skipped}'"),
        );
    }
    parser.whole()
}

/// Sorts by place, keeping the order of issues at one place.
pub(crate) fn in_text_order(mut issues: Vec<Issue>) -> Vec<Issue> {
    issues.sort_by_key(|issue| issue.position);
    issues
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    nesting: u16,
    stopped: bool,
    syntax: Syntax,
    ast: Ast,
    issues: Vec<Issue>,
}

/// Binary operators by rising precedence; those of one row bind alike, to the left.
const PRECEDENCE: [&[(&str, &str)]; 3] = [
    &[
        ("==", "_==_"),
        ("!=", "_!=_"),
        ("<=", "_<=_"),
        (">=", "_>=_"),
        ("<", "_<_"),
        (">", "_>_"),
    ],
    &[("+", "_+_"), ("-", "_-_")],
    &[("*", "_*_"), ("/", "_/_"), ("%", "_%_")],
];

impl<'a> Parser<'a> {
    fn whole(mut self) -> Result<Ast, Vec<Issue>> {
        let root = self.expression();
        let rest = self.token();
        if rest.kind != TokenKind::End && !self.stopped {
            let message = format!(
                "Syntax error: extraneous input '{}' expecting <EOF>",
                self.slice(rest)
            );
            self.error(rest.start, message);
        }
        self.ast.set_root(root);
        if self.issues.is_empty() {
            Ok(self.ast)
        } else {
            Err(in_text_order(self.issues))
        }
    }

    // --- tokens ---

    fn token(&self) -> Token {
        self.ahead(0)
    }

    fn ahead(&self, count: usize) -> Token {
        self.tokens[(self.at + count).min(self.tokens.len() - 1)]
    }

    fn slice(&self, token: Token) -> &'a str {
        match token.kind {
            TokenKind::End => "<EOF>",
            _ => &self.text[token.start as usize..token.end as usize],
        }
    }

    fn advance(&mut self) -> Token {
        let token = self.token();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn accept(&mut self, punct: &'static str) -> Option<Token> {
        (self.token().kind == TokenKind::Punct(punct)).then(|| self.advance())
    }

    fn expect(&mut self, punct: &'static str) {
        if self.accept(punct).is_none() {
            let found = self.token();
            let message = format!(
                "Syntax error: mismatched input '{}' expecting '{punct}'",
                self.slice(found)
            );
            self.error(found.start, message);
        }
    }

    // --- errors ---

    fn error(&mut self, at: u32, message: impl Into<String>) {
        if self.stopped {
            return;
        }
        let issue = Issue::at(Phase::Parse, self.ast.source(), at, message);
        if self.issues.last() != Some(&issue) {
            self.issues.push(issue);
        }
        if self.issues.len() >= ERRORS_MAX {
            self.stop();
        }
    }

    fn error_node(&mut self, at: u32, message: impl Into<String>) -> NodeId {
        self.error(at, message);
        self.ast.push(Expr::Literal(Literal::Null), at)
    }

    /// Gives up on the whole text: no later error is meaningful.
    fn stop(&mut self) {
        self.stopped = true;
        self.at = self.tokens.len() - 1;
    }

    fn refuse_whole(&mut self, message: String) {
        if !self.stopped {
            self.issues.push(Issue::whole(Phase::Parse, message));
            self.stop();
        }
    }

    // --- nodes ---

    fn push(&mut self, expr: Expr, at: u32) -> NodeId {
        let node = self.ast.push(expr, at);
        if self.ast.depth(node) > AST_DEPTH_MAX {
            self.refuse_whole("max recursion depth exceeded".to_owned());
            return self.ast.push(Expr::Literal(Literal::Null), at);
        }
        node
    }

    fn operator(&mut self, function: &str, args: Vec<NodeId>, at: u32) -> NodeId {
        self.push(
            Expr::Call {
                function: function.into(),
                target: None,
                args,
            },
            at,
        )
    }

    // --- grammar, loosest binding first ---

    fn expression(&mut self) -> NodeId {
        self.nesting += 1;
        if self.nesting > NESTING_MAX {
            self.refuse_whole(format!(
                "expression recursion limit exceeded: {NESTING_MAX}"
            ));
        }
        let node = if self.stopped {
            self.ast.push(Expr::Literal(Literal::Null), 0)
        } else {
            self.conditional()
        };
        self.nesting -= 1;
        node
    }

    fn conditional(&mut self) -> NodeId {
        let condition = self.any_of();
        let Some(mark) = self.accept("?") else {
            return condition;
        };
        let yes = self.any_of();
        self.expect(":");
        let no = self.expression();
        self.push(Expr::Conditional { condition, yes, no }, mark.start)
    }

    fn any_of(&mut self) -> NodeId {
        let (terms, at) = self.chain("||", Self::all_of);
        if terms.len() == 1 {
            terms[0]
        } else {
            self.push(Expr::Or(terms), at)
        }
    }

    fn all_of(&mut self) -> NodeId {
        let (terms, at) = self.chain("&&", |parser| parser.binary(0));
        if terms.len() == 1 {
            terms[0]
        } else {
            self.push(Expr::And(terms), at)
        }
    }

    fn chain(
        &mut self,
        punct: &'static str,
        mut term: impl FnMut(&mut Self) -> NodeId,
    ) -> (Vec<NodeId>, u32) {
        let mut terms = vec![term(self)];
        let at = self.token().start;
        while self.accept(punct).is_some() {
            terms.push(term(self));
        }
        (terms, at)
    }

    fn binary(&mut self, level: usize) -> NodeId {
        let Some(operators) = PRECEDENCE.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1);
        while let Some(function) = self.operator_of(operators) {
            let mark = self.advance();
            let right = self.binary(level + 1);
            left = self.operator(function, vec![left, right], mark.start);
            if self.stopped {
                break;
            }
        }
        left
    }

    fn operator_of(&self, operators: &[(&'static str, &'static str)]) -> Option<&'static str> {
        let token = self.token();
        match token.kind {
            TokenKind::Punct(punct) => operators
                .iter()
                .find(|(text, _)| *text == punct)
                .map(|(_, name)| *name),
            TokenKind::Ident if operators[0].0 == "==" && self.slice(token) == "in" => Some("@in"),
            _ => None,
        }
    }

    /// Runs of `!` and `-` collapse pairwise; a last minus before a number belongs to the literal.
    fn unary(&mut self) -> NodeId {
        let first = self.token();
        let (punct, function) = match first.kind {
            TokenKind::Punct("!") => ("!", "!_"),
            TokenKind::Punct("-") if self.number_after_sign() => return self.member(),
            TokenKind::Punct("-") => ("-", "-_"),
            _ => return self.member(),
        };
        let mut count = 0;
        while self.token().kind == TokenKind::Punct(punct)
            && !(punct == "-" && self.number_after_sign())
        {
            self.advance();
            count += 1;
        }
        let operand = if self.token().kind == TokenKind::Punct("-") && !self.number_after_sign() {
            let found = self.token();
            let message = format!("Syntax error: extraneous input '{}'", self.slice(found));
            self.error_node(found.start, message)
        } else {
            self.member()
        };
        if count % 2 == 0 {
            operand
        } else {
            self.operator(function, vec![operand], first.start)
        }
    }

    fn number_after_sign(&self) -> bool {
        matches!(self.ahead(1).kind, TokenKind::Int | TokenKind::Double)
    }
}

#[cfg(test)]
mod tests;
