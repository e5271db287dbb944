//! Questions for the proof-number search, and what its answers change.
//!
//! They are about the root and its most visited children: can the role that moves there force
//! one of the two goals next to its mean value? The question with the least effort for its weight
//! is next. So traps behind a move that looks good, and wins that few playouts find, are proven
//! long before the tree has all their positions.
//!
//! Invariants: answers only narrow bounds; expansions follow from the number of iterations, so that
//! limits in iterations reproduce a search.
//!
//! Never uses: how questions are answered.

use std::hash::Hasher;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHasher};

use super::Search;
use super::iteration::MIN_SUMS;
use super::parameters::SearchConfig;
use super::pool::PoolId;
use super::proof_numbers::{Answer, ProofNumberSearch, Question};
use super::record::{Bounds, EdgeId, SIMULTANEOUS};
use panza_gdl::{Id, NodeId, RoleId};
use panza_machine::Machine;

/// Expansions for a question before another one may be asked.
const TURN: u32 = 1024;
/// Iterations between two slices of the proof-number search.
const ITERATIONS_PER_SLICE: u64 = 16;
/// Children of the root that are asked about.
const MAX_CHILDREN: usize = 3;
/// The weight of questions about the root against those about a child with all visits.
const ROOT_WEIGHT: f32 = 2.0;
/// The greatest part of the search's memory for its table, and the most bytes.
const MEMORY_SHARE: usize = 16;
const MAX_TABLE_BYTES: usize = 64 << 20;

/// A question about a node.
#[derive(Clone, Copy)]
struct Task {
    /// The edge of the root that leads to the node; none for the root.
    edge: EdgeId,
    node: NodeId,
    generation: u16,
    question: Question,
    weight: f32,
}

/// The proof-number search beside a search, and what it is at.
pub(super) struct Questions {
    proofs: ProofNumberSearch,
    task: Option<Task>,
    /// Expansions left of the turn.
    left: u32,
    /// Iterations when it last worked.
    iterations: u64,
    /// Expansions that it may still make.
    credit: f32,
    /// The expansions for each question about the present root.
    efforts: FxHashMap<u64, u32>,
    /// What is asked about the present root before all else.
    first: Option<Question>,
}

impl Questions {
    /// `None` unless the game has two roles, neither of them chance, and expansions are wanted.
    pub(super) fn new(machine: &Arc<dyn Machine>, config: &SearchConfig) -> Option<Self> {
        let info = machine.info();
        let has_two_players = info.n_roles() == 2 && info.chance_role().is_none();
        let is_wanted = has_two_players && config.proof_effort > 0.0;
        let max_bytes = MAX_TABLE_BYTES.min(config.max_bytes / MEMORY_SHARE);
        is_wanted.then(|| Self {
            proofs: ProofNumberSearch::new(machine, max_bytes),
            task: None,
            left: 0,
            iterations: 0,
            credit: 0.0,
            efforts: FxHashMap::default(),
            first: None,
        })
    }

    /// Leaves the question, since the root has changed.
    pub(super) fn leave(&mut self) {
        self.proofs.leave();
        self.task = None;
        self.efforts.clear();
        self.first = None;
    }
}

impl Search {
    /// Makes the proof-number search ask nothing but whether `role` can force at least this goal
    /// from the current state, until that is known. The next state ends that.
    pub fn ask_first(&mut self, role: RoleId, goal: u8) {
        if let Some(questions) = &mut self.questions {
            questions.proofs.leave();
            questions.task = None;
            let role = role.index();
            questions.first = Some(Question { role, goal });
        }
    }

    /// Whether it is proven that `role` can force at least this goal from the current state, or
    /// that it cannot.
    pub fn knows(&self, role: RoleId, goal: u8) -> bool {
        let role = role.index();
        !self.is_open(Question { role, goal })
    }

    /// Whether the bounds of the root leave a question open.
    fn is_open(&self, Question { role, goal }: Question) -> bool {
        let bounds = self.graph.bounds[self.graph.root][role];
        goal > bounds.lower && goal <= bounds.upper
    }

