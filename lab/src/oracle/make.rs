//! `cargo lab oracle make`: finds positions of a game and solves them.
//!
//! A position is kept when it is solved within the budget, is not in the file yet, and choosing all
//! moves alike loses at least a point. With `--hard`, random playouts must also prefer a move that
//! loses value. Equal arguments give equal files.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use panza_cli::engine_choice::build_machine;
use panza_cli::game_source::Game;
use panza_cli::outcome::Outcome;
use panza_cli::output::{Output, progress_bar};
use serde::Serialize;

use super::file::{Claims, Head, LOSING, OracleFile, OraclePosition};
use super::recipe::{Recipe, SolverKind};
use super::walk::Walker;

/// Lines of play for each position wanted, at most.
const MAX_LINES: u64 = 400;
/// Nodes for each position of a game without a recipe.
const DEFAULT_NODES: u64 = 500_000;

#[derive(Args, Debug)]
pub(super) struct MakeArguments {
    /// Path to a rulesheet, or the name of a game.
    game: String,
    /// Positions wanted.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    count: u32,
    /// Joint moves before a position, as in 16-24. [default: by game; needed for other games]
    #[arg(long, value_name = "A-B", value_parser = parse_range)]
    steps: Option<RangeInclusive<u32>>,
    /// Nodes that the solver visits for each position. [default: by game]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// Keep only positions in which random playouts prefer a move that loses value.
    #[arg(long)]
    hard: bool,
    /// Write the oracle to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Seed of the random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Serialize)]
struct MakeReport<'a> {
    game: &'a str,
    positions: usize,
    lines: u64,
    over: u64,
    unsolved: u64,
    alike: u64,
    easy: u64,
}

pub(super) fn run(arguments: &MakeArguments, output: Output) -> anyhow::Result<Outcome> {
    let game = Game::load(&arguments.game)?;
    let name = game.sheet.name.as_str();
    let machine = build_machine(&game.rules).with_context(|| name.to_string())?;
    let recipe = Recipe::of(&game);
    let steps = arguments.steps.clone();
    let Some(steps) = steps.or_else(|| recipe.map(|recipe| recipe.steps.clone())) else {
        bail!("{name}: nothing says how far from the start its positions are; try --steps 10-20");
    };
    // Alpha-beta would take chance for an opponent.
    let other = match machine.info().chance_role() {
        Some(_) => SolverKind::Simultaneous,
        None => SolverKind::AlphaBeta,
    };
    let kind = recipe.map_or(other, |recipe| recipe.solver);
    let nodes = recipe.map_or(DEFAULT_NODES, |recipe| recipe.nodes);
    let mut solver = kind.solver(&machine, arguments.nodes.unwrap_or(nodes))?;
    let mut walker = Walker::new(&machine, arguments.seed);
    let mut met: HashSet<Vec<u64>> = HashSet::new();
    let mut positions = Vec::new();
    let (mut lines, mut over, mut unsolved, mut alike, mut easy) = (0, 0, 0, 0, 0);
    let bar = progress_bar(arguments.count.into(), "positions");
    bar.set_message(name.to_string());
    while positions.len() < arguments.count as usize
        && lines < MAX_LINES * u64::from(arguments.count)
    {
        lines += 1;
        let length = steps.start() + walker.random.below(steps.end() - steps.start() + 1);
        let Some(line) = walker.walk(length as usize) else {
            over += 1;
            continue;
        };
        let choosers = walker.choosers(line.last());
        if choosers.is_empty() || !met.insert(line.last().to_vec()) {
            continue;
        }
        let role = choosers[walker.random.below(choosers.len() as u32) as usize];
        let table = solver.solve(line.last(), role);
        let Some(table) = table.with_context(|| name.to_string())? else {
            unsolved += 1;
            continue;
        };
        if table.lost_by_chance() < LOSING {
            alike += 1;
            continue;
        }
        if arguments.hard && !walker.is_misled(line.last(), role, &table) {
            easy += 1;
            continue;
        }
        let claims = Claims::Values(table);
        let moves = &line.joint_moves;
        positions.push(OraclePosition::new(&machine, moves, role, &claims));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let found = positions.len();
    output.object(&MakeReport {
        game: name,
        positions: found,
        lines,
        over,
        unsolved,
        alike,
        easy,
    })?;
    let file = OracleFile {
        head: Head {
            game: arguments.game.clone(),
            about: format!(
                "after {} to {} joint moves{}, seed {}",
                steps.start(),
                steps.end(),
                if arguments.hard { ", hard" } else { "" },
                arguments.seed
            ),
        },
        positions,
    };
    let summary = format!(
        "{name}: {found} positions of {lines} lines of play; {over} lines ended before, {unsolved} positions were \
         beyond the budget, in {alike} all moves are worth about the same, {easy} were easy"
    );
    super::write(
        &file,
        arguments.out.as_deref(),
        &summary,
        arguments.count,
        "try other --steps or more --nodes",
        output,
    )
}

/// Reads a range such as 16-24.
fn parse_range(text: &str) -> Result<RangeInclusive<u32>, String> {
    let ends = text.split_once('-');
    let ends = ends.and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    match ends {
        Some((from, to)) if from <= to && to <= 10_000 => Ok(from..=to),
        _ => Err("expected two numbers as in 16-24, the first not above the second".to_string()),
    }
}
