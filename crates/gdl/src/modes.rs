//! Which calls of a relation are safe: an analysis of modes.
//!
//! The rule `(<= (other ?x ?y) (distinct ?x ?y))` leaves variables of its head open, so its
//! relation has no list of instances and can only be asked about given arguments. A call with some
//! arguments bound is *safe* if every rule of the relation then binds its whole head and all its
//! conditions are safe calls themselves. Of all answers that agree with the rules the greatest is
//! meant, so that a recursion is safe where each of its steps is.
//!
//! Relations that the game asks for as a whole, such as `legal`, are always called safely: a rule
//! of theirs with an open variable derives nothing.

use std::collections::{HashMap, HashSet};

use super::components::RelationGraph;
use super::keyword::{DOES, GOAL, INIT, INPUT, LEGAL, NEXT, ROLE, TERMINAL, TRUE};
use super::rules::{Atom, Literal, Rule, Signature, Term};

/// Relations that the game asks for, or gives, as a whole.
pub const ASKED: [Signature; 8] = [
    (ROLE, 1),
    (INIT, 1),
    (TRUE, 1),
    (DOES, 2),
    (NEXT, 1),
    (LEGAL, 2),
    (GOAL, 2),
    (TERMINAL, 0),
];

/// Calls that are looked at; beyond these none counts as safe.
const MAX_CALLS: usize = 20_000;

/// What is known of the calls in some rules.
pub struct Modes<'a> {
    rules: &'a [Rule],
    /// The rules of each relation that some call may be unsafe for.
    rules_of: HashMap<Signature, Vec<usize>>,
    numbers: HashMap<(Signature, Box<[bool]>), usize>,
    calls: Vec<Call>,
    /// Calls to look at, again or for the first time.
    waiting: Vec<usize>,
}

struct Call {
    signature: Signature,
    bound: Box<[bool]>,
    /// As far as is known.
    is_safe: bool,
    /// Calls that count as safe while this one does.
    callers: Vec<usize>,
}

impl<'a> Modes<'a> {
    /// Nothing is known yet of calls in these rules.
    pub fn new(rules: &'a [Rule]) -> Self {
        let heads = rules.iter().filter(|rule| leaves_open(rule));
        let heads = heads.map(|rule| rule.head.signature());
        let open: Vec<Signature> = heads.filter(|head| !ASKED.contains(head)).collect();
        let mut rules_of = HashMap::new();
        if !open.is_empty() {
            let graph = RelationGraph::new(&[], rules.iter().enumerate());
            let affected = graph.dependents(&open).into_iter();
            let own = |signature| graph.rules_of[graph.numbers[&signature]].clone();
            rules_of.extend(affected.map(|signature| (signature, own(signature))));
        }
        Self {
            rules,
            rules_of,
            numbers: HashMap::new(),
            calls: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// The relations that can only be asked about given arguments.
    pub fn open_relations(&mut self) -> HashSet<Signature> {
        let mut open: HashSet<Signature> = self.rules_of.keys().copied().collect();
        open.retain(|&signature| !self.is_safe(signature, &mut |_| false));
        open
    }

    /// Whether a call is safe in which these of the arguments are bound.
    pub fn is_safe(
        &mut self,
        signature: Signature,
        is_bound: &mut dyn FnMut(usize) -> bool,
    ) -> bool {
        let bound: Box<[bool]> = (0..signature.1).map(is_bound).collect();
        loop {
            let is_safe = self.call(signature, bound.clone(), None);
            if self.waiting.is_empty() {
                return is_safe;
            }
            self.settle();
        }
    }

    /// The first condition of a rule for one of [`ASKED`] that is no safe call.
    pub fn unsafe_condition<'r>(&mut self, rule: &'r Rule) -> Option<&'r Literal> {
        loop {
            let (_, place) = self.follow(rule, &[], None);
            if self.waiting.is_empty() {
                return place.map(|place| &rule.body[place]);
            }
            self.settle();
        }
    }

