//! One thread of the search: the nodes of a principal variation search with quiescence.
//!
//! A node asks the table, then for cuts by its static score, and only then the machine for its
//! moves. The states, ends and static scores of all children are computed at once (a family), and
//! order the moves beside history and killers. The first move is searched with the whole window,
//! others with an empty one, and again where that fails (Marsland and Campbell 1982; Reinefeld
//! 1983). At depth 0 quiescence search goes on with the moves that raise the static score by more
//! than moves usually do.
//!
//! Invariants: a proven score holds with best play, since moves are only left out of nodes that
//! have a score which is no proven loss; nothing is allocated once buffers have grown.
//!
//! Never uses: the clock but by its budget.

mod selective;

use std::sync::Arc;

use super::entry::{AGES, Bound, Entry, worth};
use super::frame::{Frame, History, MAX_HISTORY};
use super::rest::{Found, Rest, Run};
use super::root::RootMoves;
use super::score::{INFINITE, PROVEN, Score, WIN, Window, from_here, from_root, of_goal, of_logit};
use super::{Counts, MAX_DEPTH, Units};
use crate::parameters::AlphaBetaParameters;
use crate::turns::Turns;
use panza_gdl::{Id, MoveId, RoleId};
use panza_learning::{Evaluation, ValueReader};
use panza_machine::{Expander, ExpansionStep, Machine, Reasoner, with_wide_vectors};
use panza_sync::{Claims, Table};

/// Joint moves of a path, at most.
pub(super) const MAX_PLY: usize = 120;
/// Forced joint moves in a row, at most.
const MAX_FORCED: usize = 400;
/// Depths from which on the window is narrow at first.
const NARROW_DEPTH: i32 = 4;
/// The first width of a narrow window, at least, and the width from which on it is full.
const MIN_WIDTH: Score = 20;
const MAX_WIDTH: Score = 3_000;
/// Nodes between two looks at the budget.
const CHECK_EVERY: u64 = 32;
/// The depth of entries that are exact at any depth.
const ANY_DEPTH: i32 = 127;
/// Nodes that the table knows no move of are searched less from this depth on.
const MIN_UNKNOWN_DEPTH: i32 = 4;
/// What the ordering score of the table move is raised by, and that of the two killers, in
/// [`Units::change`].
const TABLE_MOVE: Score = 1 << 24;
const KILLER_UNITS: [Score; 2] = [2, 1];
/// Moves of nodes from this depth on are searched later while another thread searches them.
const MIN_CLAIM_DEPTH: i32 = 3;
/// The ordering score of a move that was not searched, and of one that was.
const LEFT_OUT: Score = Score::MIN;
const TRIED: Score = 0;

/// What a node's moves are searched for, as seen by its mover.
struct Node {
    ply: usize,
    depth: i32,
    window: Window,
    is_pv: bool,
    /// The static score.
    score: Score,
    known: Option<Entry>,
    known_move: Option<MoveId>,
    /// Whether the static score has risen since the mover's last turn.
    is_rising: bool,
    best: Score,
    best_move: Option<MoveId>,
}

/// What the machine says of a node.
enum Entered {
    /// The score of the end.
    End(Score),
    /// The node was replaced by the one after forced moves.
    Later,
    /// One role chooses.
    Choice,
}

