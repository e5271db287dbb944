//! The engine of commit b949d4d, which obeys the commands of `cargo lab engine`.
//!
//! Copy this file to `src/bin/engine.rs` of a checkout of commit b949d4d and run
//! `cargo build --release --bin engine`. (As `examples/engine.rs`, with `--example engine`, it
//! needs the packages of the tests too.) Then, in the current checkout:
//!
//! ```text
//! cargo lab duel --game connectFour --study 5 --b-program 'OLD/target/release/engine'
//! ```
//!
//! No target of this workspace has this file: it uses the library as it was then. Games are built,
//! studied and searched as matches were at that commit, with one exception: a game that falls into
//! parts was searched part by part and not studied. That search is private, so this engine studies
//! and searches the whole game, and says so on standard error.

use std::io::{self, BufRead, Write};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use panza::analysis::effort::Effort;
use panza::analysis::latches::latches;
use panza::analysis::score_ranges::ScoreRanges;
use panza::analysis::symmetry::Symmetries;
use panza::commands::game_source::{Game, Rulesheet};
use panza::config::Settings;
use panza::gdl::Rules;
use panza::ground;
use panza::ids::{Id, MoveId, RoleId};
use panza::machine::random::Random;
use panza::machine::{Machine, Reasoner, Tally};
use panza::player::metagame::{self, Knowledge, MetagameBudget};
use panza::player::{self, Budget, Compiled, Structure, search_config};
use panza::propnet;
use panza::search::{Limit, Search, SearchConfig, Stopped};
use panza::sync::clock::thread_cpu_time;
use serde_json::{Value, json};

const COMMIT: &str = "b949d4d";
/// Time to build a game; after that it is played with the prover.
const BUILD_TIME: Duration = Duration::from_secs(120);
/// The share of a study for the structure: 0.1 of the start clock left, of which a study had 0.7.
const STRUCTURE_SHARE: f64 = 0.1 / 0.7;
/// Limits of the structure, as in `player::structure`.
const STEPS: u64 = 1 << 28;
const MAX_BASES: usize = 2000;
const MAX_EFFECTS: usize = 64;
/// Playouts per request are measured as in `player::searching`.
const MEASURING_TIME: Duration = Duration::from_millis(10);
const ITERATION_TIME: Duration = Duration::from_micros(3);
const MAX_OWN_SAMPLES: u32 = 16;

struct Engine {
    settings: Settings,
    /// The settings of an unstudied game.
    search: SearchConfig,
    evaluation_share: Option<f32>,
    width: Option<usize>,
    game: Option<PlayedGame>,
}

struct PlayedGame {
    rules: Rules,
    machine: Arc<dyn Machine>,
    studies: Vec<(f64, u64, Knowledge)>,
    study: Option<usize>,
    reasoner: Box<dyn Reasoner>,
    state: Vec<u64>,
    searches: Vec<Option<RoleSearch>>,
    has_begun: bool,
}

struct RoleSearch {
    search: Search,
    is_proven: bool,
}

fn main() -> anyhow::Result<()> {
    let mut engine = Engine::new()?;
    for line in io::stdin().lock().lines() {
        let line = line.context("the input cannot be read")?;
        let reply = match engine.obey(line.trim()) {
            Ok(reply) => reply.to_string(),
            Err(error) => format!("error {}", format!("{error:#}").replace('\n', " ")),
        };
        let mut out = io::stdout().lock();
        writeln!(out, "{reply}").and_then(|()| out.flush())?;
        if line.trim() == "quit" {
            break;
        }
    }
    Ok(())
}

impl Engine {
    fn new() -> anyhow::Result<Self> {
        let settings = Settings::load(None, &[])?;
        Ok(Self {
            search: SearchConfig {
                rollout_threads: 0,
                ..search_config(&settings.search, 0)
            },
            settings,
            evaluation_share: None,
            width: None,
            game: None,
        })
    }