    /// Relations with open rules behind them that no call so far has asked for.
    pub fn uncalled(&self) -> HashSet<Signature> {
        let mut uncalled: HashSet<Signature> = self.rules_of.keys().copied().collect();
        for signature in self.calls.iter().map(|call| call.signature).chain(ASKED) {
            uncalled.remove(&signature);
        }
        uncalled
    }

    /// Looks at calls until nothing changes.
    fn settle(&mut self) {
        while let Some(number) = self.waiting.pop() {
            if !self.calls[number].is_safe {
                continue;
            }
            let (signature, bound) = (self.calls[number].signature, &self.calls[number].bound);
            let bound = bound.clone();
            let own = self.rules_of[&signature].clone();
            let is_safe = own.into_iter().all(|rule| {
                let rule = &self.rules[rule];
                let (variables, unsafe_place) = self.follow(rule, &bound, Some(number));
                unsafe_place.is_none() && is_bound_by(&rule.head.arguments, &variables)
            });
            if !is_safe {
                self.calls[number].is_safe = false;
                self.waiting.append(&mut self.calls[number].callers);
            }
        }
    }

    /// Whether a call counts as safe; notes who asked.
    fn call(&mut self, signature: Signature, bound: Box<[bool]>, caller: Option<usize>) -> bool {
        if ASKED.contains(&signature) || !self.rules_of.contains_key(&signature) {
            return true;
        }
        let next = self.calls.len();
        if next > MAX_CALLS {
            return false;
        }
        let key = (signature, bound);
        let number = *self.numbers.entry(key.clone()).or_insert(next);
        if number == next {
            let (signature, bound) = key;
            self.calls.push(Call {
                signature,
                bound,
                is_safe: true,
                callers: Vec::new(),
            });
            self.waiting.push(number);
        }
        let call = &mut self.calls[number];
        if call.is_safe {
            call.callers.extend(caller);
        }
        call.is_safe
    }

    /// The variables that a rule binds when these arguments of its head are bound, and the first
    /// condition that is no safe call even so.
    fn follow(
        &mut self,
        rule: &Rule,
        head: &[bool],
        caller: Option<usize>,
    ) -> (Vec<bool>, Option<usize>) {
        let mut bound = vec![false; rule.variables.len()];
        let given = rule.head.arguments.iter().zip(head);
        for (argument, _) in given.filter(|&(_, &is_bound)| is_bound) {
            argument.for_each_variable(&mut |variable| bound[variable as usize] = true);
        }
        let bind = |bound: &mut Vec<bool>, atom: &Atom| {
            atom.for_each_variable(&mut |variable| bound[variable as usize] = true);
        };
        if let Some(role) = open_role(rule) {
            bound[role as usize] = true;
        }
        let mut waiting = Vec::new();
        for (place, literal) in rule.body.iter().enumerate() {
            match literal {
                Literal::Positive(atom) if self.rules_of.contains_key(&atom.signature()) => {
                    waiting.push((place, atom));
                }
                Literal::Positive(atom) => bind(&mut bound, atom),
                _ => {}
            }
        }
        let is_safe = |own: &mut Self, atom: &Atom, bound: &[bool]| {
            let arguments = atom.arguments.iter();
            let given = arguments.map(|term| is_bound_by(std::slice::from_ref(term), bound));
            own.call(atom.signature(), given.collect(), caller)
        };
        let mut n_before = usize::MAX;
        while waiting.len() < n_before {
            n_before = waiting.len();
            waiting.retain(|&(_, atom)| {
                let is_met = is_safe(self, atom, &bound);
                if is_met {
                    bind(&mut bound, atom);
                }
                !is_met
            });
        }
        let negated = rule.body.iter().enumerate();
        let negated = negated.filter_map(|(place, literal)| match literal {
            Literal::Negative(atom) => Some((place, atom)),
            _ => None,
        });
        let negated = negated.filter(|(_, atom)| !is_safe(self, atom, &bound));
        let unsafe_places = waiting.into_iter().chain(negated);
        let place = unsafe_places.map(|(place, _)| place).min();
        (bound, place)
    }
}

