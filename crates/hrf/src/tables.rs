//! The facts of special relations, and what holds of a state from step to step.
//!
//! Arithmetic and comparisons get the rows that can be asked for, domains their values. A count
//! goes through the values that can be counted one by one. Facts stay true unless they are taken
//! away, and a move or effect that no operation is for becomes a fact itself.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::compile::{Compiled, Special};
use super::numbers;
use super::shapes::{MAX_COUNTED, Shape, Shapes, shapes};
use super::sheet::{Sheet, term_of};
use panza_gdl::read::renumbered;
use panza_gdl::{Atom, Diagnostic, Literal, Rule, Rules, Signature, Span, Symbol, Term, keyword};

/// Values of a domain, at most, and actions that are compared with the heads of operations.
const MAX_VALUES: usize = 1 << 14;
/// Rows of tables, at most.
const MAX_ROWS: usize = 1 << 20;

/// Adds what the rules lack to be complete.
pub fn complete(sheet: &Sheet, mut compiled: Compiled) -> (Rules, Vec<Diagnostic>) {
    let (symbols, specials) = (&mut compiled.symbols, &compiled.specials);
    let shapes = shapes(&compiled.rules, symbols, specials);
    let span = compiled.rules.first().map(|rule| rule.span);
    let mut completion = Completion {
        sheet,
        compiled,
        shapes,
        asked: HashMap::new(),
        of_roles: HashSet::new(),
        added: Vec::new(),
    };
    completion.drop_guards();
    completion.note_asked();
    completion.specials();
    completion.actions();
    completion.frame(span.unwrap_or_default());
    let Compiled {
        symbols,
        mut rules,
        diagnostics,
        ..
    } = completion.compiled;
    rules.extend(completion.added);
    rules.sort_by_key(|rule| rule.span.start);
    (Rules { symbols, rules }, diagnostics)
}

struct Completion<'a> {
    sheet: &'a Sheet,
    compiled: Compiled,
    shapes: Shapes,
    /// Where each relation is asked for first.
    asked: HashMap<Symbol, Span>,
    /// Domains that are the roles.
    of_roles: HashSet<Symbol>,
    added: Vec<Rule>,
}

fn atom(relation: Symbol, arguments: impl Into<Box<[Term]>>, span: Span) -> Atom {
    Atom {
        relation,
        arguments: arguments.into(),
        span,
    }
}

fn variables(count: usize) -> (Vec<Box<str>>, Vec<Term>) {
    let names = (1..=count).map(|number| format!("?{number}").into());
    (
        names.collect(),
        (0..count as u32).map(Term::Variable).collect(),
    )
}

