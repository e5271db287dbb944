//! The prover against a second, naive implementation on random rulesheets.
//!
//! The naive one applies every rule to every fact until nothing new is found, level by level. A
//! relation's level is in its name, and `not` refers to lower levels only. Random relations are on
//! demand.

mod rules;

use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;

use crate::engine::{Engine, Question};
use crate::{Limits, Prover, State};
use panza_gdl::{Atom, Id, Literal, RoleId, Rule, Rules, Symbol, Term, TermId, read, sexpr};

/// A plain sequence of numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

const CONSTANTS: [&str; 4] = ["a", "b", "c", "d"];
const VARIABLES: [&str; 4] = ["?w", "?x", "?y", "?z"];

/// Derived relations with their level and arity. Levels from 4 on may depend on what the roles do.
const DERIVED: [(&str, usize, usize); 9] = [
    ("s1", 1, 1),
    ("s2", 1, 2),
    ("t1", 2, 1),
    ("t2", 2, 2),
    ("u0", 3, 0),
    ("u2", 3, 2),
    ("u3", 3, 3),
    ("v1", 5, 1),
    ("v2", 5, 2),
];
/// Relations that are asked for: head and level.
const ASKED: [(&str, usize); 5] = [
    ("terminal", 4),
    ("(goal r @)", 4),
    ("(legal r (m @))", 4),
    ("(next (c @ @))", 6),
    ("(next (h (f @)))", 6),
];

/// A pattern for a term of a positive literal.
fn pattern(dice: &mut Dice, depth: usize) -> String {
    match dice.below(8) {
        0..=4 => dice.pick(&VARIABLES).to_string(),
        5 | 6 => dice.pick(&CONSTANTS).to_string(),
        _ if depth > 0 => format!("(f {})", pattern(dice, depth - 1)),
        _ => dice.pick(&VARIABLES).to_string(),
    }
}

fn atom(dice: &mut Dice, level: usize, may_recurse: bool) -> String {
    let lower: Vec<&(&str, usize, usize)> = DERIVED
        .iter()
        .filter(|(_, own, _)| *own < level || (may_recurse && *own == level))
        .collect();
    match dice.below(10) {
        0..=2 if level >= 2 => match dice.below(4) {
            0 | 1 => format!("(true (c {} {}))", pattern(dice, 0), pattern(dice, 1)),
            2 => format!("(true (h {}))", pattern(dice, 1)),
            _ => format!("(true {})", pattern(dice, 0)),
        },
        3 if level >= 5 => match dice.below(2) {
            0 => format!("(does r (m {}))", pattern(dice, 0)),
            _ => format!("(does {} {})", pattern(dice, 0), pattern(dice, 0)),
        },
        4..=7 if !lower.is_empty() => {
            let (name, _, arity) = lower[dice.below(lower.len())];
            let mut text = format!("({name}");
            for _ in 0..*arity {
                text.push(' ');
                text.push_str(&pattern(dice, 1));
            }
            text + ")"
        }
        8 => format!("(e1 {})", pattern(dice, 1)),
        _ => format!("(e2 {} {})", pattern(dice, 0), pattern(dice, 0)),
    }
}

