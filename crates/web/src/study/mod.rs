//! The work of a study table: goes to any position of any line, searches it, and looks for
//! blunders.
//!
//! What it finds is published as a [`Report`]; `plans` has the planners of games of one role. The
//! page keeps the tree of lines; the study knows the line that is shown.
//!
//! The work is done in slices, one in each step of the table. One search serves all positions, so
//! that what was found in one is known when it is shown again.
//!
//! Invariant: a search is at the position that is shown, or is dropped.
//!
//! Never uses: how games are played, other tables, HTTP, so that a study is one more thing that the
//! thread of a table does with its game.

mod plans;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::host::{
    Candidate, Checked, Command, Effort, GameHistory, GradedView, Host, LineTree, LineView,
    MAX_CANDIDATES, MAX_LINE_SHOWN, OutcomeView, PAUSE, Phase, Report, Rest, ReviewView, SLICE,
    Spent, Start, State, SummaryView, Thinking, WorthView, round,
};
use panza_game::BuiltGame;
use panza_gdl::{Id, MoveId, RoleId, Sexpr, sexpr};
use panza_machine::GameInfo;
use panza_metagame::{history, remembered};
use panza_player::review::Worth;
use panza_player::{Review, ReviewSettings, search_config, whole_search};
use panza_search::{
    Line, LineLimits, Method, MoveStats, Outcome, RoleOutlook, SearchConfig, SearchReport,
    Searcher, Started, StopReason, WhyTree,
};
use panza_sync::{Budget, HAS_THREADS, Instant, lock};
use plans::Plans;
use serde_json::Value;

/// Joint moves of a line that is studied, at most.
const MAX_LINE: usize = 2000;
/// Searches that a study holds at the same time: of the position, for blunders, and two with
/// planners.
const N_SEARCHES: usize = 4;
/// Time between two reports: at first, and after a position was searched for long.
const FIRST_REPORTS: Duration = Duration::from_millis(100);
const LATER_REPORTS: Duration = Duration::from_millis(600);
/// Time that a position is searched before planners begin, and in which the first value is reported
/// at once.
const GLANCE: Duration = Duration::from_millis(200);
/// The greatest effort for a position in a look for blunders.
const MAX_REVIEW_MS: u32 = 10_000;
/// Lines that are reported.
const MAX_LINES: usize = 3;
/// Facts of a position that is pasted, at most.
const MAX_FACTS: usize = 50_000;
/// Nodes of all lines that are looked at at once, at most, and the time for that. What is left is
/// found out when somebody goes there.
const MAX_CHECKED: usize = 20_000;
const CHECK_TIME: Duration = Duration::from_secs(3);

/// A game that is studied.
pub(crate) struct StudySession {
    built: BuiltGame,
    history: GameHistory,
    config: SearchConfig,
    search: Option<Box<dyn Searcher>>,
    /// Why it is the tree, where alpha-beta is allowed.
    why_tree: Option<WhyTree>,
    plans: Option<Plans>,
    /// Whether there is nothing more to plan.
    is_planned: bool,
    review: Option<Review>,
    /// Where the lines begin, where somebody has said so.
    start: Option<Start>,
    is_reviewed: bool,
    /// Whether the next slice is for the review.
    is_reviews_turn: bool,
    is_paused: bool,
    /// Whether further search cannot change the result.
    is_proven: bool,
    spent: Spent,
    /// The role that somebody wants to see the moves of.
    wanted: Option<usize>,
    /// When the next report is made.
    due: Instant,
    version: u64,
    /// Whether something is to be written to disk.
    is_late: bool,
}

