//! A game that is studied at a table: goes to any position of any line, searches it, and looks for
//! blunders.
//!
//! The work is done in slices by the thread of the table. One search serves all positions, so that
//! what was found in one is known when it is shown again.
//!
//! Invariant: a search is at the position that is shown, or is dropped.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, RecvTimeoutError, TryRecvError};

use super::course::Course;
use super::host::{Built, Host, PAUSE, SLICE, Spent};
use super::plans::Plans;
use super::report::{Candidate, Report, ShownBlunder, ShownReview, ShownWorth, Thinking};
use super::view::Phase;
use super::{Command, Effort, MAX_LINE};
use panza_game::BuiltGame;
use panza_gdl::ids::{Id, MoveId, RoleId};
use panza_gdl::{Sexpr, sexpr};
use panza_machine::GameInfo;
use panza_player::review::{Review, ReviewSettings, Worth};
use panza_player::whole_search;
use panza_search::{Limit, Search, SearchConfig, StopReason};

/// Searches that a study holds at the same time: of the position, for blunders, and two with
/// planners.
const N_SEARCHES: usize = 4;
/// Moves and joint moves of a line that are reported.
const MAX_CANDIDATES: usize = 40;
const MAX_LINE_SHOWN: usize = 12;
/// Time between two reports: at first, and after a position was searched for long.
const FIRST_REPORTS: Duration = Duration::from_millis(100);
const LATER_REPORTS: Duration = Duration::from_millis(600);
/// Time that a position is searched before planners begin, and in which the first value is reported
/// at once.
const GLANCE: Duration = Duration::from_millis(200);
/// The longest search of a position in a look for blunders.
const MAX_REVIEW_TIME: Duration = Duration::from_secs(10);
/// Facts of a position that is pasted, at most.
const MAX_FACTS: usize = 50_000;

/// A game that is studied.
struct Desk {
    built: BuiltGame,
    course: Course,
    config: SearchConfig,
    search: Option<Search>,
    plans: Option<Plans>,
    /// Whether there is nothing more to plan.
    is_planned: bool,
    review: Option<Review>,
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
}

impl Host {
    /// Studies a game until nobody asks for it any more. `is_busy` says whether a match runs.
    pub fn host_study(
        &mut self,
        built: Built,
        inbox: &Receiver<Command>,
        is_busy: &impl Fn() -> bool,
    ) {
        let mut desk = match self.lay_out(built.game) {
            Ok(desk) => desk,
            Err(why) => return self.fail(&why),
        };
        while !self.together.is_closed() && !self.shown.is_idle() {
            let wants = self.wants_work(&desk);
            let waits = (wants || desk.search.is_some()) && is_busy();
            if waits != self.view.waits {
                self.view.waits = waits;
                desk.due = Instant::now();
                self.publish();
            }
            if waits {
                desk.give_way();
            } else if wants {
                self.work(&mut desk);
            } else if let Some(plans) = &mut desk.plans {
                plans.rest(desk.course.position.state());
            }
            if desk.due <= Instant::now() {
                self.report(&mut desk, wants && !waits);
            }
            let command = match wants && !waits {
                true => match inbox.try_recv() {
                    Ok(command) => Some(command),
                    Err(TryRecvError::Empty) => None,
                    Err(TryRecvError::Disconnected) => return,
                },
                false => match inbox.recv_timeout(PAUSE) {
                    Ok(command) => Some(command),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => return,
                },
            };
            if let Some(command) = command {
                self.view.problem = self.do_at_desk(&mut desk, command).err();
                desk.due = Instant::now();
                self.publish();
            }
        }
    }

