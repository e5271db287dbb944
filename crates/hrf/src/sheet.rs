//! From sentences to clauses and operations.
//!
//! A relation is a *view* if the sheet has a sentence whose head has its name; any other relation
//! is looked up in the state. Conditions with `|` become several clauses. Terms have the names of
//! KIF ([`super::names`]) and variables that are numbered by sentence.

use std::collections::HashSet;

use super::names::{CONS, applied_to_nothing, to_kif};
use super::numbers::{Arithmetic, Comparison, number};
use super::syntax::{Operator, Tree};
use panza_gdl::diagnostic::brief;
use panza_gdl::scope::Scope;
use panza_gdl::{Atom, Diagnostic, Span, Symbol, Symbols, Term};

/// Conditions are expanded into at most this many conjunctions.
const MAX_ALTERNATIVES: usize = 64;
/// Terms and conditions copied to expand `|`, per rulesheet.
const MAX_COPIES: usize = 1 << 22;

/// Relations that the dialect evaluates itself and that are not supported.
const UNSUPPORTED: [&str; 21] = [
    "symleq", "symless", "append", "first", "last", "rest", "sort", "reverse", "length", "listify",
    "maximum", "minimum", "range", "sum", "median", "mean", "variance", "stddev", "map", "exists",
    "setofall",
];
/// Relations that the dialect evaluates itself and that are.
const SUPPORTED: [&str; 19] = [
    "same",
    "distinct",
    "mutex",
    "leq",
    "less",
    "plus",
    "minus",
    "times",
    "quotient",
    "remainder",
    "min",
    "max",
    "abs",
    "true",
    "not",
    "countofall",
    "evaluate",
    "member",
    "and",
];

/// Whether the dialect evaluates a relation of this name itself.
pub fn is_built_in(name: &str) -> bool {
    name == "or" || SUPPORTED.contains(&name) || UNSUPPORTED.contains(&name)
}

/// A condition.
#[derive(Clone, Debug)]
pub enum Condition {
    /// A relation of the sheet.
    View(Atom),
    /// A fact of the state.
    Fact(Term, Span),
    /// None of these conjunctions has a solution.
    Not(Vec<Vec<Condition>>, Span),
    /// The terms are one.
    Same(Term, Term),
    /// The terms cannot be made one.
    Distinct(Term, Term, Span),
    Compare(Comparison, Term, Term, Span),
    Compute(Arithmetic, Vec<Term>, Term, Span),
    /// The number of instances of a term among the solutions of the conjunctions.
    Count(Term, Vec<Vec<Condition>>, Term, Span),
    Never,
}

/// A fact, or one conjunction of a rule.
#[derive(Clone, Debug)]
pub struct Clause {
    pub head: Atom,
    pub body: Vec<Condition>,
    pub variables: Vec<Box<str>>,
    pub span: Span,
}

/// What an operation does to the state, or another action that it takes.
#[derive(Clone, Debug)]
pub struct Effect {
    pub is_added: bool,
    pub term: Term,
    pub span: Span,
}

/// One conjunction of the conditions of an operation, with its effects.
#[derive(Clone, Debug)]
pub struct Operation {
    pub action: Term,
    pub conditions: Vec<Condition>,
    pub effects: Vec<Effect>,
    pub variables: Vec<Box<str>>,
    pub span: Span,
}

/// A rulesheet.
#[derive(Debug, Default)]
pub struct Sheet {
    pub symbols: Symbols,
    pub clauses: Vec<Clause>,
    pub operations: Vec<Operation>,
    /// The names of views.
    pub views: HashSet<Box<str>>,
    pub diagnostics: Vec<Diagnostic>,
    /// The names in sentences that were left out.
    pub doubtful: HashSet<Box<str>>,
    n_copied: usize,
}

/// A fault that is in the diagnostics.
struct Reported;

/// Reads the sentences of a sheet.
pub fn read(sentences: &[(Tree, Span)]) -> Sheet {
    let mut sheet = Sheet::default();
    for (sentence, _) in sentences {
        if let Some(name) = head_of(sentence).and_then(name_of) {
            sheet.views.insert(name.into());
        }
    }
    for (sentence, _) in sentences {
        if let Err(Reported) = sheet.sentence(sentence) {
            note_names(sentence, &mut sheet.doubtful);
        }
    }
    sheet
}

/// The head of a fact, a rule or an operation.
fn head_of(sentence: &Tree) -> Option<&Tree> {
    match sentence {
        Tree::Name(..) | Tree::Apply(..) => Some(sentence),
        Tree::Operator(Operator::Rule | Operator::Operation, operands, _) => operands.first(),
        _ => None,
    }
}