    /// The question to ask before all else, as one of the role that moves at the root.
    fn first_task(&self, questions: &Questions) -> Option<Task> {
        let asked = questions.first.filter(|&question| self.is_open(question))?;
        let node = self.graph.root;
        let record = &self.graph.nodes[node];
        let mover = usize::from(record.mover);
        let question = if mover == asked.role {
            asked
        } else {
            // The role that moves prevents a goal of the other one by a goal of its own.
            let sum = self.fixed_sum(&questions.proofs)?;
            let goal = (sum + 1).saturating_sub(asked.goal.into());
            Question {
                role: mover,
                goal: u8::try_from(goal).ok()?,
            }
        };
        Some(Task {
            edge: EdgeId::NONE,
            node,
            generation: record.generation,
            question,
            weight: ROOT_WEIGHT,
        })
    }

    /// Lets the proof-number search work where it is due.
    #[inline]
    pub(super) fn solve(&mut self) {
        if let Some(questions) = &self.questions
            && self.counters.iterations >= questions.iterations + ITERATIONS_PER_SLICE
        {
            self.solve_slice();
        }
    }

    fn solve_slice(&mut self) {
        let Some(mut questions) = self.questions.take() else {
            return;
        };
        let iterations = self.counters.iterations - questions.iterations;
        questions.iterations = self.counters.iterations;
        questions.credit += iterations as f32 * self.config.proof_effort;
        while questions.credit >= 1.0 {
            if questions.left == 0 || questions.task.is_none() {
                questions.proofs.leave();
                questions.task = self.next_task(&questions);
                questions.left = TURN;
                let Some(task) = &questions.task else {
                    questions.credit = 0.0;
                    break;
                };
                let state = self.graph.state(task.node);
                questions.proofs.ask(state, task.question);
            }
            let Some(task) = questions.task else { break };
            let count = questions.left.min(questions.credit as u32);
            questions.credit -= count as f32;
            questions.left -= count;
            self.counters.proof_expansions += u64::from(count);
            let effort = questions.efforts.entry(task.key()).or_default();
            *effort = effort.saturating_add(count);
            if let Some(answer) = questions.proofs.work(count) {
                // Where the answer cannot be used yet, the table has it.
                if !self.apply_answer(&questions.proofs, task, answer) {
                    *effort = effort.saturating_add(TURN);
                    questions.first = None;
                }
                questions.task = None;
            }
        }
        self.questions = Some(questions);
    }

    /// The question to ask next.
    fn next_task(&self, questions: &Questions) -> Option<Task> {
        let root = self.graph.root;
        let record = &self.graph.nodes[root];
        if !record.is_expanded() || record.terminal || record.mover == SIMULTANEOUS {
            return None;
        }
        if let Some(task) = self.first_task(questions) {
            return Some(task);
        }
        let mut tasks = Vec::new();
        self.push_tasks(questions, root, EdgeId::NONE, ROOT_WEIGHT, &mut tasks);
        let role_moves = self.graph.role_moves(root, record.mover as usize);
        let visits = |edge: EdgeId| self.graph.edge_blocks[edge.block()].visits[edge.slot()];
        let mut edges: Vec<EdgeId> = self.graph.edges(role_moves).collect();
        edges.sort_by_key(|&edge| std::cmp::Reverse(visits(edge)));
        for &edge in edges.iter().take(MAX_CHILDREN) {
            let child = self.graph.child_of(edge);
            if child.is_some() {
                let weight = visits(edge) as f32 / record.visits.max(1) as f32;
                self.push_tasks(questions, child, edge, weight, &mut tasks);
            }
        }
        let cost = |task: &Task| {
            let effort = questions.efforts.get(&task.key()).copied().unwrap_or(0);
            (effort + TURN) as f32 / task.weight
        };
        tasks.into_iter().min_by(|a, b| cost(a).total_cmp(&cost(b)))
    }

