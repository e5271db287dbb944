//! Recipes: which solver made a game's oracle, and how far from the start its positions are.

use std::ops::RangeInclusive;
use std::sync::Arc;

use panza_cli::Game;
use panza_machine::Machine;

use super::solve::Solver;
use super::solve::alpha_beta::AlphaBeta;
use super::solve::connect_four::ConnectFour;
use super::solve::reversi::Reversi;
use super::solve::simultaneous::Simultaneous;

/// A kind of solver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SolverKind {
    ConnectFour,
    Reversi,
    AlphaBeta,
    Simultaneous,
}

/// How the positions of a game are found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Recipe {
    name: &'static str,
    pub solver: SolverKind,
    /// Joint moves before a position.
    pub steps: RangeInclusive<u32>,
    /// Positions that a solver visits, at most, for each position to be solved.
    pub nodes: u64,
}

const THOUSAND: u64 = 1_000;

/// The recipes of games by the names of their rulesheets.
const RECIPES: &[Recipe] = &[
    recipe(
        "connectFour",
        SolverKind::ConnectFour,
        16..=24,
        20_000 * THOUSAND,
    ),
    recipe("reversi", SolverKind::Reversi, 44..=52, 10_000 * THOUSAND),
    recipe("hexFive", SolverKind::AlphaBeta, 9..=15, 30 * THOUSAND),
    recipe(
        "breakthroughSmall",
        SolverKind::AlphaBeta,
        24..=34,
        10 * THOUSAND,
    ),
    recipe(
        "nineBoardTicTacToe",
        SolverKind::AlphaBeta,
        26..=38,
        20 * THOUSAND,
    ),
    recipe("pentago", SolverKind::AlphaBeta, 56..=66, 100 * THOUSAND),
    recipe("ticTacToe", SolverKind::AlphaBeta, 1..=5, 1_000 * THOUSAND),
    recipe(
        "ticTacToeLarge",
        SolverKind::AlphaBeta,
        12..=18,
        20 * THOUSAND,
    ),
    recipe(
        "biddingTicTacToe",
        SolverKind::Simultaneous,
        6..=12,
        200 * THOUSAND,
    ),
    recipe(
        "tron_10x10",
        SolverKind::Simultaneous,
        22..=32,
        20 * THOUSAND,
    ),
];

const fn recipe(
    name: &'static str,
    solver: SolverKind,
    steps: RangeInclusive<u32>,
    nodes: u64,
) -> Recipe {
    Recipe {
        name,
        solver,
        steps,
        nodes,
    }
}

impl Recipe {
    /// The recipe of a game, if there is one.
    pub fn of(game: &Game) -> Option<&'static Recipe> {
        let recipe = RECIPES.iter().find(|it| it.name == game.sheet.name)?;
        // The solvers with boards of their own know our rulesheets only.
        let is_special = matches!(recipe.solver, SolverKind::ConnectFour | SolverKind::Reversi);
        let is_ours = game.sheet.origin.starts_with("gdl-games/");
        (is_ours || !is_special).then_some(recipe)
    }
}

impl SolverKind {
    /// A solver that visits at most `nodes` positions for each position to be solved.
    pub fn solver(self, machine: &Arc<dyn Machine>, nodes: u64) -> anyhow::Result<Box<dyn Solver>> {
        Ok(match self {
            Self::ConnectFour => Box::new(ConnectFour::new(machine, nodes)),
            Self::Reversi => Box::new(Reversi::new(machine, nodes)),
            Self::AlphaBeta => Box::new(AlphaBeta::new(machine, nodes)?),
            Self::Simultaneous => Box::new(Simultaneous::new(machine, nodes)?),
        })
    }
}