    /// The game at the position that the study begins with.
    fn lay_out(&mut self, built: BuiltGame) -> Result<Desk, String> {
        let study = self.opened.setting.study.clone().unwrap_or_default();
        let mut course = Course::new(&built.machine);
        if let Some(facts) = &study.facts {
            let facts = read_facts(facts)?;
            let state = built.info().state_from_facts(&facts);
            let state = state.map_err(|why| format!("the position cannot be set up: {why}"))?;
            course = Course::from(&built.machine, state);
        }
        let mut desk = Desk {
            course,
            config: self.search_config(N_SEARCHES),
            built,
            search: None,
            plans: None,
            is_planned: false,
            review: None,
            is_reviewed: false,
            is_reviews_turn: false,
            is_paused: false,
            is_proven: false,
            spent: Spent::default(),
            wanted: None,
            due: Instant::now(),
            version: 0,
        };
        // What is not legal in the line of a log is not shown.
        let problem = self.go(&mut desk, &study.line).err();
        if let Some(study) = &mut self.view.study {
            study.line.clone_from(&self.view.moves);
            study.turn = study.turn.min(study.line.len());
        }
        let shown = &study.line[..study.turn.min(self.view.moves.len())];
        let went = self.go(&mut desk, shown);
        self.view.problem = problem.or(went.err());
        self.publish();
        Ok(desk)
    }

    /// Whether there is something to search.
    fn wants_work(&self, desk: &Desk) -> bool {
        let has_review = desk.review.is_some() && !desk.is_reviewed;
        has_review || self.wants_search(desk)
    }

    fn wants_search(&self, desk: &Desk) -> bool {
        let is_puzzle = self.opened.roles.len() == 1;
        let is_open = !desk.is_proven || is_puzzle && !desk.is_planned;
        let is_playing = self.view.phase == Phase::Playing;
        is_playing && !desk.is_paused && is_open && !desk.spent.is_enough(self.effort)
    }

    /// A slice of work.
    fn work(&mut self, desk: &mut Desk) {
        let begin = Instant::now();
        let stop = &*self.together.stop;
        desk.is_reviews_turn = !desk.is_reviews_turn || !self.wants_search(desk);
        if desk.is_reviews_turn
            && let Some(review) = desk.review.as_mut().filter(|_| !desk.is_reviewed)
        {
            desk.is_reviewed = review.step(begin + SLICE, stop);
            if desk.is_reviewed {
                review.release();
                desk.due = begin;
            }
            return;
        }
        if !desk.is_proven {
            self.search(desk, stop);
        } else {
            // Only planners are left, which have threads of their own.
            std::thread::sleep(SLICE);
        }
        if desk.spent.time >= GLANCE {
            let Desk {
                built,
                course,
                config,
                plans,
                ..
            } = desk;
            if plans.is_none() {
                *plans = Plans::new(built, course, config);
            }
            let plans = plans.as_mut();
            desk.is_planned = plans.is_none_or(|plans| plans.look(built, course, config));
        }
        desk.spent.time += begin.elapsed();
        if !self.wants_search(desk) {
            desk.due = begin;
        }
    }

    fn search(&self, desk: &mut Desk, stop: &AtomicBool) {
        let role = RoleId::from_index(desk.role().unwrap_or(0));
        let state = desk.course.position.state();
        let (machine, config) = (&desk.built.machine, &desk.config);
        let search = desk
            .search
            .get_or_insert_with(|| whole_search(machine, role, state, config.clone()));
        search.set_role(role);
        let mut limit = Limit {
            stop: Some(stop),
            ..Limit::default()
        };
        match self.effort {
            Effort::Time(time) => {
                let slice = SLICE.min(time.saturating_sub(desk.spent.time));
                // Making a search can take longer than a slice.
                limit.until = Some(Instant::now() + slice);
            }
            Effort::Iterations(count) => {
                let left = count.saturating_sub(desk.spent.iterations);
                let now = desk.spent.next_iterations(left);
                limit.iterations = Some(now);
                desk.spent.iterations += now;
            }
        }
        desk.is_proven = search.run(limit) == StopReason::Proven;
    }

