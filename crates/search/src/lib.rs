#![doc = include_str!("../README.md")]
//!
//! One thread, the writer, owns the graph and repeats selection, expansion, simulation and
//! backpropagation. Workers, on rollout threads where there are any, generate positions and run
//! playouts for many descents at once. Proven bounds are kept apart from mean values.
//!
//! Modules, in reading order:
//! * `searcher`: the trait of both searches and their report; `start`: which one begins;
//!   `why_tree`: why the tree plays; `values`, `turns`: what alpha-beta knows of a game;
//! * `parameters`: the settings, each declared once; `config`: limits, reports and counters;
//!   `report`, `move_stats`: the move to play, and statistics; `timing`: shares of time; `outlook`:
//!   the values of all roles, and the principal line;
//! * `pool`, `slots`, `record`, `graph`, `transpositions`, `edges`, `eviction`: the graph and its
//!   memory;
//! * `tree`: the tree behind the trait; `iteration`: its loop; `path`, `select`, `amaf`, `spread`,
//!   `regret_matching`: the descent; `chance`: nodes in which the chance role draws;
//!   `simultaneous`: those in which several choose; `expand`: growth; `backpropagate`, `proof`: the
//!   way back; `matrix`: matrix games;
//! * `alpha_beta`: another search, by depth, for games in turns;
//! * `proof_numbers`, `questions`: proofs by proof-number search, beside the tree;
//! * `request`, `family`, `joint_family`, `worker`, `playout_queue`, `rollout`, `pipeline`:
//!   requests and threads.
//!
//! The *current* state is that of the match. The *root* is the node searched from. They differ in a
//! line of forced moves: the root is then at the end of the line.
//!
//! # One search
//!
//! `search` has one writer, the thread that calls it. The writer alone reads and writes the game
//! graph. Equal states are one node, found by a hash and compared in full. Nodes, edges and states
//! lie in pools of fixed records under one bound in bytes. Links are checked by generation. When
//! memory runs out, a clock algorithm frees the nodes with the fewest visits. The next root is
//! reached without copying.
//!
//! A descent selects by value and exploration: PUCT where moves have priors, AMAF where moves
//! leave lasting facts, else UCT, and at the root regret matching where several roles choose at
//! once. The exploration terms are in units of the spread of results; games of one role and of
//! simultaneous moves have UCB1-Tuned in place of UCT. The descent ends in a request: a state and
//! a joint move. A worker generates *families*, many at once by lanes: the position after forced
//! moves, its legal moves, and of each child whether it is terminal, its goals or its static
//! value. Where several roles choose, these are the children of all joint moves: all of up to 256,
//! with static values for up to 64. Moves that are dominated by another are left out. It then
//! plays the position out. Each rollout thread has a worker, with a ring for requests and one for
//! results, without locks. Requests in flight count as visits in the exploration term. Without
//! rollout threads the writer has a worker of its own, and a seed and a budget in iterations give
//! the same result every time.
//!
//! Results expand the graph and are backpropagated along their paths. Only moves that were
//! selected get an edge; the others wait in the order of their static values, and only the next
//! one competes. Each edge takes the mean and the minimax value of its child, and each node
//! recomputes both from its edges. Proven results are kept as bounds on each role's goal and are
//! propagated as far as best play decides. Where several roles choose, that is what a role is sure
//! of by mixing its moves: the value of a matrix game, found by linear programming (`matrix`).
//!
//! # What holds
//!
//! Invariants: only the writer's thread accesses the graph; the writer allocates nothing per
//! iteration once its buffers have grown; without rollout threads, a seed and limits in iterations
//! reproduce a search exactly; in the tree only `timing` reads the clock, and alpha-beta asks only
//! its budget and its processor time.
//!
//! Never uses: rules as text, HTTP, match ids.

#![cfg_attr(test, allow(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

