//! The canonical layout of a rulesheet, in the style of the dialect's own printer.
//!
//! A sentence is on one line if it fits into `WIDTH` characters: commas without a space, other
//! operators with one on each side. Otherwise each condition is on a line of its own, indented by
//! two, as are the effects. Comments stay on their lines or behind their sentence; a sentence with
//! a comment inside is left as it is written. Single blank lines are kept. Formatting is idempotent
//! and does not change the rules.

use super::syntax::{Operator, Tree, parse_with_spans};
use super::token::{TokenKind, tokens};
use panza_gdl::{Diagnostic, Span};

/// Characters per line, where the rules allow.
const WIDTH: usize = 100;

/// The rulesheet in canonical layout.
///
/// # Errors
/// The faults of a text with a sentence that cannot be read; nothing is laid out then.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let (sentences, faults) = parse_with_spans(text);
    if !faults.is_empty() {
        return Err(faults);
    }
    let comments = tokens(text).filter(|token| token.kind == TokenKind::Comment);
    let comments: Vec<Span> = comments.map(|token| token.span).collect();
    let is_inside = |comment: &Span, sentence: &Span| {
        sentence.start < comment.start && comment.end <= sentence.end
    };
    // Sentences, and the comments outside them, in the order of the text.
    let mut entries: Vec<(Span, Option<&Tree>)> = Vec::new();
    let mut comments = comments.into_iter().peekable();
    let mut has_comments = Vec::new();
    for (tree, span) in &sentences {
        while let Some(comment) = comments.next_if(|comment| comment.start < span.start) {
            entries.push((comment, None));
        }
        entries.push((*span, Some(tree)));
        let mut n_inside = 0;
        while comments
            .next_if(|comment| is_inside(comment, span))
            .is_some()
        {
            n_inside += 1;
        }
        if n_inside > 0 {
            has_comments.push(*span);
        }
    }
    entries.extend(comments.map(|comment| (comment, None)));
    let mut out = String::with_capacity(text.len());
    let mut end_of_last = 0;
    for (span, tree) in entries {
        let between = &text[end_of_last..span.start as usize];
        end_of_last = span.end as usize;
        let n_breaks = between.matches('\n').count();
        let follows_on_line = tree.is_none() && n_breaks == 0 && !between.contains('\r');
        match (out.is_empty(), follows_on_line) {
            (true, _) => {}
            (false, true) => out.push(' '),
            (false, false) if n_breaks > 1 => out.push_str("\n\n"),
            (false, false) => out.push('\n'),
        }
        let written = &text[span.range()];
        match tree {
            Some(tree) if has_comments.binary_search(&span).is_err() => sentence(tree, &mut out),
            _ => out.push_str(written.trim_end()),
        }
    }
    if !out.is_empty() {
        out.push('\n');
    }
    Ok(out)
}

/// Writes a sentence, on several lines where it is too long for one.
fn sentence(tree: &Tree, out: &mut String) {
    let line = shown(tree);
    if line.chars().count() <= WIDTH {
        return out.push_str(&line);
    }
    let Tree::Operator(operator @ (Operator::Rule | Operator::Operation), operands, _) = tree
    else {
        return out.push_str(&line);
    };
    let mark = if *operator == Operator::Rule {
        ":-"
    } else {
        "::"
    };
    out.push_str(&operand(&operands[0], level_of(*operator) + 1));
    out.push(' ');
    out.push_str(mark);
    match &operands[1] {
        Tree::Operator(Operator::Transition, parts, _) => {
            conjuncts(&parts[0], "  ", level_of(Operator::Transition) + 1, out);
            out.push_str("\n  ==>");
            conjuncts(&parts[1], "    ", level_of(Operator::Transition) + 1, out);
        }
        body => conjuncts(body, "  ", level_of(*operator) + 1, out),
    }
}

/// Writes each conjunct on a line of its own.
fn conjuncts(tree: &Tree, indent: &str, level: usize, out: &mut String) {
    let parts = match tree {
        Tree::Operator(Operator::And, operands, _) => &operands[..],
        _ => std::slice::from_ref(tree),
    };
    let inner = if parts.len() > 1 {
        level_of(Operator::And) + 1
    } else {
        level
    };
    for (index, part) in parts.iter().enumerate() {
        out.push_str(if index > 0 { " &\n" } else { "\n" });
        out.push_str(indent);
        out.push_str(&operand(part, inner));
    }
}