    /// Publishes what Panza thinks about the position.
    fn report(&mut self, desk: &mut Desk, wants_work: bool) {
        let is_over = self.view.phase == Phase::Over;
        let state = match () {
            () if self.view.waits => Thinking::Waiting,
            () if is_over => Thinking::Over,
            () if desk.is_paused => Thinking::Paused,
            () if wants_work && self.wants_search(desk) => Thinking::Searching,
            () if desk.is_proven => Thinking::Proven,
            () => Thinking::Done,
        };
        let role = desk.role();
        let info = desk.built.machine.info();
        let name = |role: usize| self.opened.roles[role].clone();
        let texts = |line: Vec<Vec<MoveId>>| -> Vec<Vec<String>> {
            let joint = |joint: Vec<MoveId>| joint.into_iter().map(|mv| info.move_text(mv));
            line.into_iter().map(|it| joint(it).collect()).collect()
        };
        desk.version += 1;
        let mut report = Report {
            version: desk.version,
            position: self.view.study.as_ref().map_or(0, |study| study.position),
            state,
            seconds: desk.spent.time.as_secs_f64(),
            iterations: 0,
            nodes: 0,
            role: role.map(name),
            worth: ShownWorth::default(),
            moves: Vec::new(),
            line: Vec::new(),
            plan: None,
            alternatives: Vec::new(),
            review: desk
                .review
                .as_ref()
                .map(|review| shown_review(review, desk.is_reviewed, info, name, texts)),
        };
        if let Some(goals) = &self.view.goals {
            report.worth.values = goals.iter().map(|goal| goal.map(f64::from)).collect();
            report.worth.proven.clone_from(goals);
        } else if let Some(search) = &mut desk.search {
            search.set_role(RoleId::from_index(role.unwrap_or(0)));
            let root = search.root();
            let outlook = search.outlook();
            report.iterations = root.iterations;
            report.nodes = root.nodes;
            report.worth.values = outlook.iter().map(|it| it.value.map(round)).collect();
            report.worth.proven = outlook.iter().map(|it| it.proven).collect();
            report.line = texts(search.principal_line(MAX_LINE_SHOWN));
            if role.is_some() {
                let best = search.best_move();
                let mut moves = root.moves;
                // The best one is not always the one with the most visits.
                moves.sort_by_key(|it| Some(it.mv) != best);
                let moves = moves.into_iter().take(MAX_CANDIDATES);
                let shown = moves.map(|found| Candidate {
                    text: info.move_text(found.mv),
                    visits: found.visits as u32,
                    value: found.value.map(round),
                    proven: found.proven(),
                    share: found.probability.map(f64::from),
                });
                report.moves = shown.collect();
            }
        }
        if let Some(plans) = &desk.plans {
            (report.plan, report.alternatives) = plans.shown(info);
        }
        if self.view.waits
            && let Some(last) = self.shown.last_report()
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
        self.shown.publish_report(report);
        let pause = desk.spent.time / 8;
        let pause = match wants_work {
            true if !has_values && desk.spent.time < GLANCE => Duration::ZERO,
            true => pause.clamp(FIRST_REPORTS, LATER_REPORTS),
            // Nothing changes before the next command or match.
            false => Duration::from_secs(3600),
        };
        desk.due = Instant::now() + pause;
    }

    /// Does what a person asks for, or says why not.
    fn do_at_desk(&mut self, desk: &mut Desk, command: Command) -> Result<(), String> {
        match command {
            Command::Go { line } => self.go(desk, &line),
            Command::Think(effort) => {
                self.effort = effort.bounded();
                Ok(())
            }
            Command::Pause { on } => {
                desk.is_paused = on;
                Ok(())
            }
            Command::Watch { role } => {
                let found = self.opened.roles.iter().position(|name| *name == role);
                desk.wanted = Some(found.ok_or_else(|| format!("no role is called {role}"))?);
                // It is another question.
                desk.is_proven = false;
                Ok(())
            }
            Command::Review { line, seconds } => self.begin_review(desk, &line, seconds),
            Command::EndReview => {
                desk.review = None;
                Ok(())
            }
            // The table is gone before its thread could be told.
            Command::Close => Ok(()),
            _ => Err("that is for games that are played".to_string()),
        }
    }

    /// Goes to the position behind these joint moves, or as far towards it as they are legal.
    fn go(&mut self, desk: &mut Desk, line: &[Vec<String>]) -> Result<(), String> {
        let made = self.view.moves.iter().zip(line);
        let n_common = made.take_while(|(own, wanted)| own == wanted).count();
        desk.course.go_back(n_common);
        self.view.moves.truncate(n_common);
        let mut problem = None;
        for texts in &line[n_common..] {
            let turn = desk.course.turn();
            if turn >= MAX_LINE {
                problem = Some(format!("a line has at most {MAX_LINE} turns here"));
                break;
            }
            match desk.course.position.legal_joint_move(texts) {
                Ok(joint_move) => {
                    desk.course.make(&joint_move);
                    let info = desk.course.info();
                    let texts = joint_move.iter().map(|&mv| info.move_text(mv));
                    self.view.moves.push(texts.collect());
                }
                Err(why) => {
                    problem = Some(format!("turn {}: {why}", turn + 1));
                    break;
                }
            }
        }
        self.arrive(desk);
        problem.map_or(Ok(()), Err)
    }