fn name_of(tree: &Tree) -> Option<&str> {
    match tree {
        Tree::Name(name, _) | Tree::Apply(name, ..) => Some(name),
        Tree::Variable(..) | Tree::Operator(..) => None,
    }
}

fn note_names(tree: &Tree, names: &mut HashSet<Box<str>>) {
    match tree {
        Tree::Variable(..) => {}
        Tree::Name(name, _) => drop(names.insert(name.clone())),
        Tree::Apply(name, operands, _) => {
            names.insert(name.clone());
            operands.iter().for_each(|tree| note_names(tree, names));
        }
        Tree::Operator(_, operands, _) => {
            operands.iter().for_each(|tree| note_names(tree, names));
        }
    }
}

/// The number of a variable; each `_` is one of its own.
fn number_of(variable: &str, scope: &mut Scope) -> u32 {
    match variable {
        "_" => scope.fresh("?_"),
        name => scope.variable(&format!("?{name}")),
    }
}

/// The operands of an operator that may be one alone.
fn parts(operator: Operator, tree: &Tree) -> &[Tree] {
    match tree {
        Tree::Operator(own, operands, _) if *own == operator => operands,
        _ => std::slice::from_ref(tree),
    }
}

impl Sheet {
    fn fail<T>(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        help: &str,
    ) -> Result<T, Reported> {
        let fault = Diagnostic::error(code, span, message).with_help(help);
        self.diagnostics.push(fault);
        Err(Reported)
    }

    fn warn(&mut self, code: &'static str, span: Span, message: impl Into<String>, help: &str) {
        let warning = Diagnostic::warning(code, span, message).with_help(help);
        self.diagnostics.push(warning);
    }

    fn sentence(&mut self, sentence: &Tree) -> Result<(), Reported> {
        let span = sentence.span();
        let mut scope = Scope::default();
        match sentence {
            Tree::Name(..) | Tree::Apply(..) => {
                let head = self.head(sentence, &mut scope)?;
                self.add_clauses(head, vec![Vec::new()], scope, span);
            }
            Tree::Operator(Operator::Rule, operands, _) => {
                let head = self.head(&operands[0], &mut scope)?;
                let bodies = self.conditions(&operands[1], &mut scope)?;
                self.charge(bodies.len(), size_of(&to_term(&head)), span)?;
                self.add_clauses(head, bodies, scope, span);
            }
            Tree::Operator(Operator::Operation, operands, _) => {
                let head = self.head(&operands[0], &mut scope)?;
                let (conditions, effects) = match &operands[1] {
                    Tree::Operator(Operator::Transition, parts, _) => {
                        (self.conditions(&parts[0], &mut scope)?, &parts[1])
                    }
                    effects => (vec![Vec::new()], effects),
                };
                let effects = parts(Operator::And, effects).iter();
                let effects = effects.map(|effect| self.effect(effect, &mut scope));
                let effects: Vec<Effect> = effects.collect::<Result<_, Reported>>()?;
                let n_terms: usize = effects.iter().map(|effect| size_of(&effect.term)).sum();
                self.charge(conditions.len(), n_terms + head.arguments.len(), span)?;
                for conditions in conditions {
                    self.operations.push(Operation {
                        action: to_term(&head),
                        conditions,
                        effects: effects.clone(),
                        variables: scope.names.clone(),
                        span,
                    });
                }
            }
            Tree::Operator(Operator::Definition, ..) => {
                let help = "functions that a rulesheet defines are not supported";
                self.warn(
                    "unused-definition",
                    span,
                    "this definition is left out",
                    help,
                );
            }
            Tree::Variable(..) | Tree::Operator(..) => {
                let message =
                    "this is neither a fact nor a rule nor an operation, and says nothing";
                let help = "is an operator such as `&` missing before it?";
                self.warn("stray-sentence", span, message, help);
            }
        }
        Ok(())
    }

    fn add_clauses(&mut self, head: Atom, bodies: Vec<Vec<Condition>>, scope: Scope, span: Span) {
        for body in bodies {
            self.clauses.push(Clause {
                head: head.clone(),
                body,
                variables: scope.names.clone(),
                span,
            });
        }
    }

    fn head(&mut self, tree: &Tree, scope: &mut Scope) -> Result<Atom, Reported> {
        let span = tree.span();
        let Some(name) = name_of(tree) else {
            let message = "the head is no relation or action";
            return self.fail(
                "head-without-name",
                span,
                message,
                "write it as `name(terms)`",
            );
        };
        if is_built_in(name) {
            let message = format!("`{name}` has a meaning of its own, this sentence is not used");
            self.warn("shadowed-relation", span, message, "use another name");
        }
        self.atom(tree, scope)
    }

