//! Textbook GDL in infix form: the relations of KIF (`true`, `does`, `next`, `legal` with a role)
//! in the notation of HRF or of Prolog.
//!
//! A text that uses these relations is textbook GDL, since HRF has none of them. Its sentences
//! become statements of KIF with their spans, and the reader of KIF reads and checks them.
//! Diagnostics are written in infix form again.
//!
//! Never uses: files, the translation of HRF.

use super::names::{CONS, to_kif};
use super::syntax::{Operator, Tree, parse_with_spans};
use panza_gdl::{Diagnostic, Remedy, Rules, Sexpr, Span, sexpr};

/// Operators that stand before or between conditions, and how KIF writes them.
const LOGICAL: [(Operator, &str); 3] = [
    (Operator::Not, "not"),
    (Operator::And, "and"),
    (Operator::Or, "or"),
];

/// Which of the two languages of infix form a text is in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Decision {
    /// Whether it is textbook GDL, and not HRF.
    pub is_textbook: bool,
    /// What speaks for the other one, if anything does.
    pub doubt: Option<Diagnostic>,
}

/// Whether a text in infix form is textbook GDL, and not HRF.
pub fn is_textbook(text: &str) -> bool {
    decide(&parse_with_spans(text).0).is_textbook
}

/// Decides which of the two languages sentences are in: HRF if they have operations, and otherwise
/// textbook GDL if they ask for `true` or `does` or define `next`.
pub(super) fn decide(sentences: &[(Tree, Span)]) -> Decision {
    let trees = || sentences.iter().map(|(tree, _)| tree);
    let next = trees().find_map(|tree| sign(head_of(tree), &[("next", 1)]));
    let asked = trees().find_map(asked_sign);
    let textbook = next.or(asked);
    let operation = trees().find_map(operation_sign);
    let hrf = operation.or_else(|| trees().find_map(hrf_sign));
    let is_textbook = textbook.is_some() && operation.is_none();
    // A sheet with operations may have a relation `does` of its own.
    let against_hrf = if is_textbook { textbook } else { next };
    let doubt = against_hrf.zip(hrf).map(|(textbook, hrf)| {
        let (taken, why, other) = match is_textbook {
            true => ("textbook GDL in infix form", textbook, hrf),
            false => ("HRF", hrf, textbook),
        };
        let message = format!(
            "the rules are read as {taken} because of `{}`, though `{}` is of the other language",
            why.0, other.0
        );
        let help = "HRF has operations with `::`, textbook GDL has `true`, `does` and `next`";
        Diagnostic::note("doubtful-dialect", other.1, message).with_help(help)
    });
    Decision { is_textbook, doubt }
}

