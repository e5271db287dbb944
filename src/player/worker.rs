//! The match thread: owns the machine and the search of one match, from START to its end.
//!
//! It takes orders between slices of thought; an order sets the interrupt flag, which ends the
//! slice. Its advice for the position it stands on lies in a slot that the conductor reads, renewed
//! after each slice. Machines are built, and games studied, on threads of their own (`errands`).
//!
//! When game code panics, the next stage of [`Stage`] takes over: the search, the sampler, then
//! both again on the machine of last resort. When nothing is left, there is no advice, and the
//! conductor answers without.

mod errands;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Sender, after, select, unbounded};

use super::engine::{Engine, ThinkerFactory};
use super::link::{Advice, Order, WorkerLink};
use super::record::Record;
use super::stages::Stages;
use crate::build::{BuiltGame, GameBuilders};
use crate::config::MetagameSettings;
use crate::gdl::Rules;
use crate::metagame::{MatchMemory, Study};
use crate::search::SearchConfig;
use crate::telemetry::{Archive, StageTimes, panic_text};

/// How long one slice of thought lasts at most.
const SLICE: Duration = Duration::from_millis(5);
/// How long it pauses between slices while the game is studied.
const BETWEEN_SLICES: Duration = Duration::from_millis(45);
/// How often figures are noted.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);
/// Deep recursion in reading or building is paid from this stack.
const STACK_BYTES: usize = 64 << 20;

/// A match for a match thread.
pub(super) struct Assignment {
    pub rules: Arc<Rules>,
    /// Our role's name and its place in the rulesheet.
    pub role: (String, usize),
    /// Until when the machine may be built; the one of last resort is asked for then, if none has
    /// come.
    pub build_until: Instant,
    pub memory: usize,
    pub factories: GameBuilders,
    /// When START is answered.
    pub ready_by: Instant,
    /// The search's settings before anything is known of the game.
    pub search: SearchConfig,
    pub metagame: MetagameSettings,
    /// Makes thinkers, in the order in which they are tried on a machine, from the search's
    /// settings.
    pub thinkers: Box<dyn Fn(SearchConfig) -> Vec<Box<ThinkerFactory>> + Send>,
    pub record: Record,
    /// What is known of the game from before, and what is to be known of it later.
    pub memory_of_game: MatchMemory,
    /// All logs, and what they may take; nothing where this match has none.
    pub archive: Option<(Arc<Archive>, u64)>,
    /// Called when there is advice worth a look.
    pub wake: Box<dyn Fn() + Send>,
    /// Dropped when the last thread of the match is gone.
    pub alive: Sender<()>,
}

/// What plays: a machine and a thinker on it, by their places in order of preference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Stage {
    is_fallback: bool,
    thinker: usize,
}

/// A machine that came from a builder thread.
struct Built {
    is_fallback: bool,
    outcome: Result<BuiltGame, String>,
    took: Duration,
}

/// What comes back from builder threads.
enum News {
    Built(Built),
    /// What was learned about the game.
    Studied(Result<Box<Study>, String>),
}

/// Starts a match thread.
///
/// # Errors
/// The system gives no thread.
pub(super) fn spawn(assignment: Assignment, link: WorkerLink) -> std::io::Result<()> {
    let (built_sender, built) = unbounded();
    let thinkers = (assignment.thinkers)(assignment.search.clone());
    let worker = Worker {
        assignment,
        thinkers,
        studying_until: None,
        link,
        built,
        built_sender,
        cancelled: Arc::new(AtomicBool::new(false)),
        main: Building::NotAsked,
        fallback: Building::NotAsked,
        playing: None,
        moves: Vec::new(),
        facts: PositionFacts::default(),
        next_sample: Instant::now() + SAMPLE_EVERY,
        last_sample: (Instant::now(), 0, 0),
        stages: Stages::default(),
        noted_positions: 0,
    };
    std::thread::Builder::new()
        .name("match".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let orders = worker.link.orders.clone();
            let record = worker.assignment.record.clone();
            let alive = worker.assignment.alive.clone();
            let archive = worker.assignment.archive.clone();
            // The worker catches the panics of game code; this is for its own.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| worker.run())) {
                record.error(&format!(
                    "the match thread panicked: {}",
                    panic_text(&*panic)
                ));
                record.ended("the match thread panicked", &[]);
            }
            // Until the conductor has let go of the notes, so that it never waits for the disk.
            while orders.recv().is_ok() {}
            drop(record);
            drop(alive);
            if let Some((archive, most_bytes)) = archive
                && let Err(error) = archive.prune(most_bytes)
            {
                tracing::warn!("old logs were not removed: {error}");
            }
        })
        .map(drop)
}

