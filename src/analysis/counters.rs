//! Facts that go their way whatever is played: step counters and turns, and with them how long the
//! game can last.
//!
//! A fact is *autonomous* when its `next` reads no move and no fact that is not autonomous itself.
//! The autonomous facts then run through one fixed sequence of values from the start, which is
//! followed until it repeats itself, or until it says that the game must be over by then. (Sancho's
//! control propositions.)
//!
//! Invariants: what is told holds in every game that can be played from the initial state. Nothing
//! is sampled. Recursion counts as if it depended on moves.
//!
//! Never knows: what anybody plays.

use std::collections::HashSet;

use super::effort::Effort;
use super::implications::{Implications, Outcome, Scope, runs};
use crate::ids::{BaseId, Id};
use crate::propnet::{Network, Signal};

/// The longest turn order that counts as one.
const MAX_PERIOD: usize = 8;
/// The longest sequence that is followed.
const MAX_STEPS: usize = 1 << 14;

/// Facts that no move has a say in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Controls {
    /// Facts that are true at just one step of the game, in the order in which they are.
    pub step_counter: Vec<BaseId>,
    /// Facts that come and go in a fixed rhythm of at most eight steps.
    pub turn: Vec<BaseId>,
    /// Other facts that no move has a say in.
    pub others: Vec<BaseId>,
    /// The game is over after so many joint moves at the latest.
    pub horizon: Option<u32>,
    /// The game goes on for at least so many joint moves, or until some role has no legal move.
    pub earliest_end: u32,
}

impl Controls {
    /// The number of joint moves of every game, if all last equally long.
    pub fn exact_length(&self) -> Option<u32> {
        self.horizon.filter(|&horizon| horizon == self.earliest_end)
    }
}

/// Finds them. Nothing when the effort is spent.
pub fn controls(network: &Network, effort: &mut Effort) -> Option<Controls> {
    let mut going_on = Implications::new(network, Scope::Transitions, effort)?;
    let autonomous = autonomous(network, &going_on, effort)?;
    if autonomous.is_empty() {
        return Some(Controls::default());
    }
    let mut of_state = Implications::new(network, Scope::States, effort)?;
    let mut found = Controls::default();
    let mut may_have_ended = false;
    let mut values: Vec<bool> = autonomous
        .iter()
        .map(|base| network.initial.contains(base))
        .collect();
    let mut course: Vec<Vec<bool>> = Vec::new();
    let mut met: HashSet<Vec<bool>> = HashSet::new();
    while course.len() < MAX_STEPS && met.insert(values.clone()) {
        let step = course.len() as u32;
        course.push(values.clone());
        let signals = autonomous.iter().zip(&values).map(|(base, &value)| {
            let plain = Signal::of_node(1 + base.index());
            if value { plain } else { !plain }
        });
        let mark = of_state.mark();
        signals.clone().for_each(|signal| of_state.assume(signal));
        let outcome = of_state.propagate(effort);
        let is_over = of_state.value(network.terminal);
        of_state.undo_to(mark);
        if outcome == Outcome::OutOfEffort {
            return None;
        }
        if !may_have_ended {
            found.earliest_end = step;
            may_have_ended = is_over != Some(false);
        }
        let mark = going_on.mark();
        signals.for_each(|signal| going_on.assume(signal));
        let outcome = going_on.propagate(effort);
        if is_over == Some(true) || outcome == Outcome::Contradiction {
            found.horizon = Some(step);
            break;
        }
        let next = autonomous
            .iter()
            .map(|&base| going_on.value(network.next[base]));
        let next: Option<Vec<bool>> = next.collect();
        going_on.undo_to(mark);
        // What is autonomous is known, unless the effort is spent.
        values = next?;
    }
    if course.len() == MAX_STEPS {
        return None;
    }
    if found.horizon.is_none() {
        let start = course.iter().position(|met| *met == values).unwrap_or(0);
        for step in 0..3 * MAX_PERIOD {
            course.push(course[start + step].clone());
        }
    }
    sort_in(&autonomous, &course, &mut found);
    Some(found)
}

