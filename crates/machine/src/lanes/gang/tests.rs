//! Gangs held to the counter engine, lane by lane and step by step.

use super::*;
use crate::compile::CounterLayout;
use crate::counter::CounterMachine;
use crate::lanes::compile::{GangPrograms, PlayoutPolicy, compile, is_in_lockstep};
use crate::{Machine, Reasoner};
use panza_propnet::{Network, passes};

use panza_gdl::MoveId;

/// Programs whose playouts choose uniformly, without limits on their compilation.
fn uniform(
    network: &Network,
    phases: Option<&panza_propnet::Phases>,
    mean_length: f64,
) -> GangPrograms {
    let (policy, budget) = (PlayoutPolicy::Uniform, panza_sync::Budget::generous());
    compile(network, phases, mean_length, policy, &budget).unwrap()
}

/// The network of some rules.
fn network(rules: &str) -> Network {
    let (rules, _) = panza_gdl::load(rules);
    let budget = panza_sync::Budget::generous();
    let program = panza_ground::ground(&rules, &budget).unwrap();
    passes::optimise(panza_propnet::build(&program, &budget).unwrap(), &budget)
}

/// Checks each step of a gang of 256.
struct Checker {
    gang: Gang<4>,
    reasoner: Box<dyn Reasoner>,
    n_roles: usize,
    checked: usize,
}

impl Checker {
    fn new(network: &Network, phases: Option<&panza_propnet::Phases>) -> Self {
        let programs = uniform(network, phases, 40.0);
        let layout = GangLayout::new(&programs, network.roles.len(), Features::Portable, 4);
        let machine = Arc::new(CounterMachine::new(CounterLayout::compile(network)));
        let initial = machine.initial_state();
        let mut gang = Gang::new(Arc::new(layout), &mut Random::new(1), 200);
        gang.submit(&initial, 400).unwrap();
        Self {
            gang,
            n_roles: network.roles.len(),
            reasoner: (machine as Arc<dyn Machine>).reasoner(),
            checked: 0,
        }
    }

    /// The state that a lane has in a bank.
    fn state(bank: &[Vector<4>], lane: usize) -> Vec<u64> {
        let mut state = vec![0u64; bank.len().div_ceil(64)];
        for (base, vector) in bank.iter().enumerate() {
            state[base / 64] |= (vector[lane / 64] >> (lane % 64) & 1) << (base % 64);
        }
        state
    }

    fn number(slots: &[Vector<4>], lane: usize) -> usize {
        slots
            .iter()
            .enumerate()
            .map(|(digit, vector)| ((vector[lane / 64] >> (lane % 64) & 1) << digit) as usize)
            .sum()
    }

