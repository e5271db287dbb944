//! Compares lane playouts with the exact distribution that the rules give.
//!
//! In a small game the expected goals and lengths of random playouts follow by backward induction
//! from every state. Requests from many states, terminal ones among them, enter a gang while it
//! plays. The means have to be within the statistical error of the expected values.

use std::collections::HashMap;
use std::sync::Arc;

use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::lanes::compile::{compile, is_in_lockstep};
use panza_machine::lanes::interpret::Features;
use panza_machine::{
    CounterLayout, CounterMachine, GangLayout, Machine, PlayoutPolicy, PlayoutTicket,
    PlayoutTotals, Reasoner,
};
use panza_propnet::{Network, Phases};
use panza_sync::{Budget, Random};

/// Games with more states are left out.
const MAX_STATES: usize = 3_000;
/// No game of the generator is longer.
const MAX_STEPS: u32 = 20;
/// Requests to a gang.
const REQUESTS: usize = 60;

type State = Vec<u64>;

/// Mean and mean square of something after random play.
#[derive(Clone, Copy, Debug, Default)]
struct Chance {
    mean: f64,
    square: f64,
}

impl Chance {
    fn sure(value: f64) -> Self {
        Self {
            mean: value,
            square: value * value,
        }
    }

    /// Adds what has this share of all chances, with something more on top of it.
    fn add(&mut self, share: f64, other: Chance, more: f64) {
        self.mean += share * (other.mean + more);
        self.square += share * (other.square + 2.0 * more * other.mean + more * more);
    }
}

/// Per state, the chances of each role's goal and, last, of the playout's length.
struct Chances {
    reasoner: Box<dyn Reasoner>,
    n_roles: usize,
    of: HashMap<State, Vec<Chance>>,
}

impl Chances {
    /// Works out a state and all that can come after it; false when those are too many.
    fn work_out(&mut self, state: &State) -> bool {
        if self.of.contains_key(state) {
            return true;
        }
        if self.of.len() >= MAX_STATES {
            return false;
        }
        let roles = || (0..self.n_roles).map(RoleId::from_index);
        self.reasoner.set_state(state);
        let mut legal: Vec<Vec<MoveId>> = Vec::new();
        for role in roles() {
            legal.push(self.reasoner.legal_moves(role).to_vec());
        }
        let n_joint: usize = legal.iter().map(Vec::len).product();
        if self.reasoner.is_terminal() || n_joint == 0 {
            let mut goals = vec![None; self.n_roles];
            self.reasoner.goals(&mut goals);
            let goals = goals.iter().map(|goal| f64::from(goal.unwrap_or(0)));
            let chances = goals.chain([0.0]).map(Chance::sure).collect();
            self.of.insert(state.clone(), chances);
            return true;
        }
        let mut nexts: HashMap<State, f64> = HashMap::new();
        for index in 0..n_joint {
            let mut rest = index;
            let choose = |legal: &Vec<MoveId>| {
                let mv = legal[rest % legal.len()];
                rest /= legal.len();
                mv
            };
            let joint_move: Vec<MoveId> = legal.iter().map(choose).collect();
            let mut next = State::new();
            self.reasoner.next_state(&joint_move, &mut next);
            *nexts.entry(next).or_default() += 1.0 / n_joint as f64;
        }
        let mut chances = vec![Chance::default(); self.n_roles + 1];
        for (next, share) in nexts {
            if !self.work_out(&next) {
                return false;
            }
            for (column, (chance, &other)) in chances.iter_mut().zip(&self.of[&next]).enumerate() {
                let more = if column == self.n_roles { 1.0 } else { 0.0 };
                chance.add(share, other, more);
            }
        }
        self.of.insert(state.clone(), chances);
        true
    }
}

/// Compares gangs on the whole game, and on its phases where those are for lanes.
pub fn compare(network: &Network, seed: u64) {
    let machine = Arc::new(CounterMachine::new(CounterLayout::compile(network)));
    let initial = machine.initial_state();
    let mut chances = Chances {
        n_roles: machine.info().n_roles(),
        reasoner: machine.reasoner(),
        of: HashMap::new(),
    };
    if !chances.work_out(&initial) {
        return;
    }
    let mut random = Random::new(seed);
    compare_gang(network, None, &chances, &mut random);
    let phases = panza_propnet::phases(network, &Budget::generous()).filter(is_in_lockstep);
    if let Some(phases) = phases {
        compare_gang(network, Some(&phases), &chances, &mut random);
    }
}

fn compare_gang(
    network: &Network,
    phases: Option<&Phases>,
    chances: &Chances,
    random: &mut Random,
) {
    let features = [Features::Portable, Features::Avx2, Features::Avx512];
    let features = features[random.below(3) as usize];
    let n_words = [4, 8, 16][random.below(3) as usize];
    let mean_length = [1.0, 1_000.0][random.below(2) as usize];
    let place = format!(
        "{features:?}, {n_words} words, phases: {}",
        phases.is_some()
    );
    let programs = compile(
        network,
        phases,
        mean_length,
        PlayoutPolicy::Uniform,
        &Budget::generous(),
    )
    .expect("the game is small");
    let layout = GangLayout::new(&programs, chances.n_roles, features, n_words);
    let mut gang = Arc::new(layout).gang(random, MAX_STEPS);
    let mut states: Vec<&State> = chances.of.keys().collect();
    states.sort_unstable();
    // What was asked for by ticket, and the sums by state.
    let mut asked: HashMap<PlayoutTicket, (&State, u32)> = HashMap::new();
    let mut sums: HashMap<&State, PlayoutTotals> = HashMap::new();
    let mut n_left = REQUESTS;
    let mut tally = PlayoutTotals::default();
    while n_left > 0 || !asked.is_empty() {
        for _ in 0..random.below(4).min(n_left as u32) {
            n_left -= 1;
            let state = states[random.below(states.len() as u32) as usize];
            let most = [1, 10, 2_000][random.below(3) as usize];
            let samples = 1 + random.below(most);
            if let Some(ticket) = gang.submit(state, samples) {
                let before = asked.insert(ticket, (state, samples));
                assert!(before.is_none(), "{place}: a ticket twice");
            }
        }
        gang.advance();
        while let Some(ticket) = gang.take_finished(&mut tally) {
            let (state, samples) = asked.remove(&ticket).expect("the ticket was given");
            assert_eq!((tally.playouts, tally.cut_off), (samples, 0), "{place}");
            let sum = sums.entry(state).or_default();
            sum.totals.resize(chances.n_roles, 0);
            for (sum, total) in sum.totals.iter_mut().zip(&tally.totals) {
                *sum += total;
            }
            sum.playouts += tally.playouts;
            sum.steps += tally.steps;
        }
    }
    assert_eq!(gang.n_outstanding(), 0, "{place}");
    for (state, sum) in sums {
        for (column, &chance) in chances.of[state].iter().enumerate() {
            let (total, range) = match sum.totals.get(column) {
                Some(&total) => (total, 100.0),
                None => (sum.steps, f64::from(MAX_STEPS)),
            };
            let n = f64::from(sum.playouts);
            let variance = (chance.square - chance.mean * chance.mean).max(0.0);
            // Bernstein's inequality: further away once in 10^10 times.
            let far = (48.0 * variance / n).sqrt()
                + if variance > 1e-9 {
                    16.0 * range / n
                } else {
                    0.0
                };
            let mean = total as f64 / n;
            assert!(
                (mean - chance.mean).abs() <= far + 1e-6,
                "{place}, {state:?}, column {column}: {mean} in {n} playouts, expected {chance:?}"
            );
        }
    }
}
