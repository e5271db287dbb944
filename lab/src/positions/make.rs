//! `cargo lab positions make`: finds deep and misleading positions of a game, and proves their good
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
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Args;
use serde::Serialize;

use super::file::{Line, Position, PositionFile, joint_move_text};
use super::lookahead::lookahead;
use super::prove::{GoalProver, Verdict, joint_move, legal_moves, n_replies};
use panza_arena::engine_choice::build_machine;
use panza_arena::game_source::Game;
use panza_arena::outcome::Outcome;
use panza_arena::output::{Output, progress_bar};
use panza_arena::playouts::MAX_STEPS;
use panza_machine::machine::random::Random;
use panza_machine::machine::{Machine, PlayoutEnd, Reasoner};
use panza_player::config::Settings;
use panza_player::player::search_config;
use panza_rules::ids::{Id, MoveId, RoleId};
use panza_search::search::{Limit, Search};

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
pub(super) struct MakeArguments {
    /// Path to a rulesheet, or the name of a game.
    game: String,
    /// Positions wanted.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    count: u32,
    /// Games to play.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    games: u32,
    /// Stop after this time and use the positions found. [default: no limit]
    #[arg(long, value_parser = panza_arena::arguments::parse_seconds)]
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
struct MakeReport<'a> {
    game: &'a str,
    role: &'a str,
    goal: u8,
    good: &'a [String],
    legal: usize,
    lookahead: u32,
    lookahead_is_exact: bool,
    preferred_by_playouts: String,
    is_misleading: bool,
    moves: &'a [String],
}

pub(super) fn run(arguments: &MakeArguments, output: Output) -> anyhow::Result<Outcome> {
    let game = Game::load(&arguments.game)?;
    let machine = build_machine(&game.rules)
        .with_context(|| format!("{}: positions are proven on a machine", game.sheet.origin))?;
    let mut generator = Generator::new(&machine, arguments)?;
    let given = arguments
        .lines
        .as_deref()
        .map(PositionFile::read)
        .transpose()?;
    let given = given.map(|file| generator.lines_of(&file)).transpose()?;
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
        let text = |mv: &MoveId| machine.info().move_text(*mv);
        let joint_move = |joint_move: &Vec<MoveId>| joint_move_text(&machine, joint_move);
        let moves = &lines[candidate.game].joint_moves[..candidate.length];
        let position = Position {
            role: machine.info().role_name(candidate.role).to_string(),
            goal: candidate.verdict.goal,
            good: candidate.verdict.good.iter().map(text).collect(),
            note: candidate.note(&machine),
            moves: moves.iter().map(joint_move).collect(),
        };
        output.object(&MakeReport {
            game: &game.sheet.name,
            role: &position.role,
            goal: position.goal,
            good: &position.good,
            legal: candidate.n_legal(),
            lookahead: candidate.lookahead.0,
            lookahead_is_exact: candidate.lookahead.1,
            preferred_by_playouts: machine.info().move_text(candidate.preferred),
            is_misleading: candidate.is_misleading(),
            moves: &position.moves,
        })?;
        positions.push(position);
    }
    let found = positions.len();
    let file = PositionFile {
        game: arguments.game.clone(),
        notes: String::new(),
        positions,
    };
    match &arguments.out {
        Some(path) => {
            std::fs::write(path, file.text())
                .with_context(|| format!("cannot write `{}`", path.display()))?;
            output.line(format_args!(
                "{}: {found} of {} positions written to {}",
                game.sheet.name,
                candidates.len(),
                path.display()
            ))?;
        }
        None => output.text(&file.text())?,
    }
    if found < arguments.count as usize {
        output.complaint(format_args!(
            "{}: {found} positions of {} that were wanted; more games or states may find more",
            game.sheet.name, arguments.count
        ));
        return Ok(Outcome::DoesNotHold);
    }
    Ok(Outcome::Holds)
}

impl Candidate {
    fn n_legal(&self) -> usize {
        self.verdict.good.len() + self.verdict.bad.len()
    }

    /// Whether playouts prefer a move that is not good.
    fn is_misleading(&self) -> bool {
        self.verdict.bad.contains(&self.preferred)
    }

    /// Higher is better: misleading before others, then by depth, then by the share of bad moves.
    fn worth(&self) -> (bool, u32, usize) {
        let share = 100 - 100 * self.verdict.good.len() / self.n_legal();
        (self.is_misleading(), self.lookahead.0, share)
    }

