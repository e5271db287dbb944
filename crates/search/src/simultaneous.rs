//! Nodes in which several roles choose at once: their expansion and their proof.
//!
//! Nothing is assumed about the others. A move of a role is worth at least the least and at most
//! the greatest bound in its *row*: all joint moves that contain it. The best row bounds the node.
//! A role that mixes its moves may be sure of more: the value of the matrix game of the lower
//! bounds is one too, rounded down. Where the goals of two roles have always added up to the same,
//! one gets at most what the other is not sure of.
//!
//! Matrices of more than [`MAX_CELLS`] joint moves are not solved; rows of them are examined one at
//! a time, and those of more than [`MAX_ROW`] joint moves are not.
//!
//! Invariants: bounds only ever narrow; strategies of roles are never assumed, only found.
//!
//! Never uses: statistics.

use super::edges::Untried;
use super::graph::{Graph, ProofBuffers};
use super::pool::PoolId;
use super::proof::ProofUpdate;
use super::record::{Bounds, EdgeId, JointChildId, UntriedMove};
use super::request::PositionInfo;
use panza_gdl::NodeId;
use panza_sync::Random;

/// Greatest number of joint moves in a matrix.
const MAX_CELLS: usize = 256;
/// Greatest number of joint moves in a row.
const MAX_ROW: usize = 1024;
/// Terminal children of a new node that are compared with others, to share a node.
const MAX_SHARED: usize = 8;

impl ProofBuffers {
    /// Where the edges of a role with a choice start.
    fn start(&self, mover: usize) -> usize {
        mover.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    /// The number of edges of a role with a choice.
    fn n_edges(&self, mover: usize) -> usize {
        self.ends[mover] - self.start(mover)
    }
}

impl Graph {
    /// Expands a node whose joint moves were generated. Where some of them end the game, all moves
    /// get edges and these joint moves children, and what they prove is proven. `result` is the
    /// first result of the node.
    pub(super) fn expand_joint(
        &mut self,
        node: NodeId,
        position: &PositionInfo,
        result: &[f32],
        random: &mut Random,
    ) {
        let (legal, ends) = (&position.legal, &position.legal_ends);
        if !position.terminal_places.is_empty() {
            if self
                .expand_with(node, legal, ends, Untried::Joint(&[]))
                .is_some()
                && self.add_joint_edges(node, position, result).is_none()
            {
                self.collapse(node);
            }
            return;
        }
        let mut untried = std::mem::take(&mut self.untried_moves);
        untried.clear();
        if position.untried.is_empty() {
            untried.extend(legal.iter().map(|&mv| UntriedMove::unknown(mv)));
        } else {
            untried.extend_from_slice(&position.untried);
        }
        for role in 0..self.roles {
            let of_role = &mut untried[position.start_of(role)..ends[role] as usize];
            if position.untried.is_empty() {
                super::expand::shuffle(of_role, random);
            } else {
                of_role.sort_unstable_by_key(UntriedMove::order);
            }
        }
        self.expand_with(node, legal, ends, Untried::Joint(&untried));
        self.untried_moves = untried;
    }

    /// Adds an edge for each move of a new node, and its terminal children.
    fn add_joint_edges(
        &mut self,
        node: NodeId,
        position: &PositionInfo,
        result: &[f32],
    ) -> Option<()> {
        let mut edges = std::mem::take(&mut self.joint_edges);
        edges.clear();
        let mut added = Some(());
        for (role, &of_result) in result.iter().enumerate() {
            for (index, &mv) in position.moves_of(role).iter().enumerate() {
                let has_choice = position.moves_of(role).len() > 1;
                let edge = match added {
                    Some(()) if has_choice => self.push_edge(node, role, mv),
                    _ => Some(EdgeId::NONE),
                };
                added = added.and(edge.map(|_| ()));
                let edge = edge.unwrap_or(EdgeId::NONE);
                edges.push(edge);
                if edge.is_some() {
                    let valued = position.untried.get(position.start_of(role) + index);
                    let value = valued.map_or(of_result, |it| it.value_or(of_result));
                    self.edge_blocks[edge.block()].means[edge.slot()] = value;
                }
            }
        }
        let added = added.and_then(|()| self.add_joint_ends(node, position, result, &edges));
        self.joint_edges = edges;
        added
    }

