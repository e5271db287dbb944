//! Searches one derivation of an atom in a state: top-down and depth first, by SLD resolution.
//!
//! Bottom-up evaluation derives all facts of a relation before it gives one. This search stops at
//! the first solution and evaluates only what leads there. It uses the rules alone, so that it also
//! answers where a component is beyond the limits of an evaluation.
//!
//! A condition is chosen when its rule is entered further: what is fully bound first, then what has
//! the fewest matches to expect. A ground atom is decided once, by a search of its own, and
//! remembered. A negated atom holds not if that search fails. An atom that equals one of its
//! callers is not searched again, since a shortest derivation needs no atom for itself.
//!
//! The search may end without a verdict: beyond its steps or depth, where a call with free
//! variables calls itself, in a recursion through negation, and for rules that only a call makes
//! safe. Such a branch counts as failed for a positive condition, and as undecided for a negated
//! one. So what is found holds, and what is not found may hold.

use std::collections::HashMap;
use std::sync::Arc;

use super::dependency::{DOES, TRUE};
use super::names::Names;
use super::prepare::prepare;
use super::state::State;
use super::store::Store;
use panza_gdl::{Literal, Rule, Signature, Symbol, Term, TermId, TermTable};

/// Steps after which a search ends without a verdict.
pub const STEPS: u64 = 20_000;
/// Calls within each other.
const DEPTH: u32 = 400;
/// Searches of ground atoms within each other, each of which takes some stack.
const NESTED: u32 = 100;
/// Assumed matches of a derived relation with some arguments bound, and with none.
const SOME_BOUND: usize = 50;
const NONE_BOUND: usize = 1000;
/// Cost of a condition that can only be chosen when nothing else is left.
const LAST: usize = usize::MAX;

/// What a search has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Holds,
    HoldsNot,
    Unknown,
}

/// A term of a rule.
#[derive(Debug)]
enum Pattern {
    Variable(u32),
    Known(TermId),
    Function(Symbol, Box<[Pattern]>),
}

#[derive(Debug)]
enum Condition {
    Atom {
        signature: Signature,
        arguments: Box<[Pattern]>,
        is_wanted: bool,
    },
    Distinct(Pattern, Pattern),
}

#[derive(Debug)]
struct Clause {
    head: Box<[Pattern]>,
    body: Vec<Condition>,
    /// The positions of the body.
    all: Arc<[u32]>,
    n_variables: u32,
}

/// The clauses of a relation.
#[derive(Default, Debug)]
struct Relation {
    facts: Vec<Box<[TermId]>>,
    /// Numbers of the facts by argument and term.
    by_argument: HashMap<(u32, TermId), Arc<[u32]>>,
    all_facts: Arc<[u32]>,
    /// Clauses with conditions, the shortest first.
    clauses: Vec<u32>,
    /// Whether a rule has head variables that only a call binds.
    is_unsafe: bool,
}

/// The rules of a game, as clauses.
#[derive(Default, Debug)]
pub struct Clauses {
    clauses: Vec<Clause>,
    relations: HashMap<Signature, Relation>,
}

impl Clauses {
    /// The clauses of guarded rules, and the relations whose head variables only a call binds.
    pub fn new(
        rules: &[Rule],
        called: impl IntoIterator<Item = Signature>,
        names: &mut Names,
        terms: &mut TermTable,
    ) -> Self {
        let mut own = Self::default();
        for signature in called {
            own.relations.entry(signature).or_default().is_unsafe = true;
        }
        for rule in prepare(rules, names) {
            let relation = own.relations.entry(rule.head.signature()).or_default();
            let head = rule.head.arguments.iter();
            let head: Box<[Pattern]> = head.map(|term| pattern(term, terms)).collect();
            let known = head.iter().map(|pattern| match pattern {
                Pattern::Known(term) => Some(*term),
                _ => None,
            });
            let known: Option<Box<[TermId]>> = known.collect();
            if let (true, Some(fact)) = (rule.body.is_empty(), known) {
                relation.facts.push(fact);
                continue;
            }
            let body = rule.body.iter().map(|literal| condition(literal, terms));
            let body: Vec<Condition> = body.collect();
            relation.clauses.push(own.clauses.len() as u32);
            own.clauses.push(Clause {
                head,
                all: (0..body.len() as u32).collect(),
                body,
                n_variables: rule.variables.len() as u32,
            });
        }
        let clauses = &own.clauses;
        for relation in own.relations.values_mut() {
            let length = |clause: &u32| clauses[*clause as usize].body.len();
            relation.clauses.sort_by_key(length);
            relation.index();
        }
        own
    }

