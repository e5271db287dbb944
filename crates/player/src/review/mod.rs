//! The analysis of a finished match: the value of each position, and the moves that lost value.
//!
//! One search goes through the positions from the last to the first and keeps its graph. What is
//! proven about late positions is so known where the ones before are searched. The value of a move
//! is that of the position after it. A doubtful loss of value is searched for longer, and the proof
//! that decides it comes first.
//!
//! Invariants: proven goals go before values; the work is done in slices, and its time and memory
//! are bounded by the settings.
//!
//! Never uses: threads, logs, HTTP.

mod match_file;
mod stored;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub use match_file::MatchFile;
pub use stored::StoredMatch;

use crate::whole_search;
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::Machine;
use panza_search::{MoveStats, Search, SearchConfig, StopReason};
use panza_sync::Budget;

/// Where a loss of value is doubtful, the positions after and before the move are searched again,
/// for the time of a position times this, or until it is proven on which side of the loss they are.
const DOUBT: u32 = 8;
/// A loss of value is doubtful from this part of the threshold on.
const DOUBTFUL: f64 = 0.4;
/// Points that a move must lose to be named where the loss could be proven and is not. A draw that
/// is not proven is worth about 50.
const UNPROVEN: f64 = 45.0;
/// Expansions of the proof-number search for each iteration: proofs say more here than in a match.
const PROOF_EFFORT: f32 = 1.0;
/// Iterations between two checks of the clock where iterations are counted.
const SLICE_ITERATIONS: u64 = 500;
/// Visits of a move for its value to count where several roles choose at once.
const MIN_VISITS: f64 = 50.0;
/// Joint moves of the line that is better.
const LINE: usize = 12;

/// How a match is analysed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReviewSettings {
    /// The time for each position.
    pub time: Duration,
    /// Iterations for each position in place of a time; these repeat exactly.
    pub iterations: Option<u64>,
    /// A move that loses at least this many points is named, if the loss is proven; a loss that is
    /// not proven has to be greater.
    pub threshold: f64,
}

impl Default for ReviewSettings {
    fn default() -> Self {
        Self {
            time: Duration::from_millis(300),
            iterations: None,
            threshold: 25.0,
        }
    }
}

/// The value of a position for each role, with best play from there on.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Worth {
    /// The values, 0 to 100; `None` where the search said nothing.
    pub values: Vec<Option<f64>>,
    /// The goals that are proven.
    pub proven: Vec<Option<u8>>,
    /// The least and the greatest goal that are still possible, where the search said something.
    pub bounds: Vec<(u8, u8)>,
}

impl Worth {
    /// The proven goal of a role, or else its value.
    pub fn of(&self, role: usize) -> Option<f64> {
        let proven = self.proven.get(role).copied().flatten();
        proven
            .map(f64::from)
            .or_else(|| self.values.get(role).copied().flatten())
    }

    /// The least goal that is still possible for a role, and the greatest.
    fn least(&self, role: usize) -> f64 {
        self.bounds.get(role).map_or(0.0, |bounds| bounds.0.into())
    }

    fn most(&self, role: usize) -> f64 {
        self.bounds
            .get(role)
            .map_or(100.0, |bounds| bounds.1.into())
    }

    fn is_proven(&self, role: usize) -> bool {
        self.proven.get(role).is_some_and(Option::is_some)
    }
}

/// A move that lost value.
#[derive(Clone, PartialEq, Debug)]
pub struct Blunder {
    /// The joint moves before it.
    pub turn: usize,
    /// The index of the role that made it.
    pub role: usize,
    /// The move.
    pub played: MoveId,
    /// A better one.
    pub better: MoveId,
    /// The role's value before the move.
    pub value: f64,
    /// And after it.
    pub after: f64,
    /// Whether the loss is proven.
    pub is_proven: bool,
    /// The joint moves that were expected instead, the better move first.
    pub line: Vec<Vec<MoveId>>,
}

/// A position of the match.
struct Position {
    state: Vec<u64>,
    /// The joint move that was made here; `None` in the last position.
    made: Option<Vec<MoveId>>,
    /// The roles that have a choice and an aim.
    choosers: Vec<usize>,
    /// Whether chance draws here.
    has_chance: bool,
    /// The goals, where the game is over.
    goals: Option<Vec<Option<u8>>>,
    found: Option<Found>,
}

