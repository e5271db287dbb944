//! Playing a game by its parts: a search for each, and one that chooses between them.
//!
//! A part's search values each move there, and passing, which is what a move elsewhere comes to. A
//! move of the game is worth what it is worth in all parts together, each value taken as the odds
//! of winning there: so the part where most is to be gained over passing is played in, a sure win
//! is taken, and what surely loses is left. Who plays alone plays on in one part until nothing more
//! is to be gained there.
//!
//! Parts say little about a single step of the whole game, so wins at once, and moves that let
//! others win at once, are looked for in the whole game. Where the parts are all over and the game
//! is not, the whole game is searched from there.
//!
//! Invariant: only moves that are legal in the whole game are chosen.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::engine::{Choice, Thinker};
use super::searching::{Searching, stage_times};
use crate::build::BuiltGame;
use crate::ids::{Id, MoveId, RoleId};
use crate::machine::parts::GamePart;
use crate::machine::{Machine, Reasoner};
use crate::search::{Limit, MoveReport, Search, SearchConfig, StopReason};
use crate::telemetry::{RootMove, SearchSample};

/// How long one part is searched before the next one's turn.
const TURN: Duration = Duration::from_millis(5);
/// The most steps of the whole game that are looked at for wins and losses at once.
const MOST_STEPS: usize = 4096;
/// The most joint moves of a position that are looked at.
const MOST_JOINT_MOVES: usize = 512;
/// Values that are not proven are taken for no closer to 0 and 1 than this.
const LEAST_DOUBT: f64 = 0.01;
/// Proven ones are not quite sure either, since other parts go on.
const PROVEN_DOUBT: f64 = 1e-6;
/// Standard deviation of a playout's goal, in points.
const SPREAD: f64 = 50.0;
/// What going on with what is won is worth, to tell it from putting it off.
const GOING_ON: f64 = 0.5;
/// At most this many moves of the root are noted.
const NOTED_MOVES: usize = 32;

/// A part under way.
struct Board {
    part: GamePart,
    search: Search,
    reasoner: Box<dyn Reasoner>,
    /// Its state.
    state: Vec<u64>,
    /// Whether nothing is left to play for in it.
    is_over: bool,
    is_proven: bool,
    /// How long it was searched in this position.
    searched: Duration,
}

/// What the next step shows of a move.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Step {
    /// The game ends with this goal of ours, the least that others can make of it.
    Ends(u8),
    /// It goes on, and others can end it at once with nothing for us.
    HandsOver,
    /// It goes on.
    Open,
}

/// The search of a match by parts.
pub(super) struct Factored {
    machine: Arc<dyn Machine>,
    is_joint: bool,
    role: RoleId,
    config: SearchConfig,
    reasoner: Box<dyn Reasoner>,
    ahead: Box<dyn Reasoner>,
    state: Vec<u64>,
    boards: Vec<Board>,
    /// Per legal move what the next step shows; empty until it was looked at.
    steps: Vec<(MoveId, Step)>,
    /// The part that who plays alone moved in last.
    last: Option<usize>,
    /// What plays where the parts say nothing.
    whole: Option<Box<Searching>>,
}