impl Host {
    /// A step of the study: does what a person asks for, works for a slice, and reports.
    pub fn study(
        &mut self,
        session: &mut StudySession,
        command: Option<Command>,
        is_busy: &impl Fn() -> bool,
    ) -> Rest {
        if let Some(command) = command {
            // A page keeps lines beside what a person does, which the problem is about.
            let is_of_person = !matches!(command, Command::Lines { .. } | Command::Check { .. });
            let problem = self.apply_study_command(session, command).err();
            if is_of_person {
                self.view.problem = problem;
                self.view.told += 1;
            }
            session.due = Instant::now();
            self.publish();
            session.is_late = true;
        }
        if session.is_late {
            session.is_late = self.keep_study(session, false);
        }
        if self.resources.is_closed() || self.published.is_idle() {
            self.keep_study(session, true);
            return Rest::Ended;
        }
        let wants = self.wants_work(session);
        let waits = (wants || session.has_search()) && is_busy();
        if waits != self.view.waits {
            self.view.waits = waits;
            session.due = Instant::now();
            self.publish();
        }
        let mut rest = match session.is_late {
            true => SLICE,
            false => PAUSE,
        };
        if waits {
            session.release_searches();
        } else if wants {
            rest = self.work(session);
        } else if let Some(plans) = &mut session.plans {
            plans.suspend(session.history.position.state());
        }
        if session.due <= Instant::now() {
            self.report(session, wants && !waits);
        }
        Rest::Wait(rest)
    }

    /// Keeps the study on disk where it has changed; returns whether something is left to write.
    pub fn keep_study(&mut self, session: &StudySession, asks: bool) -> bool {
        let lines = lock(&self.published.lines).as_deref().cloned();
        let state = State {
            moves: self.view.moves.clone(),
            is_paused: session.is_paused,
            effort: (self.effort != self.opened.effort).then_some(self.effort),
            start: session.start.clone(),
            lines,
            ..State::default()
        };
        self.keep(state, asks)
    }

    /// The game at the position that the study begins with.
    pub fn begin_study(&mut self, built: BuiltGame) -> Result<StudySession, String> {
        let study = self.opened.setting.study.clone().unwrap_or_default();
        let history = begin(&built, study.facts.as_deref())?;
        let kept = self.kept_state();
        let lost = self.view.problem.take();
        let config = self.remembered(&built, self.search_config(N_SEARCHES));
        let mut session = StudySession {
            history,
            config,
            built,
            search: None,
            why_tree: None,
            plans: None,
            is_planned: false,
            review: None,
            start: None,
            is_reviewed: false,
            is_reviews_turn: false,
            is_paused: kept.as_ref().is_some_and(|kept| kept.is_paused),
            is_proven: false,
            spent: Spent::default(),
            wanted: None,
            due: Instant::now(),
            // Greater than what a page knows of a table that has come back.
            version: self.view.version,
            is_late: false,
        };
        // What is not legal in the line of a log is not shown.
        let problem = self.go(&mut session, &study.line).err();
        if let Some(study) = &mut self.view.study {
            study.line.clone_from(&self.view.moves);
            study.turn = study.turn.min(study.line.len());
            study.position = self.view.version;
        }
        let mut shown = &study.line[..study.turn.min(self.view.moves.len())];
        let mut start = None;
        if let Some(kept) = &kept {
            shown = &kept.moves;
            start.clone_from(&kept.start);
            self.keep_lines(kept.lines.clone());
        }
        let went = match start.map_or(Ok(()), |start| self.start_at(&mut session, start)) {
            Ok(()) => self.go(&mut session, shown),
            Err(why) => Err(why),
        };
        self.view.problem = lost.or(problem).or(went.err());
        self.publish();
        session.is_late = self.keep_study(&session, true);
        Ok(session)
    }

    /// The settings with what the memory has of the game.
    fn remembered(&self, built: &BuiltGame, config: SearchConfig) -> SearchConfig {
        let history = history(&self.settings.memory, &self.opened.rules.rules);
        let prior = history.and_then(|history| remembered(built, &history));
        prior.map_or(config.clone(), |prior| prior.apply(&config))
    }

    /// The tree of lines is another one.
    fn keep_lines(&mut self, lines: Option<Value>) {
        if let Some(study) = &mut self.view.study {
            study.lines = match &lines {
                Some(_) => self.view.version + 1,
                None => 0,
            };
        }
        *lock(&self.published.lines) = lines.map(Arc::new);
    }

