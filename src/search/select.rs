//! Selection: the way down from the root to where something is to be learned.
//!
//! Each role that has a choice picks by upper confidence bounds over its own moves (UCT; Kocsis and Szepesvári 2006),
//! where several choose at once each for itself (decoupled UCT; Finnsson and Björnsson 2008). Iterations under way
//! count as visits in the exploration term but not in the mean (Liu et al., *WU-UCT*, 2020), which spreads requests
//! without pretending they were losses.
//!
//! Roles that choose at once must not fall into step: where the game gives exact scores, two roles that both take the
//! best bound could meet in the same few joint moves for ever. So there a role picks at random among the moves whose
//! bound is within [`NEAR`] points of the best (as Tak, Lanctot and Winands did, 2014).
//!
//! What is proven needs no more visits. With one decider, a move whose subtree is solved still competes with its
//! exact score; where it wins, the iteration goes down the best unsolved move instead, and above this node the solved
//! score is what is backed up: the decider would take it. Moves that cannot reach what the decider is sure of are
//! passed over.
//!
//! Invariant: after a descent every node and every entry on the path counts it as under way, exactly once.

use super::Search;
use super::backup::{News, Path, Step};
use super::expand::{Grown, Opened};
use super::pool::{Place, Pool};
use super::record::{Bounds, Choice, Chunk, ChunkId, ENTRIES, EntryId, SEVERAL};
use crate::ids::NodeId;

/// Bounds that differ by no more than this many points count as equal where several roles choose at once.
const NEAR: f32 = 1.0;

/// Where a descent ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Leaf {
    /// At a node whose state is to be played out from.
    Node(NodeId),
    /// One move below the last node, at a state that found no room in the tree; the reasoner stands on it.
    Beyond,
    /// At known goals, which are in the search's `values`. What is news about them is in the search's `facts`.
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

/// Computes the scores of all entries and finds the best. `weight` is what the exploration term of one visit is
/// worth, in points.
fn scan(chunks: &Pool<ChunkId, Chunk>, choice: &Choice, weight: f32, floor: u8) -> Best {
    let mut best = Best {
        any: EntryId::NONE,
        any_score: f32::NEG_INFINITY,
        any_solved: false,
        open: EntryId::NONE,
        open_score: f32::NEG_INFINITY,
    };
    let mut at = choice.first;
    while at.is_some() {
        let chunk = &chunks[at];
        let scores = scores(chunk, weight);
        for (slot, &score) in scores[..chunk.len as usize].iter().enumerate() {
            let solved = chunk.is_solved(slot);
            if score > best.any_score {
                best.any = EntryId::new(at, slot);
                best.any_score = score;
                best.any_solved = solved;
            }
            if score > best.open_score && !solved && chunk.upper[slot] >= floor {
                best.open = EntryId::new(at, slot);
                best.open_score = score;
            }
        }
        at = chunk.link;
    }
    best
}

/// The upper confidence bounds of a chunk's entries, unused ones included. Eight at a time, without a branch, so that
/// the compiler uses vectors.
#[inline]
fn scores(chunk: &Chunk, weight: f32) -> [f32; ENTRIES] {
    std::array::from_fn(|slot| {
        let visits = chunk.visits[slot] + u32::from(chunk.in_flight[slot]);
        let lower = f32::from(chunk.lower[slot]);
        let upper = f32::from(chunk.upper[slot]);
        let mean = chunk.means[slot].max(lower).min(upper);
        let doubt = if lower < upper { weight } else { 0.0 };
        mean + doubt / (visits.max(1) as f32).sqrt()
    })
}

