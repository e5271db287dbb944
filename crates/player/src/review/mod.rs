//! The analysis of a finished match: the value of each position, and the moves that lost value.
//!
//! The positions are searched in blocks, each by a search of its own that goes from the last to the
//! first and keeps its graph (`work`). What one block has proven is then handed to the others, as
//! far as the moves that were made allow: a role could force what it can force after its move, and
//! no move gives it more. Where it is in doubt whether a move lost value, that move is searched
//! again, with most effort for the proof that decides. The value of a move is that of the position
//! after it. `grades` says how bad a loss is.
//!
//! Invariants: proven goals go before values; the same match, settings and version give the same
//! result, however many threads work and however often they are interrupted; memory is bounded.
//!
//! Never uses: logs, HTTP.

mod grades;
mod match_file;
mod position;
mod stored;
mod work;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

pub use grades::{Grade, RoleSummary};
pub use match_file::MatchFile;
pub use position::{ReviewSettings, Worth};
pub use stored::StoredMatch;

use self::grades::{AT_ONCE, LEAST_FALL, UNPROVEN};
use self::position::{Found, Position};
use self::work::{Left, Running, Subject, Work, is_doubtful};
use panza_gdl::{Id, MoveId};
use panza_machine::Machine;
use panza_search::SearchConfig;
use panza_sync::{Instant, lock, spawn_scoped};

/// Positions of a block. Other sizes give other results.
const BLOCK: usize = 6;
/// Rounds for the moves in doubt, for each position of the match, and those of a move.
const ROUNDS: u64 = 6;
const LEAST_ROUNDS: u64 = 6;
const MOST_ROUNDS: u64 = 64;
/// A round of searches in doubt can raise new doubts; they are looked at so often.
const STAGES: usize = 3;

/// A move that lost value.
#[derive(Clone, PartialEq, Debug)]
pub struct GradedMove {
    /// The joint moves before it.
    pub turn: usize,
    /// The index of the role that made it.
    pub role: usize,
    /// How bad it was.
    pub grade: Grade,
    /// The move.
    pub played: MoveId,
    /// A better one.
    pub better: MoveId,
    /// The role's value before the move.
    pub value: f64,
    /// And after it.
    pub after: f64,
    /// Whether it is proven that it lost as much as its grade says.
    pub is_proven: bool,
    /// The joint moves that were expected instead, the better move first.
    pub line: Vec<Vec<MoveId>>,
}

/// What a move of a role lost.
struct Loss {
    role: usize,
    better: MoveId,
    value: f64,
    after: f64,
    grade: Option<Grade>,
    is_proven: bool,
}

/// Searches the positions of a match.
pub struct Review {
    subject: Subject,
    found: Vec<Option<Found>>,
    /// What is to be searched, what is under way, and the doubts that are done.
    waiting: Vec<Work>,
    under_way: Vec<Running>,
    done: Vec<Running>,
    /// The turns that were searched in doubt, or are to be.
    is_tried: Vec<bool>,
    /// Rounds that are left for doubts, and times that they may be looked at.
    rounds: u64,
    stages: usize,
    is_over: bool,
}

