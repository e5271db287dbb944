//! Solvers: the exact value of every legal move of a role.
//!
//! Goals are those of two roles and add up to 100; in games with the role `random` there may be one
//! role beside it. A value is the goal with best play of both roles from there on; where both roles
//! choose at once, or chance takes part, it is the expected goal of best mixed strategies.
//!
//! Invariant: solvers share nothing with the search that is measured; of panza they use machines.

pub mod alpha_beta;
pub mod connect_four;
pub mod reversi;
pub mod simultaneous;

use anyhow::{Context, bail, ensure};
use panza_gdl::{Id, MoveId, RoleId, Sexpr, sexpr};
use panza_machine::{GameInfo, Reasoner};
use panza_testing::matrix_game;

/// Solves positions of one game.
pub trait Solver {
    /// The values of all legal moves of a role that has a choice; nothing when the budget is spent.
    ///
    /// # Errors
    /// The game is none that can be solved, or the role has no choice.
    fn solve(&mut self, state: &[u64], role: RoleId) -> anyhow::Result<Option<ValueTable>>;
}

/// The values of a role's moves against the replies of the other role.
///
/// Invariants: rows are in the order of their moves' texts and of one length, at least 1. There is
/// one column where the role chooses alone, else one for each legal move of the other role in the
/// order of the texts.
#[derive(Clone, PartialEq, Debug)]
pub struct ValueTable {
    moves: Vec<MoveId>,
    rows: Vec<Vec<f64>>,
}

impl ValueTable {
    /// The table of these moves and their values; rows must have one length.
    pub fn new(info: &dyn GameInfo, mut rows: Vec<(MoveId, Vec<f64>)>) -> Self {
        rows.sort_by_cached_key(|&(mv, _)| info.move_text(mv));
        let (moves, rows) = rows.into_iter().unzip();
        Self { moves, rows }
    }

    /// The table of a role that chooses alone: the text of each move with its result for the role,
    /// 1 for a win, 0 for a draw and -1 for a loss.
    fn of_results(
        info: &dyn GameInfo,
        role: RoleId,
        results: impl Iterator<Item = (String, i8)>,
    ) -> anyhow::Result<Self> {
        let rows = results.map(|(text, result)| {
            let mv = info
                .find_move(role, &text)
                .with_context(|| format!("the rules do not know {text}"))?;
            Ok((mv, vec![50.0 + 50.0 * f64::from(result)]))
        });
        Ok(Self::new(info, rows.collect::<anyhow::Result<_>>()?))
    }

    /// The moves.
    pub fn moves(&self) -> &[MoveId] {
        &self.moves
    }

    /// The values of each move.
    pub fn rows(&self) -> &[Vec<f64>] {
        &self.rows
    }

    /// Whether the role chooses alone.
    pub fn is_alone(&self) -> bool {
        self.rows.iter().all(|row| row.len() == 1)
    }

    /// The value of the position.
    pub fn value(&self) -> f64 {
        match self.is_alone() {
            true => self.rows.iter().map(|row| row[0]).fold(0.0, f64::max),
            false => matrix_game::solve(&self.rows).value,
        }
    }

    /// The value lost by a strategy, a probability for each move, against the best reply: its
    /// exploitability.
    pub fn lost(&self, strategy: &[f64]) -> f64 {
        (self.value() - matrix_game::worth_of_rows(&self.rows, strategy)).max(0.0)
    }

    /// The value lost by choosing this move.
    pub fn lost_by(&self, mv: MoveId) -> f64 {
        let is = |&other: &MoveId| f64::from(u8::from(other == mv));
        self.lost(&self.moves.iter().map(is).collect::<Vec<_>>())
    }

    /// The value lost by choosing all moves alike.
    pub fn lost_by_chance(&self) -> f64 {
        let share = 1.0 / self.moves.len() as f64;
        self.lost(&vec![share; self.moves.len()])
    }
}

/// The budget of a position was spent before it was solved.
#[derive(Debug)]
struct Spent;

/// Bounds of a position's value.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Bounds<T> {
    lower: T,
    upper: T,
}

impl<T: Copy + Ord> Bounds<T> {
    /// Narrows the window of a search. The value, or a bound of it, where nothing is left.
    fn narrow(self, alpha: &mut T, beta: &mut T) -> Option<T> {
        *alpha = self.lower.max(*alpha);
        *beta = self.upper.min(*beta);
        let is_lower = self.lower >= *beta;
        (*alpha >= *beta).then_some(if is_lower { self.lower } else { self.upper })
    }

    /// Notes the best value that a search of this window found.
    fn note(&mut self, best: T, alpha: T, beta: T) {
        if best > alpha {
            self.lower = self.lower.max(best);
        }
        if best < beta {
            self.upper = self.upper.min(best);
        }
    }
}

