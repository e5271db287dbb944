//! `cargo lab puzzles`: single-player games played with match clocks, as a page.
//!
//! Each game is built, searched for the start clock, and played to its end by what a match would
//! use.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use clap::Args;
use panza_cli::arguments::parse_seconds;
use panza_cli::output::grouped;
use panza_cli::{Game, Outcome, Output, Rulesheet};
use panza_config::Settings;
use panza_game::BuiltGame;
use panza_gdl::RoleId;
use panza_player::{MatchSearcher, PlanStatus, preferred_search, search_config};
use panza_search::{MoveStats, SearchConfig};
use panza_sync::Budget;
use serde_json::json;

use crate::page::{Page, Table, check_place};

const PLAYER: RoleId = RoleId(0);
/// Time to build a game; after that it is played with the prover.
const BUILD_TIME: Duration = Duration::from_secs(60);
/// Slices of search, as in a match.
const SLICE: Duration = Duration::from_millis(5);
/// More moves end no game.
const MAX_MOVES: usize = 1_000;

/// Published games in which Sancho did not reach 100.
const SANCHO_BELOW_100: [(&str, u8); 13] = [
    ("queens", 90),
    ("pancakes6", 75),
    ("rubiksCube", 40),
    ("god", 40),
    ("queens12ug", 0),
    ("futoshiki4", 0),
    ("futoshiki5", 0),
    ("hidato19", 0),
    ("hidato37", 0),
    ("mineClearingSmall", 0),
    ("brain_teaser_extended", 0),
    ("wargame02", 0),
    ("pancakes88", 0),
];

/// Games in which Sancho's goal was not noted: those in which 100 is out of reach, and our own.
const SANCHO_UNKNOWN: [&str; 3] = ["pearls", "factoringMutuallyAssuredDestruction", "nonogram"];

#[derive(Args, Debug)]
pub(crate) struct PuzzlesArguments {
    /// Paths to rulesheets, or names of games; those of several roles are left out.
    #[arg(required = true, value_name = "GAME")]
    games: Vec<String>,
    /// Seconds before the first move, with the build.
    #[arg(long, default_value = "30", value_parser = parse_seconds, value_name = "S")]
    start: f64,
    /// Seconds for each move.
    #[arg(long, default_value = "6", value_parser = parse_seconds, value_name = "S")]
    play: f64,
    /// Threads of the search.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64), value_name = "N")]
    threads: u16,
    /// Write the page to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// How a game was played.
struct Played {
    game: String,
    build_seconds: f64,
    goal: u8,
    n_moves: usize,
    /// The plan when the first move was made.
    planned: Option<PlanStatus>,
    /// What the search chose first, and the seconds after the build until then.
    first: Option<(MoveStats, f64)>,
    /// The plan that was last followed, and seconds after the build until it was found.
    last: Option<(PlanStatus, f64)>,
}

impl Played {
    /// Whether the best goal was known before the first move. Later proofs are of the rest.
    fn is_proven(&self) -> bool {
        self.n_moves == 0 || self.first.is_some_and(|(best, _)| best.is_proven_best)
    }

    fn planned_by_planner(&self) -> Option<u8> {
        self.planned.as_ref().and_then(|plan| plan.goal)
    }

    /// Whether the tree search had solved the game before the planner had a plan as good.
    fn is_solved_by_tree(&self) -> bool {
        let goal = self.planned_by_planner().unwrap_or(0);
        self.n_moves > 0 && self.is_proven() && goal < self.goal
    }

    /// The goal that was certain before the first move.
    fn planned_goal(&self) -> Option<u8> {
        match self.is_solved_by_tree() || self.n_moves == 0 {
            true => Some(self.goal),
            false => self.planned_by_planner(),
        }
    }

    /// The solver, and the seconds until it had what was played.
    fn solved(&self) -> Option<(&'static str, f64)> {
        match (self.first, &self.last) {
            (Some((_, seconds)), _) if self.is_solved_by_tree() => Some(("tree search", seconds)),
            (_, Some((plan, seconds))) => Some((plan.solver, *seconds)),
            _ => None,
        }
    }
}

pub(crate) fn run(arguments: &PuzzlesArguments, output: Output) -> anyhow::Result<Outcome> {
    check_place(arguments.out.as_deref())?;
    let mut rows = Vec::new();
    for game in &arguments.games {
        let Some(played) = play(game, arguments)? else {
            continue;
        };
        output.object(&json!({
            "game": played.game,
            "build_seconds": played.build_seconds,
            "goal": played.goal,
            "moves": played.n_moves,
            "planned_goal": played.planned_goal(),
            "solver": played.solved().map(|(solver, _)| solver),
            "proven_best": played.is_proven(),
            "seconds": played.solved().map(|(_, seconds)| seconds),
            "states": played.last.as_ref().map(|(plan, _)| plan.n_states),
        }))?;
        rows.push(row(&played));
    }
    let mut table = Table::new([
        "game",
        "goal",
        "moves",
        "build, s",
        "planned",
        "after, s",
        "solver",
        "proven best",
        "states",
        "Sancho's goal",
    ])
    .with_text_columns(&[0, 6, 7]);
    let n_games = rows.len();
    rows.into_iter().for_each(|row| table.push(row));
    let mut page = Page::new(
        "Puzzles",
        "Single-player games, played with the clocks of a match.",
    );
    let about = format!(
        "{n_games} games, {} s before the first move with the build, {} s for each move, {} threads. \
         'Planned' is the goal that was certain before the first move, by a plan or by the tree \
         search, and 'after' the time from the build until then, or to a later plan that was \
         followed. 'Proven best' means that no goal is higher, known before the first move. Sancho 1.61c had the same clocks \
         and one core; 0 stands for a goal of 0 and for matches without an end.",
        arguments.start, arguments.play, arguments.threads
    );
    page.section("Games", &about, &table);
    page.write(arguments.out.as_deref(), output)?;
    Ok(Outcome::Holds)
}

fn row(played: &Played) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_string());
    let last = played.last.as_ref();
    vec![
        played.game.clone(),
        played.goal.to_string(),
        played.n_moves.to_string(),
        format!("{:.1}", played.build_seconds),
        or_dash(played.planned_goal().map(|goal| goal.to_string())),
        or_dash(played.solved().map(|(_, seconds)| format!("{seconds:.2}"))),
        or_dash(played.solved().map(|(solver, _)| solver.to_string())),
        if played.is_proven() { "yes" } else { "no" }.to_string(),
        or_dash(last.map(|(plan, _)| grouped(plan.n_states))),
        sanchos_goal(&played.game).to_string(),
    ]
}