    /// Adds the terminal children of a new node. `edges` has one for each legal move.
    fn add_joint_ends(
        &mut self,
        node: NodeId,
        position: &PositionInfo,
        result: &[f32],
        edges: &[EdgeId],
    ) -> Option<()> {
        let n_roles = self.roles;
        let is_valued = !position.untried.is_empty();
        let n_cells: usize = (0..n_roles)
            .map(|role| position.moves_of(role).len())
            .product();
        // The first terminal nodes, with the row of their goals.
        let mut shared = [(0, NodeId::NONE); MAX_SHARED];
        let mut n_shared = 0;
        let mut joint = std::mem::take(&mut self.proof.joint);
        let mut added = Some(());
        let rows = position.terminal_rows(n_roles);
        let places = position.terminal_places.chunks(n_roles);
        for (row, (goals, places)) in rows.zip(places).enumerate() {
            joint.clear();
            for (role, &place) in places.iter().enumerate() {
                let edge = edges[position.start_of(role) + usize::from(place)];
                if !edge.is_some() {
                    continue;
                }
                joint.push(edge);
                if !is_valued {
                    // The other joint moves are worth the result.
                    let n_in_row = n_cells / position.moves_of(role).len();
                    let mean = &mut self.edge_blocks[edge.block()].means[edge.slot()];
                    *mean += (f32::from(goals[role]) - result[role]) / n_in_row as f32;
                }
            }
            let same = shared[..n_shared].iter().find(|&&(other, _)| {
                position.terminal_goals[other * n_roles..][..n_roles] == *goals
            });
            let child = match same {
                Some(&(_, known)) => Some(known),
                None => self.make_node(&[], Some(goals)),
            };
            let Some(child) = child else {
                added = None;
                break;
            };
            // Protects the child from eviction until it is linked.
            self.nodes[child].in_flight += 1;
            let linked = self.set_child(node, &joint, child);
            self.nodes[child].in_flight -= 1;
            if same.is_none() && n_shared < MAX_SHARED {
                shared[n_shared] = (row, child);
                n_shared += 1;
                self.nodes[child].in_flight += 1;
            }
            if linked.is_none() {
                added = None;
                break;
            }
        }
        for &(_, child) in &shared[..n_shared] {
            self.nodes[child].in_flight -= 1;
        }
        self.proof.joint = joint;
        added?;
        let mut bounds = std::mem::take(&mut self.child_bounds);
        bounds.clear();
        bounds.resize(n_roles, Bounds::UNKNOWN);
        self.update_proof(node, &[], ProofUpdate::TERMINAL, &mut bounds);
        self.child_bounds = bounds;
        Some(())
    }

    /// Narrows `proof.bounds` of a node where several roles choose, after the child behind
    /// `selected` has changed. Nothing is selected in a new node.
    pub(super) fn update_simultaneous(
        &mut self,
        node: NodeId,
        selected: &[EdgeId],
        of_child: ProofUpdate,
        proof: &mut ProofBuffers,
    ) {
        proof.edges.clear();
        proof.ends.clear();
        // How many roles have untried moves, and the last of them.
        let mut n_with_untried = 0;
        let mut last_with_untried = 0;
        for role in 0..self.roles {
            let role_moves = self.role_moves(node, role);
            if role_moves.has_choice() {
                if role_moves.has_untried() {
                    n_with_untried += 1;
                    last_with_untried = proof.ends.len();
                }
                proof.edges.extend(self.edges(role_moves));
                proof.ends.push(proof.edges.len());
            }
        }
        let n_movers = proof.ends.len();
        let n_cells = (0..n_movers)
            .map(|mover| proof.n_edges(mover))
            .try_fold(1usize, |product, count| product.checked_mul(count));
        let is_small = n_cells.is_some_and(|count| count <= MAX_CELLS);
        let mut mover = 0;
        for role in 0..self.roles {
            let role_moves = *self.role_moves(node, role);
            let own = role_moves.has_choice().then_some(mover);
            mover += usize::from(role_moves.has_choice());
            // A row is complete only if all others have tried all their moves.
            let others_tried =
                n_with_untried == 0 || (n_with_untried == 1 && own == Some(last_with_untried));
            if !others_tried {
                continue;
            }
            if is_small {
                self.narrow_by_matrix(node, role, own, proof);
            } else if !selected.is_empty() {
                self.narrow_by_row(node, role, own.map(|own| (own, selected[own])), proof);
            }
        }
        self.narrow_by_sum(proof);
        self.nodes[node].proof_length = of_child.length;
    }