/// One thread of the search.
pub(super) struct NodeSearch {
    sum: f32,
    reasoner: Box<dyn Reasoner>,
    expander: Box<dyn Expander>,
    pub evaluation: Arc<Evaluation>,
    reader: ValueReader,
    table: Arc<Table>,
    /// The moves that threads search, where there are several.
    pub claims: Option<Arc<Claims>>,
    frames: Vec<Frame>,
    keys: Vec<u64>,
    history: History,
    turns: Turns,
    next: Vec<u64>,
    /// Empty; kept for its memory.
    steps: Vec<ExpansionStep<'static>>,
    pub parameters: AlphaBetaParameters,
    /// After this number of nodes quiescence search has at most two plies.
    pub fewer_plies_from: u64,
    pub units: Units,
    pub age: u8,
    pub run: Run,
    /// Where the thread rests when the run is over; without one the search is over then.
    pub rest: Option<Rest>,
    pub is_over: bool,
    /// The score of the last depth that was searched in full, and that depth.
    completed: (Score, i32),
    pub counts: Counts,
    pub root: RootMoves,
    /// The depth of the search of the root.
    root_depth: i32,
    /// Changes of the static score by a move, as seen by its mover, where they are collected.
    pub changes: Option<Vec<Score>>,
}

/// The memory of some steps, for steps of another time: a vector that is collected from its own
/// items stays where it is.
fn emptied<'a>(mut steps: Vec<ExpansionStep<'_>>) -> Vec<ExpansionStep<'a>> {
    steps.clear();
    let none = steps.into_iter().map(|step| ExpansionStep {
        state: &[],
        joint_move: step.joint_move.and(None),
    });
    none.collect()
}

/// The key under which threads say that they search a move of a state.
#[inline]
fn claim_of(key: u64, mv: MoveId) -> u64 {
    (key ^ (mv.index() as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)).max(1)
}

/// A hash of a state.
#[inline]
fn key_of(state: &[u64]) -> u64 {
    let mut key = 0x9E37_79B9_7F4A_7C15u64;
    for &word in state {
        let product = u128::from(key ^ word) * 0xA076_1D64_78BD_642Fu128;
        key = (product as u64) ^ ((product >> 64) as u64).rotate_left(17);
        key ^= word.wrapping_mul(0x9FB2_1C65_1E98_DF25);
        key ^= key >> 29;
    }
    key.wrapping_mul(0xBF58_476D_1CE4_E5B9) ^ key >> 31
}

impl NodeSearch {
    pub fn new(
        machine: &Arc<dyn Machine>,
        evaluation: &Arc<Evaluation>,
        table: &Arc<Table>,
        turns: Turns,
        parameters: AlphaBetaParameters,
    ) -> Self {
        let n_words = machine.initial_state().len();
        Self {
            sum: evaluation.scale(),
            reasoner: Arc::clone(machine).reasoner(),
            expander: Arc::clone(machine).expander(),
            reader: ValueReader::new(evaluation),
            evaluation: Arc::clone(evaluation),
            table: Arc::clone(table),
            claims: None,
            frames: (0..MAX_PLY + 2).map(|_| Frame::new(n_words)).collect(),
            keys: vec![0; MAX_PLY + 2],
            history: History::new(),
            turns,
            next: Vec::with_capacity(n_words),
            steps: Vec::new(),
            parameters,
            fewer_plies_from: u64::MAX,
            units: Units::default(),
            age: 0,
            run: Run::default(),
            rest: None,
            is_over: false,
            completed: (0, 0),
            counts: Counts::default(),
            root: RootMoves::default(),
            root_depth: 0,
            changes: None,
        }
    }

    /// Prepares for another position.
    pub fn begin(&mut self) {
        self.age = (self.age + 1) % AGES;
        self.history.age();
        for frame in &mut self.frames {
            frame.killers = [None; 2];
        }
    }

    /// The score of a state by a search of this depth, as seen by the first role. Without meaning
    /// once `is_over` is set.
    pub fn score(&mut self, state: &[u64], depth: i32, window: Window) -> Score {
        self.frames[0].set(state, None);
        self.root_depth = depth;
        self.node(0, depth, window, true)
    }

    /// The static score of a state, as seen by the first role.
    pub fn static_score(&mut self, state: &[u64]) -> Score {
        let evaluation = &self.evaluation;
        self.reader.load_states(evaluation, std::iter::once(state));
        let mut logits = [0.0];
        self.reader.logits(evaluation, 0, state, &mut logits);
        of_logit(logits[0])
    }

