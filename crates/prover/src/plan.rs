//! Plans: a rule's body as a sequence of steps.
//!
//! The order of literals is greedy: checks as soon as their variables are bound, then the literal
//! with the fewest expected matches. A variable is a register. A function term that a later step
//! needs as a whole has its own register, so that frame rules build no terms.

use super::dependency::{ComponentId, Dependencies, RelationId, Stage};
use super::estimate::Estimates;
use super::functions::Build;
use super::index::{BucketId, Pattern};
use super::store::{IndexId, Store};
use panza_gdl::{Atom, Literal, Rule, Term, TermId};

#[derive(Clone, Debug)]
pub enum Lookup {
    Bucket(BucketId),
    Keys(Box<[Build]>),
}

#[derive(Clone, Debug)]
pub struct Scan {
    pub relation: RelationId,
    pub index: IndexId,
    pub place: Lookup,
    pub outputs: Box<[u32]>,
    /// One success is enough, since the head is bound already.
    pub is_existential: bool,
}

#[derive(Clone, Debug)]
pub struct Check {
    pub relation: RelationId,
    pub arguments: Box<[Build]>,
}

#[derive(Clone, Debug)]
pub enum Op {
    Scan(Scan),
    Distinct(Build, Build),
    Holds(Check),
    HoldsNot(Check),
    /// Goes on if the atom was not in the reference: negation within a recursive component.
    NotInReference(Check),
    /// Goes on if the head does not hold yet; otherwise the plan has succeeded.
    Unless(Check),
    Derive(Check),
}

#[derive(Clone, Debug)]
pub struct QueryPlan {
    /// The steps; the last one derives.
    pub ops: Vec<Op>,
    pub n_registers: usize,
}

struct Scope {
    is_bound: Vec<bool>,
    /// Function terms that a register holds as a whole.
    captured: Vec<(Term, u32)>,
    n_registers: u32,
}

impl Scope {
    fn captured(&self, term: &Term) -> Option<u32> {
        let found = self.captured.iter().find(|(known, _)| known == term);
        found.map(|(_, register)| *register)
    }

    fn is_bound(&self, term: &Term) -> bool {
        match term {
            Term::Variable(variable) => self.is_bound[*variable as usize],
            Term::Constant(_) => true,
            Term::Function(_, arguments) => {
                self.captured(term).is_some() || arguments.iter().all(|term| self.is_bound(term))
            }
        }
    }

    fn are_bound<'a>(&self, mut terms: impl Iterator<Item = &'a Term>) -> bool {
        terms.all(|term| self.is_bound(term))
    }
}

#[derive(Default)]
struct Matching {
    patterns: Vec<Pattern>,
    keys: Vec<Build>,
    outputs: Vec<u32>,
    captures: Vec<(Term, u32)>,
    n_registers: u32,
}

pub struct Planner<'a> {
    pub store: &'a mut Store,
    pub dependencies: &'a Dependencies,
    pub estimates: &'a mut Estimates,
    pub component: ComponentId,
}