/// Positions that may be visited to solve one.
struct NodeLimit {
    all: u64,
    left: u64,
}

impl NodeLimit {
    fn new(nodes: u64) -> Self {
        Self {
            all: nodes,
            left: nodes,
        }
    }

    fn restart(&mut self) {
        self.left = self.all;
    }

    #[inline]
    fn spend(&mut self) -> Result<(), Spent> {
        self.left = self.left.checked_sub(1).ok_or(Spent)?;
        Ok(())
    }
}

/// The roles of a game that have an aim, one or two, and the chance role.
pub(super) struct Players {
    pub(super) n_roles: usize,
    first: usize,
    second: Option<usize>,
    chance: Option<usize>,
}

impl Players {
    /// Fails where there are none, or more than two.
    pub(super) fn of(info: &dyn GameInfo) -> anyhow::Result<Self> {
        let chance = info.chance_role().map(RoleId::index);
        let n_roles = info.n_roles();
        let mut with_aim = (0..n_roles).filter(|&role| chance != Some(role));
        let (Some(first), second, None) = (with_aim.next(), with_aim.next(), with_aim.next())
        else {
            bail!("only games of one or two roles beside chance can be solved");
        };
        ensure!(
            second.is_some() || chance.is_some(),
            "a game of one role is for planners"
        );
        Ok(Self {
            n_roles,
            first,
            second,
            chance,
        })
    }

    /// The first player, the second, and the chance role.
    fn places(&self) -> [Option<usize>; 3] {
        [Some(self.first), self.second, self.chance]
    }

    /// The number of the other player's legal moves.
    pub(super) fn n_replies(&self, legal: &[Vec<MoveId>], role: RoleId) -> usize {
        let other = match role.index() == self.first {
            true => self.second,
            false => Some(self.first),
        };
        other.map_or(1, |other| legal[other].len())
    }

    /// The first player's goal in the reasoner's state. Fails unless those of two players add up to
    /// 100.
    fn first_goal(&self, reasoner: &mut dyn Reasoner) -> anyhow::Result<u8> {
        let mut goals = vec![None; self.n_roles];
        reasoner.goals(&mut goals);
        let first = goals[self.first];
        match (first, self.second.map(|second| goals[second])) {
            (Some(first), None) => Ok(first),
            (Some(first), Some(Some(second))) if u16::from(first) + u16::from(second) == 100 => {
                Ok(first)
            }
            _ => bail!("the goals are {goals:?}, which do not add up to 100"),
        }
    }
}

/// The role of the fact `(control ROLE)`.
fn control(info: &dyn GameInfo, facts: &[String]) -> anyhow::Result<RoleId> {
    let name = facts
        .iter()
        .find_map(|fact| fact.strip_prefix("(control ")?.strip_suffix(')'))
        .context("no role has control")?;
    let role = info.roles().iter().position(|role| role == name);
    role.map(RoleId::from_index)
        .with_context(|| format!("`{name}` has control, but is no role"))
}

/// Column, row and content of the facts `(cell COLUMN ROW CONTENT)`, columns and rows from 1.
fn in_cells(facts: &[String]) -> impl Iterator<Item = (u32, u32, String)> {
    facts.iter().filter_map(|fact| {
        let (expressions, _) = sexpr::parse(fact);
        let Some(Sexpr::List(items, _)) = expressions.first() else {
            return None;
        };
        let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
        match texts.as_slice() {
            [head, column, row, content] if head == "cell" => {
                let number = |text: &String| text.parse().ok().filter(|&number: &u32| number > 0);
                Some((number(column)?, number(row)?, content.clone()))
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[&[f64]]) -> ValueTable {
        let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.to_vec()).collect();
        ValueTable {
            moves: (0..rows.len()).map(MoveId::from_index).collect(),
            rows,
        }
    }

    #[test]
    fn a_move_loses_what_it_is_worth_less_than_the_best() {
        let table = table(&[&[50.0], &[100.0], &[0.0]]);
        assert!(table.is_alone());
        assert_eq!(table.value(), 100.0);
        assert_eq!(table.lost(&[1.0, 0.0, 0.0]), 50.0);
        assert_eq!(table.lost(&[0.0, 1.0, 0.0]), 0.0);
        assert!((table.lost_by_chance() - 50.0).abs() < 1e-9);
    }

    #[test]
    fn a_strategy_loses_what_the_best_reply_takes() {
        let table = table(&[&[100.0, 0.0], &[0.0, 100.0]]);
        assert!((table.value() - 50.0).abs() < 1e-9);
        assert!((table.lost(&[1.0, 0.0]) - 50.0).abs() < 1e-9);
        assert!(table.lost_by_chance() < 1e-9);
    }
}
