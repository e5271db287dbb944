//! A game that is played at a table: makes moves, and searches for Panza's roles.
//!
//! Searches run in slices, so that a command is taken at once. Where several roles choose, Panza's
//! choices are kept until the people's are there.
//!
//! A joint move that no person has chosen waits for [`PACE`] after the one before, unless that one
//! was chosen by a person. So people can follow games in which nobody has a choice, and those that
//! Panza plays with itself.
//!
//! Invariants: a search is at the present state, or is dropped; while a person has stopped the
//! game, nothing is done by itself.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::host::{
    Built, Command, Effort, Found, GameHistory, Host, MayBegin, PAUSE, Phase, Rest, SLICE, Spent,
    State,
};
use panza_game::BuiltGame;
use panza_gdl::{CHANCE_ROLE, Id, MoveId, RoleId};
use panza_metagame::{PreparationBudget, prepare};
use panza_player::{Manager, MatchSearcher, PlanStatus, Record, StartRequest, preferred_search};
use panza_search::{MoveStats, SearchConfig};
use panza_sync::{Instant, Random, catch_panic};

/// A hint is thought about for this long: Panza's strength is no measure of the help that a person
/// wants.
const HINT_TIME: Duration = Duration::from_secs(1);
/// The time between two joint moves that people only look at.
pub(crate) const PACE: Duration = Duration::from_millis(600);
/// Candidate moves that are listed, at most.
const MAX_CANDIDATES: usize = 6;
/// Searches that a table keeps at the same time.
const MAX_SEARCHES: usize = 4;

/// A game that is played.
pub(crate) struct Game {
    built: BuiltGame,
    history: GameHistory,
    config: SearchConfig,
    /// For each role its search.
    searches: Vec<Option<Box<dyn MatchSearcher>>>,
    /// Draws the moves of the chance role, and Panza's where it plays at random.
    random: Random,
    /// For each role its choice of this turn.
    choices: Vec<Option<MoveId>>,
    /// What Panza found when it chose this turn; shown once all have chosen.
    found: Option<Found>,
    /// What was spent on the choice that Panza thinks about.
    spent: Spent,
    /// The role that a hint was asked for.
    hint_for: Option<usize>,
    /// Whether somebody wants the result of the search at once.
    is_hurried: bool,
    /// Whether a person has made a choice of this turn.
    is_chosen: bool,
    /// When a joint move that no person has chosen may be made.
    due: Instant,
    /// The version of the view that is on disk.
    kept: u64,
    record: Option<Record>,
}

impl Host {
    /// The game as it begins, or comes back.
    pub fn begin_game(&mut self, built: Built) -> Game {
        let kept = self.kept_state();
        if let Some(kept) = &kept {
            for (is_person, role) in self.opened.is_person.iter_mut().zip(&self.opened.roles) {
                *is_person = kept.people.contains(role);
            }
            self.view.people.clone_from(&self.opened.is_person);
            self.view.paused = kept.is_paused;
        }
        let mut history = GameHistory::new(&built.game.machine);
        let moves = kept.as_ref().map_or(&[][..], |kept| &kept.moves);
        let problem = self.make_again(&mut history, moves).err();
        self.view.problem = self.view.problem.take().or(problem);
        let kept = kept.unwrap_or_default();
        self.view.log = kept.log;
        let is_ended = history.position.is_terminal() && history.turn() > 0;
        let is_over = is_ended || kept.resigned.is_some();
        let record = (!is_over).then(|| self.record(&built, &mut history));
        self.view.resigned = kept.resigned;
        let n_roles = self.opened.roles.len();
        let n_own = self.opened.is_person.iter().filter(|&&it| !it).count();
        let mut game = Game {
            history,
            built: built.game,
            config: self.search_config(n_own.clamp(1, MAX_SEARCHES)),
            searches: (0..n_roles).map(|_| None).collect(),
            random: self.chance_numbers(),
            choices: vec![None; n_roles],
            found: None,
            spent: Spent::default(),
            hint_for: None,
            is_hurried: false,
            is_chosen: false,
            due: Instant::now(),
            kept: 0,
            record,
        };
        for (role, text) in kept.choices.iter().enumerate().take(n_roles) {
            let mv = text.as_ref().and_then(|text| game.legal_move(role, text));
            game.choices[role] = mv.filter(|_| self.opened.is_person[role]);
        }
        game
    }

