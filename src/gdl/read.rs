//! From s-expressions to [`Rules`].
//!
//! Bodies are formulas of `and`, `or`, `not`, `distinct` and atoms. Negation is pushed inwards, then `or` is
//! multiplied out; a body that would become more than [`MAX_ALTERNATIVES`] rules keeps its `or`s as helper
//! relations instead, so that the size stays linear. `(not (distinct a b))` is equality and is solved by
//! unification. A faulty statement is reported and left out; the others are still read.

use std::collections::HashMap;

use super::diagnostic::Diagnostic;
use super::rules::{Atom, Literal, Rule, Rules, Term};
use super::sexpr::Sexpr;
use super::span::Span;
use crate::ids::Symbol;

/// A body is multiplied out into at most this many rules.
const MAX_ALTERNATIVES: usize = 64;

/// A body formula, negation at the leaves.
#[derive(Clone, Debug)]
enum Formula {
    Literal(Literal),
    Equal(Term, Term),
    All(Vec<Formula>),
    Any(Vec<Formula>),
}

/// Reads statements. A rulesheet wrapped in one more pair of parentheses, as START carries it, is unwrapped.
pub fn read_rules(statements: &[Sexpr]) -> (Rules, Vec<Diagnostic>) {
    let mut statements = statements;
    if let [Sexpr::List(items, _)] = statements
        && matches!(items.first(), None | Some(Sexpr::List(..)))
    {
        statements = items;
    }
    let mut reader = Reader::default();
    for statement in statements {
        // The fault itself is in the list of diagnostics already.
        let _ = reader.statement(statement);
    }
    (reader.rules, reader.diagnostics)
}

/// A fault that was reported.
struct Reported;

#[derive(Default)]
struct Reader {
    rules: Rules,
    diagnostics: Vec<Diagnostic>,
    helpers: usize,
}

/// The variables of the statement being read.
#[derive(Default)]
struct Scope {
    names: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
}

impl Scope {
    fn variable(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }
}

impl Reader {
    fn fail<T>(
        &mut self,
        code: &'static str,
        span: Span,
        message: String,
        help: &str,
    ) -> Result<T, Reported> {
        self.diagnostics
            .push(Diagnostic::error(code, span, message).with_help(help));
        Err(Reported)
    }

    fn statement(&mut self, statement: &Sexpr) -> Result<(), Reported> {
        let mut scope = Scope::default();
        let Sexpr::List(items, span) = statement else {
            let head = self.atom(statement, &mut scope)?;
            self.push(Rule {
                span: head.span,
                head,
                body: Vec::new(),
                variables: scope.names,
            });
            return Ok(());
        };
        let is_rule = items.first().and_then(Sexpr::symbol) == Some("<=");
        if !is_rule {
            let head = self.atom(statement, &mut scope)?;
            self.push(Rule {
                span: *span,
                head,
                body: Vec::new(),
                variables: scope.names,
            });
            return Ok(());
        }
        let Some(head) = items.get(1) else {
            return self.fail(
                "rule-without-head",
                *span,
                "this rule has no head, expected `(<= head condition...)`".into(),
                "",
            );
        };
        if items.len() == 2 {
            self.diagnostics.push(
                Diagnostic::warning("rule-without-body", *span, "this rule has no conditions")
                    .with_help("write the head alone: it is a fact"),
            );
        }
        let head = self.atom(head, &mut scope);
        let mut body = Vec::new();
        let mut is_sound = true;
        for condition in &items[2..] {
            match self.formula(condition, &mut scope, true) {
                Ok(formula) => body.push(formula),
                Err(Reported) => is_sound = false,
            }
        }
        let head = head?;
        if !is_sound {
            return Err(Reported);
        }
        self.expand(
            Pending {
                head,
                variables: scope.names,
                span: *span,
            },
            body,
        );
        Ok(())
    }

    fn push(&mut self, rule: Rule) {
        self.rules.rules.push(rule);
    }