    fn look_at_run(&mut self) -> bool {
        let nodes = self.counts.nodes;
        if nodes >= self.run.budget.max_steps
            || nodes.is_multiple_of(CHECK_EVERY) && self.is_run_over()
        {
            self.is_over = !self.rests();
        }
        self.is_over
    }

    fn is_run_over(&self) -> bool {
        self.rest.as_ref().is_some_and(Rest::is_run_over) || self.run.budget.is_over()
    }

    /// Rests until the next run, where the thread has a place to rest. Returns whether the search
    /// of the position goes on.
    fn rests(&mut self) -> bool {
        let Some(mut rest) = self.rest.take() else {
            return false;
        };
        let run = rest.until_next_run(self.found());
        self.rest = Some(rest);
        match run {
            Some(run) => self.run = run,
            None => return false,
        }
        true
    }

    /// What was found about the position.
    pub fn found(&self) -> Found {
        let (score, depth) = self.completed;
        Found {
            score,
            depth,
            root: self.root.clone(),
            mover: self.root_mover(),
            counts: self.counts,
            ..Found::default()
        }
    }

    /// Searches a state to greater and greater depths, until nothing is left to search or the
    /// search is over.
    pub fn deepen(&mut self, state: &[u64]) {
        self.begin_position();
        self.go_on(state);
    }

    /// Forgets what was found about the last position.
    pub fn begin_position(&mut self) {
        self.begin();
        self.root.clear();
        self.counts.deepest = 0;
        self.completed = (0, 0);
    }

    /// Searches on from the last depth that was searched in full. Returns whether nothing is left
    /// to search.
    pub fn go_on(&mut self, state: &[u64]) -> bool {
        self.is_over = false;
        loop {
            let (score, depth) = self.completed;
            if Self::is_settled(score, depth) || depth >= MAX_DEPTH {
                return true;
            }
            if depth >= self.run.max_depth {
                if let Some(rest) = &self.rest {
                    rest.end_run();
                }
                if !self.rests() {
                    return false;
                }
                continue;
            }
            let score = self.narrowing(state, score, depth + 1);
            if self.is_over {
                return false;
            }
            self.completed = (score, depth + 1);
            // A forced end, or no choice: nothing depends on the depth.
            if self.root.best.is_none() {
                return true;
            }
        }
    }

    /// The score of a search to a depth, with a window around the expected one that grows where the
    /// score lies outside.
    fn narrowing(&mut self, state: &[u64], expected: Score, depth: i32) -> Score {
        let mut width = self.units.change.max(MIN_WIDTH);
        let mut window = match depth < NARROW_DEPTH || expected.abs() > PROVEN {
            true => Window::FULL,
            false => Window {
                alpha: expected - width,
                beta: expected + width,
            },
        };
        loop {
            let score = self.score(state, depth, window);
            if self.is_over {
                return score;
            }
            width *= 3;
            let is_wide = width > MAX_WIDTH;
            if score <= window.alpha && window.alpha > -INFINITE {
                window.alpha = if is_wide { -INFINITE } else { score - width };
            } else if score >= window.beta && window.beta < INFINITE {
                window.beta = if is_wide { INFINITE } else { score + width };
            } else {
                debug_assert!(score.abs() <= WIN);
                return score;
            }
        }
    }

