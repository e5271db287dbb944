//! Playouts in which roles take winning moves and avoid moves that let the other role win, compared
//! with a slow implementation that examines every move and every reply on the counters.

use std::sync::Arc;

use panza_game::PlayoutPolicy;
use panza_gdl::{MoveId, RoleId, Rules};
use panza_machine::lanes::interpret::Features;
use panza_machine::{BatchPlayouts, GangLayout, Machine, PlayoutTotals, Reasoner};
use panza_sync::{Budget, Random};
use panza_testing::{machine_of, rules_of, rulesheet};

/// Playouts of the slow twin.
const PLAYOUTS: u32 = 300;
/// Playouts by lanes.
const ABREAST: u32 = 20_000;
/// Playouts by lanes from a position in which there is a win.
const FROM_A_WIN: u32 = 64;
/// A joint move more than any playout has.
const MAX_STEPS: u32 = 1000;
/// How far means may be apart, in standard errors: what chance does once in thousands of runs.
/// Seeds are fixed.
const ERRORS: f64 = 4.0;

/// A game of two roles in turn, played slowly.
struct Twin {
    machine: Arc<dyn Machine>,
    reasoner: Box<dyn Reasoner>,
}

/// What a role can do in a state.
struct Turn {
    mover: usize,
    moves: Vec<MoveId>,
    /// The state after each.
    after: Vec<Vec<u64>>,
    /// Which of them win at once.
    wins: Vec<bool>,
}

impl Twin {
    fn is_over(&mut self, state: &[u64]) -> bool {
        self.reasoner.set_state(state);
        self.reasoner.is_terminal()
    }

    fn goals(&mut self, state: &[u64]) -> [u8; 2] {
        let mut goals = vec![None; 2];
        self.reasoner.set_state(state);
        self.reasoner.goals(&mut goals);
        [0, 1].map(|role| goals[role].expect("every role has a goal"))
    }

    fn turn(&mut self, state: &[u64]) -> Turn {
        self.reasoner.set_state(state);
        let legal = [0, 1].map(|role| self.reasoner.legal_moves(RoleId(role)).to_vec());
        let mover = usize::from(legal[0].len() == 1);
        let after: Vec<Vec<u64>> = legal[mover]
            .iter()
            .map(|&mv| {
                let mut joint_move = [legal[0][0], legal[1][0]];
                joint_move[mover] = mv;
                let mut next = Vec::new();
                self.reasoner.set_state(state);
                self.reasoner.next_state(&joint_move, &mut next);
                next
            })
            .collect();
        let wins = after
            .iter()
            .map(|state| self.is_over(state) && self.goals(state)[mover] == 100)
            .collect();
        let [first, second] = legal;
        Turn {
            mover,
            moves: if mover == 0 { first } else { second },
            after,
            wins,
        }
    }

    /// The indices of the moves among which a role chooses.
    fn preferred(&mut self, turn: &Turn) -> Vec<usize> {
        let all = 0..turn.moves.len();
        let wins: Vec<usize> = all.clone().filter(|&index| turn.wins[index]).collect();
        if !wins.is_empty() {
            return wins;
        }
        let is_safe = |twin: &mut Self, index: usize| {
            let state = &turn.after[index];
            twin.is_over(state) || !twin.turn(state).wins.contains(&true)
        };
        let safe: Vec<usize> = all.clone().filter(|&index| is_safe(self, index)).collect();
        if safe.is_empty() { all.collect() } else { safe }
    }

    /// Steps and the first role's goal of one playout.
    fn playout(&mut self, random: &mut Random) -> [f64; 2] {
        let mut state = self.machine.initial_state();
        let mut steps = 0.0;
        while !self.is_over(&state) {
            let turn = self.turn(&state);
            let preferred = self.preferred(&turn);
            let index = preferred[random.below(preferred.len() as u32) as usize];
            state.clone_from(&turn.after[index]);
            steps += 1.0;
        }
        [steps, f64::from(self.goals(&state)[0])]
    }
}

/// A game whose roles prefer moves, by lanes.
struct Lanes {
    machine: Arc<dyn Machine>,
    gang: Box<dyn BatchPlayouts>,
}

