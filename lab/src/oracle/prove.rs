//! Proofs that a role can force a goal, by depth-first proof-number search.
//!
//! The AND/OR graph of a game is searched with proof numbers (Allis 1994) and thresholds (df-pn,
//! Nagai 2002). Equal states are one node. A choice of the role is an OR node, a choice of the
//! others an AND node. In states with simultaneous choices one side moves first ([`MoveOrder`]): a
//! goal that the role forces when it moves first it forces in any case, and a goal that it does not
//! force when it moves last it cannot force.
//!
//! The harder number of a node with several unsolved children is the maximum of theirs plus one for
//! each other child (weak proof numbers, Ueda et al. 2008), since the graph has many
//! transpositions.
//!
//! Shares nothing with the search that it judges. Invariants: answers are proven; a query creates
//! about [`GoalProver::budget`] nodes at most. Games longer than `MAX_DEPTH` joint moves have no
//! answer.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::states::{Legal, States, all_legal, final_goal, in_order, joint_move, n_replies};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Machine, Reasoner};

/// Depth of the graph, in nodes.
const MAX_DEPTH: usize = 2_000;
/// Nodes kept between queries; a larger graph is dropped.
const MAX_KEPT: usize = 6_000_000;
/// The proof number of a disproven node.
const INFINITE: u32 = u32::MAX;

/// Which side moves first where the role and another one choose simultaneously.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MoveOrder {
    RoleFirst,
    RoleLast,
}

/// The goal that a role can force in a state, and which of its moves keep it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// The highest goal that the role can force.
    pub goal: u8,
    /// The role's moves that keep it, in the order of their texts.
    pub good: Vec<MoveId>,
    /// All other legal moves of the role, likewise.
    pub bad: Vec<MoveId>,
}

impl Verdict {
    /// The number of the role's legal moves.
    pub fn n_moves(&self) -> usize {
        self.good.len() + self.bad.len()
    }
}

pub struct GoalProver {
    states: States,
    role: RoleId,
    graphs: HashMap<(u8, MoveOrder), ProofGraph>,
    /// Nodes that queries may still create.
    pub budget: usize,
}

impl GoalProver {
    pub fn new(machine: &Arc<dyn Machine>, role: RoleId) -> Self {
        Self {
            states: States::new(machine),
            role,
            graphs: HashMap::new(),
            budget: 0,
        }
    }

    /// The highest goal that the role can force, and which of its moves keep it. `goals` are the
    /// goals of the game; others cost only time. Nothing when the budget is too small, or when the
    /// order of simultaneous moves makes a difference.
    pub fn judge(&mut self, state: &[u64], goals: &[u8]) -> Option<Verdict> {
        let mut levels: Vec<u8> = goals.iter().copied().filter(|&goal| goal > 0).collect();
        levels.sort_unstable();
        levels.dedup();
        // Binary search for the first of `levels` that cannot be forced. Goal 0 always can.
        let (mut known, mut beyond) = (0, levels.len());
        while known < beyond {
            // Most games are won or lost, so the highest comes first.
            let middle = if beyond == levels.len() && known == 0 {
                beyond - 1
            } else {
                (known + beyond) / 2
            };
            if self.can_force(state, levels[middle], MoveOrder::RoleFirst)? {
                known = middle + 1;
            } else {
                beyond = middle;
            }
        }
        let goal = if known == 0 { 0 } else { levels[known - 1] };
        if goal < 100 && self.can_force(state, goal + 1, MoveOrder::RoleLast)? {
            return None;
        }
        let legal = self.states.choices(state)?;
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for mv in in_order(&self.states.machine, &legal[self.role.index()]) {
            if self.keeps(state, &legal, mv, goal, MoveOrder::RoleFirst)? {
                good.push(mv);
            } else if !self.keeps(state, &legal, mv, goal, MoveOrder::RoleLast)? {
                bad.push(mv);
            } else {
                return None;
            }
        }
        Some(Verdict { goal, good, bad })
    }

    /// Whether the role can force this goal after its move, whatever the others choose now.
    fn keeps(
        &mut self,
        state: &[u64],
        legal: &Legal,
        mv: MoveId,
        goal: u8,
        order: MoveOrder,
    ) -> Option<bool> {
        let mut is_sure = true;
        for reply in 0..n_replies(legal, self.role)? {
            let joint_move = joint_move(legal, self.role, mv, reply);
            let next = self.states.after(state, &joint_move);
            match self.can_force(&next, goal, order) {
                Some(true) => {}
                Some(false) => return Some(false),
                None => is_sure = false,
            }
        }
        is_sure.then_some(true)
    }

    /// Whether the role can force at least this goal from here.
    pub fn can_force(&mut self, state: &[u64], goal: u8, order: MoveOrder) -> Option<bool> {
        if goal == 0 {
            return Some(true);
        }
        if order == MoveOrder::RoleLast {
            let first = self.query(state, goal, MoveOrder::RoleFirst);
            let has_both = self.graphs[&(goal, MoveOrder::RoleFirst)].has_both;
            // Moving last is at least as good. Without simultaneous choices it is the same.
            if first == Some(true) || !has_both {
                return first;
            }
        }
        self.query(state, goal, order)
    }