impl Completion<'_> {
    fn add(&mut self, head: Atom, body: Vec<Literal>, variables: Vec<Box<str>>) {
        let span = head.span;
        self.added.push(Rule {
            head,
            body,
            variables,
            span,
        });
    }

    fn add_fact(&mut self, relation: Symbol, arguments: Vec<Term>, span: Span) {
        self.add(atom(relation, arguments, span), Vec::new(), Vec::new());
    }

    fn fail(&mut self, span: Span, message: &str, help: &str) {
        let fault = Diagnostic::error("too-many-values", span, message).with_help(help);
        self.compiled.diagnostics.push(fault);
    }

    /// Leaves out domains of variables that another condition gives a value. They were needed to
    /// know which values callers ask for.
    fn drop_guards(&mut self) {
        let specials = &self.compiled.specials;
        let is_guard = |literal: &Literal| match literal {
            Literal::Positive(atom) => match specials.get(&atom.relation) {
                Some(Special::Domain { .. }) => Some(atom.arguments[0].clone()),
                _ => None,
            },
            _ => None,
        };
        for rule in &mut self.compiled.rules {
            if !rule.body.iter().any(|literal| is_guard(literal).is_some()) {
                continue;
            }
            let mut has_value = HashSet::new();
            for literal in &rule.body {
                if let Literal::Positive(atom) = literal
                    && !specials.contains_key(&atom.relation)
                {
                    atom.for_each_variable(&mut |variable| {
                        has_value.insert(Term::Variable(variable));
                    });
                }
            }
            rule.body.retain(|literal| {
                is_guard(literal).is_none_or(|guarded| !has_value.contains(&guarded))
            });
        }
    }

    fn note_asked(&mut self) {
        let literals = self.compiled.rules.iter().flat_map(|rule| &rule.body);
        for atom in literals.filter_map(Literal::atom) {
            self.asked.entry(atom.relation).or_insert(atom.span);
        }
    }

    fn specials(&mut self) {
        let mut specials: Vec<(Symbol, Special)> =
            self.compiled.specials.clone().into_iter().collect();
        // Counts ask for domains.
        specials.sort_by_key(|(relation, special)| {
            (!matches!(special, Special::Count { .. }), *relation)
        });
        for (relation, special) in specials {
            let Some(&span) = self.asked.get(&relation) else {
                continue;
            };
            if self.shapes.is_unfinished {
                let help = "keep functions from nesting and numbers from growing without end";
                return self.fail(span, "too many values are possible here", help);
            }
            match special {
                Special::Compute(_) | Special::Compare(_) => self.rows(relation, span),
                Special::Domain { of, .. } => self.domain(relation, of, span),
                Special::Count { of, outer } => self.count(relation, of, &outer, span),
            }
        }
        let literals = self.compiled.rules.iter_mut();
        for literal in literals.flat_map(|rule| &mut rule.body) {
            if let Literal::Positive(atom) = literal
                && self.of_roles.contains(&atom.relation)
            {
                atom.relation = keyword::ROLE;
            }
        }
        if let Some(span) = self.shapes.cut {
            let help = "larger numbers are left out: the condition does not hold for them";
            let message = "numbers grow without end here";
            let warning = Diagnostic::warning("unbounded-numbers", span, message);
            self.compiled.diagnostics.push(warning.with_help(help));
        }
    }

    fn rows(&mut self, relation: Symbol, span: Span) {
        let rows = self.shapes.rows.remove(&relation).unwrap_or_default();
        if rows.len() > MAX_ROWS {
            return self.fail(span, "too many numbers are possible here", "");
        }
        // By value, since names sort otherwise.
        let number = |symbol: &Symbol| {
            let name = self.compiled.symbols.name(*symbol);
            numbers::number(name).unwrap_or_default().to_bits() as i64
        };
        let mut rows: Vec<Vec<Symbol>> = rows.into_iter().collect();
        rows.sort_by_key(|row| row.iter().map(number).collect::<Vec<i64>>());
        for row in rows {
            let row = row.into_iter().map(Term::Constant).collect();
            self.add_fact(relation, row, span);
        }
    }

    fn domain(&mut self, relation: Symbol, of: Symbol, span: Span) {
        let shape = self.shapes.domains.remove(&relation).unwrap_or_default();
        let roles = self.shapes.facts.get(&(keyword::ROLE, 1));
        if roles.is_some_and(|roles| roles[0] == shape) {
            self.of_roles.insert(relation);
            return;
        }
        if shape.is_empty() {
            // A relation that nothing asks for needs no values.
            if self.asked.contains_key(&of) {
                let message = "a variable of this head has no value";
                let help =
                    "bind it by a condition of the rule; as it stands, the rule has no effect";
                let warning = Diagnostic::warning("unsafe-variable", span, message);
                self.compiled.diagnostics.push(warning.with_help(help));
            }
            return;
        }
        match shape.terms(MAX_VALUES) {
            Some(terms) => {
                for term in terms {
                    self.add_fact(relation, vec![term], span);
                }
            }
            None => self.fail(
                span,
                "a variable of this head has too many possible values",
                "",
            ),
        }
    }

    /// A count goes through the values in order: after the n-th it is what it was before, and one
    /// more if that value is counted.
    fn count(&mut self, relation: Symbol, of: Symbol, outer: &[Symbol], span: Span) {
        let n_outer = outer.len();
        self.asked
            .extend(outer.iter().map(|domain| (*domain, span)));
        self.asked.insert(relation, span);
        let facts = self.shapes.facts.get(&(of, n_outer + 1));
        let shape = facts.and_then(|facts| facts.last()).cloned();
        let Some(values) = shape.unwrap_or_default().terms(MAX_COUNTED) else {
            let message = format!("more than {MAX_COUNTED} values would have to be counted here");
            return self.fail(span, &message, "");
        };
        let symbols = &mut self.compiled.symbols;
        let name = symbols.name(relation).to_string();
        let upto = symbols.intern(&format!("{name}upto"));
        let order = symbols.intern(&format!("{name}order"));
        let more = symbols.intern(&format!("{name}more"));
        let numbers = (0..=values.len()).map(|number| {
            let name = numbers::shown(number as f64);
            Term::Constant(symbols.intern(&name))
        });
        let numbers: Vec<Term> = numbers.collect();
        for (pair, value) in numbers.windows(2).zip(&values) {
            let mut row = pair.to_vec();
            self.add_fact(more, row.clone(), span);
            row.push(value.clone());
            self.add_fact(order, row, span);
        }
        let (mut names, own) = variables(n_outer);
        let guards = own
            .iter()
            .zip(outer)
            .map(|(variable, domain)| Literal::Positive(atom(*domain, [variable.clone()], span)));
        let guards = guards.collect();
        let with = |more: &[Term]| -> Vec<Term> { own.iter().chain(more).cloned().collect() };
        let zero = &numbers[0];
        let start = atom(upto, with(&[zero.clone(), zero.clone()]), span);
        let new = |offset: u32| Term::Variable(n_outer as u32 + offset);
        let step = Literal::Positive(atom(order, [new(0), new(1), new(2)], span));
        let before = Literal::Positive(atom(upto, with(&[new(0), new(3)]), span));
        let is_counted = atom(of, with(&[new(2)]), span);
        let increment = Literal::Positive(atom(more, [new(3), new(4)], span));
        let counted = vec![
            step.clone(),
            before.clone(),
            Literal::Positive(is_counted.clone()),
            increment,
        ];
        let left_out = vec![step, before, Literal::Negative(is_counted)];
        let (total_names, total) = variables(n_outer + 1);
        let mut last = total.clone();
        last.insert(n_outer, numbers[values.len()].clone());
        let is_last = vec![Literal::Positive(atom(upto, last, span))];
        // The domains are looked at after this, so these rules are among the others.
        let mut push = |head: Atom, body, variables: &[Box<str>]| {
            self.compiled.rules.push(Rule {
                head,
                body,
                variables: variables.to_vec(),
                span,
            });
        };
        push(start, guards, &names);
        names.extend(["?before", "?at", "?value", "?count", "?next"].map(Box::from));
        push(atom(upto, with(&[new(1), new(4)]), span), counted, &names);
        let without_next = &names[..n_outer + 4];
        push(
            atom(upto, with(&[new(1), new(3)]), span),
            left_out,
            without_next,
        );
        push(atom(relation, total, span), is_last, &total_names);
    }

    /// Moves and effects that no operation is for become facts.
    fn actions(&mut self) {
        let heads: Vec<&Term> = self.sheet.operations.iter().map(|it| &it.action).collect();
        let moves = self.shapes.facts.get(&(self.compiled.moves, 1));
        let moves = moves.map_or(Shape::default(), |shapes| shapes[0].clone());
        let Some(&span) = self.asked.get(&self.compiled.moves) else {
            return;
        };
        let mut signatures: BTreeSet<Signature> = moves.functions.keys().copied().collect();
        signatures.extend(moves.constants.iter().map(|name| (*name, 0)));
        signatures.extend(self.compiled.chained.keys());
        for signature in signatures {
            let of_action = |head: &&&Term| head.signature() == Some(signature);
            let patterns: Vec<Term> = heads
                .iter()
                .filter(of_action)
                .map(|head| (*head).clone())
                .collect();
            let chained = self.compiled.chained.get(&signature).copied();
            let shape = match chained {
                None => Shape {
                    constants: moves.constants.clone(),
                    functions: (moves.functions.iter())
                        .filter(|(own, _)| **own == signature)
                        .map(|(own, shapes)| (*own, shapes.clone()))
                        .collect(),
                },
                Some(relation) => Shape {
                    constants: [signature.0].into(),
                    functions: (self.shapes.facts.get(&(relation, signature.1)))
                        .map(|shapes| (signature, shapes.clone()))
                        .into_iter()
                        .collect(),
                },
            };
            let is_met = |term: &Term| {
                let is_other = term.signature() != Some(signature);
                is_other || patterns.iter().any(|pattern| matches(pattern, term))
            };
            let are_all_met = patterns.iter().any(is_general)
                || (shape.terms(MAX_VALUES)).is_some_and(|terms| terms.iter().all(is_met));
            if !are_all_met {
                self.fact_of_action(signature, chained, &patterns, span);
            }
        }
    }

    /// What is taken of an action becomes a fact where no operation has a head for it.
    fn fact_of_action(
        &mut self,
        signature: Signature,
        chained: Option<Symbol>,
        patterns: &[Term],
        span: Span,
    ) {
        let (name, arity) = signature;
        let taken = |arguments: Vec<Term>, role: u32| match chained {
            Some(relation) => Literal::Positive(atom(relation, arguments, span)),
            None => {
                let action = term_of(name, &arguments);
                let of_role = [Term::Variable(role), action];
                Literal::Positive(atom(keyword::DOES, of_role, span))
            }
        };
        let (mut names, arguments) = variables(arity);
        names.push("?role".into());
        let fact = term_of(name, &arguments);
        let mut body = vec![taken(arguments.clone(), arity as u32)];
        if !patterns.is_empty() {
            let met = format!("{}$met", self.compiled.symbols.name(name));
            let met = self.compiled.symbols.intern(&met);
            for pattern in patterns {
                let mut n = 0;
                pattern.for_each_variable(&mut |variable| n = n.max(variable + 1));
                let (mut names, _) = variables(n as usize);
                names.push("?role".into());
                let arguments = match pattern {
                    Term::Function(_, arguments) => arguments.to_vec(),
                    Term::Variable(_) | Term::Constant(_) => Vec::new(),
                };
                let body = vec![taken(arguments.clone(), n)];
                let rule = renumbered(atom(met, arguments, span), body, &names, span);
                self.added.push(rule);
            }
            body.push(Literal::Negative(atom(met, arguments, span)));
        }
        let head = atom(keyword::NEXT, [fact], span);
        self.added.push(renumbered(head, body, &names, span));
    }

    /// Facts stay true unless they are taken away.
    fn frame(&mut self, span: Span) {
        let deleted = self.compiled.deleted;
        let rules = || self.compiled.rules.iter();
        let taken_away: HashSet<Option<Signature>> = rules()
            .filter(|rule| rule.head.relation == deleted)
            .map(|rule| rule.head.arguments[0].signature())
            .collect();
        let produced = rules()
            .filter(|rule| matches!(rule.head.signature(), (keyword::INIT | keyword::NEXT, 1)));
        let produced: Option<BTreeSet<Signature>> = produced
            .chain(
                self.added
                    .iter()
                    .filter(|rule| rule.head.relation == keyword::NEXT),
            )
            .map(|rule| rule.head.arguments[0].signature())
            .collect();
        // A variable stands for any fact; the shapes may know which.
        let produced = produced.or_else(|| {
            let state = &self.shapes.facts.get(&(keyword::TRUE, 1))?[0];
            let constants = state.constants.iter().map(|name| (*name, 0));
            let all = constants.chain(state.functions.keys().copied());
            (!self.shapes.is_unfinished).then(|| all.collect())
        });
        let Some(produced) = produced else {
            let names = vec!["?fact".into()];
            let fact = [Term::Variable(0)];
            let body = vec![
                Literal::Positive(atom(keyword::TRUE, fact.clone(), span)),
                Literal::Negative(atom(deleted, fact.clone(), span)),
            ];
            return self.add(atom(keyword::NEXT, fact, span), body, names);
        };
        for (name, arity) in produced {
            let (names, arguments) = variables(arity);
            let fact = [term_of(name, &arguments)];
            let mut body = vec![Literal::Positive(atom(keyword::TRUE, fact.clone(), span))];
            if taken_away.contains(&Some((name, arity))) || taken_away.contains(&None) {
                body.push(Literal::Negative(atom(deleted, fact.clone(), span)));
            }
            self.add(atom(keyword::NEXT, fact, span), body, names);
        }
    }
}