    /// The unconditional move of a role, if the rules have one.
    pub fn fact(&self, signature: Signature, first: TermId) -> Option<TermId> {
        let facts = &self.relations.get(&signature)?.facts;
        let fact = facts.iter().find(|fact| fact.first() == Some(&first));
        fact.and_then(|fact| fact.get(1).copied())
    }
}

impl Relation {
    fn index(&mut self) {
        let mut lists: HashMap<(u32, TermId), Vec<u32>> = HashMap::new();
        for (number, fact) in self.facts.iter().enumerate() {
            for (argument, &term) in fact.iter().enumerate() {
                let list = lists.entry((argument as u32, term)).or_default();
                list.push(number as u32);
            }
        }
        let lists = lists.into_iter().map(|(key, list)| (key, list.into()));
        self.by_argument = lists.collect();
        self.all_facts = (0..self.facts.len() as u32).collect();
    }
}

fn pattern(term: &Term, terms: &mut TermTable) -> Pattern {
    match term {
        Term::Variable(variable) => Pattern::Variable(*variable),
        _ if term.is_ground() => match terms.intern_term(term) {
            Some(known) => Pattern::Known(known),
            None => unreachable!("a ground term has a number"),
        },
        Term::Constant(name) => Pattern::Known(terms.intern(*name, &[])),
        Term::Function(name, arguments) => {
            let arguments = arguments.iter().map(|term| pattern(term, terms));
            Pattern::Function(*name, arguments.collect())
        }
    }
}

fn condition(literal: &Literal, terms: &mut TermTable) -> Condition {
    let (atom, is_wanted) = match literal {
        Literal::Positive(atom) => (atom, true),
        Literal::Negative(atom) => (atom, false),
        Literal::Distinct(left, right, _) => {
            return Condition::Distinct(pattern(left, terms), pattern(right, terms));
        }
    };
    let arguments = atom.arguments.iter().map(|term| pattern(term, terms));
    Condition::Atom {
        signature: atom.signature(),
        arguments: arguments.collect(),
        is_wanted,
    }
}

/// A term of the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Value {
    Free(u32),
    Known(TermId),
    Function(u32),
}

#[derive(Clone, Copy, Debug)]
struct Function {
    name: Symbol,
    start: u32,
    arity: u32,
}

/// An atom that is searched for, and what called it.
#[derive(Clone, Copy, Debug)]
struct Call {
    signature: Signature,
    start: u32,
    caller: Option<u32>,
    depth: u32,
    /// Negations between it and the question.
    negations: u32,
}

/// Conditions of a clause that are still to be met, and what follows them.
#[derive(Clone, Debug)]
struct Goal {
    clause: u32,
    base: u32,
    remaining: Arc<[u32]>,
    call: u32,
    next: Option<u32>,
}

/// The lengths of the stacks.
#[derive(Clone, Copy, Default, Debug)]
struct Mark {
    trail: usize,
    cells: usize,
    functions: usize,
    values: usize,
    calls: usize,
    goals: usize,
}

/// A call of which some matches are still to be tried.
#[derive(Clone, Debug)]
struct Choice {
    mark: Mark,
    call: u32,
    facts: Arc<[u32]>,
    position: usize,
    next: Option<u32>,
}

/// The next step of a search.
enum Step {
    To(Option<u32>),
    Try(Choice),
    Failed,
    /// Failed as far as the search goes.
    Undecided,
}

/// What is known about one state.
#[derive(Default)]
pub struct Derivation {
    state: Option<State>,
    /// The facts of the state, by name and number of arguments.
    by_name: HashMap<Signature, Arc<[u32]>>,
    decided: HashMap<(Signature, Box<[TermId]>), bool>,
    cells: Vec<Option<Value>>,
    trail: Vec<u32>,
    functions: Vec<Function>,
    values: Vec<Value>,
    calls: Vec<Call>,
    goals: Vec<Goal>,
    steps_left: u64,
    nested: u32,
    /// The least depth of a caller that a call was not searched again for.
    least_caller: u32,
}

/// A search with the rules and terms it works on.
pub struct Prove<'a> {
    pub clauses: &'a Clauses,
    pub store: &'a mut Store,
    pub search: &'a mut Derivation,
}