    /// A relation with its arguments.
    fn atom(&mut self, expression: &Sexpr, scope: &mut Scope) -> Result<Atom, Reported> {
        let span = expression.span();
        let (name, arguments) = match expression {
            Sexpr::Symbol(..) => (expression, &[][..]),
            Sexpr::List(items, _) => match items.split_first() {
                Some((name, arguments)) => (name, arguments),
                None => {
                    return self.fail(
                        "empty-list",
                        span,
                        "an empty list is no statement, expected a relation".into(),
                        "",
                    );
                }
            },
        };
        let relation = self.name(name, "a relation's name")?;
        let arguments = self.terms(arguments, scope)?;
        Ok(Atom {
            relation,
            arguments,
            span,
        })
    }

    /// A name that is neither a variable nor one of the logical words.
    fn name(&mut self, expression: &Sexpr, expected: &str) -> Result<Symbol, Reported> {
        let span = expression.span();
        let Some(text) = expression.symbol() else {
            return self.fail(
                "list-as-name",
                span,
                format!("found a list, expected {expected}"),
                "",
            );
        };
        if text.starts_with('?') {
            return self.fail(
                "variable-as-name",
                span,
                format!("found the variable `{text}`, expected {expected}"),
                "",
            );
        }
        if text == "<="
            || ["not", "or", "and", "distinct"]
                .iter()
                .any(|word| word.eq_ignore_ascii_case(text))
        {
            let help = "`<=` opens a rule; `not`, `or`, `and` and `distinct` stand in bodies only";
            return self.fail(
                "misplaced-keyword",
                span,
                format!("found `{text}`, expected {expected}"),
                help,
            );
        }
        Ok(self.rules.symbols.intern(text))
    }

    fn terms(&mut self, expressions: &[Sexpr], scope: &mut Scope) -> Result<Box<[Term]>, Reported> {
        // Every argument is read, so that each fault is reported.
        let terms: Vec<Result<Term, Reported>> = expressions
            .iter()
            .map(|term| self.term(term, scope))
            .collect();
        terms.into_iter().collect()
    }

    fn term(&mut self, expression: &Sexpr, scope: &mut Scope) -> Result<Term, Reported> {
        match expression {
            Sexpr::Symbol(text, _) if text.starts_with('?') => {
                Ok(Term::Variable(scope.variable(text)))
            }
            Sexpr::Symbol(text, _) => Ok(Term::Constant(self.rules.symbols.intern(text))),
            Sexpr::List(items, span) => {
                let Some((name, arguments)) = items.split_first() else {
                    return self.fail("empty-list", *span, "an empty list is no term".into(), "");
                };
                let Some(text) = name.symbol() else {
                    return self.fail(
                        "list-as-name",
                        name.span(),
                        "found a list, expected a function's name".into(),
                        "",
                    );
                };
                if text.starts_with('?') {
                    let message =
                        format!("found the variable `{text}`, expected a function's name");
                    return self.fail("variable-as-name", name.span(), message, "");
                }
                let name = self.rules.symbols.intern(text);
                let arguments = self.terms(arguments, scope)?;
                Ok(if arguments.is_empty() {
                    Term::Constant(name)
                } else {
                    Term::Function(name, arguments)
                })
            }
        }
    }