    /// Makes the joint moves of before again.
    fn make_again(
        &mut self,
        history: &mut GameHistory,
        moves: &[Vec<String>],
    ) -> Result<(), String> {
        for texts in moves {
            let turn = history.turn();
            let joint_move = history.position.legal_joint_move(texts);
            let joint_move =
                joint_move.map_err(|why| format!("the game goes on from turn {turn}: {why}"))?;
            history.make(&joint_move);
            self.view.moves.push(texts.clone());
        }
        Ok(())
    }

    /// Studies the game for the time that was asked for, while no match runs. Returns after which
    /// time it is to be tried again: at once after this was shown, and where a match cut it off;
    /// `None` where there is nothing to do any more.
    pub fn train(
        &mut self,
        game: &mut Game,
        is_busy: &(impl Fn() -> bool + Sync),
    ) -> Option<Duration> {
        let time = self.opened.training;
        // Nobody waits for training in the middle of a game.
        if time.is_zero() || !self.view.moves.is_empty() {
            return None;
        }
        match self.may_begin(is_busy) {
            MayBegin::Now => {}
            MayBegin::AfterMatch => return Some(PAUSE),
            MayBegin::Never => return None,
        }
        if self.view.phase != Phase::Training {
            self.view.phase = Phase::Training;
            self.publish();
            return Some(Duration::ZERO);
        }
        let trained = self.unless_busy(is_busy, |cancelled| {
            let budget = PreparationBudget {
                learning: true,
                ..PreparationBudget::from_now(&self.settings.metagame, time, cancelled)
            };
            // Without training the game can be played too.
            let study = || prepare(&game.built, None, &game.config, &budget);
            let studied = catch_panic(study).ok();
            (!cancelled.load(Ordering::Acquire)).then_some(studied)
        });
        let Some(studied) = trained else {
            return Some(Duration::ZERO);
        };
        if let Some(study) = studied {
            if let Some(record) = &game.record {
                record.prepared(&study.to_json());
            }
            game.config = study.apply(&game.config);
        }
        None
    }

    /// The numbers of the chance role: others at each table, unless the search has a seed.
    fn chance_numbers(&self) -> Random {
        let time = panza_sync::SystemTime::now().duration_since(panza_sync::UNIX_EPOCH);
        Random::new(match self.settings.search.seed {
            0 => time.map_or(1, |time| time.as_nanos() as u64),
            seed => seed,
        })
    }

    /// For each role who plays it.
    fn players(&self) -> Vec<String> {
        let name = |&is_person: &bool| if is_person { "a person" } else { "Panza" };
        let named = self.opened.is_person.iter().map(name);
        named.map(String::from).collect()
    }

    /// Panza's first role, or the first of all where people play them.
    fn logged_role(&self) -> String {
        let own = self
            .opened
            .is_person
            .iter()
            .position(|&is_person| !is_person);
        let role = self.opened.roles.get(own.unwrap_or(0));
        role.map_or("player", String::as_str).to_string()
    }

    /// The log of this game, like that of a match, with the turns that were made.
    fn record(&mut self, built: &Built, history: &mut GameHistory) -> Record {
        let record = self.open_record();
        record.built(built.game.machine.kind(), built.kind, built.took);
        record.board(&self.view.shapes);
        if let Some(before) = self.view.log.take() {
            record.note(&format!("this game goes on from the log {before}"));
        }
        self.view.log = record.folder();
        let info = built.game.info();
        let is_over = history.position.is_terminal();
        for (turn, state) in history.states().iter().enumerate() {
            let is_terminal = turn == history.turn() && is_over;
            record.position(turn, &info.state_facts(state), is_terminal);
            if let Some(moves) = self.view.moves.get(turn) {
                record.played(turn, moves);
            }
        }
        record
    }

    fn open_record(&self) -> Record {
        let opened = &self.opened;
        let time = match opened.effort {
            Effort::Time(time) => time,
            Effort::Iterations(_) => Duration::ZERO,
        };
        let game: String = opened.setting.game.chars().map(plain).collect();
        let milliseconds = panza_sync::SystemTime::now()
            .duration_since(panza_sync::UNIX_EPOCH)
            .map_or(0, |time| time.as_millis());
        let start = StartRequest {
            match_id: format!("table.{game}.{milliseconds}"),
            role: self.logged_role(),
            rules: opened.rules.clone(),
            start_clock: Duration::ZERO,
            play_clock: time,
            received: Instant::now(),
            manager: Manager {
                host: Some("table".to_string()),
                players: self.players(),
                address: None,
            },
        };
        Record::new(&self.settings, &start, &opened.roles)
    }

