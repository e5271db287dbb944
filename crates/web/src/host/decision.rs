//! What decided a game that is over: the line, the chain, the piece on the last row.
//!
//! Facts on the boards are taken away one after the other while the game stays over with the same
//! goals. What is left then is enough for the result, and nothing in it can be missed.
//!
//! Never uses: how boards are drawn.

use std::time::Duration;

use panza_player::Position;
use panza_sync::Instant;

/// Facts that are tried, and the time for that, at most.
const MAX_TRIED: usize = 600;
const MAX_TIME: Duration = Duration::from_millis(500);
/// The greatest number of deciding facts that are marked. In games won by counting discs there are
/// more, and marks would say nothing.
const MAX_MARKED: usize = 40;

/// The facts that decide, where one role has reached more than every other one. `is_on_board` says
/// which facts may be shown. The position stays as it is.
pub(crate) fn deciding_facts(
    position: &mut Position,
    is_on_board: impl Fn(&str) -> bool,
) -> Vec<String> {
    let Some(facts) = position.info().facts().map(<[String]>::to_vec) else {
        return Vec::new();
    };
    let state = position.state().to_vec();
    let goals = position.goals();
    if !position.is_terminal() || !has_winner(&goals) {
        return Vec::new();
    }
    let holds = |bit: usize| {
        state
            .get(bit / 64)
            .is_some_and(|word| word >> (bit % 64) & 1 == 1)
    };
    let on_board = (0..facts.len()).filter(|&bit| holds(bit) && is_on_board(&facts[bit]));
    let tried: Vec<usize> = on_board.collect();
    if tried.len() > MAX_TRIED {
        return Vec::new();
    }
    let mut left = state.clone();
    let mut deciding = Vec::new();
    let begin = Instant::now();
    for &bit in &tried {
        if begin.elapsed() > MAX_TIME {
            position.go_to(state);
            return Vec::new();
        }
        left[bit / 64] &= !(1 << (bit % 64));
        position.go_to(left.clone());
        if !position.is_terminal() || position.goals() != goals {
            left[bit / 64] |= 1 << (bit % 64);
            deciding.push(facts[bit].clone());
        }
    }
    position.go_to(state);
    match deciding.len() <= MAX_MARKED && 2 * deciding.len() < tried.len().max(4) {
        true => deciding,
        false => Vec::new(),
    }
}

/// Whether one of several roles has a greater goal than every other.
fn has_winner(goals: &[Option<u8>]) -> bool {
    let best = goals.iter().max();
    goals.len() > 1 && goals.iter().filter(|goal| Some(*goal) == best).count() == 1
}