/// How tightly an operator binds.
fn level_of(operator: Operator) -> usize {
    match operator {
        Operator::Operation => 0,
        Operator::Rule => 1,
        Operator::Definition => 2,
        Operator::Transition => 3,
        Operator::Or => 4,
        Operator::And => 5,
        Operator::Not | Operator::Insert | Operator::Enqueue => 6,
        Operator::Cons | Operator::Hash => 7,
    }
}

/// A tree as one line.
pub fn shown(tree: &Tree) -> String {
    operand(tree, 0)
}

/// A tree as one line, in parentheses if it binds less tightly than `level`.
fn operand(tree: &Tree, level: usize) -> String {
    let mut out = String::new();
    write(tree, level, &mut out);
    out
}

fn write(tree: &Tree, level: usize, out: &mut String) {
    let (operator, operands) = match tree {
        Tree::Variable(name, _) => return out.push_str(name),
        Tree::Name(name, _) if **name == *"nil" => return out.push_str("[]"),
        Tree::Name(name, _) => return out.push_str(name),
        Tree::Apply(name, arguments, _) => {
            out.push_str(name);
            out.push('(');
            for (index, argument) in arguments.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                write(argument, 0, out);
            }
            return out.push(')');
        }
        Tree::Operator(operator, operands, _) => (*operator, operands),
    };
    let own = level_of(operator);
    out.push_str(if own < level { "(" } else { "" });
    let mark = match operator {
        Operator::Operation => " :: ",
        Operator::Rule => " :- ",
        Operator::Definition => " := ",
        Operator::Transition => " ==> ",
        Operator::Or => " | ",
        Operator::And => " & ",
        Operator::Cons => "!",
        Operator::Hash => "#",
        Operator::Not => "~",
        Operator::Insert => "+",
        Operator::Enqueue => "*",
    };
    match (operator, &operands[..]) {
        (Operator::Not | Operator::Insert | Operator::Enqueue, [only]) => {
            out.push_str(mark);
            write(only, own, out);
        }
        (Operator::Cons | Operator::Hash, [first, rest]) => {
            write(first, own + 1, out);
            out.push_str(mark);
            write(rest, own, out);
        }
        _ => {
            for (index, operand) in operands.iter().enumerate() {
                out.push_str(if index > 0 { mark } else { "" });
                write(operand, own + 1, out);
            }
        }
    }
    out.push_str(if own < level { ")" } else { "" });
}

#[cfg(test)]
mod tests {
    use super::super::syntax::parse;
    use super::*;

    fn laid_out(text: &str) -> String {
        let once = format(text).expect("the text can be read");
        let twice = format(&once).expect("the text can be read");
        assert_eq!(once, twice, "formatting again changes nothing");
        let trees = |text: &str| {
            let (trees, _) = parse(text);
            trees.iter().map(shown).collect::<Vec<String>>()
        };
        assert_eq!(trees(text), trees(&once), "the sentences stay the same");
        once
    }

    #[test]
    fn a_sentence_is_one_line_if_it_fits() {
        assert_eq!(
            laid_out("p( a , f(X) ):-q&~ r | (s&t)\n\n\n\na::b==>~c&d e . f"),
            "p(a,f(X)) :- q & ~r | s & t\n\na :: b ==> ~c & d\ne\nf\n"
        );
        assert_eq!(
            laid_out("p :- ~(q & r) & (s | t)"),
            "p :- ~(q & r) & (s | t)\n"
        );
        assert_eq!(laid_out("p([a,b]!nil) -q"), "p((a!b![])![])\n~q\n");
    }

    #[test]
    fn long_sentences_have_a_condition_a_line() {
        let condition = "relation(argument,argument,argument)";
        let long = [condition; 3].join(" & ");
        let shown = laid_out(&format!("p :- {long}\na :: {long} ==> ~b & c"));
        let lines = format!("  {condition} &\n  {condition} &\n  {condition}\n");
        assert_eq!(
            shown,
            format!("p :-\n{lines}a ::\n{lines}  ==>\n    ~b &\n    c\n")
        );
    }

    #[test]
    fn comments_stay_where_they_are() {
        let text = "% head\n\np % of p\n% alone\nq :- r & % inside\n  s\nt";
        assert_eq!(laid_out(text), format!("{text}\n"));
        assert_eq!(laid_out("% only"), "% only\n");
        assert_eq!(laid_out(""), "");
    }

    #[test]
    fn what_cannot_be_read_is_not_laid_out() {
        assert_eq!(format("a(").unwrap_err()[0].code, "unfinished-sentence");
    }
}
