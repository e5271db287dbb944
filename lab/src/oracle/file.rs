//! Files of oracles: a JSON object per line.
//!
//! The first line names the game and how the file was made. Each other line is a position: the
//! joint moves from the initial state, each in the form of a PLAY message, the role that chooses,
//! and what is claimed of its legal moves. That is either the exact values of each, or the highest
//! goal that the role can force and all moves that keep it. A move has one value where the role
//! chooses alone, else one for each legal move of the other role in the order of their texts. Where
//! chance takes part, values are expected goals.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use panza_cli::trace::canonical;
use panza_gdl::{Id, MoveId, RoleId, Sexpr, sexpr};
use panza_machine::Machine;
use serde::Deserialize;

use super::prove::Verdict;
use super::states::{Legal, Line, States, in_order};
use super::values::{ValueTable, n_columns};

/// The least loss, in points, that counts as losing value.
pub(super) const LOSING: f64 = 1.0;

/// The positions of one game.
#[derive(Clone, PartialEq, Debug)]
pub struct OracleFile {
    /// The first line.
    pub head: Head,
    /// The positions, in the order of their lines.
    pub positions: Vec<OraclePosition>,
}

/// The first line of a file.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Path to a rulesheet, or the name of a game.
    pub game: String,
    /// How the positions were found, for people.
    pub about: String,
}

/// A position and what is claimed of its moves.
#[derive(Clone, PartialEq, Default, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OraclePosition {
    /// The role that chooses.
    pub role: String,
    /// The joint moves from the initial state, as in `((drop 4) noop) (noop (drop 3))`.
    pub moves: String,
    /// The exact values of each legal move, unless there is a goal.
    #[serde(default)]
    pub values: BTreeMap<String, Vec<f64>>,
    /// The highest goal that the role can force, whatever the other roles do.
    #[serde(default)]
    pub goal: Option<u8>,
    /// All moves that keep this goal.
    #[serde(default)]
    pub good: Vec<String>,
    /// A comment on the position.
    #[serde(default)]
    pub note: String,
}

/// A position on a machine.
#[derive(Clone, PartialEq, Debug)]
pub struct OracleSetup {
    /// The state.
    pub state: Vec<u64>,
    /// The role that chooses.
    pub role: RoleId,
    /// What is claimed of its moves.
    pub claims: Claims,
}

/// What a file claims of the legal moves of a position.
#[derive(Clone, PartialEq, Debug)]
pub enum Claims {
    /// The exact values of each.
    Values(ValueTable),
    /// The goal that the role can force, and which moves keep it.
    Forced(Verdict),
}

impl Claims {
    /// The table of exact values. Fails where there is none.
    pub fn values(&self) -> anyhow::Result<&ValueTable> {
        match self {
            Self::Values(table) => Ok(table),
            Self::Forced(_) => bail!("the position has no values; `check` searches it"),
        }
    }

    /// The goal that the role can force, or the exact value.
    pub fn value(&self) -> f64 {
        match self {
            Self::Values(table) => table.value(),
            Self::Forced(verdict) => verdict.goal.into(),
        }
    }

    /// The moves that lose nothing, and the number of all.
    pub fn good(&self) -> (Vec<MoveId>, usize) {
        match self {
            Self::Values(table) => {
                let good = table.moves().iter().copied();
                let good = good.filter(|&mv| table.lost_by(mv) < LOSING);
                (good.collect(), table.moves().len())
            }
            Self::Forced(verdict) => (verdict.good.clone(), verdict.n_moves()),
        }
    }
}

impl OracleFile {
    /// Reads a file. The error names the line.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("cannot read `{shown}`"))?;
        let mut lines = text.lines().enumerate();
        let (_, head) = lines
            .next()
            .with_context(|| format!("{shown}:1: expected a line with `game` and `about`"))?;
        let head = serde_json::from_str(head).with_context(|| format!("{shown}:1"))?;
        let position = |(index, line): (usize, &str)| {
            serde_json::from_str(line).with_context(|| format!("{shown}:{}", index + 1))
        };
        let positions = lines.map(position).collect::<anyhow::Result<_>>()?;
        Ok(Self { head, positions })
    }

    /// The line of a position in the file, from 1.
    pub fn line_of(index: usize) -> usize {
        index + 2
    }
}

impl OraclePosition {
    /// Plays the moves. The error is the first that is not legal.
    pub(super) fn line(&self, machine: &Arc<dyn Machine>) -> anyhow::Result<Line> {
        let mut states = States::new(machine);
        let mut line = Line::new(machine);
        let (expressions, faults) = sexpr::parse(&self.moves);
        ensure!(faults.is_empty(), "`moves` is no list of joint moves");
        for (index, text) in expressions.iter().enumerate() {
            let joint_move = read_joint_move(&mut states, line.last(), text)
                .with_context(|| format!("joint move {} `{text}`", index + 1))?;
            line.push(&mut states, joint_move);
        }
        Ok(line)
    }

    /// Plays the moves and checks the claims as far as that needs no search: they are about legal
    /// moves of one of the roles, and values about all of them.
    pub fn set_up(&self, machine: &Arc<dyn Machine>) -> anyhow::Result<OracleSetup> {
        let info = machine.info();
        let state = self.line(machine)?.last().to_vec();
        let roles = info.roles();
        let role = roles.iter().position(|role| *role == self.role);
        let role = role.with_context(|| {
            let roles = roles.join(", ");
            format!("no role `{}`; the roles are {roles}", self.role)
        })?;
        let role = RoleId::from_index(role);
        let legal = States::new(machine).choices(&state);
        let legal = legal.context("the game is over here")?;
        let claims = match self.goal {
            Some(goal) => Claims::Forced(self.verdict(machine, &legal, role, goal)?),
            None => Claims::Values(self.table(machine, &legal, role)?),
        };
        Ok(OracleSetup {
            state,
            role,
            claims,
        })
    }

