//! The search tree of a move in self-play: best-first minimax on the evaluation.
//!
//! Each round descends along the moves that are best for the roles that move, to a move whose
//! position has no node yet, and that position is expanded: all its moves get the value of the
//! evaluation, and values are backed up by minimax (Korf and Chickering 1996; Cohen-Solal 2020).
//! The trees of many games grow in step, so that their positions are generated together.
//!
//! Invariants: a node has an edge for each evaluated move; an edge is open while its value may
//! change; positions in which several roles choose or chance moves have no node and keep the value
//! of the evaluation.
//!
//! Never uses: machines, clocks.

use super::worth::{Edge, MAX_LOGIT, Worth, logit_of};
use panza_gdl::MoveId;

/// The child of an edge whose position has no node.
const NONE: u32 = u32::MAX;

/// A position whose moves were evaluated.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// The role that moves.
    mover: usize,
    first_edge: usize,
    n_edges: usize,
    /// Nodes below it, itself included.
    size: u32,
}

/// A move of a node.
#[derive(Clone, Copy, Debug)]
struct TreeEdge {
    mv: MoveId,
    worth: Worth,
    /// The node after it, or [`NONE`].
    child: u32,
    is_open: bool,
}

/// The tree of one game.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// The states of all nodes, one after another, and a joint move in each, in which only the move
    /// of the role that moves is free.
    states: Vec<u64>,
    joint_moves: Vec<MoveId>,
    edges: Vec<TreeEdge>,
    /// Nodes and edges of the last descent.
    path: Vec<(u32, usize)>,
    /// The joint move at its end.
    last: Vec<MoveId>,
    n_outputs: usize,
}

/// A position of a tree whose moves are to be evaluated.
pub(super) struct Leaf<'a> {
    pub state: &'a [u64],
    /// A joint move in which only the move of `mover` is free.
    pub joint_move: &'a [MoveId],
    pub mover: usize,
}

impl Tree {
    /// Begins anew with the present position of a game and its evaluated moves.
    pub fn begin(&mut self, leaf: &Leaf<'_>, edges: &[Edge], n_outputs: usize) {
        self.nodes.clear();
        self.states.clear();
        self.joint_moves.clear();
        self.edges.clear();
        self.path.clear();
        self.n_outputs = n_outputs;
        self.add(leaf, edges);
    }

    /// Descends to the position to expand next: the state before it and the joint move that leads
    /// to it. `None` where no further search can change the choice.
    pub fn descend(&mut self) -> Option<(&[u64], &[MoveId])> {
        self.path.clear();
        let mut node = 0;
        loop {
            if self.worth(node).is_exact {
                return None;
            }
            let edge = self.best(node, |edge| edge.is_open)?;
            self.path.push((node as u32, edge));
            match self.edges[edge].child {
                NONE => break,
                child => node = child as usize,
            }
        }
        let &(node, edge) = self.path.last()?;
        let (node, n_nodes) = (node as usize, self.nodes.len());
        let n_roles = self.joint_moves.len() / n_nodes;
        self.last.clear();
        let of_node = &self.joint_moves[node * n_roles..][..n_roles];
        self.last.extend_from_slice(of_node);
        self.last[self.nodes[node].mover] = self.edges[edge].mv;
        let n_words = self.states.len() / n_nodes;
        Some((&self.states[node * n_words..][..n_words], &self.last))
    }

    /// The end of the last descent gets no node.
    pub fn close(&mut self) {
        if let Some(&(_, edge)) = self.path.last() {
            self.edges[edge].is_open = false;
        }
        self.back_up();
    }

    /// Adds the position at the end of the last descent with its evaluated moves, of which there
    /// are some.
    pub fn add(&mut self, leaf: &Leaf<'_>, edges: &[Edge]) {
        if let Some(&(_, edge)) = self.path.last() {
            self.edges[edge].child = self.nodes.len() as u32;
        }
        self.nodes.push(Node {
            mover: leaf.mover,
            first_edge: self.edges.len(),
            n_edges: edges.len(),
            size: 1,
        });
        self.states.extend_from_slice(leaf.state);
        self.joint_moves.extend_from_slice(leaf.joint_move);
        self.edges.extend(edges.iter().map(|edge| TreeEdge {
            mv: edge.mv,
            worth: edge.worth,
            child: NONE,
            is_open: !edge.worth.is_exact,
        }));
        self.back_up();
    }

    /// Backs values up along the path of the last descent.
    fn back_up(&mut self) {
        for index in (0..self.path.len()).rev() {
            let (node, edge) = self.path[index];
            let child = self.edges[edge].child;
            if child != NONE {
                let child = child as usize;
                let worth = self.worth(child);
                let is_open = !worth.is_exact && self.best(child, |edge| edge.is_open).is_some();
                let edge = &mut self.edges[edge];
                (edge.worth, edge.is_open) = (worth, is_open);
                self.nodes[node as usize].size += 1;
            }
        }
    }