impl Review {
    /// The analysis of these legal joint moves from a state on.
    pub fn new(
        machine: &Arc<dyn Machine>,
        start: &[u64],
        moves: &[Vec<MoveId>],
        config: SearchConfig,
        settings: ReviewSettings,
    ) -> Self {
        let machine = machine.unmeasured().unwrap_or_else(|| Arc::clone(machine));
        let mut reasoner = Arc::clone(&machine).reasoner();
        let mut state = start.to_vec();
        let mut positions = Vec::with_capacity(moves.len() + 1);
        let mut found = Vec::with_capacity(moves.len() + 1);
        let n_roles = machine.info().n_roles();
        let chance = machine.info().chance_role().map(Id::index);
        for made in moves.iter().map(Some).chain([None]) {
            let position = Position::new(&mut *reasoner, &state, made, (n_roles, chance));
            found.push(position.is_terminal.then(|| {
                let mut goals = vec![None; n_roles];
                reasoner.goals(&mut goals);
                Found::of_goals(&goals)
            }));
            positions.push(position);
            if let Some(made) = made {
                let mut next = Vec::with_capacity(state.len());
                reasoner.next_state(made, &mut next);
                state = next;
            }
        }
        let is_open = |&at: &usize| positions[at].is_open();
        let open: Vec<usize> = (0..positions.len()).rev().filter(is_open).collect();
        let blocks = open.chunks(BLOCK).rev();
        Self {
            waiting: blocks.map(|block| Work::Block(block.to_vec())).collect(),
            under_way: Vec::new(),
            done: Vec::new(),
            is_tried: vec![false; positions.len()],
            rounds: ROUNDS * positions.len() as u64,
            stages: STAGES,
            is_over: false,
            found,
            subject: Subject {
                machine,
                config,
                settings,
                positions,
            },
        }
    }

    /// Works until then, or until `stop` is set. Returns whether all is done.
    pub fn step(&mut self, until: Instant, stop: &Arc<AtomicBool>) -> bool {
        while !self.is_over {
            self.work(until, stop);
            if !self.waiting.is_empty() || !self.under_way.is_empty() {
                return false;
            }
            self.begin_stage();
        }
        true
    }

    /// Searches on all threads until nothing is left, until then, or until `stop` is set.
    fn work(&mut self, until: Instant, stop: &Arc<AtomicBool>) {
        struct Queue {
            waiting: Vec<Work>,
            under_way: Vec<Running>,
            left: Vec<Running>,
            done: Vec<Running>,
        }
        let n_works = self.waiting.len() + self.under_way.len();
        let queue = Mutex::new(Queue {
            waiting: std::mem::take(&mut self.waiting),
            under_way: std::mem::take(&mut self.under_way),
            left: Vec::new(),
            done: Vec::new(),
        });
        let (subject, found) = (&self.subject, &self.found);
        let one_after_the_other = || {
            while Instant::now() < until && !stop.load(Ordering::Acquire) {
                let mut taken = lock(&queue);
                let next = taken.under_way.pop();
                let waiting = || Some(Running::new(taken.waiting.pop()?, found));
                let Some(mut running) = next.or_else(waiting) else {
                    return;
                };
                drop(taken);
                let left = running.advance(subject, until, stop);
                let mut taken = lock(&queue);
                match left {
                    Left::Done => taken.done.push(running),
                    Left::UnderWay => taken.left.push(running),
                    Left::Broken => taken.waiting.push(running.work),
                }
            }
        };
        std::thread::scope(|scope| {
            for number in 1..subject.settings.n_threads().min(n_works) {
                // Without a further thread, this one does its work.
                drop(spawn_scoped(
                    scope,
                    format!("review-{number}"),
                    one_after_the_other,
                ));
            }
            one_after_the_other();
        });
        let queue = queue
            .into_inner()
            .unwrap_or_else(|broken| broken.into_inner());
        self.waiting = queue.waiting;
        self.under_way = queue.under_way;
        self.under_way.extend(queue.left);
        for running in queue.done.iter().chain(&self.under_way) {
            if matches!(running.work, Work::Block(_)) {
                for (at, found) in &running.found {
                    self.found[*at] = Some(found.clone());
                }
            }
        }
        let doubts = queue.done.into_iter();
        self.done
            .extend(doubts.filter(|it| matches!(it.work, Work::Doubt { .. })));
    }