impl Lanes {
    fn new(rules: &Rules) -> Self {
        let machine = machine_of(rules);
        let budget = Budget::generous();
        let compiled = panza_game::compile(rules, &budget).expect("it has a network");
        let programs = |policy| compiled.lanes.programs(&budget, policy);
        let even = programs(PlayoutPolicy::Uniform).expect("it fits lanes");
        let programs = programs(PlayoutPolicy::Decisive).expect("it fits lanes");
        assert!(
            programs.n_operations() > even.n_operations(),
            "nothing is seen of wins"
        );
        let n_roles = machine.info().n_roles();
        let layout = Arc::new(GangLayout::new(&programs, n_roles, Features::detect(), 4));
        let gang = layout.gang(&mut Random::new(1), MAX_STEPS);
        Self { machine, gang }
    }

    /// The game of a rulesheet without faults.
    fn of_text(text: &str) -> Self {
        let (rules, faults) = panza_gdl::load(text);
        assert!(faults.is_empty(), "{faults:?}");
        Self::new(&rules)
    }

    /// The results of `samples` playouts.
    fn play(&mut self, state: &[u64], samples: u32) -> PlayoutTotals {
        let mut tally = PlayoutTotals::default();
        let ticket = self.gang.submit(state, samples);
        ticket.expect("the state is in play");
        while self.gang.take_finished(&mut tally).is_none() {
            self.gang.advance();
        }
        tally
    }

    fn twin(&self) -> Twin {
        Twin {
            reasoner: Arc::clone(&self.machine).reasoner(),
            machine: Arc::clone(&self.machine),
        }
    }

    /// Whether playouts from the initial state are alike on average: `slowly` has the steps and the
    /// first role's goal of each that was played slowly.
    fn assert_alike(&mut self, name: &str, slowly: &[[f64; 2]]) {
        let tally = self.play(&self.machine.initial_state(), ABREAST);
        let abreast = [tally.steps, tally.totals[0]].map(|sum| sum as f64 / f64::from(ABREAST));
        for (index, what) in ["length", "goal"].into_iter().enumerate() {
            let count = slowly.len() as f64;
            let mean = slowly.iter().map(|one| one[index]).sum::<f64>() / count;
            let squares = slowly.iter().map(|one| (one[index] - mean).powi(2));
            let error = (squares.sum::<f64>() / count / count).sqrt();
            println!(
                "{name}: {what} {mean:.2} (+-{error:.2}) slowly, {:.2} by lanes",
                abreast[index]
            );
            assert!(
                (abreast[index] - mean).abs() <= ERRORS * error,
                "{name}: {what} is {mean} (+-{error}) slowly, {} by lanes",
                abreast[index]
            );
        }
    }
}

/// Compares both on one of our games.
fn compare(name: &str) {
    let mut lanes = Lanes::new(&rules_of(rulesheet(name)));
    let mut twin = lanes.twin();
    // A role that can win at once wins.
    let mut random = Random::new(2);
    let mut n_wins = 0;
    while n_wins < 40 {
        let mut state = twin.machine.initial_state();
        while !twin.is_over(&state) {
            let turn = twin.turn(&state);
            if turn.wins.contains(&true) {
                let tally = lanes.play(&state, FROM_A_WIN);
                assert_eq!(tally.totals[turn.mover], 100 * u64::from(FROM_A_WIN));
                assert_eq!(tally.steps, u64::from(FROM_A_WIN));
                n_wins += 1;
            }
            let index = random.below(turn.after.len() as u32) as usize;
            state.clone_from(&turn.after[index]);
        }
    }
    let played: Vec<[f64; 2]> = (0..PLAYOUTS).map(|_| twin.playout(&mut random)).collect();
    lanes.assert_alike(name, &played);
}

#[test]
fn moves_that_win_in_some_positions_are_played_and_prevented() {
    compare("connectFour");
}

#[test]
fn moves_that_win_whenever_legal_are_played_and_prevented() {
    compare("breakthrough");
}