impl Factored {
    /// A search by parts that stands on `state`; nothing where the machine knows of no parts, where
    /// these do not start where the game does, or where playing by parts is no better.
    pub fn new(
        game: &BuiltGame,
        role: RoleId,
        state: &[u64],
        config: &SearchConfig,
    ) -> Option<Self> {
        let (machine, parts) = (&game.machine, game.parts.as_ref()?);
        // Where several choose at once in every part, moves have to be mixed, and the whole game's
        // search does that.
        if parts.is_joint && machine.info().n_roles() > 1 {
            return None;
        }
        let n_parts = parts.parts.len().max(1);
        let mut of_part = config.clone();
        of_part.max_nodes = (config.max_nodes / n_parts as u32).max(2);
        of_part.max_bytes = config.max_bytes / n_parts;
        // What was learned about states of the whole says nothing about those of a part.
        of_part.evaluation = None;
        of_part.evaluation_share = 0.0;
        of_part.score_ranges = Arc::from([]);
        of_part.symmetries = None;
        let initial = machine.initial_state();
        let mut boards = Vec::with_capacity(n_parts);
        for (index, part) in parts.parts.iter().enumerate() {
            let mut begins = Vec::new();
            part.project(&initial, &mut begins);
            if part.machine.initial_state() != begins
                || part.machine.info().n_roles() != machine.info().n_roles()
            {
                tracing::warn!(
                    index,
                    "a part starts elsewhere than its game: played as a whole"
                );
                return None;
            }
            let mut config = of_part.clone();
            config.seed = config.seed.wrapping_add(index as u64);
            if config.rollout_threads == 0 && config.samples_per_request == 0 {
                config.samples_per_request = 4;
            }
            boards.push(Board {
                search: Search::new(Arc::clone(&part.machine), role, config),
                reasoner: Arc::clone(&part.machine).reasoner(),
                part: part.clone(),
                state: begins,
                is_over: false,
                is_proven: false,
                searched: Duration::ZERO,
            });
        }
        let mut factored = Self {
            machine: Arc::clone(machine),
            is_joint: parts.is_joint,
            role,
            config: config.clone(),
            reasoner: Arc::clone(machine).reasoner(),
            ahead: Arc::clone(machine).reasoner(),
            state: state.to_vec(),
            boards,
            steps: Vec::new(),
            last: None,
            whole: None,
        };
        factored.stand_on(state);
        Some(factored)
    }

    /// The parts that a search has something to say about.
    fn live(&self) -> impl Iterator<Item = &Board> {
        self.boards.iter().filter(|board| !board.is_over)
    }

    /// What holds at the state that all stand on now, and what plays on.
    fn look(&mut self) {
        self.steps.clear();
        self.reasoner.set_state(&self.state);
        for board in &mut self.boards {
            board.reasoner.set_state(&board.state);
            board.is_over =
                board.reasoner.is_terminal() || board.reasoner.legal_moves(self.role).is_empty();
            board.is_proven = false;
            board.searched = Duration::ZERO;
        }
        let is_doubtful = self.live().next().is_none() && !self.reasoner.is_terminal();
        if is_doubtful && self.whole.is_none() {
            let searching =
                Searching::new(&self.machine, self.role, &self.state, self.config.clone());
            self.whole = Some(Box::new(searching));
        }
    }

    /// Searches the part that was searched least; false when there is none to search.
    fn search_one(&mut self, limit: Limit<'_>) -> bool {
        let open = self
            .boards
            .iter_mut()
            .filter(|board| !board.is_over && !board.is_proven);
        let Some(board) = open.min_by_key(|board| board.searched) else {
            return false;
        };
        let started = Instant::now();
        board.is_proven = board.search.run(limit) == StopReason::Proven;
        // With limits in iterations all parts have the same share, whatever the time.
        board.searched += match limit.iterations {
            Some(_) => Duration::from_nanos(1),
            None => started.elapsed(),
        };
        true
    }

    /// Looks one step ahead in the whole game, and another where others alone can choose then.
    fn look_ahead(&mut self) {
        if !self.steps.is_empty() {
            return;
        }
        self.reasoner.set_state(&self.state);
        let ours = self.reasoner.legal_moves(self.role).to_vec();
        let mut left = MOST_STEPS;
        let mut next = Vec::new();
        for &mv in &ours {
            let mut step = Step::Open;
            let replies = joint_moves(
                &mut *self.reasoner,
                self.machine.info().n_roles(),
                self.role,
                Some(mv),
            );
            if replies.is_empty() || left < replies.len() {
                self.steps.push((mv, step));
                continue;
            }
            left -= replies.len();
            let mut least: Option<u8> = None;
            let mut ends_always = true;
            for joint_move in &replies {
                self.reasoner.next_state(joint_move, &mut next);
                self.ahead.set_state(&next);
                if self.ahead.is_terminal() {
                    let goal = our_goal(&mut *self.ahead, self.machine.info().n_roles(), self.role);
                    least = Some(least.map_or(goal, |least| least.min(goal)));
                } else {
                    ends_always = false;
                    if step == Step::Open
                        && hands_over(&mut self.ahead, &self.machine, self.role, &mut left)
                    {
                        step = Step::HandsOver;
                    }
                }
            }
            match least {
                Some(goal) if ends_always => step = Step::Ends(goal),
                Some(0) => step = Step::HandsOver,
                _ => {}
            }
            self.steps.push((mv, step));
        }
    }

