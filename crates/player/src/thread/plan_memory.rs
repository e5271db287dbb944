//! The plans of a match in the memory of past matches.
//!
//! A plan is written if it is better than that of earlier matches: it has a higher goal, or is
//! newly proven best, or has fewer moves. The first plans and those proven best are written at
//! once, others when the match ends.
//!
//! Invariants: nothing is written before it is known what earlier matches have left; every plan
//! that is written was replayed from the initial state.
//!
//! Never uses: files, other names of the game.

use std::cmp::Reverse;

use serde_json::Value;

use super::engines::Engines;
use crate::common::Record;
use crate::search::KnownPlan;
use panza_memory::Kind;
use panza_memory::{MatchMemory, PlanNote};

/// Limit on the plans that a match writes at once without a proof.
const MAX_EARLY_WRITES: usize = 3;

/// The goal, whether it is proven best, and the number of moves. The better plan is greater.
type Rank = (u8, bool, Reverse<usize>);

/// What is remembered of the plans of a match.
pub(crate) struct PlanMemory {
    memory: MatchMemory,
    /// Whether plans are written.
    is_open: bool,
    /// The best plan of this match and earlier ones.
    best: Option<Rank>,
    early_writes: usize,
    /// A plan that is still to be written.
    unwritten: Option<Value>,
}

impl PlanMemory {
    /// Nothing is written before [`recalled`](Self::recalled).
    pub fn new(memory: MatchMemory) -> Self {
        Self {
            memory,
            is_open: false,
            best: None,
            early_writes: 0,
            unwritten: None,
        }
    }

    /// Takes what earlier matches have left. The search starts with it, if it is at the initial
    /// state.
    pub fn recalled(
        &mut self,
        outcome: Result<Option<KnownPlan>, String>,
        engines: &mut Engines,
        record: &Record,
    ) {
        self.is_open = true;
        match outcome {
            Ok(Some(known)) => self.start_with(&known, engines, record),
            Ok(None) => {}
            Err(fault) => record.warning(&format!("the remembered plan is ignored: {fault}")),
        }
        // The search may have a plan already.
        self.consider(engines);
    }

    fn start_with(&mut self, known: &KnownPlan, engines: &mut Engines, record: &Record) {
        let KnownPlan { plan, is_best } = known;
        record.note(&format!(
            "an earlier match left a plan: goal {}{}, {} moves",
            plan.goal,
            if *is_best { ", proven best" } else { "" },
            plan.moves.len()
        ));
        self.best = Some((plan.goal, *is_best, Reverse(plan.moves.len())));
        if engines.is_first() && engines.moves().is_empty() {
            engines.attempt(|engine| engine.searcher.start_with(plan, *is_best));
        }
    }

    /// Writes the plan of the search, if it is better than all before.
    pub fn consider(&mut self, engines: &mut Engines) {
        let n_played = engines.moves().len();
        let engine = engines.current().filter(|_| self.is_open);
        let Some(plan) = engine.and_then(|engine| engine.searcher.plan()) else {
            return;
        };
        let Some(goal) = plan.goal else {
            return;
        };
        // What is proven at a later position does not hold for the initial state.
        let is_proven = plan.is_best && n_played == 0;
        let equals_best = |(best, is_best, _): Rank| is_best && best == goal;
        let is_best = goal == 100 || is_proven || self.best.is_some_and(equals_best);
        let rank = (goal, is_best, Reverse(n_played + plan.moves.len()));
        if self.best.is_some_and(|best| rank <= best) {
            return;
        }
        self.best = Some(rank);
        let played = engines.moves().to_vec();
        let replayed = engines.attempt(|engine| {
            let plan = engine.position.plan_from_start(&played, &plan.moves)?;
            let moves = plan
                .moves
                .iter()
                .map(|&mv| engine.position.info().move_text(mv));
            Some(PlanNote {
                moves: moves.collect(),
                goal: plan.goal,
                is_best,
            })
        });
        // If it does not replay, an illegal move was followed: nothing later will replay either.
        let note = replayed.flatten().filter(|note| note.goal == goal);
        self.is_open = note.is_some();
        self.unwritten = note.map(|note| note.to_json()).or(self.unwritten.take());
        if is_best || self.early_writes < MAX_EARLY_WRITES {
            self.early_writes += 1;
            self.flush();
        }
    }

    /// Writes what is not written yet.
    pub fn flush(&mut self) {
        if let Some(note) = self.unwritten.take() {
            self.memory.remember(Kind::Plan, note);
        }
    }
}