/// Two roles add 1, 2 or 3 to a pile in turn, and chance 1 or 2 after each of them. Who reaches
/// twelve by a move of his own wins; a pile of twelve by chance is a draw.
fn pile() -> String {
    let turns = ["red", "afterRed", "blue", "afterBlue"];
    let mut text =
        "(role red) (role blue) (role random) (init (pile 0)) (init (turn red))\n".to_string();
    for index in 0..4 {
        text += &format!("(follows {} {})\n", turns[index], turns[(index + 1) % 4]);
    }
    for pile in 0..=14 {
        text += &format!("(base (pile {pile}))\n");
        for number in 1..=3 {
            text += &format!("(sum {pile} {number} {})\n", pile + number);
        }
    }
    text += "(chance afterRed) (chance afterBlue) (number 1) (number 2) (number 3)
        (<= (base (turn ?t)) (follows ?t ?next))
        (<= (base (last ?role)) (role ?role))
        (<= (input ?role (add ?n)) (role ?role) (number ?n))
        (<= (input ?role wait) (role ?role))
        (<= (legal ?role (add ?n)) (role ?role) (true (turn ?role)) (number ?n))
        (<= (legal ?role wait) (role ?role) (distinct ?role random) (not (true (turn ?role))))
        (<= (legal random (add 1)) (true (turn ?t)) (chance ?t))
        (<= (legal random (add 2)) (true (turn ?t)) (chance ?t))
        (<= (legal random wait) (true (turn ?t)) (not (chance ?t)))
        (<= (next (turn ?next)) (true (turn ?t)) (follows ?t ?next))
        (<= (next (last ?role)) (does ?role (add ?n)))
        (<= (next (pile ?m)) (does ?role (add ?n)) (true (pile ?k)) (sum ?k ?n ?m))
        (<= full (true (pile ?k)) (large ?k))
        (large 12) (large 13) (large 14)
        (<= terminal full)
        (other red blue) (other blue red)
        (<= (goal ?role 100) (true (last ?role)) (distinct ?role random))
        (<= (goal ?role 0) (other ?role ?other) (true (last ?other)))
        (<= (goal ?role 50) (other ?role ?other) (true (last random)))
        (goal random 0)\n";
    text
}

#[test]
fn wins_are_played_where_chance_moves_next() {
    let mut lanes = Lanes::of_text(&pile());
    let machine = Arc::clone(&lanes.machine);
    let mut reasoner = Arc::clone(&machine).reasoner();
    let mut state = machine.initial_state();
    for texts in [
        ["(add 1)", "wait", "wait"],
        ["wait", "wait", "(add 2)"],
        ["wait", "(add 2)", "wait"],
        ["wait", "wait", "(add 2)"],
        ["(add 2)", "wait", "wait"],
        ["wait", "wait", "(add 1)"],
    ] {
        let moves: Vec<MoveId> = texts
            .iter()
            .zip(0..)
            .map(|(text, role)| {
                machine
                    .info()
                    .find_move(RoleId(role), text)
                    .expect("a move")
            })
            .collect();
        let mut next = Vec::new();
        reasoner.set_state(&state);
        reasoner.next_state(&moves, &mut next);
        state = next;
    }
    let tally = lanes.play(&state, FROM_A_WIN);
    // Blue is to move at 10 and wins by adding 2 or 3.
    let all = 100 * u64::from(FROM_A_WIN);
    assert_eq!(tally.totals, [0, all, 0]);
    assert_eq!(tally.steps, u64::from(FROM_A_WIN));
}