    /// Makes a step as the gang does, and compares all that is in sight.
    fn step(&mut self) {
        let layout = Arc::clone(&self.gang.layout);
        if !is_any(&self.gang.live) {
            self.gang.step();
            return;
        }
        let phase = &layout.phases[self.gang.phase];
        let side = self.gang.side;
        let mut memory = self.gang.memory.clone();
        phase.look.run(&mut memory, side);
        let now = memory.now(side).to_vec();
        for lane in lanes(&self.gang.live) {
            let state = Self::state(&now, lane);
            self.reasoner.set_state(&state);
            let is_terminal = self.reasoner.is_terminal();
            if phase.end.is_some() {
                assert!(
                    !is_terminal,
                    "a lane in play has ended: {lane} at {}",
                    self.gang.clock
                );
            }
            let mut is_stuck = false;
            for role in 0..self.n_roles {
                let role = RoleId::from_index(role);
                let n_legal = self.reasoner.legal_moves(role).len();
                is_stuck |= n_legal == 0;
                if let Some(choice) = phase.choices.iter().find(|choice| choice.role == role) {
                    let slots =
                        &memory.slots()[choice.count.start as usize..choice.count.end as usize];
                    assert_eq!(
                        Self::number(slots, lane),
                        n_legal,
                        "legal moves of {role:?} in lane {lane} at {}",
                        self.gang.clock
                    );
                }
            }
            if let Some(over) = phase.over {
                let over = memory.slots()[over][lane / 64] >> (lane % 64) & 1 == 1;
                assert_eq!(
                    over,
                    is_stuck || is_terminal && phase.end.is_none(),
                    "over in lane {lane} at {}",
                    self.gang.clock
                );
            } else {
                assert!(!is_stuck);
            }
            self.checked += 1;
        }
        // The ranks that the gang is going to draw.
        let mut live = self.gang.live;
        if let Some(over) = phase.over {
            let over = memory.slots()[over];
            live = combine(live, over, over, |live, over, _| live & !over);
        }
        let mut random = self.gang.random.clone();
        for choice in &phase.choices {
            let (before, rank) = memory.slots().split_at_mut(choice.rank.start as usize);
            let count = &before[choice.count.start as usize..choice.count.end as usize];
            draw_ranks(&mut random, count, &live, &mut rank[..count.len()]);
        }
        self.gang.step();
        let mut moved = self.gang.memory.clone();
        let started = self.gang.started.clone();
        for lane in lanes(&live) {
            if started[lane] == self.gang.clock || self.gang.live[lane / 64] >> (lane % 64) & 1 == 0
            {
                continue;
            }
            let state = Self::state(&now, lane);
            self.reasoner.set_state(&state);
            let mut joint_move: Vec<MoveId> = Vec::new();
            for role in 0..self.n_roles {
                let role = RoleId::from_index(role);
                let legal = self.reasoner.legal_moves(role).to_vec();
                match phase.choices.iter().find(|choice| choice.role == role) {
                    Some(choice) => {
                        let slots = choice.rank.start as usize..choice.rank.end as usize;
                        let rank = Self::number(&memory.slots()[slots], lane);
                        let mut of_choice = choice.moves.iter().filter(|mv| legal.contains(mv));
                        joint_move.push(*of_choice.nth(rank).unwrap());
                    }
                    None => joint_move.push(legal[0]),
                }
            }
            let mut next = Vec::new();
            self.reasoner.next_state(&joint_move, &mut next);
            let bank = moved.now(self.gang.side).to_vec();
            assert_eq!(
                Self::state(&bank, lane),
                next,
                "next state of lane {lane} at {}",
                self.gang.clock
            );
        }
    }
}

fn game(name: &str) -> Network {
    network(panza_gdl_games::rulesheet(name).unwrap())
}

#[test]
#[cfg_attr(miri, ignore = "too many gates for it")]
fn every_lane_of_every_step_is_as_the_counters_have_it() {
    let budget = panza_sync::Budget::generous();
    for (name, rules) in panza_gdl_games::EMBEDDED {
        let network = network(rules);
        let phases = panza_propnet::phases(&network, &budget).filter(is_in_lockstep);
        let is_large = network.gates.len() > 20_000;
        for phases in [None, phases.as_ref()] {
            let mut checker = Checker::new(&network, phases);
            for _ in 0..if is_large { 3 } else { 70 } {
                checker.step();
            }
            assert!(checker.checked > 500, "{name}: {}", checker.checked);
        }
    }
}

/// Plays so many playouts from the start, in requests of the given sizes one after the other.
fn play(
    layout: &Arc<GangLayout>,
    initial: &[u64],
    seed: u64,
    requests: &[u32],
) -> Vec<PlayoutTotals> {
    let mut gang = layout.gang(&mut Random::new(seed), 1_000);
    let tickets: Vec<PlayoutTicket> = requests
        .iter()
        .map(|&samples| gang.submit(initial, samples).unwrap())
        .collect();
    let mut tallies = vec![PlayoutTotals::default(); requests.len()];
    let mut n_done = 0;
    for _ in 0..1_000_000 {
        let mut tally = PlayoutTotals::default();
        while let Some(ticket) = gang.take_finished(&mut tally) {
            let place = tickets.iter().position(|&other| other == ticket).unwrap();
            tallies[place] = tally.clone();
            n_done += 1;
        }
        if n_done == requests.len() {
            assert_eq!(gang.n_outstanding(), 0);
            return tallies;
        }
        gang.advance();
    }
    panic!("{n_done} of {} requests were answered", requests.len());
}

