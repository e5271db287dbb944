//! The current build as an engine: builds and studies games and searches them as a match does.
//!
//! Invariants: without rollout threads, thinking is limited by processor time, so that a loaded
//! machine changes nothing; training in a study is too. With rollout threads thinking is limited by
//! time on the clock.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use panza_cli::engine_choice::parse_width;
use panza_config::{MetagameSettings, Settings};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::Reasoner;
use panza_metagame::{Preparation, PreparationBudget, WithoutInputs, prepare};
use panza_player::{
    MatchConfig, MatchSearcher, PreparationOf, Preparations, preferred_search, prepared_search,
    search_config,
};
use panza_search::{Method, PARAMETERS, Parameter, PreparationEffect, SearchConfig, WhyTree};
use panza_sync::Stopwatch;
use panza_telemetry::COMMIT;
use serde_json::{Value, json};

use super::builds::{Builds, NamedGame};
use super::protocol::{Command, Engine, PARTS, Thought};
use super::stored;
use crate::trained::prior_preparation;

/// The time that a search has spent on a move.
type Spent<'a> = &'a dyn Fn(&dyn MatchSearcher) -> Duration;

/// The current build.
pub struct LocalEngine {
    builds: Builds,
    settings: Settings,
    overrides: Overrides,
    game: Option<PlayedGame>,
}

/// What `set` overrides.
struct Overrides {
    /// The settings of an unstudied game.
    search: SearchConfig,
    /// Parameters that a study chooses, and their values instead of its own.
    chosen: Vec<(&'static Parameter, f64)>,
    is_factored: bool,
    /// The parts that are switched off.
    off: Vec<&'static str>,
    /// The memory file that studies begin with.
    memory: Option<PathBuf>,
    /// Lanes of a machine; `None` measures the fastest.
    width: Option<usize>,
}

struct PlayedGame {
    game: NamedGame,
    studies: Vec<SeededPreparation>,
    /// The study in use.
    study: Option<usize>,
    reasoner: Box<dyn Reasoner>,
    state: Vec<u64>,
    /// The search of each role, if it has one.
    searches: Vec<Option<Box<dyn MatchSearcher>>>,
    /// Whether a move was made since the game began.
    has_begun: bool,
}

struct SeededPreparation {
    origin: Origin,
    studies: Preparations,
}

/// Where a study comes from.
#[derive(PartialEq)]
enum Origin {
    Made { seconds: f64, seed: u64 },
    File(String),
}

impl LocalEngine {
    /// An engine without a game.
    pub fn new() -> anyhow::Result<Self> {
        Self::with_builds(Builds::default())
    }

    pub(super) fn with_builds(builds: Builds) -> anyhow::Result<Self> {
        let settings = Settings::load(None, &[])?;
        Ok(Self {
            overrides: Overrides {
                search: SearchConfig {
                    rollout_threads: 0,
                    ..search_config(&settings.search, 0)
                },
                chosen: Vec::new(),
                is_factored: settings.search.factored,
                off: Vec::new(),
                memory: None,
                width: None,
            },
            builds,
            settings,
            game: None,
        })
    }

    fn take_game(&mut self, game: NamedGame) -> Value {
        let machine = Arc::clone(&game.built.machine);
        let info = machine.info();
        let reply = json!({"game": game.name, "machine": machine.kind(), "roles": info.roles()});
        let mut played = PlayedGame {
            game,
            studies: Vec::new(),
            study: None,
            reasoner: Arc::clone(&machine).reasoner(),
            state: Vec::new(),
            searches: Vec::new(),
            has_begun: false,
        };
        played.restart();
        self.game = Some(played);
        reply
    }

    fn game(&mut self) -> anyhow::Result<&mut PlayedGame> {
        self.game
            .as_mut()
            .context("no game; `game PATH` comes first")
    }

