//! From text to s-expressions, with recovery from parentheses that do not match by the layout of
//! the text.
//!
//! A list left open swallows all statements after it. Most rulesheets start each statement in the
//! first column, so the text is cut there into chunks and each chunk is read alone: a fault stays
//! in its chunk. Where the layout disagrees with the parentheses too often, the text is cut before
//! each `(<=` instead, since no rule stands inside a rule. Inside a chunk the indentation shows
//! which list is open too long, as in Parinfer (Lavers, 2015).

use super::diagnostic::{Diagnostic, Edit};
use super::sexpr::{Builder, MAX_DEPTH, Sexpr, unclosed};
use super::span::Span;
use super::text::MARK;
use super::token::{Token, TokenKind, tokens};

/// Words that start a condition and never a statement.
const CONDITION_WORDS: [&str; 6] = ["true", "does", "not", "or", "and", "distinct"];

/// Symbols and parentheses of a message, at most: reading takes some 200 bytes for each.
const MAX_MESSAGE_TOKENS: usize = 4_000_000;

/// Reads all top-level expressions of a rulesheet, and its faults.
///
/// Where the parentheses do not match, the layout of the text shows which statements are broken.
pub fn parse(text: &str) -> (Vec<Sexpr>, Vec<Diagnostic>) {
    parse_text(text, usize::MAX, by_layout)
}

/// Reads all top-level expressions of a text without regard to its layout, and its faults. A text
/// of more than four million symbols is a fault and nothing of it is read.
pub fn parse_message(text: &str) -> (Vec<Sexpr>, Vec<Diagnostic>) {
    parse_text(text, MAX_MESSAGE_TOKENS, |_, _, _| None)
}

fn parse_text(
    text: &str,
    max_tokens: usize,
    recover: impl Fn(&str, &[Token], usize) -> Option<(Vec<Sexpr>, Vec<Diagnostic>)>,
) -> (Vec<Sexpr>, Vec<Diagnostic>) {
    if text.len() > u32::MAX as usize {
        let message = format!("the text has more than {} bytes", u32::MAX);
        let fault = Diagnostic::error("text-too-long", Span::default(), message);
        return (Vec::new(), vec![fault]);
    }
    let tokens = tokens(text).filter(|token| token.kind != TokenKind::Comment);
    let tokens: Vec<Token> = tokens.take(max_tokens.saturating_add(1)).collect();
    if let Some(extra) = tokens.get(max_tokens) {
        let message = format!("the text has more than {max_tokens} symbols and parentheses");
        let fault = Diagnostic::error("text-too-long", extra.span, message);
        return (Vec::new(), vec![fault]);
    }
    let plain = Builder::read(text, &tokens);
    if let Some(span) = plain.too_deep {
        let message = format!("lists are nested more than {MAX_DEPTH} deep here");
        let fault = Diagnostic::error("nesting-too-deep", span, message);
        return (plain.closed(), vec![fault]);
    }
    if plain.is_sound() && !has_rule_in_rule(text, &tokens) {
        return (plain.top, Vec::new());
    }
    recover(text, &tokens, plain.n_faults())
        .filter(|(_, faults)| !faults.is_empty())
        .unwrap_or_else(|| plain.with_faults(None))
}

/// A token with its place in the layout.
#[derive(Clone, Copy)]
struct Placed<'a> {
    token: Token,
    text: &'a str,
    /// From 1.
    line: u32,
    /// Bytes before it on its line.
    column: u32,
    starts_line: bool,
}

fn placed<'a>(text: &'a str, tokens: &[Token]) -> Vec<Placed<'a>> {
    // A byte-order mark in front has no width.
    let mark = text.len() - text.trim_start_matches(MARK).len();
    let (mut line, mut line_start, mut end_of_last) = (1, mark, mark);
    tokens
        .iter()
        .enumerate()
        .map(|(index, &token)| {
            let range = token.span.range();
            let between = &text[end_of_last..range.start];
            let line_break = between.rfind(['\n', '\r']);
            line += between.matches('\n').count() as u32;
            if let Some(at) = line_break {
                line_start = end_of_last + at + 1;
            }
            end_of_last = range.end;
            Placed {
                token,
                text: &text[range.clone()],
                line,
                column: (range.start - line_start) as u32,
                starts_line: line_break.is_some() || index == 0,
            }
        })
        .collect()
}

