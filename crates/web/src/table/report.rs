//! What Panza thinks about the position at a study table, as it is sent to a browser.
//!
//! Values are goals of the roles, 0 to 100.

use serde::Serialize;

/// Moves and joint moves of a line that are reported.
pub(super) const MAX_CANDIDATES: usize = 40;
pub(super) const MAX_LINE_SHOWN: usize = 12;

/// What Panza thinks about a position.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// Greater with each change.
    pub version: u64,
    /// The number of the position it is about; see [`Study`](super::Study).
    pub position: u64,
    /// What Panza does.
    pub state: Thinking,
    /// The seconds that the position was searched for.
    pub seconds: f64,
    /// Iterations of the search there.
    pub iterations: u64,
    /// Nodes in its graph. For alpha-beta, nodes that were searched.
    pub nodes: u32,
    /// The search: `tree` or `alpha-beta`.
    pub method: &'static str,
    /// For alpha-beta, the last depth that was searched in full.
    pub depth: Option<u32>,
    /// For alpha-beta, the longest line that was searched, in joint moves.
    pub selective_depth: Option<u32>,
    /// The role whose moves are listed; none where nobody with an aim has a choice.
    pub role: Option<String>,
    /// What the position is worth to each role.
    pub worth: WorthView,
    /// The moves of the role, the best first.
    pub moves: Vec<Candidate>,
    /// The joint moves that are expected from here on.
    pub line: Vec<Vec<String>>,
    /// For alpha-beta, the lines that begin with the best moves.
    pub lines: Vec<LineView>,
    /// In games of one role, what the planner has found.
    pub plan: Option<PlanView>,
    /// Plans that begin with other moves and reach the same goal.
    pub alternatives: Vec<PlanView>,
    /// The look for blunders, if somebody has asked for it.
    pub review: Option<ReviewView>,
}

/// What Panza does about a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    /// It searches.
    Searching,
    /// Further search cannot change the result.
    Proven,
    /// The time for a position is spent.
    Done,
    /// Somebody has stopped it.
    Paused,
    /// A match of a game manager goes first.
    Waiting,
    /// The game is over here.
    Over,
}

/// What a position is worth to each role.
#[derive(Clone, PartialEq, Default, Debug, Serialize)]
pub struct WorthView {
    /// The values.
    pub values: Vec<Option<f64>>,
    /// The goals that are proven.
    pub proven: Vec<Option<u8>>,
}

/// A move of the role to move.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Candidate {
    /// The move.
    pub text: String,
    /// Its visits.
    pub visits: u32,
    /// Its value.
    pub value: Option<f64>,
    /// Its goal, once proven.
    pub proven: Option<u8>,
    /// Its probability, where several roles choose at once.
    pub share: Option<f64>,
    /// Whether its value is only known not to be greater.
    pub is_bound: bool,
}

/// A line of alpha-beta.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LineView {
    /// Its first move.
    pub text: String,
    /// The value of that for the role that chooses.
    pub value: f64,
    /// Whether the value is only known not to be greater.
    pub is_bound: bool,
    /// Its joint moves.
    pub line: Vec<Vec<String>>,
}

/// A plan of the only role.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PlanView {
    /// The goal that it reaches; none while there is no plan.
    pub goal: Option<u8>,
    /// No plan reaches more.
    pub bound: u8,
    /// Whether that is proven for this one.
    pub is_best: bool,
    /// The solver that found it.
    pub solver: String,
    /// Its moves from the position on.
    pub moves: Vec<String>,
    /// Their number, which may be more than are listed.
    pub n_moves: usize,
}

/// A look for blunders in a line.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ReviewView {
    /// The positions that were searched.
    pub done: usize,
    /// All positions.
    pub of: usize,
    /// Whether everything was looked at.
    pub is_finished: bool,
    /// What each position is worth, in the order of the turns.
    pub worths: Vec<Option<WorthView>>,
    /// The moves that lost value.
    pub blunders: Vec<BlunderView>,
}

/// A move that lost value.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BlunderView {
    /// The joint moves before it.
    pub turn: usize,
    /// The role that made it.
    pub role: String,
    /// The move.
    pub played: String,
    /// A better one.
    pub better: String,
    /// The role's value before the move.
    pub value: f64,
    /// And after it.
    pub after: f64,
    /// Whether both values are proven.
    pub is_proven: bool,
    /// The joint moves that were expected instead.
    pub line: Vec<Vec<String>>,
}
