//! Random small games: all engines agree with the prover, lane playouts have the exact
//! distribution, and printed rules read back the same.
//!
//! A list of numbers determines a game: each number answers one choice of the generator. A failure
//! therefore shrinks to short lists of small numbers, which give small games. Games have one to
//! three roles that move at once or in turns, static and dynamic relations, recursion, stratified
//! negation, disjunctions, function terms, relations that depend on moves, derived legal moves,
//! roles that may have no legal move, several ways to end, and goals that differ by role and state
//! or are missing.
//!
//! `PROPTEST_CASES` sets the number of games of each property.

use std::fmt::Write;

use panza_propnet::passes;
use proptest::prelude::*;

use panza_testing::compare::{compare, machines};
use panza_testing::{network_of, rules_of};

use crate::chances;

/// Answers from a list of numbers; 0 when it is used up.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn below(&mut self, n: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % n
    }

    fn of<'b>(&mut self, items: &[&'b str]) -> &'b str {
        items[self.below(items.len())]
    }
}

const VARIABLES: [&str; 3] = ["?x", "?y", "?z"];
const CONSTANTS: [&str; 3] = ["a", "b", "c"];
const ROLES: [&str; 3] = ["red", "blue", "green"];

/// Relations that depend on moves belong to this level, and to no state.
const MOVE_LEVEL: usize = 3;

/// The generator: the answers, and what the game has so far.
struct Generator<'a> {
    choices: Choices<'a>,
    n_roles: usize,
    out: String,
}