    fn obey(&mut self, line: &str) -> anyhow::Result<Value> {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words: Vec<&str> = rest.split_whitespace().collect();
        match (name, &words[..]) {
            ("version", []) => Ok(json!({"name": "Panza", "commit": COMMIT})),
            ("quit", []) => Ok(json!({})),
            ("game", [_, ..]) => self.build(rest.trim()),
            ("study", &[seconds, seed]) => {
                self.study(duration(seconds, "SECONDS")?, number(seed, "SEED")?)
            }
            ("set", &[key, value]) => self.set(key, value).map(|()| json!({})),
            ("new", &[role, seed]) => self.start(number(role, "ROLE")?, number(seed, "SEED")?),
            ("advance", [_, ..]) => {
                let moves: Vec<&str> = rest.split('|').map(str::trim).collect();
                self.game()?.advance(&moves)
            }
            ("think", &[role, milliseconds]) => {
                let budget = Duration::from_secs_f64(duration(milliseconds, "MS")? / 1e3);
                let think = |search: &mut RoleSearch| search.run_for(budget);
                self.game()?.think(number(role, "ROLE")?, think)
            }
            ("iterate", &[role, iterations]) => {
                let limit = Limit {
                    iterations: Some(number(iterations, "N")?),
                    ..Limit::default()
                };
                let iterate = |search: &mut RoleSearch| search.run(limit);
                self.game()?.think(number(role, "ROLE")?, iterate)
            }
            _ => bail!("no command `{line}`; see `cargo lab engine --help`"),
        }
    }

    fn game(&mut self) -> anyhow::Result<&mut PlayedGame> {
        self.game
            .as_mut()
            .context("no game; `game PATH` comes first")
    }

    fn build(&mut self, path: &str) -> anyhow::Result<Value> {
        let Game { sheet, rules } = Game::as_played(Rulesheet::find(path)?)?;
        let memory = self.memory();
        let machine = match self.width {
            Some(width) => build_with_width(&rules, width),
            None => player::build(
                &rules,
                &Budget {
                    until: Instant::now() + BUILD_TIME,
                    memory,
                    cancelled: Arc::default(),
                },
            ),
        };
        let machine = machine.or_else(|_| player::prover(&rules));
        let machine = machine.map_err(|why| anyhow!("`{path}` cannot be built: {why}"))?;
        if machine.parts().is_some() {
            eprintln!(
                "{COMMIT}: {} is played as a whole, not by parts",
                sheet.name
            );
        }
        let roles = (0..machine.n_roles()).map(RoleId::from_index);
        let roles: Vec<String> = roles.map(|role| machine.role_name(role)).collect();
        let reply = json!({"game": sheet.name, "machine": machine.kind(), "roles": roles});
        let mut game = PlayedGame {
            rules,
            reasoner: Arc::clone(&machine).reasoner(),
            machine,
            studies: Vec::new(),
            study: None,
            state: Vec::new(),
            searches: Vec::new(),
            has_begun: false,
        };
        game.restart();
        self.game = Some(game);
        Ok(reply)
    }

