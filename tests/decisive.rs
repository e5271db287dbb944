//! Playouts in which roles take winning moves and avoid moves that let the other role win, compared
//! with a slow implementation that examines every move and every reply on the counters.

use std::sync::Arc;

use panza::arena::engine_choice::build_machine;
use panza::arena::game_source::Game;
use panza::build::{self, PlayoutPolicy};
use panza::ground::Budget;
use panza::ids::{MoveId, RoleId};
use panza::machine::lanes::gang::GangLayout;
use panza::machine::lanes::interpret::Features;
use panza::machine::random::Random;
use panza::machine::{Machine, PlayoutTotals, Reasoner};

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

/// Compares both on one of our games.
fn compare(name: &str) {
    let game = Game::load(name).expect("the game is one of ours");
    let machine = build_machine(&game.rules).expect("it has a network");
    let budget = Budget::generous();
    let compiled = build::compile(&game.rules, budget).expect("it has a network");
    let programs = compiled.lanes.programs(budget, PlayoutPolicy::Decisive);
    let programs = programs.expect("it fits lanes");
    let even = compiled.lanes.programs(budget, PlayoutPolicy::Uniform);
    let even = even.expect("it fits lanes").n_operations();
    assert!(
        programs.n_operations() > even,
        "{name}: nothing is seen of wins"
    );
    let layout = Arc::new(GangLayout::new(&programs, 2, Features::detect(), 4));
    let mut gang = layout.gang(&mut Random::new(1), MAX_STEPS);
    let mut play = |state: &[u64], samples: u32| {
        let mut tally = PlayoutTotals::default();
        gang.submit(state, samples).expect("the state is in play");
        while gang.take_finished(&mut tally).is_none() {
            gang.advance();
        }
        tally
    };
    let mut twin = Twin {
        reasoner: Arc::clone(&machine).reasoner(),
        machine,
    };
    // Whoever can win wins.
    let mut random = Random::new(2);
    let mut n_wins = 0;
    while n_wins < 40 {
        let mut state = twin.machine.initial_state();
        while !twin.is_over(&state) {
            let turn = twin.turn(&state);
            if turn.wins.contains(&true) {
                let tally = play(&state, FROM_A_WIN);
                assert_eq!(tally.totals[turn.mover], 100 * u64::from(FROM_A_WIN));
                assert_eq!(tally.steps, u64::from(FROM_A_WIN));
                n_wins += 1;
            }
            let index = random.below(turn.after.len() as u32) as usize;
            state.clone_from(&turn.after[index]);
        }
    }
    // Whole playouts are alike on average.
    let played: Vec<[f64; 2]> = (0..PLAYOUTS).map(|_| twin.playout(&mut random)).collect();
    let tally = play(&twin.machine.initial_state(), ABREAST);
    let abreast = [tally.steps, tally.totals[0]].map(|sum| sum as f64 / f64::from(ABREAST));
    for (index, what) in ["length", "goal"].into_iter().enumerate() {
        let count = f64::from(PLAYOUTS);
        let mean = played.iter().map(|one| one[index]).sum::<f64>() / count;
        let squares = played.iter().map(|one| (one[index] - mean).powi(2));
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

#[test]
fn moves_that_win_in_some_positions_are_played_and_prevented() {
    compare("connectFour");
}

#[test]
fn moves_that_win_whenever_legal_are_played_and_prevented() {
    compare("breakthrough");
}
