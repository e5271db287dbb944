//! What a search knows of its position beside the moves of one role: what every role may expect,
//! the outcomes of chance, and the principal line.
//!
//! Invariant: the principal line is a line of legal moves from the current state.

use super::Search;
use super::pool::PoolId;
use super::proof::preferred_length;
use super::record::{Bounds, EdgeId, SIMULTANEOUS};
use panza_gdl::{Id, MoveId, NodeId, RoleId};

/// What a role may expect in a position.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RoleOutlook {
    /// Its value after the best move, 0 to 100; `None` before the first result.
    pub value: Option<f32>,
    /// The least and the greatest goal that are still possible with best play by all roles. Where
    /// one role chooses and its goal is proven, that of the others after its best move counts as
    /// proven too.
    pub bounds: (u8, u8),
}

impl RoleOutlook {
    /// Its goal with best play by all roles, once proven.
    pub fn proven(&self) -> Option<u8> {
        let (lower, upper) = self.bounds;
        (lower == upper).then_some(lower)
    }
}

/// A move of the chance role in a position in which it alone chooses.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The move.
    pub mv: MoveId,
    /// How likely it is, 0 to 1.
    pub probability: f64,
    /// What each role may expect after it; empty where it was not searched.
    pub outlook: Vec<RoleOutlook>,
}

/// How proven a move is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum ProofClass {
    Worst,
    Open,
    Best,
}

impl Search {
    /// Reports, and whether a run ends because the position is proven, are about this role from now
    /// on. The graph is kept: it has the values of all roles.
    pub fn set_role(&mut self, role: RoleId) {
        if role.index() < self.graph.roles {
            self.role = role;
        }
    }

    /// What each role may expect in the current state.
    pub fn outlook(&mut self) -> Vec<RoleOutlook> {
        self.expand_root();
        self.outlook_of(self.graph.root)
    }

    /// What chance may draw in the current state, each with what follows; empty unless the chance
    /// role alone chooses here.
    pub fn outcomes(&mut self) -> Vec<Outcome> {
        self.expand_root();
        let root = self.graph.root;
        let is_here = self.forced_ahead == 0 && self.graph.nodes[root].is_expanded();
        if !is_here || !self.graph.is_chance_node(root) {
            return Vec::new();
        }
        let role_moves = *self
            .graph
            .role_moves(root, self.graph.nodes[root].mover.into());
        let probability = 1.0 / f64::from(role_moves.n_legal.max(1));
        let edges: Vec<EdgeId> = self.graph.edges(&role_moves).collect();
        let mut outcomes = Vec::with_capacity(role_moves.n_legal as usize);
        for edge in edges {
            let child = self.graph.child_of(edge);
            let outlook = match child.is_some() {
                true => self.outlook_of(child),
                false => Vec::new(),
            };
            outcomes.push(Outcome {
                mv: self.graph.move_of(edge),
                probability,
                outlook,
            });
        }
        outcomes.extend(self.graph.untried(&role_moves).map(|mv| Outcome {
            mv,
            probability,
            outlook: Vec::new(),
        }));
        outcomes
    }

    /// The sum of both roles' goals, where the results so far are enough to call it fixed.
    pub fn sure_sum(&self) -> Option<u16> {
        self.graph.sure_sum
    }

    /// What each role may expect in a node.
    fn outlook_of(&mut self, node: NodeId) -> Vec<RoleOutlook> {
        let record = self.graph.nodes[node];
        self.graph.read_values(node, &mut self.values);
        let is_chosen_alone = record.is_expanded()
            && !record.terminal
            && record.mover != SIMULTANEOUS
            && !self.graph.is_chance_node(node);
        let mut best = NodeId::NONE;
        if is_chosen_alone && let Some(edge) = self.preferred_edge(node, usize::from(record.mover))
        {
            best = self.graph.child_of(edge);
        }
        let mut bounds = self.graph.bounds[node].to_vec();
        // The mean of a position has the visits of bad moves in it.
        if best.is_some() && (self.graph.nodes[best].visits > 0 || self.graph.nodes[best].terminal)
        {
            self.graph.read_values(best, &mut self.values);
            if bounds[usize::from(record.mover)].is_exact() {
                let known = bounds.iter_mut().zip(&self.graph.bounds[best]);
                let open = known.filter(|(bounds, after)| !bounds.is_exact() && after.is_exact());
                open.for_each(|(bounds, after)| *bounds = *after);
            }
        }
        let outlook = bounds.iter().zip(&self.values).map(|(bounds, &value)| {
            let is_known = record.visits > 0 || bounds.is_exact();
            RoleOutlook {
                value: is_known.then(|| bounds.clamp(value)),
                bounds: (bounds.lower, bounds.upper),
            }
        });
        outlook.collect()
    }