/// A rule for this head, whose `@` stand for variables or constants.
fn rule(dice: &mut Dice, head: &str, level: usize, may_nest: bool) -> String {
    let mut body: Vec<String> = (0..1 + dice.below(3))
        .map(|_| atom(dice, level, true))
        .collect();
    let bound: Vec<&str> = VARIABLES
        .into_iter()
        .filter(|variable| body.iter().any(|literal| literal.contains(variable)))
        .collect();
    let term = |dice: &mut Dice| match bound.len() {
        0 => dice.pick(&CONSTANTS).to_string(),
        n if dice.below(5) > 0 => bound[dice.below(n)].to_string(),
        _ => dice.pick(&CONSTANTS).to_string(),
    };
    // Variables that nothing binds become constants.
    let close = |dice: &mut Dice, mut literal: String| {
        for variable in VARIABLES {
            if !bound.contains(&variable) {
                literal = literal.replace(variable, dice.pick(&CONSTANTS));
            }
        }
        literal
    };
    if dice.below(2) == 0 {
        let negative = atom(dice, level, false);
        let negative = close(dice, negative);
        body.push(format!("(not {negative})"));
    }
    if dice.below(3) == 0 {
        let (left, right) = (term(dice), term(dice));
        body.push(format!("(distinct {left} {right})"));
    }
    for last in (1..body.len()).rev() {
        body.swap(last, dice.below(last + 1));
    }
    let mut head = head.to_string();
    while head.contains('@') {
        let term = term(dice);
        let term = if may_nest && dice.below(6) == 0 {
            format!("(f {term})")
        } else {
            term
        };
        head = head.replacen('@', &term, 1);
    }
    format!("(<= {head} {})\n", body.join(" "))
}

fn rulesheet(dice: &mut Dice) -> String {
    let mut text = "(role r)\n".to_string();
    for _ in 0..4 {
        text += &format!("(e1 {})\n", dice.pick(&CONSTANTS));
        text += &format!("(e2 {} {})\n", dice.pick(&CONSTANTS), dice.pick(&CONSTANTS));
    }
    text += &format!("(e1 (f {}))\n", dice.pick(&CONSTANTS));
    for (name, level, arity) in DERIVED {
        let head = format!("({name}{})", " @".repeat(arity));
        for _ in 0..1 + dice.below(3) {
            // Functions in the heads of recursive rules have no end.
            text += &rule(dice, &head, level, false);
        }
    }
    for (head, level) in ASKED {
        for _ in 0..1 + dice.below(2) {
            text += &rule(dice, head, level, true);
        }
    }
    text
}

/// A state's facts, without `true`.
fn facts(dice: &mut Dice) -> Vec<String> {
    let mut facts = vec!["k".to_string()];
    for _ in 0..dice.below(7) {
        let (left, right) = (dice.pick(&CONSTANTS), dice.pick(&CONSTANTS));
        facts.push(match dice.below(4) {
            0 => format!("(h (f {left}))"),
            1 => format!("(h {left})"),
            2 => format!("(c {left} (f {right}))"),
            _ => format!("(c {left} {right})"),
        });
    }
    facts
}

type Fact = (Symbol, Vec<Term>);

/// The plain implementation.
struct Plain<'a> {
    rules: &'a Rules,
    facts: BTreeSet<String>,
    by_relation: HashMap<(Symbol, usize), Vec<Vec<Term>>>,
}