    /// A step of the game: does what a person asks for, makes the moves that are due, and thinks
    /// for a slice.
    pub fn play(
        &mut self,
        game: &mut Game,
        command: Option<Command>,
        is_busy: &impl Fn() -> bool,
    ) -> Rest {
        if let Some(command) = command {
            self.view.problem = self.apply_game_command(game, command).err();
            self.view.told += 1;
            self.view.version += 1;
            self.keep_game(game, true);
            self.published.publish(self.view.clone());
        }
        let is_busy = loop {
            if self.resources.is_closed() || self.published.is_idle() {
                self.keep_game(game, true);
                return Rest::Ended;
            }
            let is_busy = is_busy();
            let Some(joint_move) = self.joint_move(game, is_busy) else {
                break is_busy;
            };
            self.make(game, joint_move);
            self.keep_game(game, false);
        };
        let thinker = self.thinker(game);
        let is_automatic = self.is_complete(game) && !self.view.paused;
        let waits = is_busy && (thinker.is_some() || is_automatic);
        if is_busy || self.view.phase != Phase::Playing {
            // A match gets the memory too. After the end a planner would go on for ever.
            game.searches.iter_mut().for_each(|search| *search = None);
            game.spent = Spent::default();
        }
        let thinks_for = thinker.map(|role| self.opened.roles[role].clone());
        if (waits, &thinks_for) != (self.view.waits, &self.view.thinks_for) {
            self.view.thinks_since = thinker.filter(|_| !waits).map(|_| Instant::now());
            (self.view.waits, self.view.thinks_for) = (waits, thinks_for);
            self.publish();
        }
        let is_late = self.keep_game(game, false);
        match thinker.filter(|_| !waits) {
            Some(role) => {
                self.think(game, role);
                Rest::Wait(Duration::ZERO)
            }
            None => Rest::Wait(self.rest(game, is_late, waits)),
        }
    }

    /// Enters the state that a game begins with, or comes back with.
    pub fn resume(&mut self, game: &mut Game) {
        let (problem, resigned) = (self.view.problem.take(), self.view.resigned.take());
        let choices = std::mem::take(&mut game.choices);
        game.choices = vec![None; choices.len()];
        self.enter(game);
        for (role, mv) in choices.into_iter().enumerate() {
            if let Some(mv) = mv.filter(|_| game.choices[role].is_none()) {
                game.choices[role] = Some(mv);
                game.is_chosen = true;
            }
        }
        if resigned.is_some() && self.view.phase == Phase::Playing {
            self.view.resigned = resigned;
            self.view.phase = Phase::Over;
        }
        self.view.problem = self.view.problem.take().or(problem);
        self.show(game);
        self.publish();
    }

    /// Whether all roles have chosen, in a game that goes on.
    fn is_complete(&self, game: &Game) -> bool {
        self.view.phase == Phase::Playing && game.choices.iter().all(Option::is_some)
    }

    /// The joint move that is made now, if there is one.
    fn joint_move(&self, game: &Game, is_busy: bool) -> Option<Vec<MoveId>> {
        let by_itself = || !self.view.paused && !is_busy && game.due <= Instant::now();
        let is_now = self.is_complete(game) && (game.is_chosen || by_itself());
        is_now.then(|| game.choices.iter().flatten().copied().collect())
    }

    /// How long a table that does not search waits for a command; `is_late`, where something is to
    /// be written to disk.
    fn rest(&self, game: &Game, is_late: bool, waits: bool) -> Duration {
        let until_due = game.due.saturating_duration_since(Instant::now());
        match self.is_complete(game) && !self.view.paused && !waits {
            true => until_due.min(PAUSE),
            false if is_late => SLICE,
            false => PAUSE,
        }
    }

    /// Keeps the game on disk where it has changed; returns whether something is left to write.
    pub fn keep_game(&mut self, game: &mut Game, asks: bool) -> bool {
        if self.view.version == game.kept {
            return false;
        }
        let info = game.history.info();
        let opened = &self.opened;
        let choices = game.choices.iter().zip(&opened.is_person);
        let choices = choices.map(|(mv, &is_person)| {
            let mv = mv.filter(|_| is_person && game.is_chosen);
            mv.map(|mv| info.move_text(mv))
        });
        let people = opened.roles.iter().zip(&opened.is_person);
        let people = people.filter(|&(_, &is_person)| is_person);
        let state = State {
            moves: self.view.moves.clone(),
            people: people.map(|(role, _)| role.clone()).collect(),
            choices: choices.collect(),
            resigned: self.view.resigned.clone(),
            is_paused: self.view.paused,
            effort: (self.effort != opened.effort).then_some(self.effort),
            log: self.view.log.clone(),
            ..State::default()
        };
        let is_late = self.keep(state, asks);
        if !is_late {
            game.kept = self.view.version;
        }
        is_late
    }

