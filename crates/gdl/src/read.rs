//! From s-expressions to [`Rules`].
//!
//! Bodies are formulas of `and`, `or`, `not`, `distinct` and atoms. Negation is pushed inwards,
//! then `or` is expanded; a body with more than `MAX_ALTERNATIVES` conjunctions gets helper
//! relations for its `or`s instead. `(not (distinct a b))` is equality and is solved by
//! unification. Both can blow up, so the copies they make are counted, and a rule beyond the limit
//! is a fault. A faulty statement is reported and left out; the others are still read.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::diagnostic::{Diagnostic, Edit};
use super::formula::{
    Conjunction, Formula, Measure, all, alternatives, any, conjunctions, flatten_all, size_of,
    size_of_atom, size_of_literal, variables_of,
};
use super::rules::{Atom, Literal, Rule, Rules, Term};
use super::scope::Scope;
use super::sexpr::{MAX_DEPTH, Sexpr};
use super::span::Span;
use crate::ids::Symbol;

/// Arrows of other languages.
const ARROWS: [&str; 6] = ["=>", "->", "==>", ":-", "<-", "<=="];
/// A body is expanded into at most this many rules.
const MAX_ALTERNATIVES: usize = 64;
/// Limit on the terms and letters copied to expand `or` and to solve equalities, per rulesheet.
const MAX_COPIES: usize = 1 << 23;

/// The statements of a rulesheet. One that is wrapped in one more pair of parentheses, as START
/// carries it, is unwrapped.
pub fn unwrapped(statements: &[Sexpr]) -> &[Sexpr] {
    match statements {
        [Sexpr::List(items, _)] if matches!(items.first(), None | Some(Sexpr::List(..))) => items,
        _ => statements,
    }
}

/// Reads statements, wrapped in one more pair of parentheses or not.
pub fn read_rules(statements: &[Sexpr]) -> (Rules, Vec<Diagnostic>) {
    let statements = unwrapped(statements);
    let mut reader = Reader {
        rules: Rules::default(),
        diagnostics: Vec::new(),
        helpers: 0,
        helper_prefix: helper_prefix(statements),
        copies: Copies::default(),
    };
    let mut is_in_block = false;
    for statement in statements {
        if let Sexpr::Symbol(text, span) = statement
            && reader.skips(text, *span, &mut is_in_block)
        {
            continue;
        }
        let n_rules = reader.rules.rules.len();
        if let Err(Reported) = reader.statement(statement) {
            reader.rules.rules.truncate(n_rules);
        }
    }
    (reader.rules, reader.diagnostics)
}

/// The prefix of helper relations, which no symbol of these statements has.
fn helper_prefix(statements: &[Sexpr]) -> String {
    fn longest_run(expression: &Sexpr) -> usize {
        match expression {
            Sexpr::Symbol(text, _) => text.strip_prefix("or").map_or(0, |rest| {
                rest.bytes().take_while(|&byte| byte == b'$').count()
            }),
            Sexpr::List(items, _) => items.iter().map(longest_run).max().unwrap_or(0),
        }
    }
    let run = statements.iter().map(longest_run).max().unwrap_or(0);
    format!("or{}", "$".repeat(run + 1))
}

/// A fault that is in the diagnostics.
struct Reported;

/// The expansion of a rule is beyond the limit.
#[derive(Debug)]
pub struct TooLarge;

/// The terms and letters that may still be copied.
#[derive(Debug)]
pub struct Copies {
    left: usize,
}

impl Default for Copies {
    fn default() -> Self {
        Self { left: MAX_COPIES }
    }
}

impl Copies {
    /// Counts what is about to be copied.
    ///
    /// # Errors
    /// It is beyond the limit.
    pub fn charge(&mut self, amount: usize) -> Result<(), TooLarge> {
        self.left = self.left.checked_sub(amount).ok_or(TooLarge)?;
        Ok(())
    }
}

struct Reader {
    rules: Rules,
    diagnostics: Vec<Diagnostic>,
    helpers: usize,
    helper_prefix: String,
    copies: Copies,
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

