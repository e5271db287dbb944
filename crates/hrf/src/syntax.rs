//! From tokens to sentences: trees of names, variables and operators.
//!
//! Operators from the tightest: `!`, `#`, `~`, `&`, `|`, `==>`, `:=`, `:-`, `::`. Between
//! conditions `,` and `;` of Prolog are `&` and `|`. `\+` and `not` are `~`, and `\=` is
//! `distinct`. A sentence ends where no operator goes on, so none needs a full stop. Reading
//! descends into brackets by recursion, which [`MAX_DEPTH`] bounds. A faulty sentence is reported
//! and left out; reading goes on at the next line that starts in the first column.

use super::token::{Token, TokenKind, tokens};
use panza_gdl::diagnostic::brief;
use panza_gdl::sexpr::MAX_DEPTH;
use panza_gdl::text::MARK;
use panza_gdl::{Diagnostic, Span};

/// Tokens of a rulesheet, at most.
const MAX_TOKENS: usize = 4_000_000;

/// An operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// `h!t`: a list of a first element and the others.
    Cons,
    /// `#`, which has no meaning in rules.
    Hash,
    /// `~`
    Not,
    /// `+`
    Insert,
    /// `*`
    Enqueue,
    /// `&`, of at least two operands.
    And,
    /// `|`, of at least two operands.
    Or,
    /// `==>`
    Transition,
    /// `:=`
    Definition,
    /// `:-`
    Rule,
    /// `::`
    Operation,
}

/// The operators between two operands from the loosest, each with whether the operands of a chain
/// are those of one operator.
const LEVELS: [(&str, Operator, bool); 6] = [
    ("::", Operator::Operation, false),
    (":-", Operator::Rule, false),
    (":=", Operator::Definition, false),
    ("==>", Operator::Transition, false),
    ("|", Operator::Or, true),
    ("&", Operator::And, true),
];

/// A node of a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tree {
    /// A variable; `_` is one that occurs nowhere else.
    Variable(Box<str>, Span),
    /// A constant, a number, or a text with its quotes.
    Name(Box<str>, Span),
    /// A name with arguments in parentheses, which may be none.
    Apply(Box<str>, Vec<Tree>, Span),
    /// An operator with its operands.
    Operator(Operator, Vec<Tree>, Span),
}

impl Tree {
    /// Where it stands in the text.
    pub fn span(&self) -> Span {
        match self {
            Tree::Variable(_, span)
            | Tree::Name(_, span)
            | Tree::Apply(_, _, span)
            | Tree::Operator(_, _, span) => *span,
        }
    }
}

/// A fault that is in the diagnostics.
struct Reported;

/// Reads all sentences of a rulesheet, and its faults.
pub fn parse(text: &str) -> (Vec<Tree>, Vec<Diagnostic>) {
    let (sentences, faults) = parse_with_spans(text);
    (
        sentences.into_iter().map(|(tree, _)| tree).collect(),
        faults,
    )
}

/// As [`parse`], each sentence with its place, which includes parentheses around it.
pub fn parse_with_spans(text: &str) -> (Vec<(Tree, Span)>, Vec<Diagnostic>) {
    if text.len() > u32::MAX as usize {
        let message = format!("the text has more than {} bytes", u32::MAX);
        let fault = Diagnostic::error("text-too-long", Span::default(), message);
        return (Vec::new(), vec![fault]);
    }
    let tokens = tokens(text).filter(|token| token.kind != TokenKind::Comment);
    let tokens: Vec<Token> = tokens.take(MAX_TOKENS + 1).collect();
    if let Some(extra) = tokens.get(MAX_TOKENS) {
        let message = format!("the text has more than {MAX_TOKENS} names and operators");
        let fault = Diagnostic::error("text-too-long", extra.span, message);
        return (Vec::new(), vec![fault]);
    }
    let mut parser = Parser {
        text,
        tokens: &tokens,
        at: 0,
        depth: 0,
        is_in_items: false,
        diagnostics: Vec::new(),
    };
    let mut sentences = Vec::new();
    while parser.at < tokens.len() {
        let start = parser.at;
        match parser.expression(0) {
            Ok(sentence) => {
                let span = parser.span_from(tokens[start].span);
                sentences.push((sentence, span));
            }
            Err(Reported) => parser.skip_sentence(start),
        }
    }
    (sentences, parser.diagnostics)
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    /// How many calls for nested expressions are open.
    depth: usize,
    /// Whether a `,` ends an item, and is no operator.
    is_in_items: bool,
    diagnostics: Vec<Diagnostic>,
}

