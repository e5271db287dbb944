//! Selection: the way down from the root to where something is to be learned.
//!
//! Each role that has a choice picks by upper confidence bounds over its own moves (UCT; Kocsis and
//! Szepesvári 2006), where several choose at once each for itself (decoupled UCT; Finnsson and
//! Björnsson 2008). Iterations under way count as visits in the exploration term but not in the
//! mean (Liu et al., *WU-UCT*, 2020), which spreads requests without pretending they were losses.
//!
//! Where several choose at once, those with few moves mix them (see `mixing`). Those with many go
//! by bounds, and must not fall into step: where the game gives exact scores, two roles that both
//! take the best bound could meet in the same few joint moves for ever. So there a role picks at
//! random among the moves whose bound is within [`NEAR`] points of the best (as Tak, Lanctot and
//! Winands did, 2014).
//!
//! What is proven needs no more visits. With one decider, a move whose subtree is solved still
//! competes with its exact score; where it wins, the iteration goes down the best unsolved move
//! instead, and above this node the solved score is what is backed up: the decider would take it.
//! Moves that cannot reach what the decider is sure of are passed over.
//!
//! Invariant: after a descent every node and every entry on the path counts it as under way,
//! exactly once.

use super::Search;
use super::backup::{News, Path, Step};
use super::mixing;
use super::pool::{Place, Pool};
use super::record::{Chunk, ChunkId, ENTRIES, EntryId, Node, SEVERAL};
use super::worker::Ask;
use crate::ids::NodeId;

/// Bounds that differ by no more than this many points count as equal where several roles choose at
/// once.
const NEAR: f32 = 1.0;

/// Where several roles choose at once each explores so much less than one alone would: the others'
/// exploring strews its results too. In Connect Four on two boards half the weight won two matches
/// of three, in Tron it made no difference.
const AMONG_OTHERS: f32 = 0.5;

/// At the root, where one move is to be chosen and looks cost little, each is looked at again so
/// much sooner: a move whose first results were bad by chance is not lost for good. It wins and
/// loses as many matches as without.
const AT_THE_ROOT: f32 = 2.0;

/// A descent goes no deeper than this many nodes. Games without a step counter may have cycles of
/// any length.
const DEEPEST: usize = 4000;
/// Where a role of a node has more legal moves than this, its children are opened at their second
/// visit only: there are too many to keep the legal moves of each.
const MANY: u32 = 64;

/// Where a descent ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Leaf {
    /// At the last node of the path, about which something is to be found out.
    Here(NodeId, Ask),
    /// One move beyond the last node of the path.
    Beyond(Ask),
    /// At known goals, which are in the search's `values`. What is news about them is in the
    /// search's `facts`.
    Known(Option<News>),
}

/// The best of a role's tried moves.
#[derive(Clone, Copy, Debug)]
struct Best {
    /// Of all moves.
    any: EntryId,
    any_score: f32,
    any_solved: bool,
    /// Of those that are not solved and can still reach `floor`.
    open: EntryId,
    open_score: f32,
}

/// What the scores of a node's entries depend on.
#[derive(Clone, Copy, Debug)]
struct Urge {
    /// Weight of the exploration term, in points.
    weight: f32,
    /// Logarithm of the node's visits.
    log: f32,
}

/// Computes the scores of all entries and finds the best.
fn scan(chunks: &Pool<ChunkId, Chunk>, first: ChunkId, urge: Urge, floor: u8) -> Best {
    let mut best = Best {
        any: EntryId::NONE,
        any_score: f32::NEG_INFINITY,
        any_solved: false,
        open: EntryId::NONE,
        open_score: f32::NEG_INFINITY,
    };
    let mut at = first;
    while at.is_some() {
        let chunk = &chunks[at];
        let scores = scores(chunk, urge);
        for (slot, &score) in scores[..chunk.len as usize].iter().enumerate() {
            let solved = chunk.is_solved(slot);
            if score > best.any_score {
                best.any = EntryId::new(at, slot);
                best.any_score = score;
                best.any_solved = solved;
            }
            let score = score - waiting(chunk, slot);
            if score > best.open_score && !solved && chunk.upper[slot] >= floor {
                best.open = EntryId::new(at, slot);
                best.open_score = score;
            }
        }
        at = chunk.link;
    }
    best
}

/// What a move loses whose position is being looked at just now: another visit would learn little
/// before that is known.
#[inline]
fn waiting(chunk: &Chunk, slot: usize) -> f32 {
    /// More than any score, so that it is picked only where all others wait too.
    const SETBACK: f32 = 1000.0;
    if chunk.in_flight[slot] > 0 && !chunk.children[slot].is_some() {
        SETBACK
    } else {
        0.0
    }
}

