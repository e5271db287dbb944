//! What a search of the optimiser looks for, and which configurations it may enter.

use super::super::board::{Board, Direction, Square};
use super::Measure;
use super::nearby::Nearby;
use super::plan::Cost;

/// Where a search ends.
#[derive(Clone, Debug, Hash)]
pub(super) enum Target {
    /// All boxes on goals, the player anywhere.
    Solved,
    /// These boxes and this player.
    State(Vec<Square>, Square),
}

/// Which configurations a search may enter.
#[derive(Debug)]
pub(super) enum Admitted<'a> {
    /// Those near a plan.
    Nearby(Nearby<'a>),
    /// All in which these boxes stay where they are.
    Fixed(Vec<Square>),
}

/// What is searched.
#[derive(Clone, Debug)]
pub(super) struct Query<'a> {
    pub(super) board: &'a Board,
    pub(super) measure: Measure,
    pub(super) boxes: Vec<Square>,
    pub(super) player: Square,
    pub(super) target: Target,
    /// A plan that costs more is not wanted.
    pub(super) bound: Cost,
    /// The order in which moves are tried; it decides between equally cheap plans.
    pub(super) directions: [Direction; 4],
}