/// Whether these variables are all that some terms have.
fn is_bound_by(terms: &[Term], variables: &[bool]) -> bool {
    let mut is_bound = true;
    for term in terms {
        term.for_each_variable(&mut |variable| is_bound &= variables[variable as usize]);
    }
    is_bound
}

/// The variable in the place of the role, where a rule for `legal`, `goal` or `input` binds it by
/// no condition: every role is meant.
pub fn open_role(rule: &Rule) -> Option<u32> {
    let is_for_role = [(LEGAL, 2), (GOAL, 2), (INPUT, 2)].contains(&rule.head.signature());
    match rule.head.arguments.first() {
        Some(Term::Variable(role)) if is_for_role => {
            (!rule.bound_variables()[*role as usize]).then_some(*role)
        }
        _ => None,
    }
}

/// Whether no positive condition has some variable of the head.
fn leaves_open(rule: &Rule) -> bool {
    let mut bound = rule.bound_variables();
    if let Some(role) = open_role(rule) {
        bound[role as usize] = true;
    }
    !is_bound_by(&rule.head.arguments, &bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{read, sexpr};

    /// The open relations of some rules, sorted, and the conditions of rules for `legal` that are
    /// no safe calls.
    fn found(text: &str) -> (Vec<String>, Vec<String>) {
        let (rules, _) = read::read_rules(&sexpr::parse(text).0);
        let mut modes = Modes::new(&rules.rules);
        let open = modes.open_relations().into_iter();
        let mut open: Vec<String> = open
            .map(|(name, arity)| format!("{}/{arity}", rules.symbols.name(name)))
            .collect();
        open.sort();
        let legal = rules.rules.iter();
        let legal = legal.filter(|rule| rule.head.relation == LEGAL);
        let conditions = legal.filter_map(|rule| {
            let condition = modes.unsafe_condition(rule)?;
            Some(text[condition.span().range()].to_string())
        });
        (open, conditions.collect())
    }

    fn check(text: &str, open: &[&str], conditions: &[&str]) {
        let (found, at) = found(text);
        assert_eq!(found, open, "{text}");
        assert_eq!(at, conditions, "{text}");
    }

    #[test]
    fn a_call_is_safe_where_its_arguments_bind_what_rules_leave_open() {
        let helpers = "(<= (other ?x ?y) (distinct ?x ?y)) (<= (free ?x) (not (wall ?x))) (any ?x)
            (<= (near ?x ?y) (step ?x ?y) (free ?x)) (<= (both ?x) (any ?x) (free ?x))
            (wall 1) (step 1 2) ";
        let open = ["any/1", "both/1", "free/1", "other/2"];
        for (condition, refused) in [
            ("(step ?x ?y) (other ?x ?y)", None),
            ("(other ?x ?y) (near ?y ?x)", None),
            ("(step ?x ?y) (not (both ?x))", None),
            ("(step ?x 1) (other ?x ?y)", Some("(other ?x ?y)")),
            ("(step ?x ?y) (not (other ?x ?z))", Some("(other ?x ?z)")),
            ("(step ?x ?y) (both ?z)", Some("(both ?z)")),
        ] {
            let text = format!("{helpers} (<= (legal ?r (go ?x ?y)) {condition})");
            check(&text, &open, refused.as_slice());
        }
    }

    #[test]
    fn a_recursion_is_safe_where_each_step_is() {
        let path = "(<= (path ?x ?x)) (<= (path ?x ?z) (edge ?x ?y) (path ?y ?z)) (edge a b)";
        for (condition, refused) in [
            ("(edge ?x ?y) (path ?y ?z)", None),
            ("(edge ?x ?y) (path ?z ?z)", Some("(path ?z ?z)")),
        ] {
            let text = format!("{path} (<= (legal a (go ?z)) {condition})");
            check(&text, &["path/2"], refused.as_slice());
        }
        check("(<= (p ?x) (p ?x)) (<= (legal a ?x) (p ?x))", &[], &[]);
    }
}
