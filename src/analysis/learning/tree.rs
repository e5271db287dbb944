//! The tree of one self-play game: every state whose moves were evaluated, from the start on.
//!
//! A node is a state. Where at most one role has a choice, it has an edge for each move with the
//! logits of the state after it: those of the evaluation or the goals, or backed up from the best
//! moves below (minimax). Where several roles choose it has no edges.
//!
//! Invariants: a node with edges has the logits of the best edge for the role that moves; an edge
//! is closed when nothing below it can change its logits.
//!
//! Never uses: machines, clocks.

use crate::ids::MoveId;

/// The number of no node or edge.
pub(super) const NONE: u32 = u32::MAX;
/// The role that moves in a node in which several roles choose.
pub(super) const SEVERAL: usize = u8::MAX as usize;
/// The absolute value of the logits of a win and a loss in a terminal state, at most.
pub(super) const MAX_LOGIT: f32 = 8.0;
/// The same of an evaluation.
pub(super) const MAX_ESTIMATE: f32 = 7.5;

/// What is below an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Below {
    /// Something that can be expanded.
    Open,
    /// Nothing that can be expanded.
    Closed,
    /// A terminal state.
    Terminal,
}

/// A state of the game.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// Its edges.
    first: u32,
    end: u32,
    /// The node above and the edge from there, or `NONE`.
    parent: u32,
    edge: u32,
    /// The role that moves, or `SEVERAL`.
    mover: u8,
    is_closed: bool,
}

/// The nodes and edges of a game.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    words: usize,
    n_roles: usize,
    n_outputs: usize,
    nodes: Vec<Node>,
    /// For each node its state, and a joint move without a choice of the mover.
    states: Vec<u64>,
    joint_moves: Vec<MoveId>,
    /// For each edge its move, the node below or `NONE`, and the logits of all outputs.
    moves: Vec<MoveId>,
    children: Vec<u32>,
    below: Vec<Below>,
    logits: Vec<f32>,
}

impl Tree {
    /// An empty tree of states of so many words.
    pub fn new(words: usize, n_roles: usize, n_outputs: usize) -> Self {
        Self {
            words,
            n_roles,
            n_outputs,
            nodes: Vec::new(),
            states: Vec::new(),
            joint_moves: Vec::new(),
            moves: Vec::new(),
            children: Vec::new(),
            below: Vec::new(),
            logits: Vec::new(),
        }
    }

    /// The number of nodes.
    pub fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Adds a node without edges, below an edge of `parent` or without one.
    pub fn add_node(
        &mut self,
        state: &[u64],
        mover: usize,
        joint_move: &[MoveId],
        (parent, edge): (u32, u32),
    ) -> u32 {
        let first = self.moves.len() as u32;
        self.nodes.push(Node {
            first,
            end: first,
            parent,
            edge,
            mover: mover as u8,
            is_closed: false,
        });
        self.states.extend_from_slice(state);
        self.joint_moves.extend_from_slice(joint_move);
        let node = self.len() - 1;
        if edge != NONE {
            self.children[edge as usize] = node;
        }
        node
    }

    /// Adds an edge to the last node.
    pub fn add_edge(&mut self, mv: MoveId, logits: &[f32], below: Below) {
        self.moves.push(mv);
        self.children.push(NONE);
        self.below.push(below);
        self.logits.extend_from_slice(&logits[..self.n_outputs]);
        if let Some(node) = self.nodes.last_mut() {
            node.end += 1;
        }
    }

    /// The state of a node.
    pub fn state(&self, node: u32) -> &[u64] {
        &self.states[node as usize * self.words..][..self.words]
    }

    /// The role that moves in a node, or `SEVERAL`.
    pub fn mover(&self, node: u32) -> usize {
        usize::from(self.nodes[node as usize].mover)
    }

    /// The edges of a node.
    pub fn edges(&self, node: u32) -> std::ops::Range<u32> {
        let node = &self.nodes[node as usize];
        node.first..node.end
    }

    /// Whether nothing below a node can be expanded.
    pub fn is_closed(&self, node: u32) -> bool {
        self.nodes[node as usize].is_closed
    }

    /// The node below an edge, or `NONE`.
    pub fn child(&self, edge: u32) -> u32 {
        self.children[edge as usize]
    }

    /// Whether the state below an edge is terminal.
    pub fn is_terminal(&self, edge: u32) -> bool {
        self.below[edge as usize] == Below::Terminal
    }

    /// Appends the joint move of an edge of a node.
    pub fn push_joint_move(&self, (node, edge): (u32, u32), out: &mut Vec<MoveId>) {
        let start = out.len();
        let others = &self.joint_moves[node as usize * self.n_roles..][..self.n_roles];
        out.extend_from_slice(others);
        out[start + self.mover(node)] = self.moves[edge as usize];
    }

    /// The logits of an edge, one for each output.
    pub fn logits(&self, edge: u32) -> &[f32] {
        &self.logits[edge as usize * self.n_outputs..][..self.n_outputs]
    }