/// Whether the list that comes first ends before the last token.
fn first_list_ends_early(tokens: &[Placed<'_>]) -> bool {
    let mut depth = 0;
    let end = tokens.iter().position(|placed| {
        match placed.token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth -= 1,
            TokenKind::Symbol | TokenKind::Comment => {}
        }
        depth <= 0
    });
    end.is_some_and(|end| end + 1 < tokens.len())
}

fn starts_rule(tokens: &[Placed<'_>]) -> bool {
    matches!(tokens, [open, word, ..] if open.token.kind == TokenKind::Open && word.text == "<=")
}

/// Whether some rule stands inside a rule, which a missing and a superfluous `)` cause together.
fn has_rule_in_rule(text: &str, tokens: &[Token]) -> bool {
    // For each open list, whether it is a rule.
    let mut open: Vec<bool> = Vec::new();
    let mut n_rules = 0;
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Open => {
                let next = tokens.get(index + 1);
                let is_rule = next.is_some_and(|next| &text[next.span.range()] == "<=");
                n_rules += usize::from(is_rule);
                open.push(is_rule);
            }
            TokenKind::Close => n_rules -= usize::from(open.pop().unwrap_or(false)),
            TokenKind::Symbol | TokenKind::Comment => {}
        }
        if n_rules > 1 {
            return true;
        }
    }
    false
}

/// The expressions of a text whose parentheses do not match, and one fault per broken statement;
/// `n_faults` is what reading the text as a whole counts. Nothing when the layout shows no more
/// than that.
fn by_layout(
    text: &str,
    tokens: &[Token],
    n_faults: usize,
) -> Option<(Vec<Sexpr>, Vec<Diagnostic>)> {
    let tokens = placed(text, tokens);
    let mut statements = &tokens[..];
    // A rulesheet in one more pair of parentheses. Where all parentheses match, that is seen.
    if let [first, second, .., last] = statements
        && first.token.kind == TokenKind::Open
        && second.token.kind == TokenKind::Open
        && (n_faults > 0 || !first_list_ends_early(statements))
    {
        let end = tokens.len() - usize::from(last.token.kind == TokenKind::Close);
        statements = &tokens[1..end];
    }
    let margin = statements.first()?.column;
    let starts_statement = |at: usize| {
        let token = &statements[at];
        token.token.kind == TokenKind::Open
            && token.starts_line
            && token.column <= margin
            && statements
                .get(at + 1)
                .is_none_or(|word| !CONDITION_WORDS.contains(&word.text))
    };
    // Without faults in the whole text, a missing and a superfluous `)` cancel each other.
    let n_allowed = if n_faults == 0 { 2 } else { n_faults };
    let whole = Chunk {
        text,
        tokens: statements,
        next_line: None,
    };
    if !whole.has_conditions_in_column(margin) {
        let by_column = whole.read_parts(starts_statement, Chunk::read_statement);
        if by_column.1.len() <= n_allowed {
            return Some(by_column);
        }
    }
    let by_rule = whole.read_rules();
    (by_rule.1.len() <= n_allowed).then_some(by_rule)
}

/// Tokens that are read alone.
struct Chunk<'a, 't> {
    text: &'a str,
    tokens: &'t [Placed<'a>],
    /// The line of the next chunk.
    next_line: Option<u32>,
}

