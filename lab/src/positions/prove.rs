//! Proofs without chance: can a role force a goal, whatever the others do?
//!
//! The question has one answer in every state, so a game becomes a graph of yes and no, and is
//! searched by proof numbers (Allis 1994) in the depth-first order of thresholds (Nagai 2002).
//! Equal states are one node. A choice of the role is an OR, a choice of the others an AND. Where
//! both choose at once, one of them commits itself first ([`Order`]): what the role can force as
//! the first to commit it can force in any case, and what it cannot even reach as the last to
//! commit it cannot force at all.
//!
//! Of a node with several unsolved children the harder number is that of the hardest child plus one
//! for each other, not the sum (weak proof numbers; Ueda and others 2008), since many ways lead to
//! the same states.
//!
//! Shares nothing with the search that it judges. Invariants: an answer is given only when it is
//! certain; the number of new states of a question is bounded by [`Prover::budget`]. A game that
//! comes to no end within [`MAX_DEPTH`] joint moves has no answer.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::file::in_order;
use panza::ids::{Id, MoveId, RoleId};
use panza::machine::{Machine, Reasoner};

/// Nodes below each other; deeper games are not followed.
const MAX_DEPTH: usize = 2_000;
/// Joint choices of the other roles in one state; with more there is no answer.
const MAX_REPLIES: usize = 4_096;
/// Nodes kept from one question to the next; with more everything is forgotten.
const MAX_KEPT: usize = 6_000_000;
/// A proof number that stands for never.
const NEVER: u32 = u32::MAX;

/// Who commits itself first where the role and another one choose at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// The role: the others know its move.
    RoleFirst,
    /// The others: the role knows their moves.
    RoleLast,
}

/// What is proven of a state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// The highest goal that the role can force.
    pub goal: u8,
    /// The role's moves that keep it, in the order of their texts.
    pub good: Vec<MoveId>,
    /// All other legal moves of the role, likewise.
    pub bad: Vec<MoveId>,
}

/// The legal moves of each role.
pub(super) type Legal = Vec<Vec<MoveId>>;

/// Answers questions about one role of one game.
pub struct Prover {
    machine: Arc<dyn Machine>,
    role: RoleId,
    graphs: HashMap<(u8, Order), Graph>,
    /// New states that may still be looked at.
    pub budget: usize,
}

impl Prover {
    /// Nothing asked yet, and no budget.
    pub fn new(machine: &Arc<dyn Machine>, role: RoleId) -> Self {
        Self {
            machine: Arc::clone(machine),
            role,
            graphs: HashMap::new(),
            budget: 0,
        }
    }

