//! What moves do: the facts that each of them changes.
//!
//! Moves are compared by the states after them, so that nothing depends on their words. What every
//! move of a role changes, such as the turn or a counter, says nothing about one and is left out.
//! Where other roles choose too, a change counts that is there beside the first of their moves and
//! beside the last.
//!
//! Never uses: boards, searches.

use std::collections::HashSet;
use std::time::Duration;

use serde::Serialize;

use super::history::GameHistory;
use panza_gdl::{Id, MoveId, RoleId};
use panza_player::Position;
use panza_sync::Instant;

/// Moves that are compared, at most.
const MAX_COMPARED: usize = 1000;
/// Facts that a move may change for its effect to be listed, and facts of all moves resources.
const MAX_CHANGED: usize = 100;
const MAX_LISTED: usize = 20_000;
/// Words of the states that are compared, and the time for that, at most.
const MAX_WORDS: usize = 1 << 21;
const MAX_TIME: Duration = Duration::from_millis(200);

/// The facts that a move changes, and not every other move of the role too.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Effect {
    /// Facts that do not hold any more after the move.
    pub went: Vec<String>,
    /// Facts that hold after it.
    pub came: Vec<String>,
}

/// What the last joint move changed.
pub(crate) fn last_effect(history: &GameHistory, max_facts: usize) -> Effect {
    let Some(before) = history.states().iter().rev().nth(1) else {
        return Effect::default();
    };
    let before = history.info().state_facts(before);
    let after = history.position.facts();
    let other = |facts: &[String], others: &[String]| {
        let others: HashSet<&String> = others.iter().collect();
        let only = facts.iter().filter(|fact| !others.contains(fact));
        only.take(max_facts).cloned().collect()
    };
    Effect {
        went: other(&before, &after),
        came: other(&after, &before),
    }
}

/// The effects of legal moves of a role here, in their order. Empty where there are too many moves
/// or they take too long, and where the machine's states are no sets of facts.
pub(crate) fn effects(position: &mut Position, role: usize, moves: &[MoveId]) -> Vec<Effect> {
    let n_words = moves.len().saturating_mul(position.state().len());
    let are_few = moves.len() <= MAX_COMPARED && n_words <= MAX_WORDS;
    if !are_few || position.info().facts().is_none() {
        return Vec::new();
    }
    let Some(mut changes) = changes(position, role, moves) else {
        return Vec::new();
    };
    leave_out_common(&mut changes);
    let n_facts: Vec<usize> = changes.iter().map(|change| n_changed(change)).collect();
    if n_facts.iter().filter(|&&n| n <= MAX_CHANGED).sum::<usize>() > MAX_LISTED {
        return Vec::new();
    }
    let state = position.state().to_vec();
    let facts = position.info().facts().unwrap_or_default();
    let effect = |(change, n): (&Vec<u64>, usize)| match n <= MAX_CHANGED {
        true => effect_of(change, &state, facts),
        false => Effect::default(),
    };
    changes.iter().zip(n_facts).map(effect).collect()
}

/// For each move the bits of the state that it changes, beside the first move of every other role
/// and beside the last.
fn changes(position: &mut Position, role: usize, moves: &[MoveId]) -> Option<Vec<Vec<u64>>> {
    let begin = Instant::now();
    let own = moves.first().copied();
    let n_roles = position.info().n_roles();
    let mut beside = |is_last: bool| -> Option<Vec<MoveId>> {
        let one = |of| match position.legal_moves(RoleId::from_index(of)) {
            _ if of == role => own,
            moves if is_last => moves.last().copied(),
            moves => moves.first().copied(),
        };
        (0..n_roles).map(one).collect()
    };
    let (mut first, mut last) = (beside(false)?, beside(true)?);
    let state = position.state().to_vec();
    let mut changes: Vec<Vec<u64>> = Vec::with_capacity(moves.len());
    for &mv in moves {
        if begin.elapsed() > MAX_TIME {
            return None;
        }
        (first[role], last[role]) = (mv, mv);
        let mut change = position.after(&first);
        let words = change.iter_mut().zip(&state);
        words.for_each(|(word, now)| *word ^= now);
        if first != last {
            let other = position.after(&last);
            let changed = other.iter().zip(&state).map(|(word, now)| word ^ now);
            let words = change.iter_mut().zip(changed);
            words.for_each(|(word, of)| *word &= of);
        }
        changes.push(change);
    }
    Some(changes)
}

/// Takes away what every one of several moves changes.
fn leave_out_common(changes: &mut [Vec<u64>]) {
    let [first, others @ ..] = &*changes else {
        return;
    };
    if others.is_empty() {
        return;
    }
    let mut common = first.clone();
    for other in others {
        let words = common.iter_mut().zip(other);
        words.for_each(|(word, of)| *word &= of);
    }
    for change in changes {
        let words = change.iter_mut().zip(&common);
        words.for_each(|(word, of)| *word &= !of);
    }
}

fn n_changed(change: &[u64]) -> usize {
    change.iter().map(|word| word.count_ones() as usize).sum()
}

/// The facts of the bits that change.
fn effect_of(change: &[u64], state: &[u64], facts: &[String]) -> Effect {
    let mut effect = Effect::default();
    for (at, &word) in change.iter().enumerate() {
        let mut left = word;
        while left != 0 {
            let bit = left.trailing_zeros() as usize;
            left &= left - 1;
            let Some(fact) = facts.get(64 * at + bit) else {
                continue;
            };
            match state[at] >> bit & 1 {
                1 => effect.went.push(fact.clone()),
                _ => effect.came.push(fact.clone()),
            }
        }
    }
    effect
}
