//! `cargo lab oracle find`: finds deep and misleading positions of a game, and proves their good
//! moves.
//!
//! Short searches play games, with some random moves. Each game is then walked back from its end as
//! long as positions can be proven within the budget. The deepest and most misleading positions are
//! kept, few of each game.
//!
//! Equal arguments give equal positions, as long as the search plays the same and no time limit
//! applies.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Args;
use serde::Serialize;

use super::file::{Claims, Head, OracleFile, OraclePosition};
use super::lookahead::lookahead;
use super::prove::{GoalProver, Verdict};
use super::states::{Line, States, draw};
use panza_cli::engine_choice::build_machine;
use panza_cli::game_source::Game;
use panza_cli::outcome::Outcome;
use panza_cli::output::{Output, progress_bar};
use panza_cli::playouts::MAX_STEPS;
use panza_config::Settings;
use panza_gdl::ids::{Id, MoveId, RoleId};
use panza_machine::{Machine, PlayoutEnd};
use panza_player::search_config;
use panza_search::Search;
use panza_sync::Budget;
use panza_sync::random::Random;

/// Playouts to evaluate a move.
const PLAYOUTS: u32 = 200;
/// Playouts to collect the goals of the game.
const GOAL_PLAYOUTS: u32 = 2_000;
/// One move of this many is random in played games.
const RANDOM_MOVE_PERIOD: u32 = 4;
/// Nodes of a search that chooses a move.
const MAX_NODES: u32 = 100_000;
/// Unproven states in a row that end the walk back.
const MAX_UNPROVEN: u32 = 4;
/// Positions kept of one played game.
const PER_GAME: usize = 2;
/// Least number of joint moves between two positions of one played game.
const MIN_DISTANCE: usize = 4;

#[derive(Args, Debug)]
pub(super) struct FindArguments {
    /// Path to a rulesheet, or the name of a game.
    game: String,
    /// Positions wanted.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    count: u32,
    /// Games to play.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    games: u32,
    /// Stop after this time and use the positions found. [default: no limit]
    #[arg(long, value_parser = panza_cli::arguments::parse_seconds)]
    seconds: Option<f64>,
    /// Iterations per move of the searches that play.
    #[arg(
        long,
        default_value_t = 300,
        value_parser = clap::value_parser!(u64).range(1..=10_000_000)
    )]
    iterations: u64,
    /// States to visit for the proof of a position.
    #[arg(
        long,
        default_value_t = 200_000,
        value_parser = clap::value_parser!(u32).range(1..=100_000_000)
    )]
    states: u32,
    /// Least depth of a position: joint moves that a search needs to separate good moves from
    /// others.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    lookahead: u32,
    /// Take positions from the lines of play of this file instead of playing.
    #[arg(long, value_name = "FILE")]
    lines: Option<PathBuf>,
    /// Write the positions to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Seed of the random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

struct Candidate {
    /// Index of the played game.
    game: usize,
    /// The joint moves before it.
    length: usize,
    role: RoleId,
    verdict: Verdict,
    /// The depth, and whether it is exact.
    lookahead: (u32, bool),
    /// The move with the best playouts.
    preferred: MoveId,
}

#[derive(Serialize)]
struct FindReport<'a> {
    game: &'a str,
    role: &'a str,
    goal: u8,
    good: &'a [String],
    legal: usize,
    lookahead: u32,
    lookahead_is_exact: bool,
    preferred_by_playouts: String,
    is_misleading: bool,
    moves: &'a str,
}