pub mod alpha_beta;
mod amaf;
mod backpropagate;
mod chance;
mod config;
mod edges;
mod eviction;
mod expand;
mod family;
mod graph;
mod iteration;
mod joint_family;
mod matrix;
mod move_stats;
mod why_tree;
mod outlook;
mod parameters;
mod path;
mod pipeline;
mod playout_queue;
mod pool;
mod proof;
mod proof_numbers;
mod questions;
mod record;
mod regret_matching;
mod report;
mod request;
mod rollout;
mod searcher;
mod start;
mod select;
mod simultaneous;
mod slots;
mod spread;
mod timing;
mod transpositions;
mod tree;
mod turns;
mod values;
mod worker;

#[cfg(test)]
mod tests;

pub use config::{IterationTimes, RootEstimates, RootReport, SearchStatistics, StopReason};
pub use move_stats::MoveStats;
pub use outlook::{Outcome, RoleOutlook};
pub use parameters::{
    AlphaBetaParameters, MINIMAX_SHARE, Method, PARAMETERS, Parameter, PreparationEffect,
    SearchConfig,
};
pub use searcher::{Line, LineLimits, SearchReport, Searcher};
pub use start::{Started, start};
pub use why_tree::WhyTree;

use std::collections::VecDeque;
use std::sync::Arc;

use self::amaf::{Amaf, TableId};
use self::expand::{ForcedLineEnd, WriterGame};
use self::graph::Graph;
use self::pipeline::Pipeline;
use self::pool::PoolId;
use self::questions::Questions;
use self::record::{Bounds, EdgeId};
use self::request::BoxedRequest;
use self::spread::Spread;
use panza_gdl::{Id, MoveId, NodeId, RoleId};
use panza_machine::Machine;
use panza_sync::Random;

/// A search for one role of one game.
///
/// [`run`](Search::run) repeats iterations. One iteration:
///
/// 1. `descend` goes from the root to a leaf. In each node `select_edges` selects the moves: the
///    mover's by value and exploration, those of several roles independently, those of chance by
///    visits. Nodes and edges on the path count it as in flight. A solved leaf needs no worker: its
///    iteration goes on with step 8.
/// 2. `iterate` writes the request: the state of the leaf, the joint move that leads to a new
///    child, and the number of playouts. `send` gives it to a rollout thread, or to the writer's
///    worker.
/// 3. There `examine_new_requests` generates the family: the position after forced moves, its legal
///    moves, and what is known of each child.
/// 4. `start_playouts` plays the position out, unless it is terminal or the evaluation has all the
///    weight.
/// 5. `take_arrived` receives the answer, and `read_result` makes a value for each role of it:
///    goals, the mean of the playouts, the evaluation, or a mixture of the last two.
/// 6. `expand` adds the position to the graph: as a child of the leaf, or as the leaf's own moves.
/// 7. `add_to_amaf` counts the playouts for the facts that moves made true.
/// 8. `finish` counts the iteration, and `backpropagate` takes the values and proven bounds back
///    along the path, which is no longer in flight.
///
/// Many iterations are between steps 2 and 5 at once. Between two receptions `solve` advances the
/// proof-number search, and `is_proven` says whether the run is over.
pub struct Search {
    role: RoleId,
    config: SearchConfig,
    graph: Graph,
    game: WriterGame,
    pipeline: Pipeline,
    /// The state of the match.
    current: Vec<u64>,
    /// Forced joint moves from `current` to the root.
    forced_ahead: u16,
    /// The result being backpropagated: a value per role, 0 to 100.
    values: Vec<f32>,
    /// The bounds of the proof update being backpropagated.
    update_bounds: Vec<Bounds>,
    /// Requests that are not in flight, for reuse.
    free_requests: Vec<BoxedRequest>,
    /// Answers that are not yet in the graph; empty between two iterations.
    arrived: VecDeque<BoxedRequest>,
    /// Incremented when requests are lost; see `pipeline`.
    epoch: u32,
    /// The counters up to `lost_requests`; the levels are unused.
    counters: SearchStatistics,
    /// The counters when the current state was reached.
    counters_at_current: SearchStatistics,
    times: IterationTimes,
    /// Visits of the root before it became the root, without regret matching.
    visits_before_root: u32,
    /// A uniform number that draws the move of a mixed strategy; one for each current state.
    strategy_draw: f32,
    strategy_random: Random,
    spread: Spread,
    /// Whether several roles have chosen at once somewhere.
    has_simultaneous: bool,
    /// The mean number of playouts of recent results.
    playouts_per_result: f32,
    /// None where moves leave no lasting facts.
    amaf: Option<Amaf>,
    /// The table for the last node of the path of the current descent.
    amaf_table: Option<TableId>,
    /// None where no positions are solved beside the tree.
    questions: Option<Questions>,
    /// The sum of the pair's goals in the first result, and whether it differed in another.
    first_sum: Option<u64>,
    has_varying_sum: bool,
    /// Results whose sum was compared.
    n_sums: u64,
    /// Longest path since the current state was reached.
    max_depth: u32,
    /// The most legal moves of an answer so far.
    most_legal: usize,
    /// Requests that may be in flight at most, by their size.
    most_in_flight: u32,
}