    /// Puts together what was found, and looks for moves in doubt.
    fn begin_stage(&mut self) {
        let turn = |running: &Running| match running.work {
            Work::Doubt { turn, .. } => turn,
            Work::Block(_) => 0,
        };
        self.done.sort_by_key(turn);
        for running in self.done.drain(..) {
            self.rounds = self.rounds.saturating_sub(running.n_done);
            for (at, newer) in running.found {
                self.found[at].get_or_insert_default().renew(newer);
            }
        }
        self.hand_on();
        let doubtful = (0..self.found.len()).filter(|&turn| self.is_doubtful(turn));
        let doubtful: Vec<usize> = doubtful.filter(|&turn| !self.is_tried[turn]).collect();
        self.is_over = doubtful.is_empty() || self.stages == 0;
        if self.is_over {
            return;
        }
        self.stages -= 1;
        let rounds = self.rounds / doubtful.len() as u64;
        let rounds = rounds.clamp(LEAST_ROUNDS, MOST_ROUNDS);
        for &turn in doubtful.iter().rev() {
            self.is_tried[turn] = true;
            self.waiting.push(Work::Doubt { turn, rounds });
        }
    }

    /// Hands what is proven in one position to the others: backwards what a role can force, and
    /// forwards what it cannot.
    fn hand_on(&mut self) {
        for at in (0..self.found.len().saturating_sub(1)).rev() {
            let position = &self.subject.positions[at];
            let (here, behind) = self.found.split_at_mut(at + 1);
            let Some(next) = &behind[0] else { continue };
            let mover = position.mover();
            if let Some(found) = &mut here[at]
                && position.is_open()
            {
                if let Some(role) = mover {
                    found.narrow(role, next.worth.least(role) as u8, 100);
                }
            } else if !position.is_open() {
                here[at] = Some(Found {
                    line: Vec::new(),
                    choices: Vec::new(),
                    ..next.clone()
                });
            }
        }
        for at in 0..self.found.len().saturating_sub(1) {
            let position = &self.subject.positions[at];
            let (here, behind) = self.found.split_at_mut(at + 1);
            let (Some(found), Some(next)) = (&here[at], &mut behind[0]) else {
                continue;
            };
            if let Some(role) = position.mover() {
                next.narrow(role, 0, found.worth.most(role) as u8);
            } else if !position.is_open() {
                for (role, outlook) in found.worth.0.iter().enumerate() {
                    next.narrow(role, outlook.bounds.0, outlook.bounds.1);
                }
            }
        }
    }

    /// Whether a move may have lost value or not.
    fn is_doubtful(&self, turn: usize) -> bool {
        let positions = &self.subject.positions;
        let threshold = self.subject.settings.threshold;
        let found = [turn, turn + 1].map(|at| self.found.get(at).and_then(Option::as_ref));
        let [Some(before), Some(after)] = found else {
            return false;
        };
        let mover = positions[turn].mover();
        mover.is_some_and(|role| is_doubtful(&before.worth, &after.worth, role, threshold))
    }

    /// The positions that have been searched, and all.
    pub fn progress(&self) -> (usize, usize) {
        (self.found.iter().flatten().count(), self.found.len())
    }

    /// The moves in doubt that have been searched again, and all so far.
    pub fn doubts(&self) -> (usize, usize) {
        let all = self.is_tried.iter().filter(|&&is_tried| is_tried).count();
        let is_doubt = |work: &Work| matches!(work, Work::Doubt { .. });
        let works = self.under_way.iter().map(|it| &it.work);
        let left = works.chain(&self.waiting).filter(|&work| is_doubt(work));
        (all - left.count().min(all), all)
    }

    /// What each position is worth, in the order of the turns, as far as that is known.
    pub fn worths(&self) -> Vec<Option<&Worth>> {
        let found = self.found.iter();
        found
            .map(|found| found.as_ref().map(|it| &it.worth))
            .collect()
    }

    /// The moves that lost value, in the order of the turns, as far as that is known.
    pub fn graded(&self) -> Vec<GradedMove> {
        let turns = 0..self.found.len();
        let of_turn = |turn: usize| {
            let losses = self.losses(turn).into_iter();
            losses.filter_map(move |loss| self.graded_move(turn, loss))
        };
        turns.flat_map(of_turn).collect()
    }

