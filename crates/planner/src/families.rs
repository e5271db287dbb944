//! Families: partitions of the moves into classes of which at most one move is made, such as all
//! moves with one digit in one row of a sudoku.
//!
//! Candidates are the partitions of the moves of one name by some of their arguments. A class is
//! accepted if each two of its moves refute each other. Families are all-different constraints, and
//! the search applies Hall's condition to a family as a whole.
//!
//! Invariant: no plan that reaches the best goal makes two moves of a class.

use std::collections::BTreeMap;

use super::task::{Task, signal_of};
use panza_analysis::Implications;
use panza_analysis::implications::{Outcome, Scope};
use panza_analysis::latches::Setting;
use panza_analysis::mutex_groups::parts;
use panza_gdl::{Id, IdVec, MoveId};
use panza_propnet::Network;
use panza_sync::Budget;

/// Games of more moves have no families.
const MAX_MOVES_IN_FAMILIES: usize = 4_096;
/// Moves of more arguments make no families.
const MAX_ARGUMENTS: usize = 6;

/// A move with its arguments.
type MoveParts<'a> = (MoveId, Vec<&'a str>);

/// A partition of moves into classes of which at most one move is made.
pub(super) struct Family {
    /// Per move its class; `None` for moves of other names.
    pub classes: IdVec<MoveId, Option<u32>>,
    pub n_classes: usize,
}

/// The families of the moves' arguments; `None` if the budget is spent.
pub(super) fn families(
    task: &Task,
    network: &Network,
    sets: &IdVec<MoveId, Vec<u32>>,
    settings: &[Setting],
    budget: &mut Budget,
) -> Option<Vec<Family>> {
    let n_moves = network.moves.len();
    if n_moves > MAX_MOVES_IN_FAMILIES {
        return None;
    }
    let excluded = excluded_pairs(task, network, sets, settings, budget)?;
    let is_excluded = |a: MoveId, b: MoveId| excluded[a.index() * n_moves + b.index()];
    // The moves by name and number of arguments.
    let mut named: BTreeMap<(&str, usize), Vec<MoveParts<'_>>> = BTreeMap::new();
    for (mv, (_, text)) in network.moves.enumerate() {
        let parts = parts(text);
        let (name, arguments) = (parts[0], parts[1..].to_vec());
        named
            .entry((name, arguments.len()))
            .or_default()
            .push((mv, arguments));
    }
    let mut found = Vec::new();
    for ((_, n_arguments), moves) in named {
        if moves.len() < 2 || n_arguments > MAX_ARGUMENTS {
            continue;
        }
        let mut masks: Vec<u32> = (1..1 << n_arguments).collect();
        masks.sort_by_key(|mask| mask.count_ones());
        let mut kept: Vec<u32> = Vec::new();
        for mask in masks {
            // A finer partition says less.
            if kept.iter().any(|coarser| coarser & mask == *coarser) {
                continue;
            }
            let mut classes: BTreeMap<Vec<&str>, Vec<MoveId>> = BTreeMap::new();
            for (mv, arguments) in &moves {
                let chosen = arguments.iter().enumerate();
                let chosen = chosen.filter(|(place, _)| mask >> place & 1 == 1);
                let key = chosen.map(|(_, &argument)| argument).collect();
                classes.entry(key).or_default().push(*mv);
            }
            let n_pairs: usize = classes
                .values()
                .map(|class| class.len() * class.len())
                .sum();
            budget.spend(n_pairs)?;
            let are_exclusive = classes.values().all(|class| {
                class.iter().enumerate().all(|(index, &a)| {
                    class[..=index]
                        .iter()
                        .all(|&b| is_excluded(a, b) && is_excluded(b, a))
                })
            });
            if !are_exclusive {
                continue;
            }
            kept.push(mask);
            let mut class_of: IdVec<MoveId, Option<u32>> =
                network.moves.iter().map(|_| None).collect();
            let n_classes = classes.len();
            for (class, members) in classes.into_values().enumerate() {
                for mv in members {
                    class_of[mv] = Some(class as u32);
                }
            }
            found.push(Family {
                classes: class_of,
                n_classes,
            });
        }
    }
    Some(found)
}

/// For each pair of moves whether the first one refutes the second for good: it is never legal
/// again, or misses the best goal. `None` if the budget is spent.
fn excluded_pairs(
    task: &Task,
    network: &Network,
    sets: &IdVec<MoveId, Vec<u32>>,
    settings: &[Setting],
    budget: &mut Budget,
) -> Option<Vec<bool>> {
    let n_moves = network.moves.len();
    let mut later = Implications::new(network, Scope::States, budget)?;
    let mut last = Implications::new(network, Scope::States, budget)?;
    task.assume_latched(&mut later, &task.start);
    later.propagate(budget);
    task.assume_latched(&mut last, &task.start);
    last.assume(task.best_goal?);
    last.assume(network.terminal);
    last.propagate(budget);
    let signal = |setting: u32| {
        let Setting { base, value } = settings[setting as usize];
        signal_of(base, value)
    };
    let mut excluded = vec![false; n_moves * n_moves];
    for mv in network.moves.ids() {
        let marks = (later.mark(), last.mark());
        for &setting in &sets[mv] {
            later.assume(signal(setting));
            last.assume(signal(setting));
        }
        let outcome = later.propagate(budget);
        let refuted = last.propagate(budget) == Outcome::Contradiction;
        if outcome == Outcome::BudgetSpent || budget.spend(n_moves).is_none() {
            return None;
        }
        let row = &mut excluded[mv.index() * n_moves..(mv.index() + 1) * n_moves];
        for (other, is_excluded) in network.moves.ids().zip(row) {
            *is_excluded = refuted
                || later.value(network.legal[other]) == Some(false)
                || sets[other]
                    .iter()
                    .any(|&setting| last.value(signal(setting)) == Some(false));
        }
        later.undo_to(marks.0);
        last.undo_to(marks.1);
    }
    Some(excluded)
}
