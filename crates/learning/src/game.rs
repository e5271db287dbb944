//! A game of self-play in progress, and the moves to evaluate of many.
//!
//! A game keeps every state after its opening, with what its moves are worth: the logits of the
//! states after them, by the evaluation or by goals. Once the game is over, values are backed up
//! from turn to turn: the move made gets the value of the state after it, and a state that of its
//! best move for the role that moves (minimax).
//!
//! Invariant: there is a turn for each state after the opening in which a move was or is made.
//!
//! Never uses: machines, clocks.

use super::worth::{Edge, MAX_LOGIT, Worth, logit_of};
use panza_gdl::MoveId;
use panza_sync::Random;

/// The joint moves of a batch, roughly. The clock is read once per round.
const BATCH_SIZE: usize = 2048;
/// The most moves of a role that are evaluated in a state; of more, a random sample.
pub(super) const MAX_MOVES: usize = 64;
/// The same for an evaluation with prospects, which cost more than the states.
pub(super) const MAX_COSTLY_MOVES: usize = 16;
/// The role that moves in a state in which several roles choose.
pub(super) const SEVERAL: usize = u8::MAX as usize;
/// A state that was reached in play.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    /// The role that moves, or [`SEVERAL`], also where the chance role does.
    pub mover: usize,
    /// The move made; `None` where several roles choose or chance does, and before a move is made.
    pub made: Option<Worth>,
    /// The best of the other moves, if there are any.
    pub best_other: Option<Worth>,
    /// Whether all other moves are exact.
    pub are_others_exact: bool,
    /// The logit of the best move less that of the move made.
    pub gap: f32,
}

impl Turn {
    /// A state in which no move was made yet.
    pub fn new(mover: usize) -> Self {
        Self {
            mover,
            made: None,
            best_other: None,
            are_others_exact: true,
            gap: 0.0,
        }
    }

    /// Makes a move of these edges, of which there are some; `n_outputs` is that of the evaluation.
    pub fn make(&mut self, edges: &[Edge], chosen: usize, n_outputs: usize) {
        let logit = |worth: &Worth| logit_of(self.mover, &worth.logits[..n_outputs]);
        let mut best_other: Option<Worth> = None;
        for (index, edge) in edges.iter().enumerate() {
            if index == chosen {
                continue;
            }
            self.are_others_exact &= edge.worth.is_exact;
            if best_other.is_none_or(|best| logit(&edge.worth) > logit(&best)) {
                best_other = Some(edge.worth);
            }
        }
        let made = edges[chosen].worth;
        self.gap = best_other.map_or(0.0, |best| (logit(&best) - logit(&made)).max(0.0));
        self.best_other = best_other;
        self.made = Some(made);
    }

    /// What the state is worth: its best move. It is exact where no other move can change that.
    /// `None` where several roles choose.
    pub fn worth(&self, n_outputs: usize) -> Option<Worth> {
        let made = self.made?;
        let logit = |worth: &Worth| logit_of(self.mover, &worth.logits[..n_outputs]);
        let other = self.best_other.filter(|it| logit(it) > logit(&made));
        let best = other.unwrap_or(made);
        let is_won = best.is_exact && logit(&best) >= MAX_LOGIT;
        Some(Worth {
            is_exact: is_won || (made.is_exact && self.are_others_exact),
            ..best
        })
    }
}

/// A game in progress.
pub(super) struct Game {
    /// The turns, and their states one after another.
    pub turns: Vec<Turn>,
    pub states: Vec<u64>,
    /// The last state expanded.
    pub state: Vec<u64>,
    /// The joint move there that is made next; empty at the start.
    pub joint_move: Vec<MoveId>,
    /// Joint moves made, and how many of them are random ones at the start.
    pub length: usize,
    pub opening: usize,
    /// Whether the moves of the last turn wait to be evaluated.
    pub is_fresh: bool,
    /// The evaluated moves of the last turn, where one role moves.
    pub edges: Vec<Edge>,
    /// The legal moves of all roles in the last state expanded, role by role, and the end of each
    /// role's moves.
    pub legal: Vec<MoveId>,
    pub ends: Vec<u32>,
    pub is_over: bool,
}

impl Game {
    /// A game that begins in a state with so many random joint moves.
    pub fn new(state: Vec<u64>, opening: usize) -> Self {
        Self {
            turns: Vec::new(),
            states: Vec::new(),
            state,
            joint_move: Vec::new(),
            length: 0,
            opening,
            is_fresh: false,
            edges: Vec::new(),
            legal: Vec::new(),
            ends: Vec::new(),
            is_over: false,
        }
    }

    /// The legal moves of a role.
    pub fn moves_of(&self, role: usize) -> &[MoveId] {
        let start = role.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.legal[start as usize..self.ends[role] as usize]
    }