    fn study(&mut self, seconds: f64, seed: u64) -> anyhow::Result<Value> {
        let config = self.overrides.config(seed);
        let is_factored = self.overrides.is_factored;
        let metagame = MetagameSettings {
            learning: true,
            ..self.settings.metagame.clone()
        };
        let without = WithoutInputs {
            tuples: self.overrides.is_off("tuples"),
            prospects: self.overrides.is_off("prospects"),
        };
        let memory = self.overrides.memory.clone();
        let played = self.game()?;
        let origin = Origin::Made { seconds, seed };
        let is_same = |known: &SeededPreparation| known.origin == origin;
        played.study = played.studies.iter().position(is_same);
        let of = played.preparation_of(&config, is_factored);
        if seconds > 0.0 && played.study.is_none() && of != PreparationOf::Nothing {
            let (whole, rules) = (&played.game.built, &played.game.rules);
            let memory = memory.filter(|_| of == PreparationOf::Game);
            let prior = memory.map(|path| prior_preparation(&path, rules, whole));
            let mut prior = prior.transpose()?;
            let (games, config) = (of.games(whole), of.config(&config));
            let time = Duration::from_secs_f64(seconds / games.len().max(1) as f64);
            let studies = games.iter().map(|game| {
                let budget = PreparationBudget {
                    without,
                    processor_time: true,
                    ..PreparationBudget::before_first_move(&metagame, time, &Arc::default())
                };
                prepare(game, prior.take(), &config, &budget)
            });
            let studies = Preparations::new(of, studies.collect());
            played.studies.push(SeededPreparation { origin, studies });
            played.study = Some(played.studies.len() - 1);
        }
        Ok(studied(played.studies()))
    }

    fn save(&mut self, file: &str) -> anyhow::Result<Value> {
        let played = self.game()?;
        let study = played.studies().and_then(Preparations::of_game);
        stored::save(Path::new(file), &played.game, study)?;
        Ok(json!({}))
    }

    fn load(&mut self, file: &str) -> anyhow::Result<Value> {
        let played = self.game()?;
        let origin = Origin::File(file.to_string());
        let is_same = |known: &SeededPreparation| known.origin == origin;
        played.study = played.studies.iter().position(is_same);
        if played.study.is_none()
            && let Some(study) = stored::load(Path::new(file), &played.game)?
        {
            let studies = Preparations::new(PreparationOf::Game, vec![study]);
            played.studies.push(SeededPreparation { origin, studies });
            played.study = Some(played.studies.len() - 1);
        }
        Ok(studied(played.studies()))
    }

    fn start(&mut self, role: usize, seed: u64) -> anyhow::Result<Value> {
        let studies = self.game()?.studies().cloned();
        let config = self.overrides.match_config(studies.as_ref(), seed);
        let (is_factored, method) = (self.overrides.is_factored, config.whole.method);
        let played = self.game()?;
        let n_roles = played.searches.len();
        if role >= n_roles {
            bail!("ROLE is {role}; the game has {n_roles} roles, from 0");
        }
        if played.has_begun {
            played.restart();
        }
        let (built, role_id) = (&played.game.built, RoleId::from_index(role));
        let search = prepared_search(built, role_id, &played.state, &config, is_factored);
        let reason = search.why_tree();
        if let Some(reason) = reason.filter(|_| method == Method::AlphaBeta) {
            bail!("{reason}");
        }
        let reply = json!({
            "role": built.info().role_name(role_id),
            "search": search.name(),
            "why_tree": reason.map(WhyTree::text),
        });
        played.searches[role] = Some(search);
        Ok(reply)
    }
}

impl Overrides {
    /// What limits the thinking: nobody sees the processor time of rollout threads.
    fn stopwatch(&self) -> Stopwatch {
        match self.search.rollout_threads {
            0 => Stopwatch::start(),
            _ => Stopwatch::on_wall(),
        }
    }

    fn set(&mut self, key: &str, value: &str) -> anyhow::Result<()> {
        if let Some(parameter) = Parameter::find(key) {
            let value = parameter.read(value).map_err(|why| anyhow!(why))?;
            match parameter.preparation {
                PreparationEffect::Chooses => self.chosen.push((parameter, value)),
                PreparationEffect::None | PreparationEffect::Scales => {
                    parameter.set(&mut self.search, value)
                }
            }
            return Ok(());
        }
        if let Some(&part) = PARTS.iter().find(|part| **part == key) {
            let is_on = switch(key, value)?;
            self.off.retain(|off| *off != part);
            self.off.extend((!is_on).then_some(part));
            return Ok(());
        }
        match key {
            "method" => {
                let method = Method::find(value);
                let names = || Method::ALL.map(Method::name).join(", ");
                self.search.method = method
                    .with_context(|| format!("{key} is `{value}`; expected one of {}", names()))?;
            }
            "factored" => self.is_factored = switch(key, value)?,
            "memory" => self.memory = Some(PathBuf::from(value)),
            "width" if value == "0" => self.width = None,
            "width" => {
                let width = parse_width(value);
                let width = width.map_err(|why| anyhow!("{key} is `{value}`; {why}, or 0"))?;
                self.width = Some(width);
            }
            _ => bail!(
                "unknown setting `{key}`; the settings are {}",
                keys().join(", ")
            ),
        }
        Ok(())
    }