    /// The role that Panza thinks for now: its own first, then the one that a hint is for.
    fn thinker(&self, game: &Game) -> Option<usize> {
        if self.view.phase != Phase::Playing {
            return None;
        }
        let is_own = |role: &usize| !self.opened.is_person[*role] && game.choices[*role].is_none();
        let mut roles = 0..self.opened.roles.len();
        let own = roles.find(is_own).filter(|_| !self.view.paused);
        own.or(game.hint_for.filter(|&role| game.choices[role].is_none()))
    }

    /// A slice of the search for a role, and its choice or the hint when that is due.
    fn think(&mut self, game: &mut Game, role: usize) {
        let is_hint = self.opened.is_person[role];
        let effort = if is_hint {
            Effort::Time(HINT_TIME)
        } else {
            self.effort
        };
        let Some(took) = self.search_slice(game, role, effort) else {
            return;
        };
        let Some(searcher) = &mut game.searches[role] else {
            return;
        };
        let best = searcher.best_move();
        let plan = searcher.plan().filter(|plan| plan.goal.is_some());
        let root_moves = searcher.sample().root_moves;
        let searched = searcher.effort();
        let legal = game.history.legal(role);
        // A search that has found nothing, or something illegal, does not end the game.
        let mv = best.map(|best| best.mv);
        let mv = mv.filter(|mv| legal.contains(mv));
        let Some(mv) = mv.or_else(|| legal.first().copied()) else {
            return;
        };
        let found = self.found(game, role, mv, best, plan, &root_moves);
        if is_hint {
            game.hint_for = None;
            // A planner goes on in the background while its search exists.
            game.searches[role] = None;
            self.view.hint = Some(found);
            self.publish();
            return;
        }
        if let Some(record) = &game.record {
            let answer = best.unwrap_or(MoveStats::new(mv));
            let answer = answer.named(found.text.clone());
            record.answered(found.turn, &answer, searched, false, took, took);
            record.root_moves(found.turn, &root_moves);
        }
        game.found = Some(found);
        self.choose(game, role, mv);
    }

    /// Searches a slice for a role. Returns the time of all its slices once its choice is due.
    fn search_slice(&self, game: &mut Game, role: usize, effort: Effort) -> Option<Duration> {
        let begin = Instant::now();
        let Game {
            built,
            history,
            config,
            searches,
            spent,
            is_hurried,
            ..
        } = game;
        let n_kept = searches.iter().flatten().count();
        if searches[role].is_none() && n_kept >= MAX_SEARCHES {
            searches.iter_mut().for_each(|search| *search = None);
        }
        let stop = &self.resources.closing.is_closed;
        let searcher = searches[role].get_or_insert_with(|| {
            let state = history.position.state();
            preferred_search(built, RoleId::from_index(role), state, config, true)
        });
        match effort {
            Effort::Time(time) => {
                let slice = SLICE.min(time.saturating_sub(spent.time));
                searcher.search(begin + slice, stop);
            }
            Effort::Iterations(count) => {
                let now = spent.next_iterations(count.saturating_sub(spent.iterations));
                searcher.search_iterations(now, stop);
                spent.iterations += now;
            }
        }
        spent.time += begin.elapsed();
        let is_proven = searcher.best_move().is_some_and(|it| it.is_proven_best);
        if !is_proven && !spent.is_enough(effort) && !*is_hurried {
            return None;
        }
        *is_hurried = false;
        Some(std::mem::take(spent).time)
    }

    /// What people see of the choice of a role.
    fn found(
        &self,
        game: &Game,
        role: usize,
        mv: MoveId,
        best: Option<MoveStats>,
        plan: Option<PlanStatus>,
        root_moves: &[MoveStats<String>],
    ) -> Found {
        let goal = plan.as_ref().and_then(|plan| plan.goal);
        let moves = plan.as_ref().map_or(&[][..], |plan| &plan.moves);
        let info = game.history.info();
        let first = moves.first().map(|&mv| info.move_text(mv));
        Found {
            turn: game.history.turn(),
            role: self.opened.roles[role].clone(),
            text: info.move_text(mv),
            value: match goal.filter(|_| moves.first() == Some(&mv)) {
                Some(goal) => Some(goal.into()),
                None => best.and_then(|best| best.value).map(f64::from),
            },
            candidates: candidates(root_moves, first.as_ref().zip(goal)),
            visits: best.map_or(0, |best| best.visits as u64),
            is_proven: best.is_some_and(|best| best.is_proven_best),
            plan: moves.iter().map(|&mv| info.move_text(mv)).collect(),
        }
    }