    /// A name with its arguments, as a relation with the name of a function.
    fn atom(&mut self, tree: &Tree, scope: &mut Scope) -> Result<Atom, Reported> {
        let span = tree.span();
        let (relation, arguments) = match self.term(tree, scope)? {
            Term::Constant(name) => (name, Box::default()),
            Term::Function(name, arguments) => (name, arguments),
            Term::Variable(_) => {
                let message = "found a variable, expected a relation";
                return self.fail("variable-as-relation", span, message, "");
            }
        };
        Ok(Atom {
            relation,
            arguments,
            span,
        })
    }

    fn term(&mut self, tree: &Tree, scope: &mut Scope) -> Result<Term, Reported> {
        match tree {
            Tree::Variable(name, _) => Ok(Term::Variable(number_of(name, scope))),
            Tree::Name(name, _) => Ok(Term::Constant(self.symbols.intern(&to_kif(name)))),
            Tree::Apply(name, arguments, _) if arguments.is_empty() => {
                let name = applied_to_nothing(name);
                Ok(Term::Constant(self.symbols.intern(&name)))
            }
            Tree::Apply(name, arguments, _) => {
                let arguments = arguments.iter().map(|tree| self.term(tree, scope));
                let arguments: Vec<Term> = arguments.collect::<Result<_, Reported>>()?;
                let name = self.symbols.intern(&to_kif(name));
                Ok(Term::Function(name, arguments.into()))
            }
            Tree::Operator(Operator::Cons, operands, _) => {
                let operands = operands.iter().map(|tree| self.term(tree, scope));
                let operands: Vec<Term> = operands.collect::<Result<_, Reported>>()?;
                Ok(Term::Function(self.symbols.intern(CONS), operands.into()))
            }
            Tree::Operator(_, _, span) => {
                let message = "found a formula, expected a term";
                self.fail("formula-as-term", *span, message, "")
            }
        }
    }

    fn effect(&mut self, tree: &Tree, scope: &mut Scope) -> Result<Effect, Reported> {
        let (is_added, fact) = match tree {
            Tree::Operator(Operator::Not, operands, _) => (false, &operands[0]),
            Tree::Operator(Operator::Insert, operands, _) => (true, &operands[0]),
            _ => (true, tree),
        };
        let span = tree.span();
        match fact {
            Tree::Name(..) | Tree::Apply(..) => Ok(Effect {
                is_added,
                term: self.term(fact, scope)?,
                span,
            }),
            Tree::Variable(..) => {
                let message = "an effect that is a variable is not supported";
                self.fail(
                    "unsupported-effect",
                    span,
                    message,
                    "write the facts one by one",
                )
            }
            Tree::Operator(..) => {
                let message = "found a formula, expected a fact or an action";
                let help = "effects are facts, `~` before facts, and actions, with `&` between";
                self.fail("unsupported-effect", span, message, help)
            }
        }
    }

    /// The conjunctions of a formula.
    fn conditions(
        &mut self,
        tree: &Tree,
        scope: &mut Scope,
    ) -> Result<Vec<Vec<Condition>>, Reported> {
        let span = tree.span();
        let one = |condition| Ok(vec![vec![condition]]);
        match tree {
            Tree::Operator(Operator::And, operands, _) => self.all(operands, span, scope),
            Tree::Operator(Operator::Or, operands, _) => self.any(operands, span, scope),
            Tree::Operator(Operator::Not, operands, _) => {
                let inner = self.conditions(&operands[0], scope)?;
                one(Condition::Not(inner, span))
            }
            Tree::Operator(..) => {
                let message = "found no condition here";
                let help = "conditions are relations, `~`, `&`, `|` and parentheses";
                self.fail("unsupported-condition", span, message, help)
            }
            Tree::Variable(name, _) => {
                let message = format!("the variable `{}` stands as a condition", brief(name));
                let help = "it is taken as never true; is a name missing before it?";
                self.warn("variable-as-condition", span, message, help);
                one(Condition::Never)
            }
            Tree::Name(name, _) if **name == *"true" => Ok(vec![Vec::new()]),
            Tree::Apply(name, arguments, _) if is_built_in(name) => {
                self.built_in(name, arguments, span, scope)
            }
            Tree::Name(name, _) | Tree::Apply(name, ..) if self.views.contains(name) => {
                one(Condition::View(self.atom(tree, scope)?))
            }
            Tree::Name(..) | Tree::Apply(..) => one(Condition::Fact(self.term(tree, scope)?, span)),
        }
    }

