//! The network as a coloured graph: colour refinement, and the check that a map of the vertices is
//! an automorphism.
//!
//! Vertices are the nodes of the network, the roles, the goals and the end of the game. A colour is
//! a hash of a vertex's colour and of its neighbours' colours, so colours of two colourings are
//! comparable.

use super::Symmetry;
use crate::csr::Csr;
use panza_gdl::{BaseId, GateId, Id, MoveId, RoleId};
use panza_propnet::{GateKind, Network, Signal};
use panza_sync::Budget;

/// A colour per vertex.
pub(super) type Colouring = Vec<u64>;

/// Kinds of vertices: their initial colours.
const FALSE: u64 = 1;
const BASE: u64 = 2;
const MOVE: u64 = 3;
const AND: u64 = 4;
const OR: u64 = 5;
const ROLE: u64 = 6;
const END: u64 = 7;
const GOAL: u64 = 8;

/// Kinds of edges; inverted ones are odd, and reversed ones have [`BACK`] added.
const INPUT: u64 = 0;
const NEXT: u64 = 2;
const LEGAL: u64 = 4;
const VALUE: u64 = 6;
const OF_ROLE: u64 = 8;
const BACK: u64 = 16;

pub(super) struct Graph {
    n_bases: usize,
    first_move: usize,
    first_gate: usize,
    first_role: usize,
    first_goal: usize,
    start: Colouring,
    /// Per vertex its neighbours, each with the kind of the edge.
    neighbours: Csr<(u32, u32)>,
}

