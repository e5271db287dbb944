//! Names of the dialect as names of KIF, and back.
//!
//! Most names are the same in both. `$` stands in no name of the dialect, so whatever needs a name
//! of its own in KIF gets one with it: texts with characters that KIF cannot have, names that KIF
//! would take for a keyword, and relations that the translation adds. No two names become one.

use super::syntax::{Operator, Tree, parse};
use super::token::is_name_character;
use panza_gdl::sexpr::MAX_DEPTH;
use panza_gdl::{CHANCE_ROLE, Sexpr, Span, keyword};

/// The only move of roles that are not in control.
pub const NOOP: &str = "noop$";
/// The function of a list: first element and the others.
pub const CONS: &str = "!";
/// Follows a name that is applied to no arguments in parentheses.
const APPLIED: &str = "$0";

/// Whether KIF folds the name to a keyword that is written otherwise, or gives it a meaning that
/// it does not have here.
fn is_taken(name: &str) -> bool {
    let is_keyword = |word: &&str| word.eq_ignore_ascii_case(name) && **word != *name;
    name == CHANCE_ROLE || keyword::WORDS.iter().any(is_keyword)
}

/// The KIF name of a constant or function.
pub fn to_kif(name: &str) -> String {
    if name.starts_with('"') {
        let is_plain = |character: char| is_name_character(character) || character == '"';
        let coded = name.chars().map(|character| match is_plain(character) {
            true => character.to_string(),
            false => format!("${:x}.", u32::from(character)),
        });
        return coded.collect();
    }
    match is_taken(name) {
        true => format!("{name}$"),
        false => name.to_string(),
    }
}

/// The name of the dialect that has this KIF name; nothing for a name that the dialect cannot have.
pub fn from_kif(name: &str) -> Option<String> {
    let own = match name.strip_prefix('"') {
        Some(_) => {
            let mut text = String::new();
            let mut parts = name.split('$');
            text.push_str(parts.next()?);
            for part in parts {
                let (code, rest) = part.split_once('.')?;
                text.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
                text.push_str(rest);
            }
            text
        }
        None => name.strip_suffix('$').unwrap_or(name).to_string(),
    };
    let is_same = to_kif(&own) == name;
    let (trees, faults) = parse(&own);
    let is_name = matches!(&trees[..], [Tree::Name(read, _)] if **read == *own);
    (is_same && is_name && faults.is_empty()).then_some(own)
}

/// The KIF name of a relation with this many arguments, which is no fact of the state.
pub fn relation_to_kif(name: &str, arity: usize) -> String {
    const KEPT: [(&str, usize); 4] = [("role", 1), ("init", 1), ("goal", 2), ("terminal", 0)];
    const LOGICAL: [&str; 4] = ["not", "or", "and", "distinct"];
    let mut words = keyword::WORDS.iter().chain(&LOGICAL);
    let is_keyword = words.any(|word| word.eq_ignore_ascii_case(name));
    match is_keyword && !KEPT.contains(&(name, arity)) {
        true => format!("{name}$"),
        false => name.to_string(),
    }
}

/// A term of the dialect as KIF; nothing for what is no term without variables.
pub fn term_to_kif(text: &str) -> Option<Sexpr> {
    let (trees, faults) = parse(text);
    match &trees[..] {
        [tree] if faults.is_empty() => tree_to_kif(tree),
        _ => None,
    }
}

fn tree_to_kif(tree: &Tree) -> Option<Sexpr> {
    let symbol = |name: &str| Sexpr::Symbol(name.into(), Span::default());
    let list = |name: Sexpr, arguments: &[Tree]| {
        let arguments: Option<Vec<Sexpr>> = arguments.iter().map(tree_to_kif).collect();
        let items = std::iter::once(name).chain(arguments?).collect();
        Some(Sexpr::List(items, Span::default()))
    };
    match tree {
        Tree::Name(name, _) => Some(symbol(&to_kif(name))),
        Tree::Apply(name, arguments, _) if arguments.is_empty() => {
            Some(symbol(&applied_to_nothing(name)))
        }
        Tree::Apply(name, arguments, _) => list(symbol(&to_kif(name)), arguments),
        Tree::Operator(Operator::Cons, operands, _) => list(symbol(CONS), operands),
        Tree::Variable(..) | Tree::Operator(..) => None,
    }
}

/// The KIF name of a name that is applied to no arguments, which differs from the name alone.
pub fn applied_to_nothing(name: &str) -> String {
    format!("{}{APPLIED}", to_kif(name))
}

/// A KIF term as the dialect prints it; nothing for a term that the dialect cannot have.
pub fn term_from_kif(term: &Sexpr) -> Option<String> {
    let mut text = String::new();
    write_from_kif(term, &mut text, 0)?;
    Some(text)
}

fn write_from_kif(term: &Sexpr, text: &mut String, depth: usize) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    match term {
        Sexpr::Symbol(name, _) => {
            match name.strip_suffix(APPLIED) {
                Some(applied) => {
                    text.push_str(&from_kif(applied)?);
                    text.push_str("()");
                }
                None if **name == *"nil" => text.push_str("[]"),
                None => text.push_str(&from_kif(name)?),
            }
            Some(())
        }
        Sexpr::List(items, _) => {
            let (name, arguments) = items.split_first()?;
            let name = name.symbol()?;
            if let (CONS, [first, rest]) = (name, arguments) {
                let items = first.list().and_then(|items| items.first());
                let is_list = items.and_then(Sexpr::symbol) == Some(CONS);
                text.push_str(if is_list { "(" } else { "" });
                write_from_kif(first, text, depth + 1)?;
                text.push_str(if is_list { ")!" } else { "!" });
                return write_from_kif(rest, text, depth + 1);
            }
            text.push_str(&from_kif(name)?);
            text.push('(');
            for (index, argument) in arguments.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_from_kif(argument, text, depth + 1)?;
            }
            text.push(')');
            Some(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_go_to_kif_and_back() {
        for (own, kif) in [
            ("cell(1,2,b)", "(cell 1 2 b)"),
            ("random", "random$"),
            ("f(leGal,legal)", "(f leGal$ legal)"),
            ("tick()", "tick$0"),
            ("say(\"a (b)\")", "(say \"a$20.$28.b$29.\")"),
            ("a!b![]", "(! a (! b nil))"),
            ("(a![])![]", "(! (! a nil) nil)"),
        ] {
            let read = term_to_kif(own).expect("a term");
            assert_eq!(read.to_string(), kif);
            assert_eq!(term_from_kif(&read).as_deref(), Some(own));
        }
        assert_eq!(term_to_kif("f(X)"), None);
        assert_eq!(term_to_kif("a b"), None);
        for kif in [NOOP, "noop$x", "A", "a'b", "not", "a$b$", "\"$zz.\""] {
            let expected = (kif == "not").then(|| "not".to_string());
            assert_eq!(from_kif(kif), expected, "{kif}");
        }
    }
}
