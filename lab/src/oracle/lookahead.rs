//! The depth of a position: the least depth of an exhaustive search that separates good moves from
//! others.
//!
//! States at the depth limit have an unknown value. A search separates the moves when it proves
//! that a good move keeps its goal, or that all other moves lose it.

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use super::prove::Verdict;
use super::states::{Legal, States, joint_move, n_replies};
use panza_gdl::ids::{Id, MoveId, RoleId};
use panza_machine::Machine;

/// The value of a state by a search of limited depth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DepthValue {
    Kept,
    Lost,
    Unknown,
}

/// The depth of a position in joint moves. With `false` it is a lower bound, since the search
/// visited `budget` states.
pub fn lookahead(
    machine: &Arc<dyn Machine>,
    role: RoleId,
    state: &[u64],
    verdict: &Verdict,
    budget: usize,
) -> (u32, bool) {
    let mut search = DepthSearch {
        states: States::new(machine),
        role,
        goal: verdict.goal,
        values: HashMap::default(),
        budget,
    };
    let mut depth = 0;
    loop {
        match search.separates(state, verdict, depth) {
            Some(true) => return (depth + 1, true),
            Some(false) => depth += 1,
            None => return (depth + 1, false),
        }
    }
}

struct DepthSearch {
    states: States,
    role: RoleId,
    goal: u8,
    /// Values by state and depth.
    values: HashMap<(Vec<u64>, u32), DepthValue, FxBuildHasher>,
    budget: usize,
}

impl DepthSearch {
    /// Whether a search of this depth after the moves separates good moves from others. Nothing
    /// when the budget is spent.
    fn separates(&mut self, state: &[u64], verdict: &Verdict, depth: u32) -> Option<bool> {
        for &mv in &verdict.good {
            if self.after(state, mv, depth)? == DepthValue::Kept {
                return Some(true);
            }
        }
        for &mv in &verdict.bad {
            if self.after(state, mv, depth)? != DepthValue::Lost {
                return Some(false);
            }
        }
        Some(true)
    }

    fn next(&mut self, state: &[u64], legal: &Legal, mv: MoveId, reply: usize) -> Vec<u64> {
        let joint_move = joint_move(legal, self.role, mv, reply);
        self.states.after(state, &joint_move)
    }

    /// The value of a move by the worst reply of the other roles.
    fn after(&mut self, state: &[u64], mv: MoveId, depth: u32) -> Option<DepthValue> {
        let legal = self.states.choices(state)?;
        let mut worst = DepthValue::Kept;
        for reply in 0..n_replies(&legal, self.role)? {
            let next = self.next(state, &legal, mv, reply);
            match self.value(next, depth)? {
                DepthValue::Lost => return Some(DepthValue::Lost),
                DepthValue::Unknown => worst = DepthValue::Unknown,
                DepthValue::Kept => {}
            }
        }
        Some(worst)
    }

    fn value(&mut self, state: Vec<u64>, depth: u32) -> Option<DepthValue> {
        let key = (state, depth);
        if let Some(&value) = self.values.get(&key) {
            return Some(value);
        }
        self.budget = self.budget.checked_sub(1)?;
        let value = self.compute(&key.0, depth)?;
        self.values.insert(key, value);
        Some(value)
    }

    fn compute(&mut self, state: &[u64], depth: u32) -> Option<DepthValue> {
        let Some(legal) = self.states.choices(state) else {
            return Some(match self.states.goal(state, self.role) >= self.goal {
                true => DepthValue::Kept,
                false => DepthValue::Lost,
            });
        };
        if depth == 0 {
            return Some(DepthValue::Unknown);
        }
        let own = &legal[self.role.index()];
        let n_replies = n_replies(&legal, self.role)?;
        // A move that keeps the goal against every reply is enough; so is a reply that refutes
        // every move.
        let mut may_lose = vec![true; n_replies];
        for &mv in own {
            let mut holds = true;
            for (reply, may_lose) in may_lose.iter_mut().enumerate() {
                let next = self.next(state, &legal, mv, reply);
                let value = self.value(next, depth - 1)?;
                holds &= value == DepthValue::Kept;
                *may_lose &= value == DepthValue::Lost;
                // With a single move one losing reply decides.
                if own.len() == 1 && value == DepthValue::Lost {
                    return Some(DepthValue::Lost);
                }
            }
            if holds {
                return Some(DepthValue::Kept);
            }
        }
        Some(match may_lose.contains(&true) {
            true => DepthValue::Lost,
            false => DepthValue::Unknown,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::OraclePosition;
    use super::super::prove::GoalProver;
    use super::*;
    use panza_cli::engine_choice::build_machine;
    use panza_cli::game_source::Game;

    /// The depth of a position for the role.
    fn lookahead_of(moves: &[&str], role: RoleId, budget: usize) -> (u32, bool) {
        let game = Game::load("ticTacToe").unwrap();
        let machine = build_machine(&game.rules).unwrap();
        let position = OraclePosition {
            moves: moves.join(" "),
            ..OraclePosition::default()
        };
        let line = position.line(&machine).unwrap();
        let mut prover = GoalProver::new(&machine, role);
        prover.budget = 10_000;
        let verdict = prover.judge(line.last(), &[0, 50, 100]).unwrap();
        lookahead(&machine, role, line.last(), &verdict, budget)
    }

    #[test]
    fn immediate_wins_have_depth_one_and_forced_defences_two() {
        let to_win = [
            "((mark 1 1) noop)",
            "(noop (mark 2 2))",
            "((mark 1 2) noop)",
            "(noop (mark 3 3))",
        ];
        assert_eq!(lookahead_of(&to_win, RoleId(0), 10_000), (1, true));
        // Any move of o's but the one in the row loses to x's next one.
        assert_eq!(lookahead_of(&to_win[..3], RoleId(1), 10_000), (2, true));
    }

    #[test]
    fn a_spent_budget_gives_a_lower_bound() {
        // After a corner and a far side, x can win by force, but not within two of his moves.
        let moves = ["((mark 1 1) noop)", "(noop (mark 2 3))"];
        let (depth, is_exact) = lookahead_of(&moves, RoleId(0), 100_000);
        assert_eq!((depth, is_exact), (5, true));
        let (less, is_exact) = lookahead_of(&moves, RoleId(0), 20);
        assert!(less <= depth && !is_exact);
    }
}