/// Greatest number of bytes of all requests.
const MAX_REQUEST_BYTES: usize = 128 << 20;

impl Search {
    /// A search for `role` at the initial state. Starts the rollout threads.
    pub fn new(machine: Arc<dyn Machine>, role: RoleId, mut config: SearchConfig) -> Search {
        if config.evaluation.is_none() {
            // Edges have variances then, and no minimax values.
            config.minimax_share = 0.0;
            config.evaluation_share = 0.0;
        } else if config.prior_temperature > 0.0 {
            // Priors take the place of AMAF values, and counting facts has its cost.
            config.placements = None;
        }
        let (roles, chance) = (machine.info().n_roles(), machine.info().chance_role());
        config.placements.take_if(|found| !amaf::fits(found, roles));
        let current = machine.initial_state();
        let pipeline = Pipeline::start(&machine, &config);
        let mut search = Search {
            role,
            graph: Graph::new(&config, roles, chance, role.index(), current.len()),
            game: WriterGame::new(
                Arc::clone(&machine).reasoner(),
                Random::new(config.seed),
                roles,
            ),
            playouts_per_result: pipeline.samples() as f32,
            pipeline,
            current: Vec::new(),
            forced_ahead: 0,
            values: vec![0.0; roles],
            update_bounds: vec![Bounds::UNKNOWN; roles],
            free_requests: Vec::new(),
            arrived: VecDeque::new(),
            epoch: 0,
            counters: SearchStatistics::default(),
            counters_at_current: SearchStatistics::default(),
            times: IterationTimes::default(),
            visits_before_root: 0,
            strategy_draw: 0.0,
            strategy_random: Random::new(!config.seed),
            spread: Spread::new(),
            has_simultaneous: false,
            amaf: config
                .placements
                .as_ref()
                .map(|found| Amaf::new(found, roles, config.amaf_playouts)),
            amaf_table: None,
            questions: Questions::new(&machine, &config),
            first_sum: None,
            has_varying_sum: false,
            n_sums: 0,
            max_depth: 0,
            most_legal: 0,
            most_in_flight: most_in_flight(current.len(), 0, roles),
            config,
        };
        search.set_state(&current);
        search
    }

