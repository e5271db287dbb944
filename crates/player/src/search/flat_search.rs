//! The search of last resort: UCB1 over our own moves.
//!
//! Each iteration picks one of our legal moves by UCB1 (Auer, Cesa-Bianchi, Fischer, 2002), random
//! moves for the others, and plays out at random. There is no tree, so little can go wrong; it
//! replaces a tree search that panicked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::match_searcher::MatchSearcher;
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Machine, PlayoutEnd, Reasoner};
use panza_search::MoveStats;
use panza_sync::{Instant, Random};
use panza_telemetry::SearchSample;

/// Joint moves after which a playout counts as a draw.
const MAX_STEPS: u32 = 1_000;

/// One of our moves.
struct Arm {
    mv: MoveId,
    visits: u64,
    total: f64,
}

impl Arm {
    fn stats(&self) -> MoveStats {
        let mean = self.total / self.visits as f64;
        MoveStats {
            visits: self.visits as f64,
            value: (self.visits > 0).then_some(mean as f32),
            ..MoveStats::new(self.mv)
        }
    }
}

/// UCB1 over one role's moves.
pub(crate) struct FlatSearch {
    machine: Arc<dyn Machine>,
    reasoner: Box<dyn Reasoner>,
    role: RoleId,
    n_roles: usize,
    state: Vec<u64>,
    arms: Vec<Arm>,
    random: Random,
    visits: u64,
    playouts: u64,
}

impl FlatSearch {
    /// A search of `state`.
    pub fn new(machine: &Arc<dyn Machine>, role: RoleId, state: &[u64], seed: u64) -> Self {
        let n_roles = machine.info().n_roles();
        let mut search = Self {
            reasoner: Arc::clone(machine).reasoner(),
            machine: Arc::clone(machine),
            role,
            n_roles,
            state: Vec::new(),
            arms: Vec::new(),
            random: Random::new(seed),
            visits: 0,
            playouts: 0,
        };
        search.set_state(state);
        search
    }

    fn iterate(&mut self) {
        let Some(chosen) = self.next_arm() else {
            return;
        };
        self.reasoner.set_state(&self.state);
        let mut joint_move = Vec::with_capacity(self.n_roles);
        for role in (0..self.n_roles).map(RoleId::from_index) {
            if role == self.role {
                joint_move.push(self.arms[chosen].mv);
                continue;
            }
            let legal = self.reasoner.legal_moves(role);
            if legal.is_empty() {
                return;
            }
            joint_move.push(legal[self.random.below(legal.len() as u32) as usize]);
        }
        let mut next = Vec::with_capacity(self.state.len());
        self.reasoner.next_state(&joint_move, &mut next);
        self.reasoner.set_state(&next);
        let mut goals = vec![0u8; self.n_roles];
        let value = match self
            .reasoner
            .playout(&mut self.random, MAX_STEPS, &mut goals)
        {
            PlayoutEnd::Finished { .. } => f64::from(goals[self.role.index()]),
            PlayoutEnd::CutOff => 50.0,
        };
        self.arms[chosen].visits += 1;
        self.arms[chosen].total += value;
        self.visits += 1;
        self.playouts += 1;
    }

    fn next_arm(&self) -> Option<usize> {
        let log = (self.visits.max(1) as f64).ln();
        let bound = |arm: &Arm| {
            if arm.visits == 0 {
                return f64::INFINITY;
            }
            let visits = arm.visits as f64;
            arm.total / visits + 100.0 * (2.0 * log / visits).sqrt()
        };
        (0..self.arms.len()).max_by(|&a, &b| bound(&self.arms[a]).total_cmp(&bound(&self.arms[b])))
    }
}

impl MatchSearcher for FlatSearch {
    fn name(&self) -> &'static str {
        "flat search"
    }

    fn search(&mut self, until: Instant, interrupt: &Arc<AtomicBool>) {
        while !interrupt.load(Ordering::Relaxed) && Instant::now() < until {
            self.iterate();
        }
    }

    fn search_iterations(&mut self, iterations: u64, interrupt: &Arc<AtomicBool>) {
        for _ in 0..iterations {
            if interrupt.load(Ordering::Relaxed) {
                return;
            }
            self.iterate();
        }
    }

    fn advance(&mut self, _: &[MoveId], state: &[u64]) {
        self.set_state(state);
    }

    fn set_state(&mut self, state: &[u64]) {
        self.state = state.to_vec();
        self.reasoner.set_state(state);
        let moves: Vec<MoveId> = if self.reasoner.is_terminal() {
            Vec::new()
        } else {
            self.reasoner.legal_moves(self.role).to_vec()
        };
        let arm = |mv| Arm {
            mv,
            visits: 0,
            total: 0.0,
        };
        self.arms = moves.into_iter().map(arm).collect();
        self.visits = 0;
    }

    fn best_move(&mut self) -> Option<MoveStats> {
        self.arms
            .iter()
            .max_by_key(|arm| arm.visits)
            .map(Arm::stats)
    }

    fn sample(&mut self) -> SearchSample {
        let best = self.best_move();
        let info = self.machine.info();
        let root_moves = self.arms.iter().map(|arm| {
            let stats = arm.stats();
            MoveStats {
                value: stats.value.or(Some(0.0)),
                ..stats.named(info.move_text(arm.mv))
            }
        });
        SearchSample {
            iterations: self.playouts,
            playouts: self.playouts,
            samples_per_request: 1.0,
            best_move: best.map_or(String::new(), |best| info.move_text(best.mv)),
            best_value: best.map_or(f64::NAN, |best| best.value.map_or(0.0, f64::from)),
            root_moves: root_moves.collect(),
            ..SearchSample::default()
        }
    }
}