fn initial_state(network: &Network) -> Vec<u64> {
    let mut state = vec![0u64; network.facts.len().div_ceil(64)];
    for base in &network.initial {
        state[base.index() / 64] |= 1 << (base.index() % 64);
    }
    state
}

#[test]
#[cfg_attr(miri, ignore = "too many gates for it")]
fn a_seed_and_a_width_fix_the_playouts_whatever_the_processor_has() {
    for name in [
        "ticTacToe",
        "connectFourSimultaneous",
        "pentago",
        "pathRace",
    ] {
        let network = game(name);
        let phases = panza_propnet::phases(&network, &panza_sync::Budget::generous());
        let phases = phases.filter(is_in_lockstep);
        let programs = uniform(&network, phases.as_ref(), 20.0);
        let initial = initial_state(&network);
        let mut of_width = Vec::new();
        for n_words in [4, 8, 16] {
            let tallies = |features: Features, seed: u64| {
                let layout = GangLayout::new(&programs, network.roles.len(), features, n_words);
                play(&Arc::new(layout), &initial, seed, &[700, 1, 0x300])
            };
            let portable = tallies(Features::Portable, 5);
            let sums: Vec<u32> = portable.iter().map(|tally| tally.playouts).collect();
            assert_eq!(sums, [700, 1, 0x300]);
            for features in [Features::Portable, Features::Avx2, Features::Avx512] {
                if features <= Features::detect() {
                    assert_eq!(
                        tallies(features, 5),
                        portable,
                        "{name} {features:?} {n_words}"
                    );
                }
            }
            assert_ne!(tallies(Features::Portable, 6), portable);
            of_width.push(portable);
        }
        assert_ne!(of_width[0], of_width[1]);
    }
}

#[test]
#[cfg_attr(miri, ignore = "too many playouts for it")]
fn goals_and_lengths_agree_with_the_counters() {
    for name in [
        "ticTacToe",
        "connectFour",
        "breakthrough",
        "eightPuzzle",
        "biddingTicTacToe",
        "pathRace",
    ] {
        let network = game(name);
        let phases = panza_propnet::phases(&network, &panza_sync::Budget::generous());
        let phases = phases.filter(is_in_lockstep);
        let programs = uniform(&network, phases.as_ref(), 20.0);
        let layout = GangLayout::new(&programs, network.roles.len(), Features::detect(), 8);
        let initial = initial_state(&network);
        // Many requests show the spread of their means.
        let n_requests = 64;
        let tallies = play(&Arc::new(layout), &initial, 1, &vec![500; n_requests]);
        let machine = Arc::new(CounterMachine::new(CounterLayout::compile(&network)));
        let mut reasoner = (machine as Arc<dyn Machine>).reasoner();
        let mut random = Random::new(2);
        let mut goals = vec![0; network.roles.len()];
        let n_counted = 6_000;
        let mut counted: Vec<Vec<f64>> = Vec::new();
        for _ in 0..n_counted {
            reasoner.set_state(&initial);
            let end = reasoner.playout(&mut random, 1_000, &mut goals);
            let crate::PlayoutEnd::Finished { steps } = end else {
                panic!("{name} has no end");
            };
            let of_goals = goals.iter().map(|&goal| f64::from(goal));
            counted.push(of_goals.chain([f64::from(steps)]).collect());
        }
        for column in 0..=network.roles.len() {
            let of_lanes: Vec<f64> = tallies
                .iter()
                .map(|tally| match tally.totals.get(column) {
                    Some(&total) => total as f64 / f64::from(tally.playouts),
                    None => tally.steps as f64 / f64::from(tally.playouts),
                })
                .collect();
            let of_counters: Vec<f64> = counted.iter().map(|row| row[column]).collect();
            let (left, left_error) = mean_and_error(&of_lanes);
            let (right, right_error) = mean_and_error(&of_counters);
            let error = (left_error.powi(2) + right_error.powi(2)).sqrt();
            assert!(
                (left - right).abs() <= 4.0 * error + 1e-9,
                "{name}, column {column}: {left} and {right}, standard error {error}"
            );
        }
    }
}