    /// So many iterations in each part in turn, for tests that are to repeat.
    #[cfg(test)]
    fn think_for(&mut self, iterations: u64) {
        self.look_ahead();
        for _ in 0..self.boards.len() {
            self.search_one(Limit {
                iterations: Some(iterations),
                ..Limit::default()
            });
        }
    }

    /// What a move comes to in all parts together, in odds.
    fn worth(&self, mv: MoveId, reports: &[Option<Report>]) -> f64 {
        let boards = self.boards.iter().zip(reports);
        let worths = boards.map(|(board, report)| {
            let (Some(report), Some(of_part)) = (report, board.part.moves[mv]) else {
                return 0.0;
            };
            report.worth(of_part, board.part.is_pass[of_part])
        });
        worths.sum()
    }

    /// The best move of several roles' games, or where each move is made in all parts, and what it
    /// is worth.
    fn weigh(&mut self, candidates: &[MoveId]) -> Option<(MoveId, f64)> {
        let reports: Vec<Option<Report>> = self.boards.iter_mut().map(Report::of).collect();
        candidates
            .iter()
            .map(|&mv| (mv, self.worth(mv, &reports)))
            .reduce(|best, other| if other.1 > best.1 { other } else { best })
    }

    /// The best move of who plays alone: on in one part as long as something is to be gained there.
    fn play_on(&mut self, candidates: &[MoveId]) -> Option<(MoveId, f64, bool)> {
        let role = self.role;
        let n_roles = self.machine.info().n_roles();
        let mut best: Option<(bool, bool, f64, usize, MoveId)> = None;
        for (index, board) in self.boards.iter_mut().enumerate() {
            if board.is_over {
                continue;
            }
            let root = board.search.root();
            let Some(mv) = board.search.best_move() else {
                continue;
            };
            board.reasoner.set_state(&board.state);
            let now = f64::from(our_goal(&mut *board.reasoner, n_roles, role));
            let value = root.proven.map(f64::from).or(root.value.map(f64::from));
            let gain = value.unwrap_or(0.0) - now;
            let is_sure = root.proven.is_some() && gain > 0.0;
            let goes_on = is_sure && self.last == Some(index);
            let entry = (goes_on, is_sure, gain, index, mv);
            let is_better = best.is_none_or(|best| {
                (entry.0, entry.1)
                    .cmp(&(best.0, best.1))
                    .then(entry.2.total_cmp(&best.2))
                    .is_gt()
            });
            if is_better {
                best = Some(entry);
            }
        }
        let (_, is_sure, _, index, of_part) = best?;
        let is_meant = |mv: &&MoveId| self.boards[index].part.moves[**mv] == Some(of_part);
        // As little as can be elsewhere.
        let n_touched = |mv: &&MoveId| {
            let touched = self
                .boards
                .iter()
                .filter(|board| board.part.moves[**mv].is_some());
            touched.count()
        };
        let mv = candidates.iter().filter(is_meant).min_by_key(n_touched)?;
        let value = self.boards[index]
            .search
            .root()
            .value
            .map_or(50.0, f64::from);
        Some((*mv, value, is_sure))
    }
}

/// What a part's search says of its moves.
struct Report {
    moves: Vec<MoveReport>,
    /// The move to play where a win is proven.
    winning: Option<MoveId>,
}

impl Report {
    /// Nothing where the part is over or there is nothing to choose in it.
    fn of(board: &mut Board) -> Option<Report> {
        if board.is_over {
            return None;
        }
        let root = board.search.root();
        if root.moves.len() < 2 {
            return None;
        }
        let winning = (root.proven == Some(100))
            .then(|| board.search.best_move())
            .flatten();
        Some(Report {
            moves: root.moves,
            winning,
        })
    }