    /// The role that moves in the last turn, or [`SEVERAL`].
    pub fn mover(&self) -> usize {
        self.turns.last().map_or(SEVERAL, |turn| turn.mover)
    }

    /// Begins a turn in the last state expanded, whose moves wait to be evaluated.
    pub fn begin_turn(&mut self, mover: usize) {
        self.turns.push(Turn::new(mover));
        self.states.extend_from_slice(&self.state);
        self.edges.clear();
        self.is_fresh = true;
    }

    /// The state of a turn.
    pub fn state_of(&self, turn: usize) -> &[u64] {
        let words = self.state.len();
        &self.states[turn * words..][..words]
    }
}

/// Moves whose states are evaluated together.
pub(super) struct Batch {
    /// Joint moves, concatenated.
    pub joint_moves: Vec<MoveId>,
    /// For each joint move, the game, the role and the move that it evaluates.
    pub candidates: Vec<(u32, u32, MoveId)>,
    /// The first game that is not in the batch.
    pub end: usize,
}

impl Batch {
    /// The next batch of moves to evaluate, for the games from this one on. The moves of the
    /// `chance` role are drawn and not evaluated; of other roles at most `max_moves` are evaluated.
    pub fn new(
        games: &[Game],
        from: usize,
        chance: Option<usize>,
        max_moves: usize,
        random: &mut Random,
    ) -> Self {
        let mut batch = Self {
            joint_moves: Vec::new(),
            candidates: Vec::new(),
            end: from,
        };
        for (index, game) in games.iter().enumerate().skip(from) {
            if batch.candidates.len() >= BATCH_SIZE {
                break;
            }
            batch.end = index + 1;
            if !game.is_fresh {
                continue;
            }
            let mover = game.mover();
            let n_roles = game.ends.len();
            for role in 0..n_roles {
                let moves = game.moves_of(role);
                let is_evaluated = match mover {
                    SEVERAL => moves.len() > 1 && chance != Some(role),
                    _ => role == mover,
                };
                if !is_evaluated {
                    continue;
                }
                for mv in some_of(moves, max_moves, random) {
                    for other in 0..n_roles {
                        batch.joint_moves.push(match other == role {
                            true => mv,
                            false => any_of(game.moves_of(other), random),
                        });
                    }
                    batch.candidates.push((index as u32, role as u32, mv));
                }
            }
        }
        batch
    }
}

/// All of these moves; of more than `most` one of each of as many parts, at random.
fn some_of(moves: &[MoveId], most: usize, random: &mut Random) -> Vec<MoveId> {
    let n = moves.len().min(most);
    let parts = (0..n).map(|part| part * moves.len() / n..(part + 1) * moves.len() / n);
    parts.map(|part| any_of(&moves[part], random)).collect()
}

/// One of some moves at random.
pub(super) fn any_of(moves: &[MoveId], random: &mut Random) -> MoveId {
    match moves.len() {
        1 => moves[0],
        len => moves[random.below(len as u32) as usize],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::MAX_ROLES;

    /// An edge of one output.
    fn edge(mv: u32, logit: f32, is_exact: bool) -> Edge {
        let mut logits = [0.0; MAX_ROLES];
        logits[0] = logit;
        Edge {
            mv: MoveId(mv),
            worth: Worth { logits, is_exact },
        }
    }

    #[test]
    fn a_state_is_worth_its_best_move_for_the_role_that_moves() {
        let edges = [edge(0, 0.5, false), edge(1, 0.4, false)];
        let mut turn = Turn::new(0);
        assert_eq!(turn.worth(1), None);
        turn.make(&edges, 1, 1);
        assert!((turn.gap - 0.1).abs() < 1e-6);
        assert_eq!(turn.worth(1), Some(edges[0].worth));
        // The move made turns out to be better.
        turn.made = Some(edge(1, 0.9, false).worth);
        assert_eq!(turn.worth(1).unwrap().logits[0], 0.9);
        let mut turn = Turn::new(1);
        turn.make(&edges, 1, 1);
        assert_eq!(turn.worth(1), Some(edges[1].worth));
    }

    #[test]
    fn a_won_state_is_exact_and_one_with_an_estimate_is_not() {
        let mut turn = Turn::new(0);
        turn.make(&[edge(0, MAX_LOGIT, true), edge(1, 0.4, false)], 0, 1);
        assert!(turn.worth(1).unwrap().is_exact);
        let mut turn = Turn::new(0);
        turn.make(&[edge(0, -MAX_LOGIT, true), edge(1, 0.4, false)], 0, 1);
        assert!(!turn.worth(1).unwrap().is_exact);
        let mut turn = Turn::new(0);
        turn.make(&[edge(0, -MAX_LOGIT, true), edge(1, 0.0, true)], 0, 1);
        assert!(turn.worth(1).unwrap().is_exact);
    }
}