    /// The score of the state of a frame, as seen by the first role.
    fn node(&mut self, ply: usize, depth: i32, window: Window, is_pv: bool) -> Score {
        if self.is_over || self.look_at_run() {
            return 0;
        }
        self.counts.nodes += 1;
        self.counts.quiet_nodes += u64::from(depth <= 0);
        self.counts.deepest = self.counts.deepest.max(ply as u32);
        let key = key_of(&self.frames[ply].state);
        self.keys[ply] = key;
        if self.parameters.sharing > 0 && self.keys[..ply].contains(&key) {
            return 0;
        }
        let known = self.table.get(key).map(Entry::unpack);
        if let Some(score) = known.and_then(|it| self.known_score(it, ply, depth, window, is_pv)) {
            self.counts.table_cuts += 1;
            return score;
        }
        let guessed = self.turns.mover(&self.frames[ply].state);
        if ply > 0
            && let Some(mover) = guessed
            && let Some(score) = self.cut_by_static(ply, mover, depth, window, is_pv)
        {
            return score;
        }
        match self.enter(ply, guessed) {
            Entered::End(score) => {
                self.store(key, ply, ANY_DEPTH, score, Bound::Exact, None);
                return score;
            }
            Entered::Later => return self.node(ply, depth, window, is_pv),
            Entered::Choice => {}
        }
        let mover = self.frames[ply].mover;
        if guessed.is_none()
            && ply > 0
            && let Some(score) = self.cut_by_static(ply, mover, depth, window, is_pv)
        {
            return score;
        }
        let score = self.frame_score(ply);
        if ply >= MAX_PLY {
            return score;
        }
        self.search_moves(key, ply, depth, window, is_pv, known)
    }

    /// The score by an entry of the table, if that is enough for the window.
    fn known_score(
        &self,
        entry: Entry,
        ply: usize,
        depth: i32,
        window: Window,
        is_pv: bool,
    ) -> Option<Score> {
        let score = from_root(entry.score, ply);
        let depth = depth.max(0);
        let is_deep = match self.parameters.sharing > 0 {
            true => entry.depth >= depth || score.abs() > PROVEN,
            false => entry.depth == depth || entry.depth == ANY_DEPTH,
        };
        let fits = match entry.bound {
            Bound::Exact => true,
            Bound::Lower => score >= window.beta,
            Bound::Upper => score <= window.alpha,
        };
        // The principal variation is kept whole, and the root's moves are wanted.
        let is_wanted = ply > 0 && (!is_pv || entry.depth == ANY_DEPTH);
        (is_wanted && is_deep && fits).then_some(score)
    }

    /// The static score of a frame, as seen by the first role.
    fn frame_score(&mut self, ply: usize) -> Score {
        if let Some(score) = self.frames[ply].score {
            return score;
        }
        let state = std::mem::take(&mut self.frames[ply].state);
        let score = self.static_score(&state);
        self.frames[ply].state = state;
        self.frames[ply].score = Some(score);
        score
    }

    /// Asks the machine for the moves of a frame. Forced moves are made.
    fn enter(&mut self, ply: usize, guessed: Option<usize>) -> Entered {
        let frame = &mut self.frames[ply];
        self.reasoner.set_state(&frame.state);
        for n_forced in 0..MAX_FORCED {
            if self.reasoner.is_terminal() {
                let mut goals = [None; 2];
                self.reasoner.goals(&mut goals);
                return Entered::End(of_goal(goals[0].unwrap_or(0), self.sum, ply));
            }
            let counts = [0, 1].map(|it| self.reasoner.legal_moves(RoleId(it)).len());
            if n_forced > 0 && counts != [1, 1] {
                return Entered::Later;
            }
            let mover = match counts {
                // A broken game.
                [0, _] | [_, 0] => return Entered::End(0),
                [1, 1] => {
                    let joint = [0, 1].map(|it| self.reasoner.legal_moves(RoleId(it))[0]);
                    self.reasoner.next_state(&joint, &mut self.next);
                    frame.set(&self.next, None);
                    self.reasoner.set_state(&frame.state);
                    continue;
                }
                [1, _] => 1,
                _ => 0,
            };
            self.counts.simultaneous += u64::from(counts[1 - mover] > 1);
            let other = self.reasoner.legal_moves(RoleId::from_index(1 - mover))[0];
            let moves = self.reasoner.legal_moves(RoleId::from_index(mover));
            frame.set_moves(mover, moves, other);
            if guessed.is_some_and(|guessed| guessed != mover) {
                self.turns.forget();
            }
            return Entered::Choice;
        }
        Entered::End(0)
    }