    /// What a move is worth, in odds.
    fn worth(&self, mv: MoveId, is_pass: bool) -> f64 {
        let Some(report) = self.moves.iter().find(|report| report.mv == mv) else {
            return odds(LEAST_DOUBT);
        };
        if let Some(proven) = report.proven {
            let goal = f64::from(proven) / 100.0;
            let going_on = if self.winning == Some(mv) {
                GOING_ON
            } else {
                0.0
            };
            return odds(goal.clamp(PROVEN_DOUBT, 1.0 - PROVEN_DOUBT)) + going_on;
        }
        let Some(value) = report.value else {
            return odds(LEAST_DOUBT);
        };
        // A high mean of few visits is no reason to move here; passing is what one comes from.
        let doubt = match is_pass {
            true => 0.0,
            false => SPREAD / f64::from(report.visits.max(1)).sqrt(),
        };
        let value = (f64::from(value) - doubt) / 100.0;
        odds(value.clamp(LEAST_DOUBT, 1.0 - LEAST_DOUBT))
    }
}

fn odds(value: f64) -> f64 {
    (value / (1.0 - value)).ln()
}

/// All joint moves here, with one role's move given or with all of its moves; nothing where they
/// are many or someone has none.
fn joint_moves(
    reasoner: &mut dyn Reasoner,
    n_roles: usize,
    role: RoleId,
    given: Option<MoveId>,
) -> Vec<Vec<MoveId>> {
    let mut found: Vec<Vec<MoveId>> = vec![Vec::new()];
    for other in (0..n_roles).map(RoleId::from_index) {
        let given = given.filter(|_| other == role);
        let legal = match given {
            Some(mv) => vec![mv],
            None => reasoner.legal_moves(other).to_vec(),
        };
        if found.len() * legal.len() > MOST_JOINT_MOVES {
            return Vec::new();
        }
        let longer = found.iter().flat_map(|joint_move| {
            legal.iter().map(move |&mv| {
                let mut joint_move = joint_move.clone();
                joint_move.push(mv);
                joint_move
            })
        });
        found = longer.collect();
    }
    found
}

fn our_goal(reasoner: &mut dyn Reasoner, n_roles: usize, role: RoleId) -> u8 {
    let mut goals = vec![None; n_roles];
    reasoner.goals(&mut goals);
    goals[role.index()].unwrap_or(0)
}

/// Whether others can end the game at once with nothing for us, where we have no say in it.
fn hands_over(
    ahead: &mut Box<dyn Reasoner>,
    machine: &Arc<dyn Machine>,
    role: RoleId,
    left: &mut usize,
) -> bool {
    if ahead.legal_moves(role).len() != 1 {
        return false;
    }
    let n_roles = machine.info().n_roles();
    let replies = joint_moves(&mut **ahead, n_roles, role, None);
    if *left < replies.len() {
        return false;
    }
    *left -= replies.len();
    let mut next = Vec::new();
    let mut beyond: Option<Box<dyn Reasoner>> = None;
    replies.iter().any(|joint_move| {
        ahead.next_state(joint_move, &mut next);
        let beyond = beyond.get_or_insert_with(|| Arc::clone(machine).reasoner());
        beyond.set_state(&next);
        beyond.is_terminal() && our_goal(&mut **beyond, n_roles, role) == 0
    })
}

