//! Autonomous facts: facts whose value never depends on any move, as step counters and turns, and
//! the bounds on the length of a game that follow from them.
//!
//! A fact is *autonomous* if its `next` reads no move and no fact that is not autonomous. The
//! autonomous facts run through one fixed sequence of values from the initial state. The sequence
//! is followed until it repeats, or until it implies that the game is over. (Sancho's control
//! propositions.)
//!
//! Invariants: results hold in every game from the initial state; nothing is sampled. Recursion
//! counts as dependent on moves.

use std::collections::HashSet;

use super::implications::{Implications, Outcome, Scope};
use panza_gdl::{BaseId, Id, IdVec};
use panza_propnet::{Network, Signal};
use panza_sync::Budget;

/// The longest period of a turn order.
const MAX_PERIOD: usize = 8;
/// The longest sequence that is followed.
const MAX_STEPS: usize = 1 << 14;

/// The autonomous facts of a game.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Autonomous {
    /// Facts that are true at exactly one step of the game, ordered by step; at least two steps.
    pub step_counter: Vec<BaseId>,
    /// Facts whose values repeat with a period of at most `MAX_PERIOD` steps.
    pub turn: Vec<BaseId>,
    /// All other autonomous facts.
    pub others: Vec<BaseId>,
    /// Upper bound on the joint moves of a game.
    pub horizon: Option<u32>,
    /// Lower bound on the joint moves of a game that ends in a terminal state.
    pub earliest_end: u32,
}

/// Finds the autonomous facts; `None` when the budget is spent.
pub fn find(network: &Network, budget: &mut Budget) -> Option<Autonomous> {
    let mut going_on = Implications::new(network, Scope::Transitions, budget)?;
    let is_autonomous = autonomous_bases(network, |node| going_on.value(node).is_some());
    let bases = network.facts.ids();
    let autonomous: Vec<BaseId> = bases.filter(|&base| is_autonomous[base]).collect();
    if autonomous.is_empty() {
        return Some(Autonomous::default());
    }
    let mut of_state = Implications::new(network, Scope::States, budget)?;
    let mut found = Autonomous::default();
    let mut may_have_ended = false;
    let mut values: Vec<bool> = autonomous
        .iter()
        .map(|base| network.initial.contains(base))
        .collect();
    let mut sequence: Vec<Vec<bool>> = Vec::new();
    let mut met: HashSet<Vec<bool>> = HashSet::new();
    while sequence.len() < MAX_STEPS && met.insert(values.clone()) {
        let step = sequence.len() as u32;
        sequence.push(values.clone());
        let signals = autonomous.iter().zip(&values).map(|(base, &value)| {
            let plain = Signal::of_node(1 + base.index());
            if value { plain } else { !plain }
        });
        let mark = of_state.mark();
        signals.clone().for_each(|signal| of_state.assume(signal));
        let outcome = of_state.propagate(budget);
        let is_over = of_state.value(network.terminal);
        of_state.undo_to(mark);
        if outcome == Outcome::BudgetSpent {
            return None;
        }
        if !may_have_ended {
            found.earliest_end = step;
            may_have_ended = is_over != Some(false);
        }
        let mark = going_on.mark();
        signals.for_each(|signal| going_on.assume(signal));
        let outcome = going_on.propagate(budget);
        if is_over == Some(true) || outcome == Outcome::Contradiction {
            found.horizon = Some(step);
            break;
        }
        let next = autonomous
            .iter()
            .map(|&base| going_on.value(network.next[base]));
        let next: Option<Vec<bool>> = next.collect();
        going_on.undo_to(mark);
        // The values are known unless the budget is spent.
        values = next?;
    }
    if sequence.len() == MAX_STEPS {
        return None;
    }
    if found.horizon.is_none() {
        let start = sequence.iter().position(|met| *met == values).unwrap_or(0);
        for step in 0..3 * MAX_PERIOD {
            sequence.push(sequence[start + step].clone());
        }
    }
    classify(&autonomous, &sequence, &mut found);
    Some(found)
}

