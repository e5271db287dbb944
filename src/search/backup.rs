//! Backing up: one result goes from the end of its path to the root.
//!
//! A path may come back long after it was made, from a rollout thread, when parts of the tree it
//! went through are gone. Each step names its node with a generation, so that the steps whose nodes
//! were freed are passed over, and the others still count the visit and take back their mark of
//! being under way.
//!
//! What is backed up is the mean of all that was tried, with two exceptions, since a move that is
//! certainly worse than others will not be played. Where selection passed over a solved move to
//! learn something, the solved score counts; where a move turns out to be certainly bad, what its
//! node is worth without it counts. In Connect Four that won two matches of three against backing
//! up the blunder.
//!
//! News, that is a change of what is proven, travels in the same pass: each step hears of its
//! child's and judges anew (`proof`), and stops telling when nothing changed.
//!
//! Invariant: backing up undoes, in every node and entry that still lives, the marks that its
//! descent made.

use super::Search;
use super::graph::Graph;
use super::mixing;
use super::pool::Place;
use super::record::{EntryId, SEVERAL};
use crate::ids::NodeId;

/// The way of one iteration through the tree.
#[derive(Debug, Default)]
pub(super) struct Path {
    /// From the root down.
    pub(super) steps: Vec<Step>,
    /// The entries picked in all steps, one after the other.
    pub(super) picks: Vec<EntryId>,
    /// Length in joint moves, forced ones included.
    pub(super) joint_moves: u32,
}

/// A node that a path goes through.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) node: NodeId,
    /// The node's generation when the path was made.
    pub(super) generation: u16,
    /// Where its picks end; they begin where those of the step before end.
    pub(super) picks_end: u32,
    /// The solved entry whose score is backed up above this node instead of the result, or none.
    pub(super) instead: EntryId,
}

impl Path {
    /// The entries picked in a step.
    pub(super) fn picks_of(&self, step: usize) -> &[EntryId] {
        let start = match step {
            0 => 0,
            _ => self.steps[step - 1].picks_end,
        };
        &self.picks[start as usize..self.steps[step].picks_end as usize]
    }
}

/// What a node tells its parent when its proof has changed; its bounds travel beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct News {
    /// Whether no further visit to the child can teach anything.
    pub(super) solved: bool,
    /// Joint moves from the parent's state to the end along the child's proof.
    pub(super) length: u16,
}

impl News {
    /// Of a child in which the game is over.
    pub(super) fn terminal() -> Self {
        Self {
            solved: true,
            length: 1,
        }
    }
}