    /// Narrows the bounds of a role, which is the mover `own` if it has a choice, by all joint
    /// moves.
    fn narrow_by_matrix(
        &mut self,
        node: NodeId,
        role: usize,
        own: Option<usize>,
        proof: &mut ProofBuffers,
    ) {
        let n_cells: usize = (0..proof.ends.len())
            .map(|mover| proof.n_edges(mover))
            .product();
        let n_rows = own.map_or(1, |own| proof.n_edges(own));
        let n_columns = n_cells / n_rows.max(1);
        if n_cells == 0 {
            return;
        }
        self.read_cells(node, role, own, n_columns, proof);
        let mut best = Bounds::new(0, 0);
        for (row, cells) in proof.cells.chunks(n_columns).enumerate() {
            let mut bounds = Bounds::EMPTY;
            cells.iter().for_each(|&cell| bounds.widen(cell));
            if let Some(own) = own {
                let edge = proof.edges[proof.start(own) + row];
                bounds = self.edge_blocks[edge.block()].narrow(edge.slot(), bounds);
            }
            best = Bounds::new(best.lower.max(bounds.lower), best.upper.max(bounds.upper));
        }
        if own.is_some_and(|_| self.role_moves(node, role).has_untried()) {
            best.upper = 100;
        }
        proof.bounds[role] = proof.bounds[role].intersect(best);
        // A mixture is sure of no more than the best reply leaves to the best row.
        let floor = proof.bounds[role].lower;
        let has_more = |column: usize| {
            let mut cells = proof.cells[column..].iter().step_by(n_columns);
            cells.any(|cell| cell.lower > floor)
        };
        if own.is_none() || floor == 100 || !(0..n_columns).all(has_more) {
            return;
        }
        proof.matrix.reset(n_rows, n_columns);
        for (index, cell) in proof.cells.iter().enumerate() {
            let (row, column) = (index / n_columns, index % n_columns);
            proof.matrix.set(row, column, cell.lower.into());
        }
        let lower = proof.solver.solve(&proof.matrix).lower();
        proof.bounds[role] = proof.bounds[role].intersect(Bounds::new(lower, 100));
    }

    /// The strategy of a role that solves the matrix game of a node, where the goals of two roles
    /// add up to the same and all joint moves are proven to a point. `None` elsewhere.
    pub(super) fn proven_strategy(&self, node: NodeId, role: usize) -> Option<Vec<(EdgeId, f32)>> {
        self.sure_sum?;
        let mut proof = ProofBuffers::default();
        let mut own = None;
        for other in 0..self.roles {
            let role_moves = self.role_moves(node, other);
            if role_moves.has_choice() {
                let is_chance = self.chance.is_some_and(|it| usize::from(it) == other);
                if role_moves.has_untried() || is_chance {
                    return None;
                }
                if other == role {
                    own = Some(proof.ends.len());
                }
                proof.edges.extend(self.edges(role_moves));
                proof.ends.push(proof.edges.len());
            }
        }
        let own = own?;
        let product = |product: usize, mover| product.checked_mul(proof.n_edges(mover));
        let n_cells = (0..proof.ends.len()).try_fold(1usize, product)?;
        if n_cells > MAX_CELLS {
            return None;
        }
        let n_rows = proof.n_edges(own);
        let n_columns = n_cells / n_rows;
        self.read_cells(node, role, Some(own), n_columns, &mut proof);
        if proof.cells.iter().any(|cell| cell.upper - cell.lower > 1) {
            return None;
        }
        proof.matrix.reset(n_rows, n_columns);
        for (index, cell) in proof.cells.iter().enumerate() {
            let points = (f64::from(cell.lower) + f64::from(cell.upper)) / 2.0;
            proof
                .matrix
                .set(index / n_columns, index % n_columns, points);
        }
        proof.solver.solve(&proof.matrix);
        let edges = &proof.edges[proof.start(own)..proof.ends[own]];
        let shares = edges.iter().zip(&proof.solver.rows);
        let played = shares.filter(|&(_, &share)| share > 0.0);
        Some(played.map(|(&edge, &share)| (edge, share as f32)).collect())
    }

    /// Writes a role's bounds in all cells to `proof.cells`: its own moves are the rows, the joint
    /// moves of the others the columns.
    fn read_cells(
        &self,
        node: NodeId,
        role: usize,
        own: Option<usize>,
        n_columns: usize,
        proof: &mut ProofBuffers,
    ) {
        let n_movers = proof.ends.len();
        let n_rows = own.map_or(1, |own| proof.n_edges(own));
        let mut cells = std::mem::take(&mut proof.cells);
        cells.clear();
        cells.resize(n_rows * n_columns, Bounds::UNKNOWN);
        let mut next = self.nodes[node].joint_children;
        while next.is_some() {
            let id: JointChildId = next;
            let record = &self.joint_children[id];
            next = record.link;
            let child = self.resolve(record.child, record.generation);
            if !child.is_some() {
                continue;
            }
            let (mut row, mut column, mut stride) = (Some(0), Some(0), 1);
            for (mover, &edge) in self.joint_child_edges[id][..n_movers].iter().enumerate() {
                let edges = &proof.edges[proof.start(mover)..proof.ends[mover]];
                let place = edges.iter().position(|&other| other == edge);
                if own == Some(mover) {
                    row = place;
                } else {
                    column = column
                        .zip(place)
                        .map(|(column, place)| column + place * stride);
                    stride *= edges.len();
                }
            }
            if let Some((row, column)) = row.zip(column)
                && let Some(cell) = cells.get_mut(row * n_columns + column)
            {
                *cell = self.bounds[child][role];
            }
        }
        proof.cells = cells;
    }