/// Whether each base is autonomous: its next value depends on no move and on no other base than
/// autonomous ones. A node for which `is_constant` holds depends on nothing. Blocks count as
/// dependent on moves.
pub(super) fn autonomous_bases(
    network: &Network,
    is_constant: impl Fn(Signal) -> bool,
) -> IdVec<BaseId, bool> {
    let first_move = 1 + network.facts.len();
    let first_gate = first_move + network.moves.len();
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); first_gate + network.gates.len()];
    for gate in network.gates.ids() {
        for input in network.inputs(gate) {
            users[input.node_number()].push(first_gate + gate.index());
        }
    }
    for (base, next) in network.next.enumerate() {
        users[next.node_number()].push(1 + base.index());
    }
    let mut depends = vec![false; users.len()];
    let in_blocks = network.blocks.iter().flatten();
    let mut open: Vec<usize> = in_blocks
        .map(|gate| first_gate + gate.index())
        .chain(first_move..first_gate)
        .collect();
    while let Some(node) = open.pop() {
        if !is_constant(Signal::of_node(node)) && !std::mem::replace(&mut depends[node], true) {
            open.extend(&users[node]);
        }
    }
    let bases = network.facts.ids();
    bases.map(|base| !depends[1 + base.index()]).collect()
}

/// Sorts the autonomous bases by the sequence of their values.
fn classify(autonomous: &[BaseId], sequence: &[Vec<bool>], found: &mut Autonomous) {
    let mut steps: Vec<(usize, BaseId)> = Vec::new();
    for (index, &base) in autonomous.iter().enumerate() {
        let value = |step: usize| sequence[step][index];
        let n_true = (0..sequence.len()).filter(|&step| value(step)).count();
        let changes = n_true > 0 && n_true < sequence.len();
        let has_period = |period: &usize| {
            sequence.len() >= 2 * period
                && (*period..sequence.len()).all(|step| value(step) == value(step - period))
        };
        if changes && (2..=MAX_PERIOD).any(|period| has_period(&period)) {
            found.turn.push(base);
        } else if n_true == 1 {
            let step = (0..sequence.len()).find(|&step| value(step));
            steps.push((step.unwrap_or(0), base));
        } else {
            found.others.push(base);
        }
    }
    steps.sort_unstable();
    // Facts of one step only, as those of the initial state that never come back, count nothing.
    let counts = steps.first().map(|first| first.0) != steps.last().map(|last| last.0);
    let bases = steps.into_iter().map(|(_, base)| base);
    match counts {
        true => found.step_counter = bases.collect(),
        false => found.others.extend(bases),
    }
    found.others.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{budget, each_game, network, own_game, play, texts};
    use panza_sync::Budget;

    #[test]
    fn turns_are_no_step_counters() {
        let network = own_game("ticTacToe");
        let found = find(&network, &mut budget()).unwrap();
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
        let found = find(&network, &mut budget()).unwrap();
        let steps = ["(step 1)", "(step 2)", "(step 3)", "(step 4)", "(step 5)"];
        assert_eq!(texts(&network, found.step_counter.clone()), steps);
        assert!(found.turn.is_empty() && found.others.is_empty());
        assert_eq!((found.earliest_end, found.horizon), (3, Some(4)));
    }

    #[test]
    fn facts_of_the_initial_state_alone_are_no_step_counter() {
        let nim = "
            (role a) (role b) (init (heap 2)) (init (turn a)) (index 0) (index 1) (index 2)
            (less 0 1) (less 0 2) (less 1 2) (other a b) (other b a)
            (<= (legal ?r (take-to ?n)) (true (turn ?r)) (true (heap ?m)) (less ?n ?m))
            (<= (legal ?r wait) (role ?r) (not (true (turn ?r))))
            (<= (next (heap ?n)) (does ?r (take-to ?n)))
            (<= (next (turn ?r)) (true (turn ?o)) (other ?o ?r))
            (<= terminal (true (heap 0)))
            (<= (goal ?r 0) (true (turn ?r)) (true (heap 0)))
            (<= (goal ?r 100) (role ?r) (not (true (turn ?r))) (true (heap 0)))";
        let network = network(nim);
        let found = find(&network, &mut budget()).unwrap();
        assert!(found.step_counter.is_empty());
        assert_eq!(texts(&network, found.turn), ["(turn a)", "(turn b)"]);
        assert_eq!(texts(&network, found.others), ["(heap 2)"]);
    }

    #[test]
    fn a_counter_that_moves_can_hold_up_is_none() {
        let held = "
            (role r) (init (step 1)) (succ 1 2) (succ 2 3) (legal r go) (legal r stay)
            (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n) (does r go))
            (<= (next (step ?n)) (true (step ?n)) (does r stay))
            (<= terminal (true (step 3))) (goal r 50)";
        let found = find(&network(held), &mut budget()).unwrap();
        assert_eq!(found, Autonomous::default());
    }

    #[test]
    fn lengths_of_random_games_are_within_the_bounds() {
        each_game(|name, network| {
            let Some(found) = find(network, &mut Budget::of_steps(1 << 27)) else {
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