    /// Whether there is something to search.
    fn wants_work(&self, session: &StudySession) -> bool {
        let has_review = session.review.is_some() && !session.is_reviewed;
        has_review || self.wants_search(session)
    }

    fn wants_search(&self, session: &StudySession) -> bool {
        let is_puzzle = self.opened.roles.len() == 1;
        let is_open = !session.is_proven || is_puzzle && !session.is_planned;
        let is_playing = self.view.phase == Phase::Playing;
        is_playing && !session.is_paused && is_open && !session.spent.is_enough(self.effort)
    }

    /// A slice of work. Returns how long to rest after it.
    fn work(&mut self, session: &mut StudySession) -> Duration {
        let begin = Instant::now();
        let stop = &self.resources.closing.is_closed;
        session.is_reviews_turn = !session.is_reviews_turn || !self.wants_search(session);
        if session.is_reviews_turn
            && let Some(review) = session.review.as_mut().filter(|_| !session.is_reviewed)
        {
            session.is_reviewed = review.step(begin + SLICE, stop);
            if session.is_reviewed {
                review.release();
                session.due = begin;
            }
            return Duration::ZERO;
        }
        // Once it is proven only planners are left, which have threads of their own.
        let rest = match session.is_proven && HAS_THREADS {
            true => SLICE,
            false => Duration::ZERO,
        };
        if !session.is_proven {
            self.search(session, stop);
        }
        if session.spent.time >= GLANCE {
            let StudySession {
                built,
                history,
                config,
                plans,
                ..
            } = session;
            if plans.is_none() {
                *plans = Plans::new(built, history, config);
            }
            let plans = plans.as_mut();
            session.is_planned = plans.is_none_or(|plans| plans.update(built, history, config));
        }
        session.spent.time += begin.elapsed() + rest;
        if !self.wants_search(session) {
            session.due = begin;
        }
        rest
    }

    fn search(&self, session: &mut StudySession, stop: &Arc<AtomicBool>) {
        let role = RoleId::from_index(session.role().unwrap_or(0));
        let state = session.history.position.state();
        let search = session.search.get_or_insert_with(|| {
            let (machine, config) = (&session.built.machine, session.config.clone());
            let Started { search, why_tree } = whole_search(machine, role, state, config);
            session.why_tree = why_tree;
            search
        });
        let mut limit = Budget::generous().stopped_by(stop);
        match self.effort {
            Effort::Time(time) => {
                let slice = SLICE.min(time.saturating_sub(session.spent.time));
                // Making a search can take longer than a slice.
                limit.until = Some(Instant::now() + slice);
            }
            Effort::Iterations(count) => {
                let left = count.saturating_sub(session.spent.iterations);
                let now = session.spent.next_iterations(left);
                limit.max_steps = now;
                session.spent.iterations += now;
            }
        }
        search.set_role(role);
        let reason = search.run(&limit);
        session.is_proven = reason == StopReason::Proven;
        if reason == StopReason::Exhausted && HAS_THREADS {
            // The time for the position is not over.
            std::thread::sleep(SLICE);
        }
    }