    /// A condition; `wanted` is false under an odd number of `not`s.
    fn formula(
        &mut self,
        expression: &Sexpr,
        scope: &mut Scope,
        wanted: bool,
    ) -> Result<Formula, Reported> {
        let span = expression.span();
        let word = expression
            .list()
            .and_then(|items| items.first())
            .and_then(Sexpr::symbol)
            .unwrap_or("");
        let operands = expression
            .list()
            .and_then(|items| items.get(1..))
            .unwrap_or(&[]);
        match word.to_ascii_lowercase().as_str() {
            "not" => match operands {
                [operand] => self.formula(operand, scope, !wanted),
                _ => {
                    let message = format!("`not` takes one condition, found {}", operands.len());
                    self.fail("wrong-operand-count", span, message, "")
                }
            },
            "or" | "and" => {
                let read: Vec<Result<Formula, Reported>> = operands
                    .iter()
                    .map(|operand| self.formula(operand, scope, wanted))
                    .collect();
                let formulas = read
                    .into_iter()
                    .collect::<Result<Vec<Formula>, Reported>>()?;
                let is_any = word.eq_ignore_ascii_case("or") == wanted;
                Ok(if is_any {
                    Formula::Any(formulas)
                } else {
                    Formula::All(formulas)
                })
            }
            "distinct" => match operands {
                [left, right] => {
                    let (left, right) = (self.term(left, scope), self.term(right, scope));
                    let (left, right) = (left?, right?);
                    Ok(if wanted {
                        Formula::Literal(Literal::Distinct(left, right, span))
                    } else {
                        Formula::Equal(left, right)
                    })
                }
                _ => {
                    let message = format!("`distinct` takes two terms, found {}", operands.len());
                    self.fail("wrong-operand-count", span, message, "")
                }
            },
            _ => {
                let atom = self.atom(expression, scope)?;
                Ok(Formula::Literal(if wanted {
                    Literal::Positive(atom)
                } else {
                    Literal::Negative(atom)
                }))
            }
        }
    }

    /// Adds the rules that a head and its conditions stand for.
    fn expand(&mut self, pending: Pending, body: Vec<Formula>) {
        let mut body = Formula::All(body);
        if alternatives(&body) > MAX_ALTERNATIVES {
            body = self.with_helpers(&pending, body);
        }
        for solution in conjunctions(&body) {
            if let Some(rule) = pending.rule(solution) {
                self.push(rule);
            }
        }
    }

    /// Puts a helper relation in place of each top-level `or`: its arguments are the variables that the `or` shares
    /// with the rest of the rule, and each branch becomes a rule of its own, together with those positive literals
    /// of the rule that bind what the branch needs.
    fn with_helpers(&mut self, pending: &Pending, body: Formula) -> Formula {
        let mut parts = Vec::new();
        flatten_all(body, &mut parts);
        let positives: Vec<Literal> = parts
            .iter()
            .filter_map(|part| match part {
                Formula::Literal(literal @ Literal::Positive(_)) => Some(literal.clone()),
                _ => None,
            })
            .collect();
        let n_variables = pending.variables.len();
        let occurrences: Vec<Vec<bool>> = parts
            .iter()
            .map(|part| variables_of(part, n_variables))
            .collect();
        let mut in_head = vec![false; n_variables];
        pending
            .head
            .for_each_variable(&mut |variable| in_head[variable as usize] = true);
        let mut kept = Vec::new();
        for (index, part) in parts.into_iter().enumerate() {
            let Formula::Any(branches) = part else {
                kept.push(part);
                continue;
            };
            let shared: Vec<u32> = (0..n_variables)
                .filter(|&variable| {
                    let elsewhere = occurrences
                        .iter()
                        .enumerate()
                        .any(|(other, has)| other != index && has[variable]);
                    occurrences[index][variable] && (in_head[variable] || elsewhere)
                })
                .map(|variable| variable as u32)
                .collect();
            let relation = self.rules.symbols.intern(&format!("or${}", self.helpers));
            self.helpers += 1;
            let head = Atom {
                relation,
                arguments: shared
                    .iter()
                    .map(|&variable| Term::Variable(variable))
                    .collect(),
                span: pending.span,
            };
            let binders: Vec<Formula> = positives
                .iter()
                .filter(|literal| {
                    let mut binds = false;
                    literal.for_each_variable(&mut |variable| binds |= shared.contains(&variable));
                    binds
                })
                .map(|literal| Formula::Literal(literal.clone()))
                .collect();
            for branch in branches {
                let mut conditions = binders.clone();
                conditions.push(branch);
                let helper = Pending {
                    head: head.clone(),
                    variables: pending.variables.clone(),
                    span: pending.span,
                };
                self.expand(helper, conditions);
            }
            kept.push(Formula::Literal(Literal::Positive(head)));
        }
        Formula::All(kept)
    }
}

/// A rule whose body is not settled yet.
struct Pending {
    head: Atom,
    variables: Vec<Box<str>>,
    span: Span,
}