impl Search {
    /// Goes down from the root, grows the tree by at most one node, and writes the way to `path`.
    pub(super) fn descend(&mut self, path: &mut Path) -> Leaf {
        path.clear();
        let mut node = self.graph.root;
        // Whether the step before does not know yet that this node is solved.
        let mut unheard = false;
        loop {
            let record = &mut self.graph.nodes[node];
            record.in_flight += 1;
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
                if !at_root && record.visits == 0 && record.in_flight == 1 {
                    return Leaf::Node(node);
                }
                match self.graph.open(node, &mut self.hands) {
                    Opened::Open => {}
                    Opened::Ended => return self.known(node, true),
                    Opened::OnTheWay | Opened::Full => return Leaf::Node(node),
                }
            }
            if !self.pick(node, path) {
                return Leaf::Node(node);
            }
            let picks = path.last_picks();
            for &pick in picks {
                self.graph.chunks[pick.chunk()].in_flight[pick.slot()] += 1;
            }
            let child = self.graph.child(node, picks);
            if child.is_some() {
                let record = &self.graph.nodes[node];
                unheard = record.decider != SEVERAL
                    && !self.graph.chunks[picks[0].chunk()].is_solved(picks[0].slot());
                node = child;
                continue;
            }
            return match self.graph.grow(node, picks, &mut self.hands) {
                Grown::Child(child) => {
                    let record = &mut self.graph.nodes[child];
                    record.in_flight += 1;
                    path.push(child, record.generation);
                    path.joint_moves += 1;
                    Leaf::Node(child)
                }
                Grown::Terminal(child) => {
                    let record = &mut self.graph.nodes[child];
                    record.in_flight += 1;
                    path.push(child, record.generation);
                    path.joint_moves += 1;
                    self.known(child, true)
                }
                Grown::Full => Leaf::Beyond,
                Grown::FullTerminal => {
                    path.joint_moves += 1;
                    for (role, &goal) in self.hands.goals.iter().enumerate() {
                        self.values[role] = f32::from(goal);
                        self.facts[role] = Bounds::exact(goal);
                    }
                    Leaf::Known(Some(News::terminal()))
                }
            };
        }
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

    /// Lets every decider pick a move. `false`, with nothing picked, when one has no entry and there is no memory for
    /// its first.
    fn pick(&mut self, node: NodeId, path: &mut Path) -> bool {
        let decider = self.graph.nodes[node].decider;
        if decider != SEVERAL {
            let Some((pick, instead)) = self.pick_alone(node, decider as usize) else {
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
    fn pick_alone(&mut self, node: NodeId, role: usize) -> Option<(EntryId, EntryId)> {
        let choice = *self.graph.choice(node, role);
        if choice.has_untried()
            && self.config.first_play_urgency == f32::INFINITY
            && let Some(fresh) = self.graph.try_next(node, role)
        {
            return Some((fresh, EntryId::NONE));
        }
        let floor = self.graph.bounds[node][role].lower;
        let best = scan(
            &self.graph.chunks,
            &choice,
            self.exploration_weight(node),
            floor,
        );
        let mut pick = best.open;
        let mut score = best.open_score;
        if choice.has_untried()
            && self.config.first_play_urgency >= score
            && let Some(fresh) = self.graph.try_next(node, role)
        {
            pick = fresh;
            score = self.config.first_play_urgency;
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
        let urgency = self.config.first_play_urgency;
        if choice.has_untried()
            && urgency == f32::INFINITY
            && let Some(fresh) = self.graph.try_next(node, role)
        {
            return Some(fresh);
        }
        let weight = self.exploration_weight(node);
        let best = scan(&self.graph.chunks, &choice, weight, 0);
        if choice.has_untried()
            && urgency >= best.any_score
            && let Some(fresh) = self.graph.try_next(node, role)
        {
            return Some(fresh);
        }
        let mut picked = None;
        let mut near = 0;
        for (id, chunk) in self.graph.chunks_of(&choice) {
            let scores = scores(chunk, weight);
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

    /// What the exploration term of a move visited once is worth in this node, in points.
    fn exploration_weight(&self, node: NodeId) -> f32 {
        let record = &self.graph.nodes[node];
        let visits = (record.visits + record.in_flight).max(1) as f32;
        self.config.exploration * 100.0 * visits.ln().sqrt()
    }
}

impl Path {
    /// Empties it, keeping its memory.
    fn clear(&mut self) {
        self.steps.clear();
        self.picks.clear();
        self.joint_moves = 0;
    }

    fn push(&mut self, node: NodeId, generation: u32) {
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

    fn last_picks(&self) -> &[EntryId] {
        match self.steps.len() {
            0 => &[],
            steps => self.picks_of(steps - 1),
        }
    }
}