    /// Whether a symbol between statements or conditions belongs to a `#| ... |#`, which is a
    /// comment in Lisp and none in KIF. Lists in it count, so it is reported; lone words do not.
    fn skips(&mut self, text: &str, span: Span, is_in_block: &mut bool) -> bool {
        let opens = text.starts_with("#|") && !*is_in_block;
        if opens {
            let message = "`#|` begins no comment in KIF, what is in parentheses up to `|#` counts";
            let help = "write `;` in front of each line of a comment";
            let fault = Diagnostic::warning("block-comment", span, message).with_help(help);
            self.diagnostics.push(fault);
        }
        let is_skipped = opens || *is_in_block;
        *is_in_block = is_skipped && !text.ends_with("|#");
        is_skipped
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
        let first = items.first().and_then(Sexpr::symbol);
        if let Some(arrow) = first.filter(|it| ARROWS.contains(it) && items.len() > 2) {
            return self.reversed(arrow, items, *span);
        }
        if first != Some("<=") {
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
            let before = Span {
                end: head.span().start,
                ..*span
            };
            let after = Span {
                start: head.span().end,
                ..*span
            };
            self.diagnostics.push(
                Diagnostic::warning("rule-without-body", *span, "this rule has no conditions")
                    .with_help("write the head alone: it is a fact")
                    .with_edits(vec![Edit::removal(before), Edit::removal(after)]),
            );
        }
        let head = self.atom(head, &mut scope);
        let mut body = Vec::new();
        let mut is_sound = true;
        let mut is_in_block = false;
        for condition in &items[2..] {
            if let Sexpr::Symbol(text, span) = condition
                && self.skips(text, *span, &mut is_in_block)
            {
                continue;
            }
            match self.formula(condition, &mut scope, true) {
                Ok(formula) => body.push(formula),
                Err(Reported) => is_sound = false,
            }
        }
        let head = head?;
        if !is_sound {
            return Err(Reported);
        }
        let pending = Pending {
            head,
            variables: scope.names.into(),
            span: *span,
            is_helper: false,
        };
        if let Err(TooLarge) = self.expand(&pending, body) {
            let message =
                "this rule is too large when its `or`s and equalities are expanded".into();
            let help = "give parts of its conditions a relation of their own";
            return self.fail("rule-too-large", *span, message, help);
        }
        Ok(())
    }