impl Plain<'_> {
    fn add(&mut self, (relation, arguments): Fact) -> bool {
        let atom = Atom {
            relation,
            arguments: arguments.clone().into(),
            span: Default::default(),
        };
        let is_new = self
            .facts
            .insert(self.rules.show_atom(&atom, &[]).to_string());
        if is_new {
            let signature = (relation, arguments.len());
            self.by_relation
                .entry(signature)
                .or_default()
                .push(arguments);
        }
        is_new
    }

    fn evaluate(&mut self) {
        for level in 0..7 {
            loop {
                let mut found = Vec::new();
                for rule in &self.rules.rules {
                    if level_of(self.rules.symbols.name(rule.head.relation)) == level {
                        let mut bound = vec![None; rule.variables.len()];
                        self.join(rule, 0, &mut bound, &mut found);
                    }
                }
                let mut n_new = 0;
                for fact in found {
                    n_new += usize::from(self.add(fact));
                }
                if n_new == 0 {
                    break;
                }
            }
        }
    }

    /// Positive literals in their order, then everything else.
    fn join(
        &self,
        rule: &Rule,
        position: usize,
        bound: &mut Vec<Option<Term>>,
        found: &mut Vec<Fact>,
    ) {
        if let Some(literal) = rule.body.get(position) {
            let Literal::Positive(atom) = literal else {
                return self.join(rule, position + 1, bound, found);
            };
            for instance in self
                .by_relation
                .get(&atom.signature())
                .into_iter()
                .flatten()
            {
                let before = bound.clone();
                let mut pairs = atom.arguments.iter().zip(instance);
                if pairs.all(|(pattern, term)| matches(pattern, term, bound)) {
                    self.join(rule, position + 1, bound, found);
                }
                *bound = before;
            }
            return;
        }
        let holds = rule.body.iter().all(|literal| match literal {
            Literal::Positive(_) => true,
            Literal::Negative(atom) => {
                let atom = Atom {
                    arguments: atom
                        .arguments
                        .iter()
                        .map(|term| ground(term, bound))
                        .collect(),
                    ..atom.clone()
                };
                !self
                    .facts
                    .contains(&self.rules.show_atom(&atom, &[]).to_string())
            }
            Literal::Distinct(left, right, _) => ground(left, bound) != ground(right, bound),
        });
        if holds {
            let arguments = rule.head.arguments.iter();
            let arguments = arguments.map(|term| ground(term, bound)).collect();
            found.push((rule.head.relation, arguments));
        }
    }

    /// The arguments, as text, of the facts that begin like this.
    fn starting(&self, prefix: &str) -> Vec<String> {
        let with = self.facts.iter().filter(|fact| fact.starts_with(prefix));
        with.map(|fact| fact[prefix.len()..fact.len() - 1].to_string())
            .collect()
    }
}

fn level_of(name: &str) -> usize {
    let derived = DERIVED.iter().find(|(own, _, _)| *own == name);
    match (derived, name) {
        (Some((_, level, _)), _) => *level,
        (None, "next") => 6,
        (None, "terminal" | "goal" | "legal") => 4,
        _ => 0,
    }
}

fn matches(pattern: &Term, term: &Term, bound: &mut [Option<Term>]) -> bool {
    match (pattern, term) {
        (Term::Variable(variable), term) => match &bound[*variable as usize] {
            Some(known) => known == term,
            None => {
                bound[*variable as usize] = Some(term.clone());
                true
            }
        },
        (Term::Function(name, inner), Term::Function(other, others)) => {
            name == other
                && inner.len() == others.len()
                && inner
                    .iter()
                    .zip(others)
                    .all(|(pattern, term)| matches(pattern, term, bound))
        }
        (pattern, term) => pattern == term,
    }
}

fn ground(term: &Term, bound: &[Option<Term>]) -> Term {
    match term {
        Term::Variable(variable) => bound[*variable as usize].clone().unwrap(),
        Term::Constant(_) => term.clone(),
        Term::Function(name, arguments) => {
            let arguments = arguments.iter().map(|term| ground(term, bound)).collect();
            Term::Function(*name, arguments)
        }
    }
}

/// What each question's relation should hold, by question.
fn expected(rules: &Rules, statements: &str) -> [Vec<String>; 4] {
    let (mut all, _) = read::read_rules(&sexpr::parse(statements).0);
    all.rules
        .retain(|rule| rule.head.is_ground() || !rule.body.is_empty());
    assert!(all.rules.len() >= rules.rules.len());
    let mut plain = Plain {
        rules: &all,
        facts: BTreeSet::new(),
        by_relation: HashMap::new(),
    };
    plain.evaluate();
    let terminal = plain.facts.contains("terminal");
    [
        if terminal {
            vec![String::new()]
        } else {
            Vec::new()
        },
        plain.starting("(legal r "),
        plain.starting("(goal r "),
        plain.starting("(next "),
    ]
}