    /// Narrows the bounds of a role by the row of the selected edge.
    fn narrow_by_row(
        &mut self,
        node: NodeId,
        role: usize,
        fixed: Option<(usize, EdgeId)>,
        proof: &mut ProofBuffers,
    ) {
        let row = self.row_bounds(node, role, fixed, proof);
        let Some((_, edge)) = fixed else {
            proof.bounds[role] = proof.bounds[role].intersect(row);
            return;
        };
        let lower = self.edge_blocks[edge.block()]
            .narrow(edge.slot(), row)
            .lower;
        let upper = self.greatest_upper(self.role_moves(node, role));
        proof.bounds[role] = proof.bounds[role].intersect(Bounds::new(lower, upper));
    }

    /// One of two roles gets at most what the other is not sure of.
    fn narrow_by_sum(&self, proof: &mut ProofBuffers) {
        let (Some(sum), Some(pair)) = (self.sure_sum, self.pair) else {
            return;
        };
        let [first, second] = pair.map(|role| proof.bounds[role].lower);
        for (role, of_other) in pair.into_iter().zip([second, first]) {
            let upper = sum.saturating_sub(of_other.into()).min(100) as u8;
            proof.bounds[role] = proof.bounds[role].intersect(Bounds::new(0, upper));
        }
    }

    /// The same for a node none of whose children has changed, since the sum may have become sure.
    /// Returns the node's update if anything changed, with its bounds in `bounds`.
    #[inline]
    pub(super) fn update_by_sum(
        &mut self,
        node: NodeId,
        bounds: &mut [Bounds],
    ) -> Option<ProofUpdate> {
        self.sure_sum?;
        let mut proof = std::mem::take(&mut self.proof);
        proof.bounds.clear();
        proof.bounds.extend_from_slice(&self.bounds[node]);
        self.narrow_by_sum(&mut proof);
        let is_changed = proof.bounds != self.bounds[node];
        if is_changed {
            self.bounds[node].copy_from_slice(&proof.bounds);
            bounds.copy_from_slice(&proof.bounds);
            let are_exact = proof.bounds.iter().all(|bounds| bounds.is_exact());
            self.nodes[node].solved |= are_exact;
        }
        self.proof = proof;
        is_changed.then(|| self.nodes[node].proof_update())
    }

    /// The bounds of a role over a row: all joint moves of `proof.edges` with one role's edge
    /// fixed. Unknown while one of them is not in the graph.
    fn row_bounds(
        &self,
        node: NodeId,
        role: usize,
        fixed: Option<(usize, EdgeId)>,
        proof: &mut ProofBuffers,
    ) -> Bounds {
        let n_movers = proof.ends.len();
        let is_fixed = |mover| fixed.is_some_and(|(fixed, _)| fixed == mover);
        proof.indices.clear();
        proof.joint.clear();
        let mut n_joint_moves = 1usize;
        for mover in 0..n_movers {
            let start = proof.start(mover);
            proof.indices.push(start);
            match fixed {
                Some((fixed, edge)) if fixed == mover => proof.joint.push(edge),
                _ => {
                    proof.joint.push(proof.edges[start]);
                    n_joint_moves = n_joint_moves.saturating_mul(proof.ends[mover] - start);
                }
            }
        }
        if n_joint_moves > MAX_ROW {
            return Bounds::UNKNOWN;
        }
        let mut row = Bounds::EMPTY;
        loop {
            let child = self.child(node, &proof.joint);
            if !child.is_some() {
                return Bounds::UNKNOWN;
            }
            row.widen(self.bounds[child][role]);
            if row == Bounds::UNKNOWN {
                return row;
            }
            // The next joint move, counting with the first role as the lowest digit.
            let mut mover = 0;
            loop {
                if mover == n_movers {
                    return row;
                }
                if !is_fixed(mover) {
                    proof.indices[mover] += 1;
                    let has_more = proof.indices[mover] < proof.ends[mover];
                    if !has_more {
                        proof.indices[mover] = proof.start(mover);
                    }
                    proof.joint[mover] = proof.edges[proof.indices[mover]];
                    if has_more {
                        break;
                    }
                }
                mover += 1;
            }
        }
    }
}