    /// Generates the children of a frame, with their static scores.
    fn generate(&mut self, ply: usize) {
        let frame = &mut self.frames[ply];
        let mut steps = emptied(std::mem::take(&mut self.steps));
        steps.extend(frame.joint_moves.iter().map(|joint_move| ExpansionStep {
            state: &frame.state,
            joint_move: Some(joint_move),
        }));
        self.expander.expand(&steps, false, &mut frame.children);
        self.steps = emptied(steps);
        let Self {
            reader, evaluation, ..
        } = self;
        let sum = self.sum;
        reader.load(evaluation, &frame.children);
        frame.scores.clear();
        with_wide_vectors(
            #[inline(always)]
            || {
                reader.begin(evaluation, &frame.state, 0);
                for index in 0..frame.children.len() {
                    let score = match frame.children.terminal[index] {
                        true => {
                            let goal = frame.children.goals(index)[0];
                            of_goal(goal.unwrap_or(0), sum, ply + 1)
                        }
                        false => {
                            let mut logits = [0.0];
                            let children = &frame.children;
                            reader.logits_after(
                                evaluation,
                                &frame.state,
                                children,
                                index,
                                &mut logits,
                            );
                            of_logit(logits[0])
                        }
                    };
                    frame.scores.push(score);
                }
            },
        );
    }

    /// Searches the moves of a frame and stores what was found. Returns the score as seen by the
    /// first role.
    fn search_moves(
        &mut self,
        key: u64,
        ply: usize,
        depth: i32,
        window: Window,
        is_pv: bool,
        known: Option<Entry>,
    ) -> Score {
        self.generate(ply);
        let sign = self.frames[ply].sign;
        let score = sign * self.frame_score(ply);
        let mut node = Node {
            ply,
            depth: depth.max(0),
            window: window.seen_by(sign),
            is_pv,
            score,
            known,
            known_move: known.and_then(|entry| entry.mv),
            is_rising: self.is_rising(ply, score),
            best: -INFINITE,
            best_move: None,
        };
        if self.parameters.unknown_move > 0
            && node.known_move.is_none()
            && ply > 0
            && node.depth >= MIN_UNKNOWN_DEPTH
        {
            node.depth -= 1;
        }
        let alpha = node.window.alpha;
        match depth {
            ..=0 => self.search_loud_moves(&mut node, depth),
            _ => {
                self.order_moves(&node);
                if let Some((score, depth)) = self.probable_cut(&node) {
                    let (score, bound) = (sign * score, Bound::Lower.seen_by(sign));
                    self.store(key, ply, depth, score, bound, node.known_move);
                    return score;
                }
                match self.singular_plies(&node) {
                    Ok(plies) => self.search_all_moves(&mut node, plies),
                    // By shallow searches alone, so that the table keeps what it knows.
                    Err(score) => return sign * score,
                }
            }
        }
        if self.is_over {
            return 0;
        }
        let bound = match node.best {
            best if best >= node.window.beta => Bound::Lower,
            best if best > alpha => Bound::Exact,
            _ => Bound::Upper,
        };
        let score = sign * node.best;
        let mv = node.best_move.or(node.known_move);
        self.store(key, ply, node.depth, score, bound.seen_by(sign), mv);
        score
    }

    /// The score of a move by a search to a depth below it with an empty window, as seen by the
    /// mover.
    fn child_score(&mut self, node: &Node, index: usize, depth: i32, window: Window) -> Score {
        let sign = self.frames[node.ply].sign;
        self.descend(node.ply, index);
        sign * self.node(node.ply + 1, depth, window.seen_by(sign), false)
    }

    fn store(
        &self,
        key: u64,
        ply: usize,
        depth: i32,
        score: Score,
        bound: Bound,
        mv: Option<MoveId>,
    ) {
        let age = self.age;
        let entry = Entry {
            score: from_here(score, ply),
            bound,
            depth,
            mv,
            age,
        };
        self.table.put(key, entry.pack(), |data| worth(data, age));
    }