impl Derivation {
    /// Makes `state` the subject.
    fn stand_on(&mut self, state: &State, terms: &TermTable) {
        self.rewind(Mark::default());
        self.nested = 0;
        if self.state.as_ref() == Some(state) {
            return;
        }
        self.decided.clear();
        let mut by_name: HashMap<Signature, Vec<u32>> = HashMap::new();
        for &fact in state.facts() {
            let signature = (terms.name(fact), terms.arguments(fact).len());
            by_name.entry(signature).or_default().push(fact.0);
        }
        let lists = by_name.into_iter().map(|(name, list)| (name, list.into()));
        self.by_name = lists.collect();
        self.state = Some(state.clone());
    }

    fn mark(&self) -> Mark {
        Mark {
            trail: self.trail.len(),
            cells: self.cells.len(),
            functions: self.functions.len(),
            values: self.values.len(),
            calls: self.calls.len(),
            goals: self.goals.len(),
        }
    }

    fn rewind(&mut self, mark: Mark) {
        for cell in self.trail.drain(mark.trail..) {
            self.cells[cell as usize] = None;
        }
        self.cells.truncate(mark.cells);
        self.functions.truncate(mark.functions);
        self.values.truncate(mark.values);
        self.calls.truncate(mark.calls);
        self.goals.truncate(mark.goals);
    }

    fn resolve(&self, mut value: Value) -> Value {
        while let Value::Free(cell) = value {
            match self.cells[cell as usize] {
                Some(bound) => value = bound,
                None => break,
            }
        }
        value
    }

    fn arguments(&self, function: u32) -> (Symbol, std::ops::Range<usize>) {
        let Function { name, start, arity } = self.functions[function as usize];
        (name, start as usize..(start + arity) as usize)
    }

    fn arguments_of(&self, call: Call) -> std::ops::Range<usize> {
        call.start as usize..call.start as usize + call.signature.1
    }

    /// The number of a term without free variables. `Err` for a free variable; `Ok(None)` for a
    /// term that no fact has.
    fn known(&self, value: Value, terms: &TermTable) -> Result<Option<TermId>, ()> {
        match self.resolve(value) {
            Value::Known(term) => Ok(Some(term)),
            Value::Free(_) => Err(()),
            Value::Function(function) => {
                let (name, range) = self.arguments(function);
                let arguments = self.all_known(range, terms)?;
                Ok(arguments.and_then(|arguments| terms.find(name, &arguments)))
            }
        }
    }

    fn all_known(
        &self,
        values: std::ops::Range<usize>,
        terms: &TermTable,
    ) -> Result<Option<Vec<TermId>>, ()> {
        let mut found = Some(Vec::with_capacity(values.len()));
        for index in values {
            match (self.known(self.values[index], terms)?, &mut found) {
                (Some(term), Some(found)) => found.push(term),
                _ => found = None,
            }
        }
        Ok(found)
    }

    /// The term of a pattern whose variables begin at `base`.
    fn build(&mut self, pattern: &Pattern, base: u32) -> Value {
        match pattern {
            Pattern::Variable(variable) => self.resolve(Value::Free(base + variable)),
            Pattern::Known(term) => Value::Known(*term),
            Pattern::Function(name, arguments) => {
                let built = arguments.iter().map(|pattern| self.build(pattern, base));
                let built: Vec<Value> = built.collect();
                let start = self.values.len() as u32;
                self.values.extend(built);
                self.functions.push(Function {
                    name: *name,
                    start,
                    arity: arguments.len() as u32,
                });
                Value::Function(self.functions.len() as u32 - 1)
            }
        }
    }

    fn bind(&mut self, cell: u32, value: Value) -> bool {
        if self.occurs(cell, value) {
            return false;
        }
        self.cells[cell as usize] = Some(value);
        self.trail.push(cell);
        true
    }

    fn occurs(&self, cell: u32, value: Value) -> bool {
        match self.resolve(value) {
            Value::Free(other) => other == cell,
            Value::Known(_) => false,
            Value::Function(function) => {
                let (_, mut range) = self.arguments(function);
                range.any(|index| self.occurs(cell, self.values[index]))
            }
        }
    }

