//! Files of oracles: a JSON object per line.
//!
//! The first line names the game and how the file was made. Each other line is a position: the
//! joint moves from the initial state, each in the form of a PLAY message, the role that chooses,
//! and for each of its legal moves the exact values. A move has one value where the role chooses
//! alone, else one for each legal move of the other role in the order of their texts.
//!
//! Invariant: [`OracleFile::read`] reads what [`OracleFile::text`] writes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use panza_arena::trace::canonical;
use panza_machine::machine::Machine;
use panza_rules::gdl::sexpr;
use panza_rules::ids::{Id, MoveId, RoleId};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Number;

use super::solve::ValueTable;
use crate::positions::file::{Line, joint_move_text, read_joint_move};
use crate::positions::prove::all_legal;

/// Stored values are rounded to this part of a point.
const PRECISION: f64 = 0.001;

/// The positions of one game.
#[derive(Clone, PartialEq, Debug)]
pub struct OracleFile {
    /// The first line.
    pub head: Head,
    /// The positions, in the order of their lines.
    pub positions: Vec<OraclePosition>,
}

/// The first line of a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Path to a rulesheet, or the name of a game.
    pub game: String,
    /// How the positions were found, for people.
    pub about: String,
}

/// A position and the values of its moves.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OraclePosition {
    /// The role that chooses.
    pub role: String,
    /// The joint moves from the initial state, as in `((drop 4) noop) (noop (drop 3))`.
    pub moves: String,
    /// The exact values of each legal move.
    #[serde(serialize_with = "write_values")]
    pub values: BTreeMap<String, Vec<f64>>,
}

/// A position on a machine.
#[derive(Clone, PartialEq, Debug)]
pub struct OracleSetup {
    /// The state.
    pub state: Vec<u64>,
    /// The role that chooses.
    pub role: RoleId,
    /// The values of its moves.
    pub table: ValueTable,
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

    /// The file's text.
    pub fn text(&self) -> anyhow::Result<String> {
        let mut text = serde_json::to_string(&self.head)? + "\n";
        for position in &self.positions {
            text += &serde_json::to_string(position)?;
            text.push('\n');
        }
        Ok(text)
    }

    /// The line of a position in the file, from 1.
    pub fn line_of(index: usize) -> usize {
        index + 2
    }
}

impl OraclePosition {
    /// The position after a line of play, with its values.
    pub(super) fn new(
        machine: &Arc<dyn Machine>,
        line: &Line,
        role: RoleId,
        table: &ValueTable,
    ) -> Self {
        let info = machine.info();
        let moves = line.joint_moves.iter();
        let moves: Vec<String> = moves.map(|moves| joint_move_text(machine, moves)).collect();
        let values = table.moves().iter().zip(table.rows());
        let rounded = |value: &f64| (value / PRECISION).round() * PRECISION;
        Self {
            role: info.role_name(role).to_string(),
            moves: moves.join(" "),
            values: values
                .map(|(&mv, row)| (info.move_text(mv), row.iter().map(rounded).collect()))
                .collect(),
        }
    }

    /// Plays the moves and checks that the values are those of the legal moves.
    pub fn set_up(&self, machine: &Arc<dyn Machine>) -> anyhow::Result<OracleSetup> {
        let info = machine.info();
        let mut reasoner = Arc::clone(machine).reasoner();
        let mut line = Line::new(machine);
        let (expressions, faults) = sexpr::parse(&self.moves);
        ensure!(faults.is_empty(), "`moves` is no list of joint moves");
        for (index, joint_move) in expressions.iter().enumerate() {
            let text = joint_move.to_string();
            let joint_move = read_joint_move(machine, reasoner.as_mut(), line.last(), &text)
                .with_context(|| format!("joint move {} `{text}`", index + 1))?;
            line.push(reasoner.as_mut(), joint_move);
        }
        let role = info.roles().iter().position(|role| *role == self.role);
        let role = RoleId::from_index(role.with_context(|| format!("no role `{}`", self.role))?);
        ensure!(info.n_roles() == 2, "an oracle is of a game of two roles");
        let state = line.last().to_vec();
        reasoner.set_state(&state);
        ensure!(!reasoner.is_terminal(), "the game is over here");
        let legal = all_legal(reasoner.as_mut(), info.n_roles());
        let own = &legal[role.index()];
        let mut rows: Vec<(MoveId, Vec<f64>)> = Vec::new();
        for (text, row) in &self.values {
            let mv = info.find_move(role, &canonical(text));
            let Some(mv) = mv.filter(|mv| own.contains(mv)) else {
                bail!("`{text}` is no legal move of {}", self.role);
            };
            let n_replies = legal[1 - role.index()].len();
            ensure!(
                row.len() == n_replies,
                "`{text}` has {} values; {n_replies} were expected",
                row.len()
            );
            rows.push((mv, row.clone()));
        }
        ensure!(
            rows.len() == own.len() && own.len() > 1,
            "{} of {} legal moves have values",
            rows.len(),
            own.len()
        );
        Ok(OracleSetup {
            state,
            role,
            table: ValueTable::new(info, rows),
        })
    }
}

/// Whole numbers are written without a decimal point.
fn write_values<S: Serializer>(
    values: &BTreeMap<String, Vec<f64>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let number = |value: &f64| match value.fract() == 0.0 {
        true => Some(Number::from(*value as i64)),
        false => Number::from_f64((value / PRECISION).round() * PRECISION),
    };
    let numbers = |row: &Vec<f64>| row.iter().filter_map(number).collect::<Vec<_>>();
    serializer.collect_map(values.iter().map(|(text, row)| (text, numbers(row))))
}