    /// The settings of a search without a study.
    fn config(&self, seed: u64) -> SearchConfig {
        SearchConfig {
            seed,
            ..self.search.clone()
        }
    }

    /// The settings of the searches.
    fn match_config(&self, studies: Option<&Preparations>, seed: u64) -> MatchConfig {
        let config = self.config(seed);
        let Some(studies) = studies else {
            return config.into();
        };
        let mut studies = studies.clone();
        for (parameter, value) in &self.chosen {
            if parameter.name == "evaluation_share" {
                let set =
                    |study: &mut Preparation| study.parameters.evaluation_share = *value as f32;
                studies.preparations.iter_mut().for_each(set);
            }
        }
        let mut found = studies.apply(&config);
        for config in found.parts.iter_mut().chain([&mut found.whole]) {
            for (parameter, value) in &self.chosen {
                parameter.set(config, *value);
            }
            self.leave_parts_out(config);
        }
        found
    }

    fn leave_parts_out(&self, config: &mut SearchConfig) {
        if self.is_off("amaf") {
            config.placements = None;
        }
        if self.is_off("ranges") {
            config.score_ranges = Arc::from([]);
        }
    }

    fn is_off(&self, part: &str) -> bool {
        self.off.contains(&part)
    }
}

/// The reply to `study` and `load`.
///
/// Where parts were studied, games are those of all parts, and the settings are means.
fn studied(studies: Option<&Preparations>) -> Value {
    let studies = studies.map(|it| &it.preparations[..]).unwrap_or_default();
    let mean =
        |of: fn(&Preparation) -> f32| studies.iter().map(of).sum::<f32>() / studies.len() as f32;
    match studies.is_empty() {
        false => json!({
            "games": studies.iter().map(|study| study.games).sum::<usize>(),
            "evaluation_share": mean(|study| study.parameters.evaluation_share),
        }),
        true => json!({"games": 0, "evaluation_share": 0}),
    }
}

fn switch(key: &str, value: &str) -> anyhow::Result<bool> {
    let switch = value.parse().ok();
    switch.with_context(|| format!("{key} is `{value}`; expected true or false"))
}

/// The keys that `set` takes.
pub(super) fn keys() -> Vec<&'static str> {
    let parameters = PARAMETERS.iter().map(|it| it.name);
    let others = ["method", "factored", "memory", "width"];
    parameters.chain(PARTS).chain(others).collect()
}

impl PlayedGame {
    fn studies(&self) -> Option<&Preparations> {
        self.study.map(|index| &self.studies[index].studies)
    }

    /// Goes back to the initial state, without searches.
    fn restart(&mut self) {
        let machine = &self.game.built.machine;
        self.state = machine.initial_state();
        self.reasoner.set_state(&self.state);
        self.searches.clear();
        self.searches.resize_with(machine.info().n_roles(), || None);
        self.has_begun = false;
    }

    /// What a match would study.
    fn preparation_of(&self, config: &SearchConfig, is_factored: bool) -> PreparationOf {
        let built = &self.game.built;
        let initial = built.machine.initial_state();
        preferred_search(built, RoleId(0), &initial, config, is_factored).preparation_of()
    }

    fn advance(&mut self, moves: &[String]) -> anyhow::Result<Value> {
        let machine = Arc::clone(&self.game.built.machine);
        let info = machine.info();
        if self.reasoner.is_terminal() {
            bail!("the game is over");
        }
        if moves.len() != info.n_roles() {
            bail!("{} moves for {} roles", moves.len(), info.n_roles());
        }
        let mut joint_move: Vec<MoveId> = Vec::with_capacity(moves.len());
        for (role, text) in moves.iter().enumerate() {
            let role = RoleId::from_index(role);
            let name = info.role_name(role);
            let mv = info.find_move(role, text);
            let mv = mv.with_context(|| format!("{name} has no move `{text}`"))?;
            if !self.reasoner.legal_moves(role).contains(&mv) {
                bail!("`{text}` is not legal here for {name}");
            }
            joint_move.push(mv);
        }
        let mut next = Vec::with_capacity(self.state.len());
        self.reasoner.next_state(&joint_move, &mut next);
        self.reasoner.set_state(&next);
        self.state = next;
        self.has_begun = true;
        for search in self.searches.iter_mut().flatten() {
            search.advance(&joint_move, &self.state);
        }
        Ok(json!({}))
    }