    /// Makes two terms equal, if they can be.
    fn unify(&mut self, left: Value, right: Value, terms: &TermTable) -> bool {
        match (self.resolve(left), self.resolve(right)) {
            (left, right) if left == right => true,
            (Value::Free(cell), value) | (value, Value::Free(cell)) => self.bind(cell, value),
            (Value::Known(_), Value::Known(_)) => false,
            (Value::Function(function), Value::Known(term))
            | (Value::Known(term), Value::Function(function)) => {
                let (name, range) = self.arguments(function);
                let inner = terms.arguments(term);
                terms.name(term) == name
                    && inner.len() == range.len()
                    && range.zip(inner).all(|(index, &term)| {
                        self.unify(self.values[index], Value::Known(term), terms)
                    })
            }
            (Value::Function(left), Value::Function(right)) => {
                let ((name, range), (other, others)) =
                    (self.arguments(left), self.arguments(right));
                name == other
                    && range.len() == others.len()
                    && range.zip(others).all(|(left, right)| {
                        self.unify(self.values[left], self.values[right], terms)
                    })
            }
        }
    }

    /// Whether two terms are the same up to the names of free variables; `renamed` are the pairs
    /// of these so far.
    fn is_variant(
        &self,
        left: Value,
        right: Value,
        renamed: &mut Vec<(u32, u32)>,
        terms: &TermTable,
    ) -> bool {
        match (self.resolve(left), self.resolve(right)) {
            (Value::Free(left), Value::Free(right)) => {
                let known = renamed.iter().find(|(a, b)| *a == left || *b == right);
                match known {
                    Some(pair) => *pair == (left, right),
                    None => {
                        renamed.push((left, right));
                        true
                    }
                }
            }
            (Value::Function(left), Value::Function(right)) => {
                let ((name, range), (other, others)) =
                    (self.arguments(left), self.arguments(right));
                name == other
                    && range.len() == others.len()
                    && range.zip(others).all(|(left, right)| {
                        self.is_variant(self.values[left], self.values[right], renamed, terms)
                    })
            }
            (left @ Value::Function(_), Value::Known(term))
            | (Value::Known(term), left @ Value::Function(_)) => {
                self.known(left, terms) == Ok(Some(term))
            }
            (left, right) => left == right,
        }
    }
}