    /// The joint moves that the search expects from the current state on, at most `most`. Our role
    /// begins with [`best_move`](Self::best_move). The line ends where chance draws, where nothing
    /// was searched, and with the game.
    pub fn principal_line(&mut self, most: usize) -> Vec<Vec<MoveId>> {
        let best = self.best_move();
        let mut node = self.graph.root;
        let mut state = self.current.clone();
        let mut next = Vec::new();
        let mut line = Vec::new();
        while line.len() < most {
            self.game.reasoner.set_state(&state);
            if self.game.reasoner.is_terminal() {
                break;
            }
            let mut joint_move = Vec::with_capacity(self.graph.roles);
            let mut has_choice = false;
            for role in (0..self.graph.roles).map(RoleId::from_index) {
                let legal = self.game.reasoner.legal_moves(role);
                has_choice |= legal.len() > 1;
                joint_move.extend(legal.first());
            }
            if joint_move.len() < self.graph.roles {
                break;
            }
            if has_choice {
                let own = best.filter(|_| line.is_empty());
                let Some(child) = self.choose_preferred(node, own, &state, &mut joint_move) else {
                    break;
                };
                node = child;
            }
            self.game.reasoner.next_state(&joint_move, &mut next);
            std::mem::swap(&mut state, &mut next);
            line.push(joint_move);
        }
        line
    }

    /// Writes the preferred moves of a node of this state, for our role `own` where it was
    /// searched, and returns the child behind them, which may be none; `None` where no move was
    /// searched.
    fn choose_preferred(
        &self,
        node: NodeId,
        own: Option<MoveId>,
        state: &[u64],
        joint_move: &mut [MoveId],
    ) -> Option<NodeId> {
        if !node.is_some() {
            return None;
        }
        let record = &self.graph.nodes[node];
        if record.terminal || !record.is_expanded() || self.graph.state(node) != state {
            return None;
        }
        let mut selected = Vec::new();
        for (role, mv) in joint_move.iter_mut().enumerate() {
            if self.graph.role_moves(node, role).has_choice() {
                if self
                    .graph
                    .chance
                    .is_some_and(|chance| usize::from(chance) == role)
                {
                    return None;
                }
                let preferred = self.preferred_edge(node, role)?;
                let own = own.filter(|_| role == self.role.index());
                let own = own.and_then(|mv| {
                    let role_moves = self.graph.role_moves(node, role);
                    self.graph.edge_of(role_moves, mv)
                });
                let edge = own.unwrap_or(preferred);
                *mv = self.graph.move_of(edge);
                selected.push(edge);
            }
        }
        (!selected.is_empty()).then(|| self.graph.child(node, &selected))
    }

    /// The edge of a role in an expanded node with the best proof, among equals the most visits.
    fn preferred_edge(&self, node: NodeId, role: usize) -> Option<EdgeId> {
        let edges = self.graph.edges(self.graph.role_moves(node, role));
        let known = edges.filter(|edge| {
            let block = &self.graph.edge_blocks[edge.block()];
            block.visits[edge.slot()] > 0 || block.bounds(edge.slot()).is_exact()
        });
        known.max_by_key(|&edge| {
            let (class, line) = self.proof_of(self.graph.bounds[node][role], edge);
            let block = &self.graph.edge_blocks[edge.block()];
            (class, line, block.visits[edge.slot()])
        })
    }

    /// How proven a move is for its role, whose bounds in the node are `of_node`, and how good the
    /// length of its line is among proven moves of one goal: greater is better.
    pub(super) fn proof_of(&self, of_node: Bounds, edge: EdgeId) -> (ProofClass, i32) {
        let bounds = self.graph.edge_blocks[edge.block()].bounds(edge.slot());
        let class = if bounds.lower >= of_node.upper {
            ProofClass::Best
        } else if bounds.upper == 0 || bounds.upper < of_node.lower {
            ProofClass::Worst
        } else {
            ProofClass::Open
        };
        let child = self.graph.child_of(edge);
        if !bounds.is_exact() || !child.is_some() {
            return (class, 0);
        }
        let length = i32::from(self.graph.nodes[child].length_from_parent());
        let prefers_short = preferred_length(bounds, 0, Some(1)) == 0;
        (class, if prefers_short { -length } else { length })
    }
}