    /// The search of a role.
    fn search_of(&mut self, role: usize) -> anyhow::Result<&mut Box<dyn MatchSearcher>> {
        let search = self.searches.get_mut(role).and_then(Option::as_mut);
        search.with_context(|| format!("role {role} has no search; `new` makes it"))
    }

    /// Runs the search of a role, and reports on it.
    fn think(
        &mut self,
        role: usize,
        stopwatch: Stopwatch,
        run: impl FnOnce(&mut dyn MatchSearcher, Spent<'_>),
    ) -> anyhow::Result<Value> {
        if self.reasoner.is_terminal() {
            bail!("the game is over");
        }
        let search = self.search_of(role)?;
        let before = search.sample();
        let own = search.processor_time();
        let spent = |search: &dyn MatchSearcher| match stopwatch.is_on_wall() {
            true => stopwatch.elapsed(),
            false => stopwatch.elapsed() + search.processor_time().saturating_sub(own),
        };
        run(search.as_mut(), &spent);
        let seconds = spent(search.as_ref()).as_secs_f64();
        let best = search.best_move().context("no legal move")?;
        let after = search.sample();
        let thought = Thought {
            mv: self.game.built.info().move_text(best.mv),
            visits: best.visits as u64,
            iterations: after.iterations.saturating_sub(before.iterations),
            playouts: after.playouts.saturating_sub(before.playouts),
            depth: after.depth,
            value: best.value.map(f64::from).filter(|value| value.is_finite()),
            proven: best.is_proven_best,
            seconds,
        };
        Ok(serde_json::to_value(thought)?)
    }
}

impl Engine for LocalEngine {
    fn ask(&mut self, command: &Command) -> anyhow::Result<Value> {
        match command {
            Command::Version => Ok(json!({
                "name": "Panza",
                "commit": COMMIT.unwrap_or("unknown"),
            })),
            Command::Game(path) => {
                let game = self.builds.get(path, self.overrides.width)?;
                Ok(self.take_game(game))
            }
            Command::Study { seconds, seed } => self.study(*seconds, *seed),
            Command::Save(file) => self.save(file),
            Command::Load(file) => self.load(file),
            Command::Set { key, value } => self.overrides.set(key, value).map(|()| json!({})),
            Command::New { role, seed } => self.start(*role, *seed),
            Command::Advance(moves) => self.game()?.advance(moves),
            Command::Think { role, milliseconds } => {
                let budget = Duration::from_secs_f64(milliseconds / 1e3);
                let stopwatch = self.overrides.stopwatch();
                let think = |search: &mut dyn MatchSearcher, spent: Spent<'_>| {
                    search_for(search, budget, spent);
                };
                self.game()?.think(*role, stopwatch, think)
            }
            Command::Ponder { role, milliseconds } => {
                let until = Instant::now() + Duration::from_secs_f64(milliseconds / 1e3);
                let search = self.game()?.search_of(*role)?;
                while Instant::now() < until {
                    search.ponder(until, &Arc::default());
                }
                Ok(json!({}))
            }
            Command::Iterate { role, iterations } => {
                let stopwatch = self.overrides.stopwatch();
                let iterate = |search: &mut dyn MatchSearcher, _: Spent<'_>| {
                    search.search_iterations(*iterations, &Arc::default())
                };
                self.game()?.think(*role, stopwatch, iterate)
            }
            Command::Quit => Ok(json!({})),
        }
    }
}

/// Searches until `spent` reaches the budget, or nothing is left to search.
fn search_for(search: &mut dyn MatchSearcher, budget: Duration, spent: Spent<'_>) {
    let never = Arc::new(AtomicBool::new(false));
    while let left = budget.saturating_sub(spent(search))
        && !left.is_zero()
    {
        let until = Instant::now() + left;
        search.search(until, &never);
        // A search that ends before its deadline has proven the position.
        if Instant::now() < until {
            return;
        }
    }
}