    /// Publishes what Panza thinks about the position.
    fn report(&mut self, session: &mut StudySession, wants_work: bool) {
        let is_over = self.view.phase == Phase::Over;
        let state = match () {
            () if self.view.waits => Thinking::Waiting,
            () if is_over => Thinking::Over,
            () if session.is_paused => Thinking::Paused,
            () if wants_work && self.wants_search(session) => Thinking::Searching,
            () if session.is_proven => Thinking::Proven,
            () => Thinking::Done,
        };
        let role = session.role();
        let info = session.built.machine.info();
        let name = |role: usize| self.opened.roles[role].clone();
        let texts = |line: Vec<Vec<MoveId>>| -> Vec<Vec<String>> {
            let joint = |joint: Vec<MoveId>| joint.into_iter().map(|mv| info.move_text(mv));
            line.into_iter().map(|it| joint(it).collect()).collect()
        };
        session.version += 1;
        let mut report = Report {
            version: session.version,
            position: self.view.study.as_ref().map_or(0, |study| study.position),
            state,
            seconds: session.spent.time.as_secs_f64(),
            iterations: 0,
            nodes: 0,
            method: Method::Tree.name(),
            step: Method::Tree.step(),
            why_tree: session.why_tree.map(WhyTree::text),
            depth: 0,
            selective_depth: 0,
            role: role.map(name),
            worth: WorthView::default(),
            moves: Vec::new(),
            outcomes: Vec::new(),
            line: Vec::new(),
            lines: Vec::new(),
            plan: None,
            alternatives: Vec::new(),
            review: session
                .review
                .as_ref()
                .map(|review| review_view(review, session.is_reviewed, info, name, texts)),
        };
        if let Some(goals) = &self.view.goals {
            report.worth.values = goals.iter().map(|goal| goal.map(f64::from)).collect();
            report.worth.proven.clone_from(goals);
        } else if let Some(search) = &mut session.search {
            search.set_role(RoleId::from_index(role.unwrap_or(0)));
            let found = search.report(LineLimits {
                lines: MAX_LINES,
                moves: MAX_LINE_SHOWN,
            });
            report.take(&found, role, info);
        }
        report.agree(role);
        if let Some(plans) = &session.plans {
            (report.plan, report.alternatives) = plans.shown(info);
            report.follow_plan();
        }
        if self.view.waits
            && let Some(last) = self.published.last_report()
            && (last.position, &last.role) == (report.position, &report.role)
        {
            // What was found stays there until the search begins again.
            report = Report {
                version: report.version,
                state: report.state,
                review: report.review,
                ..Report::clone(&last)
            };
        }
        let has_values = report.worth.values.iter().any(Option::is_some);
        self.published.publish_report(report);
        let pause = session.spent.time / 8;
        let pause = match wants_work {
            true if !has_values && session.spent.time < GLANCE => Duration::ZERO,
            true => pause.clamp(FIRST_REPORTS, LATER_REPORTS),
            // Nothing changes before the next command or match.
            false => Duration::from_secs(3600),
        };
        session.due = Instant::now() + pause;
    }

    /// Does what a person asks for, or says why not.
    fn apply_study_command(
        &mut self,
        session: &mut StudySession,
        command: Command,
    ) -> Result<(), String> {
        match command {
            Command::Go { line, start } => {
                if let Some(start) = start {
                    self.start_at(session, start)?;
                }
                self.go(session, &line)
            }
            Command::Check { number, chapters } => {
                let fault = first_fault(&session.built, &chapters);
                let (chapter, node, problem) = fault.unwrap_or_default();
                if let Some(study) = &mut self.view.study {
                    study.checked = Some(Checked {
                        number,
                        chapter,
                        node,
                        problem,
                    });
                }
                Ok(())
            }
            Command::Think(effort) => {
                self.effort = effort.bounded();
                Ok(())
            }
            Command::Lines { lines } => {
                self.keep_lines(Some(lines));
                Ok(())
            }
            Command::Pause { on } => {
                session.is_paused = on;
                Ok(())
            }
            Command::Watch { role } => {
                let found = self.opened.roles.iter().position(|name| *name == role);
                session.wanted = Some(found.ok_or_else(|| format!("no role is called {role}"))?);
                // It is another question.
                session.is_proven = false;
                Ok(())
            }
            Command::Review { line, ms } => self.begin_review(session, &line, ms),
            Command::EndReview => {
                session.review = None;
                Ok(())
            }
            // The table is gone before its thread could be told.
            Command::Close => Ok(()),
            _ => Err("that is for games that are played".to_string()),
        }
    }