pub(super) fn run(arguments: &FindArguments, output: Output) -> anyhow::Result<Outcome> {
    let game = Game::load(&arguments.game)?;
    let machine = build_machine(&game.rules)
        .with_context(|| format!("{}: positions are proven on a machine", game.sheet.origin))?;
    ensure!(
        machine.info().chance_role().is_none(),
        "{}: no goal is sure in a game with chance; `make` computes expected goals",
        game.sheet.name
    );
    let mut generator = Generator::new(&machine, arguments)?;
    let given = arguments.lines.as_deref();
    let given = given.map(|path| lines_of(&machine, path)).transpose()?;
    let n_games = given.as_ref().map_or(arguments.games as usize, Vec::len);
    let mut given = given.into_iter().flatten();
    let bar = progress_bar(n_games as u64, "games");
    bar.set_message(game.sheet.name.clone());
    let (mut lines, mut candidates) = (Vec::new(), Vec::new());
    while lines.len() < n_games {
        let line = given.next().unwrap_or_else(|| generator.play());
        candidates.extend(generator.candidates(lines.len(), &line));
        lines.push(line);
        bar.inc(1);
        if generator.is_late() {
            break;
        }
    }
    bar.finish_and_clear();
    let best = choose(&candidates, arguments.count as usize);
    let mut positions = Vec::new();
    for candidate in best {
        let moves = &lines[candidate.game].joint_moves[..candidate.length];
        let claims = Claims::Forced(candidate.verdict.clone());
        let mut position = OraclePosition::new(&machine, moves, candidate.role, &claims);
        position.note = candidate.note(&machine);
        output.object(&FindReport {
            game: &game.sheet.name,
            role: &position.role,
            goal: candidate.verdict.goal,
            good: &position.good,
            legal: candidate.verdict.n_moves(),
            lookahead: candidate.lookahead.0,
            lookahead_is_exact: candidate.lookahead.1,
            preferred_by_playouts: machine.info().move_text(candidate.preferred),
            is_misleading: candidate.is_misleading(),
            moves: &position.moves,
        })?;
        positions.push(position);
    }
    let file = OracleFile {
        head: Head {
            game: arguments.game.clone(),
            about: format!("proven from played games, seed {}", arguments.seed),
        },
        positions,
    };
    let summary = format!(
        "{}: {} of {} positions written",
        game.sheet.name,
        file.positions.len(),
        candidates.len()
    );
    super::write(
        &file,
        arguments.out.as_deref(),
        &summary,
        arguments.count,
        "more games or states may find more",
        output,
    )
}

impl Candidate {
    /// Whether playouts prefer a move that is not good.
    fn is_misleading(&self) -> bool {
        self.verdict.bad.contains(&self.preferred)
    }

    /// Higher is better: misleading before others, then by depth, then by the share of bad moves.
    fn worth(&self) -> (bool, u32, usize) {
        let share = 100 - 100 * self.verdict.good.len() / self.verdict.n_moves();
        (self.is_misleading(), self.lookahead.0, share)
    }

    fn note(&self, machine: &Arc<dyn Machine>) -> String {
        let (depth, is_exact) = self.lookahead;
        let more = if is_exact { "" } else { " or more" };
        let legal = self.verdict.n_moves();
        let good = self.verdict.good.len();
        let preferred = machine.info().move_text(self.preferred);
        let playouts = match self.is_misleading() {
            true => format!("playouts prefer {preferred}"),
            false => "playouts prefer a good move".to_string(),
        };
        format!("{good} of {legal} moves good, seen {depth}{more} joint moves ahead; {playouts}")
    }
}

/// The best candidates, few of each played game and not near each other.
fn choose(candidates: &[Candidate], count: usize) -> Vec<&Candidate> {
    let mut candidates: Vec<&Candidate> = candidates.iter().collect();
    candidates.sort_by_key(|candidate| Reverse(candidate.worth()));
    let mut chosen: Vec<&Candidate> = Vec::new();
    for candidate in candidates {
        let of_game = chosen.iter().filter(|other| other.game == candidate.game);
        let is_near = |other: &&&Candidate| other.length.abs_diff(candidate.length) < MIN_DISTANCE;
        if of_game.clone().count() < PER_GAME && of_game.clone().filter(is_near).count() == 0 {
            chosen.push(candidate);
        }
        if chosen.len() == count {
            break;
        }
    }
    chosen
}

/// Plays games and walks back from their ends.
struct Generator {
    states: States,
    searches: Vec<Search>,
    random: Random,
    iterations: u64,
    budget: usize,
    lookahead: u32,
    until: Option<Instant>,
    goals: Vec<u8>,
    /// States and roles that were judged.
    met: BTreeSet<Vec<u64>>,
}