/// The mean of independent numbers, and its standard error.
fn mean_and_error(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares = numbers.iter().map(|number| (number - mean).powi(2));
    (mean, (squares.sum::<f64>() / (count - 1.0) / count).sqrt())
}

/// Rules in which the one role picks one of some things at the start, of which so many are
/// forbidden.
fn pick_one_of(n_moves: usize, n_forbidden: usize) -> String {
    let mut rules = String::from(
        "(role chooser) (init (open)) (<= (base (open))) (<= (base (picked ?x)) (thing ?x))
        (<= (input chooser (pick ?x)) (thing ?x))
        (<= (legal chooser (pick ?x)) (true (open)) (thing ?x) (not (forbidden ?x)))
        (<= (next (picked ?x)) (does chooser (pick ?x)))
        (<= terminal (not (true (open)))) (goal chooser 100)",
    );
    for index in 0..n_moves + n_forbidden {
        rules += &format!(" (thing t{index})");
        // Forbidden things stand between the others, so that groups of moves are seldom whole.
        if n_forbidden > 0 && index % ((n_moves + n_forbidden) / n_forbidden) == 0 {
            rules += &format!(" (forbidden t{index})");
        }
    }
    rules
}

#[test]
#[cfg_attr(miri, ignore = "too many draws for it")]
fn every_legal_move_is_as_likely_as_any_other() {
    for n_moves in [1, 2, 3, 63, 64, 65, 300] {
        let network = network(&pick_one_of(n_moves, 0));
        let programs = uniform(&network, None, 1.0);
        let layout = GangLayout::new(&programs, 1, Features::detect(), 8);
        let mut gang = Gang::<8>::new(Arc::new(layout), &mut Random::new(n_moves as u64), 10);
        let initial = initial_state(&network);
        let mut seen = vec![0u64; network.facts.len()];
        let n_rounds = 400;
        for _ in 0..n_rounds {
            // The state after the step is where every lane ended, and stays in its bank until lanes
            // are filled again.
            gang.submit(&initial, 512).unwrap();
            gang.advance();
            let side = gang.side;
            for (seen, vector) in seen.iter_mut().zip(gang.memory.now(side)) {
                *seen += vector
                    .iter()
                    .map(|word| u64::from(word.count_ones()))
                    .sum::<u64>();
            }
            assert!(!is_any(&gang.live));
            let mut tally = PlayoutTotals::default();
            assert!(gang.take_finished(&mut tally).is_some());
            assert_eq!((tally.playouts, tally.steps), (512, 512));
        }
        let picked: Vec<u64> = network
            .facts
            .enumerate()
            .filter(|(_, text)| text.contains("picked"))
            .map(|(base, _)| seen[base.index()])
            .collect();
        assert_eq!(picked.len(), n_moves);
        assert_eq!(picked.iter().sum::<u64>(), 512 * n_rounds);
        let expected = (512 * n_rounds) as f64 / n_moves as f64;
        let sum: f64 = picked
            .iter()
            .map(|&picked| (picked as f64 - expected).powi(2) / expected)
            .sum();
        let freedom = n_moves as f64 - 1.0;
        assert!(
            (sum - freedom).abs() <= 4.0 * (2.0 * freedom).sqrt(),
            "{n_moves} moves: chi-squared {sum} at {freedom} degrees of freedom"
        );
    }
}

#[test]
fn playouts_are_cut_off_at_the_limit_and_counted() {
    // A game without an end.
    let network = network(
        "(role r) (init (p)) (legal r a) (legal r b) (next (p)) (<= (goal r 30) (true (p))) (<= terminal (true (q)))
        (<= (next (q)) (true (q))) (<= (base (p))) (<= (base (q))) (input r a) (input r b)",
    );
    let programs = uniform(&network, None, 40.0);
    let layout = GangLayout::new(&programs, 1, Features::Portable, 4);
    let mut gang = Arc::new(layout).gang(&mut Random::new(1), 7);
    let initial = initial_state(&network);
    gang.submit(&initial, 300).unwrap();
    let mut tally = PlayoutTotals::default();
    for _ in 0..40 {
        gang.advance();
        if gang.take_finished(&mut tally).is_some() {
            break;
        }
    }
    let expected = PlayoutTotals {
        totals: vec![300 * 30],
        playouts: 300,
        steps: 300 * 7,
        cut_off: 300,
        ..PlayoutTotals::default()
    };
    assert_eq!(tally, expected);
}