impl<'a, 't> Chunk<'a, 't> {
    fn plain(&self) -> Builder<'_> {
        Builder::read(self.text, self.tokens.iter().map(|placed| &placed.token))
    }

    /// Cuts the chunk where a part starts.
    fn parts(&self, starts_part: impl Fn(usize) -> bool) -> Vec<Chunk<'a, 't>> {
        let cuts = (1..self.tokens.len()).filter(|&at| starts_part(at));
        let mut parts = Vec::new();
        let mut start = 0;
        for end in cuts.chain([self.tokens.len()]) {
            let next_line = self.tokens.get(end).map(|next| next.line);
            parts.push(Chunk {
                text: self.text,
                tokens: &self.tokens[start..end],
                next_line: next_line.or(self.next_line),
            });
            start = end;
        }
        parts
    }

    fn read_parts(
        &self,
        starts_part: impl Fn(usize) -> bool,
        read: impl Fn(&Self) -> (Vec<Sexpr>, Vec<Diagnostic>),
    ) -> (Vec<Sexpr>, Vec<Diagnostic>) {
        let (mut expressions, mut faults) = (Vec::new(), Vec::new());
        for part in self.parts(starts_part) {
            let (more, found) = read(&part);
            expressions.extend(more);
            faults.extend(found);
        }
        (expressions, faults)
    }

    /// Whether some sound rule has a condition as far left as statements start.
    fn has_conditions_in_column(&self, margin: u32) -> bool {
        let rules = self.parts(|at| starts_rule(&self.tokens[at..]));
        rules.iter().any(|rule| {
            let plain = rule.plain();
            let mut inner = rule.tokens.iter().skip(1);
            plain.is_sound()
                && plain.closed().len() == 1
                && inner.any(|placed| placed.starts_line && placed.column <= margin)
        })
    }

    /// Reads a chunk that is one statement, most of the time.
    fn read_statement(&self) -> (Vec<Sexpr>, Vec<Diagnostic>) {
        let plain = self.plain();
        let n_rules = (0..self.tokens.len()).filter(|&at| starts_rule(&self.tokens[at..]));
        if !plain.is_sound() && n_rules.take(2).count() > 1 {
            return self.read_rules();
        }
        let repaired = match (plain.open().len(), plain.stray().len()) {
            (0, 0) => None,
            (_, 0) => self.by_indentation(),
            (_, n_stray) => self.without_early_end(n_stray, self.tokens.len()),
        };
        match repaired {
            Some((expressions, fault)) => (expressions, vec![fault]),
            None => plain.with_faults(self.next_line),
        }
    }

    /// Reads a chunk in parts, cut before each rule.
    fn read_rules(&self) -> (Vec<Sexpr>, Vec<Diagnostic>) {
        let starts_part = |at: usize| starts_rule(&self.tokens[at..]);
        self.read_parts(starts_part, |part| {
            let plain = part.plain();
            // Facts may follow the rule, so only variables and condition words show its end.
            let is_condition = |placed: &Placed<'_>| {
                placed.text.starts_with('?') || CONDITION_WORDS.contains(&placed.text)
            };
            let last = part.tokens.iter().rposition(is_condition).unwrap_or(0);
            match part.without_early_end(plain.stray().len(), last) {
                Some((expressions, fault)) => (expressions, vec![fault]),
                None => plain.with_faults(part.next_line),
            }
        })
    }

    /// Closes each list that a line further left than its `(` follows, if all lists end in that
    /// way.
    fn by_indentation(&self) -> Option<(Vec<Sexpr>, Diagnostic)> {
        let mut builder = Builder::new(self.text);
        let mut columns: Vec<u32> = Vec::new();
        let mut fault = None;
        let mut missing: Vec<Edit> = Vec::new();
        let mut end_of_last = self.tokens.first()?.token.span;
        for placed in self.tokens {
            while placed.starts_line
                && columns.len() > 1
                && columns
                    .last()
                    .is_some_and(|&column| column >= placed.column)
            {
                columns.pop();
                let start = builder.open().next_back()?;
                fault.get_or_insert_with(|| unclosed(start, 1, Some(placed.line)));
                builder.close(end_of_last);
                missing.push(Edit::insertion(end_of_last, ")"));
            }
            end_of_last = placed.token.span;
            match placed.token.kind {
                TokenKind::Open => columns.push(placed.column),
                TokenKind::Close => drop(columns.pop()),
                TokenKind::Symbol | TokenKind::Comment => {}
            }
            builder.add(&placed.token);
        }
        let fault = fault.filter(|_| builder.is_sound())?;
        Some((builder.closed(), fault.with_edits(missing)))
    }

    /// Leaves out so many `)` that end a rule before its last condition, which ends at `last`.
    fn without_early_end(&self, n_stray: usize, last: usize) -> Option<(Vec<Sexpr>, Diagnostic)> {
        if !starts_rule(self.tokens) {
            return None;
        }
        let mut builder = Builder::new(self.text);
        let mut early = Vec::new();
        for (index, placed) in self.tokens.iter().enumerate() {
            let next = self.tokens.get(index + 1);
            let is_early = early.len() < n_stray
                && index < last
                && placed.token.kind == TokenKind::Close
                && builder.open().len() == 1
                && next.is_some_and(|next| next.token.kind != TokenKind::Close);
            if is_early {
                early.push(placed.token.span);
            } else {
                builder.add(&placed.token);
            }
        }
        let &first = early.first().filter(|_| builder.is_sound())?;
        let message = "this `)` ends the rule before its last condition";
        let fault = Diagnostic::error("stray-parenthesis", first, message)
            .with_help("remove it")
            .with_edits(early.into_iter().map(Edit::removal).collect());
        Some((builder.closed(), fault))
    }
}