    fn graded_move(&self, turn: usize, loss: Loss) -> Option<GradedMove> {
        let position = &self.subject.positions[turn];
        let played = *position.made.as_ref()?.get(loss.role)?;
        if loss.better == played {
            return None;
        }
        let found = self.found[turn].as_ref()?;
        let line = match position.mover() {
            Some(_) => found.line.clone(),
            None => Vec::new(),
        };
        Some(GradedMove {
            turn,
            role: loss.role,
            grade: loss.grade?,
            played,
            better: loss.better,
            value: loss.value,
            after: loss.after,
            is_proven: loss.is_proven,
            line,
        })
    }

    /// How each role played, as far as that is known. A role that had no choice has no moves.
    pub fn summary(&self) -> Vec<RoleSummary> {
        let mut losses = vec![Vec::new(); self.subject.machine.info().n_roles()];
        for turn in 0..self.found.len() {
            for loss in self.losses(turn) {
                losses[loss.role].push((turn, loss.value - loss.after));
            }
        }
        let graded = self.graded();
        let of_role = |(role, losses): (usize, &Vec<(usize, f64)>)| {
            let worths = self.worths().into_iter();
            let values: Vec<Option<f64>> = worths.map(|worth| worth?.of(role)).collect();
            let own = graded.iter().filter(|it| it.role == role);
            RoleSummary::new(losses, &values, own.map(|it| it.grade))
        };
        losses.iter().enumerate().map(of_role).collect()
    }

    /// Gives the memory of the searches back. Those under way begin again where they are needed.
    pub fn release(&mut self) {
        let works = self.under_way.drain(..).map(|running| running.work);
        self.waiting.extend(works);
    }

    /// What the roles lost by their moves in a position, as far as that is known.
    fn losses(&self, turn: usize) -> Vec<Loss> {
        let position = &self.subject.positions[turn];
        let (Some(found), Some(_)) = (&self.found[turn], &position.made) else {
            return Vec::new();
        };
        let threshold = self.subject.settings.threshold;
        let next = self.found.get(turn + 1).and_then(Option::as_ref);
        match (&position.choosers[..], position.mover()) {
            (_, Some(role)) => {
                let loss = next.and_then(|next| loss(found, &next.worth, role, threshold));
                loss.into_iter().collect()
            }
            // What is drawn at the same time is luck.
            ([] | [_], None) => Vec::new(),
            _ => {
                let at_once = |&(role, better, value, after): &(usize, MoveId, f64, f64)| Loss {
                    role,
                    better,
                    value,
                    after,
                    grade: Grade::of(value - after, threshold.max(AT_ONCE)),
                    is_proven: false,
                };
                found.choices.iter().map(at_once).collect()
            }
        }
    }
}

/// What a role that chose alone lost by its move; `None` where a value is unknown.
fn loss(found: &Found, after: &Worth, role: usize, threshold: f64) -> Option<Loss> {
    let before = &found.worth;
    let (value, value_after) = (before.of(role)?, after.of(role)?);
    let points = value - value_after;
    let is_exact = before.is_proven(role) && after.is_proven(role);
    let is_fall = before.is_proven(role) && points >= LEAST_FALL;
    let sure = Grade::of(before.least(role) - after.most(role), threshold);
    let needed = match is_exact || is_fall {
        true => threshold,
        false => threshold.max(UNPROVEN),
    };
    let mut grade = Grade::of(points, needed).max(sure);
    if is_fall {
        grade = grade.max(Some(Grade::Inaccuracy));
    }
    Some(Loss {
        role,
        better: found.line.first()?.get(role).copied()?,
        value,
        after: value_after,
        grade,
        is_proven: is_exact || grade.is_some() && sure == grade,
    })
}

#[cfg(test)]
mod tests;