/// Whether a term is an instance of a pattern.
fn matches(pattern: &Term, term: &Term) -> bool {
    fn visit<'t>(pattern: &Term, term: &'t Term, values: &mut Vec<(u32, &'t Term)>) -> bool {
        match (pattern, term) {
            (Term::Variable(variable), term) => {
                let known = values.iter().find(|(other, _)| other == variable);
                let is_same = known.is_none_or(|(_, value)| *value == term);
                values.push((*variable, term));
                is_same
            }
            (Term::Constant(own), Term::Constant(other)) => own == other,
            (Term::Function(own, arguments), Term::Function(other, terms)) => {
                let mut pairs = arguments.iter().zip(terms.iter());
                own == other
                    && arguments.len() == terms.len()
                    && pairs.all(|(own, other)| visit(own, other, values))
            }
            _ => false,
        }
    }
    visit(pattern, term, &mut Vec::new())
}

/// Whether a pattern is a name with different variables only.
fn is_general(pattern: &Term) -> bool {
    match pattern {
        Term::Constant(_) => true,
        Term::Variable(_) => false,
        Term::Function(_, arguments) => {
            let mut seen = HashSet::new();
            let is_new = |term: &Term| matches!(term, Term::Variable(it) if seen.insert(*it));
            arguments.iter().all(is_new)
        }
    }
}