    /// Lets the lines begin with another position.
    fn start_at(&mut self, session: &mut StudySession, start: Start) -> Result<(), String> {
        let Some(study) = &mut self.view.study else {
            return Ok(());
        };
        let facts = Some(&start.facts)
            .filter(|facts| !facts.is_empty())
            .cloned();
        if study.facts != facts {
            session.history = begin(&session.built, facts.as_deref())?;
            self.view.moves.clear();
            study.facts = facts;
        }
        study.chapter = start.chapter;
        session.start = Some(start);
        Ok(())
    }

    /// Goes to the position behind these joint moves, or as far towards it as they are legal.
    fn go(&mut self, session: &mut StudySession, line: &[Vec<String>]) -> Result<(), String> {
        let made = self.view.moves.iter().zip(line);
        let n_common = made.take_while(|(own, wanted)| own == wanted).count();
        session.history.go_back(n_common);
        self.view.moves.truncate(n_common);
        let mut problem = None;
        for texts in &line[n_common..] {
            let turn = session.history.turn();
            if turn >= MAX_LINE {
                problem = Some(format!("a line has at most {MAX_LINE} turns here"));
                break;
            }
            match session.history.position.legal_joint_move(texts) {
                Ok(joint_move) => {
                    session.history.make(&joint_move);
                    let info = session.history.info();
                    let texts = joint_move.iter().map(|&mv| info.move_text(mv));
                    self.view.moves.push(texts.collect());
                }
                Err(why) => {
                    problem = Some(format!("turn {}: {why}", turn + 1));
                    break;
                }
            }
        }
        self.arrive(session);
        problem.map_or(Ok(()), Err)
    }

    /// Shows the position of the history.
    fn arrive(&mut self, session: &mut StudySession) {
        if let Some(study) = &mut self.view.study {
            study.position += 1;
        }
        self.view.problem = None;
        self.show_phase(&mut session.history);
        let is_playing = self.view.phase == Phase::Playing;
        let is_asked = vec![is_playing; self.opened.roles.len()];
        self.show_position(&mut session.history, &is_asked);
        let state = session.history.position.state();
        if let Some(search) = &mut session.search {
            search.set_state(state);
        }
        if let Some(plans) = &mut session.plans {
            plans.go_to(&session.built.machine, state);
        }
        session.is_planned = false;
        session.is_proven = false;
        session.spent = Spent::default();
        self.published
            .note_turns(&session.built.machine, session.history.states());
    }

    /// Begins to look for blunders in a line from the start of the study.
    fn begin_review(
        &mut self,
        session: &mut StudySession,
        line: &[Vec<String>],
        ms: u32,
    ) -> Result<(), String> {
        let settings = ReviewSettings {
            iterations: ReviewSettings::ITERATIONS_PER_MS * u64::from(ms.clamp(1, MAX_REVIEW_MS)),
            ..ReviewSettings::default()
        };
        let start = session.history.states()[0].to_vec();
        let mut history = GameHistory::from(&session.built.machine, start.clone());
        let mut moves = Vec::new();
        for texts in line.iter().take(MAX_LINE) {
            let turn = history.turn() + 1;
            let joint_move = history.position.legal_joint_move(texts);
            let joint_move = joint_move.map_err(|why| format!("turn {turn}: {why}"))?;
            history.make(&joint_move);
            moves.push(joint_move);
        }
        if moves.is_empty() {
            return Err("there are no moves to look at".to_string());
        }
        // As the command does it.
        let config = search_config(&self.settings.search, self.settings.search.seed);
        let config = self.remembered(&session.built, config);
        let machine = &session.built.machine;
        session.review = Some(Review::new(machine, &start, &moves, config, settings));
        session.is_reviewed = false;
        Ok(())
    }
}

impl StudySession {
    /// The role whose moves are reported: the one that is wanted where it has a choice, else the
    /// first that has one.
    fn role(&mut self) -> Option<usize> {
        let chance = self.built.info().chance_role().map(Id::index);
        let n_roles = self.built.info().n_roles();
        let roles = self.wanted.into_iter().chain(0..n_roles);
        let mut roles = roles.filter(|&role| Some(role) != chance);
        roles.find(|&role| self.history.legal(role).len() > 1)
    }