    /// Adds the open questions about a node.
    fn push_tasks(
        &self,
        questions: &Questions,
        node: NodeId,
        edge: EdgeId,
        weight: f32,
        tasks: &mut Vec<Task>,
    ) {
        let record = &self.graph.nodes[node];
        if !record.is_expanded() || record.solved || record.mover == SIMULTANEOUS {
            return;
        }
        let role = record.mover as usize;
        let bounds = self.graph.bounds[node][role];
        let mean = self.graph.values[node][role].mean;
        let goals = questions.proofs.goals_of(role);
        let is_open = |&goal: &u8| goal > bounds.lower && goal <= bounds.upper;
        let mut goals: Vec<u8> = goals.filter(is_open).collect();
        if goals.is_empty() && bounds.upper == 100 {
            goals.push(100);
        }
        goals.sort_by(|&a, &b| {
            (f32::from(a) - mean)
                .abs()
                .total_cmp(&(f32::from(b) - mean).abs())
        });
        tasks.extend(goals.iter().take(2).map(|&goal| Task {
            edge,
            node,
            generation: record.generation,
            question: Question { role, goal },
            weight,
        }));
    }

    /// Narrows the bounds of the task's node by an answer. Returns whether that changed anything.
    fn apply_answer(&mut self, proofs: &ProofNumberSearch, task: Task, answer: Answer) -> bool {
        if self.graph.nodes[task.node].generation != task.generation {
            return false;
        }
        match answer {
            Answer::Unknown => false,
            Answer::No(goal) => {
                self.fixed_sum(proofs).is_some() && self.narrow(proofs, task, Bounds::new(0, goal))
            }
            Answer::Yes(goal, mv) if task.edge == EdgeId::NONE => {
                // What is known then is the child that the move leads to.
                let role_moves = self.graph.role_moves(task.node, task.question.role);
                let edge = self.graph.edge_of(role_moves, mv);
                let edge = edge.unwrap_or(EdgeId::NONE);
                let node = match edge.is_some() {
                    true => self.graph.child_of(edge),
                    false => NodeId::NONE,
                };
                let task = Task { node, edge, ..task };
                node.is_some() && self.narrow(proofs, task, Bounds::new(goal, 100))
            }
            Answer::Yes(goal, _) => self.narrow(proofs, task, Bounds::new(goal, 100)),
        }
    }

    /// The sum of both roles' goals, if it was the same in all terminal positions of the
    /// proof-number search and in enough playouts.
    fn fixed_sum(&self, proofs: &ProofNumberSearch) -> Option<u16> {
        let of_playouts = self.graph.fixed_sum.map(|sum| sum as u16);
        let is_sure = self.counters.playouts >= MIN_SUMS && of_playouts == proofs.fixed_sum();
        of_playouts.filter(|_| is_sure)
    }

    /// Narrows the bounds of the question's role in the task's node, those of the other role where
    /// the sum is fixed, and then those of the root.
    fn narrow(&mut self, proofs: &ProofNumberSearch, task: Task, known: Bounds) -> bool {
        let Task { edge, node, .. } = task;
        let role = task.question.role;
        let fixed_sum = self.fixed_sum(proofs);
        let graph = &mut self.graph;
        let before = graph.bounds[node][role];
        let after = before.intersect(known);
        graph.bounds[node][role] = after;
        if let Some(sum) = fixed_sum {
            let rest = |goal: u8| sum.saturating_sub(goal.into()).min(100) as u8;
            let of_other = Bounds::new(rest(after.upper), rest(after.lower));
            let other = &mut graph.bounds[node][1 - role];
            *other = other.intersect(of_other);
        }
        let is_solved = graph.bounds[node].iter().all(|it| it.is_exact());
        let record = &mut graph.nodes[node];
        if is_solved && !record.solved {
            record.solved = true;
            record.proof_length = proofs.max_depth() as u16;
        }
        if edge.is_some() {
            let update = graph.nodes[node].proof_update();
            self.update_bounds.copy_from_slice(&graph.bounds[node]);
            graph.update_proof(graph.root, &[edge], update, &mut self.update_bounds);
        }
        after != before
    }
}

impl Task {
    /// A number of the question, for the table of efforts.
    fn key(&self) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write_u32(self.node.0);
        hasher.write_u16(self.generation);
        hasher.write_usize(self.question.role);
        hasher.write_u8(self.question.goal);
        hasher.finish()
    }
}