#[test]
fn states_in_which_nothing_can_be_played_end_at_once() {
    for name in ["ticTacToe", "knightsTour"] {
        let network = game(name);
        let phases = panza_propnet::phases(&network, &panza_sync::Budget::generous());
        let phases = phases.filter(is_in_lockstep);
        let programs = uniform(&network, phases.as_ref(), 10.0);
        let layout = Arc::new(GangLayout::new(
            &programs,
            network.roles.len(),
            Features::Portable,
            4,
        ));
        let machine = Arc::new(CounterMachine::new(CounterLayout::compile(&network)));
        let mut reasoner = (machine.clone() as Arc<dyn Machine>).reasoner();
        let mut random = Random::new(3);
        let mut goals = vec![0; network.roles.len()];
        // The reasoner stands on the last state of its playout.
        for _ in 0..20 {
            let mut state = machine.initial_state();
            loop {
                reasoner.set_state(&state);
                let legal: Vec<Vec<MoveId>> = (0..network.roles.len())
                    .map(|role| reasoner.legal_moves(RoleId::from_index(role)).to_vec())
                    .collect();
                if reasoner.is_terminal() || legal.iter().any(Vec::is_empty) {
                    break;
                }
                let joint_move: Vec<MoveId> = legal
                    .iter()
                    .map(|legal| legal[random.below(legal.len() as u32) as usize])
                    .collect();
                let mut next = Vec::new();
                reasoner.next_state(&joint_move, &mut next);
                state = next;
            }
            let end = reasoner.playout(&mut random, 10, &mut goals);
            assert_eq!(end, crate::PlayoutEnd::Finished { steps: 0 });
            let mut gang = layout.gang(&mut Random::new(1), 10);
            // More than there are lanes.
            let Some(ticket) = gang.submit(&state, 600) else {
                panic!("{name}: the state is in no phase");
            };
            let mut tally = PlayoutTotals::default();
            for _ in 0..10 {
                gang.advance();
            }
            assert_eq!(gang.take_finished(&mut tally), Some(ticket));
            assert_eq!((tally.playouts, tally.steps), (600, 0));
            let totals: Vec<u64> = goals.iter().map(|&goal| 600 * u64::from(goal)).collect();
            assert_eq!(tally.totals, totals);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too many playouts for it")]
fn each_final_state_is_observed_once_with_its_goals() {
    let network = game("ticTacToe");
    let programs = uniform(&network, None, 20.0);
    let layout = Arc::new(GangLayout::new(&programs, 2, Features::detect(), 8));
    let mut gang = layout.gang(&mut Random::new(3), 100);
    let cell = "(cell 2 2 ";
    let is_of_cell = |fact: &String| fact.starts_with(cell);
    let of_cell = network.facts.enumerate();
    let of_cell: Vec<BaseId> = of_cell
        .filter(|(_, fact)| is_of_cell(fact))
        .map(|(base, _)| base)
        .collect();
    assert_eq!(of_cell.len(), 3);
    gang.observe(&of_cell);
    let requests = [200, 31, 1];
    for samples in requests {
        gang.submit(&initial_state(&network), samples).unwrap();
    }
    let mut tally = PlayoutTotals::default();
    let mut n_done = 0;
    for _ in 0..1_000 {
        gang.advance();
        while gang.take_finished(&mut tally).is_some() {
            n_done += 1;
            // The cell is marked by x, by o, or blank.
            assert_eq!(tally.observed.iter().sum::<u32>(), tally.playouts);
            for role in 0..2 {
                let of_role = tally.observed_totals.iter().skip(role).step_by(2);
                let sum: u32 = of_role.sum();
                assert_eq!(u64::from(sum), tally.totals[role]);
            }
        }
    }
    assert_eq!(n_done, requests.len());
}