/// How far results that are means of so many playouts stray, as a share of what single playouts do.
/// It never gets below a half, since positions differ too, and not by chance. Both ends are
/// measured: in Connect Four 0.4 beats 0.25 with single playouts, 0.25 beats 0.5 with sixteen.
fn spread(samples: u32) -> f32 {
    0.5 + 0.5 / (samples.max(1) as f32).sqrt()
}

/// The upper confidence bounds of a chunk's entries, unused ones included (UCB1-TUNED; Auer,
/// Cesa-Bianchi and Fischer 2002). Eight at a time, without a branch, so that the compiler uses
/// vectors.
#[inline]
fn scores(chunk: &Chunk, urge: Urge) -> [f32; ENTRIES] {
    /// The greatest variance of numbers from 0 to 100.
    const GREATEST: f32 = 2500.0;
    let mut scores = [0.0; ENTRIES];
    for (slot, score) in scores.iter_mut().enumerate() {
        // Processors turn signed numbers into fractions at once, unsigned ones by detours.
        let visits = chunk.visits[slot] as i32 + i32::from(chunk.in_flight[slot]);
        let visits = visits.max(1) as f32;
        let lower = i32::from(chunk.lower[slot]) as f32;
        let upper = i32::from(chunk.upper[slot]) as f32;
        let mean = chunk.means[slot].max(lower).min(upper);
        let share = urge.log / visits;
        let variance = chunk.variances[slot] + 4.0 * GREATEST * (2.0 * share).sqrt();
        let doubt = urge.weight * (share * variance.min(GREATEST)).sqrt();
        *score = mean + if lower < upper { doubt } else { 0.0 };
    }
    scores
}

impl Search {
    /// Goes down from the root and writes the way to `path`.
    pub(super) fn descend(&mut self, path: &mut Path) -> Leaf {
        path.clear();
        self.graph.descent = self.graph.descent.wrapping_add(1);
        let (descent, page) = (self.graph.descent, self.graph.page);
        self.exploration = self.config.exploration * spread(self.pipeline.samples());
        let mut node = self.graph.root;
        // Whether the step before does not know yet that this node is solved.
        let mut unheard = false;
        loop {
            let record = &mut self.graph.nodes[node];
            record.in_flight += 1;
            record.descent = descent;
            record.page = page;
            let at_root = path.steps.is_empty();
            path.push(node, record.generation);
            if !at_root {
                path.joint_moves += 1 + u32::from(record.forced);
            }
            let record = *record;
            if record.terminal || (record.solved && !at_root) {
                return self.known(node, unheard);
            }
            if !record.is_open() {
                return Leaf::Here(node, Ask::Open);
            }
            if path.steps.len() >= DEEPEST || !self.pick(&record, path) {
                return Leaf::Here(node, Ask::Playouts);
            }
            let picks = path.last_picks();
            let mut waiting = false;
            for &pick in picks {
                let under_way = &mut self.graph.chunks[pick.chunk()].in_flight[pick.slot()];
                *under_way += 1;
                waiting |= *under_way > 1;
            }
            let child = self.graph.child(node, picks);
            if !child.is_some() {
                path.joint_moves += 1;
                let several = record.decider == SEVERAL;
                return Leaf::Beyond(if waiting && !several {
                    Ask::Playouts
                } else if self.has_many(node) {
                    Ask::Glance
                } else {
                    Ask::Open
                });
            }
            if self.graph.nodes[child].descent == descent {
                // The line has come back to where it was.
                return Leaf::Beyond(Ask::Playouts);
            }
            unheard = record.decider != SEVERAL
                && !self.graph.chunks[picks[0].chunk()].is_solved(picks[0].slot());
            node = child;
        }
    }

    /// Whether somebody has a great many moves here.
    fn has_many(&self, node: NodeId) -> bool {
        let choices = &self.graph.choices[self.graph.nodes[node].choices];
        choices.iter().any(|choice| choice.legal > MANY)
    }

    /// Ends a descent at a solved node.
    fn known(&mut self, node: NodeId, news: bool) -> Leaf {
        self.graph.read_values(node, &mut self.values);
        self.facts.copy_from_slice(&self.graph.bounds[node]);
        let record = &self.graph.nodes[node];
        Leaf::Known(news.then(|| News {
            solved: record.solved,
            length: record.length_from_parent(),
        }))
    }

    /// Lets every decider pick a move. `false`, with nothing picked, when one has no entry and
    /// there is no memory for its first.
    #[inline]
    fn pick(&mut self, record: &Node, path: &mut Path) -> bool {
        let node = path.last_node();
        if record.decider != SEVERAL {
            let Some((pick, instead)) = self.pick_alone(node, record) else {
                return false;
            };
            path.pick(pick, instead);
            return true;
        }
        for role in 0..self.graph.roles {
            if self.graph.choice(node, role).decides() {
                let Some(pick) = self.pick_among_others(node, role) else {
                    path.unpick();
                    return false;
                };
                path.pick(pick, EntryId::NONE);
            }
        }
        true
    }