impl Parser<'_> {
    fn is_mark(&self, mark: &str) -> bool {
        let token = self.tokens.get(self.at);
        token.is_some_and(|token| matches!(token.kind, TokenKind::Mark(own) if own == mark))
    }

    fn take_mark(&mut self, mark: &str) -> bool {
        let is_mark = self.is_mark(mark);
        self.at += usize::from(is_mark);
        is_mark
    }

    /// The place of the next token, or behind the last one.
    fn here(&self) -> Span {
        match self.tokens.get(self.at) {
            Some(token) => token.span,
            None => {
                let end = self.tokens.last().map_or(0, |token| token.span.end);
                Span { start: end, end }
            }
        }
    }

    fn span_from(&self, start: Span) -> Span {
        match self.at.checked_sub(1) {
            Some(last) => start.to(self.tokens[last].span),
            None => start,
        }
    }

    fn fail<T>(&mut self, expected: &str) -> Result<T, Reported> {
        let Some(token) = self.tokens.get(self.at) else {
            // The last token is shown, since the end of the text has no place.
            let last = self.tokens.last().map_or(Span::default(), |last| last.span);
            let message = format!("the text ends here, expected {expected}");
            self.diagnostics
                .push(Diagnostic::error("unfinished-sentence", last, message));
            return Err(Reported);
        };
        let found = &self.text[token.span.range()];
        let fault = match token.kind {
            TokenKind::Unknown if found.starts_with('"') => {
                let message = "this text has no closing quote";
                Diagnostic::error("unclosed-text", token.span, message).with_help("add a `\"`")
            }
            TokenKind::Unknown => {
                let message = format!("`{}` means nothing in rules", brief(found));
                Diagnostic::error("unknown-character", token.span, message).with_help(
                    "operators are `~ & | ==> :- ::`; names are made of letters, digits and `_ . / * + -`",
                )
            }
            _ => {
                let message = format!("found `{}`, expected {expected}", brief(found));
                Diagnostic::error("misplaced-token", token.span, message)
            }
        };
        self.diagnostics.push(fault);
        Err(Reported)
    }

    /// Goes to the next sentence: the first name in the first column after the place of the fault,
    /// or after `start` where nothing was read.
    fn skip_sentence(&mut self, start: usize) {
        self.at = self.at.max(start + 1).min(self.tokens.len());
        self.depth = 0;
        self.is_in_items = false;
        let starts_line = |token: &Token| {
            let before = &self.text[..token.span.start as usize];
            let is_name = matches!(token.kind, TokenKind::Name | TokenKind::Variable);
            is_name && (before.trim_end_matches(MARK).is_empty() || before.ends_with(['\n', '\r']))
        };
        // The token of the fault may be the start of the next sentence.
        let from = (self.at - 1).max(start + 1).min(self.tokens.len());
        let next = self.tokens[from..].iter().position(starts_line);
        self.at = next.map_or(self.tokens.len(), |next| from + next);
    }

    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Reported>,
    ) -> Result<T, Reported> {
        if self.depth >= MAX_DEPTH {
            let message = format!("terms are nested more than {MAX_DEPTH} deep here");
            let fault = Diagnostic::error("nesting-too-deep", self.here(), message);
            self.diagnostics.push(fault);
            // Such a text is not looked at any further.
            self.at = self.tokens.len();
            return Err(Reported);
        }
        let outer = self.depth;
        self.depth += 1;
        let result = read(self);
        self.depth = outer;
        result
    }

    /// An expression of operators at least as tight as a level.
    fn expression(&mut self, level: usize) -> Result<Tree, Reported> {
        let Some(&(mark, operator, is_flat)) = LEVELS.get(level) else {
            return self.prefixed();
        };
        let start = self.here();
        let first = self.expression(level + 1)?;
        let mut operands = vec![first];
        while (is_flat || operands.len() == 1) && self.take_between(mark, operator) {
            operands.push(self.expression(level + 1)?);
        }
        Ok(match operands.len() {
            1 => operands.remove(0),
            _ => Tree::Operator(operator, operands, self.span_from(start)),
        })
    }

    /// Takes the mark of an operator between two operands, or the one of Prolog.
    fn take_between(&mut self, mark: &str, operator: Operator) -> bool {
        self.take_mark(mark)
            || match operator {
                Operator::And => !self.is_in_items && self.take_mark(","),
                Operator::Or => self.take_mark(";"),
                _ => false,
            }
    }

    /// Takes `not` where a name follows, which no operator would connect it with.
    fn take_not(&mut self) -> bool {
        let is_name = |token: &Token| token.kind == TokenKind::Name;
        let is_not = match self.tokens.get(self.at..self.at + 2) {
            Some([not, next]) => {
                is_name(not) && is_name(next) && &self.text[not.span.range()] == "not"
            }
            _ => false,
        };
        self.at += usize::from(is_not);
        is_not
    }

    fn prefixed(&mut self) -> Result<Tree, Reported> {
        let start = self.here();
        let operator = match () {
            _ if self.take_mark("~") || self.take_mark("-") => Operator::Not,
            _ if self.take_mark("\\+") || self.take_not() => Operator::Not,
            _ if self.take_mark("+") => Operator::Insert,
            _ if self.take_mark("*") => Operator::Enqueue,
            _ => return self.list(),
        };
        let operand = self.deeper(Self::prefixed)?;
        Ok(Tree::Operator(
            operator,
            vec![operand],
            self.span_from(start),
        ))
    }

    /// `h!t`, and `#`.
    fn list(&mut self) -> Result<Tree, Reported> {
        let start = self.here();
        let first = self.primary()?;
        if self.take_mark("\\==") || self.take_mark("\\=") {
            let other = self.deeper(Self::list)?;
            let span = self.span_from(start);
            return Ok(Tree::Apply("distinct".into(), vec![first, other], span));
        }
        let operator = match () {
            _ if self.take_mark("!") => Operator::Cons,
            _ if self.take_mark("#") => Operator::Hash,
            _ => return Ok(first),
        };
        let rest = self.deeper(Self::list)?;
        Ok(Tree::Operator(
            operator,
            vec![first, rest],
            self.span_from(start),
        ))
    }

    fn primary(&mut self) -> Result<Tree, Reported> {
        let start = self.here();
        let Some(token) = self.tokens.get(self.at) else {
            return self.fail("a condition");
        };
        let shown = &self.text[token.span.range()];
        match token.kind {
            TokenKind::Variable => {
                self.at += 1;
                Ok(Tree::Variable(shown.into(), start))
            }
            TokenKind::Text => {
                self.at += 1;
                Ok(Tree::Name(shown.into(), start))
            }
            TokenKind::Name => {
                self.at += 1;
                // Behind a full stop a parenthesis begins the next sentence.
                let is_stopped = self.text[start.end as usize..].starts_with('.');
                if is_stopped || !self.take_mark("(") {
                    return Ok(Tree::Name(shown.into(), start));
                }
                let arguments = self.deeper(|parser| parser.items(")"))?;
                Ok(Tree::Apply(shown.into(), arguments, self.span_from(start)))
            }
            TokenKind::Mark("(") => {
                self.at += 1;
                let is_in_items = std::mem::replace(&mut self.is_in_items, false);
                let inner = self.deeper(|parser| parser.expression(0))?;
                self.is_in_items = is_in_items;
                match self.take_mark(")") {
                    true => Ok(inner),
                    false => self.fail("`)`"),
                }
            }
            TokenKind::Mark("[") => {
                self.at += 1;
                let items = self.deeper(|parser| parser.items("]"))?;
                let end = self.span_from(start);
                let nil = Tree::Name("nil".into(), end);
                Ok(items.into_iter().rfold(nil, |rest, first| {
                    let span = first.span().to(end);
                    Tree::Operator(Operator::Cons, vec![first, rest], span)
                }))
            }
            _ => self.fail("a name, a variable or `(`"),
        }
    }

    /// Terms up to a closing mark, whose opening one was read.
    fn items(&mut self, close: &str) -> Result<Vec<Tree>, Reported> {
        let is_in_items = std::mem::replace(&mut self.is_in_items, true);
        let items = self.items_up_to(close)?;
        self.is_in_items = is_in_items;
        Ok(items)
    }

    fn items_up_to(&mut self, close: &str) -> Result<Vec<Tree>, Reported> {
        let mut items = Vec::new();
        if self.take_mark(close) {
            return Ok(items);
        }
        loop {
            items.push(self.expression(0)?);
            if self.take_mark(close) {
                return Ok(items);
            }
            if !self.take_mark(",") {
                return self.fail(&format!("`,` or `{close}`"));
            }
            // Each item of a list lies one deeper than the item before it.
            if close == "]" {
                self.deeper(|_| Ok(()))?;
                self.depth += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_gdl::span::line_and_column;

    /// A tree with every operator in front and in parentheses.
    fn shown(tree: &Tree) -> String {
        let list = |items: &[Tree]| items.iter().map(shown).collect::<Vec<_>>().join(" ");
        match tree {
            Tree::Variable(name, _) | Tree::Name(name, _) => name.to_string(),
            Tree::Apply(name, arguments, _) => format!("{name}[{}]", list(arguments)),
            Tree::Operator(operator, operands, _) => format!("({operator:?} {})", list(operands)),
        }
    }

    fn read(text: &str) -> Vec<String> {
        let (sentences, faults) = parse(text);
        assert!(faults.is_empty(), "{faults:?}");
        sentences.iter().map(shown).collect()
    }

    /// Codes with lines and columns.
    fn faults(text: &str) -> Vec<(&'static str, usize, usize)> {
        let (_, faults) = parse(text);
        let place = |fault: &Diagnostic| {
            let (line, column) = line_and_column(text, fault.span.start);
            (fault.code, line, column)
        };
        faults.iter().map(place).collect()
    }

    #[test]
    fn operators_bind_in_their_order() {
        assert_eq!(
            read("h(X) :- a & ~b | c & d p :: q & (r | s) ==> ~q & p(1,f(X))"),
            [
                "(Rule h[X] (Or (And a (Not b)) (And c d)))",
                "(Operation p (Transition (And q (Or r s)) (And (Not q) p[1 f[X]])))",
            ]
        );
        assert_eq!(
            read("p([a,b]) q(X!nil) r()"),
            ["p[(Cons a (Cons b nil))]", "q[(Cons X nil)]", "r[]",]
        );
    }

    #[test]
    fn marks_of_prolog_are_read() {
        assert_eq!(
            read("p(X) :- q(X, _Y), \\+ (r ; s), not t(a, b), X \\= b. u."),
            [
                "(Rule p[X] (And q[X _Y] (Not (Or r s)) (Not t[a b]) distinct[X b]))",
                "u"
            ]
        );
        assert_eq!(read("p. (q). r(s. , t.)."), ["p", "q", "r[s t]"]);
    }

    #[test]
    fn a_sentence_ends_where_no_operator_goes_on() {
        assert_eq!(
            read("a b(1)\n . c(2) (d) ~e"),
            ["a", "b[1]", "c[2]", "d", "(Not e)"]
        );
        assert_eq!(read("p &(R) ~q"), ["(And p R)", "(Not q)"]);
        assert_eq!(read("a\n  (1)"), ["a[1]"]);
    }

    #[test]
    fn faults_have_lines_and_columns_and_the_rest_is_read() {
        let text = "a(1\nb(2)\nc(=)\n d(3)\ne :-\nf(4)\ng :- &";
        let found = faults(text);
        assert_eq!(
            found,
            [
                ("misplaced-token", 2, 1),
                ("unknown-character", 3, 3),
                ("misplaced-token", 7, 6),
            ]
        );
        let sentences: Vec<String> = parse(text).0.iter().map(shown).collect();
        assert_eq!(sentences, ["b[2]", "(Rule e f[4])"]);
        assert_eq!(faults("a :-"), [("unfinished-sentence", 1, 3)]);
        assert_eq!(faults("a(\"b)"), [("unclosed-text", 1, 3)]);
        assert_eq!(faults(")"), [("misplaced-token", 1, 1)]);
    }

    #[test]
    fn nesting_is_bounded() {
        for open in ["f(", "(", "~", "[", "a!", "[a,", "[[a,[a],"] {
            let found = faults(&open.repeat(100_000));
            assert_eq!(found.len(), 1, "{open}");
            assert_eq!(found[0].0, "nesting-too-deep");
        }
    }
}
