//! How far one has to look ahead in a position before its good moves can be told from the others.
//!
//! Everything within a number of joint moves is looked at; whatever does not end within them is
//! unknown. A position is understood when a good move is seen to keep its goal, or when all other
//! moves are seen to lose it. The least number of joint moves for that is a measure of how deep the
//! position is, whoever looks.

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use super::prove::{Verdict, all_legal, joint_move, n_replies};
use panza::ids::{Id, MoveId, RoleId};
use panza::machine::{Machine, Reasoner};

/// What is seen within some joint moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Seen {
    /// The goal is forced.
    Kept,
    /// It cannot be.
    Lost,
    /// Neither is seen.
    Open,
}

/// The least number of joint moves that has to be looked ahead. With `false` it may be more than
/// that, which to find out would have needed a look at more than `budget` states.
pub fn lookahead(
    machine: &Arc<dyn Machine>,
    role: RoleId,
    state: &[u64],
    verdict: &Verdict,
    budget: usize,
) -> (u32, bool) {
    let mut eyes = Eyes {
        reasoner: Arc::clone(machine).reasoner(),
        n_roles: machine.info().n_roles(),
        role,
        goal: verdict.goal,
        seen: HashMap::default(),
        budget,
    };
    let mut depth = 0;
    loop {
        match eyes.understands(state, verdict, depth) {
            Some(true) => return (depth + 1, true),
            Some(false) => depth += 1,
            None => return (depth + 1, false),
        }
    }
}

struct Eyes {
    reasoner: Box<dyn Reasoner>,
    n_roles: usize,
    role: RoleId,
    goal: u8,
    /// What was seen of a state within so many joint moves.
    seen: HashMap<(Vec<u64>, u32), Seen, FxBuildHasher>,
    budget: usize,
}

impl Eyes {
    /// Whether good moves are told from the others within so many joint moves after them. Nothing
    /// when the budget is used up.
    fn understands(&mut self, state: &[u64], verdict: &Verdict, depth: u32) -> Option<bool> {
        for &mv in &verdict.good {
            if self.after(state, mv, depth)? == Seen::Kept {
                return Some(true);
            }
        }
        for &mv in &verdict.bad {
            if self.after(state, mv, depth)? != Seen::Lost {
                return Some(false);
            }
        }
        Some(true)
    }

    /// What is seen within so many joint moves after this one, which the others may answer as they
    /// like.
    fn after(&mut self, state: &[u64], mv: MoveId, depth: u32) -> Option<Seen> {
        self.reasoner.set_state(state);
        let legal = all_legal(self.reasoner.as_mut(), self.n_roles);
        let mut worst = Seen::Kept;
        for reply in 0..n_replies(&legal, self.role)? {
            let mut next = Vec::new();
            self.reasoner.set_state(state);
            self.reasoner
                .next_state(&joint_move(&legal, self.role, mv, reply), &mut next);
            match self.look(next, depth)? {
                Seen::Lost => return Some(Seen::Lost),
                Seen::Open => worst = Seen::Open,
                Seen::Kept => {}
            }
        }
        Some(worst)
    }

    fn look(&mut self, state: Vec<u64>, depth: u32) -> Option<Seen> {
        let key = (state, depth);
        if let Some(&seen) = self.seen.get(&key) {
            return Some(seen);
        }
        self.budget = self.budget.checked_sub(1)?;
        let seen = self.look_anew(&key.0, depth)?;
        self.seen.insert(key, seen);
        Some(seen)
    }

    fn look_anew(&mut self, state: &[u64], depth: u32) -> Option<Seen> {
        self.reasoner.set_state(state);
        let legal = all_legal(self.reasoner.as_mut(), self.n_roles);
        if self.reasoner.is_terminal() || legal.iter().any(Vec::is_empty) {
            let mut goals = vec![None; self.n_roles];
            self.reasoner.goals(&mut goals);
            let is_kept = goals[self.role.index()].unwrap_or(0) >= self.goal;
            return Some(if is_kept { Seen::Kept } else { Seen::Lost });
        }
        if depth == 0 {
            return Some(Seen::Open);
        }
        let own = &legal[self.role.index()];
        let n_replies = n_replies(&legal, self.role)?;
        // A move that holds against every reply keeps the goal; a reply that no move holds against
        // loses it.
        let mut may_lose = vec![true; n_replies];
        for &mv in own {
            let mut holds = true;
            for (reply, may_lose) in may_lose.iter_mut().enumerate() {
                let mut next = Vec::new();
                self.reasoner.set_state(state);
                self.reasoner
                    .next_state(&joint_move(&legal, self.role, mv, reply), &mut next);
                let seen = self.look(next, depth - 1)?;
                holds &= seen == Seen::Kept;
                *may_lose &= seen == Seen::Lost;
                // With one move to choose, one reply settles what is asked.
                if own.len() == 1 && seen == Seen::Lost {
                    return Some(Seen::Lost);
                }
            }
            if holds {
                return Some(Seen::Kept);
            }
        }
        Some(if may_lose.contains(&true) {
            Seen::Lost
        } else {
            Seen::Open
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::Position;
    use super::super::prove::Prover;
    use super::*;
    use panza::commands::engine_choice::build_machine;
    use panza::commands::game_source::Game;

    fn lookahead_of(moves: &[&str], role: &str, budget: usize) -> (u32, bool) {
        let game = Game::load("ticTacToe").unwrap();
        let machine = build_machine(&game.rules).unwrap();
        let mut position = Position {
            role: role.to_string(),
            goal: 50,
            good: Vec::new(),
            note: String::new(),
            moves: moves.iter().map(|mv| mv.to_string()).collect(),
        };
        position.good = vec!["(mark 1 3)".to_string()];
        let standing = position.stand(&machine).unwrap();
        let mut prover = Prover::new(&machine, standing.role);
        prover.budget = 10_000;
        let verdict = prover.judge(&standing.state, &[0, 50, 100]).unwrap();
        lookahead(&machine, standing.role, &standing.state, &verdict, budget)
    }

    #[test]
    fn wins_at_once_need_one_joint_move_and_forced_defences_two() {
        let to_win = [
            "((mark 1 1) noop)",
            "(noop (mark 2 2))",
            "((mark 1 2) noop)",
            "(noop (mark 3 3))",
        ];
        assert_eq!(lookahead_of(&to_win, "xplayer", 10_000), (1, true));
        // Any move of o's but the one in the row loses to x's next one.
        assert_eq!(lookahead_of(&to_win[..3], "oplayer", 10_000), (2, true));
    }

    #[test]
    fn what_is_deeper_than_the_budget_is_said_to_be_deeper() {
        // After a corner and a far side, x can win by force, but not within two of his moves.
        let moves = ["((mark 1 1) noop)", "(noop (mark 2 3))"];
        let (depth, is_exact) = lookahead_of(&moves, "xplayer", 100_000);
        assert_eq!((depth, is_exact), (5, true));
        let (less, is_exact) = lookahead_of(&moves, "xplayer", 20);
        assert!(less <= depth && !is_exact);
    }
}
