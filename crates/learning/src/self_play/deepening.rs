//! The trees of all games in progress grow by a position each, again and again.
//!
//! Never uses: targets, samples.

use super::{SelfPlay, share_of};
use crate::evaluation::{Evaluation, MAX_ROLES, ValueReader};
use crate::game::{BATCH_SIZE, Game, SEVERAL, any_of, some_of};
use crate::tree::Leaf;
use crate::worth::{Edge, Logits, MAX_ESTIMATE, MAX_LOGIT, Worth};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{ExpansionStep, PositionBatch, with_wide_vectors};

/// Positions whose moves are to be evaluated.
#[derive(Default)]
struct Leaves {
    n_words: usize,
    n_roles: usize,
    /// The games whose trees they belong to, and the roles that move.
    games: Vec<usize>,
    movers: Vec<usize>,
    states: Vec<u64>,
    joint_moves: Vec<MoveId>,
    /// The moves to evaluate, and their ends.
    moves: Vec<MoveId>,
    ends: Vec<usize>,
}

impl Leaves {
    fn get(&self, index: usize) -> Leaf<'_> {
        Leaf {
            state: &self.states[index * self.n_words..][..self.n_words],
            joint_move: &self.joint_moves[index * self.n_roles..][..self.n_roles],
            mover: self.movers[index],
        }
    }

    fn moves(&self, index: usize) -> &[MoveId] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.moves[start..self.ends[index]]
    }
}

impl SelfPlay {
    /// Searches the present position of each game whose move one role makes, and replaces the
    /// values of its moves.
    pub(super) fn deepen(&mut self, max_moves: usize) {
        let mut games = std::mem::take(&mut self.games);
        let is_searched = |game: &Game| game.is_fresh && game.mover() != SEVERAL;
        for game in games.iter_mut().filter(|game| is_searched(game)) {
            let mover = game.mover();
            let leaf = Leaf {
                state: &game.state,
                joint_move: &game.joint_move,
                mover,
            };
            game.tree.begin(&leaf, &game.edges, self.n_outputs);
        }
        for _ in 1..self.families {
            let leaves = self.descend(&mut games, max_moves);
            self.add_leaves(&mut games, &leaves);
        }
        for game in games.iter_mut().filter(|game| is_searched(game)) {
            game.tree.write_edges(&mut game.edges);
        }
        self.games = games;
    }

    /// Descends in all trees, and generates the positions there with their moves.
    fn descend(&mut self, games: &mut [Game], max_moves: usize) -> Leaves {
        let mut growing = Vec::new();
        let mut steps = Vec::new();
        for (index, game) in games.iter_mut().enumerate() {
            if game.is_fresh
                && game.mover() != SEVERAL
                && let Some((state, joint_move)) = game.tree.descend()
            {
                growing.push(index);
                steps.push(ExpansionStep {
                    state,
                    joint_move: Some(joint_move),
                });
            }
        }
        self.expander.expand(&steps, true, &mut self.positions);
        drop(steps);
        let mut leaves = Leaves {
            n_words: self.initial.len(),
            n_roles: self.n_roles,
            ..Leaves::default()
        };
        for (position, index) in growing.into_iter().enumerate() {
            let Some(mover) = self.only_chooser(position) else {
                games[index].tree.close();
                continue;
            };
            for role in 0..self.n_roles {
                let legal = self.positions.legal(position, RoleId::from_index(role));
                let mv = any_of(legal, &mut self.random);
                leaves.joint_moves.push(mv);
                if role == mover {
                    let moves = some_of(legal, max_moves, &mut self.random);
                    leaves.moves.extend(moves);
                }
            }
            leaves.games.push(index);
            leaves.movers.push(mover);
            let state = self.positions.state(position);
            leaves.states.extend_from_slice(state);
            leaves.ends.push(leaves.moves.len());
        }
        leaves
    }

    /// The role that alone has a choice in a generated position; `None` where several do, chance
    /// does, or the position is an end.
    fn only_chooser(&self, position: usize) -> Option<usize> {
        let mut chooser = None;
        for role in 0..self.n_roles {
            let moves = self.positions.legal(position, RoleId::from_index(role));
            if moves.is_empty() || moves.len() > 1 && chooser.replace(role).is_some() {
                return None;
            }
        }
        let is_open = !self.positions.terminal[position] && self.chance != chooser;
        is_open.then_some(chooser.unwrap_or(0))
    }

    /// Evaluates the moves of these positions, and adds them to their trees.
    fn add_leaves(&mut self, games: &mut [Game], leaves: &Leaves) {
        let mut from = 0;
        let mut joint_moves = Vec::new();
        let mut owners = Vec::new();
        while from < leaves.games.len() {
            joint_moves.clear();
            owners.clear();
            let mut end = from;
            while end < leaves.games.len() && owners.len() < BATCH_SIZE {
                let leaf = leaves.get(end);
                for &mv in leaves.moves(end) {
                    joint_moves.extend_from_slice(leaf.joint_move);
                    let mover = joint_moves.len() - self.n_roles + leaf.mover;
                    joint_moves[mover] = mv;
                    owners.push(end);
                }
                end += 1;
            }
            let steps = owners.iter().zip(joint_moves.chunks(self.n_roles));
            let steps: Vec<ExpansionStep<'_>> = steps
                .map(|(&leaf, joint_move)| ExpansionStep {
                    state: leaves.get(leaf).state,
                    joint_move: Some(joint_move),
                })
                .collect();
            self.expander.expand(&steps, false, &mut self.positions);
            drop(steps);
            self.reader.load(&self.evaluation, &self.positions);
            with_wide_vectors(|| self.add_batch(games, leaves, from..end));
            from = end;
        }
    }

    /// Adds leaves, the positions after whose moves have been generated.
    #[inline]
    fn add_batch(&mut self, games: &mut [Game], leaves: &Leaves, range: std::ops::Range<usize>) {
        let mut edges = Vec::new();
        let mut position = 0;
        for index in range {
            let leaf = leaves.get(index);
            edges.clear();
            self.reader.begin(&self.evaluation, leaf.state, position);
            for &mv in leaves.moves(index) {
                let (evaluation, positions) = (&self.evaluation, &self.positions);
                let worth = worth_of(
                    evaluation,
                    &mut self.reader,
                    leaf.state,
                    positions,
                    position,
                );
                let is_end = worth.is_exact;
                edges.push(Edge { mv, worth, is_end });
                position += 1;
            }
            games[leaves.games[index]].tree.add(&leaf, &edges);
        }
    }
}

/// What a generated position is worth: its goals at an end, else by the evaluation. The reader has
/// begun with the state `from`.
#[inline(always)]
pub(super) fn worth_of(
    evaluation: &Evaluation,
    reader: &mut ValueReader,
    from: &[u64],
    positions: &PositionBatch,
    position: usize,
) -> Worth {
    let mut logits: Logits = [0.0; MAX_ROLES];
    let outputs = &mut logits[..evaluation.n_outputs()];
    let is_exact = positions.terminal[position];
    if is_exact {
        for (logit, goal) in outputs.iter_mut().zip(positions.goals(position)) {
            let share = share_of(*goal, evaluation);
            *logit = (share / (1.0 - share)).ln().clamp(-MAX_LOGIT, MAX_LOGIT);
        }
    } else {
        reader.logits_after(evaluation, from, positions, position, outputs);
        for logit in outputs {
            *logit = logit.clamp(-MAX_ESTIMATE, MAX_ESTIMATE);
        }
    }
    Worth { logits, is_exact }
}