/// A word of one of the languages, and where it stands.
type Sign = (&'static str, Span);

fn head_of(sentence: &Tree) -> &Tree {
    match sentence {
        Tree::Operator(Operator::Rule, operands, _) => &operands[0],
        _ => sentence,
    }
}

fn sign(tree: &Tree, words: &[(&'static str, usize)]) -> Option<Sign> {
    let Tree::Apply(name, arguments, span) = tree else {
        return None;
    };
    let is_it = |word: &&(&str, usize)| *word.0 == **name && word.1 == arguments.len();
    words.iter().find(is_it).map(|word| (word.0, *span))
}

/// A relation of textbook GDL in the conditions of a rule.
fn asked_sign(sentence: &Tree) -> Option<Sign> {
    fn in_condition(tree: &Tree) -> Option<Sign> {
        let operands = match tree {
            Tree::Operator(_, operands, _) => operands,
            Tree::Apply(name, operands, _) if is_logical(name) => operands,
            _ => return sign(tree, &[("true", 1), ("does", 2)]),
        };
        operands.iter().find_map(in_condition)
    }
    match sentence {
        Tree::Operator(Operator::Rule, operands, _) => in_condition(&operands[1]),
        _ => None,
    }
}

fn operation_sign(sentence: &Tree) -> Option<Sign> {
    let is_operation = matches!(sentence, Tree::Operator(Operator::Operation, ..));
    is_operation.then(|| ("::", sentence.span()))
}

fn hrf_sign(sentence: &Tree) -> Option<Sign> {
    sign(head_of(sentence), &[("action", 1), ("legal", 1)])
}

fn is_logical(name: &str) -> bool {
    LOGICAL.iter().any(|(_, word)| *word == name)
}

/// The rules of statements of textbook GDL, whose faults so far these are, and all faults.
pub(super) fn load(statements: &[Sexpr], faults: Vec<Diagnostic>) -> (Rules, Vec<Diagnostic>) {
    let (rules, mut faults) = panza_gdl::load_statements(statements, faults);
    faults.iter_mut().for_each(put_into_infix);
    (rules, faults)
}

/// Sentences of textbook GDL as statements of KIF with the places of the sentences, and the faults
/// of those that are left out. Words that the text does not have, such as `<=`, have empty places.
pub(super) fn statements(sentences: &[(Tree, Span)]) -> (Vec<Sexpr>, Vec<Diagnostic>) {
    let (mut statements, mut faults) = (Vec::new(), Vec::new());
    let mut translator = Translator { n_anonymous: 0 };
    for (tree, span) in sentences {
        match translator.statement(tree, *span) {
            Ok(statement) => statements.push(statement),
            Err(fault) => faults.push(*fault),
        }
    }
    (statements, faults)
}

struct Translator {
    /// The number of `_` so far, each of which is a variable of its own.
    n_anonymous: usize,
}

type Translated = Result<Sexpr, Box<Diagnostic>>;

fn fault<T>(span: Span, message: &str, help: &str) -> Result<T, Box<Diagnostic>> {
    let fault = Diagnostic::error("unsupported-sentence", span, message);
    Err(Box::new(fault.with_help(help)))
}

/// A word of KIF that the text does not have.
fn unwritten(word: &str, before: Span) -> Sexpr {
    let place = Span {
        end: before.start,
        ..before
    };
    Sexpr::Symbol(word.into(), place)
}

impl Translator {
    fn statement(&mut self, tree: &Tree, span: Span) -> Translated {
        let Tree::Operator(operator, operands, _) = tree else {
            return self.term(tree);
        };
        if *operator != Operator::Rule {
            let help = "expected a fact such as `role(white)`, or a head, `:-` and conditions";
            return fault(span, "this is no sentence of textbook GDL", help);
        }
        let mut items = vec![unwritten("<=", span), self.term(&operands[0])?];
        let conditions = match &operands[1] {
            Tree::Operator(Operator::And, conditions, _) => conditions,
            condition => std::slice::from_ref(condition),
        };
        for condition in conditions {
            items.push(self.condition(condition)?);
        }
        Ok(Sexpr::List(items, span))
    }

    fn condition(&mut self, tree: &Tree) -> Translated {
        let (word, operands) = match tree {
            Tree::Operator(operator, operands, span) => {
                let found = LOGICAL.iter().find(|(own, _)| own == operator);
                let Some((_, word)) = found else {
                    let help = "conditions are relations with `~`, `&`, `|` and parentheses";
                    return fault(*span, "found no condition here", help);
                };
                (unwritten(word, *span), operands)
            }
            Tree::Apply(name, operands, span) if is_logical(name) => {
                (symbol_at(name, *span), operands)
            }
            _ => return self.term(tree),
        };
        let mut items = vec![word];
        for operand in operands {
            items.push(self.condition(operand)?);
        }
        Ok(Sexpr::List(items, tree.span()))
    }

    fn term(&mut self, tree: &Tree) -> Translated {
        let (name, arguments) = match tree {
            Tree::Variable(name, span) if **name == *"_" => {
                self.n_anonymous += 1;
                let name = format!("?_{}$", self.n_anonymous);
                return Ok(Sexpr::Symbol(name.into(), *span));
            }
            Tree::Variable(name, span) => {
                return Ok(Sexpr::Symbol(format!("?{name}").into(), *span));
            }
            Tree::Name(name, span) => return Ok(symbol_at(name, *span)),
            Tree::Apply(name, arguments, span) => (symbol_at(name, *span), arguments),
            Tree::Operator(Operator::Cons, operands, span) => (unwritten(CONS, *span), operands),
            Tree::Operator(_, _, span) => {
                return fault(*span, "found a formula, expected a term", "");
            }
        };
        let mut items = vec![name];
        for argument in arguments {
            items.push(self.term(argument)?);
        }
        Ok(Sexpr::List(items, tree.span()))
    }
}

/// A name at the start of a place. Texts in quotes are coded as KIF can have them.
fn symbol_at(name: &str, span: Span) -> Sexpr {
    let end = span.end.min(span.start + name.len() as u32);
    let place = Span { end, ..span };
    match name.starts_with('"') {
        true => Sexpr::Symbol(to_kif(name).into(), place),
        false => Sexpr::Symbol(name.into(), place),
    }
}

/// Writes the terms that a diagnostic of KIF shows as the text has them.
fn put_into_infix(fault: &mut Diagnostic) {
    fault.message = shown_in_infix(&fault.message);
    fault.help = match fault.code {
        "plain-variable" => "a variable begins with a capital".to_string(),
        _ => shown_in_infix(&fault.help),
    };
    if let Remedy::Name { from, to } = &mut fault.remedy {
        for name in [from, to] {
            *name = name.trim_start_matches('?').into();
        }
    }
}

/// A message with each variable and list between backquotes in infix form.
fn shown_in_infix(message: &str) -> String {
    let parts = message.split('`').enumerate().map(|(index, part)| {
        match index % 2 == 1 && part.starts_with(['(', '?']) {
            true => in_infix(part),
            false => part.to_string(),
        }
    });
    parts.collect::<Vec<String>>().join("`")
}

/// A list of KIF in infix form; what is none stays as it is.
pub fn in_infix(kif: &str) -> String {
    match &sexpr::parse_message(kif) {
        (items, faults) if faults.is_empty() && items.len() == 1 => infix(&items[0]),
        _ => kif.to_string(),
    }
}

fn infix(item: &Sexpr) -> String {
    match item.list() {
        None => item.to_string().trim_start_matches('?').to_string(),
        Some([]) => "()".to_string(),
        Some([name, arguments @ ..]) => {
            let arguments: Vec<String> = arguments.iter().map(infix).collect();
            format!("{}({})", infix(name), arguments.join(","))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_gdl::{Severity, format};

    const KIF: &str = "(role white) (role black) (init (cell 1 b)) (init (control white))
        (<= (legal ?W (mark ?X)) (true (cell ?X b)) (true (control ?W)))
        (<= (legal ?W noop) (role ?W) (not (true (control ?W))))
        (<= (next (cell ?X ?W)) (does ?W (mark ?X)) (role ?W))
        (<= (next (control ?V)) (true (control ?W)) (role ?V) (distinct ?V ?W))
        (<= open (true (cell ?X b))) (<= (goal ?R 50) (role ?R))
        (<= terminal (not open))";

    const INFIX: &str = "role(white) role(black) init(cell(1,b)) init(control(white))
legal(W,mark(X)) :- true(cell(X,b)) & true(control(W))
legal(W,noop) :- role(W) & ~true(control(W))
next(cell(X,W)) :- does(W,mark(X)) & role(W)
next(control(V)) :- true(control(W)) & role(V) & distinct(V,W)
open :- true(cell(X,b))
goal(R,50) :- role(R)
terminal :- ~open";

    fn read(text: &str) -> (String, Vec<Diagnostic>) {
        let (rules, faults) = crate::load(text);
        (format::rulesheet(&rules), faults)
    }

    #[test]
    fn the_rules_are_those_of_kif() {
        let (expected, _) = panza_gdl::load(KIF);
        let expected = format::rulesheet(&expected);
        let stopped = INFIX.replace(") role", "). role").replace('\n', ".\n") + ".";
        let prolog = stopped.replace(" & ", ", ").replace('~', "\\+ ");
        let words = prolog
            .replace("\\+ true", "not true")
            .replace("\\+ open", "not(open)");
        let differs = words.replace("distinct(V,W)", "V \\= W");
        for text in [INFIX, &stopped, &prolog, &words, &differs] {
            assert_eq!(read(text), (expected.clone(), Vec::new()), "{text}");
        }
    }

    #[test]
    fn faults_are_shown_as_the_text_is_written() {
        let one = |from: &str, to: &str| {
            let text = INFIX.replace(from, to);
            let faults = read(&text).1;
            assert_eq!(faults.len(), 1, "{faults:?}");
            let found = &faults[0];
            let place = text[found.span.range()].to_string();
            (
                found.code,
                place,
                format!("{} / {}", found.message, found.help),
            )
        };
        let (code, place, shown) = one("does(W,mark(X)) & role(W)", "does(V,mark(X))");
        assert_eq!((code, &*place), ("unsafe-variable", "next(cell(X,W))"));
        let expected = "`W` is used in the head but no positive literal binds it / bind it with a \
                        condition such as `index(W)`; as it stands, the rule derives nothing";
        assert_eq!(shown, expected);
        let (code, place, _) = one("~open", "~(open | openn)");
        assert_eq!((code, &*place), ("undefined-relation", "openn"));
        let (code, place, _) = one("init(control(white))", "init(control(white)) a ==> b");
        assert_eq!((code, &*place), ("unsupported-sentence", "a ==> b"));
    }

    #[test]
    fn words_tell_textbook_gdl_from_hrf() {
        #[track_caller]
        fn check(text: &str, is_textbook: bool, doubt: Option<&str>) {
            let found = decide(&parse_with_spans(text).0);
            let place = found.doubt.map(|it| text[it.span.range()].to_string());
            assert_eq!((found.is_textbook, place.as_deref()), (is_textbook, doubt));
        }
        check(INFIX, true, None);
        check("role(a) legal(go) terminal :- p", false, None);
        check("terminal :- ~(p | true(over))", true, None);
        check("p :- not(does(R,M))", true, None);
        check("next(1,2) next(2,3) a :: p ==> q", false, None);
        check("p :- does(R,go) a :: p ==> q", false, None);
        check("next(p) a :: p ==> q", false, Some("next(p)"));
        check("next(p) :- true(p) legal(go)", true, Some("legal(go)"));
    }

    #[test]
    fn what_is_doubtful_is_a_note() {
        let faults = read(&format!("{INFIX} action(go)")).1;
        let notes = faults.iter().filter(|it| it.severity == Severity::Note);
        let notes: Vec<&str> = notes.map(|it| &*it.message).collect();
        let expected = "the rules are read as textbook GDL in infix form because of `next`, though \
                        `action` is of the other language";
        assert_eq!(notes, [expected]);
    }
}