    /// Reports a rule with another arrow than `<=`. One that points to the right has its head last.
    fn reversed(&mut self, arrow: &str, items: &[Sexpr], span: Span) -> Result<(), Reported> {
        let mut parts: Vec<&Sexpr> = items[1..].iter().collect();
        if arrow.ends_with('>') {
            parts.rotate_right(1);
        }
        let parts = parts.iter().flat_map(|part| match part.list() {
            Some([and, inner @ ..]) if and.symbol() == Some("and") => inner,
            _ => std::slice::from_ref(*part),
        });
        let parts: String = parts.map(|part| format!(" {part}")).collect();
        let message = format!("`{arrow}`: rules are written head first, with `<=`");
        let fault = Diagnostic::error("reversed-arrow", span, message)
            .with_help("write `(<= head condition...)`")
            .with_edits(vec![Edit::replacement(span, format!("(<={parts})"))]);
        self.diagnostics.push(fault);
        Err(Reported)
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

    /// A name that is neither a variable nor a logical word.
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
                Ok(if is_any { any(formulas) } else { all(formulas) })
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

    /// Adds the expanded rules of a head and its conditions.
    fn expand(&mut self, pending: &Pending, body: Vec<Formula>) -> Result<(), TooLarge> {
        let mut body = all(body);
        let mut n = alternatives(&body);
        if n > MAX_ALTERNATIVES {
            body = self.with_helpers(pending, body)?;
            n = 1;
        }
        if n > 1 {
            let size = size_of(&body).saturating_add(size_of_atom(&pending.head));
            self.copies.charge(size.saturating_mul(n))?;
        }
        let are_copies = n > 1 || pending.is_helper;
        for solution in conjunctions(&body) {
            if let Some(rule) = pending.rule(solution, are_copies, &mut self.copies)? {
                self.push(rule);
            }
        }
        Ok(())
    }

    /// Replaces each top-level `or` by a helper relation over the variables it shares with the rest
    /// of the rule. Each branch becomes a rule of the helper, with the positive literals that bind
    /// these variables.
    fn with_helpers(&mut self, pending: &Pending, body: Formula) -> Result<Formula, TooLarge> {
        let mut parts = Vec::new();
        flatten_all(body, &mut parts);
        let positives: Vec<Literal> = parts
            .iter()
            .filter_map(|part| match part {
                Formula::Literal(literal @ Literal::Positive(_)) => Some(literal.clone()),
                _ => None,
            })
            .collect();
        // Per variable, in how many places it stands, the head being one.
        let mut n_places: HashMap<u32, usize> = HashMap::new();
        let mut in_head = HashSet::new();
        pending.head.for_each_variable(&mut |variable| {
            in_head.insert(variable);
        });
        for variable in parts.iter().flat_map(variables_of).chain(in_head) {
            *n_places.entry(variable).or_default() += 1;
        }
        let mut kept = Vec::new();
        for part in parts {
            let shared: HashSet<u32> = variables_of(&part)
                .into_iter()
                .filter(|variable| n_places[variable] > 1)
                .collect();
            let Formula::Any(branches) = part else {
                kept.push(part);
                continue;
            };
            let mut arguments: Vec<u32> = shared.iter().copied().collect();
            arguments.sort_unstable();
            let name = format!("{}{}", self.helper_prefix, self.helpers);
            let relation = self.rules.symbols.intern(&name);
            self.helpers += 1;
            let head = Atom {
                relation,
                arguments: arguments.into_iter().map(Term::Variable).collect(),
                span: pending.span,
            };
            self.copies
                .charge(positives.iter().map(size_of_literal).sum())?;
            let binders: Vec<Formula> = positives
                .iter()
                .filter(|literal| {
                    let mut binds = false;
                    literal.for_each_variable(&mut |variable| binds |= shared.contains(&variable));
                    binds
                })
                .map(|literal| Formula::Literal(literal.clone()))
                .collect();
            let size = binders.iter().map(size_of).sum::<usize>() + size_of_atom(&head);
            let helper = Pending {
                head: head.clone(),
                variables: Rc::clone(&pending.variables),
                span: pending.span,
                is_helper: true,
            };
            for branch in branches {
                self.copies.charge(size)?;
                let mut conditions = binders.clone();
                conditions.push(branch);
                self.expand(&helper, conditions)?;
            }
            kept.push(Formula::Literal(Literal::Positive(head)));
        }
        Ok(Formula::All(kept))
    }
}

/// The head of a rule whose body is not expanded yet.
struct Pending {
    head: Atom,
    variables: Rc<[Box<str>]>,
    span: Span,
    is_helper: bool,
}

impl Pending {
    /// The rule for one conjunction, with equalities solved; nothing when they are contradictory.
    fn rule(
        &self,
        conjunction: Conjunction,
        is_copy: bool,
        copies: &mut Copies,
    ) -> Result<Option<Rule>, TooLarge> {
        let head = self.head.clone();
        let (body, equalities) = (conjunction.literals, conjunction.equalities);
        let rule = unified(head, body, equalities, &self.variables, self.span, copies)?;
        let Some(rule) = rule else {
            return Ok(None);
        };
        if is_copy {
            copies.charge(rule.variables.iter().map(|name| name.len()).sum())?;
        }
        Ok(Some(rule))
    }
}

/// The rule for a conjunction, with equalities solved; nothing when they are contradictory.
///
/// # Errors
/// The terms that are put together are beyond the limit.
pub fn unified(
    mut head: Atom,
    mut body: Vec<Literal>,
    mut equalities: Vec<(Term, Term)>,
    names: &[Box<str>],
    span: Span,
    copies: &mut Copies,
) -> Result<Option<Rule>, TooLarge> {
    while let Some((left, right)) = equalities.pop() {
        match (left, right) {
            (left, right) if left == right => {}
            (Term::Variable(variable), term) | (term, Term::Variable(variable)) => {
                let mut is_inside = false;
                term.for_each_variable(&mut |inner| is_inside |= inner == variable);
                if is_inside {
                    return Ok(None);
                }
                // A chain of equalities can double a term at each step, so this is counted
                // before it is done.
                let mut rest = Measure::default();
                head.arguments
                    .iter()
                    .for_each(|term| rest.add(term, variable));
                body.iter()
                    .for_each(|literal| rest.add_literal(literal, variable));
                equalities.iter().for_each(|(left, right)| {
                    rest.add(left, variable);
                    rest.add(right, variable);
                });
                let mut put = Measure::default();
                put.add(&term, variable);
                copies.charge(
                    rest.nodes
                        .saturating_add(rest.occurrences.saturating_mul(put.nodes)),
                )?;
                if rest.occurrences > 0 && rest.depth + put.depth > MAX_DEPTH {
                    return Err(TooLarge);
                }
                let mut put = |leaf: &mut Term| {
                    if *leaf == Term::Variable(variable) {
                        *leaf = term.clone();
                    }
                };
                let in_body = body.iter_mut().flat_map(Literal::terms_mut);
                let in_rest = equalities
                    .iter_mut()
                    .flat_map(|(left, right)| [left, right]);
                let terms = head.arguments.iter_mut().chain(in_body).chain(in_rest);
                terms.for_each(|term| term.for_each_leaf(&mut put));
            }
            (Term::Function(name, left), Term::Function(other, right))
                if name == other && left.len() == right.len() =>
            {
                equalities.extend(left.into_iter().zip(right));
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(renumbered(head, body, names, span)))
}

/// The rule with its remaining variables numbered from 0.
pub fn renumbered(mut head: Atom, mut body: Vec<Literal>, names: &[Box<str>], span: Span) -> Rule {
    let mut number_of: HashMap<u32, u32> = HashMap::new();
    let mut variables = Vec::new();
    let mut renumber = |leaf: &mut Term| {
        if let Term::Variable(variable) = leaf {
            *variable = *number_of.entry(*variable).or_insert_with(|| {
                variables.push(names[*variable as usize].clone());
                variables.len() as u32 - 1
            });
        }
    };
    let in_body = body.iter_mut().flat_map(Literal::terms_mut);
    let terms = head.arguments.iter_mut().chain(in_body);
    terms.for_each(|term| term.for_each_leaf(&mut renumber));
    Rule {
        head,
        body,
        variables,
        span,
    }
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
            .map(|rule| rules.show_rule(rule))
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
    fn block_marks_are_no_comments_and_told_once() {
        for text in [
            "(role a) #| (role b) |# terminal",
            "(role a) #|old: (role b) out|# terminal",
            "((role a) #|(role b)|# terminal)",
        ] {
            let (rules, codes) = read(text);
            assert_eq!(rules, ["(role a)", "(role b)", "terminal"], "{text}");
            assert_eq!(codes, ["block-comment"], "{text}");
        }
        let (rules, codes) = read("(<= p q #| not needed (r a) |# s)");
        assert_eq!(rules, ["(<= p q (r a) s)"]);
        assert_eq!(codes, ["block-comment"]);
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