    /// The edge of a node that is best for the role that moves, among some.
    fn best(&self, node: usize, is_candidate: impl Fn(&TreeEdge) -> bool) -> Option<usize> {
        let Node {
            mover,
            first_edge,
            n_edges,
            ..
        } = self.nodes[node];
        let mut best: Option<(f32, usize)> = None;
        for (index, edge) in self.edges[first_edge..][..n_edges].iter().enumerate() {
            let logit = logit_of(mover, &edge.worth.logits[..self.n_outputs]);
            if is_candidate(edge) && best.is_none_or(|(most, _)| logit > most) {
                best = Some((logit, first_edge + index));
            }
        }
        best.map(|(_, edge)| edge)
    }

    /// What a node is worth: its best move. It is exact where that wins or all moves are.
    fn worth(&self, node: usize) -> Worth {
        let Node {
            mover,
            first_edge,
            n_edges,
            ..
        } = self.nodes[node];
        let best = self.best(node, |_| true).unwrap_or(first_edge);
        let worth = self.edges[best].worth;
        let logit = logit_of(mover, &worth.logits[..self.n_outputs]);
        let edges = &self.edges[first_edge..][..n_edges];
        Worth {
            is_exact: worth.is_exact
                && (logit >= MAX_LOGIT || edges.iter().all(|edge| edge.worth.is_exact)),
            ..worth
        }
    }

    /// Replaces the values of the moves of the root by those that the tree has found.
    pub fn write_edges(&self, edges: &mut [Edge]) {
        for (to, from) in edges.iter_mut().zip(&self.edges) {
            to.worth = from.worth;
        }
    }

    /// The states of nodes with at least `min_size` nodes below them, but the root, with what they
    /// are worth.
    pub fn nodes(&self, min_size: u32) -> impl Iterator<Item = (&[u64], Worth)> {
        let n_words = self.states.len() / self.nodes.len().max(1);
        let nodes = self.nodes.iter().enumerate().skip(1);
        nodes
            .filter(move |(_, node)| node.size >= min_size)
            .map(move |(index, _)| {
                (
                    &self.states[index * n_words..][..n_words],
                    self.worth(index),
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::MAX_ROLES;

    /// Edges of one output, exact where they are won or lost.
    fn edges(logits: &[f32]) -> Vec<Edge> {
        let logits = logits.iter().enumerate();
        let edges = logits.map(|(index, &logit)| {
            let mut logits = [0.0; MAX_ROLES];
            logits[0] = logit;
            let is_exact = logit.abs() >= MAX_LOGIT;
            Edge {
                mv: MoveId(index as u32),
                worth: Worth { logits, is_exact },
                is_end: is_exact,
            }
        });
        edges.collect()
    }

    fn leaf(state: &[u64], mover: usize) -> Leaf<'_> {
        Leaf {
            state,
            joint_move: &[MoveId(7), MoveId(8)],
            mover,
        }
    }

    fn logits(tree: &Tree, n: usize) -> Vec<f32> {
        let mut edges = edges(&vec![0.0; n]);
        tree.write_edges(&mut edges);
        edges.iter().map(|edge| edge.worth.logits[0]).collect()
    }

    #[test]
    fn the_best_line_is_expanded_and_backed_up() {
        let mut tree = Tree::default();
        tree.begin(&leaf(&[1], 0), &edges(&[0.2, 0.5]), 1);
        assert_eq!(
            tree.descend(),
            Some((&[1][..], &[MoveId(1), MoveId(8)][..]))
        );
        // The other role has a good answer there.
        tree.add(&leaf(&[2], 1), &edges(&[0.7, -0.4]));
        assert_eq!(logits(&tree, 2), [0.2, -0.4]);
        assert_eq!(
            tree.descend(),
            Some((&[1][..], &[MoveId(0), MoveId(8)][..]))
        );
        tree.close();
        // A closed move keeps its value, and search goes on below the other.
        assert_eq!(
            tree.descend(),
            Some((&[2][..], &[MoveId(7), MoveId(1)][..]))
        );
        tree.add(&leaf(&[3], 0), &edges(&[1.5]));
        assert_eq!(logits(&tree, 2), [0.2, 0.7]);
        let found: Vec<_> = tree
            .nodes(2)
            .map(|(state, worth)| (state[0], worth))
            .collect();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].0, found[0].1.logits[0]), (2, 0.7));
    }

    #[test]
    fn search_ends_where_the_root_is_decided() {
        let mut tree = Tree::default();
        tree.begin(&leaf(&[1], 0), &edges(&[0.5, 0.0]), 1);
        assert!(tree.descend().is_some());
        tree.add(&leaf(&[2], 1), &edges(&[MAX_LOGIT, MAX_LOGIT]));
        assert_eq!(logits(&tree, 2), [MAX_LOGIT, 0.0]);
        assert!(tree.descend().is_none());
        // A lost move is left for another.
        tree.begin(&leaf(&[1], 0), &edges(&[0.5, 0.0]), 1);
        assert!(tree.descend().is_some());
        tree.add(&leaf(&[2], 1), &edges(&[-MAX_LOGIT, 3.0]));
        assert_eq!(
            tree.descend(),
            Some((&[1][..], &[MoveId(1), MoveId(8)][..]))
        );
    }
}