    fn has_search(&self) -> bool {
        self.search.is_some()
    }

    /// Frees the memory for a match that begins. The position is searched anew after it.
    fn release_searches(&mut self) {
        self.search = None;
        self.plans = None;
        self.spent = Spent::default();
        (self.is_planned, self.is_proven) = (false, false);
        if let Some(review) = &mut self.review {
            review.release();
        }
    }
}

impl Report {
    /// Takes what a search has found, with the moves of a role if it chooses.
    fn take(&mut self, found: &SearchReport, role: Option<usize>, info: &dyn GameInfo) {
        self.iterations = found.steps;
        self.nodes = u32::try_from(found.nodes).unwrap_or(u32::MAX);
        self.method = found.method.name();
        self.step = found.method.step();
        (self.depth, self.selective_depth) = (found.depth, found.selective_depth);
        self.worth = outlook_view(&found.roles);
        let outcomes = found.outcomes.iter();
        self.outcomes = outcomes.map(|it| outcome_view(it, info)).collect();
        self.moves = role.map_or(Vec::new(), |_| candidates(found, info));
        let lines = found.lines.iter().filter_map(|line| line_view(line, info));
        self.lines = lines.collect();
        let best = self.lines.first();
        self.line = best.map_or(Vec::new(), |best| best.line.clone());
    }
}

/// The moves of the role that a search is about, the best first. That is the one with which the
/// line begins that is expected, unless several roles choose at once.
fn candidates(found: &SearchReport, info: &dyn GameInfo) -> Vec<Candidate> {
    let is_alone = found.moves.iter().all(|it| it.probability.is_none());
    let first = found.lines.first().map(|line| line.first.mv);
    let best = first.filter(|_| is_alone).or(found.best);
    let mut moves: Vec<&MoveStats> = found.moves.iter().collect();
    moves.sort_by_key(|it| Some(it.mv) != best);
    let moves = moves.into_iter().take(MAX_CANDIDATES);
    let shown = moves.map(|found| Candidate {
        text: info.move_text(found.mv),
        visits: found.visits as u32,
        value: found.value.map(round),
        proven: found.proven(),
        share: found.probability.map(f64::from),
        is_bound: found.is_bound,
    });
    shown.collect()
}

fn line_view(line: &Line, info: &dyn GameInfo) -> Option<LineView> {
    let texts = |joint: &Vec<MoveId>| joint.iter().map(|&mv| info.move_text(mv)).collect();
    Some(LineView {
        text: info.move_text(line.first.mv),
        value: line.first.value.map(round)?,
        is_bound: line.first.is_bound,
        line: line.joint_moves.iter().map(texts).collect(),
    })
}

fn outcome_view(outcome: &Outcome, info: &dyn GameInfo) -> OutcomeView {
    OutcomeView {
        text: info.move_text(outcome.mv),
        probability: outcome.probability,
        worth: outlook_view(&outcome.outlook),
    }
}

fn outlook_view(outlook: &[RoleOutlook]) -> WorthView {
    WorthView {
        values: outlook.iter().map(|it| it.value.map(round)).collect(),
        proven: outlook.iter().map(RoleOutlook::proven).collect(),
    }
}

fn worth_view(worth: &Worth, n_roles: usize) -> WorthView {
    WorthView {
        values: (0..n_roles).map(|role| worth.of(role).map(round)).collect(),
        proven: (0..n_roles).map(|role| worth.proven(role)).collect(),
    }
}

