//! What Panza thinks about the position at a study table, as it is sent to a browser.
//!
//! Values are goals of the roles, 0 to 100.

use serde::Serialize;

/// Moves and joint moves of a line that are reported.
pub(crate) const MAX_CANDIDATES: usize = 40;
pub(crate) const MAX_LINE_SHOWN: usize = 12;

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
    /// Steps of the search there.
    pub iterations: u64,
    /// Nodes of the search there.
    pub nodes: u32,
    /// The name of the search.
    pub method: &'static str,
    /// What its steps are, in the singular.
    pub step: &'static str,
    /// Why it is the tree, where another search is allowed.
    pub why_tree: Option<&'static str>,
    /// The depth that was searched, in moves of those who choose.
    pub depth: u32,
    /// The longest line that was searched, in joint moves.
    pub selective_depth: u32,
    /// The role whose moves are listed; none where nobody with an aim has a choice.
    pub role: Option<String>,
    /// What the position is worth to each role.
    pub worth: WorthView,
    /// The moves of the role, the best first.
    pub moves: Vec<Candidate>,
    /// What chance may draw, where it alone chooses.
    pub outcomes: Vec<OutcomeView>,
    /// The joint moves that are expected from here on.
    pub line: Vec<Vec<String>>,
    /// The lines that begin with the best moves.
    pub lines: Vec<LineView>,
    /// In games of one role, what the planner has found.
    pub plan: Option<PlanView>,
    /// Plans that begin with other moves and reach the same goal.
    pub alternatives: Vec<PlanView>,
    /// The look for blunders, if somebody has asked for it.
    pub review: Option<ReviewView>,
}

impl Report {
    /// Makes what the position is worth the value of what is shown of it: of the best move, of the
    /// moves by their shares, or of the outcomes of chance.
    pub(crate) fn agree(&mut self, role: Option<usize>) {
        if !self.outcomes.is_empty() {
            for role in 0..self.worth.values.len() {
                if self.worth.proven[role].is_none() {
                    let of_outcome = |it: &OutcomeView| Some((it.probability, it.worth.of(role)?));
                    let value = mean(self.outcomes.iter().map(of_outcome));
                    self.worth.values[role] = value.or(self.worth.values[role]);
                }
            }
            return;
        }
        let Some(role) = role.filter(|&role| role < self.worth.values.len()) else {
            return;
        };
        let value = |it: &Candidate| it.proven.map(f64::from).or(it.value);
        let shares = self
            .moves
            .iter()
            .filter(|it| it.share.is_some_and(|it| it > 0.0));
        let of_shares = mean(shares.map(|it| Some((it.share?, value(it)?))));
        let of_best = self.moves.first().filter(|it| !it.is_bound).and_then(value);
        if let Some(most) = self.worth.proven[role] {
            // No move is worth more than the position, where that is proven.
            for found in &mut self.moves {
                found.value = found.value.map(|value| value.min(most.into()));
            }
            return;
        }
        let Some(value) = of_shares.or(of_best) else {
            return;
        };
        let before = self.worth.values[role].replace(value);
        // What one of two roles gains the other one loses, where that is so by the values before.
        if let [one, other] = &mut self.worth.values[..]
            && let Some(before) = before
        {
            let other = if role == 0 { other } else { one };
            let is_zero_sum = |value: f64| (before + value - 100.0).abs() < 0.05;
            if other.is_some_and(is_zero_sum) {
                *other = Some(round(100.0 - value));
            }
        }
    }

    /// Where a plan is known, it is what Panza thinks: the position and the move that begins it are
    /// worth its goal, it is the line that is expected, and values of random games are left out.
    pub(crate) fn follow_plan(&mut self) {
        let Some(plan) = &self.plan else { return };
        let (Some(goal), Some(first)) = (plan.goal, plan.moves.first()) else {
            return;
        };
        let is_surpassed = |it: &Candidate| it.proven.is_some_and(|proven| proven > goal);
        if self.moves.iter().any(is_surpassed) {
            return;
        }
        let proven = plan.is_best.then_some(goal);
        self.worth.values = vec![Some(goal.into())];
        self.worth.proven = vec![proven];
        let line = plan.moves.iter().take(MAX_LINE_SHOWN);
        self.line = line.map(|mv| vec![mv.clone()]).collect();
        self.lines.clear();
        let others = self.alternatives.iter().filter_map(|it| it.moves.first());
        let mut moves: Vec<Candidate> = Vec::new();
        for text in std::iter::once(first).chain(others) {
            let known = self.moves.iter().find(|it| it.text == *text);
            moves.push(Candidate {
                text: text.clone(),
                visits: known.map_or(0, |it| it.visits),
                value: Some(goal.into()),
                proven,
                share: None,
                is_bound: false,
            });
        }
        for mut other in self.moves.drain(..) {
            if moves.iter().all(|it| it.text != other.text) {
                other.value = None;
                moves.push(other);
            }
        }
        moves.truncate(MAX_CANDIDATES);
        self.moves = moves;
    }
}

impl WorthView {
    /// The proven goal of a role, or else its value.
    fn of(&self, role: usize) -> Option<f64> {
        let proven = self.proven.get(role).copied().flatten();
        proven
            .map(f64::from)
            .or_else(|| self.values.get(role).copied().flatten())
    }
}

/// The mean of values with weights; `None` if one is unknown, and without weights.
fn mean(values: impl Iterator<Item = Option<(f64, f64)>>) -> Option<f64> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for value in values {
        let (weight, value) = value?;
        sum += weight * value;
        weights += weight;
    }
    (weights > 0.0).then(|| round(sum / weights))
}

/// A value to two places.
pub(crate) fn round(value: impl Into<f64>) -> f64 {
    (value.into() * 100.0).round() / 100.0
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

/// A move of the chance role.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct OutcomeView {
    /// The move.
    pub text: String,
    /// How likely it is, 0 to 1.
    pub probability: f64,
    /// What the position after it is worth to each role.
    pub worth: WorthView,
}

/// A line of the search.
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
    /// The moves in doubt that were searched again, and all so far.
    pub doubts: (usize, usize),
    /// Whether everything was looked at.
    pub is_finished: bool,
    /// What each position is worth, in the order of the turns.
    pub worths: Vec<Option<WorthView>>,
    /// The moves that lost value.
    pub graded: Vec<GradedView>,
    /// How the roles played that had a choice.
    pub summary: Vec<SummaryView>,
}

/// A move that lost value.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GradedView {
    /// The joint moves before it.
    pub turn: usize,
    /// The role that made it.
    pub role: String,
    /// How bad it was: `inaccuracy`, `mistake` or `blunder`.
    pub grade: &'static str,
    /// The move.
    pub played: String,
    /// A better one.
    pub better: String,
    /// The role's value before the move.
    pub value: f64,
    /// And after it.
    pub after: f64,
    /// Whether the loss is proven.
    pub is_proven: bool,
    /// The joint moves that were expected instead.
    pub line: Vec<Vec<String>>,
}

/// How a role played.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SummaryView {
    /// The role.
    pub role: String,
    /// Its moves whose loss is known.
    pub moves: usize,
    /// Those of each grade, inaccuracies first.
    pub grades: [usize; 3],
    /// The points that a move lost, on average.
    pub mean_loss: Option<f64>,
    /// In percent.
    pub accuracy: Option<f64>,
}