impl Pending {
    /// The rule for one conjunction, with its equalities solved and its variables renumbered; nothing when the
    /// equalities contradict each other.
    fn rule(&self, conjunction: Conjunction) -> Option<Rule> {
        let mut head = self.head.clone();
        let mut body = conjunction.literals;
        let mut equalities = conjunction.equalities;
        while let Some((left, right)) = equalities.pop() {
            match (left, right) {
                (left, right) if left == right => {}
                (Term::Variable(variable), term) | (term, Term::Variable(variable)) => {
                    let mut is_inside = false;
                    term.for_each_variable(&mut |inner| is_inside |= inner == variable);
                    if is_inside {
                        return None;
                    }
                    head = head.substitute(variable, &term);
                    body = body
                        .iter()
                        .map(|literal| literal.substitute(variable, &term))
                        .collect();
                    for (left, right) in &mut equalities {
                        *left = left.substitute(variable, &term);
                        *right = right.substitute(variable, &term);
                    }
                }
                (Term::Function(name, left), Term::Function(other, right))
                    if name == other && left.len() == right.len() =>
                {
                    equalities.extend(left.into_iter().zip(right));
                }
                _ => return None,
            }
        }
        Some(renumbered(Rule {
            head,
            body,
            variables: self.variables.clone(),
            span: self.span,
        }))
    }
}

/// Gives the variables that still occur the numbers 0, 1, 2...
fn renumbered(mut rule: Rule) -> Rule {
    let mut number_of: Vec<Option<u32>> = vec![None; rule.variables.len()];
    let mut names = Vec::new();
    let mut note = |variable: u32| {
        if number_of[variable as usize].is_none() {
            number_of[variable as usize] = Some(names.len() as u32);
            names.push(rule.variables[variable as usize].clone());
        }
    };
    rule.head.for_each_variable(&mut note);
    rule.body
        .iter()
        .for_each(|literal| literal.for_each_variable(&mut note));
    fn term(own: &mut Term, number_of: &[Option<u32>]) {
        match own {
            Term::Variable(variable) => {
                *variable = number_of[*variable as usize].unwrap_or(*variable)
            }
            Term::Constant(_) => {}
            Term::Function(_, arguments) => arguments
                .iter_mut()
                .for_each(|argument| term(argument, number_of)),
        }
    }
    rule.head
        .arguments
        .iter_mut()
        .for_each(|argument| term(argument, &number_of));
    for literal in &mut rule.body {
        match literal {
            Literal::Positive(atom) | Literal::Negative(atom) => {
                atom.arguments
                    .iter_mut()
                    .for_each(|argument| term(argument, &number_of));
            }
            Literal::Distinct(left, right, _) => {
                term(left, &number_of);
                term(right, &number_of);
            }
        }
    }
    rule.variables = names;
    rule
}

/// How many conjunctions a formula has, at most `usize::MAX`.
fn alternatives(formula: &Formula) -> usize {
    match formula {
        Formula::Literal(_) | Formula::Equal(..) => 1,
        Formula::All(parts) => parts
            .iter()
            .map(alternatives)
            .fold(1, usize::saturating_mul),
        Formula::Any(parts) => parts
            .iter()
            .map(alternatives)
            .fold(0, usize::saturating_add),
    }
}

#[derive(Clone, Default)]
struct Conjunction {
    literals: Vec<Literal>,
    equalities: Vec<(Term, Term)>,
}

/// The disjunctive normal form. Nested `or`s below a helper may still multiply; their product is small in practice
/// and bounded by the recursion in [`Reader::expand`].
fn conjunctions(formula: &Formula) -> Vec<Conjunction> {
    match formula {
        Formula::Literal(literal) => vec![Conjunction {
            literals: vec![literal.clone()],
            equalities: Vec::new(),
        }],
        Formula::Equal(left, right) => {
            vec![Conjunction {
                literals: Vec::new(),
                equalities: vec![(left.clone(), right.clone())],
            }]
        }
        Formula::Any(parts) => parts.iter().flat_map(conjunctions).collect(),
        Formula::All(parts) => parts
            .iter()
            .fold(vec![Conjunction::default()], |done, part| {
                let more = conjunctions(part);
                let mut product = Vec::with_capacity(done.len() * more.len());
                for left in &done {
                    for right in &more {
                        let mut joined = left.clone();
                        joined.literals.extend(right.literals.iter().cloned());
                        joined.equalities.extend(right.equalities.iter().cloned());
                        product.push(joined);
                    }
                }
                product
            }),
    }
}