fn review_view(
    review: &Review,
    is_finished: bool,
    info: &dyn GameInfo,
    name: impl Fn(usize) -> String,
    texts: impl Fn(Vec<Vec<MoveId>>) -> Vec<Vec<String>>,
) -> ReviewView {
    let (done, of) = review.progress();
    let worths = review.worths().into_iter();
    let graded = review.graded().into_iter().map(|found| GradedView {
        turn: found.turn,
        role: name(found.role),
        grade: found.grade.name(),
        played: info.move_text(found.played),
        better: info.move_text(found.better),
        value: round(found.value),
        after: round(found.after),
        is_proven: found.is_proven,
        line: texts(found.line),
    });
    let summary = review.summary().into_iter().enumerate();
    let summary = summary.filter(|(_, of)| of.moves > 0);
    ReviewView {
        done,
        of,
        doubts: review.doubts(),
        is_finished,
        worths: worths
            .map(|worth| worth.map(|worth| worth_view(worth, info.n_roles())))
            .collect(),
        graded: graded.collect(),
        summary: summary
            .map(|(role, of)| SummaryView {
                role: name(role),
                moves: of.moves,
                grades: of.grades,
                mean_loss: of.mean_loss.map(round),
                accuracy: of.accuracy.map(round),
            })
            .collect(),
    }
}

/// The game at a position of these facts, or at the initial one.
fn begin(built: &BuiltGame, facts: Option<&str>) -> Result<GameHistory, String> {
    let Some(facts) = facts else {
        return Ok(GameHistory::new(&built.machine));
    };
    let state = built.info().state_from_facts(&read_facts(facts)?);
    let state = state.map_err(|why| format!("the position cannot be set up: {why}"))?;
    Ok(GameHistory::from(&built.machine, state))
}

/// The first node of these trees that cannot be reached: the place of its tree, its number and why.
/// None where all can be reached that were looked at.
fn first_fault(built: &BuiltGame, chapters: &[LineTree]) -> Option<(usize, usize, Option<String>)> {
    let until = Instant::now() + CHECK_TIME;
    let mut n_left = MAX_CHECKED;
    for (chapter, tree) in chapters.iter().enumerate() {
        // Setting up a position takes time too, and a text may have thousands of chapters.
        if Instant::now() > until {
            return None;
        }
        let facts = Some(&*tree.facts).filter(|facts| !facts.is_empty());
        let mut history = match begin(built, facts) {
            Ok(history) => history,
            Err(why) => return Some((chapter, 0, Some(why))),
        };
        // The nodes on the way to the position, by their turns.
        let mut path = vec![0];
        for (before, (parent, texts)) in tree.lines.iter().enumerate() {
            if n_left == 0 || Instant::now() > until {
                return None;
            }
            n_left -= 1;
            let turn = path.iter().rposition(|node| node == parent);
            let made = match turn {
                None => Err("its line is not written to the end before it".to_string()),
                Some(MAX_LINE..) => Err(format!("a line has at most {MAX_LINE} turns here")),
                Some(turn) => {
                    history.go_back(turn);
                    path.truncate(turn + 1);
                    history.position.legal_joint_move(texts)
                }
            };
            match made {
                Ok(joint_move) => history.make(&joint_move),
                Err(why) => return Some((chapter, before + 1, Some(why))),
            }
            path.push(before + 1);
        }
    }
    None
}

/// The facts of a position as text: one list of them, or one after the other, each perhaps in
/// `true`.
fn read_facts(text: &str) -> Result<Vec<String>, String> {
    let (read, faults) = sexpr::parse(text);
    if let Some(fault) = faults.first() {
        return Err(format!(
            "the position cannot be read: {}",
            fault.one_line("position", text)
        ));
    }
    let is_list = |it: &Sexpr| matches!(it, Sexpr::List(..));
    let facts = match &read[..] {
        [Sexpr::List(items, _)] if items.first().is_some_and(is_list) => items,
        _ => &read,
    };
    if facts.is_empty() || facts.len() > MAX_FACTS {
        return Err(format!(
            "expected between 1 and {MAX_FACTS} facts, found {}",
            facts.len()
        ));
    }
    let fact = |fact: &Sexpr| match fact {
        Sexpr::List(items, _) => match &items[..] {
            [only] => only.to_string(),
            [Sexpr::Symbol(word, _), inner] if word.eq_ignore_ascii_case("true") => {
                inner.to_string()
            }
            _ => fact.to_string(),
        },
        Sexpr::Symbol(..) => fact.to_string(),
    };
    Ok(facts.iter().map(fact).collect())
}