#[cfg(test)]
mod tests {
    use super::super::sexpr::parse;
    use super::super::span::line_and_column;

    /// The expressions, and code, line and column of each fault.
    fn check(text: &str, expected: &[&str], faults: &[(&str, usize, usize)]) {
        let (expressions, found) = parse(text);
        let shown: Vec<String> = expressions.iter().map(ToString::to_string).collect();
        assert_eq!(shown, expected);
        let found: Vec<_> = found
            .iter()
            .map(|fault| {
                let (line, column) = line_and_column(text, fault.span.start);
                (fault.code, line, column)
            })
            .collect();
        assert_eq!(found, faults);
    }

    const UNCLOSED: &str = "unclosed-parenthesis";
    const STRAY: &str = "stray-parenthesis";

    #[test]
    fn a_statement_in_the_first_column_ends_the_open_one() {
        check(
            "(role a)\n(<= p\n  (q (r)\n(role b)\n(<= r\n  (s))\n",
            &["(role a)", "(<= p (q (r)))", "(role b)", "(<= r (s))"],
            &[(UNCLOSED, 3, 3)],
        );
    }

    #[test]
    fn indentation_shows_the_open_list() {
        check(
            "(<= (legal ?r (mark ?x)\n  (role ?r)\n  (true (index ?x)))\n(role b)",
            &[
                "(<= (legal ?r (mark ?x)) (role ?r) (true (index ?x)))",
                "(role b)",
            ],
            &[(UNCLOSED, 1, 5)],
        );
    }

    #[test]
    fn a_rule_that_ends_too_early_is_read_to_its_end() {
        check(
            "(<= p)\n  (q)\n  (r))\n(role b))\n",
            &["(<= p (q) (r))", "(role b)"],
            &[(STRAY, 1, 6), (STRAY, 4, 9)],
        );
    }

    #[test]
    fn faults_that_cancel_are_found() {
        check(
            "(<= p\n  (q)\n(<= r\n  (s)))\n",
            &["(<= p (q))", "(<= r (s))"],
            &[(UNCLOSED, 1, 1), (STRAY, 4, 7)],
        );
    }

    #[test]
    fn conditions_in_the_first_column_are_no_statements() {
        check(
            "(<= p\n(q ?x)\n(r ?x)\n(<= r\n(s)\n(t))\n(<= s\n(t)\n(t))",
            &["(<= p (q ?x) (r ?x))", "(<= r (s) (t))", "(<= s (t) (t))"],
            &[(UNCLOSED, 1, 1)],
        );
    }

    #[test]
    fn one_line_is_cut_before_each_rule() {
        check(
            "(role a) (<= p (q) (<= r (s)) (<= s (t))",
            &["(role a)", "(<= p (q))", "(<= r (s))", "(<= s (t))"],
            &[(UNCLOSED, 1, 10)],
        );
    }

    #[test]
    fn a_first_statement_of_lists_is_no_wrapping() {
        let text = "((true x))\n\n(<= (a b\n    (c))\n  (<= (d)\n    (e)))\n";
        let (statements, faults) = parse(text);
        assert!(
            faults.iter().all(|fault| fault.span.start > 10),
            "{faults:?}"
        );
        assert!(statements.len() >= 2, "{statements:?}");
    }

    #[test]
    fn a_wrapped_rulesheet_is_recovered_as_well() {
        check(
            "(\n(role a)\n(<= p\n  (q)\n(role b)\n)\n",
            &["(role a)", "(<= p (q))", "(role b)"],
            &[(UNCLOSED, 3, 1)],
        );
    }
}
