//! The order of moves by an evaluation, compared with short searches.
//!
//! In positions of games outside the training set, a search without the evaluation chooses a move.
//! What counts is the place of that move in the order by values: a prior is useful if it is near
//! the top.
//!
//! Invariant: ends by its deadline, except for one move of a search.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use panza_gdl::{Id, MoveId, RoleId};
use panza_learning::{Evaluation, ValueReader};
use panza_machine::{Expander, ExpansionStep, Machine, PositionBatch, Reasoner};
use panza_search::{Search, SearchConfig};
use panza_sync::Budget;

/// How well an evaluation orders moves.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct MoveOrder {
    /// The number of positions.
    pub positions: usize,
    /// The mean share of the other moves with a smaller value than the move that the search chose;
    /// 0.5 for an order by chance.
    pub rank: f64,
}

/// Positions, at most.
const MAX_POSITIONS: usize = 150;

/// Compares the order of moves in these states with searches of equal length.
pub fn move_order(
    machine: &Arc<dyn Machine>,
    config: &SearchConfig,
    evaluation: &Evaluation,
    states: &[Vec<u64>],
    until: Instant,
    cancelled: &AtomicBool,
) -> MoveOrder {
    let (n_roles, chance) = (machine.info().n_roles(), machine.info().chance_role());
    let mut reasoner = Arc::clone(machine).reasoner();
    let mut expander = Arc::clone(machine).expander();
    let mut searches: Vec<Option<Search>> = (0..n_roles).map(|_| None).collect();
    let (mut positions, mut sum) = (0, 0.0);
    let states = &states[..states.len().min(MAX_POSITIONS)];
    for (index, state) in states.iter().enumerate() {
        let now = Instant::now();
        if now >= until || cancelled.load(Ordering::Relaxed) {
            break;
        }
        let Some((role, joint_move)) = chooser(&mut *reasoner, n_roles, state) else {
            continue;
        };
        if chance == Some(RoleId::from_index(role)) {
            continue;
        }
        let search = searches[role].get_or_insert_with(|| {
            let role = RoleId::from_index(role);
            Search::new(Arc::clone(machine), role, config.clone())
        });
        search.set_state(state);
        search.run(Budget {
            until: Some(now + (until - now) / (states.len() - index) as u32),
            ..Budget::generous()
        });
        let Some(chosen) = search.best_move() else {
            continue;
        };
        let moves = reasoner.legal_moves(RoleId::from_index(role)).to_vec();
        let values = values(&mut *expander, evaluation, state, role, &joint_move, &moves);
        if let Some(rank) = rank(&moves, &values, chosen) {
            positions += 1;
            sum += rank;
        }
    }
    MoveOrder {
        positions,
        rank: sum / f64::max(positions as f64, 1.0),
    }
}

/// The role that alone has a choice in a state, with a joint move; `None` if there is none.
fn chooser(
    reasoner: &mut dyn Reasoner,
    n_roles: usize,
    state: &[u64],
) -> Option<(usize, Vec<MoveId>)> {
    reasoner.set_state(state);
    let mut joint_move = Vec::with_capacity(n_roles);
    let mut choosers = Vec::new();
    for role in 0..n_roles {
        let legal = reasoner.legal_moves(RoleId::from_index(role));
        joint_move.push(*legal.first()?);
        if legal.len() > 1 {
            choosers.push(role);
        }
    }
    match choosers[..] {
        [role] => Some((role, joint_move)),
        _ => None,
    }
}

/// The role's value after each of its moves, which take the place of that in `joint_move`.
fn values(
    expander: &mut dyn Expander,
    evaluation: &Evaluation,
    state: &[u64],
    role: usize,
    joint_move: &[MoveId],
    moves: &[MoveId],
) -> Vec<f32> {
    let mut joint_moves = joint_move.repeat(moves.len());
    for (joint_move, &mv) in joint_moves.chunks_mut(joint_move.len()).zip(moves) {
        joint_move[role] = mv;
    }
    let steps: Vec<ExpansionStep<'_>> = joint_moves
        .chunks(joint_move.len())
        .map(|joint_move| ExpansionStep {
            state,
            joint_move: Some(joint_move),
        })
        .collect();
    let mut positions = PositionBatch::default();
    expander.expand(&steps, false, &mut positions);
    let mut reader = ValueReader::new(evaluation);
    reader.load(evaluation, &positions);
    let mut values = vec![0.0; joint_move.len()];
    (0..positions.len())
        .map(|index| {
            if positions.terminal[index] {
                return f32::from(positions.goals(index)[role].unwrap_or(0));
            }
            reader.values(evaluation, index, positions.state(index), &mut values);
            values[role]
        })
        .collect()
}

/// The share of the other moves with a smaller value than the chosen one; equal ones count half.
fn rank(moves: &[MoveId], values: &[f32], chosen: MoveId) -> Option<f64> {
    let place = moves.iter().position(|&mv| mv == chosen)?;
    let value = values[place];
    let points = values.iter().map(|&other| match other.total_cmp(&value) {
        std::cmp::Ordering::Less => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Greater => 0.0,
    });
    let n_others = moves.len().checked_sub(1).filter(|&n| n > 0)?;
    // The move itself counts half.
    Some((points.sum::<f64>() - 0.5) / n_others as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_is_the_share_of_smaller_values() {
        let moves = [MoveId(3), MoveId(5), MoveId(9)];
        assert_eq!(rank(&moves, &[1.0, 2.0, 3.0], MoveId(9)), Some(1.0));
        assert_eq!(rank(&moves, &[1.0, 2.0, 3.0], MoveId(3)), Some(0.0));
        assert_eq!(rank(&moves, &[2.0, 2.0, 2.0], MoveId(5)), Some(0.5));
        assert_eq!(rank(&moves, &[2.0, 2.0, 2.0], MoveId(4)), None);
        assert_eq!(rank(&moves[..1], &[2.0], MoveId(3)), None);
    }
}
