//! Helpers that only a call binds: `(<= (other ?x ?y) (distinct ?x ?y))`, facts with variables, and
//! rules over these. The prover evaluates them for each call, grounding unfolds them; both must
//! play one game, or grounding must refuse it.

use std::fmt::Write;
use std::sync::Arc;

use panza_gdl::{Id, RoleId};
use panza_ground::{GroundError, GroundProgram, ground};
use panza_sync::{Budget, Random};
use panza_testing::compare::{Machines, compare, machines};
use panza_testing::rules_of;

/// Programs of the ordinary test and of the long one.
const SOME: u64 = 200;
const MANY: u64 = 2000;
/// Programs that showed a fault once.
const KEPT: [u64; 0] = [];
/// States of each program that clingo compares.
const WRITTEN_STATES: usize = 5;

/// The ground program of a game; nothing where grounding refuses its helpers.
fn grounded(text: &str) -> Option<GroundProgram> {
    match ground(&rules_of(text), &Budget::generous()) {
        Ok(program) => Some(program),
        Err(
            GroundError::OpenCall { .. }
            | GroundError::OpenHelper { .. }
            | GroundError::DynamicInit,
        ) => None,
        Err(error) => panic!("{error}\n{text}"),
    }
}

/// The machines of a game; nothing where grounding refuses its helpers.
fn machines_of(text: &str) -> Option<Machines> {
    let network = panza_propnet::build(&grounded(text)?, &Budget::generous());
    Some(machines(&network.expect("the game has a network")))
}

fn agrees(text: &str) -> bool {
    let machines = machines_of(text);
    let is_grounded = machines.is_some();
    if let Some(machines) = machines {
        compare(text, &rules_of(text), machines, 24, 5);
    }
    is_grounded
}

/// The legal moves of the first role in the first state, as the network has them.
fn moves_of(rules: &str) -> Vec<String> {
    let text = format!("(role a) (init (s 0)) {REST} {rules}");
    assert!(agrees(&text), "{text}");
    let machine = panza_testing::machine_of(&rules_of(&text));
    let mut reasoner = Arc::clone(&machine).reasoner();
    reasoner.set_state(&machine.initial_state());
    let legal = reasoner.legal_moves(RoleId(0)).to_vec();
    let mut moves: Vec<String> = legal
        .iter()
        .map(|&mv| machine.info().move_text(mv))
        .collect();
    moves.sort();
    moves
}

const REST: &str = "(n 1) (n 2) (legal a pass) (<= (next (s 1)) (true (s 0)))
    (<= terminal (true (s 1))) (goal a 50)";

#[test]
fn a_helper_is_bound_where_it_is_asked_for() {
    let both = ["(m 1 2)", "(m 2 1)", "pass"];
    for rules in [
        // Before and after what binds its arguments.
        "(<= (other ?x ?y) (distinct ?x ?y))
         (<= (legal a (m ?x ?y)) (n ?x) (other ?x ?y) (n ?y))",
        // Through another helper.
        "(<= (other ?x ?y) (distinct ?x ?y)) (<= (either ?y ?x) (other ?x ?y))
         (<= (legal a (m ?x ?y)) (n ?x) (n ?y) (either ?x ?y))",
        // Negated, also with a variable of its own.
        "(same ?x ?x) (<= (legal a (m ?x ?y)) (n ?x) (n ?y) (not (same ?x ?y)))",
        "(<= (same ?x ?y) (n ?z) (not (apart ?x ?y ?z))) (<= (apart ?x ?y ?z) (distinct ?x ?y))
         (<= (legal a (m ?x ?y)) (n ?x) (n ?y) (not (same ?x ?y)))",
        // A fact with a variable, and one that binds a function term.
        "(any ?x) (<= (legal a (m ?x ?y)) (any ?x) (n ?x) (n ?y) (distinct ?x ?y) (not (none ?x)))
         (<= (none ?x) (not (any ?x)))",
        "(<= (fits (m ?x ?y)) (distinct ?x ?y)) (<= (some (m ?x ?y)) (n ?x) (n ?y))
         (<= (legal a ?m) (some ?m) (fits ?m))",
    ] {
        assert_eq!(moves_of(rules), both, "{rules}");
    }
}