    /// The highest goal that the role can force, and which of its moves keep it. `goals` are goals
    /// that the game is known to end with; others cost time only. Nothing when the budget does not
    /// suffice, or when simultaneous moves leave it to chance what a move is worth.
    pub fn judge(&mut self, state: &[u64], goals: &[u8]) -> Option<Verdict> {
        let mut levels: Vec<u8> = goals.iter().copied().filter(|&goal| goal > 0).collect();
        levels.sort_unstable();
        levels.dedup();
        // Goal 0 is always reached. The first of `levels[known..]` that is out of reach is looked
        // for.
        let (mut known, mut beyond) = (0, levels.len());
        while known < beyond {
            // Most games are won or lost, so the highest is asked first.
            let middle = if beyond == levels.len() && known == 0 {
                beyond - 1
            } else {
                (known + beyond) / 2
            };
            if self.can_force(state, levels[middle], Order::RoleFirst)? {
                known = middle + 1;
            } else {
                beyond = middle;
            }
        }
        let goal = if known == 0 { 0 } else { levels[known - 1] };
        if goal < 100 && self.can_force(state, goal + 1, Order::RoleLast)? {
            return None;
        }
        let legal = legal_moves(&self.machine, state);
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for mv in in_order(&self.machine, &legal[self.role.index()]) {
            if self.keeps(state, &legal, mv, goal, Order::RoleFirst)? {
                good.push(mv);
            } else if !self.keeps(state, &legal, mv, goal, Order::RoleLast)? {
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
        order: Order,
    ) -> Option<bool> {
        let mut nexts = Vec::new();
        let mut reasoner = Arc::clone(&self.machine).reasoner();
        reasoner.set_state(state);
        for reply in 0..n_replies(legal, self.role)? {
            let mut next = Vec::new();
            reasoner.next_state(&joint_move(legal, self.role, mv, reply), &mut next);
            nexts.push(next);
        }
        let mut is_sure = true;
        for next in nexts {
            match self.can_force(&next, goal, order) {
                Some(true) => {}
                Some(false) => return Some(false),
                None => is_sure = false,
            }
        }
        is_sure.then_some(true)
    }

    /// Whether the role can force at least this goal from here.
    pub fn can_force(&mut self, state: &[u64], goal: u8, order: Order) -> Option<bool> {
        if goal == 0 {
            return Some(true);
        }
        if order == Order::RoleLast {
            let first = self.ask(state, goal, Order::RoleFirst);
            let met_both = self.graphs[&(goal, Order::RoleFirst)].met_both;
            // As the first it can: so it can as the last. Where nobody ever chose at once, both are
            // the same.
            if first == Some(true) || !met_both {
                return first;
            }
        }
        self.ask(state, goal, order)
    }

    fn ask(&mut self, state: &[u64], goal: u8, order: Order) -> Option<bool> {
        let (machine, role) = (&self.machine, self.role);
        let graph = self
            .graphs
            .entry((goal, order))
            .or_insert_with(|| Graph::new(machine, role, goal, order));
        if graph.nodes.len() > MAX_KEPT {
            *graph = Graph::new(machine, role, goal, order);
        }
        let before = graph.nodes.len();
        graph.limit = before.saturating_add(self.budget);
        let answer = graph.answer(state);
        self.budget = self.budget.saturating_sub(graph.nodes.len() - before);
        answer
    }
}

/// Each role's legal moves in a state.
pub(super) fn legal_moves(machine: &Arc<dyn Machine>, state: &[u64]) -> Legal {
    let mut reasoner = Arc::clone(machine).reasoner();
    reasoner.set_state(state);
    all_legal(reasoner.as_mut(), machine.info().n_roles())
}

/// Each role's legal moves where the reasoner stands, in rising order.
pub(super) fn all_legal(reasoner: &mut dyn Reasoner, n_roles: usize) -> Legal {
    (0..n_roles)
        .map(|role| {
            let mut legal = reasoner.legal_moves(RoleId::from_index(role)).to_vec();
            legal.sort_unstable();
            legal
        })
        .collect()
}

/// How many ways the other roles can choose; nothing when there are too many.
pub(super) fn n_replies(legal: &Legal, role: RoleId) -> Option<usize> {
    let mut count = 1usize;
    for (other, moves) in legal.iter().enumerate() {
        if other != role.index() {
            count = count
                .checked_mul(moves.len())
                .filter(|&count| count <= MAX_REPLIES)?;
        }
    }
    Some(count)
}

/// The joint move of the role's move and one of the ways the others can choose, counted from 0.
pub(super) fn joint_move(legal: &Legal, role: RoleId, mv: MoveId, reply: usize) -> Vec<MoveId> {
    let mut rest = reply;
    let mut joint_move = Vec::with_capacity(legal.len());
    for (other, moves) in legal.iter().enumerate() {
        if other == role.index() {
            joint_move.push(mv);
        } else {
            joint_move.push(moves[rest % moves.len()]);
            rest /= moves.len();
        }
    }
    joint_move
}

/// A state, or one in which one side has committed itself, and how hard it seems to answer yes and
/// no.
struct Node {
    /// 0 once the answer is yes.
    proof: u32,
    /// 0 once the answer is no.
    disproof: u32,
    is_or: bool,
    /// Nothing until it was looked at.
    children: Option<Box<[u32]>>,
}

/// All that is known about one question.
struct Graph {
    reasoner: Box<dyn Reasoner>,
    n_roles: usize,
    role: RoleId,
    goal: u8,
    order: Order,
    nodes: Vec<Node>,
    /// The key of each node, one behind the other: the state, and 0 or a number for what was
    /// committed, counted from 1.
    keys: Vec<u64>,
    key_length: usize,
    index: HashTable<u32>,
    hasher: FxBuildHasher,
    /// Nodes that may be there.
    limit: usize,
    /// Whether a state was met in which the role and others choose at once.
    met_both: bool,
    /// Whether something was met that has no answer.
    gave_up: bool,
}

impl Graph {
    fn new(machine: &Arc<dyn Machine>, role: RoleId, goal: u8, order: Order) -> Self {
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
            met_both: false,
            gave_up: false,
        }
    }

    fn answer(&mut self, state: &[u64]) -> Option<bool> {
        self.gave_up = false;
        let mut key = state.to_vec();
        key.push(0);
        let root = self.node(&key);
        while !self.nodes[root].is_solved() {
            self.look(root, NEVER, NEVER, 0);
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

    /// The node of a key, made where it is new.
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

    fn new_node(&mut self, key: &[u64]) -> Node {
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
            let mut goals = vec![None; self.n_roles];
            self.reasoner.goals(&mut goals);
            let is_reached = goals[self.role.index()].unwrap_or(0) >= self.goal;
            let (proof, disproof) = if is_reached { (0, NEVER) } else { (NEVER, 0) };
            return Node {
                proof,
                disproof,
                is_or: true,
                children: Some(Box::default()),
            };
        }
        let is_committed = committed[0] != 0;
        let is_or = match (own > 1, choices > 1) {
            (true, true) => (self.order == Order::RoleFirst) != is_committed,
            (_, others_choose) => !others_choose,
        };
        // Each way that has to be looked at counts one.
        let count = |count: usize| u32::try_from(count).unwrap_or(NEVER - 1);
        Node {
            proof: if is_or { 1 } else { count(choices) },
            disproof: if is_or { count(own) } else { 1 },
            is_or,
            children: None,
        }
    }

    /// Finds the children of a node; false when there are too many.
    fn open(&mut self, id: usize) -> bool {
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
        self.met_both |= is_both;
        if is_both && committed == 0 {
            let ways = match self.order {
                Order::RoleFirst => own.len(),
                Order::RoleLast => replies,
            };
            keys.extend((1..=ways).map(|way| {
                let mut key = state.to_vec();
                key.push(way as u64);
                key
            }));
        } else {
            let (mut from, mut to) = (0..own.len(), 0..replies);
            match (is_both, self.order) {
                (true, Order::RoleFirst) => from = committed - 1..committed,
                (true, Order::RoleLast) => to = committed - 1..committed,
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

    /// Works on a node until one of its numbers reaches its bound, it is solved, or the budget is
    /// used up.
    fn look(&mut self, id: usize, proof_bound: u32, disproof_bound: u32, depth: usize) {
        if depth > MAX_DEPTH || !self.open(id) {
            self.gave_up = true;
            return;
        }
        loop {
            let summary = self.summary(id);
            let node = &mut self.nodes[id];
            node.proof = summary.proof(node.is_or);
            node.disproof = summary.disproof(node.is_or);
            if node.is_solved() {
                // Nobody asks for what lies below any more.
                node.children = Some(Box::default());
                return;
            }
            if node.proof >= proof_bound || node.disproof >= disproof_bound || self.is_over() {
                return;
            }
            // A quarter more than the second best, so that not every step changes the way.
            let near = summary
                .second
                .saturating_add(summary.second / 4)
                .saturating_add(1);
            let others = summary.unsolved - 1;
            let is_or = self.nodes[id].is_or;
            let (easy, hard) = match is_or {
                true => (proof_bound, disproof_bound),
                false => (disproof_bound, proof_bound),
            };
            let easy = easy.min(near);
            let hard = if hard == NEVER { NEVER } else { hard - others };
            let (proof, disproof) = if is_or { (easy, hard) } else { (hard, easy) };
            self.look(summary.best, proof, disproof, depth + 1);
        }
    }

    fn summary(&self, id: usize) -> Summary {
        let node = &self.nodes[id];
        let mut summary = Summary {
            easiest: NEVER,
            second: NEVER,
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
            if easy < summary.easiest {
                summary.second = summary.easiest;
                summary.easiest = easy;
                summary.best = child as usize;
            } else {
                summary.second = summary.second.min(easy);
            }
            if hard > 0 {
                summary.unsolved += 1;
                summary.hardest = summary.hardest.max(hard);
            }
        }
        summary
    }
}

impl Node {
    fn is_solved(&self) -> bool {
        self.proof == 0 || self.disproof == 0
    }
}

/// What the children of a node come to. At an OR the easy number is the proof number, at an AND the
/// disproof number.
struct Summary {
    /// The least easy number, and the next to it.
    easiest: u32,
    second: u32,
    /// The greatest hard number.
    hardest: u32,
    /// Children whose hard number is not 0.
    unsolved: u32,
    /// The child with the least easy number.
    best: usize,
}

impl Summary {
    fn hard(&self) -> u32 {
        match (self.easiest, self.unsolved) {
            (0, _) => NEVER,
            (_, 0) => 0,
            (_, count) => self.hardest.saturating_add(count - 1).min(NEVER - 1),
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