fn check(seed: u64) -> Result<(), TestCaseError> {
    let mut dice = Dice(seed);
    let text = rulesheet(&mut dice);
    let (rules, diagnostics) = read::read_rules(&sexpr::parse(&text).0);
    prop_assert_eq!(&diagnostics, &[], "{}", text);
    let mut engine = Engine::new(&rules, Limits::default()).unwrap();
    for round in 0..4 {
        let mut chosen = Vec::new();
        if round > 0 {
            engine.choice.on_demand.clear();
            for (name, _, arity) in DERIVED {
                let signature = (engine.names.symbols.find(name).unwrap(), arity);
                if dice.below(2) == 0 {
                    engine.choice.on_demand.insert(signature);
                    chosen.push(name);
                }
            }
            engine.rebuild();
        }
        for _ in 0..3 {
            if round == 3 {
                // Everything learned from the states before is forgotten.
                (engine.next_inspection, engine.most_remembered) = (0, 0);
            }
            let facts = facts(&mut dice);
            let mv = format!("(m {})", dice.pick(&CONSTANTS));
            let mut intern = |text: &str| -> TermId {
                let expression = sexpr::parse(text).0.remove(0);
                let symbols = &mut engine.names.symbols;
                engine
                    .store
                    .terms
                    .intern_sexpr(symbols, &expression)
                    .unwrap()
            };
            let mut state: Vec<TermId> = facts.iter().map(|fact| intern(fact)).collect();
            let (role, mv_term) = (intern("r"), intern(&mv));
            let state = State::of(&mut state);
            let with_state: String = facts
                .iter()
                .map(|fact| format!("(true {fact})\n"))
                .collect();
            let with_state = format!("{text}{with_state}");
            let [terminal, legal, goal, _] = expected(&rules, &with_state);
            let next = expected(&rules, &format!("{with_state}(does r {mv})"))[3].clone();
            let context = format!("{with_state}does {mv}, on demand {chosen:?}");
            // In changing order, since what is evaluated for one question serves the others.
            for position in 0..4 {
                match (position + round) % 4 {
                    0 => {
                        let found = engine.is_terminal(&state).unwrap();
                        prop_assert_eq!(found, !terminal.is_empty(), "terminal\n{}", context);
                    }
                    1 => {
                        let found = engine.of_role(Question::Legal, &state, role).unwrap();
                        prop_assert_eq!(shown(&engine, &found), legal.clone(), "{}", context);
                    }
                    2 => {
                        let found = engine.of_role(Question::Goal, &state, role).unwrap();
                        prop_assert_eq!(shown(&engine, &found), goal.clone(), "{}", context);
                    }
                    _ => {
                        let found = engine.next_facts(&state, &[(role, mv_term)]).unwrap();
                        prop_assert_eq!(shown(&engine, &found), next.clone(), "{}", context);
                    }
                }
            }
        }
    }
    Ok(())
}

fn shown(engine: &Engine, terms: &[TermId]) -> Vec<String> {
    let mut texts: Vec<String> = terms.iter().map(|&term| engine.show(term)).collect();
    texts.sort();
    texts
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_rulesheets_mean_the_same_to_a_plain_implementation(seed: u64) {
        check(seed)?;
    }
}

#[test]
fn limits_within_few_bytes_end_what_explodes_early() {
    let text = "(role r) (init (n z)) (legal r go) (<= terminal (true (n stop))) (goal r 50)
        (t a) (t b) (<= (t (f ?x ?y)) (t ?x) (t ?y)) (<= (next (n ?x)) (t ?x))";
    let (rules, _) = panza_gdl::load(text);
    let few = Limits::within(1 << 20);
    assert!(few.terms < 10_000 && few.facts < few.terms);
    let failed = Prover::with_limits(&rules, few).and_then(|mut prover| {
        let state = prover.initial_state();
        let go = prover.legal_moves(&state, RoleId::from_index(0))?;
        prover.next_state(&state, &go)
    });
    assert!(failed.is_err());
    // Where there is room, the limits are the usual ones.
    let (many, usual) = (Limits::within(usize::MAX), Limits::default());
    assert_eq!((many.terms, many.facts), (usual.terms, usual.facts));
}