    /// Shows the position of the course.
    fn arrive(&mut self, desk: &mut Desk) {
        if let Some(study) = &mut self.view.study {
            study.position += 1;
        }
        self.view.problem = None;
        self.show_phase(&mut desk.course);
        let is_playing = self.view.phase == Phase::Playing;
        let is_asked = vec![is_playing; self.opened.roles.len()];
        self.show_position(&mut desk.course, &is_asked);
        let state = desk.course.position.state();
        if let Some(search) = &mut desk.search {
            search.set_state(state);
        }
        if let Some(plans) = &mut desk.plans {
            plans.go_to(state);
        }
        desk.is_planned = false;
        desk.is_proven = false;
        desk.spent = Spent::default();
        self.shown
            .note_turns(&desk.built.machine, desk.course.states());
    }

    /// Begins to look for blunders in a line from the start of the study.
    fn begin_review(
        &mut self,
        desk: &mut Desk,
        line: &[Vec<String>],
        seconds: f64,
    ) -> Result<(), String> {
        let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let settings = ReviewSettings {
            time: time.clamp(Duration::from_millis(10), MAX_REVIEW_TIME),
            ..ReviewSettings::default()
        };
        let start = desk.course.states()[0].to_vec();
        let mut course = Course::from(&desk.built.machine, start.clone());
        let mut moves = Vec::new();
        for texts in line.iter().take(MAX_LINE) {
            let turn = course.turn() + 1;
            let joint_move = course.position.legal_joint_move(texts);
            let joint_move = joint_move.map_err(|why| format!("turn {turn}: {why}"))?;
            course.make(&joint_move);
            moves.push(joint_move);
        }
        if moves.is_empty() {
            return Err("there are no moves to look at".to_string());
        }
        let config = desk.config.clone();
        let machine = &desk.built.machine;
        desk.review = Some(Review::new(machine, &start, &moves, config, settings));
        desk.is_reviewed = false;
        Ok(())
    }
}

impl Desk {
    /// The role whose moves are reported: the one that is wanted where it has a choice, else the
    /// first that has one.
    fn role(&mut self) -> Option<usize> {
        let chance = self.built.info().chance_role().map(Id::index);
        let n_roles = self.built.info().n_roles();
        let roles = self.wanted.into_iter().chain(0..n_roles);
        let mut roles = roles.filter(|&role| Some(role) != chance);
        roles.find(|&role| self.course.legal(role).len() > 1)
    }

    /// A match begins, and gets the memory too. The position is searched anew after it.
    fn give_way(&mut self) {
        self.search = None;
        self.plans = None;
        self.spent = Spent::default();
        (self.is_planned, self.is_proven) = (false, false);
        if let Some(review) = &mut self.review {
            review.release();
        }
    }
}

/// A value to two places.
fn round(value: impl Into<f64>) -> f64 {
    (value.into() * 100.0).round() / 100.0
}

fn shown_worth(worth: &Worth) -> ShownWorth {
    ShownWorth {
        values: worth.values.iter().map(|value| value.map(round)).collect(),
        proven: worth.proven.clone(),
    }
}

fn shown_review(
    review: &Review,
    is_finished: bool,
    info: &dyn GameInfo,
    name: impl Fn(usize) -> String,
    texts: impl Fn(Vec<Vec<MoveId>>) -> Vec<Vec<String>>,
) -> ShownReview {
    let (done, of) = review.progress();
    let worths = review.worths().into_iter();
    let blunders = review.blunders().into_iter();
    ShownReview {
        done,
        of,
        is_finished,
        worths: worths.map(|worth| worth.map(shown_worth)).collect(),
        blunders: blunders
            .map(|found| ShownBlunder {
                turn: found.turn,
                role: name(found.role),
                played: info.move_text(found.played),
                better: info.move_text(found.better),
                value: found.value,
                after: found.after,
                is_proven: found.is_proven,
                line: texts(found.line),
            })
            .collect(),
    }
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