    fn query(&mut self, state: &[u64], goal: u8, order: MoveOrder) -> Option<bool> {
        let (machine, role) = (&self.states.machine, self.role);
        let graph = self
            .graphs
            .entry((goal, order))
            .or_insert_with(|| ProofGraph::new(machine, role, goal, order));
        if graph.nodes.len() > MAX_KEPT {
            *graph = ProofGraph::new(machine, role, goal, order);
        }
        let before = graph.nodes.len();
        graph.limit = before.saturating_add(self.budget);
        let answer = graph.answer(state);
        self.budget = self.budget.saturating_sub(graph.nodes.len() - before);
        answer
    }
}

/// A state, or a state and the move of the side that moves first.
struct ProofNode {
    /// The proof number, 0 when proven.
    proof: u32,
    /// The disproof number, 0 when disproven.
    disproof: u32,
    is_or: bool,
    /// Nothing before the expansion.
    children: Option<Box<[u32]>>,
}

struct ProofGraph {
    reasoner: Box<dyn Reasoner>,
    n_roles: usize,
    role: RoleId,
    goal: u8,
    order: MoveOrder,
    nodes: Vec<ProofNode>,
    /// The keys of all nodes in a row, each a state and the index of the first side's move from 1,
    /// or 0.
    keys: Vec<u64>,
    key_length: usize,
    index: HashTable<u32>,
    hasher: FxBuildHasher,
    limit: usize,
    /// Whether some state has simultaneous choices of the role and others.
    has_both: bool,
    /// Whether the search reached a state without an answer.
    gave_up: bool,
}

impl ProofGraph {
    fn new(machine: &Arc<dyn Machine>, role: RoleId, goal: u8, order: MoveOrder) -> Self {
        Self {
            reasoner: Arc::clone(machine).reasoner(),
            n_roles: machine.info().n_roles(),
            role,
            goal,
            order,
            nodes: Vec::new(),
            keys: Vec::new(),
            key_length: machine.initial_state().len() + 1,
            index: HashTable::new(),
            hasher: FxBuildHasher,
            limit: 0,
            has_both: false,
            gave_up: false,
        }
    }

    fn answer(&mut self, state: &[u64]) -> Option<bool> {
        self.gave_up = false;
        let mut key = state.to_vec();
        key.push(0);
        let root = self.node(&key);
        while !self.nodes[root].is_solved() {
            self.search(root, INFINITE, INFINITE, 0);
            if self.is_over() {
                break;
            }
        }
        let root = &self.nodes[root];
        root.is_solved().then_some(root.proof == 0)
    }

    fn is_over(&self) -> bool {
        self.gave_up || self.nodes.len() >= self.limit
    }

    /// The node of a key, created if new.
    fn node(&mut self, key: &[u64]) -> usize {
        let (keys, length) = (&self.keys, self.key_length);
        let key_of = |id: u32| &keys[id as usize * length..][..length];
        let hash = self.hasher.hash_one(key);
        if let Some(&id) = self.index.find(hash, |&id| key_of(id) == key) {
            return id as usize;
        }
        let id = self.nodes.len();
        let hasher = &self.hasher;
        self.index
            .insert_unique(hash, id as u32, |&id| hasher.hash_one(key_of(id)));
        self.keys.extend_from_slice(key);
        let node = self.new_node(key);
        self.nodes.push(node);
        id
    }

    fn new_node(&mut self, key: &[u64]) -> ProofNode {
        let (state, committed) = key.split_at(self.key_length - 1);
        self.reasoner.set_state(state);
        let mut is_over = self.reasoner.is_terminal();
        let mut choices = 1usize;
        let mut own = 1;
        for role in (0..self.n_roles).map(RoleId::from_index) {
            if is_over {
                break;
            }
            let count = self.reasoner.legal_moves(role).len();
            is_over = count == 0;
            if role == self.role {
                own = count;
            } else {
                choices = choices.saturating_mul(count);
            }
        }
        if is_over {
            let goal = final_goal(self.reasoner.as_mut(), self.n_roles, self.role);
            let (proof, disproof) = match goal >= self.goal {
                true => (0, INFINITE),
                false => (INFINITE, 0),
            };
            return ProofNode {
                proof,
                disproof,
                is_or: true,
                children: Some(Box::default()),
            };
        }
        let is_committed = committed[0] != 0;
        let is_or = match (own > 1, choices > 1) {
            (true, true) => (self.order == MoveOrder::RoleFirst) != is_committed,
            (_, others_choose) => !others_choose,
        };
        // Each unexpanded child counts one.
        let count = |count: usize| u32::try_from(count).unwrap_or(INFINITE - 1);
        ProofNode {
            proof: if is_or { 1 } else { count(choices) },
            disproof: if is_or { count(own) } else { 1 },
            is_or,
            children: None,
        }
    }

