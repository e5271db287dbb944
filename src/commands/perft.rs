//! `panza perft`: counts the paths of joint moves from the initial state.
//!
//! The count is the same for every right engine, so equal numbers from two of them say that legal
//! moves, next states and terminality agree in a whole neighbourhood of the initial state.

use std::time::Instant;

use clap::Args;
use serde::Serialize;

use super::engine::{Engine, EngineError, MachineEngine, ProverEngine};
use super::engine_choice::{self, EngineChoice, Hands};
use super::game_source::Game;
use super::outcome::Outcome;
use super::output::{Output, grouped, spinner};
use crate::ids::{Id, RoleId};

/// The deepest count that is taken up; far beyond what can be waited for.
const MAX_DEPTH: u32 = 64;

/// Arguments of `panza perft`.
#[derive(Args, Debug)]
pub struct PerftArguments {
    /// Path to a rulesheet, or the name of a game.
    game: String,
    /// Joint moves per path.
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=i64::from(MAX_DEPTH)))]
    depth: u32,
    /// What runs the game: counter, lanes, prover or auto (counter where it can be built).
    #[arg(long, default_value = "auto", value_parser = engine_choice::parse)]
    machine: EngineChoice,
}

/// Paths of one length.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct DepthCount {
    /// Joint moves per path.
    pub depth: u32,
    /// Paths of this length.
    pub nodes: u64,
    /// How many of them end in a terminal state.
    pub terminal: u64,
}

#[derive(Serialize)]
struct Report<'a> {
    game: &'a str,
    machine: String,
    depth: u32,
    nodes: u64,
    terminal: u64,
    seconds: f64,
    by_depth: &'a [DepthCount],
}

/// Runs the command.
///
/// # Errors
/// Unusable arguments, or rules that the machine refuses.
pub fn run(arguments: &PerftArguments, output: Output) -> anyhow::Result<Outcome> {
    let game = Game::load(&arguments.game)?;
    let built = engine_choice::build(&game.rules, arguments.machine)?;
    let progress = spinner(format!("{}: depth {}", game.sheet.name, arguments.depth));
    let started = Instant::now();
    let counts = match built.hands()? {
        Hands::Prover(mut engine) => count::<ProverEngine>(engine.as_mut(), arguments.depth),
        Hands::Machine(mut engine) => count::<MachineEngine>(&mut engine, arguments.depth),
    }?;
    let seconds = started.elapsed().as_secs_f64();
    progress.finish_and_clear();
    let last = counts.last().copied().unwrap_or_default();
    output.object(&Report {
        game: &game.sheet.name,
        machine: built.kind().to_string(),
        depth: last.depth,
        nodes: last.nodes,
        terminal: last.terminal,
        seconds,
        by_depth: &counts,
    })?;
    output.line(format_args!(
        "{} ({}), {seconds:.3} s\ndepth {:>20} {:>20}",
        game.sheet.name,
        built.kind(),
        "nodes",
        "terminal"
    ))?;
    for DepthCount {
        depth,
        nodes,
        terminal,
    } in &counts
    {
        let (nodes, terminal) = (grouped(*nodes), grouped(*terminal));
        output.line(format_args!("{depth:>5} {nodes:>20} {terminal:>20}"))?;
    }
    Ok(Outcome::Holds)
}

/// Counts the paths of each length up to `depth`; one entry per length, from 0.
///
/// # Errors
/// The prover gave up.
pub fn count<E: Engine>(engine: &mut E, depth: u32) -> Result<Vec<DepthCount>, EngineError> {
    let mut counts: Vec<DepthCount> = (0..=depth)
        .map(|depth| DepthCount {
            depth,
            ..DepthCount::default()
        })
        .collect();
    let initial = engine.initial_state()?;
    count_from(engine, &initial, &mut counts)?;
    Ok(counts)
}

/// Adds the paths from `state`, whose own length is the first entry of `counts`.
fn count_from<E: Engine>(
    engine: &mut E,
    state: &E::State,
    counts: &mut [DepthCount],
) -> Result<(), EngineError> {
    let Some((here, deeper)) = counts.split_first_mut() else {
        return Ok(());
    };
    here.nodes += 1;
    if engine.is_terminal(state)? {
        here.terminal += 1;
        return Ok(());
    }
    if deeper.is_empty() {
        return Ok(());
    }
    let mut legal: Vec<Vec<E::Move>> = vec![Vec::new(); engine.roles().len()];
    for (role, moves) in legal.iter_mut().enumerate() {
        engine.legal_moves(state, RoleId::from_index(role), moves)?;
    }
    if legal.iter().any(Vec::is_empty) {
        return Ok(());
    }
    // The joint moves are counted through like the digits of a number, the last role fastest.
    let mut picks = vec![0usize; legal.len()];
    loop {
        let joint_move: Vec<E::Move> = legal.iter().zip(&picks).map(|(m, &at)| m[at]).collect();
        let next = engine.next_state(state, &joint_move)?;
        count_from(engine, &next, deeper)?;
        let Some(role) = (0..picks.len())
            .rev()
            .find(|&role| picks[role] + 1 < legal[role].len())
        else {
            return Ok(());
        };
        picks[role] += 1;
        picks[role + 1..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::game_source::Rulesheet;
    use super::*;

    #[test]
    fn tic_tac_toe_has_its_known_numbers_of_games() {
        let game = Game::from_sheet(Rulesheet::find("ticTacToe").unwrap()).unwrap();
        let mut engine = ProverEngine::new(&game.rules).unwrap();
        let counts = count(&mut engine, 5).unwrap();
        let nodes: Vec<u64> = counts.iter().map(|count| count.nodes).collect();
        assert_eq!(nodes, [1, 9, 72, 504, 3024, 15120]);
        let terminal: Vec<u64> = counts.iter().map(|count| count.terminal).collect();
        assert_eq!(terminal, [0, 0, 0, 0, 0, 1440]);
    }
}