impl Planner<'_> {
    /// The plan of a rule; nothing when the rule can never derive anything. The literal `first`, if
    /// given, comes first.
    pub fn plan(&mut self, rule: &Rule, first: Option<usize>) -> Option<QueryPlan> {
        let mut scope = Scope {
            is_bound: vec![false; rule.variables.len()],
            captured: Vec::new(),
            n_registers: rule.variables.len() as u32,
        };
        let head_relation = self.dependencies.find(rule.head.signature())?;
        let mut remaining: Vec<&Literal> = rule.body.iter().collect();
        let mut ops = Vec::new();
        let mut is_guarded = false;
        if let Some(first) = first {
            let literal = remaining.remove(first);
            let scan = self.scan(literal.atom()?, &rule.head, &remaining, &mut scope, false)?;
            ops.push(Op::Scan(scan));
        }
        loop {
            self.checks(&mut remaining, &mut scope, &mut ops)?;
            let is_settled = scope.are_bound(rule.head.arguments.iter());
            if remaining.is_empty() {
                if !is_settled {
                    return None;
                }
                let head = self.check(&rule.head, head_relation, &scope);
                ops.push(Op::Derive(head));
                return Some(QueryPlan {
                    ops,
                    n_registers: scope.n_registers as usize,
                });
            }
            if is_settled && !is_guarded {
                is_guarded = true;
                let head = self.check(&rule.head, head_relation, &scope);
                ops.push(Op::Unless(head));
            }
            let next = self.cheapest(&rule.head, &remaining, &scope)?;
            let literal = remaining.remove(next);
            let atom = literal.atom()?;
            let scan = self.scan(atom, &rule.head, &remaining, &mut scope, is_settled)?;
            ops.push(Op::Scan(scan));
        }
    }

    /// Adds the literals that are fully bound, the cheapest kind first; nothing when one can never
    /// be met.
    fn checks(
        &mut self,
        remaining: &mut Vec<&Literal>,
        scope: &mut Scope,
        ops: &mut Vec<Op>,
    ) -> Option<()> {
        let (mut bound, unbound): (Vec<&Literal>, Vec<&Literal>) =
            (remaining.iter()).partition(|literal| scope.are_bound(literal.terms()));
        *remaining = unbound;
        bound.sort_by_key(|literal| match literal {
            Literal::Distinct(..) => 0,
            Literal::Positive(atom) | Literal::Negative(atom) => 1 + atom.arguments.len(),
        });
        for literal in bound {
            let (atom, is_wanted) = match literal {
                Literal::Distinct(left, right, _) => {
                    let (left, right) = (self.build(left, scope), self.build(right, scope));
                    ops.push(Op::Distinct(left, right));
                    continue;
                }
                Literal::Positive(atom) => (atom, true),
                Literal::Negative(atom) => (atom, false),
            };
            let relation = self.dependencies.find(atom.signature())?;
            let component = self.dependencies.component_of[relation];
            let check = self.check(atom, relation, scope);
            let is_settled = self.dependencies.components[component].stage == Stage::Static
                && component != self.component
                && atom.is_ground();
            if is_settled {
                let facts = &self.store.relations[relation];
                let holds = |arguments: &[TermId]| Some(facts.holds_with(arguments));
                let holds = self.store.find_all(&check.arguments, &[], holds);
                if holds.unwrap_or(false) != is_wanted {
                    return None;
                }
                continue;
            }
            ops.push(match (is_wanted, component == self.component) {
                (true, _) => Op::Holds(check),
                (false, false) => Op::HoldsNot(check),
                (false, true) => Op::NotInReference(check),
            });
        }
        Some(())
    }

    /// The position of the positive literal with the fewest matches to expect. Nothing when none is
    /// left, which means that the rule is unsafe.
    fn cheapest(&mut self, head: &Atom, remaining: &[&Literal], scope: &Scope) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        for (position, literal) in remaining.iter().enumerate() {
            let Literal::Positive(atom) = literal else {
                continue;
            };
            let others = [&remaining[..position], &remaining[position + 1..]].concat();
            let relation = self.dependencies.find(atom.signature())?;
            let matching = self.matching(atom, head, &others, scope);
            let known = matching.keys.iter().map(known_term).collect();
            let expected = self.estimates.expected(
                self.dependencies.relations[relation],
                &self.store.relations[relation],
                &self.store.terms,
                matching.patterns,
                known,
            );
            if best.is_none_or(|(least, _)| expected < least) {
                best = Some((expected, position));
            }
        }
        best.map(|(_, position)| position)
    }

    fn scan(
        &mut self,
        atom: &Atom,
        head: &Atom,
        others: &[&Literal],
        scope: &mut Scope,
        is_existential: bool,
    ) -> Option<Scan> {
        let relation = self.dependencies.find(atom.signature())?;
        let matching = self.matching(atom, head, others, scope);
        let index = self.store.index(relation, matching.patterns);
        let known: Option<Vec<TermId>> = matching.keys.iter().map(known_term).collect();
        let place = match known {
            Some(keys) => Lookup::Bucket(self.store.indexes[index].bucket(&keys)),
            None => Lookup::Keys(matching.keys.into()),
        };
        atom.for_each_variable(&mut |variable| scope.is_bound[variable as usize] = true);
        scope.captured.extend(matching.captures);
        scope.n_registers = matching.n_registers;
        Some(Scan {
            relation,
            index,
            place,
            outputs: matching.outputs.into(),
            is_existential,
        })
    }

    /// The match of an atom; `others` are the literals that come later.
    fn matching(
        &mut self,
        atom: &Atom,
        head: &Atom,
        others: &[&Literal],
        scope: &Scope,
    ) -> Matching {
        // The function terms of the atom, and which of them and of its variables are needed later.
        let mut needs = Needs {
            functions: Vec::new(),
            n_uses: vec![0; scope.is_bound.len()],
        };
        for term in &atom.arguments {
            functions_in(term, &mut needs.functions);
        }
        let later = others.iter().flat_map(|literal| literal.terms());
        for term in head.arguments.iter().chain(later) {
            needs.visit(term, scope);
        }
        // A variable that occurs twice in the atom itself is needed to compare the places.
        let mut n_inside = vec![0; scope.is_bound.len()];
        atom.for_each_variable(&mut |variable| n_inside[variable as usize] += 1);
        for (uses, inside) in needs.n_uses.iter_mut().zip(n_inside) {
            *uses += usize::from(inside > 1);
        }
        let mut matching = Matching {
            n_registers: scope.n_registers,
            ..Matching::default()
        };
        for term in &atom.arguments {
            let pattern = self.pattern(term, scope, &needs, &mut matching);
            matching.patterns.push(pattern);
        }
        matching
    }

    fn pattern(
        &mut self,
        term: &Term,
        scope: &Scope,
        needs: &Needs<'_>,
        matching: &mut Matching,
    ) -> Pattern {
        match term {
            Term::Variable(variable) if scope.is_bound[*variable as usize] => {
                matching.keys.push(Build::Register(*variable));
                Pattern::Key
            }
            Term::Variable(variable) => {
                let known = matching.outputs.iter().position(|out| out == variable);
                if let Some(output) = known {
                    return Pattern::SameAs(output);
                }
                if needs.n_uses[*variable as usize] == 0 {
                    return Pattern::Ignored;
                }
                matching.outputs.push(*variable);
                Pattern::Output
            }
            Term::Constant(name) => {
                let known = self.store.terms.intern(*name, &[]);
                matching.keys.push(Build::Known(known));
                Pattern::Key
            }
            Term::Function(name, arguments) => {
                if let Some(known) = self.whole(term, scope) {
                    matching.keys.push(known);
                    return Pattern::Key;
                }
                let is_new = !matching.captures.iter().any(|(known, _)| known == term);
                let is_output = is_new && needs.is_needed(term);
                if is_output {
                    matching.outputs.push(matching.n_registers);
                    matching.captures.push((term.clone(), matching.n_registers));
                    matching.n_registers += 1;
                }
                let arguments = arguments
                    .iter()
                    .map(|argument| self.pattern(argument, scope, needs, matching))
                    .collect();
                Pattern::Function {
                    name: *name,
                    arguments,
                    is_output,
                }
            }
        }
    }

    fn check(&mut self, atom: &Atom, relation: RelationId, scope: &Scope) -> Check {
        let arguments = atom.arguments.iter();
        let arguments = arguments.map(|term| self.build(term, scope)).collect();
        Check {
            relation,
            arguments,
        }
    }

    fn build(&mut self, term: &Term, scope: &Scope) -> Build {
        match term {
            Term::Variable(variable) => Build::Register(*variable),
            Term::Constant(name) => Build::Known(self.store.terms.intern(*name, &[])),
            Term::Function(name, arguments) => {
                if let Some(known) = self.whole(term, scope) {
                    return known;
                }
                let function = self.store.function(*name, arguments.len());
                let arguments = arguments.iter();
                let arguments = arguments.map(|argument| self.build(argument, scope));
                Build::Apply(function, arguments.collect())
            }
        }
    }

    /// A function term that is known or in a register as a whole.
    fn whole(&mut self, term: &Term, scope: &Scope) -> Option<Build> {
        if term.is_ground() {
            return self.store.terms.intern_term(term).map(Build::Known);
        }
        scope.captured(term).map(Build::Register)
    }
}