impl Generator<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.choices.below(n)
    }

    fn term(&mut self) -> &'static str {
        if self.below(4) == 0 {
            self.choices.of(&CONSTANTS)
        } else {
            self.choices.of(&VARIABLES)
        }
    }

    fn role(&mut self) -> &'static str {
        ROLES[self.below(self.n_roles)]
    }

    /// A fact of the state: `lamp`, `(at ..)`, `(link .. ..)`, `(pile (box ..))`,
    /// `(pile (crate (box ..) ..))`.
    fn fact(&mut self) -> String {
        match self.below(5) {
            0 => "lamp".into(),
            1 => format!("(at {})", self.term()),
            2 => format!("(link {} {})", self.term(), self.term()),
            3 => format!("(pile (box {}))", self.term()),
            _ => format!("(pile (crate (box {}) {}))", self.term(), self.term()),
        }
    }

    /// A move: `halt`, `(push ..)`, `(swap .. (box ..))`.
    fn action(&mut self) -> String {
        match self.below(4) {
            0 => "halt".into(),
            1 => format!("(swap {} (box {}))", self.term(), self.term()),
            _ => format!("(push {})", self.term()),
        }
    }

    fn derived(&mut self, level: usize) -> String {
        match self.below(3) {
            0 => format!("(one{level} {})", self.term()),
            1 => format!("(two{level} {} {})", self.term(), self.term()),
            _ => format!("(boxed{level} (box {}))", self.term()),
        }
    }

    /// An atom that a rule of this level may ask for; relations of the same level only where
    /// `may_recurse`. Only rules above [`MOVE_LEVEL`] and of it may ask for moves.
    fn atom(&mut self, level: usize, may_recurse: bool) -> String {
        let top = if may_recurse { level + 1 } else { level };
        match self.below(4 + usize::from(level >= MOVE_LEVEL)) {
            0 => format!("(true {})", self.fact()),
            1 => format!("(edge {} {})", self.term(), self.term()),
            2 | 3 if top > 0 => {
                let of = self.below(top.min(MOVE_LEVEL + 1));
                self.derived(of)
            }
            4 => {
                let role = match self.below(3) {
                    0 => "?x",
                    _ => self.role(),
                };
                format!("(does {role} {})", self.action())
            }
            _ => format!("(colour {})", self.term()),
        }
    }

    fn literal(&mut self, level: usize) -> String {
        match self.below(8) {
            0 => format!("(not {})", self.atom(level, false)),
            1 => match self.below(2) {
                0 => format!("(distinct {} {})", self.term(), self.term()),
                _ => format!("(distinct (box {}) (box {}))", self.term(), self.term()),
            },
            2 => format!(
                "(or {} (not {}))",
                self.atom(level, true),
                self.atom(level, false)
            ),
            3 => format!(
                "(or (and {} {}) {} (distinct {} {}))",
                self.atom(level, true),
                self.atom(level, true),
                self.atom(level, true),
                self.term(),
                self.term()
            ),
            _ => self.atom(level, true),
        }
    }

    fn body(&mut self, level: usize) -> String {
        let n_literals = 1 + self.below(3);
        (0..n_literals).fold(String::new(), |mut body, _| {
            let _ = write!(body, " {}", self.literal(level));
            body
        })
    }

    fn rule(&mut self, head: &str, body: &str) {
        let binders = bound(&format!("{head}{body}"));
        let _ = writeln!(self.out, "(<= {head}{body}{binders})");
    }

    /// Half of the games are played in turns.
    fn turns(&mut self) -> bool {
        if self.n_roles == 1 || self.below(2) == 0 {
            return false;
        }
        let roles = &ROLES[..self.n_roles];
        let _ = writeln!(self.out, "(init (control {}))", roles[0]);
        for (role, before) in roles
            .iter()
            .zip(roles.iter().cycle().skip(self.n_roles - 1))
        {
            let _ = writeln!(
                self.out,
                "(<= (next (control {role})) (true (control {before})))"
            );
        }
        true
    }

    fn relations(&mut self) {
        for level in 0..=MOVE_LEVEL {
            for _ in 0..self.below(4) {
                let head = self.derived(level);
                let body = self.body(level);
                self.rule(&head, &body);
            }
        }
    }

    fn legal(&mut self) {
        // In some games a role may have no legal move.
        match self.below(4) {
            0 => self.out += "(<= (legal ?r wait) (role ?r) (not (true (at c))))\n",
            _ => self.out += "(<= (legal ?r wait) (role ?r))\n",
        }
        let has_turns = self.turns();
        for _ in 0..1 + self.below(3) {
            let role = match self.below(4) {
                0 => "?r",
                _ => self.role(),
            };
            let head = format!("(legal {role} {})", self.action());
            let mut body = self.body(MOVE_LEVEL - 1);
            let _ = match has_turns {
                true => write!(body, " (true (control {role}))"),
                false => write!(body, " (role {role})"),
            };
            self.rule(&head, &body);
        }
    }

    fn next(&mut self) {
        for _ in 0..1 + self.below(4) {
            let fact = self.fact();
            let mut body = self.body(MOVE_LEVEL + 1);
            // Facts that last until a move ends them lead further than others.
            if self.below(3) == 0 {
                let role = self.role();
                let _ = write!(body, " (true {fact}) (not (does {role} (push a)))");
            }
            self.rule(&format!("(next {fact})"), &body);
        }
    }

    fn ends(&mut self) {
        if self.below(3) == 0 {
            let body = self.body(MOVE_LEVEL - 1);
            self.rule("terminal", &(body + " (true (clock 3))"));
        }
        let won = self.body(MOVE_LEVEL - 1);
        self.rule("won", &won);
        let goals = match self.below(3) {
            0 => {
                "(<= (goal red 100) won) (<= (goal red 30) (not won))\n\
                  (<= (goal ?r 100) (role ?r) (distinct ?r red) (not won))\n"
            }
            1 => "(<= (goal ?r 75) (role ?r) won (true lamp)) (goal red 0)\n",
            _ => "(<= (goal ?r 100) (role ?r) won) (<= (goal ?r 10) (role ?r) (not won))\n",
        };
        self.out += goals;
    }
}

/// Conditions that bind every variable of `rule`.
fn bound(rule: &str) -> String {
    let used = VARIABLES
        .iter()
        .filter(|variable| rule.contains(**variable));
    used.map(|variable| format!(" (colour {variable})"))
        .collect()
}

fn game(numbers: &[u8]) -> String {
    let mut choices = Choices(numbers.iter());
    let n_roles = [2, 1, 3][choices.below(3)];
    let mut it = Generator {
        choices,
        n_roles,
        out: String::new(),
    };
    for role in &ROLES[..n_roles] {
        let _ = write!(it.out, "(role {role}) ");
    }
    it.out += "(colour a) (colour b) (colour c) (edge a b) (edge b c) (edge c a)\n\
         (init (at a)) (init (clock 0)) (tick 0 1) (tick 1 2) (tick 2 3) (tick 3 4) (tick 4 5) (tick 5 6)\n\
         (<= (next (clock ?n)) (true (clock ?m)) (tick ?m ?n)) (<= terminal (true (clock 6)))\n";
    for _ in 0..it.below(3) {
        let fact = it.fact();
        let fact = VARIABLES
            .iter()
            .zip(CONSTANTS)
            .fold(fact, |fact, (variable, constant)| {
                fact.replace(variable, constant)
            });
        let _ = writeln!(it.out, "(init {fact})");
    }
    it.relations();
    it.legal();
    it.next();
    it.ends();
    it.out
}

