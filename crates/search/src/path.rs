//! The path of one iteration from the root down to a leaf.
//!
//! A path travels with its request and may come back long after parts of the graph that it went
//! through were freed. Each step therefore names its node with the node's generation.

use super::pool::PoolId;
use super::record::EdgeId;
use panza_gdl::NodeId;

/// The nodes of a descent and the edges selected in them.
#[derive(Debug, Default)]
pub(super) struct Path {
    /// From the root down.
    pub(super) steps: Vec<PathStep>,
    /// The selected edges of all steps.
    edges: Vec<EdgeId>,
    /// Length in joint moves, forced ones included.
    pub(super) joint_moves: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PathStep {
    pub(super) node: NodeId,
    /// The node's generation at the time of the descent.
    pub(super) generation: u16,
    /// The end of its selected edges; they start at the end of the step before.
    edges_end: u32,
}

impl Path {
    /// Empties the path and keeps its memory.
    pub(super) fn clear(&mut self) {
        self.steps.clear();
        self.edges.clear();
        self.joint_moves = 0;
    }

    /// Adds a node.
    pub(super) fn push(&mut self, node: NodeId, generation: u16) {
        self.steps.push(PathStep {
            node,
            generation,
            edges_end: self.edges.len() as u32,
        });
    }

    /// Adds a selected edge to the last step.
    pub(super) fn select(&mut self, edge: EdgeId) {
        self.edges.push(edge);
        if let Some(step) = self.steps.last_mut() {
            step.edges_end += 1;
        }
    }

    pub(super) fn deselect(&mut self) {
        let kept = self.edges.len() - self.last_selected().len();
        self.edges.truncate(kept);
        if let Some(step) = self.steps.last_mut() {
            step.edges_end = kept as u32;
        }
    }

    /// The selected edges of a step, one per role with a choice.
    pub(super) fn selected(&self, step: usize) -> &[EdgeId] {
        let start = match step {
            0 => 0,
            _ => self.steps[step - 1].edges_end,
        };
        &self.edges[start as usize..self.steps[step].edges_end as usize]
    }

    pub(super) fn last_selected(&self) -> &[EdgeId] {
        match self.steps.len() {
            0 => &[],
            steps => self.selected(steps - 1),
        }
    }

    /// The last node; none in an empty path.
    #[inline]
    pub(super) fn last_node(&self) -> NodeId {
        self.steps.last().map_or(NodeId::NONE, |step| step.node)
    }
}