/// The finaliser of splitmix64.
#[inline]
fn mix(mut word: u64) -> u64 {
    word = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

impl Graph {
    /// The graph of a network; `None` when the budget is spent.
    pub fn new(network: &Network, budget: &mut Budget) -> Option<Self> {
        let first_move = 1 + network.facts.len();
        let first_gate = first_move + network.moves.len();
        let first_role = first_gate + network.gates.len();
        let first_goal = first_role + network.roles.len();
        let end = first_goal + network.goals.len();
        budget.spend(4 * (end + network.n_edges()))?;
        let mut edges: Vec<(usize, usize, u64)> = Vec::with_capacity(network.n_edges() + end);
        let mut add = |from: usize, to: Signal, kind: u64| {
            edges.push((from, to.node_number(), kind + u64::from(to.is_inverted())));
        };
        for gate in network.gates.ids() {
            let inputs = network.inputs(gate).iter();
            inputs.for_each(|&input| add(first_gate + gate.index(), input, INPUT));
        }
        for (base, &next) in network.next.enumerate() {
            add(1 + base.index(), next, NEXT);
        }
        for (mv, &legal) in network.legal.enumerate() {
            add(first_move + mv.index(), legal, LEGAL);
        }
        for (goal, &(_, _, signal)) in network.goals.iter().enumerate() {
            add(first_goal + goal, signal, VALUE);
        }
        add(end, network.terminal, VALUE);
        for (mv, &(role, _)) in network.moves.enumerate() {
            edges.push((first_move + mv.index(), first_role + role.index(), OF_ROLE));
        }
        for (goal, &(role, ..)) in network.goals.iter().enumerate() {
            edges.push((first_goal + goal, first_role + role.index(), OF_ROLE));
        }
        let mut start = vec![FALSE];
        start.extend(network.facts.iter().map(|_| BASE));
        start.extend(network.moves.iter().map(|_| MOVE));
        start.extend(network.gates.iter().map(|gate| match gate.kind {
            GateKind::And => AND,
            GateKind::Or => OR,
        }));
        start.extend(network.roles.iter().map(|_| ROLE));
        start.extend(network.goals.iter().map(|goal| GOAL + u64::from(goal.1)));
        start.push(END);
        let mut pairs = Vec::with_capacity(2 * edges.len());
        for &(from, to, kind) in &edges {
            for (at, other, kind) in [(from, to, kind), (to, from, kind + BACK)] {
                pairs.push((at as u32, (other as u32, kind as u32)));
            }
        }
        Some(Self {
            n_bases: network.facts.len(),
            first_move,
            first_gate,
            first_role,
            first_goal,
            neighbours: Csr::new(start.len(), &pairs),
            start,
        })
    }

    /// The colouring by kinds.
    pub fn start(&self) -> Colouring {
        self.start.clone()
    }

    /// Whether the vertex is a role.
    pub fn is_role(&self, vertex: u32) -> bool {
        (self.first_role..self.first_goal).contains(&(vertex as usize))
    }

    /// Whether the vertex is a base, move or role.
    pub fn is_in_symmetry(&self, vertex: u32) -> bool {
        (1..self.first_gate).contains(&(vertex as usize)) || self.is_role(vertex)
    }

    /// The colouring with a unique colour for this vertex (individualisation).
    pub fn individualised(&self, colouring: &Colouring, vertex: u32) -> Colouring {
        let mut marked = colouring.clone();
        let colour = &mut marked[vertex as usize];
        *colour = mix(*colour ^ 0x4D41_524B);
        marked
    }

    /// The coarsest stable refinement of a colouring; `None` when the budget is spent.
    pub fn refined(&self, mut colouring: Colouring, budget: &mut Budget) -> Option<Colouring> {
        let mut n_classes = n_classes(&colouring);
        let mut mixed = vec![0u64; colouring.len()];
        loop {
            if n_classes == colouring.len() {
                return Some(colouring);
            }
            budget.spend(self.neighbours.items.len() + 4 * colouring.len())?;
            for (mixed, &colour) in mixed.iter_mut().zip(&colouring) {
                *mixed = mix(colour);
            }
            for (vertex, colour) in colouring.iter_mut().enumerate() {
                let around = self.neighbours.row(vertex).iter();
                let sum = around.fold(0u64, |sum, &(other, kind)| {
                    let seen = mixed[other as usize].rotate_left(kind);
                    sum.wrapping_add(
                        seen.wrapping_mul(0xD6E8_FEB8_6659_FD93 ^ u64::from(kind) << 1),
                    )
                });
                *colour = mix(colour.wrapping_mul(3).wrapping_add(mix(sum)));
            }
            let now = self::n_classes(&colouring);
            if now <= n_classes {
                return Some(colouring);
            }
            n_classes = now;
        }
    }

    /// The smallest cell of more than one role, or else of bases or moves, or else of any vertices.
    pub fn cell_to_split(&self, colouring: &Colouring) -> Option<Vec<u32>> {
        let mut sorted: Vec<(u64, u32)> = colouring.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let cells = sorted.chunk_by(|one, other| one.0 == other.0);
        let key = |cell: &&[(u64, u32)]| {
            let first = cell[0].1;
            let is_input = (1..self.first_gate).contains(&(first as usize));
            (!self.is_role(first), !is_input, cell.len(), first)
        };
        let smallest = cells.filter(|cell| cell.len() > 1).min_by_key(key)?;
        Some(smallest.iter().map(|&(_, vertex)| vertex).collect())
    }

    /// The vertices whose right colour is the left colour of this vertex.
    pub fn cell_like(&self, left: &Colouring, vertex: u32, right: &Colouring) -> Vec<u32> {
        let wanted = left[vertex as usize];
        let vertices = (0u32..).zip(right);
        let like = vertices.filter(|(_, colour)| **colour == wanted);
        like.map(|(vertex, _)| vertex).collect()
    }

    /// Whether two colourings have the same multiset of colours; `None` when the budget is spent.
    pub fn are_alike(
        &self,
        left: &Colouring,
        right: &Colouring,
        budget: &mut Budget,
    ) -> Option<bool> {
        budget.spend(4 * left.len())?;
        let (mut left, mut right) = (left.clone(), right.clone());
        left.sort_unstable();
        right.sort_unstable();
        Some(left == right)
    }

    /// The map between vertices of equal colours in two discrete colourings.
    pub fn colour_map(&self, left: &Colouring, right: &Colouring) -> Option<Vec<u32>> {
        let by_colour = |colouring: &Colouring| {
            let mut sorted: Vec<(u64, u32)> = colouring.iter().copied().zip(0..).collect();
            sorted.sort_unstable();
            sorted
        };
        let mut map = vec![0u32; left.len()];
        for (left, right) in by_colour(left).into_iter().zip(by_colour(right)) {
            if left.0 != right.0 {
                return None;
            }
            map[left.1 as usize] = right.1;
        }
        Some(map)
    }

    /// Whether a map of the vertices is an automorphism of the network.
    pub fn is_automorphism(&self, network: &Network, map: &[u32]) -> bool {
        let mut is_hit = vec![false; map.len()];
        for (vertex, &image) in map.iter().enumerate() {
            let is_new = !std::mem::replace(&mut is_hit[image as usize], true);
            if !is_new || self.start[vertex] != self.start[image as usize] {
                return false;
            }
        }
        let moved = |signal: Signal| {
            let plain = Signal::of_node(map[signal.node_number()] as usize);
            if signal.is_inverted() { !plain } else { plain }
        };
        let gates = network.gates.ids().all(|gate| {
            let image = map[self.first_gate + gate.index()] as usize - self.first_gate;
            let mut inputs: Vec<Signal> = network.inputs(gate).iter().copied().map(moved).collect();
            inputs.sort_unstable();
            inputs == network.inputs(GateId::from_index(image))
        });
        let bases = network.next.enumerate().all(|(base, &next)| {
            let image = map[1 + base.index()] as usize - 1;
            network.next[BaseId::from_index(image)] == moved(next)
        });
        let role_of = |role: RoleId| map[self.first_role + role.index()] as usize - self.first_role;
        let moves = network.moves.enumerate().all(|(mv, &(role, _))| {
            let image =
                MoveId::from_index(map[self.first_move + mv.index()] as usize - self.first_move);
            network.legal[image] == moved(network.legal[mv])
                && network.moves[image].0.index() == role_of(role)
        });
        let mut goals: Vec<(usize, u8, Signal)> = network
            .goals
            .iter()
            .map(|&(role, value, signal)| (role.index(), value, signal))
            .collect();
        let mut images: Vec<(usize, u8, Signal)> = network
            .goals
            .iter()
            .map(|&(role, value, signal)| (role_of(role), value, moved(signal)))
            .collect();
        goals.sort_unstable();
        images.sort_unstable();
        gates && bases && moves && goals == images && moved(network.terminal) == network.terminal
    }

    /// The map of bases, moves and roles in a map of vertices.
    pub fn symmetry_of(&self, map: &[u32]) -> Symmetry {
        let part = |from: usize, to: usize| {
            map[from..to]
                .iter()
                .map(move |&image| image as usize - from)
        };
        Symmetry {
            bases: part(1, 1 + self.n_bases).map(BaseId::from_index).collect(),
            moves: part(self.first_move, self.first_gate)
                .map(MoveId::from_index)
                .collect(),
            roles: part(self.first_role, self.first_goal)
                .map(RoleId::from_index)
                .collect(),
        }
    }

    /// The image of a base, move or role; `None` for other vertices.
    pub fn image(&self, symmetry: &Symmetry, vertex: u32) -> Option<u32> {
        let vertex = vertex as usize;
        let image = if (1..self.first_move).contains(&vertex) {
            1 + symmetry.bases[vertex - 1].index()
        } else if (self.first_move..self.first_gate).contains(&vertex) {
            self.first_move + symmetry.moves[vertex - self.first_move].index()
        } else if (self.first_role..self.first_goal).contains(&vertex) {
            self.first_role + symmetry.roles[vertex - self.first_role].index()
        } else {
            return None;
        };
        Some(image as u32)
    }
}

fn n_classes(colouring: &Colouring) -> usize {
    let mut sorted = colouring.clone();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len()
}