impl Search {
    /// Backs up `self.values` along a path. `news` is what the path's end has to tell, with its
    /// bounds in `self.facts`. Says whether all nodes of the path were still there.
    pub(super) fn back_up(&mut self, path: &Path, mut news: Option<News>) -> bool {
        let graph = &mut self.graph;
        let values = &mut self.values;
        let mut complete = true;
        // The node that the picks of the step at hand led to, if it is there.
        let mut child = NodeId::NONE;
        for (index, step) in path.steps.iter().enumerate().rev() {
            let node = step.node;
            if graph.nodes[node].generation != step.generation {
                complete = false;
                news = None;
                child = NodeId::NONE;
                continue;
            }
            let picks = path.picks_of(index);
            let alone = picks.len() == 1 && graph.nodes[node].decider != SEVERAL;
            let mixes = self.config.mixing && node == graph.root && !alone && !picks.is_empty();
            if mixes {
                graph.regret(node, picks);
            }
            for &pick in picks {
                let role = graph.chunks[pick.chunk()].role as usize;
                let keeps_regrets = mixes && graph.choice(node, role).legal <= mixing::MANY;
                let chunk = &mut graph.chunks[pick.chunk()];
                let slot = pick.slot();
                chunk.in_flight[slot] -= 1;
                chunk.visits[slot] += 1;
                let visits = chunk.visits[slot] as f32;
                let before = values[role] - chunk.means[slot];
                chunk.means[slot] += before / visits;
                if !keeps_regrets {
                    let after = values[role] - chunk.means[slot];
                    chunk.variances[slot] += (before * after - chunk.variances[slot]) / visits;
                }
                if alone && child.is_some() {
                    // What was learned by other ways into the child counts too.
                    chunk.means[slot] = graph.means[child][role];
                    let known = graph.bounds[child][role];
                    let stale = chunk.bounds(slot) != chunk.bounds(slot).and(known)
                        || graph.nodes[child].solved != chunk.is_solved(slot);
                    if news.is_none() && stale {
                        self.facts.copy_from_slice(&graph.bounds[child]);
                        news = Some(News {
                            solved: graph.nodes[child].solved,
                            length: graph.nodes[child].length_from_parent(),
                        });
                    }
                }
            }
            if graph.uses_averages {
                for &pick in picks {
                    let chunk = &graph.chunks[pick.chunk()];
                    let (mv, role) = (chunk.moves[pick.slot()], chunk.role as usize);
                    graph.note_average(mv, values[role]);
                }
            }
            if !picks.is_empty()
                && let Some(heard) = news
            {
                news = graph.refresh(node, picks, heard, &mut self.facts);
            }
            if step.instead.is_some() {
                graph.take_instead(step.instead, values);
            } else if alone {
                graph.forgive(node, picks[0], values);
            }
            for (value, bounds) in values.iter_mut().zip(&graph.bounds[node]) {
                *value = bounds.clamp(*value);
            }
            let record = &mut graph.nodes[node];
            record.in_flight -= 1;
            record.visits += 1;
            let weight = 1.0 / record.visits as f32;
            for (mean, &value) in graph.means[node].iter_mut().zip(&*values) {
                *mean += (value - *mean) * weight;
            }
            child = node;
        }
        complete
    }
}

impl Graph {
    /// The expected goals of a node, exact where proven.
    pub(super) fn read_values(&self, node: NodeId, values: &mut [f32]) {
        let unvisited = self.nodes[node].visits == 0;
        let known = self.bounds[node].iter().zip(&self.means[node]);
        for (value, (bounds, &mean)) in values.iter_mut().zip(known) {
            *value = if unvisited {
                f32::from(bounds.lower).midpoint(f32::from(bounds.upper))
            } else {
                bounds.clamp(mean)
            };
        }
    }

    /// Where the move just tried turned out to be certainly worse than what its node is worth to
    /// whoever chooses there, replaces the result by what the node is worth: the move will not be
    /// played, so it says nothing about the node. What it said before stays; taking that back as
    /// well made play worse.
    fn forgive(&self, node: NodeId, pick: EntryId, values: &mut [f32]) {
        let (chunk, slot) = (&self.chunks[pick.chunk()], pick.slot());
        let role = chunk.role as usize;
        let record = &self.nodes[node];
        let is_bad = chunk.is_solved(slot)
            && chunk.lower[slot] == chunk.upper[slot]
            && record.visits > 0
            && f32::from(chunk.upper[slot]) < self.means[node][role]
            && !record.solved;
        if is_bad {
            values.copy_from_slice(&self.means[node]);
        }
    }

    /// Replaces a result by what a solved entry is worth, and counts the visit there.
    fn take_instead(&mut self, entry: EntryId, values: &mut [f32]) {
        let chunk = &mut self.chunks[entry.chunk()];
        let slot = entry.slot();
        let role = chunk.role as usize;
        let value = chunk.bounds(slot).clamp(chunk.means[slot]);
        chunk.visits[slot] += 1;
        chunk.means[slot] = value;
        let child = self.child_of(entry);
        if child.is_some() {
            self.read_values(child, values);
        }
        values[role] = value;
    }

    /// Everything that is marked as under way, in nodes and in entries.
    #[cfg(test)]
    pub(super) fn marks(&mut self) -> u64 {
        let nodes: u64 = self
            .nodes
            .all_mut()
            .map(|node| u64::from(node.in_flight))
            .sum();
        let chunks: u64 = self
            .chunks
            .all_mut()
            .flat_map(|chunk| chunk.in_flight)
            .map(u64::from)
            .sum();
        nodes + chunks
    }
}