    fn verdict(
        &self,
        machine: &Arc<dyn Machine>,
        legal: &Legal,
        role: RoleId,
        goal: u8,
    ) -> anyhow::Result<Verdict> {
        ensure!(self.values.is_empty(), "there are both values and a goal");
        ensure!(goal <= 100, "the goal is {goal}; 0 to 100 was expected");
        let good = self.good.iter();
        let good = good.map(|text| self.legal_move(machine, legal, role, text));
        let claimed = good.collect::<anyhow::Result<Vec<MoveId>>>()?;
        let moves = in_order(machine, &legal[role.index()]);
        let (good, bad): (Vec<_>, Vec<_>) = moves.iter().partition(|mv| claimed.contains(mv));
        ensure!(good.len() == claimed.len(), "a good move is listed twice");
        ensure!(!good.is_empty(), "no move is good");
        ensure!(!bad.is_empty(), "every legal move is good");
        Ok(Verdict { goal, good, bad })
    }

    fn table(
        &self,
        machine: &Arc<dyn Machine>,
        legal: &Legal,
        role: RoleId,
    ) -> anyhow::Result<ValueTable> {
        let n_replies = n_columns(machine.info(), legal, role)?;
        let mut rows: Vec<(MoveId, Vec<f64>)> = Vec::new();
        for (text, row) in &self.values {
            let (mv, n_values) = (self.legal_move(machine, legal, role, text)?, row.len());
            ensure!(
                n_values == n_replies,
                "`{text}` has {n_values} values; {n_replies} were expected"
            );
            rows.push((mv, row.clone()));
        }
        let (n_rows, n_legal) = (rows.len(), legal[role.index()].len());
        ensure!(
            n_rows == n_legal && n_legal > 1,
            "{n_rows} of {n_legal} legal moves have values"
        );
        Ok(ValueTable::new(machine.info(), rows))
    }

    fn legal_move(
        &self,
        machine: &Arc<dyn Machine>,
        legal: &Legal,
        role: RoleId,
        text: &str,
    ) -> anyhow::Result<MoveId> {
        let mv = machine.info().find_move(role, &canonical(text));
        mv.filter(|mv| legal[role.index()].contains(mv))
            .with_context(|| format!("`{text}` is no legal move of {}", self.role))
    }
}

fn read_joint_move(
    states: &mut States,
    state: &[u64],
    expression: &Sexpr,
) -> anyhow::Result<Vec<MoveId>> {
    let legal = states
        .choices(state)
        .context("the game is over before it")?;
    let items = match expression {
        Sexpr::List(items, _) if items.len() == legal.len() => items,
        _ => bail!(
            "expected a list of {} moves, one for each role",
            legal.len()
        ),
    };
    let info = states.machine.info();
    let read = |(role, item): (usize, &Sexpr)| {
        let text = canonical(&item.to_string());
        let name = info.role_name(RoleId::from_index(role));
        let mv = info.find_move(RoleId::from_index(role), &text);
        mv.filter(|mv| legal[role].contains(mv))
            .with_context(|| format!("`{text}` is not legal for {name}"))
    };
    items.iter().enumerate().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_cli::Game;
    use panza_cli::engine_choice::build_machine;

    #[test]
    fn positions_are_checked_against_the_rules() {
        let game = Game::load("ticTacToe").unwrap();
        let machine = build_machine(&game.rules).unwrap();
        let changed = |change: &dyn Fn(&mut OraclePosition)| {
            let mut position = OraclePosition {
                role: "xplayer".into(),
                goal: Some(50),
                good: vec!["(mark 2 2)".into()],
                moves: "((mark 1 1) noop) (noop (mark 2 3))".into(),
                ..OraclePosition::default()
            };
            assert!(position.set_up(&machine).is_ok());
            change(&mut position);
            format!("{:#}", position.set_up(&machine).unwrap_err())
        };
        assert_eq!(
            changed(&|p| p.moves += " (noop (mark 1 1))"),
            "joint move 3 `(noop (mark 1 1))`: `noop` is not legal for xplayer"
        );
        assert_eq!(
            changed(&|p| p.moves = "(noop".into()),
            "`moves` is no list of joint moves"
        );
        assert_eq!(
            changed(&|p| p.moves = "noop".into()),
            "joint move 1 `noop`: expected a list of 2 moves, one for each role"
        );
        assert_eq!(
            changed(&|p| p.role = "me".into()),
            "no role `me`; the roles are xplayer, oplayer"
        );
        assert_eq!(
            changed(&|p| p.good.push("(mark 1 1)".into())),
            "`(mark 1 1)` is no legal move of xplayer"
        );
        assert_eq!(
            changed(&|p| p.good.push("( mark 2  2)".into())),
            "a good move is listed twice"
        );
        assert_eq!(changed(&|p| p.good.clear()), "no move is good");
        assert_eq!(
            changed(&|p| p.role = "oplayer".into()),
            "`(mark 2 2)` is no legal move of oplayer"
        );
        assert_eq!(
            changed(&|p| p.goal = Some(101)),
            "the goal is 101; 0 to 100 was expected"
        );
        assert_eq!(
            changed(&|p| p.goal = None),
            "0 of 7 legal moves have values"
        );
    }
}