    fn all(
        &mut self,
        operands: &[Tree],
        span: Span,
        scope: &mut Scope,
    ) -> Result<Vec<Vec<Condition>>, Reported> {
        let mut done: Vec<Vec<Condition>> = vec![Vec::new()];
        for operand in operands {
            let more = self.conditions(operand, scope)?;
            if done.len() == 1 && more.len() == 1 {
                done[0].extend(more.into_iter().flatten());
                continue;
            }
            if done.len() * more.len() > MAX_ALTERNATIVES {
                return self.too_many(span);
            }
            let size =
                |conditions: &Vec<Condition>| conditions.iter().map(condition_size).sum::<usize>();
            let left: usize = done.iter().map(size).sum();
            let right: usize = more.iter().map(size).sum();
            self.charge(2, left * more.len() + right * done.len(), span)?;
            let joined = |left: &Vec<Condition>, right: &Vec<Condition>| {
                left.iter()
                    .chain(right)
                    .cloned()
                    .collect::<Vec<Condition>>()
            };
            let pairs = (done.iter()).flat_map(|left| more.iter().map(move |right| (left, right)));
            done = pairs.map(|(left, right)| joined(left, right)).collect();
        }
        Ok(done)
    }

    fn any(
        &mut self,
        operands: &[Tree],
        span: Span,
        scope: &mut Scope,
    ) -> Result<Vec<Vec<Condition>>, Reported> {
        let mut done = Vec::new();
        for operand in operands {
            done.extend(self.conditions(operand, scope)?);
            if done.len() > MAX_ALTERNATIVES {
                return self.too_many(span);
            }
        }
        Ok(done)
    }

    /// Counts what is copied; more than [`MAX_COPIES`] is a fault. One copy is free.
    fn charge(&mut self, n_copies: usize, size: usize, span: Span) -> Result<(), Reported> {
        let more = n_copies.saturating_mul(size);
        self.n_copied = self
            .n_copied
            .saturating_add(if n_copies > 1 { more } else { 0 });
        match self.n_copied > MAX_COPIES {
            true => self.too_many(span),
            false => Ok(()),
        }
    }

    fn too_many<T>(&mut self, span: Span) -> Result<T, Reported> {
        let message = format!("this has more than {MAX_ALTERNATIVES} alternatives");
        let help = "give parts of its conditions a relation of their own";
        self.fail("rule-too-large", span, message, help)
    }

    /// A relation that the dialect evaluates itself.
    fn built_in(
        &mut self,
        name: &str,
        arguments: &[Tree],
        span: Span,
        scope: &mut Scope,
    ) -> Result<Vec<Vec<Condition>>, Reported> {
        match (name, arguments) {
            ("and", _) => return self.all(arguments, span, scope),
            ("or", _) => return self.any(arguments, span, scope),
            ("not", [operand]) => {
                let inner = self.conditions(operand, scope)?;
                return Ok(vec![vec![Condition::Not(inner, span)]]);
            }
            ("countofall", [template, condition, count]) => {
                let template = self.term(template, scope)?;
                let inner = self.conditions(condition, scope)?;
                let count = self.term(count, scope)?;
                return Ok(vec![vec![Condition::Count(template, inner, count, span)]]);
            }
            ("evaluate", [expression @ Tree::Apply(..), value]) => {
                let mut conditions = Vec::new();
                let found = self.evaluated(expression, scope, &mut conditions)?;
                conditions.push(Condition::Same(found, self.term(value, scope)?));
                return Ok(vec![conditions]);
            }
            ("member", [item, list]) => {
                let Some(items) = items_of(list) else {
                    let message = "`member` is supported for lists that are written out";
                    let help = "write the items one by one, as in `member(X,[a,b,c])`";
                    return self.fail("unsupported-relation", span, message, help);
                };
                if items.len() > MAX_ALTERNATIVES {
                    return self.too_many(span);
                }
                let item = self.term(item, scope)?;
                let same = items.into_iter().map(|other| {
                    let other = self.term(other, scope)?;
                    Ok(vec![Condition::Same(item.clone(), other)])
                });
                return same.collect();
            }
            _ => {}
        }
        let terms = arguments.iter().map(|tree| self.term(tree, scope));
        let terms: Vec<Term> = terms.collect::<Result<_, Reported>>()?;
        let condition = match (name, &terms[..]) {
            ("same", [left, right]) => Condition::Same(left.clone(), right.clone()),
            ("distinct", [left, right]) => Condition::Distinct(left.clone(), right.clone(), span),
            ("mutex", terms) if terms.len() <= MAX_ALTERNATIVES => {
                let pairs = (terms.iter().enumerate())
                    .flat_map(|(at, left)| terms[at + 1..].iter().map(move |right| (left, right)));
                let conditions = pairs
                    .map(|(left, right)| Condition::Distinct(left.clone(), right.clone(), span));
                return Ok(vec![conditions.collect()]);
            }
            ("leq", [left, right]) => {
                Condition::Compare(Comparison::AtMost, left.clone(), right.clone(), span)
            }
            ("less", [left, right]) => {
                Condition::Compare(Comparison::Less, left.clone(), right.clone(), span)
            }
            (_, [inputs @ .., result]) if !inputs.is_empty() => {
                match Arithmetic::of(name, inputs.len()) {
                    Some(operator) => {
                        Condition::Compute(operator, inputs.to_vec(), result.clone(), span)
                    }
                    None => return self.unsupported(name, terms.len(), span),
                }
            }
            _ => return self.unsupported(name, terms.len(), span),
        };
        Ok(vec![vec![condition]])
    }