fn sanchos_goal(game: &str) -> String {
    if game.starts_with("test_") || game.starts_with("old_") || SANCHO_UNKNOWN.contains(&game) {
        return "-".to_string();
    }
    let known = SANCHO_BELOW_100.iter().find(|(name, _)| *name == game);
    known.map_or("100".to_string(), |(_, goal)| goal.to_string())
}

/// Plays a game; `None` where several roles play.
fn play(game: &str, arguments: &PuzzlesArguments) -> anyhow::Result<Option<Played>> {
    let Game { sheet, rules } = Game::as_played(Rulesheet::find(game)?)?;
    let started = Instant::now();
    let settings = Settings::load(None, &[])?;
    let budget = Budget::generous()
        .until(Some(
            started + BUILD_TIME.min(Duration::from_secs_f64(arguments.start / 2.0)),
        ))
        .with_bytes(usize::try_from(settings.player.build_memory_mib << 20).unwrap_or(usize::MAX));
    let built = panza_game::build(&rules, &budget).or_else(|_| panza_game::prover(&rules));
    let built = built.map_err(|reason| anyhow!("`{game}` cannot be built: {reason}"))?;
    if built.info().n_roles() != 1 {
        return Ok(None);
    }
    let build_seconds = started.elapsed().as_secs_f64();
    let config = SearchConfig {
        rollout_threads: usize::from(arguments.threads) - 1,
        ..search_config(&settings.search, 1)
    };
    let until = started + Duration::from_secs_f64(arguments.start);
    let mut played = Played {
        game: sheet.name,
        build_seconds,
        goal: 0,
        n_moves: 0,
        planned: None,
        first: None,
        last: None,
    };
    finish(&built, &config, until, arguments, &mut played)?;
    Ok(Some(played))
}

/// Searches and plays to the end.
fn finish(
    built: &BuiltGame,
    config: &SearchConfig,
    mut until: Instant,
    arguments: &PuzzlesArguments,
    played: &mut Played,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut state = built.machine.initial_state();
    let mut reasoner = Arc::clone(&built.machine).reasoner();
    reasoner.set_state(&state);
    let mut search = preferred_search(built, PLAYER, &state, config, true);
    while !reasoner.is_terminal() && played.n_moves < MAX_MOVES {
        let is_only = reasoner.legal_moves(PLAYER).len() == 1 && played.n_moves > 0;
        let best = think(search.as_mut(), until, is_only, started, played);
        if played.n_moves == 0 {
            played.planned = search.plan();
            played.first = best.map(|best| (best, started.elapsed().as_secs_f64()));
        }
        let legal = reasoner.legal_moves(PLAYER);
        let Some(mv) = best.map(|best| best.mv).or_else(|| legal.first().copied()) else {
            break;
        };
        anyhow::ensure!(legal.contains(&mv), "an illegal move was chosen");
        let mut next = Vec::with_capacity(state.len());
        reasoner.next_state(&[mv], &mut next);
        reasoner.set_state(&next);
        state = next;
        search.advance(&[mv], &state);
        played.n_moves += 1;
        until = Instant::now() + Duration::from_secs_f64(arguments.play);
    }
    let mut goals = [None];
    if reasoner.is_terminal() {
        reasoner.goals(&mut goals);
    }
    played.goal = goals[0].unwrap_or(0);
    Ok(())
}

/// Searches until then, or until the move is proven.
fn think(
    search: &mut dyn MatchSearcher,
    until: Instant,
    is_only: bool,
    started: Instant,
    played: &mut Played,
) -> Option<MoveStats> {
    let never = Arc::new(AtomicBool::new(false));
    loop {
        search.search(Instant::now() + SLICE, &never);
        let best = search.best_move();
        if let Some(plan) = search.plan().filter(|plan| plan.goal.is_some()) {
            let last = played.last.as_ref();
            let is_known = last
                .is_some_and(|(last, _)| (last.goal, last.is_best) == (plan.goal, plan.is_best));
            if !is_known {
                played.last = Some((plan, started.elapsed().as_secs_f64()));
            }
        }
        if is_only || Instant::now() >= until || best.is_some_and(|best| best.is_proven_best) {
            return best;
        }
    }
}