    /// Puts a child in the next frame.
    fn descend(&mut self, ply: usize, index: usize) {
        let (upper, lower) = self.frames.split_at_mut(ply + 1);
        let (frame, child) = (&mut upper[ply], &mut lower[0]);
        frame.made = Some(frame.moves[index]);
        child.set(frame.children.state(index), Some(frame.scores[index]));
    }

    /// Quiescence search: the mover may stay with the static score.
    fn search_loud_moves(&mut self, node: &mut Node, depth: i32) {
        node.best = node.score;
        node.window.alpha = node.window.alpha.max(node.best);
        let margin = self.units.change + self.units.turn;
        let frame = &mut self.frames[node.ply];
        frame.order.clear();
        for index in 0..frame.moves.len() {
            let score = frame.score_after(index);
            if score > node.window.alpha && (frame.is_end(index) || score > node.score + margin) {
                frame.order.push((score, index as u32));
            }
        }
        let count = frame.order.len();
        for n_tried in 0..count {
            let frame = &mut self.frames[node.ply];
            let index = frame.pick(n_tried);
            let score = match frame.is_end(index) {
                true => frame.score_after(index),
                false => {
                    let sign = frame.sign;
                    self.descend(node.ply, index);
                    let window = node.window.seen_by(sign);
                    sign * self.node(node.ply + 1, depth - 1, window, false)
                }
            };
            if self.is_over {
                return;
            }
            let mv = self.frames[node.ply].moves[index];
            if node.improve(score, mv) {
                return;
            }
        }
    }

    /// Gives each move its ordering score: its static score, more for the table move, killers and
    /// moves with a good history.
    fn order_moves(&mut self, node: &Node) {
        let unit = self.units.change;
        let before = self.move_before(node.ply);
        let frame = &mut self.frames[node.ply];
        frame.order.clear();
        for (index, &mv) in frame.moves.iter().enumerate() {
            let mut ordering = frame.sign * frame.scores[index];
            if Some(mv) == node.known_move {
                ordering += TABLE_MOVE;
            } else if node.depth > 1 {
                let killers = frame.killers.iter().zip(KILLER_UNITS);
                let killer = killers.filter(|(killer, _)| **killer == Some(mv));
                ordering += killer.map(|(_, units)| units * unit).sum::<Score>();
                let mut earned = self.history.of(frame.mover, mv);
                if self.parameters.continuation > 0.0 {
                    let after = self.history.after(before, mv) as f32;
                    earned += (after * self.parameters.continuation) as Score;
                }
                ordering += earned * unit / MAX_HISTORY;
            }
            frame.order.push((ordering, index as u32));
        }
        if let Some(changes) = &mut self.changes {
            let after = (0..frame.moves.len()).filter(|&index| !frame.is_end(index));
            changes.extend(
                after
                    .map(|index| frame.score_after(index) - node.score)
                    .take(8),
            );
        }
    }

    /// The move that led to a frame.
    fn move_before(&self, ply: usize) -> Option<MoveId> {
        ply.checked_sub(1)
            .and_then(|before| self.frames[before].made)
    }