    fn memory(&self) -> usize {
        let bytes = self.settings.player.build_memory_mib << 20;
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    fn study(&mut self, seconds: f64, seed: u64) -> anyhow::Result<Value> {
        let config = self.config(None, seed);
        let (metagame, memory) = (self.settings.metagame.clone(), self.memory());
        let game = self.game()?;
        let is_same = |known: &(f64, u64, Knowledge)| (known.0, known.1) == (seconds, seed);
        game.study = game.studies.iter().position(is_same);
        if seconds > 0.0 && game.study.is_none() {
            let (now, time) = (Instant::now(), Duration::from_secs_f64(seconds));
            let structure_until = now + time.mul_f64(STRUCTURE_SHARE);
            let structure = structure(&game.rules, &game.machine, memory, structure_until);
            let budget = MetagameBudget {
                until: now + time,
                cancelled: Arc::default(),
            };
            let mut found = metagame::study(&game.machine, None, &config, &metagame, &budget);
            found.structure = structure;
            game.studies.push((seconds, seed, found));
            game.study = Some(game.studies.len() - 1);
        }
        let unstudied = Knowledge::default();
        let found = game.known().unwrap_or(&unstudied);
        Ok(json!({
            "games": found.games,
            "evaluation_share": found.parameters.evaluation_share,
            "exploration": found.parameters.exploration,
        }))
    }

    fn set(&mut self, key: &str, value: &str) -> anyhow::Result<()> {
        let search = &mut self.search;
        match key {
            "exploration" => search.exploration = number(value, key)?,
            "first_play_visits" => search.untried_visits = number(value, key)?,
            "max_nodes" => search.max_nodes = number::<u32>(value, key)?.max(2),
            "max_bytes" => search.max_bytes = number(value, key)?,
            "max_playout_steps" => search.max_playout_steps = number(value, key)?,
            "samples_per_request" => search.samples_per_request = number(value, key)?,
            "ring_capacity" => search.ring_capacity = number::<usize>(value, key)?.max(1),
            "evaluation_share" => self.evaluation_share = Some(number(value, key)?),
            "width" => {
                let width = number(value, key)?;
                if ![0, 256, 512, 1024].contains(&width) {
                    bail!("width is `{value}`; expected 0, 256, 512 or 1024");
                }
                self.width = (width > 0).then_some(width);
            }
            _ => bail!("unknown setting `{key}`"),
        }
        Ok(())
    }

    fn config(&self, known: Option<&Knowledge>, seed: u64) -> SearchConfig {
        let config = SearchConfig {
            seed,
            ..self.search.clone()
        };
        let Some(known) = known else {
            return config;
        };
        let mut known = known.clone();
        if let Some(share) = self.evaluation_share {
            known.parameters.evaluation_share = share;
        }
        match known.is_of_use() {
            true => known.apply(&config),
            false => config,
        }
    }

    fn start(&mut self, role: usize, seed: u64) -> anyhow::Result<Value> {
        let known = self.game()?.known().cloned();
        let mut config = self.config(known.as_ref(), seed);
        let game = self.game()?;
        let n_roles = game.searches.len();
        if role >= n_roles {
            bail!("ROLE is {role}; the game has {n_roles} roles, from 0");
        }
        if game.has_begun {
            game.restart();
        }
        if config.samples_per_request == 0 {
            let samples = own_samples(&game.machine, &game.state, config.max_playout_steps);
            config.samples_per_request = samples.unwrap_or(1);
        }
        let role_id = RoleId::from_index(role);
        game.searches[role] = Some(RoleSearch {
            search: Search::new(Arc::clone(&game.machine), role_id, config),
            is_proven: false,
        });
        Ok(json!({"role": game.machine.role_name(role_id)}))
    }
}

impl PlayedGame {
    fn known(&self) -> Option<&Knowledge> {
        self.study.map(|index| &self.studies[index].2)
    }

    fn restart(&mut self) {
        self.state = self.machine.initial_state();
        self.reasoner.set_state(&self.state);
        self.searches.clear();
        self.searches.resize_with(self.machine.n_roles(), || None);
        self.has_begun = false;
    }

    fn advance(&mut self, moves: &[&str]) -> anyhow::Result<Value> {
        let n_roles = self.machine.n_roles();
        if self.reasoner.is_terminal() {
            bail!("the game is over");
        }
        if moves.len() != n_roles {
            bail!("{} moves for {n_roles} roles", moves.len());
        }
        let mut joint_move: Vec<MoveId> = Vec::with_capacity(n_roles);
        for (role, text) in moves.iter().enumerate() {
            let role = RoleId::from_index(role);
            let name = self.machine.role_name(role);
            let mv = self.machine.find_move(role, text);
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
            search.is_proven = false;
            search.search.advance(&joint_move);
        }
        Ok(json!({}))
    }

    fn think(&mut self, role: usize, run: impl FnOnce(&mut RoleSearch)) -> anyhow::Result<Value> {
        let search = self.searches.get_mut(role).and_then(Option::as_mut);
        let search =
            search.with_context(|| format!("role {role} has no search; `new` makes it"))?;
        if self.reasoner.is_terminal() {
            bail!("the game is over");
        }
        let before = search.search.statistics();
        let started = thread_cpu_time();
        run(search);
        let seconds = thread_cpu_time().zip(started);
        let seconds = seconds.map(|(now, before)| now.saturating_sub(before).as_secs_f64());
        let best = search.search.best_move().context("no legal move")?;
        let root = search.search.root();
        let report = root.moves.iter().find(|report| report.mv == best);
        let value = report.and_then(|report| report.value).or(root.value);
        let after = search.search.statistics();
        Ok(json!({
            "move": self.machine.move_text(best),
            "visits": report.map_or(0, |report| report.visits),
            "iterations": after.iterations - before.iterations,
            "playouts": after.playouts - before.playouts,
            "value": value,
            "proven": search.is_proven,
            "seconds": seconds.unwrap_or(0.0),
        }))
    }
}

impl RoleSearch {
    fn run(&mut self, limit: Limit) {
        self.is_proven = self.search.run(limit) == Stopped::Proven;
    }

