//! The canonical layout of a rulesheet.
//!
//! A rule has its head on the first line and each condition on a line of its own, indented by two.
//! A line that fits into `WIDTH` characters is not broken. Comments stay behind the token they
//! follow, or on a line of their own. Single blank lines between statements are kept. Formatting is
//! idempotent and does not change the rules.

use super::diagnostic::Diagnostic;
use super::rules::Rules;
use super::sexpr;
use super::token::{TokenKind, tokens};

/// Characters per line, where the rules allow.
const WIDTH: usize = 100;

struct Entry<'a> {
    content: Content<'a>,
    /// Whether an empty line stands before it.
    follows_blank: bool,
}

enum Content<'a> {
    Symbol(&'a str),
    List(Vec<Entry<'a>>),
    /// A comment; the flag says whether it stands behind something on the same line.
    Comment(&'a str, bool),
}

/// The rulesheet in canonical layout.
///
/// # Errors
/// The faults of a text whose parentheses do not match or nest too deep; nothing can be laid out
/// then.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let (_, faults) = sexpr::parse(text);
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut layout = Layout {
        out: String::with_capacity(text.len()),
        column: 0,
        must_break: false,
    };
    for (index, entry) in entries(text).iter().enumerate() {
        match entry.content {
            Content::Comment(comment, true) if index > 0 => layout.trailing_comment(comment),
            _ => {
                if index > 0 {
                    layout.line_break(0);
                    if entry.follows_blank {
                        layout.out.push('\n');
                    }
                }
                layout.entry(entry, 0);
            }
        }
    }
    if !layout.out.is_empty() {
        layout.out.push('\n');
    }
    Ok(layout.out)
}

/// The rules as a rulesheet in canonical layout. Reading it gives the same rules.
pub fn rulesheet(rules: &Rules) -> String {
    let lines = rules.rules.iter().map(|rule| rules.show_rule(rule) + "\n");
    let text: String = lines.collect();
    format(&text).unwrap_or(text)
}

/// The text as a tree with its comments. Its parentheses match.
fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut open: Vec<Vec<Entry<'_>>> = vec![Vec::new()];
    let mut blanks: Vec<bool> = Vec::new();
    let mut end_of_last = 0;
    for token in tokens(text) {
        let between = &text[end_of_last..token.span.start as usize];
        let n_breaks = between.matches('\n').count();
        let follows_blank = n_breaks > 1;
        let shown = &text[token.span.range()];
        end_of_last = token.span.end as usize;
        let entry = match token.kind {
            TokenKind::Open => {
                open.push(Vec::new());
                blanks.push(follows_blank);
                continue;
            }
            TokenKind::Close => match (open.pop(), blanks.pop()) {
                (Some(items), Some(follows_blank)) => Entry {
                    content: Content::List(items),
                    follows_blank,
                },
                _ => continue,
            },
            TokenKind::Symbol => Entry {
                content: Content::Symbol(shown),
                follows_blank,
            },
            TokenKind::Comment => {
                // A bare CR ends a comment as well, so a comment behind another is on its own line.
                let has_something_before =
                    token.span.start > 0 && n_breaks == 0 && !between.contains('\r');
                Entry {
                    content: Content::Comment(shown.trim_end(), has_something_before),
                    follows_blank,
                }
            }
        };
        if let Some(items) = open.last_mut() {
            items.push(entry);
        }
    }
    open.pop().unwrap_or_default()
}

/// The entry on one line; nothing when a comment forbids it or it has more than `room` characters.
fn on_one_line(entry: &Entry<'_>, room: usize) -> Option<String> {
    let mut line = String::new();
    let mut left = room;
    write_on_line(entry, &mut line, &mut left).then_some(line)
}

/// Adds an entry to a line with room for `left` characters; false as soon as it does not fit.
fn write_on_line(entry: &Entry<'_>, line: &mut String, left: &mut usize) -> bool {
    match &entry.content {
        Content::Symbol(text) => take(text, line, left),
        Content::Comment(..) => false,
        Content::List(items) => {
            take("(", line, left)
                && items.iter().enumerate().all(|(index, item)| {
                    (index == 0 || take(" ", line, left)) && write_on_line(item, line, left)
                })
                && take(")", line, left)
        }
    }
}