    /// Follows the match by a joint move, one move per role. The graph is kept. A list of another
    /// length is ignored with a warning in the log.
    pub fn advance(&mut self, joint_move: &[MoveId]) {
        if joint_move.len() != self.graph.roles {
            tracing::warn!(
                given = joint_move.len(),
                roles = self.graph.roles,
                "a joint move of the wrong length was ignored"
            );
            return;
        }
        self.game.reasoner.set_state(&self.current);
        let root = self.graph.root;
        let is_forced_move = self.forced_ahead > 0
            && (0..self.graph.roles).all(|role| {
                let legal = self.game.reasoner.legal_moves(RoleId::from_index(role));
                legal == [joint_move[role]]
            });
        let child = if self.forced_ahead == 0 {
            self.child_after(joint_move)
        } else {
            NodeId::NONE
        };
        self.game
            .reasoner
            .next_state(joint_move, &mut self.game.state);
        std::mem::swap(&mut self.current, &mut self.game.state);
        if is_forced_move {
            self.forced_ahead -= 1;
            self.graph.set_root(root);
            self.begin_position();
        } else if child.is_some() && self.graph.nodes[child].terminal {
            // A terminal node is not in the transposition table.
            self.forced_ahead = 0;
            self.graph.set_root(child);
            self.begin_position();
        } else {
            self.set_root_to_current();
        }
    }

    /// Moves to any state of the same machine.
    pub fn set_state(&mut self, state: &[u64]) {
        self.current.clear();
        self.current.extend_from_slice(state);
        self.set_root_to_current();
    }

    /// Makes the first choice at or after the current state the root.
    fn set_root_to_current(&mut self) {
        let (end, length) = self.game.follow_forced_moves(&self.current);
        self.forced_ahead = length;
        self.set_root_to_line_end(end);
        self.begin_position();
        if end == ForcedLineEnd::Choice {
            self.graph.expand_root(&mut self.game);
        }
    }

    fn set_root_to_line_end(&mut self, end: ForcedLineEnd) {
        let goals = (end == ForcedLineEnd::Terminal).then_some(self.game.goals.as_slice());
        self.graph.set_root_state(&self.game.state, goals);
    }

    /// Starts the counters of a new current state.
    fn begin_position(&mut self) {
        self.counters_at_current = self.counters;
        self.max_depth = 0;
        if let Some(questions) = &mut self.questions {
            questions.leave();
        }
        self.strategy_draw = regret_matching::unit_interval(&mut self.strategy_random);
        self.reset_regrets();
    }

    /// Expands the root, unless it is expanded or terminal. Without memory it stays unexpanded.
    fn expand_root(&mut self) {
        let root = self.graph.root;
        let record = &self.graph.nodes[root];
        if record.terminal || record.is_expanded() {
            return;
        }
        let state = self.graph.state(root).to_vec();
        let (end, length) = self.game.follow_forced_moves(&state);
        if length > 0 {
            self.set_root_to_line_end(end);
            self.forced_ahead = self.forced_ahead.saturating_add(length);
        }
        if end == ForcedLineEnd::Choice {
            self.graph.expand_root(&mut self.game);
        }
    }

    /// The root's child after a joint move, if it is in the graph.
    fn child_after(&self, joint_move: &[MoveId]) -> NodeId {
        let root = self.graph.root;
        if !self.graph.nodes[root].is_expanded() {
            return NodeId::NONE;
        }
        let mut selected: Vec<EdgeId> = Vec::with_capacity(self.graph.roles);
        for (role, &mv) in joint_move.iter().enumerate() {
            let role_moves = self.graph.role_moves(root, role);
            if role_moves.has_choice() {
                match self.graph.edge_of(role_moves, mv) {
                    Some(edge) => selected.push(edge),
                    None => return NodeId::NONE,
                }
            } else if role_moves.only_move != mv {
                return NodeId::NONE;
            }
        }
        self.graph.child(root, &selected)
    }
}

/// The requests that take [`MAX_REQUEST_BYTES`]. A request has two states, legal moves with their
/// values, and values and moves of each role.
fn most_in_flight(state_words: usize, n_legal: usize, n_roles: usize) -> u32 {
    const BYTES_PER_MOVE: usize = size_of::<MoveId>() + size_of::<record::UntriedMove>();
    const BYTES_PER_ROLE: usize = 32;
    let bytes = 16 * state_words + BYTES_PER_MOVE * n_legal + BYTES_PER_ROLE * n_roles;
    (MAX_REQUEST_BYTES / bytes.max(1)).clamp(1, u32::MAX as usize) as u32
}