impl Position {
    /// Whether it is searched: somebody has a choice, or nothing is known of what follows.
    fn is_open(&self) -> bool {
        let has_choice = self.has_chance || !self.choosers.is_empty();
        self.goals.is_none() && (has_choice || self.made.is_none())
    }
}

/// What the search found in a position.
#[derive(Clone, Default)]
struct Found {
    worth: Worth,
    line: Vec<Vec<MoveId>>,
    /// Where several roles choose at once: each one's best move, its value and that of the move
    /// made.
    choices: Vec<(usize, MoveId, f64, f64)>,
}

/// A search of a position that is due.
#[derive(Clone, Copy)]
struct Task {
    position: usize,
    /// The turn on which a doubtful loss is the reason; none for the first search.
    doubt: Option<usize>,
}

impl Task {
    /// Its time in times of a position.
    fn share(self) -> u32 {
        self.doubt.map_or(1, |_| DOUBT)
    }
}

/// Searches the positions of a match.
pub struct Review {
    machine: Arc<dyn Machine>,
    config: SearchConfig,
    /// `None` before the first position, and after it was released.
    search: Option<Search>,
    settings: ReviewSettings,
    positions: Vec<Position>,
    /// The last one is next.
    tasks: Vec<Task>,
    has_begun: bool,
    spent: Duration,
    iterations: u64,
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
        let mut reasoner = Arc::clone(machine).reasoner();
        let mut state = start.to_vec();
        let mut positions = Vec::with_capacity(moves.len() + 1);
        let n_roles = machine.info().n_roles();
        let chance = machine.info().chance_role().map(Id::index);
        for made in moves.iter().map(Some).chain([None]) {
            reasoner.set_state(&state);
            let mut position = Position {
                state: state.clone(),
                made: made.cloned(),
                choosers: Vec::new(),
                has_chance: false,
                goals: None,
                found: None,
            };
            if reasoner.is_terminal() {
                let mut goals = vec![None; n_roles];
                reasoner.goals(&mut goals);
                position.goals = Some(goals);
            } else {
                let has_choice =
                    |&role: &usize| reasoner.legal_moves(RoleId::from_index(role)).len() > 1;
                position.choosers = (0..n_roles).filter(has_choice).collect();
                let n_choosers = position.choosers.len();
                position.choosers.retain(|&role| Some(role) != chance);
                position.has_chance = position.choosers.len() < n_choosers;
            }
            positions.push(position);
            if let Some(made) = made {
                let mut next = Vec::with_capacity(state.len());
                reasoner.next_state(made, &mut next);
                state = next;
            }
        }
        let tasks = (0..positions.len()).map(|position| Task {
            position,
            doubt: None,
        });
        Self {
            machine: Arc::clone(machine),
            config: SearchConfig {
                proof_effort: PROOF_EFFORT,
                ..config
            },
            search: None,
            settings,
            tasks: tasks.collect(),
            positions,
            has_begun: false,
            spent: Duration::ZERO,
            iterations: 0,
        }
    }

    /// Works until then, or until `stop` is set. Returns whether all is done.
    pub fn step(&mut self, until: Instant, stop: &Arc<AtomicBool>) -> bool {
        while let Some(&task) = self.tasks.last() {
            let begin = Instant::now();
            if begin >= until || stop.load(Ordering::Acquire) {
                return false;
            }
            let is_settled = task.doubt.is_some_and(|turn| !self.is_doubtful(turn));
            let is_open = self.positions[task.position].is_open() && !is_settled;
            let is_done = !is_open || self.slice(task, until, stop);
            self.spent += begin.elapsed();
            if is_done {
                self.tasks.pop();
                if !is_settled {
                    self.assess(task);
                }
                self.has_begun = false;
                (self.spent, self.iterations) = (Duration::ZERO, 0);
            }
        }
        true
    }

    /// The positions that have been searched, and all.
    pub fn progress(&self) -> (usize, usize) {
        let done = self.positions.iter().filter(|it| it.found.is_some());
        (done.count(), self.positions.len())
    }

    /// What each position is worth, in the order of the turns, as far as that is known.
    pub fn worths(&self) -> Vec<Option<&Worth>> {
        let found = self.positions.iter().map(|it| it.found.as_ref());
        found.map(|found| found.map(|it| &it.worth)).collect()
    }

    /// The moves that lost value, as far as that is known.
    pub fn blunders(&self) -> Vec<Blunder> {
        let turns = 0..self.positions.len();
        let losses = turns.flat_map(|turn| self.losses(turn));
        losses
            .filter(|loss| loss.value - loss.after >= self.needed(loss))
            .filter(|loss| loss.better != loss.played)
            .collect()
    }

    /// The points that a move must lose to be named.
    fn needed(&self, loss: &Blunder) -> f64 {
        // Where several roles choose at once, nothing is proven of a move.
        let is_sure = loss.is_proven || self.positions[loss.turn].choosers.len() > 1;
        match is_sure {
            true => self.settings.threshold,
            false => self.settings.threshold.max(UNPROVEN),
        }
    }

    /// Gives the memory of the search back. It begins again where it is needed.
    pub fn release(&mut self) {
        self.search = None;
        self.has_begun = false;
    }

    /// The search, at a position; `asked` is what it proves first.
    fn search_at(&mut self, position: usize, asked: Option<(RoleId, u8)>) -> &mut Search {
        let position = &self.positions[position];
        let role = RoleId::from_index(position.choosers.first().copied().unwrap_or(0));
        let (machine, config) = (&self.machine, &self.config);
        let search = self
            .search
            .get_or_insert_with(|| whole_search(machine, role, &position.state, config.clone()));
        if !self.has_begun {
            search.set_state(&position.state);
            search.set_role(role);
            if let Some((role, goal)) = asked {
                search.ask_first(role, goal);
            }
            self.has_begun = true;
        }
        search
    }

    /// Searches a position for a while. Returns whether it has had its time, or is proven.
    fn slice(&mut self, task: Task, until: Instant, stop: &Arc<AtomicBool>) -> bool {
        let mut limit = Budget {
            stop: Some(stop),
            ..Budget::generous()
        };
        let is_last;
        match self.settings.iterations {
            Some(count) => {
                let all = count.saturating_mul(task.share().into());
                let now = all.saturating_sub(self.iterations).min(SLICE_ITERATIONS);
                limit.max_steps = now;
                self.iterations += now;
                is_last = self.iterations >= all;
            }
            None => {
                let all = self.settings.time * task.share();
                let end = Instant::now() + all.saturating_sub(self.spent);
                limit.until = Some(end.min(until));
                is_last = end <= until;
            }
        }
        let asked = self.question(task);
        let search = self.search_at(task.position, asked);
        match search.run(limit) {
            StopReason::Proven => true,
            StopReason::Flag => false,
            StopReason::Deadline | StopReason::Iterations => {
                is_last || asked.is_some_and(|(role, goal)| search.knows(role, goal))
            }
        }
    }

    /// What decides a doubtful loss: whether the role can force this goal. Before the move it is
    /// that after the move and the threshold, after the move one that is too much for a loss.
    fn question(&self, task: Task) -> Option<(RoleId, u8)> {
        let turn = task.doubt?;
        let losses = self.losses(turn);
        let [loss] = &losses[..] else { return None };
        let threshold = self.settings.threshold;
        let goal = match task.position == turn {
            true => (loss.after + threshold).ceil(),
            false => (loss.value - threshold).floor() + 1.0,
        };
        let is_goal = (1.0..=100.0).contains(&goal);
        is_goal.then(|| (RoleId::from_index(loss.role), goal as u8))
    }

    /// Stores what was found in a position, and adds tasks for a doubtful loss.
    fn assess(&mut self, task: Task) {
        let found = self.found(task.position);
        self.positions[task.position].found = Some(found);
        if task.doubt.is_some() || !self.is_doubtful(task.position) {
            return;
        }
        let role = self.positions[task.position].choosers[0];
        let is_open = |&position: &usize| {
            let found = self.positions.get(position).map(|it| &it.found);
            let found = found.and_then(Option::as_ref);
            found.is_some_and(|found| !found.worth.is_proven(role))
        };
        let turn = task.position;
        let open = [turn, turn + 1].into_iter().filter(is_open);
        let doubt = Some(turn);
        let tasks = open.map(|position| Task { position, doubt });
        let tasks: Vec<Task> = tasks.collect();
        self.tasks.extend(tasks);
    }

    /// Whether a loss of value on a turn may be one or none.
    fn is_doubtful(&self, turn: usize) -> bool {
        let losses = self.losses(turn);
        losses.iter().any(|loss| {
            loss.value - loss.after >= DOUBTFUL * self.settings.threshold && !loss.is_proven
        })
    }

    fn found(&mut self, at: usize) -> Found {
        let position = &self.positions[at];
        if let Some(goals) = &position.goals {
            let values = goals.iter().map(|goal| goal.map(f64::from)).collect();
            let bounds = goals
                .iter()
                .map(|goal| goal.map_or((0, 100), |goal| (goal, goal)));
            return Found {
                worth: Worth {
                    values,
                    proven: goals.clone(),
                    bounds: bounds.collect(),
                },
                ..Found::default()
            };
        }
        if !position.is_open() {
            let next = self.positions.get(at + 1);
            return Found {
                worth: next
                    .and_then(|next| next.found.as_ref())
                    .map_or(Worth::default(), |found| found.worth.clone()),
                ..Found::default()
            };
        }
        let choosers = position.choosers.clone();
        let made = position.made.clone();
        let search = self.search_at(at, None);
        search.settle();
        let outlook = search.outlook();
        let mut found = Found {
            worth: Worth {
                values: outlook.iter().map(|it| it.value.map(f64::from)).collect(),
                proven: outlook.iter().map(|it| it.proven).collect(),
                bounds: outlook.iter().map(|it| it.bounds).collect(),
            },
            line: search.principal_line(LINE),
            choices: Vec::new(),
        };
        let Some(made) = made.filter(|_| choosers.len() > 1) else {
            return found;
        };
        for role in choosers {
            search.set_role(RoleId::from_index(role));
            let moves = search.root().moves;
            let value = |report: &MoveStats| match report.proven() {
                Some(goal) => Some(f64::from(goal)),
                None if report.visits >= MIN_VISITS => report.value.map(f64::from),
                None => None,
            };
            let of_made = moves.iter().find(|report| report.mv == made[role]);
            let best = moves.iter().filter_map(|it| Some((it.mv, value(it)?)));
            let best = best.max_by(|(_, one), (_, other)| one.total_cmp(other));
            if let Some(after) = of_made.and_then(value)
                && let Some((better, worth)) = best
            {
                found.choices.push((role, better, worth, after));
            }
        }
        found
    }

    /// What the roles lost by their moves in a position, as far as that is known.
    fn losses(&self, turn: usize) -> Vec<Blunder> {
        let position = &self.positions[turn];
        let next = self.positions.get(turn + 1);
        let (Some(found), Some(made)) = (&position.found, &position.made) else {
            return Vec::new();
        };
        match position.choosers[..] {
            // What is drawn at the same time is luck.
            [_] if position.has_chance => Vec::new(),
            [role] => {
                let after = next.and_then(|next| next.found.as_ref());
                let loss = after.and_then(|after| {
                    let (before, after) = (&found.worth, &after.worth);
                    let value_after = after.of(role)?;
                    Some(Blunder {
                        turn,
                        role,
                        played: made[role],
                        better: found.line.first()?.get(role).copied()?,
                        value: before.of(role)?,
                        after: value_after,
                        is_proven: before.is_proven(role) && after.is_proven(role)
                            || before.least(role) - after.most(role) >= self.settings.threshold,
                        line: found.line.clone(),
                    })
                });
                loss.into_iter().collect()
            }
            _ => {
                let choices = found.choices.iter();
                let loss = choices.map(|&(role, better, value, after)| Blunder {
                    turn,
                    role,
                    played: made[role],
                    better,
                    value,
                    after,
                    is_proven: false,
                    line: Vec::new(),
                });
                loss.collect()
            }
        }
    }
}

#[cfg(test)]
mod tests;