    /// Searches all moves, the first one this number of plies deeper. Those that another thread
    /// searches meanwhile come last.
    fn search_all_moves(&mut self, node: &mut Node, first_plies: i32) {
        let count = self.frames[node.ply].order.len();
        self.frames[node.ply].deferred.clear();
        for step in 0usize.. {
            let frame = &mut self.frames[node.ply];
            let (n_tried, index) = match step.checked_sub(count) {
                None => (step, frame.pick(step)),
                Some(later) => match frame.deferred.get(later) {
                    Some(&n_tried) => (n_tried, frame.order[n_tried].1 as usize),
                    None => return,
                },
            };
            let (mv, after) = (frame.moves[index], frame.score_after(index));
            let is_end = frame.is_end(index);
            // The other role would stay with the static score.
            let stays =
                node.depth == 1 && (self.parameters.quiescence == 0 || after <= node.window.alpha);
            let score = if is_end || stays {
                after
            } else if self.is_late(node, n_tried, after) || self.is_futile(node, after) {
                self.frames[node.ply].order[n_tried].0 = LEFT_OUT;
                // It may be as good as its static score, so the node is at most as bad as that.
                node.best = node.best.max(after.min(node.window.alpha));
                continue;
            } else if step < count && n_tried > 0 && self.is_elsewhere(node, mv) {
                let frame = &mut self.frames[node.ply];
                frame.order[n_tried].0 = LEFT_OUT;
                frame.deferred.push(n_tried);
                continue;
            } else {
                self.descend(node.ply, index);
                let plies = if n_tried == 0 { first_plies } else { 0 };
                self.claim(node, mv);
                let score = self.move_score(node, n_tried, mv, after, plies);
                self.release(node, mv);
                score
            };
            if self.is_over {
                return;
            }
            if node.ply == 0 {
                self.root.add(mv, score, node.window, self.counts.nodes);
            }
            if node.improve(score, mv) {
                self.reward(node, n_tried, step.min(count), mv);
                return;
            }
            self.frames[node.ply].order[n_tried].0 = TRIED;
        }
    }

    /// The claims on moves, where threads share the moves of a node.
    #[inline]
    fn shared_claims(&self, node: &Node) -> Option<&Claims> {
        let claims = self.claims.as_deref();
        claims.filter(|_| node.depth >= MIN_CLAIM_DEPTH)
    }

    /// Whether another thread searches a move of a node.
    #[inline]
    fn is_elsewhere(&self, node: &Node, mv: MoveId) -> bool {
        let claims = self.shared_claims(node);
        claims.is_some_and(|claims| claims.is_claimed(claim_of(self.keys[node.ply], mv)))
    }

    #[inline]
    fn claim(&self, node: &Node, mv: MoveId) {
        if let Some(claims) = self.shared_claims(node) {
            claims.claim(claim_of(self.keys[node.ply], mv));
        }
    }

    #[inline]
    fn release(&self, node: &Node, mv: MoveId) {
        if let Some(claims) = self.shared_claims(node) {
            claims.release(claim_of(self.keys[node.ply], mv));
        }
    }

    /// The score of a move whose child is in the next frame, as seen by the mover.
    fn move_score(
        &mut self,
        node: &Node,
        n_tried: usize,
        mv: MoveId,
        after: Score,
        plies: i32,
    ) -> Score {
        let sign = self.frames[node.ply].sign;
        let Window { alpha, beta } = node.window;
        let (below, depth) = (node.ply + 1, node.depth - 1 + plies);
        if n_tried == 0 {
            let window = node.window.seen_by(sign);
            return sign * self.node(below, depth, window, node.is_pv);
        }
        let empty = Window {
            alpha,
            beta: alpha + 1,
        };
        let empty = empty.seen_by(sign);
        let reduction = self.reduction(node, n_tried, mv, after);
        self.counts.reduced += u64::from(reduction > 0);
        let mut score = sign * self.node(below, depth - reduction, empty, false);
        if score > alpha && reduction > 0 && !self.is_over {
            self.counts.searched_again += 1;
            score = sign * self.node(below, depth, empty, false);
        }
        if score > alpha && score < beta && node.is_pv && !self.is_over {
            score = sign * self.node(below, depth, node.window.seen_by(sign), true);
        }
        score
    }