    /// A role has chosen.
    fn choose(&mut self, game: &mut Game, role: usize, mv: MoveId) {
        game.choices[role] = Some(mv);
        self.show(game);
        self.publish();
    }

    /// Makes the joint move of all choices.
    fn make(&mut self, game: &mut Game, joint_move: Vec<MoveId>) {
        let turn = game.history.turn();
        let pace = if game.is_chosen { Duration::ZERO } else { PACE };
        game.due = Instant::now() + pace;
        game.history.make(&joint_move);
        let is_terminal = game.history.position.is_terminal();
        let state = game.history.position.state();
        for search in game.searches.iter_mut().flatten() {
            search.advance(&joint_move, state);
        }
        let text = |&mv: &MoveId| game.history.info().move_text(mv);
        let texts: Vec<String> = joint_move.iter().map(text).collect();
        if let Some(record) = &game.record {
            record.played(turn, &texts);
            record.position(turn + 1, &game.history.position.facts(), is_terminal);
        }
        self.view.moves.push(texts);
        if let Some(found) = game.found.take() {
            self.view.answer = Some(found);
        }
        self.enter(game);
    }

    /// Enters the present state: chooses for roles without a choice, for that of chance, and where
    /// Panza plays at random, and ends a game that is over.
    fn enter(&mut self, game: &mut Game) {
        self.published
            .note_turns(&game.built.machine, game.history.states());
        (self.view.hint, game.hint_for) = (None, None);
        (self.view.thinks_for, self.view.thinks_since) = (None, None);
        game.spent = Spent::default();
        (game.is_hurried, game.is_chosen) = (false, false);
        self.show_phase(&mut game.history);
        if let Some(goals) = &self.view.goals
            && let Some(record) = game.record.take()
        {
            let named = self.opened.roles.iter().cloned().zip(goals.iter().copied());
            record.ended("stopped", &named.collect::<Vec<_>>());
        }
        let is_random = self.effort == Effort::Iterations(0);
        for role in 0..game.choices.len() {
            let is_chance = self.opened.roles[role] == CHANCE_ROLE;
            let draws = (is_chance || is_random) && !self.opened.is_person[role];
            game.choices[role] = match game.history.legal(role) {
                &[only] => Some(only),
                moves if draws && !moves.is_empty() => {
                    Some(moves[game.random.below(moves.len() as u32) as usize])
                }
                _ => None,
            };
            if self.view.phase == Phase::Playing && game.history.legal(role).is_empty() {
                self.view.phase = Phase::Failed;
                let role = &self.opened.roles[role];
                self.view.problem =
                    Some(format!("{role} has no legal move, though the game goes on"));
            }
        }
        self.show(game);
        self.publish();
    }

    /// Writes the present state to the view.
    fn show(&mut self, game: &mut Game) {
        let is_playing = self.view.phase == Phase::Playing;
        let mut is_asked = self.opened.is_person.clone();
        for (role, is_asked) in is_asked.iter_mut().enumerate() {
            let has_chosen = game.choices[role].is_some();
            *is_asked &= !has_chosen && is_playing;
            self.view.chosen[role] = has_chosen && game.history.legal(role).len() > 1;
        }
        self.show_position(&mut game.history, &is_asked);
    }