    /// The logit of an edge for a role.
    #[inline]
    pub fn logit_of(&self, role: usize, edge: u32) -> f32 {
        logit_of(
            role,
            &self.logits[edge as usize * self.n_outputs..][..self.n_outputs],
        )
    }

    /// The best edge of a node for the role that moves; among the open ones only, if `open`.
    fn best(&self, node: u32, open: bool) -> Option<u32> {
        let mover = self.mover(node);
        let mut best = None;
        let mut most = f32::NEG_INFINITY;
        for edge in self.edges(node) {
            if open && self.below[edge as usize] != Below::Open {
                continue;
            }
            let logit = self.logit_of(mover, edge);
            if logit > most {
                (most, best) = (logit, Some(edge));
            }
        }
        best
    }

    /// The logits of a node; `None` for a node without edges.
    pub fn value(&self, node: u32) -> Option<&[f32]> {
        self.best(node, false).map(|edge| self.logits(edge))
    }

    /// The first edge without a node on the line of the best open edges from a node, with its own
    /// node.
    pub fn leaf(&self, mut node: u32) -> Option<(u32, u32)> {
        loop {
            let edge = self.best(node, true)?;
            match self.child(edge) {
                NONE => return Some((node, edge)),
                child => node = child,
            }
        }
    }

    /// Gives the logits of a node to the edge above it, and closes both if nothing below can change
    /// them.
    pub fn update_edge(&mut self, node: u32) {
        let Some(best) = self.best(node, false) else {
            return;
        };
        let is_open = |edge: u32| self.below[edge as usize] == Below::Open;
        let is_won = !is_open(best) && self.logit_of(self.mover(node), best) >= MAX_LOGIT;
        let is_closed = is_won || !self.edges(node).any(is_open);
        let at = &mut self.nodes[node as usize];
        at.is_closed = is_closed;
        if at.edge == NONE {
            return;
        }
        let edge = at.edge as usize;
        if is_closed {
            self.below[edge] = Below::Closed;
        }
        let from = best as usize * self.n_outputs;
        let range = from..from + self.n_outputs;
        self.logits.copy_within(range, edge * self.n_outputs);
    }

    /// Updates the edges from a node up to that of `root`.
    pub fn back_up(&mut self, mut node: u32, root: u32) {
        loop {
            self.update_edge(node);
            let at = &self.nodes[node as usize];
            if node == root || at.parent == NONE {
                return;
            }
            node = at.parent;
        }
    }

    /// Takes a node in which several roles choose from its edge, which is closed. The logits of the
    /// edge stay.
    pub fn detach(&mut self, node: u32) {
        let edge = self.nodes[node as usize].edge;
        if edge != NONE {
            self.children[edge as usize] = NONE;
            self.below[edge as usize] = Below::Closed;
        }
    }
}

/// The logit of a role among those of the outputs.
#[inline]
pub(super) fn logit_of(role: usize, logits: &[f32]) -> f32 {
    match logits.get(role) {
        Some(&logit) => logit,
        // A single output is that of the first of two roles.
        None => -logits[0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of one output: the first role moves, then the second.
    fn tree() -> (Tree, u32, u32) {
        let mut tree = Tree::new(1, 2, 1);
        let moves = [MoveId(0), MoveId(9)];
        let root = tree.add_node(&[1], 0, &moves, (NONE, NONE));
        tree.add_edge(MoveId(0), &[0.5], Below::Open);
        tree.add_edge(MoveId(1), &[0.4], Below::Open);
        tree.update_edge(root);
        let (node, edge) = tree.leaf(root).unwrap();
        assert_eq!((node, edge), (root, 0));
        let child = tree.add_node(&[2], 1, &moves, (root, edge));
        tree.add_edge(MoveId(7), &[0.9], Below::Open);
        tree.add_edge(MoveId(8), &[-MAX_LOGIT], Below::Terminal);
        (tree, root, child)
    }

    #[test]
    fn values_are_backed_up_from_the_best_reply() {
        let (mut tree, root, child) = tree();
        tree.back_up(child, root);
        assert_eq!(tree.logits(0), [-MAX_LOGIT]);
        assert_eq!(tree.value(root), Some([0.4].as_slice()));
        assert!(tree.is_closed(child) && !tree.is_closed(root));
        // The lost move is not looked at again.
        assert_eq!(tree.leaf(root), Some((root, 1)));
        let mut joint_move = Vec::new();
        tree.push_joint_move((child, 3), &mut joint_move);
        assert_eq!(joint_move, [MoveId(0), MoveId(8)]);
    }

    #[test]
    fn an_edge_to_a_state_in_which_several_choose_is_closed() {
        let (mut tree, root, child) = tree();
        tree.detach(child);
        assert_eq!((tree.child(0), tree.logits(0)), (NONE, [0.5].as_slice()));
        assert!(!tree.is_terminal(0));
        assert_eq!(tree.leaf(root), Some((root, 1)));
    }
}