#[test]
fn what_no_call_binds_is_refused() {
    for rules in [
        "(any ?x) (<= (legal a (m ?x)) (any ?x))",
        "(<= (other ?x ?y) (distinct ?x ?y)) (<= (legal a (m ?x)) (n ?x) (not (other ?x ?y)))",
        "(path ?x ?x) (<= (path ?x ?z) (n ?y) (path ?y ?z)) (<= (legal a (m ?x)) (n ?x) (path ?x ?x))",
    ] {
        let text = format!("(role a) (init (s 0)) {REST} {rules}");
        assert!(machines_of(&text).is_none(), "{text}");
    }
}

#[test]
fn programs_with_open_helpers_are_played_alike() {
    play(SOME);
}

#[test]
#[ignore = "takes minutes"]
fn many_programs_with_open_helpers_are_played_alike() {
    // `scripts/clingo` names a file, and compares with clingo what is written there.
    match std::env::var_os("PANZA_OPEN_HELPERS") {
        None => play(MANY),
        Some(file) => {
            let seeds = KEPT.into_iter().chain(0..MANY);
            let described: String = seeds.filter_map(described).collect();
            std::fs::write(file, described).expect("the file can be written");
        }
    }
}

/// Lists in GDL: `(program SEED RULE...)`, and for each of some states of random play `(state
/// ATOM...)` with its facts, a joint move, and all that the counter engine derives from these.
fn described(seed: u64) -> Option<String> {
    let rules = program(seed);
    grounded(&rules)?;
    let mut text = format!("(program {seed}\n{rules})\n");
    let machine = panza_testing::machine_of(&rules_of(&rules));
    let info = machine.info();
    let mut reasoner = Arc::clone(&machine).reasoner();
    let mut random = Random::new(seed);
    let mut state = machine.initial_state();
    for _ in 0..WRITTEN_STATES {
        reasoner.set_state(&state);
        let facts = info.state_facts(&state).into_iter();
        let mut atoms: Vec<String> = facts.map(|fact| format!("(true {fact})")).collect();
        let mut goals = vec![None; info.n_roles()];
        reasoner.goals(&mut goals);
        for (role, goal) in info.roles().iter().zip(goals) {
            atoms.extend(goal.map(|goal| format!("(goal {role} {goal})")));
        }
        if reasoner.is_terminal() {
            atoms.push("terminal".to_string());
            state = machine.initial_state();
        } else {
            let mut joint_move = Vec::new();
            for role in (0..info.n_roles()).map(RoleId::from_index) {
                let (name, legal) = (info.role_name(role), reasoner.legal_moves(role));
                let mv = legal[random.below(legal.len() as u32) as usize];
                joint_move.push(mv);
                atoms.push(format!("(does {name} {})", info.move_text(mv)));
                let legal = legal.iter().map(|&mv| info.move_text(mv));
                atoms.extend(legal.map(|mv| format!("(legal {name} {mv})")));
            }
            reasoner.next_state(&joint_move, &mut state);
            let facts = info.state_facts(&state).into_iter();
            atoms.extend(facts.map(|fact| format!("(next {fact})")));
        }
        let _ = writeln!(text, "(state {})", atoms.join(" "));
    }
    Some(text)
}

/// Compares this many random programs. At least a third of them have a network.
fn play(n_programs: u64) {
    let seeds = KEPT.into_iter().chain(0..n_programs);
    let n_grounded = seeds.filter(|&seed| agrees(&program(seed))).count();
    assert!(n_grounded as u64 > n_programs / 3, "only {n_grounded}");
}

/// A random program.
struct Program {
    random: Random,
    /// Name and number of arguments of the helpers so far.
    helpers: Vec<(String, usize)>,
    text: String,
}

const VARIABLES: [&str; 3] = ["?x", "?y", "?z"];