impl Prove<'_> {
    /// Whether an atom holds in a state, within `steps`.
    pub fn holds(
        &mut self,
        state: &State,
        signature: Signature,
        arguments: &[TermId],
        steps: u64,
    ) -> Verdict {
        self.search.stand_on(state, &self.store.terms);
        self.search.steps_left = steps;
        let values = arguments.iter().map(|&term| Value::Known(term));
        let call = self.call(signature, values.collect(), None, 0);
        self.decide(call)
    }

    /// A term with which `signature` holds in a state behind `first`. Each clause may take `steps`.
    pub fn first(
        &mut self,
        state: &State,
        signature: Signature,
        first: TermId,
        steps: u64,
    ) -> Option<TermId> {
        let clauses = self.clauses.relations.get(&signature)?.clauses.clone();
        for clause in clauses {
            self.search.stand_on(state, &self.store.terms);
            self.search.steps_left = steps;
            self.search.cells.push(None);
            let call = self.call(
                signature,
                vec![Value::Known(first), Value::Free(0)],
                None,
                0,
            );
            let Some(next) = self.enter(clause, call, None) else {
                continue;
            };
            if self.run(Step::To(next)) == Verdict::Holds
                && let Some(term) = self.intern(Value::Free(0))
            {
                return Some(term);
            }
        }
        None
    }

    fn intern(&mut self, value: Value) -> Option<TermId> {
        match self.search.resolve(value) {
            Value::Known(term) => Some(term),
            Value::Free(_) => None,
            Value::Function(function) => {
                let (name, range) = self.search.arguments(function);
                let arguments = range.map(|index| self.intern(self.search.values[index]));
                let arguments: Option<Vec<TermId>> = arguments.collect();
                self.store.intern_within(name, &arguments?)
            }
        }
    }

    fn call(
        &mut self,
        signature: Signature,
        arguments: Vec<Value>,
        caller: Option<u32>,
        negations: u32,
    ) -> u32 {
        let search = &mut *self.search;
        let start = search.values.len() as u32;
        search.values.extend(arguments);
        let depth = caller.map_or(0, |caller| search.calls[caller as usize].depth + 1);
        search.calls.push(Call {
            signature,
            start,
            caller,
            depth,
            negations,
        });
        search.calls.len() as u32 - 1
    }

    /// Decides a ground atom.
    fn decide(&mut self, number: u32) -> Verdict {
        let call = self.search.calls[number as usize];
        let range = self.search.arguments_of(call);
        let known = self.search.all_known(range, &self.store.terms);
        let known = known.unwrap_or_default().map(Vec::into_boxed_slice);
        let key = known.map(|arguments| (call.signature, arguments));
        if let Some(key) = &key
            && let Some(&holds) = self.search.decided.get(key)
        {
            return match holds {
                true => Verdict::Holds,
                false => Verdict::HoldsNot,
            };
        }
        if self.search.nested == NESTED {
            return Verdict::Unknown;
        }
        self.search.nested += 1;
        let least = std::mem::replace(&mut self.search.least_caller, u32::MAX);
        let mark = self.search.mark();
        let step = self.enter_call(number, None);
        let verdict = self.run(step);
        self.search.rewind(mark);
        let own_least = self.search.least_caller;
        self.search.nested -= 1;
        // What was not searched again for this atom itself is no matter outside.
        let depends_on_caller = own_least < call.depth;
        self.search.least_caller = match depends_on_caller && verdict == Verdict::HoldsNot {
            true => least.min(own_least),
            false => least,
        };
        let is_final = match verdict {
            Verdict::Holds => true,
            Verdict::HoldsNot => !depends_on_caller,
            Verdict::Unknown => false,
        };
        if let (true, Some(key)) = (is_final, key) {
            self.search.decided.insert(key, verdict == Verdict::Holds);
        }
        verdict
    }

    /// Searches depth first until nothing is left to be met.
    fn run(&mut self, first: Step) -> Verdict {
        let mut choices: Vec<Choice> = Vec::new();
        let mut is_complete = true;
        let mut step = first;
        loop {
            if self.search.steps_left == 0 || !self.store.spend(1) {
                return Verdict::Unknown;
            }
            self.search.steps_left -= 1;
            step = match step {
                Step::To(None) => return Verdict::Holds,
                Step::To(Some(goal)) => self.meet(goal),
                Step::Try(choice) => {
                    choices.push(choice);
                    Step::Failed
                }
                Step::Undecided => {
                    is_complete = false;
                    Step::Failed
                }
                Step::Failed => match choices.last_mut() {
                    None if is_complete => return Verdict::HoldsNot,
                    None => return Verdict::Unknown,
                    Some(choice) => {
                        let mark = choice.mark;
                        self.search.rewind(mark);
                        match self.try_next(choice) {
                            Some(next) => next,
                            None => {
                                choices.pop();
                                Step::Failed
                            }
                        }
                    }
                },
            };
        }
    }

    /// The next match of a call; `None` after the last.
    fn try_next(&mut self, choice: &mut Choice) -> Option<Step> {
        let call = self.search.calls[choice.call as usize];
        let start = call.start as usize;
        let position = choice.position;
        let clauses = self.clauses;
        choice.position += 1;
        if let Some(&fact) = choice.facts.get(position) {
            let own;
            let fact = match call.signature {
                TRUE => {
                    own = [TermId(fact)];
                    &own[..]
                }
                signature => &clauses.relations.get(&signature)?.facts[fact as usize],
            };
            let is_match = fact.iter().enumerate().all(|(argument, &term)| {
                let value = self.search.values[start + argument];
                self.search
                    .unify(value, Value::Known(term), &self.store.terms)
            });
            return Some(match is_match {
                true => Step::To(choice.next),
                false => Step::Failed,
            });
        }
        let relation = clauses.relations.get(&call.signature)?;
        let clause = relation.clauses.get(position - choice.facts.len())?;
        let entered = self.enter(*clause, choice.call, choice.next);
        Some(entered.map_or(Step::Failed, Step::To))
    }

    /// Enters a clause for a call whose arguments its head matches.
    fn enter(&mut self, number: u32, call: u32, next: Option<u32>) -> Option<Option<u32>> {
        let clauses = self.clauses;
        let clause = &clauses.clauses[number as usize];
        let search = &mut *self.search;
        let base = search.cells.len() as u32;
        search
            .cells
            .resize((base + clause.n_variables) as usize, None);
        let start = search.calls[call as usize].start as usize;
        for (argument, pattern) in clause.head.iter().enumerate() {
            let head = search.build(pattern, base);
            if !search.unify(search.values[start + argument], head, &self.store.terms) {
                return None;
            }
        }
        if clause.all.is_empty() {
            return Some(next);
        }
        search.goals.push(Goal {
            clause: number,
            base,
            remaining: Arc::clone(&clause.all),
            call,
            next,
        });
        Some(Some(search.goals.len() as u32 - 1))
    }

    /// Meets the cheapest condition of a goal.
    fn meet(&mut self, number: u32) -> Step {
        let goal = self.search.goals[number as usize].clone();
        let clauses = self.clauses;
        let clause = &clauses.clauses[goal.clause as usize];
        let costs = goal.remaining.iter().enumerate().map(|(place, &position)| {
            let cost = self.cost(&clause.body[position as usize], goal.base);
            (cost, place)
        });
        let Some((cost, place)) = costs.min() else {
            return Step::To(goal.next);
        };
        let chosen = goal.remaining[place];
        let rest: Arc<[u32]> = (goal.remaining.iter().copied())
            .filter(|&position| position != chosen)
            .collect();
        let next = match rest.is_empty() {
            true => goal.next,
            false => {
                self.search.goals.push(Goal {
                    remaining: rest,
                    ..goal.clone()
                });
                Some(self.search.goals.len() as u32 - 1)
            }
        };
        if cost == LAST {
            return Step::Undecided;
        }
        match &clause.body[chosen as usize] {
            Condition::Distinct(left, right) => {
                let left = self.search.build(left, goal.base);
                let right = self.search.build(right, goal.base);
                let is_same =
                    (self.search).is_variant(left, right, &mut Vec::new(), &self.store.terms);
                match is_same {
                    true => Step::Failed,
                    false => Step::To(next),
                }
            }
            Condition::Atom {
                signature,
                arguments,
                is_wanted,
            } => {
                let built = arguments.iter();
                let built = built.map(|pattern| self.search.build(pattern, goal.base));
                let built: Vec<Value> = built.collect();
                let negations = self.search.calls[goal.call as usize].negations;
                let negations = negations + u32::from(!is_wanted);
                let call = self.call(*signature, built, Some(goal.call), negations);
                if *is_wanted && cost > 2 {
                    let own = self.search.calls[call as usize];
                    return match self.equal_caller(own) {
                        Some(_) => Step::Undecided,
                        None => self.enter_call(call, next),
                    };
                }
                match (self.verdict(call), is_wanted) {
                    (Verdict::Holds, true) | (Verdict::HoldsNot, false) => Step::To(next),
                    (Verdict::Unknown, _) => Step::Undecided,
                    _ => Step::Failed,
                }
            }
        }
    }

    /// What meeting a condition costs: 0 to 2 where all is bound, then the matches to expect.
    fn cost(&mut self, condition: &Condition, base: u32) -> usize {
        let mut n_bound = 0;
        let (signature, arguments, is_wanted) = match condition {
            Condition::Distinct(left, right) => {
                let is_bound = self.is_bound(left, base) && self.is_bound(right, base);
                return if is_bound { 0 } else { LAST };
            }
            Condition::Atom {
                signature,
                arguments,
                is_wanted,
            } => (*signature, arguments, *is_wanted),
        };
        for pattern in arguments {
            n_bound += usize::from(self.is_bound(pattern, base));
        }
        let clauses = self.clauses;
        let relation = clauses.relations.get(&signature);
        if n_bound == arguments.len() {
            let is_derived = relation.is_some_and(|relation| !relation.clauses.is_empty());
            return match is_derived {
                false => 0,
                true => 1 + usize::from(!is_wanted),
            };
        }
        if !is_wanted {
            return LAST;
        }
        if signature == TRUE {
            return 3 + self
                .facts_like(&arguments[0], base)
                .map_or(0, |facts| facts.len());
        }
        let Some(relation) = relation else {
            return 3;
        };
        let derived = match (relation.clauses.is_empty(), n_bound) {
            (true, _) => 0,
            (false, 0) => NONE_BOUND,
            (false, _) => SOME_BOUND,
        };
        3 + derived + relation.facts.len() / (1 + 3 * n_bound)
    }

    /// The facts of the state that a term may match, by its name.
    fn facts_like(&mut self, pattern: &Pattern, base: u32) -> Option<Arc<[u32]>> {
        let signature = match pattern {
            Pattern::Function(name, arguments) => (*name, arguments.len()),
            Pattern::Known(term) => self.signature_of(*term),
            Pattern::Variable(variable) => {
                let value = self.search.resolve(Value::Free(base + variable));
                return self.facts_of(value);
            }
        };
        self.search.by_name.get(&signature).cloned()
    }

    fn signature_of(&self, term: TermId) -> Signature {
        let terms = &self.store.terms;
        (terms.name(term), terms.arguments(term).len())
    }

    fn facts_of(&self, value: Value) -> Option<Arc<[u32]>> {
        let signature = match self.search.resolve(value) {
            Value::Known(term) => self.signature_of(term),
            Value::Function(function) => {
                let (name, range) = self.search.arguments(function);
                (name, range.len())
            }
            Value::Free(_) => {
                let state = self.search.state.as_ref()?;
                return Some(state.facts().iter().map(|fact| fact.0).collect());
            }
        };
        self.search.by_name.get(&signature).cloned()
    }

    fn is_bound(&self, pattern: &Pattern, base: u32) -> bool {
        match pattern {
            Pattern::Known(_) => true,
            Pattern::Variable(variable) => self.is_value_bound(Value::Free(base + variable)),
            Pattern::Function(_, arguments) => {
                arguments.iter().all(|pattern| self.is_bound(pattern, base))
            }
        }
    }

    fn is_value_bound(&self, value: Value) -> bool {
        match self.search.resolve(value) {
            Value::Known(_) => true,
            Value::Free(_) => false,
            Value::Function(function) => {
                let (_, mut range) = self.search.arguments(function);
                range.all(|index| self.is_value_bound(self.search.values[index]))
            }
        }
    }

    /// Decides a ground atom, unless it is one of its callers.
    fn verdict(&mut self, number: u32) -> Verdict {
        let call = self.search.calls[number as usize];
        match call.signature {
            TRUE => {
                let value = self.search.values[call.start as usize];
                let known = self.search.known(value, &self.store.terms);
                let known = known.unwrap_or_default();
                let state = self.search.state.as_ref();
                let holds = known
                    .zip(state)
                    .is_some_and(|(term, state)| state.facts().binary_search(&term).is_ok());
                return match holds {
                    true => Verdict::Holds,
                    false => Verdict::HoldsNot,
                };
            }
            // Nothing is done where a state is asked about.
            DOES => return Verdict::HoldsNot,
            _ => {}
        }
        match self.equal_caller(call) {
            Some(caller) if caller.negations == call.negations => {
                self.search.least_caller = self.search.least_caller.min(caller.depth);
                Verdict::HoldsNot
            }
            Some(_) => Verdict::Unknown,
            None => self.decide(number),
        }
    }

    /// The matches of a call.
    fn enter_call(&mut self, number: u32, next: Option<u32>) -> Step {
        let call = self.search.calls[number as usize];
        let range = self.search.arguments_of(call);
        let facts = match call.signature {
            DOES => return Step::Failed,
            TRUE => match self.facts_of(self.search.values[call.start as usize]) {
                Some(facts) => facts,
                None => return Step::Failed,
            },
            signature => {
                let clauses = self.clauses;
                let Some(relation) = clauses.relations.get(&signature) else {
                    return Step::Failed;
                };
                if relation.is_unsafe || call.depth > DEPTH {
                    return Step::Undecided;
                }
                let mut facts = &relation.all_facts;
                let none: Arc<[u32]> = Arc::default();
                for (argument, index) in range.enumerate() {
                    let value = self.search.values[index];
                    if let Ok(Some(term)) = self.search.known(value, &self.store.terms) {
                        let list = relation.by_argument.get(&(argument as u32, term));
                        let list = list.unwrap_or(&none);
                        if list.len() < facts.len() {
                            facts = list;
                        }
                    }
                }
                Arc::clone(facts)
            }
        };
        Step::Try(Choice {
            mark: self.search.mark(),
            call: number,
            facts,
            position: 0,
            next,
        })
    }

    /// The nearest caller with the same atom.
    fn equal_caller(&self, call: Call) -> Option<Call> {
        let mut caller = call.caller;
        while let Some(number) = caller {
            let other = self.search.calls[number as usize];
            let pairs = self
                .search
                .arguments_of(call)
                .zip(self.search.arguments_of(other));
            let mut renamed = Vec::new();
            if other.signature == call.signature
                && pairs.into_iter().all(|(left, right)| {
                    let (left, right) = (self.search.values[left], self.search.values[right]);
                    (self.search).is_variant(left, right, &mut renamed, &self.store.terms)
                })
            {
                return Some(other);
            }
            caller = other.caller;
        }
        None
    }
}