/// Two riders leave trails on a board of four by four cells, and crash into trails, into each other
/// and over the edge.
fn trails() -> String {
    let mut text = "(role red) (role blue) (init (at red 1 2)) (init (at blue 4 3))\n".to_string();
    for x in 1..=4i32 {
        for y in 1..=4i32 {
            text += &format!("(base (trail {x} {y})) (base (at red {x} {y}))\n");
            text += &format!("(base (at blue {x} {y}))\n");
            for (way, dx, dy) in [("n", 0, 1), ("s", 0, -1), ("e", 1, 0), ("w", -1, 0)] {
                let (to_x, to_y) = (x + dx, y + dy);
                if (1..=4).contains(&to_x) && (1..=4).contains(&to_y) {
                    text += &format!("(leads {way} {x} {y} {to_x} {to_y})\n");
                }
            }
        }
    }
    text += "(way n) (way s) (way e) (way w)
        (<= (input ?role (go ?way)) (role ?role) (way ?way))
        (<= (legal ?role (go ?way)) (role ?role) (way ?way))
        (<= (next (trail ?x ?y)) (true (trail ?x ?y)))
        (<= (next (trail ?x ?y)) (true (at ?role ?x ?y)))
        (<= (next (at ?role ?u ?v)) (does ?role (go ?way)) (true (at ?role ?x ?y))
          (leads ?way ?x ?y ?u ?v))
        (<= met (true (at red ?x ?y)) (true (at blue ?x ?y)))
        (<= (safe ?role) (true (at ?role ?x ?y)) (not (true (trail ?x ?y))) (not met))
        (<= terminal (role ?role) (not (safe ?role)))
        (other red blue) (other blue red)
        (<= (goal ?role 100) (other ?role ?other) (safe ?role) (not (safe ?other)))
        (<= (goal ?role 0) (other ?role ?other) (not (safe ?role)) (safe ?other))
        (<= (goal ?role 50) (other ?role ?other) (not (safe ?role)) (not (safe ?other)))
        (<= (goal ?role 50) (role ?role) (safe red) (safe blue))\n";
    text
}

/// The moves of both roles among which they choose in the slow twin, and all.
fn at_once(twin: &mut Twin, state: &[u64]) -> [Vec<MoveId>; 2] {
    twin.reasoner.set_state(state);
    let legal = [0, 1].map(|role| twin.reasoner.legal_moves(RoleId(role)).to_vec());
    [0, 1].map(|role| {
        let of_moves: Vec<(bool, bool)> = legal[role]
            .iter()
            .map(|&mv| {
                let ends: Vec<Option<u8>> = legal[1 - role]
                    .iter()
                    .map(|&reply| {
                        let mut joint_move = [mv, reply];
                        if role == 1 {
                            joint_move.reverse();
                        }
                        let mut next = Vec::new();
                        twin.reasoner.set_state(state);
                        twin.reasoner.next_state(&joint_move, &mut next);
                        twin.is_over(&next).then(|| twin.goals(&next)[role])
                    })
                    .collect();
                let wins = ends.iter().all(|&end| end == Some(100));
                let fails = ends.iter().all(|&end| end.is_some_and(|goal| goal < 100));
                (wins, fails)
            })
            .collect();
        let moves = legal[role].iter().zip(&of_moves);
        let wins: Vec<MoveId> = moves
            .clone()
            .filter_map(|(&mv, &(wins, _))| wins.then_some(mv))
            .collect();
        let good: Vec<MoveId> = moves
            .filter_map(|(&mv, &(_, fails))| (!fails).then_some(mv))
            .collect();
        match (wins.is_empty(), good.is_empty()) {
            (false, _) => wins,
            (true, false) => good,
            (true, true) => legal[role].clone(),
        }
    })
}

#[test]
fn moves_that_end_the_game_whatever_the_others_do_are_avoided() {
    let mut lanes = Lanes::of_text(&trails());
    let mut twin = lanes.twin();
    let start = twin.machine.initial_state();
    let mut random = Random::new(2);
    let slowly = (0..2_000).map(|_| {
        let mut state = start.clone();
        let mut steps = 0.0;
        while !twin.is_over(&state) {
            let moves = at_once(&mut twin, &state);
            let joint_move = moves.map(|moves| moves[random.below(moves.len() as u32) as usize]);
            let mut next = Vec::new();
            twin.reasoner.set_state(&state);
            twin.reasoner.next_state(&joint_move, &mut next);
            state = next;
            steps += 1.0;
        }
        [steps, f64::from(twin.goals(&state)[0])]
    });
    let slowly: Vec<[f64; 2]> = slowly.collect();
    lanes.assert_alike("trails", &slowly);
}