fn flatten_all(formula: Formula, into: &mut Vec<Formula>) {
    match formula {
        Formula::All(parts) => parts.into_iter().for_each(|part| flatten_all(part, into)),
        other => into.push(other),
    }
}

fn variables_of(formula: &Formula, n_variables: usize) -> Vec<bool> {
    fn visit(formula: &Formula, note: &mut impl FnMut(u32)) {
        match formula {
            Formula::Literal(literal) => literal.for_each_variable(note),
            Formula::Equal(left, right) => {
                left.for_each_variable(note);
                right.for_each_variable(note);
            }
            Formula::All(parts) | Formula::Any(parts) => {
                parts.iter().for_each(|part| visit(part, note))
            }
        }
    }
    let mut occurs = vec![false; n_variables];
    visit(formula, &mut |variable| occurs[variable as usize] = true);
    occurs
}

#[cfg(test)]
mod tests {
    use super::super::sexpr;
    use super::*;

    fn read(text: &str) -> (Vec<String>, Vec<&'static str>) {
        let (rules, diagnostics) = read_rules(&sexpr::parse(text).0);
        let shown = rules
            .rules
            .iter()
            .map(|rule| rules.show_rule(rule).to_string())
            .collect();
        (
            shown,
            diagnostics
                .iter()
                .map(|diagnostic| diagnostic.code)
                .collect(),
        )
    }

    #[test]
    fn bodies_become_conjunctions() {
        let (rules, codes) = read("(<= p (or (q ?x) (not (or (r ?x) (distinct ?x a)))) (s ?x))");
        assert_eq!(codes, Vec::<&str>::new());
        assert_eq!(rules, ["(<= p (q ?x) (s ?x))", "(<= p (not (r a)) (s a))"]);
    }

    #[test]
    fn equality_is_solved_by_unification() {
        let (rules, _) = read("(<= (p ?x ?y) (q ?x ?y) (not (distinct (f ?x a) (f b ?y))))");
        assert_eq!(rules, ["(<= (p b a) (q b a))"]);
        assert_eq!(read("(<= p (q ?x) (not (distinct ?x (f ?x))))").0.len(), 0);
        assert_eq!(read("(<= p (not (distinct a b)))").0.len(), 0);
    }

    #[test]
    fn a_wrapped_rulesheet_is_unwrapped() {
        assert_eq!(
            read("( (role a) (ROLE b) terminal )").0,
            ["(role a)", "(role b)", "terminal"]
        );
        assert_eq!(read("(terminal)").0, ["terminal"]);
    }

    #[test]
    fn many_alternatives_become_helpers() {
        let branch = "(or (a ?x) (b ?x) (c ?y))";
        let text = format!("(<= (p ?x) (q ?x ?y) {})", [branch; 6].join(" "));
        let (rules, codes) = read(&text);
        assert_eq!(codes, Vec::<&str>::new());
        assert_eq!(rules.len(), 6 * 3 + 1);
        assert_eq!(rules[0], "(<= (or$0 ?x ?y) (q ?x ?y) (a ?x))");
    }

    #[test]
    fn faults_are_all_reported_and_other_statements_kept() {
        let (rules, codes) = read(
            "(p (not)) (<= (q ?x) (not a b) (distinct ?x)) () (<=) (?r a) (<= (or a b) c) ok (a ((b)))",
        );
        assert_eq!(rules, ["(p not)", "ok"]);
        assert_eq!(
            codes,
            [
                "wrong-operand-count",
                "wrong-operand-count",
                "empty-list",
                "rule-without-head",
                "variable-as-name",
                "misplaced-keyword",
                "list-as-name"
            ]
        );
    }
}