    /// Does what a person asks for, or says why not.
    fn apply_game_command(&mut self, game: &mut Game, command: Command) -> Result<(), String> {
        match command {
            Command::Think(effort) => self.effort = effort.bounded(),
            Command::Pause { on } => self.view.paused = on,
            Command::Now => match self.thinker(game) {
                Some(_) => game.is_hurried = true,
                None => return Err("Panza is not thinking".to_string()),
            },
            Command::Switch => return self.switch_sides(game),
            // The table is gone before its thread could be told.
            Command::Close => {}
            Command::Go { .. }
            | Command::Check { .. }
            | Command::Lines { .. }
            | Command::Watch { .. }
            | Command::Review { .. }
            | Command::EndReview => return Err("that is for games that are studied".to_string()),
            Command::Undo => return self.take_back(game),
            Command::Move { turn, role, text } => {
                let role = self.person(game, &role)?;
                if turn != game.history.turn() {
                    return Err("this move was for an earlier position".to_string());
                }
                let mv = game.legal_move(role, &text);
                let mv = mv.ok_or_else(|| format!("{text} is not legal here"))?;
                // Who makes a move wants the game to go on.
                self.view.paused = false;
                game.is_chosen = true;
                self.choose(game, role, mv);
            }
            Command::Hint { role } => {
                let role = self.person(game, &role)?;
                game.spent = Spent::default();
                game.hint_for = Some(role);
                self.view.hint = None;
            }
            Command::Resign { role } => return self.resign(game, role),
        }
        Ok(())
    }

    /// Panza plays the roles that people played, and people those of Panza.
    fn switch_sides(&mut self, game: &mut Game) -> Result<(), String> {
        if self.view.phase != Phase::Playing || !self.view.people.contains(&true) {
            return Err("there are no sides to switch".to_string());
        }
        let roles = self.opened.roles.iter();
        for (is_person, role) in self.opened.is_person.iter_mut().zip(roles) {
            *is_person = !*is_person && role != CHANCE_ROLE;
        }
        self.view.people.clone_from(&self.opened.is_person);
        if let Some(record) = &game.record {
            record.seated(&self.logged_role(), &self.players());
        }
        game.searches.iter_mut().for_each(|search| *search = None);
        (self.view.answer, game.found) = (None, None);
        self.enter(game);
        Ok(())
    }

    /// Goes back to the last turn on which a person had a choice.
    fn take_back(&mut self, game: &mut Game) -> Result<(), String> {
        let turn = game.history.last_choice(&self.opened.is_person);
        let turn = turn.ok_or("there is no move to take back")?;
        if let Some(record) = &game.record {
            record.note(&format!("the moves from step {turn} on are taken back"));
        }
        game.history.go_back(turn);
        self.view.moves.truncate(turn);
        // The searches have nothing of earlier states any more.
        game.searches.iter_mut().for_each(|search| *search = None);
        self.view.resigned = None;
        (self.view.answer, game.found) = (None, None);
        self.enter(game);
        Ok(())
    }

    /// A person gives the game up for a role.
    fn resign(&mut self, game: &mut Game, role: String) -> Result<(), String> {
        self.person(game, &role)?;
        if let Some(record) = game.record.take() {
            record.note(&format!("{role} resigns"));
            record.ended("resigned", &[]);
        }
        self.view.resigned = Some(role);
        self.view.phase = Phase::Over;
        self.show(game);
        Ok(())
    }

    /// The role of this name, which a person plays, in a game that goes on.
    fn person(&self, game: &Game, name: &str) -> Result<usize, String> {
        let role = self.opened.roles.iter().position(|role| role == name);
        let role = role.filter(|&role| self.opened.is_person[role]);
        let role = role.ok_or_else(|| format!("nobody plays {name} here"))?;
        if self.view.phase != Phase::Playing {
            return Err("the game is over".to_string());
        }
        match game.choices[role] {
            Some(_) => Err(format!("{name} has chosen already")),
            None => Ok(role),
        }
    }
}

/// The moves that Panza weighed, each with visits and value. `known` is the move that begins a
/// plan, and the goal of the plan: values of random games say nothing beside it.
fn candidates(
    moves: &[MoveStats<String>],
    known: Option<(&String, u8)>,
) -> Vec<(String, u64, f64)> {
    let shown = moves.iter().take(MAX_CANDIDATES).map(|found| {
        let value = match known {
            Some((first, goal)) if found.mv == *first => Some(f32::from(goal)),
            Some(_) => found.proven().map(f32::from),
            None => found.value,
        };
        let value = value.map_or(f64::NAN, f64::from);
        (found.mv.clone(), found.visits as u64, value)
    });
    shown.collect()
}

impl Game {
    /// The legal move of a role with this text.
    fn legal_move(&mut self, role: usize, text: &str) -> Option<MoveId> {
        let info = self.history.info();
        let mv = info.find_move(RoleId::from_index(role), text);
        mv.filter(|mv| self.history.legal(role).contains(mv))
    }
}

/// Characters of names of games that have a meaning in names of matches become others.
fn plain(c: char) -> char {
    match c {
        '.' | '/' | '\\' => '_',
        c if c.is_control() || c.is_whitespace() => '_',
        c => c,
    }
}