    /// Expands a node; false when it has too many children.
    fn expand(&mut self, id: usize) -> bool {
        if self.nodes[id].children.is_some() {
            return true;
        }
        let key = self.keys[id * self.key_length..][..self.key_length].to_vec();
        let (state, committed) = key.split_at(self.key_length - 1);
        self.reasoner.set_state(state);
        let legal = all_legal(self.reasoner.as_mut(), self.n_roles);
        let own = &legal[self.role.index()];
        let Some(replies) = n_replies(&legal, self.role) else {
            return false;
        };
        let mut keys = Vec::new();
        let committed = committed[0] as usize;
        let is_both = own.len() > 1 && replies > 1;
        self.has_both |= is_both;
        if is_both && committed == 0 {
            let ways = match self.order {
                MoveOrder::RoleFirst => own.len(),
                MoveOrder::RoleLast => replies,
            };
            keys.extend((1..=ways).map(|way| [state, &[way as u64]].concat()));
        } else {
            let (mut from, mut to) = (0..own.len(), 0..replies);
            match (is_both, self.order) {
                (true, MoveOrder::RoleFirst) => from = committed - 1..committed,
                (true, MoveOrder::RoleLast) => to = committed - 1..committed,
                (false, _) => {}
            }
            for mv in from {
                for reply in to.clone() {
                    let joint_move = joint_move(&legal, self.role, own[mv], reply);
                    let mut key = Vec::with_capacity(self.key_length);
                    self.reasoner.next_state(&joint_move, &mut key);
                    key.push(0);
                    keys.push(key);
                }
            }
        }
        let mut children: Vec<u32> = keys.iter().map(|key| self.node(key) as u32).collect();
        children.sort_unstable();
        children.dedup();
        self.nodes[id].children = Some(children.into_boxed_slice());
        true
    }

    /// Searches below a node until one of its numbers reaches its threshold, it is solved, or the
    /// budget is spent.
    fn search(&mut self, id: usize, proof_threshold: u32, disproof_threshold: u32, depth: usize) {
        if depth > MAX_DEPTH || !self.expand(id) {
            self.gave_up = true;
            return;
        }
        loop {
            let numbers = self.numbers(id);
            let node = &mut self.nodes[id];
            node.proof = numbers.proof(node.is_or);
            node.disproof = numbers.disproof(node.is_or);
            if node.is_solved() {
                node.children = Some(Box::default());
                return;
            }
            if node.proof >= proof_threshold
                || node.disproof >= disproof_threshold
                || self.is_over()
            {
                return;
            }
            // A quarter above the second best, so that the search does not switch at every step (1
            // + epsilon trick, Pawlewicz and Lew 2007).
            let second = numbers.second;
            let near = second.saturating_add(second / 4).saturating_add(1);
            let others = numbers.unsolved - 1;
            let is_or = self.nodes[id].is_or;
            let (easy, hard) = match is_or {
                true => (proof_threshold, disproof_threshold),
                false => (disproof_threshold, proof_threshold),
            };
            let easy = easy.min(near);
            let hard = if hard == INFINITE {
                hard
            } else {
                hard - others
            };
            let (proof, disproof) = if is_or { (easy, hard) } else { (hard, easy) };
            self.search(numbers.best, proof, disproof, depth + 1);
        }
    }

    fn numbers(&self, id: usize) -> ChildNumbers {
        let node = &self.nodes[id];
        let mut numbers = ChildNumbers {
            easiest: INFINITE,
            second: INFINITE,
            hardest: 0,
            unsolved: 0,
            best: id,
        };
        for &child in node.children.iter().flatten() {
            let child_node = &self.nodes[child as usize];
            let (easy, hard) = match node.is_or {
                true => (child_node.proof, child_node.disproof),
                false => (child_node.disproof, child_node.proof),
            };
            if easy < numbers.easiest {
                numbers.second = numbers.easiest;
                numbers.easiest = easy;
                numbers.best = child as usize;
            } else {
                numbers.second = numbers.second.min(easy);
            }
            if hard > 0 {
                numbers.unsolved += 1;
                numbers.hardest = numbers.hardest.max(hard);
            }
        }
        numbers
    }
}

impl ProofNode {
    fn is_solved(&self) -> bool {
        self.proof == 0 || self.disproof == 0
    }
}

/// The numbers of a node's children. At an OR node the easy number is the proof number, at an AND
/// node the disproof number.
struct ChildNumbers {
    /// The least easy number, and the second least.
    easiest: u32,
    second: u32,
    /// The greatest hard number.
    hardest: u32,
    /// Children whose hard number is not 0.
    unsolved: u32,
    /// The child with the least easy number.
    best: usize,
}

impl ChildNumbers {
    fn hard(&self) -> u32 {
        match (self.easiest, self.unsolved) {
            (0, _) => INFINITE,
            (_, 0) => 0,
            (_, count) => self.hardest.saturating_add(count - 1).min(INFINITE - 1),
        }
    }

    fn proof(&self, is_or: bool) -> u32 {
        if is_or { self.easiest } else { self.hard() }
    }

    fn disproof(&self, is_or: bool) -> u32 {
        if is_or { self.hard() } else { self.easiest }
    }
}

#[cfg(test)]
mod tests;