    fn note(&self, machine: &Arc<dyn Machine>) -> String {
        let (depth, is_exact) = self.lookahead;
        let more = if is_exact { "" } else { " or more" };
        let legal = self.n_legal();
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
    machine: Arc<dyn Machine>,
    searches: Vec<Search>,
    random: Random,
    iterations: u64,
    states: usize,
    lookahead: u32,
    until: Option<Instant>,
    goals: Vec<u8>,
    /// States and roles that were judged.
    met: BTreeSet<Vec<u64>>,
}

impl Generator {
    fn new(machine: &Arc<dyn Machine>, arguments: &MakeArguments) -> anyhow::Result<Self> {
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
            machine: Arc::clone(machine),
            random,
            iterations: arguments.iterations,
            states: arguments.states as usize,
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
        let mut line = Line::new(&self.machine);
        let mut reasoner = Arc::clone(&self.machine).reasoner();
        while line.joint_moves.len() < MAX_STEPS as usize {
            let state = line.last();
            let legal = legal_moves(&self.machine, state);
            if is_over(reasoner.as_mut(), state) || legal.iter().any(Vec::is_empty) {
                break;
            }
            let mut joint_move = Vec::new();
            for (moves, search) in legal.iter().zip(&mut self.searches) {
                let drawn = moves[self.random.below(moves.len() as u32) as usize];
                joint_move.push(
                    if moves.len() == 1 || self.random.below(RANDOM_MOVE_PERIOD) == 0 {
                        drawn
                    } else {
                        search.set_state(state);
                        search.run(Limit {
                            iterations: Some(self.iterations),
                            ..Limit::default()
                        });
                        search.best_move().unwrap_or(drawn)
                    },
                );
            }
            line.push(reasoner.as_mut(), joint_move);
        }
        line
    }

    /// The lines of play of a file's positions.
    fn lines_of(&self, file: &PositionFile) -> anyhow::Result<Vec<Line>> {
        ensure!(
            !file.positions.is_empty(),
            "there are no positions to take lines of play from"
        );
        let positions = file.positions.iter().enumerate();
        let line = |(index, position): (usize, &Position)| {
            let line = position.line(&self.machine);
            line.with_context(|| format!("position {}", index + 1))
        };
        positions.map(line).collect()
    }

    /// The positions of a line that are proven and deep enough.
    fn candidates(&mut self, game: usize, line: &Line) -> Vec<Candidate> {
        let mut found = Vec::new();
        let mut reasoner = Arc::clone(&self.machine).reasoner();
        for role in (0..self.machine.info().n_roles()).map(RoleId::from_index) {
            let mut prover = GoalProver::new(&self.machine, role);
            let mut failures = 0;
            for (length, state) in line.states.iter().enumerate().rev() {
                if failures == MAX_UNPROVEN || self.is_late() {
                    break;
                }
                let legal = legal_moves(&self.machine, state);
                let is_stuck = legal.iter().any(Vec::is_empty);
                if legal[role.index()].len() < 2 || is_stuck || is_over(reasoner.as_mut(), state) {
                    continue;
                }
                let key = [&state[..], &[role.index() as u64]].concat();
                if !self.met.insert(key) {
                    continue;
                }
                prover.budget = self.states;
                let Some(verdict) = prover.judge(state, &self.goals) else {
                    failures += 1;
                    continue;
                };
                failures = 0;
                if verdict.bad.is_empty() {
                    continue;
                }
                let lookahead = lookahead(&self.machine, role, state, &verdict, self.states);
                if lookahead.0 < self.lookahead {
                    continue;
                }
                found.push(Candidate {
                    game,
                    length,
                    role,
                    preferred: self.preferred(state, role, &verdict),
                    verdict,
                    lookahead,
                });
            }
        }
        found
    }

    /// The move with the best playouts for the role, a good one among equals.
    fn preferred(&mut self, state: &[u64], role: RoleId, verdict: &Verdict) -> MoveId {
        let legal = legal_moves(&self.machine, state);
        let n_replies = n_replies(&legal, role).unwrap_or(1) as u32;
        let mut reasoner = Arc::clone(&self.machine).reasoner();
        let mut goals = vec![0; self.machine.info().n_roles()];
        let mut best: Option<(u32, MoveId)> = None;
        for &mv in verdict.good.iter().chain(&verdict.bad) {
            let mut sum = 0;
            for _ in 0..PLAYOUTS {
                let reply = self.random.below(n_replies) as usize;
                let mut next = Vec::new();
                reasoner.set_state(state);
                reasoner.next_state(&joint_move(&legal, role, mv, reply), &mut next);
                reasoner.set_state(&next);
                reasoner.playout(&mut self.random, MAX_STEPS, &mut goals);
                sum += u32::from(goals[role.index()]);
            }
            if best.is_none_or(|(most, _)| sum > most) {
                best = Some((sum, mv));
            }
        }
        best.map_or(verdict.good[0], |(_, mv)| mv)
    }
}

fn is_over(reasoner: &mut dyn Reasoner, state: &[u64]) -> bool {
    reasoner.set_state(state);
    reasoner.is_terminal()
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
