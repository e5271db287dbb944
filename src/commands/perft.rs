//! `panza perft`: counts the paths of joint moves from the initial state.
//!
//! The counts are the same for every correct engine. Equal counts of two engines show that legal
//! moves, next states and terminality agree in all states near the initial one.

use std::sync::Arc;
use std::time::Instant;

use anyhow::bail;
use clap::Args;
use serde::Serialize;
use serde_json::json;

use panza_cli::output::{Column, grouped, spinner, table};
use panza_cli::{EngineChoice, Game, Outcome, Output, engine_choice};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Machine, Reasoner};

/// The greatest depth, far beyond what ends in reasonable time.
const MAX_DEPTH: u32 = 64;

#[derive(Args, Debug)]
pub struct PerftArguments {
    /// Path to a rulesheet, or the name of a game.
    game: String,
    /// Joint moves per path.
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=i64::from(MAX_DEPTH)))]
    depth: u32,
    /// The engine: counter, lanes, prover or auto (counter where it can be built).
    #[arg(long, alias = "machine", default_value = "auto", value_parser = engine_choice::parse)]
    engine: EngineChoice,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct DepthCount {
    /// Joint moves per path.
    pub depth: u32,
    pub nodes: u64,
    pub terminal: u64,
}

pub fn run(arguments: &PerftArguments, output: Output) -> anyhow::Result<Outcome> {
    let game = Game::load(&arguments.game)?;
    let built = engine_choice::build(&game.rules, arguments.engine)?;
    let progress = spinner(format!("{}: depth {}", game.sheet.name, arguments.depth));
    let started = Instant::now();
    let machine = built.machine()?;
    let counts = count(&machine, arguments.depth);
    let seconds = started.elapsed().as_secs_f64();
    progress.finish_and_clear();
    if let Some(why) = machine.fault() {
        bail!("{}: the moves cannot be worked out: {why}", game.sheet.name);
    }
    let last = counts.last().copied().unwrap_or_default();
    output.object(&json!({
        "game": game.sheet.name,
        "machine": built.kind(),
        "depth": last.depth,
        "nodes": last.nodes,
        "terminal": last.terminal,
        "seconds": seconds,
        "by_depth": counts,
    }))?;
    output.line(format_args!(
        "{} ({}), {seconds:.3} s",
        game.sheet.name,
        built.kind()
    ))?;
    let row = |count: &DepthCount| {
        let figures = [u64::from(count.depth), count.nodes, count.terminal];
        figures.map(grouped).to_vec()
    };
    let rows: Vec<Vec<String>> = counts.iter().map(row).collect();
    let columns = ["depth", "nodes", "terminal"].map(Column::figure);
    output.line(table(&columns, &rows))?;
    Ok(Outcome::Holds)
}

/// Counts the paths of each length from 0 up to `depth`.
pub fn count(machine: &Arc<dyn Machine>, depth: u32) -> Vec<DepthCount> {
    let empty = |depth| DepthCount {
        depth,
        ..DepthCount::default()
    };
    let mut counts: Vec<DepthCount> = (0..=depth).map(empty).collect();
    let mut reasoner = Arc::clone(machine).reasoner();
    let (n_roles, state) = (machine.info().n_roles(), machine.initial_state());
    count_from(reasoner.as_mut(), n_roles, &state, &mut counts);
    counts
}

/// Adds the paths from `state`, whose own length is the first entry of `counts`.
fn count_from(
    reasoner: &mut dyn Reasoner,
    n_roles: usize,
    state: &[u64],
    counts: &mut [DepthCount],
) {
    let Some((here, deeper)) = counts.split_first_mut() else {
        return;
    };
    reasoner.set_state(state);
    here.nodes += 1;
    if reasoner.is_terminal() {
        here.terminal += 1;
        return;
    }
    let roles = (0..n_roles).map(RoleId::from_index);
    let legal = roles.map(|role| reasoner.legal_moves(role).to_vec());
    let legal: Vec<Vec<MoveId>> = legal.collect();
    if deeper.is_empty() || legal.iter().any(Vec::is_empty) {
        return;
    }
    // The joint moves are enumerated like the digits of a number, the last role fastest.
    let mut picks = vec![0usize; n_roles];
    let mut next = Vec::new();
    loop {
        let joint_move: Vec<MoveId> = legal.iter().zip(&picks).map(|(m, &at)| m[at]).collect();
        reasoner.set_state(state);
        reasoner.next_state(&joint_move, &mut next);
        count_from(reasoner, n_roles, &next, deeper);
        let has_more = |&role: &usize| picks[role] + 1 < legal[role].len();
        let Some(role) = (0..n_roles).rev().find(has_more) else {
            return;
        };
        picks[role] += 1;
        picks[role + 1..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_cli::Rulesheet;
    use panza_cli::engine_choice::build_prover;

    #[test]
    fn tic_tac_toe_has_its_known_numbers_of_games() {
        let game = Game::from_sheet(Rulesheet::find("ticTacToe").unwrap()).unwrap();
        let counts = count(&build_prover(&game.rules).unwrap(), 5);
        let nodes: Vec<u64> = counts.iter().map(|count| count.nodes).collect();
        assert_eq!(nodes, [1, 9, 72, 504, 3024, 15120]);
        let terminal: Vec<u64> = counts.iter().map(|count| count.terminal).collect();
        assert_eq!(terminal, [0, 0, 0, 0, 0, 1440]);
    }
}