impl Thinker for Factored {
    fn name(&self) -> &'static str {
        "search by parts"
    }

    fn think(&mut self, until: Instant, interrupt: &AtomicBool) {
        if let Some(whole) = &mut self.whole {
            return whole.think(until, interrupt);
        }
        self.look_ahead();
        while !interrupt.load(Ordering::Acquire) {
            let now = Instant::now();
            if now >= until {
                return;
            }
            let limit = Limit {
                until: Some(until.min(now + TURN)),
                ..Limit::default()
            };
            if !self.search_one(limit) {
                return;
            }
        }
    }

    fn advance(&mut self, joint_move: &[MoveId], state: &[u64]) {
        if let Some(whole) = &mut self.whole {
            whole.advance(joint_move, state);
        }
        let ours = joint_move.get(self.role.index()).copied();
        self.last = self.boards.iter().position(|board| {
            ours.is_some_and(|mv| {
                board.part.moves[mv].is_some_and(|of_part| !board.part.is_pass[of_part])
            })
        });
        let mut projected = Vec::new();
        let mut predicted = Vec::new();
        for board in &mut self.boards {
            board.part.project(state, &mut projected);
            let of_part: Option<Vec<MoveId>> =
                joint_move.iter().map(|&mv| board.part.moves[mv]).collect();
            board.reasoner.set_state(&board.state);
            let of_part = of_part.filter(|of_part| {
                of_part.iter().enumerate().all(|(role, mv)| {
                    board
                        .reasoner
                        .legal_moves(RoleId::from_index(role))
                        .contains(mv)
                })
            });
            let follows = of_part.is_some_and(|of_part| {
                board.reasoner.next_state(&of_part, &mut predicted);
                let follows = predicted == projected && !board.is_over;
                if follows {
                    board.search.advance(&of_part);
                }
                follows
            });
            if !follows && board.state != projected {
                board.search.set_state(&projected);
            }
            board.state.clone_from(&projected);
        }
        self.state = state.to_vec();
        self.look();
    }

    fn stand_on(&mut self, state: &[u64]) {
        if let Some(whole) = &mut self.whole {
            whole.stand_on(state);
        }
        let mut projected = Vec::new();
        for board in &mut self.boards {
            board.part.project(state, &mut projected);
            if board.state != projected {
                board.search.set_state(&projected);
                board.state.clone_from(&projected);
            }
        }
        self.state = state.to_vec();
        self.last = None;
        self.look();
    }

    fn choice(&mut self) -> Option<Choice> {
        if let Some(whole) = &mut self.whole {
            return whole.choice();
        }
        self.reasoner.set_state(&self.state);
        let legal = self.reasoner.legal_moves(self.role).to_vec();
        let first = *legal.first()?;
        if legal.len() > 1 {
            self.look_ahead();
        }
        let made = |best: MoveId, value: f64, is_proven: bool| Choice {
            best,
            value: Some(value),
            visits: 0,
            is_proven,
        };
        let wins = self.steps.iter().find(|(_, step)| *step == Step::Ends(100));
        if let Some(&(mv, _)) = wins {
            return Some(made(mv, 100.0, true));
        }
        let is_bad = |step: Step| matches!(step, Step::HandsOver | Step::Ends(0));
        let good = self.steps.iter().filter(|(_, step)| !is_bad(*step));
        let mut candidates: Vec<MoveId> = good.map(|&(mv, _)| mv).collect();
        if candidates.is_empty() {
            candidates.clone_from(&legal);
        }
        let plays_alone = self.machine.info().n_roles() == 1 && !self.is_joint;
        let chosen = match plays_alone {
            true => self.play_on(&candidates).map(|(mv, value, is_sure)| {
                let all_known = self.live().all(|board| board.is_proven);
                made(mv, value, is_sure && all_known)
            }),
            false => self
                .weigh(&candidates)
                .map(|(mv, worth)| made(mv, 100.0 / (1.0 + (-worth).exp()), false)),
        };
        let visits = self
            .boards
            .iter_mut()
            .map(|board| board.search.root().iterations)
            .sum();
        let chosen = chosen.unwrap_or_else(|| made(first, 50.0, false));
        Some(Choice { visits, ..chosen })
    }

    fn sample(&mut self) -> SearchSample {
        if let Some(whole) = &mut self.whole {
            return whole.sample();
        }
        let mut sample = SearchSample::default();
        for board in &mut self.boards {
            let statistics = board.search.statistics();
            sample.iterations += statistics.iterations;
            sample.playouts += statistics.playouts;
            sample.nodes += u64::from(statistics.nodes);
            let used = f64::from(statistics.nodes) / f64::from(statistics.node_limit.max(1));
            sample.pool_used = sample.pool_used.max(used);
            sample.times = sample.times.plus(&stage_times(&board.search));
            let root = board.search.root();
            let moves = root.moves.iter();
            sample.root_moves.extend(moves.map(|report| RootMove {
                name: board.part.machine.info().move_text(report.mv),
                visits: u64::from(report.visits),
                value: report.value.map_or(f64::NAN, f64::from),
            }));
        }
        sample
            .root_moves
            .sort_by_key(|noted| std::cmp::Reverse(noted.visits));
        sample.root_moves.truncate(NOTED_MOVES);
        if sample.iterations > 0 {
            sample.samples_per_request = sample.playouts as f64 / sample.iterations as f64;
        }
        if let Some(choice) = self.choice() {
            sample.best_move = self.machine.info().move_text(choice.best);
            sample.best_value = choice.value.unwrap_or(f64::NAN);
        }
        sample
    }
}