    /// Remembers a move that refuted a node, which has the place `n_tried` in the order, and the
    /// moves that did not, which are among the first `n_picked`.
    fn reward(&mut self, node: &Node, n_tried: usize, n_picked: usize, mv: MoveId) {
        self.counts.cuts += 1;
        self.counts.first_cuts += u64::from(n_tried == 0);
        let bonus = (node.depth * node.depth).min(64);
        let before = self.move_before(node.ply);
        let before = before.filter(|_| self.parameters.continuation > 0.0);
        let frame = &mut self.frames[node.ply];
        frame.add_killer(mv);
        self.history.add(frame.mover, mv, bonus);
        self.history.add_after(before, mv, bonus);
        let tried = frame.order[..n_picked].iter();
        let is_other = |&&(promise, index): &&(Score, u32)| {
            promise != LEFT_OUT && frame.moves[index as usize] != mv
        };
        for &(_, index) in tried.filter(is_other) {
            let mv = frame.moves[index as usize];
            self.history.add(frame.mover, mv, -bonus);
            self.history.add_after(before, mv, -bonus);
        }
    }

    /// The role that chooses at the root.
    pub fn root_mover(&self) -> usize {
        self.frames[0].mover
    }

    /// Whether a proven result of a search is as near as it is known to be: deeper searches change
    /// nothing.
    pub fn is_settled(score: Score, depth: i32) -> bool {
        score.abs() > PROVEN && WIN - score.abs() <= depth
    }

    /// Follows the principal variation from a state by the best moves in the table, for `most`
    /// moves at most. Returns its last state that is not terminal. `read` gets each move.
    pub fn follow(&mut self, state: &[u64], most: usize, mut read: impl FnMut(MoveId)) -> Vec<u64> {
        let mut state = state.to_vec();
        let mut seen: Vec<u64> = Vec::new();
        while seen.len() < most && self.enter_later(&mut state) {
            let key = key_of(&state);
            let known = self.table.get(key).and_then(|data| Entry::unpack(data).mv);
            let Some(mv) = known.filter(|_| !seen.contains(&key)) else {
                break;
            };
            seen.push(key);
            if !self.make(mv) {
                break;
            }
            read(mv);
            self.reasoner.set_state(&self.next);
            if self.reasoner.is_terminal() {
                break;
            }
            state.clone_from(&self.next);
        }
        state
    }

    /// The principal variation that begins with this move, by the best moves in the table: `most`
    /// moves at most.
    pub fn line(&mut self, state: &[u64], mv: MoveId, most: usize) -> Vec<MoveId> {
        let mut state = state.to_vec();
        if !self.enter_later(&mut state) || !self.make(mv) {
            return Vec::new();
        }
        let after = self.next.clone();
        let mut line = vec![mv];
        self.follow(&after, most.saturating_sub(1), |mv| line.push(mv));
        line
    }

    /// Makes the forced moves of a state, and reads the moves of the one after them. Returns
    /// whether a role chooses there.
    fn enter_later(&mut self, state: &mut Vec<u64>) -> bool {
        const LAST: usize = MAX_PLY + 1;
        self.frames[LAST].set(state, None);
        let mut entered = self.enter(LAST, None);
        if let Entered::Later = entered {
            state.clone_from(&self.frames[LAST].state);
            entered = self.enter(LAST, None);
        }
        matches!(entered, Entered::Choice)
    }

    /// Writes the state after a move of the one that was entered to `next`. Returns whether it is
    /// legal.
    fn make(&mut self, mv: MoveId) -> bool {
        let frame = &self.frames[MAX_PLY + 1];
        let index = frame.moves.iter().position(|&legal| legal == mv);
        let Some(index) = index else {
            return false;
        };
        let joint_move = frame.joint_moves[index];
        self.reasoner.next_state(&joint_move, &mut self.next);
        true
    }
}

impl Node {
    /// Takes the score of a move. Returns whether it is at least beta, so that no other matters.
    fn improve(&mut self, score: Score, mv: MoveId) -> bool {
        if score > self.best {
            self.best = score;
            if score > self.window.alpha {
                self.window.alpha = score;
                self.best_move = Some(mv);
            }
        }
        score >= self.window.beta
    }
}