/// How far a machine is.
enum Building {
    NotAsked,
    UnderWay,
    Here(BuiltGame),
    Failed,
}

/// What holds at the position, whatever is thought of it.
#[derive(Clone, Copy, Default)]
struct PositionFacts {
    is_terminal: bool,
    is_only: bool,
    repeat_is_legal: bool,
    /// What the conductor was woken for here: first advice, settled advice, proven advice.
    was_announced: bool,
    was_settled: bool,
    was_proven: bool,
}

struct Worker {
    assignment: Assignment,
    /// With what is known of the game by now.
    thinkers: Vec<Box<ThinkerFactory>>,
    /// Until when the game is being studied: the search leaves most of the time to that. A study
    /// that is late gets no more.
    studying_until: Option<Instant>,
    link: WorkerLink,
    built: Receiver<News>,
    built_sender: Sender<News>,
    cancelled: Arc<AtomicBool>,
    main: Building,
    fallback: Building,
    playing: Option<(Stage, Engine)>,
    /// All joint moves that were played, as they were told.
    moves: Vec<Vec<String>>,
    facts: PositionFacts,
    next_sample: Instant,
    /// When figures were noted last, and the iterations and playouts up to then.
    last_sample: (Instant, u64, u64),
    stages: Stages,
    /// How many positions of the match are noted.
    noted_positions: usize,
}

impl Worker {
    fn run(mut self) {
        self.ask_for_main();
        // What threads have used before this match is no part of it.
        self.stages.since_last(&StageTimes::default(), 1.0);
        loop {
            self.link.interrupt.store(false, Ordering::Release);
            while let Ok(order) = self.link.orders.try_recv() {
                if !self.obey(order) {
                    return;
                }
            }
            while let Ok(news) = self.built.try_recv() {
                self.hear(news);
            }
            self.ask_for_fallback_in_time();
            if self.is_worth_thought() {
                self.think();
                if self.is_studying() && !self.wait() {
                    return;
                }
            } else if !self.wait() {
                return;
            }
            self.sample();
        }
    }

    /// Does what an order says; false at the end of the match.
    fn obey(&mut self, order: Order) -> bool {
        match order {
            Order::Advance(moves) => {
                self.follow(moves);
                true
            }
            Order::Answered(position) => {
                if position == self.moves.len()
                    && let Some(sample) = self.attempt(|engine| engine.thinker.sample())
                {
                    let record = &self.assignment.record;
                    record.root_moves(position, &sample.root_moves);
                }
                true
            }
            Order::Finish(moves) => {
                if let Some(moves) = moves {
                    self.follow(moves);
                }
                let goals = self.attempt(|engine| {
                    if engine.is_terminal() {
                        engine.goals()
                    } else {
                        Vec::new()
                    }
                });
                self.end("stopped", &goals.unwrap_or_default());
                false
            }
            Order::Abandon(why) => {
                self.end(why, &[]);
                false
            }
        }
    }

    /// Writes down how the match ended.
    fn end(&self, how: &str, goals: &[(String, Option<u8>)]) {
        self.assignment.record.ended(how, goals);
        self.assignment
            .memory_of_game
            .end(how, goals, self.moves.len());
    }

    /// Waits for something to happen; false when the conductor is gone.
    fn wait(&mut self) -> bool {
        let now = Instant::now();
        let mut until = self.next_sample;
        if matches!(self.fallback, Building::NotAsked) && self.playing.is_none() {
            until = until.min(self.assignment.build_until);
        }
        if self.is_studying() {
            until = until.min(now + BETWEEN_SLICES);
        }
        let timeout = after(until.saturating_duration_since(now));
        select! {
            recv(self.link.orders) -> order => match order {
                Ok(order) => self.obey(order),
                Err(_) => {
                    self.end("the player is gone", &[]);
                    false
                }
            },
            // The worker holds a sender itself, so that this never fails.
            recv(self.built) -> news => {
                if let Ok(news) = news {
                    self.hear(news);
                }
                true
            }
            recv(timeout) -> _ => true,
        }
    }

    fn is_worth_thought(&self) -> bool {
        self.playing.is_some() && !self.facts.is_terminal && !self.facts.was_proven
    }

    fn think(&mut self) {
        let interrupt = Arc::clone(&self.link.interrupt);
        self.attempt(|engine| engine.thinker.think(Instant::now() + SLICE, &interrupt));
        self.advise();
    }

    /// Plays on from the joint move that was made.
    fn follow(&mut self, moves: Vec<String>) {
        self.assignment.record.played(self.moves.len(), &moves);
        let played = moves.clone();
        // The move is in the list before the engine sees it: should the engine fail, its successor
        // replays the list.
        self.moves.push(moves);
        let faults = self.attempt(|engine| engine.advance(&played));
        for fault in faults.unwrap_or_default() {
            self.assignment.record.warning(&fault);
        }
        self.look();
    }