fn take(text: &str, line: &mut String, left: &mut usize) -> bool {
    let length = text.chars().take(*left + 1).count();
    let fits = length <= *left;
    if fits {
        *left -= length;
        line.push_str(text);
    }
    fits
}

struct Layout {
    out: String,
    column: usize,
    /// Whether a comment ends the line.
    must_break: bool,
}

impl Layout {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn line_break(&mut self, indent: usize) {
        self.out.push('\n');
        self.column = indent;
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.must_break = false;
    }

    fn trailing_comment(&mut self, comment: &str) {
        self.push(" ");
        self.push(comment);
        self.must_break = true;
    }

    fn entry(&mut self, entry: &Entry<'_>, indent: usize) {
        let items = match &entry.content {
            Content::Comment(comment, _) => {
                self.push(comment);
                self.must_break = true;
                return;
            }
            Content::Symbol(text) => return self.push(text),
            Content::List(items) => items,
        };
        let is_rule = matches!(
            items.first().map(|first| &first.content),
            Some(Content::Symbol("<="))
        );
        let is_broken_rule = is_rule && items.len() > 2;
        if !is_broken_rule && let Some(line) = on_one_line(entry, WIDTH.saturating_sub(self.column))
        {
            return self.push(&line);
        }
        self.push("(");
        let on_first_line = if is_rule { 2 } else { 1 };
        for (index, item) in items.iter().enumerate() {
            match item.content {
                Content::Comment(comment, true) => self.trailing_comment(comment),
                _ => {
                    // A comment of its own line would else be read as one behind the parenthesis.
                    let stands_alone = matches!(item.content, Content::Comment(..));
                    if index >= on_first_line || self.must_break || stands_alone {
                        self.line_break(indent + 2);
                    } else if index > 0 {
                        self.push(" ");
                    }
                    self.entry(item, indent + 2);
                }
            }
        }
        if self.must_break {
            self.line_break(indent);
        }
        self.push(")");
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::read_rules;
    use super::*;

    fn laid_out(text: &str) -> String {
        let once = format(text).expect("the parentheses match");
        let twice = format(&once).expect("the parentheses match");
        assert_eq!(once, twice, "formatting again changes nothing");
        let rules = |text: &str| {
            let (rules, _) = read_rules(&sexpr::parse(text).0);
            rules
                .rules
                .iter()
                .map(|rule| rules.show_rule(rule))
                .collect::<Vec<_>>()
        };
        assert_eq!(rules(text), rules(&once), "the rules stay the same");
        once
    }

    #[test]
    fn rules_stand_one_condition_a_line() {
        assert_eq!(
            laid_out(
                "( role   a)\n\n\n\n(<= (legal a (go ?x))(true ( at ?x ))\n(not (true b)) )(<= p)"
            ),
            "(role a)\n\n(<= (legal a (go ?x))\n  (true (at ?x))\n  (not (true b)))\n(<= p)\n"
        );
    }

    #[test]
    fn comments_stay_where_they_are() {
        let text = "; head\n(<= p ; why\n q\n ; alone\n r ; last\n) ; behind\n\n;; end";
        assert_eq!(
            laid_out(text),
            "; head\n(<= p ; why\n  q\n  ; alone\n  r ; last\n) ; behind\n\n;; end\n"
        );
        assert_eq!(laid_out("(;a\nrole b)"), "( ;a\n  role\n  b)\n");
        assert_eq!(laid_out("a;b\rc"), "a ;b\nc\n");
        assert_eq!(laid_out("(\n;a\nrole b)"), "(\n  ;a\n  role\n  b)\n");
        assert_eq!(laid_out("(<=\n;a\np q)"), "(<=\n  ;a\n  p\n  q)\n");
    }

    #[test]
    fn long_lists_are_broken() {
        let long = format!("(p {} (f {}))", "argument ".repeat(9), "inner ".repeat(12));
        let shown = laid_out(&long);
        assert!(
            shown.lines().all(|line| line.chars().count() <= WIDTH),
            "{shown}"
        );
        assert!(shown.starts_with("(p\n  argument\n"));
    }

    #[test]
    fn what_does_not_match_is_not_laid_out() {
        assert_eq!(format("(a").unwrap_err()[0].code, "unclosed-parenthesis");
        assert_eq!(format("").unwrap(), "");
    }
}