/// The numbers that determine a game.
fn numbers() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..240)
}

/// This many cases, unless `PROPTEST_CASES` says otherwise.
fn cases(cases: u32) -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(cases),
    }
}

proptest! {
    #![proptest_config(cases(192))]

    #[test]
    fn engines_agree_on_random_games(numbers in numbers()) {
        let text = game(&numbers);
        let rules = rules_of(&text);
        compare(&text, &rules, machines(&network_of(&rules)), 30, 6);
    }

    #[test]
    fn lane_playouts_have_the_exact_distribution(numbers in numbers(), seed in any::<u64>()) {
        let network = network_of(&rules_of(&game(&numbers)));
        let network = passes::optimise(network, &panza_sync::Budget::generous());
        chances::compare(&network, seed);
    }

    #[test]
    fn printed_rules_read_back_the_same(numbers in numbers()) {
        let rules = rules_of(&game(&numbers));
        let print = |rules: &panza_gdl::Rules| {
            rules.rules.iter().map(|rule| format!("{}\n", rules.show_rule(rule))).collect::<String>()
        };
        let printed = print(&rules);
        prop_assert_eq!(&print(&rules_of(&printed)), &printed);
        let laid_out = panza_gdl::format::format(&printed).expect("what was printed can be laid out");
        prop_assert_eq!(&print(&rules_of(&laid_out)), &printed);
    }
}

/// After other passes two inputs of a gate stand for one move here, which is not two moves at once.
const ONE_MOVE_TWICE: &str = "
    (role red) (colour a) (colour b) (colour c) (init (lamp 0))
    (<= (legal red wait)) (<= (legal red (push ?x)) (colour ?x))
    (<= (next (link ?y)) (colour ?x) (colour ?y) (not (does red (push ?x))) (not (does red (push c))) (near ?y))
    (<= (next (link ?y)) (colour ?x) (colour ?y) (not (does red (push ?x))) (not (does red (push c))) (true (lamp 0)))
    (near c) (<= (next (lamp 1)) (true (lamp 0))) (<= (next (lamp 0)) (true (lamp 1)))
    (<= terminal (true (link a)) (true (lamp 0))) (goal red 50)";

#[test]
fn a_move_named_twice_is_one_move() {
    let rules = rules_of(ONE_MOVE_TWICE);
    compare(
        "one move twice",
        &rules,
        machines(&network_of(&rules)),
        60,
        6,
    );
}

/// Recursion that falls apart while the network is built leaves an OR outside of any block here.
const OR_LEFT_OVER: &str = "
    (role red) (colour a) (colour b) (colour c) (edge a b) (edge b c) (init (at a)) (init (clock 0)) (tick 0 1) (tick 1 2)
    (<= (next (clock ?n)) (true (clock ?m)) (tick ?m ?n)) (<= terminal (true (clock 2)))
    (<= (legal red wait))
    (<= (joined ?x ?y) (distinct b ?x) (or (edge a ?x) (not (true lamp))) (true (pile (box ?z)))
        (colour ?x) (colour ?y) (colour ?z))
    (<= (single ?y) (joined ?z ?z) (not (edge b b)) (or (true lamp) (not (true (at ?z)))) (colour ?y) (colour ?z))
    (<= (joined ?y ?x) (or (single ?z) (not (true (pile (box c))))) (colour ?x) (colour ?y) (colour ?z))
    (<= (legal red (push ?z)) (single a) (not (true lamp)) (colour ?z))
    (<= (next lamp) (not (true lamp))) (goal red 50)";

#[test]
fn an_or_left_by_recursion_stays_an_or() {
    let rules = rules_of(OR_LEFT_OVER);
    compare("or left over", &rules, machines(&network_of(&rules)), 60, 6);
}