    /// Searches until the processor time of the thread is spent, or the position is proven.
    fn run_for(&mut self, budget: Duration) {
        let (cpu, wall) = (thread_cpu_time(), Instant::now());
        let spent = || match cpu.zip(thread_cpu_time()) {
            Some((before, now)) => now.saturating_sub(before),
            None => wall.elapsed(),
        };
        self.is_proven = false;
        while let left = budget.saturating_sub(spent())
            && !left.is_zero()
            && !self.is_proven
        {
            self.run(Limit {
                until: Some(Instant::now() + left),
                ..Limit::default()
            });
        }
    }
}

/// The lanes machine of width `width`, or the counter machine where the game has no lanes.
fn build_with_width(rules: &Rules, width: usize) -> Result<Arc<dyn Machine>, String> {
    let limits = ground::Budget::generous();
    let Compiled { machine, lanes, .. } = player::compile(rules, limits)?;
    let counter = Arc::new(machine);
    let with_lanes = player::compile_lanes(Arc::clone(&counter), &lanes, limits, width / 64);
    Ok(match with_lanes {
        Some(machine) => Arc::new(machine),
        None => counter,
    })
}

/// What the rules alone say, as `player::structure` found it for a match.
fn structure(
    rules: &Rules,
    machine: &Arc<dyn Machine>,
    memory: usize,
    until: Instant,
) -> Structure {
    let Some(facts) = machine.facts().filter(|facts| facts.len() <= MAX_BASES) else {
        return Structure::default();
    };
    let limits = ground::Budget {
        until: Some(until),
        max_bytes: memory,
    };
    let network = ground::ground(rules, limits).ok();
    let network = network.and_then(|program| propnet::build(&program, limits).ok());
    let network = network.filter(|network| {
        let mut moves = network.moves.enumerate();
        network.facts.iter().eq(&facts)
            && moves.all(|(mv, (_, text))| machine.move_text(mv) == *text)
    });
    let Some(network) = network else {
        return Structure::default();
    };
    let effort = || Effort::new(STEPS, Some(until));
    let latches = latches(&network, &mut effort());
    let ranges = ScoreRanges::new(&network, &latches, &mut effort());
    let mut effects = ranges.map_or_else(Vec::new, |ranges| ranges.effects());
    effects.sort_by_key(|effect| effect.range.upper - effect.range.lower);
    effects.truncate(MAX_EFFECTS);
    let symmetries = Symmetries::find(&network, &mut effort());
    Structure {
        score_ranges: effects.into(),
        symmetries: (!symmetries.is_trivial()).then(|| Arc::new(symmetries)),
        latches: Default::default(),
    }
}

/// Playouts per request, as many as take about as long as an iteration without them.
fn own_samples(machine: &Arc<dyn Machine>, state: &[u64], max_steps: u32) -> Option<u32> {
    let mut playouts = Arc::clone(machine).playouts(&mut Random::new(1), max_steps)?;
    let width = playouts.width() as u64;
    let mut tally = Tally::default();
    let mut done = 0;
    let (cpu, wall) = (thread_cpu_time(), Instant::now());
    let elapsed = || match cpu.zip(thread_cpu_time()) {
        Some((before, now)) => now.saturating_sub(before),
        None => wall.elapsed(),
    };
    while elapsed() < MEASURING_TIME {
        while playouts.n_wanted() < 2 * width {
            playouts.submit(state, width as u32)?;
        }
        playouts.advance();
        while playouts.take_done(&mut tally).is_some() {
            done += u64::from(tally.playouts);
        }
    }
    let a_second = done as f64 / elapsed().as_secs_f64();
    let samples = (a_second * ITERATION_TIME.as_secs_f64()).round() as u32;
    Some(samples.clamp(1, MAX_OWN_SAMPLES))
}

fn number<T: FromStr>(text: &str, name: &str) -> anyhow::Result<T> {
    let number = text.parse().ok();
    number.with_context(|| format!("{name} is `{text}`; expected a number in range"))
}

fn duration(text: &str, name: &str) -> anyhow::Result<f64> {
    let number: f64 = number(text, name)?;
    if !(0.0..=1e9).contains(&number) {
        bail!("{name} is `{text}`; expected 0 to 1e9");
    }
    Ok(number)
}