fn known_term(build: &Build) -> Option<TermId> {
    match build {
        Build::Known(term) => Some(*term),
        _ => None,
    }
}

/// Adds the function terms with variables in a term, itself included.
fn functions_in<'a>(term: &'a Term, into: &mut Vec<(&'a Term, bool)>) {
    if let Term::Function(_, arguments) = term
        && !term.is_ground()
    {
        into.push((term, false));
        arguments.iter().for_each(|term| functions_in(term, into));
    }
}

/// What later steps need of a literal's parts.
struct Needs<'a> {
    /// The function terms, and whether each is needed as a whole.
    functions: Vec<(&'a Term, bool)>,
    /// By variable.
    n_uses: Vec<usize>,
}

impl Needs<'_> {
    fn is_needed(&self, term: &Term) -> bool {
        let mut functions = self.functions.iter();
        functions.any(|&(function, is_needed)| is_needed && function == term)
    }

    fn visit(&mut self, term: &Term, scope: &Scope) {
        match term {
            Term::Variable(variable) => self.n_uses[*variable as usize] += 1,
            Term::Constant(_) => {}
            Term::Function(_, arguments) => {
                if scope.captured(term).is_some() {
                    return;
                }
                match self.functions.iter_mut().find(|(known, _)| *known == term) {
                    Some((_, is_needed)) => *is_needed = true,
                    None => arguments.iter().for_each(|term| self.visit(term, scope)),
                }
            }
        }
    }
}