    /// The value of nested functions of numbers, with the conditions that compute it.
    fn evaluated(
        &mut self,
        tree: &Tree,
        scope: &mut Scope,
        conditions: &mut Vec<Condition>,
    ) -> Result<Term, Reported> {
        match tree {
            Tree::Variable(..) => return self.term(tree, scope),
            Tree::Name(name, _) if number(name).is_some() => return self.term(tree, scope),
            Tree::Apply(name, arguments, span) => {
                if let Some(function) = Arithmetic::of(name, arguments.len()) {
                    let inputs = arguments.iter();
                    let inputs = inputs.map(|tree| self.evaluated(tree, scope, conditions));
                    let inputs: Vec<Term> = inputs.collect::<Result<_, Reported>>()?;
                    let result = Term::Variable(scope.fresh("?_"));
                    conditions.push(Condition::Compute(function, inputs, result.clone(), *span));
                    return Ok(result);
                }
            }
            Tree::Name(..) | Tree::Operator(..) => {}
        }
        let message = "`evaluate` is supported for functions of numbers";
        let help = "these are plus, minus, times, quotient, remainder, min, max and abs";
        self.fail("unsupported-relation", tree.span(), message, help)
    }

    fn unsupported<T>(&mut self, name: &str, n: usize, span: Span) -> Result<T, Reported> {
        let message = format!("`{name}` with {n} arguments is not supported");
        let help = format!("supported are: {}", SUPPORTED.join(", "));
        self.fail("unsupported-relation", span, message, &help)
    }
}

/// The items of a list that is written out.
fn items_of(list: &Tree) -> Option<Vec<&Tree>> {
    let mut items = Vec::new();
    let mut rest = list;
    while let Tree::Operator(Operator::Cons, operands, _) = rest {
        items.push(operands.first()?);
        rest = operands.get(1)?;
    }
    matches!(rest, Tree::Name(name, _) if **name == *"nil").then_some(items)
}

/// An atom as a term of the same name.
pub fn to_term(atom: &Atom) -> Term {
    term_of(atom.relation, &atom.arguments)
}

/// A name applied to arguments, of which there may be none.
pub fn term_of(name: Symbol, arguments: &[Term]) -> Term {
    match arguments.is_empty() {
        true => Term::Constant(name),
        false => Term::Function(name, arguments.into()),
    }
}

fn size_of(term: &Term) -> usize {
    match term {
        Term::Variable(_) | Term::Constant(_) => 1,
        Term::Function(_, arguments) => 1 + arguments.iter().map(size_of).sum::<usize>(),
    }
}

fn condition_size(condition: &Condition) -> usize {
    let all = |conditions: &Vec<Vec<Condition>>| {
        conditions
            .iter()
            .flatten()
            .map(condition_size)
            .sum::<usize>()
    };
    let terms = |terms: &[Term]| terms.iter().map(size_of).sum::<usize>();
    match condition {
        Condition::View(atom) => 1 + terms(&atom.arguments),
        Condition::Fact(term, _) => size_of(term),
        Condition::Not(inner, _) => 1 + all(inner),
        Condition::Same(left, right) | Condition::Distinct(left, right, _) => {
            size_of(left) + size_of(right)
        }
        Condition::Compare(_, left, right, _) => size_of(left) + size_of(right),
        Condition::Compute(_, inputs, result, _) => terms(inputs) + size_of(result),
        Condition::Count(template, inner, count, _) => {
            size_of(template) + size_of(count) + all(inner)
        }
        Condition::Never => 1,
    }
}
