//! A game of self-play in progress, and the moves to evaluate of many.
//!
//! Invariant: the present state has a node in the tree as soon as the opening is over, except while
//! it waits to be expanded.
//!
//! Never uses: machines, clocks.

use super::tree::{NONE, SEVERAL, Tree};
use crate::ids::MoveId;
use crate::machine::random::Random;

/// The joint moves of a batch, roughly. The clock is read once per round.
const BATCH_SIZE: usize = 2048;
/// The most moves of a role that are evaluated in a state; of more, a random sample.
const MAX_MOVES: usize = 64;

/// A state that was reached in play.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    pub node: u32,
    /// The logit of the best move less that of the move made.
    pub gap: f32,
}

/// What is expanded next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pending {
    /// The state that the game holds.
    Start,
    /// The state after its joint move.
    JointMove,
    /// The state below an edge of a node.
    Edge(u32, u32),
}

/// A game in progress.
pub(super) struct Game {
    pub tree: Tree,
    pub turns: Vec<Turn>,
    pub pending: Pending,
    /// A state outside the tree: the first one, one of the opening, or one before several roles
    /// moved; and a joint move there.
    pub state: Vec<u64>,
    pub joint_move: Vec<MoveId>,
    /// Joint moves made, and how many of them are random ones at the start.
    pub length: usize,
    pub opening: usize,
    /// The node that waits for its edges, or `NONE`.
    pub fresh: u32,
    /// Expansions since the last move.
    pub n_expanded: usize,
    /// The legal moves of all roles in the last state expanded, role by role, and the end of each
    /// role's moves.
    pub legal: Vec<MoveId>,
    pub ends: Vec<u32>,
    pub is_over: bool,
}

impl Game {
    /// A game that begins in a state with so many random joint moves.
    pub fn new(tree: Tree, state: Vec<u64>, opening: usize) -> Self {
        Self {
            tree,
            turns: Vec::new(),
            pending: Pending::Start,
            state,
            joint_move: Vec::new(),
            length: 0,
            opening,
            fresh: NONE,
            n_expanded: 0,
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

    /// The node of the present state; `NONE` before there is one.
    pub fn root(&self) -> u32 {
        self.turns.last().map_or(NONE, |turn| turn.node)
    }

    /// Makes a node the present state.
    pub fn reach(&mut self, node: u32) {
        self.turns.push(Turn { node, gap: 0.0 });
        self.n_expanded = 0;
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
    /// The next batch of moves to evaluate, for the games from this one on.
    pub fn new(games: &[Game], from: usize, random: &mut Random) -> Self {
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
            if game.fresh == NONE {
                continue;
            }
            let mover = game.tree.mover(game.fresh);
            let n_roles = game.ends.len();
            for role in 0..n_roles {
                let moves = game.moves_of(role);
                let is_evaluated = match mover {
                    // Where several choose, they do so now or not at all.
                    SEVERAL => game.fresh == game.root() && moves.len() > 1,
                    _ => role == mover,
                };
                if !is_evaluated {
                    continue;
                }
                let n_moves = moves.len().min(MAX_MOVES);
                for place in 0..n_moves {
                    // Of many moves, one of each of `MAX_MOVES` parts.
                    let first = place * moves.len() / n_moves;
                    let end = (place + 1) * moves.len() / n_moves;
                    let mv = any_of(&moves[first..end], random);
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

/// One of some moves at random.
pub(super) fn any_of(moves: &[MoveId], random: &mut Random) -> MoveId {
    match moves.len() {
        1 => moves[0],
        len => moves[random.below(len as u32) as usize],
    }
}