    /// Runs game code. A panic in it costs the stage: the next one takes over, and nothing is
    /// returned.
    fn attempt<T>(&mut self, action: impl FnOnce(&mut Engine) -> T) -> Option<T> {
        let (stage, engine) = self.playing.as_mut()?;
        let stage = *stage;
        match catch_unwind(AssertUnwindSafe(|| action(engine))) {
            Ok(outcome) => Some(outcome),
            Err(panic) => {
                let text = panic_text(&*panic);
                let name = engine.thinker.name();
                self.assignment
                    .record
                    .error(&format!("the {name} panicked: {text}"));
                self.succeed(stage);
                None
            }
        }
    }

    /// Puts in place what comes after a stage that failed.
    fn succeed(&mut self, failed: Stage) {
        self.discard();
        let next = Stage {
            thinker: failed.thinker + 1,
            ..failed
        };
        if next.thinker < self.thinkers.len() {
            self.install(next);
        } else if failed.is_fallback {
            self.fallback = Building::Failed;
        } else {
            self.main = Building::Failed;
            self.ask_for_fallback();
            self.install_first(true);
        }
    }

    /// Lets go of the engine, on a thread of its own: a search waits for its rollout threads, which
    /// may be in the midst of something long, and destructors may panic too.
    fn discard(&mut self) {
        let Some(playing) = self.playing.take() else {
            return;
        };
        let alive = self.assignment.alive.clone();
        let let_go = move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(move || drop(playing))) {
                let text = panic_text(&*panic);
                tracing::error!("letting go of a machine panicked: {text}");
            }
            drop(alive);
        };
        if let Err(error) = std::thread::Builder::new()
            .name("let-go".into())
            .spawn(let_go)
        {
            // The engine went with the closure, here and now.
            tracing::warn!("no thread to let go of a machine on: {error}");
        }
    }

    fn install_first(&mut self, is_fallback: bool) {
        let stage = Stage {
            is_fallback,
            thinker: 0,
        };
        self.install(stage);
    }

    /// Puts a stage in place, on the position of the match, and looks at it. Stages that fail at
    /// once are passed over, each costing one level of recursion: there are two for each thinker.
    fn install(&mut self, stage: Stage) {
        let building = if stage.is_fallback {
            &self.fallback
        } else {
            &self.main
        };
        let Building::Here(game) = building else {
            return;
        };
        let game = game.clone();
        let Some(thinker) = self.thinkers.get(stage.thinker) else {
            return;
        };
        let (name, place) = &self.assignment.role;
        let moves = &self.moves;
        let made = catch_unwind(AssertUnwindSafe(|| {
            let mut engine = Engine::new(&game, (name, *place), thinker);
            for moves in moves {
                // What is wrong with them was noted when they came.
                engine.advance(moves);
            }
            engine
        }));
        match made {
            Ok(engine) => {
                self.assignment.record.note(&format!(
                    "plays with the {} on the {} machine",
                    engine.thinker.name(),
                    engine.machine.kind()
                ));
                self.playing = Some((stage, engine));
                self.look();
            }
            Err(panic) => {
                self.assignment.record.error(&format!(
                    "the machine panicked on the way to the position: {}",
                    panic_text(&*panic)
                ));
                self.succeed(stage);
            }
        }
    }

    /// Learns what holds at the position, and gives first advice.
    fn look(&mut self) {
        self.facts = PositionFacts::default();
        let last = self.moves.last().cloned();
        let facts = self.attempt(|engine| {
            let is_terminal = engine.is_terminal();
            PositionFacts {
                is_terminal,
                is_only: engine.legal_moves().len() == 1,
                repeat_is_legal: !is_terminal && last.is_some_and(|last| engine.is_legal(&last)),
                ..PositionFacts::default()
            }
        });
        // After a panic the next stage has looked already.
        if let Some(facts) = facts {
            self.facts = facts;
            self.advise();
            self.note_position();
        }
    }

    /// Notes the position, once.
    fn note_position(&mut self) {
        let position = self.moves.len();
        if self.noted_positions > position {
            return;
        }
        self.noted_positions = position + 1;
        let is_terminal = self.facts.is_terminal;
        if let Some(facts) = self.attempt(|engine| engine.facts()) {
            let record = &self.assignment.record;
            record.position(position, &facts, is_terminal);
        }
    }

    /// Lays down the advice for the position, and wakes the conductor when it is the first or the
    /// last word.
    fn advise(&mut self) {
        let position = self.moves.len();
        let facts = self.facts;
        let advice = self.attempt(|engine| {
            let choice = engine.thinker.choice();
            // Without a choice, in a broken game or a finished one, any legal move will do.
            let best = choice
                .map(|choice| choice.best)
                .or_else(|| engine.legal_moves().first().copied())?;
            let text = engine.machine.info().move_text(best);
            (!text.is_empty()).then(|| Advice {
                position,
                text,
                value: choice.and_then(|choice| choice.value),
                visits: choice.map_or(0, |choice| choice.visits),
                is_proven: choice.is_some_and(|choice| choice.is_proven),
                is_only: facts.is_only,
                repeat_is_legal: facts.repeat_is_legal,
            })
        });
        let Some(advice) = advice else {
            return;
        };
        let Some(advice) = advice else {
            self.link.publish(None);
            return;
        };
        let is_news = !self.facts.was_announced
            || (advice.is_settled() && !self.facts.was_settled)
            || (advice.is_proven && !self.facts.was_proven);
        self.facts.was_announced = true;
        self.facts.was_settled |= advice.is_settled();
        self.facts.was_proven = advice.is_proven;
        self.link.publish(Some(advice));
        if is_news {
            (self.assignment.wake)();
        }
    }

    fn sample(&mut self) {
        let now = Instant::now();
        if now < self.next_sample {
            return;
        }
        self.next_sample = now + SAMPLE_EVERY;
        let position = self.moves.len();
        let Some(mut sample) = self.attempt(|engine| engine.thinker.sample()) else {
            return;
        };
        sample.step = u32::try_from(position).unwrap_or(u32::MAX);
        let (then, iterations, playouts) = self.last_sample;
        let seconds = now.saturating_duration_since(then).as_secs_f64();
        let rate = |count: u64, before: u64| count.saturating_sub(before) as f64 / seconds;
        sample.iterations_per_second = rate(sample.iterations, iterations);
        sample.playouts_per_second = rate(sample.playouts, playouts);
        self.last_sample = (now, sample.iterations, sample.playouts);
        let spent = sample.times;
        sample.times = self.stages.since_last(&spent, seconds);
        self.assignment.record.sample(&sample, seconds);
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Built(built) => self.take_in(built),
            News::Studied(Ok(study)) => {
                self.studying_until = None;
                self.apply(&study);
            }
            News::Studied(Err(text)) => {
                self.studying_until = None;
                let text = format!("studying the game failed: {text}");
                self.assignment.record.error(&text);
            }
        }
    }

    fn note_parts(&self, game: &BuiltGame) {
        if let Some(parts) = &game.parts {
            let sizes = parts.parts.iter();
            let sizes: Vec<(usize, usize)> = sizes
                .map(|part| (part.bases.len(), part.is_pass.len()))
                .collect();
            self.assignment.record.parts(&sizes);
        }
    }

    fn is_studying(&self) -> bool {
        self.studying_until
            .is_some_and(|until| Instant::now() < until)
    }

    /// Searches anew with what was learned.
    fn apply(&mut self, study: &Study) {
        self.assignment.record.studied(&study.to_json());
        if !study.is_useful() {
            return;
        }
        let config = study.apply(&self.assignment.search);
        self.thinkers = (self.assignment.thinkers)(config);
        let is_first = |stage: &Stage| !stage.is_fallback && stage.thinker == 0;
        let plays_first = self
            .playing
            .as_ref()
            .is_some_and(|(stage, _)| is_first(stage));
        if plays_first && !self.facts.was_proven {
            self.discard();
            self.install_first(false);
        }
    }

    /// Takes in what a builder made. The real machine replaces the one of last resort, however late
    /// it comes.
    fn take_in(&mut self, built: Built) {
        let name = if built.is_fallback {
            "machine of last resort"
        } else {
            "machine"
        };
        let building = if built.is_fallback {
            &mut self.fallback
        } else {
            &mut self.main
        };
        match built.outcome {
            Ok(game) => {
                let kind = game.machine.kind();
                *building = Building::Here(game.clone());
                self.assignment
                    .record
                    .built(kind, built.is_fallback, built.took);
                let is_better = match &self.playing {
                    None => true,
                    Some((stage, _)) => stage.is_fallback && !built.is_fallback,
                };
                if !built.is_fallback {
                    self.note_parts(&game);
                }
                if is_better {
                    self.discard();
                    self.install_first(built.is_fallback);
                }
                self.find_board(&game.machine);
                if !built.is_fallback {
                    self.study(&game);
                }
            }
            Err(text) => {
                *building = Building::Failed;
                self.assignment.record.error(&format!("no {name}: {text}"));
                if !built.is_fallback {
                    self.ask_for_fallback();
                }
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
        self.discard();
    }
}