fn program(seed: u64) -> String {
    let mut own = Program {
        random: Random::new(seed),
        helpers: Vec::new(),
        text: format!("; program {seed}\n"),
    };
    own.text +=
        "(role a) (role b) (n 1) (n 2) (n 3) (e 1 2) (e 2 3) (e 3 3) (init (s 0)) (t 0 1) (t 1 2)
        (<= (next (s ?y)) (true (s ?x)) (t ?x ?y)) (<= terminal (true (s 2)))
        (<= (legal ?r pass) (role ?r)) (<= (next (did ?r ?m)) (does ?r ?m) (distinct ?m pass))
        (<= (next (on ?x)) (true (on ?x)) (not (true (s 1))))\n";
    // Helpers that say the same in each state come first.
    own.helpers(3, false);
    own.rule("(init (on ?x))", 1, false);
    own.helpers(3, true);
    own.rule("(legal a (m ?x))", 1, true);
    own.rule("(legal b (m ?x ?y))", 2, true);
    own.rule("(next (on ?y))", 2, true);
    own.rule("(next (far ?x))", 1, true);
    own.rule("won", 0, true);
    own.text += "(<= (goal ?r 100) (role ?r) won) (<= (goal ?r 0) (role ?r) (not won))\n";
    own.text
}

impl Program {
    fn below(&mut self, n: u32) -> u32 {
        self.random.below(n)
    }

    fn term(&mut self) -> String {
        match self.below(10) {
            0 => format!("{}", 1 + self.below(3)),
            1 => format!("(f {})", VARIABLES[self.below(3) as usize]),
            n => VARIABLES[n as usize % 3].to_string(),
        }
    }

    fn atom(&mut self, has_state: bool) -> String {
        let (one, two) = (self.term(), self.term());
        let n_helpers = self.helpers.len() as u32;
        match self.below(if has_state { 8 } else { 6 }) {
            0 => format!("(n {one})"),
            1 => format!("(e {one} {two})"),
            6 => format!("(true (on {one}))"),
            7 => format!("(true (did {one} (m {two})))"),
            _ if n_helpers == 0 => format!("(n {two})"),
            _ => {
                let at = self.below(n_helpers);
                match &self.helpers[at as usize] {
                    (name, 1) => format!("({name} {one})"),
                    (name, _) => format!("({name} {one} {two})"),
                }
            }
        }
    }

    fn literal(&mut self, has_state: bool) -> String {
        match self.below(6) {
            0 => format!("(distinct {} {})", self.term(), self.term()),
            1 | 2 => format!("(not {})", self.atom(has_state)),
            _ => self.atom(has_state),
        }
    }

    fn literals(&mut self, n: u32, has_state: bool) -> String {
        (0..n).fold(String::new(), |mut text, _| {
            let _ = write!(text, " {}", self.literal(has_state));
            text
        })
    }

    /// Some helpers, with rules that may leave their head open. Few ask for themselves.
    fn helpers(&mut self, n: u32, has_state: bool) {
        for _ in 0..n {
            let arity = 1 + self.below(2) as usize;
            let helper = (format!("h{}", self.helpers.len()), arity);
            let recurs = self.below(12) == 0;
            if recurs {
                self.helpers.push(helper.clone());
            }
            for _ in 0..1 + self.below(2) {
                let arguments: Vec<String> = (0..arity).map(|_| self.term()).collect();
                let n_literals = self.below(3);
                let mut body = self.literals(n_literals, has_state);
                let head = format!("({} {})", helper.0, arguments.join(" "));
                for name in VARIABLES {
                    if body.contains(name) && !head.contains(name) && self.below(6) > 0 {
                        let _ = write!(body, " (n {name})");
                    }
                }
                let _ = match body.is_empty() {
                    true => writeln!(self.text, "{head}"),
                    false => writeln!(self.text, "(<= {head}{body})"),
                };
            }
            if !recurs {
                self.helpers.push(helper);
            }
        }
    }

    /// Random rules for `head`, which has `n_variables` variables. Most rules bind all of them.
    fn rule(&mut self, head: &str, n_variables: usize, has_state: bool) {
        for _ in 0..1 + self.below(2) {
            let n_literals = 1 + self.below(3);
            let body = self.literals(n_literals, has_state);
            let used = VARIABLES.iter().enumerate();
            let used = used.filter(|(n, name)| *n < n_variables || body.contains(**name));
            let binders: String = used.map(|(_, name)| format!(" (n {name})")).collect();
            let (first, last) = match self.below(30) {
                0 => ("", ""),
                1..=9 => (&binders[..], ""),
                _ => ("", &binders[..]),
            };
            let _ = writeln!(self.text, "(<= {head}{first}{body}{last})");
        }
    }
}