/// Bases whose `next` reads no move and no other base than these.
fn autonomous(
    network: &Network,
    known: &Implications<'_>,
    effort: &mut Effort,
) -> Option<Vec<BaseId>> {
    let first_move = 1 + network.facts.len();
    let first_gate = first_move + network.moves.len();
    let n_nodes = first_gate + network.gates.len();
    let pairs: Vec<(u32, u32)> = network
        .next
        .enumerate()
        .map(|(base, next)| (next.node_number() as u32, base.0))
        .collect();
    let (ends, next_of) = runs(n_nodes, &pairs);
    let mut depends = vec![false; n_nodes];
    let in_blocks = network.blocks.iter().flatten();
    let mut open: Vec<usize> = in_blocks
        .map(|gate| first_gate + gate.index())
        .chain(first_move..first_gate)
        .collect();
    while let Some(node) = open.pop() {
        let is_known = known.value(Signal::of_node(node)).is_some();
        if is_known || std::mem::replace(&mut depends[node], true) {
            continue;
        }
        let before = open.len();
        open.extend(known.users(node));
        let of_node = super::implications::run(&ends, node);
        open.extend(next_of[of_node].iter().map(|&base| 1 + base as usize));
        if !effort.spend(1 + (open.len() - before) as u64) {
            return None;
        }
    }
    let bases = network.facts.ids();
    Some(bases.filter(|base| !depends[1 + base.index()]).collect())
}

/// Tells from the course of their values which facts are which.
fn sort_in(autonomous: &[BaseId], course: &[Vec<bool>], found: &mut Controls) {
    let mut steps: Vec<(usize, BaseId)> = Vec::new();
    for (place, &base) in autonomous.iter().enumerate() {
        let value = |step: usize| course[step][place];
        let n_true = (0..course.len()).filter(|&step| value(step)).count();
        let changes = n_true > 0 && n_true < course.len();
        let has_period = |period: &usize| {
            course.len() >= 2 * period
                && (*period..course.len()).all(|step| value(step) == value(step - period))
        };
        if changes && (2..=MAX_PERIOD).any(|period| has_period(&period)) {
            found.turn.push(base);
        } else if n_true == 1 {
            let step = (0..course.len()).find(|&step| value(step));
            steps.push((step.unwrap_or(0), base));
        } else {
            found.others.push(base);
        }
    }
    steps.sort_unstable();
    found.step_counter = steps.into_iter().map(|(_, base)| base).collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{each_game, effort, network, own_game, play, texts};

    #[test]
    fn turns_are_no_step_counters() {
        let network = own_game("ticTacToe");
        let found = controls(&network, &mut effort()).unwrap();
        assert_eq!(
            texts(&network, found.turn.clone()),
            ["(control xplayer)", "(control oplayer)"]
        );
        assert!(found.step_counter.is_empty());
        assert_eq!((found.horizon, found.earliest_end), (None, 0));
    }

    #[test]
    fn the_last_step_ends_the_game() {
        let counted = "
            (role r) (init (step 1)) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5)
            (legal r a) (legal r b)
            (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
            (<= (next marked) (does r a)) (<= (next marked) (true marked))
            (<= terminal (true (step 4)) (true marked)) (<= terminal (true (step 5)))
            (<= (goal r 100) (true marked)) (<= (goal r 0) (not (true marked)))";
        let network = network(counted);
        let found = controls(&network, &mut effort()).unwrap();
        let steps = ["(step 1)", "(step 2)", "(step 3)", "(step 4)", "(step 5)"];
        assert_eq!(texts(&network, found.step_counter.clone()), steps);
        assert!(found.turn.is_empty() && found.others.is_empty());
        assert_eq!((found.earliest_end, found.horizon), (3, Some(4)));
        assert_eq!(found.exact_length(), None);
    }

    #[test]
    fn a_counter_that_moves_can_hold_up_is_none() {
        let held = "
            (role r) (init (step 1)) (succ 1 2) (succ 2 3) (legal r go) (legal r stay)
            (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n) (does r go))
            (<= (next (step ?n)) (true (step ?n)) (does r stay))
            (<= terminal (true (step 3))) (goal r 50)";
        let found = controls(&network(held), &mut effort()).unwrap();
        assert_eq!(found, Controls::default());
    }

    #[test]
    fn games_are_as_long_as_is_said() {
        each_game(|name, network| {
            let Some(found) = controls(network, &mut Effort::new(1 << 27, None)) else {
                println!("{name}: not known");
                return;
            };
            for game in play(network, 3, 200) {
                let length = game.moves.len() as u32;
                let horizon = found.horizon.unwrap_or(u32::MAX);
                assert!(length <= horizon, "{name}: {length} moves of {horizon}");
                if game.goals.is_some() {
                    assert!(length >= found.earliest_end, "{name}: only {length} moves");
                }
            }
        });
    }
}