impl Generator {
    fn new(machine: &Arc<dyn Machine>, arguments: &FindArguments) -> anyhow::Result<Self> {
        let settings = Settings::load(None, &[])?;
        let mut config = search_config(&settings.search, arguments.seed);
        config.rollout_threads = 0;
        config.max_nodes = config.max_nodes.min(MAX_NODES);
        let roles = (0..machine.info().n_roles()).map(RoleId::from_index);
        let mut random = Random::new(arguments.seed);
        let time = arguments.seconds.map(Duration::from_secs_f64);
        Ok(Self {
            searches: roles
                .map(|role| Search::new(Arc::clone(machine), role, config.clone()))
                .collect(),
            goals: known_goals(machine, &mut random),
            states: States::new(machine),
            random,
            iterations: arguments.iterations,
            budget: arguments.states as usize,
            lookahead: arguments.lookahead,
            until: time.map(|time| Instant::now() + time),
            met: BTreeSet::new(),
        })
    }

    fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Plays a game, mostly by searches.
    fn play(&mut self) -> Line {
        let mut line = Line::new(&self.states.machine);
        while line.joint_moves.len() < MAX_STEPS as usize {
            let state = line.last();
            let Some(legal) = self.states.choices(state) else {
                break;
            };
            let drawn = draw(&legal, &mut self.random);
            let mut joint_move = Vec::new();
            for ((moves, search), drawn) in legal.iter().zip(&mut self.searches).zip(drawn) {
                let is_searched = moves.len() > 1 && self.random.below(RANDOM_MOVE_PERIOD) != 0;
                let found = is_searched.then(|| {
                    search.set_state(state);
                    search.run(Budget::of_steps(self.iterations));
                    search.best_move()
                });
                joint_move.push(found.flatten().unwrap_or(drawn));
            }
            line.push(&mut self.states, joint_move);
        }
        line
    }

    /// The positions of a line that are proven and deep enough.
    fn candidates(&mut self, game: usize, line: &Line) -> Vec<Candidate> {
        let mut found = Vec::new();
        let machine = Arc::clone(&self.states.machine);
        for role in (0..machine.info().n_roles()).map(RoleId::from_index) {
            let mut prover = GoalProver::new(&machine, role);
            let mut failures = 0;
            for (length, state) in line.states.iter().enumerate().rev() {
                if failures == MAX_UNPROVEN || self.is_late() {
                    break;
                }
                let legal = self.states.choices(state);
                if legal.is_none_or(|legal| legal[role.index()].len() < 2) {
                    continue;
                }
                let key = [&state[..], &[role.index() as u64]].concat();
                if !self.met.insert(key) {
                    continue;
                }
                prover.budget = self.budget;
                let Some(verdict) = prover.judge(state, &self.goals) else {
                    failures += 1;
                    continue;
                };
                failures = 0;
                if verdict.bad.is_empty() {
                    continue;
                }
                let lookahead = lookahead(&machine, role, state, &verdict, self.budget);
                if lookahead.0 < self.lookahead {
                    continue;
                }
                // A good one among equals.
                let moves = [&verdict.good[..], &verdict.bad].concat();
                let random = &mut self.random;
                let best = self
                    .states
                    .best_by_playouts(state, role, &moves, PLAYOUTS, random);
                let preferred = best.unwrap_or(moves[0]);
                found.push(Candidate {
                    game,
                    length,
                    role,
                    preferred,
                    verdict,
                    lookahead,
                });
            }
        }
        found
    }
}

/// The lines of play of an oracle's positions.
fn lines_of(machine: &Arc<dyn Machine>, path: &Path) -> anyhow::Result<Vec<Line>> {
    let shown = path.display();
    let positions = OracleFile::read(path)?.positions;
    ensure!(!positions.is_empty(), "{shown}: no positions");
    let line = |(index, position): (usize, &OraclePosition)| {
        let line = position.line(machine);
        line.with_context(|| format!("{shown}:{}", OracleFile::line_of(index)))
    };
    positions.iter().enumerate().map(line).collect()
}

/// The goals of random playouts, and those of a win and a loss.
fn known_goals(machine: &Arc<dyn Machine>, random: &mut Random) -> Vec<u8> {
    let mut reasoner = Arc::clone(machine).reasoner();
    let initial = machine.initial_state();
    let mut known = BTreeSet::from([0, 100]);
    let mut goals = vec![0; machine.info().n_roles()];
    for _ in 0..GOAL_PLAYOUTS {
        reasoner.set_state(&initial);
        if reasoner.playout(random, MAX_STEPS, &mut goals) != PlayoutEnd::CutOff {
            known.extend(&goals);
        }
    }
    known.into_iter().collect()
}