    /// The pick of a role that alone has a choice, and the solved entry whose score counts instead.
    fn pick_alone(&mut self, node: NodeId, record: &Node) -> Option<(EntryId, EntryId)> {
        let role = record.decider as usize;
        let mut urge = self.urge(record);
        if node == self.graph.root {
            urge.weight *= AT_THE_ROOT;
        }
        let floor = self.graph.bounds[node][role].lower;
        let best = scan(&self.graph.chunks, record.first, urge, floor);
        let mut pick = best.open;
        let mut score = best.open_score;
        if record.untried.is_some()
            && let urgency = self.urgency(node, role, urge)
            && (urgency >= score || !pick.is_some())
            && let Some(fresh) = self.graph.try_next(node, role)
        {
            pick = fresh;
            score = urgency;
        }
        if !pick.is_some() {
            // All that can still be played is solved.
            return best.any.is_some().then_some((best.any, EntryId::NONE));
        }
        let instead = if best.any_solved && best.any_score > score {
            best.any
        } else {
            EntryId::NONE
        };
        Some((pick, instead))
    }

    /// The pick of a role that chooses at the same time as others.
    fn pick_among_others(&mut self, node: NodeId, role: usize) -> Option<EntryId> {
        let choice = *self.graph.choice(node, role);
        if self.mixes(node) && choice.legal <= mixing::MANY {
            if choice.has_untried()
                && let Some(fresh) = self.graph.try_next(node, role)
            {
                return Some(fresh);
            }
            return self.mix(node, role, &choice);
        }
        let record = self.graph.nodes[node];
        let mut urge = self.urge(&record);
        urge.weight *= AMONG_OTHERS;
        let best = scan(&self.graph.chunks, choice.first, urge, 0);
        if choice.has_untried()
            && (!best.any.is_some() || self.urgency(node, role, urge) >= best.any_score)
            && let Some(fresh) = self.graph.try_next(node, role)
        {
            return Some(fresh);
        }
        let mut picked = None;
        let mut near = 0;
        for (id, chunk) in self.graph.chunks_of(&choice) {
            let scores = scores(chunk, urge);
            for (slot, &score) in scores[..chunk.len as usize].iter().enumerate() {
                if score >= best.any_score - NEAR {
                    // Each of the near ones stays picked with the same chance.
                    near += 1;
                    if near == 1 || self.hands.random.below(near) == 0 {
                        picked = Some(EntryId::new(id, slot));
                    }
                }
            }
        }
        picked
    }

    /// What the scores in a node depend on.
    #[inline]
    fn urge(&self, record: &Node) -> Urge {
        let visits = (record.visits + record.in_flight).max(1) as f32;
        Urge {
            weight: self.exploration * 2.0,
            log: visits.ln(),
        }
    }

    /// The score of a move that was never tried: as if it were worth what the node is on average,
    /// and had been tried as often as the settings say.
    fn urgency(&self, node: NodeId, role: usize, urge: Urge) -> f32 {
        let tried = self.config.untried_visits;
        if tried <= 0.0 {
            return f32::INFINITY;
        }
        let mean = if self.graph.nodes[node].visits > 0 {
            self.graph.means[node][role]
        } else {
            50.0
        };
        mean + urge.weight * 50.0 * (urge.log / tried).sqrt()
    }
}

impl Path {
    /// Where it ends. There is always a root.
    #[inline]
    pub(super) fn last_node(&self) -> NodeId {
        self.steps.last().map_or(NodeId::NONE, |step| step.node)
    }

    /// Empties it, keeping its memory.
    fn clear(&mut self) {
        self.steps.clear();
        self.picks.clear();
        self.joint_moves = 0;
    }

    pub(super) fn push(&mut self, node: NodeId, generation: u16) {
        self.steps.push(Step {
            node,
            generation,
            picks_end: self.picks.len() as u32,
            instead: EntryId::NONE,
        });
    }

    /// Adds a pick to the last step.
    fn pick(&mut self, pick: EntryId, instead: EntryId) {
        self.picks.push(pick);
        if let Some(step) = self.steps.last_mut() {
            step.picks_end += 1;
            step.instead = instead;
        }
    }

    /// Takes the picks of the last step back.
    fn unpick(&mut self) {
        let kept = self.picks.len() - self.last_picks().len();
        self.picks.truncate(kept);
        if let Some(step) = self.steps.last_mut() {
            step.picks_end = kept as u32;
        }
    }

    pub(super) fn last_picks(&self) -> &[EntryId] {
        match self.steps.len() {
            0 => &[],
            steps => self.picks_of(steps - 1),
        }
    }
}
