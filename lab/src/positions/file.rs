//! Files of positions of one game in TOML.
//!
//! A position is the joint moves from the initial state, a role, the goal that this role can force,
//! and all its moves that keep this goal.
//!
//! Invariant: [`PositionFile::read`] reads what [`PositionFile::text`] writes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

use panza_arena::trace::canonical;
use panza_machine::machine::{Machine, Reasoner};
use panza_rules::gdl::{Sexpr, sexpr};
use panza_rules::ids::{Id, MoveId, RoleId};

/// Columns of a line of the file.
const WIDTH: usize = 118;

/// A file of positions of one game.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PositionFile {
    /// Path to a rulesheet, or the name of a game.
    pub game: String,
    /// A comment on the file.
    #[serde(default)]
    pub notes: String,
    /// The positions.
    pub positions: Vec<Position>,
}

/// One position and the claims about it.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// The role that moves.
    pub role: String,
    /// The highest goal that it can force, whatever the other roles do.
    pub goal: u8,
    /// All its moves that keep this goal.
    pub good: Vec<String>,
    /// A comment on the position.
    #[serde(default)]
    pub note: String,
    /// The joint moves from the initial state, each in the form of a PLAY message, as in `((drop 4)
    /// noop)`.
    pub moves: Vec<String>,
}

/// A position on a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PositionSetup {
    /// The state.
    pub state: Vec<u64>,
    /// The role that moves.
    pub role: RoleId,
    /// Its legal moves, in the order of their texts.
    pub legal: Vec<MoveId>,
    /// Those claimed to be good, likewise.
    pub good: Vec<MoveId>,
}

impl PositionFile {
    /// Reads a file. Fails where it cannot be read, or is no file of positions.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("cannot read `{shown}`"))?;
        Self::parse(&text).with_context(|| format!("`{shown}` is no file of positions"))
    }

    fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let mut text = format!("game = {}\n", quoted(&self.game));
        if !self.notes.is_empty() {
            text.push_str(&format!("notes = {}\n", quoted(&self.notes)));
        }
        if self.positions.is_empty() {
            text.push_str("positions = []\n");
        }
        for position in &self.positions {
            text.push_str("\n[[positions]]\n");
            text.push_str(&format!("role = {}\n", quoted(&position.role)));
            text.push_str(&format!("goal = {}\n", position.goal));
            text.push_str(&format!("good = {}\n", array(&position.good, "good = ")));
            if !position.note.is_empty() {
                text.push_str(&format!("note = {}\n", quoted(&position.note)));
            }
            text.push_str(&format!("moves = {}\n", array(&position.moves, "moves = ")));
        }
        text
    }
}

pub(crate) struct Line {
    pub joint_moves: Vec<Vec<MoveId>>,
    /// The states before them, and the one after the last.
    pub states: Vec<Vec<u64>>,
}

impl Line {
    pub fn new(machine: &Arc<dyn Machine>) -> Self {
        Self {
            joint_moves: Vec::new(),
            states: vec![machine.initial_state()],
        }
    }

    /// The state after the last joint move.
    pub fn last(&self) -> &[u64] {
        &self.states[self.joint_moves.len()]
    }

    /// Appends a joint move that is legal in the last state.
    pub fn push(&mut self, reasoner: &mut dyn Reasoner, joint_move: Vec<MoveId>) {
        let mut next = Vec::new();
        reasoner.set_state(self.last());
        reasoner.next_state(&joint_move, &mut next);
        self.joint_moves.push(joint_move);
        self.states.push(next);
    }
}

impl Position {
    /// Plays the moves. The error is the first move that is not legal.
    pub(super) fn line(&self, machine: &Arc<dyn Machine>) -> anyhow::Result<Line> {
        let mut reasoner = Arc::clone(machine).reasoner();
        let mut line = Line::new(machine);
        for (index, text) in self.moves.iter().enumerate() {
            let joint_move = read_joint_move(machine, reasoner.as_mut(), line.last(), text)
                .with_context(|| format!("joint move {} `{text}`", index + 1))?;
            line.push(reasoner.as_mut(), joint_move);
        }
        Ok(line)
    }

    /// Plays the moves and checks the claims as far as that needs no search: the moves are legal,
    /// the role is one of the game's and has at least one good and one other move.
    pub fn set_up(&self, machine: &Arc<dyn Machine>) -> anyhow::Result<PositionSetup> {
        let state = self.line(machine)?.last().to_vec();
        let mut reasoner = Arc::clone(machine).reasoner();
        let roles = machine.info().roles();
        let role = roles
            .iter()
            .position(|role| *role == self.role)
            .with_context(|| {
                format!(
                    "no role `{}`; the roles are {}",
                    self.role,
                    roles.join(", ")
                )
            })?;
        let role = RoleId::from_index(role);
        reasoner.set_state(&state);
        ensure!(!reasoner.is_terminal(), "the game is over here");
        let legal = in_order(machine, reasoner.legal_moves(role));
        let legal_move = |text: &String| {
            let mv = machine.info().find_move(role, &canonical(text));
            mv.filter(|mv| legal.contains(mv)).with_context(|| {
                format!(
                    "`{text}` is claimed to be good, but is no legal move of {}",
                    self.role
                )
            })
        };
        let good: Vec<MoveId> = self.good.iter().map(legal_move).collect::<Result<_, _>>()?;
        let good = in_order(machine, &good);
        ensure!(
            good.windows(2).all(|pair| pair[0] != pair[1]),
            "a good move is listed twice"
        );
        ensure!(!good.is_empty(), "no move is good");
        ensure!(good.len() < legal.len(), "every legal move is good");
        ensure!(
            self.goal <= 100,
            "the goal is {}; 0 to 100 was expected",
            self.goal
        );
        Ok(PositionSetup {
            state,
            role,
            legal,
            good,
        })
    }
}

pub(crate) fn read_joint_move(
    machine: &Arc<dyn Machine>,
    reasoner: &mut dyn Reasoner,
    state: &[u64],
    text: &str,
) -> anyhow::Result<Vec<MoveId>> {
    let n_roles = machine.info().n_roles();
    let (expressions, faults) = sexpr::parse(text);
    let items = match (faults.as_slice(), expressions.as_slice()) {
        ([], [Sexpr::List(items, _)]) if items.len() == n_roles => items,
        _ => bail!("expected a list of {n_roles} moves, one for each role"),
    };
    reasoner.set_state(state);
    ensure!(!reasoner.is_terminal(), "the game is over before it");
    let mut joint_move = Vec::with_capacity(n_roles);
    for (role, item) in items.iter().enumerate() {
        let role = RoleId::from_index(role);
        let text = canonical(&item.to_string());
        let mv = machine.info().find_move(role, &text);
        let mv = mv.filter(|mv| reasoner.legal_moves(role).contains(mv));
        let name = machine.info().role_name(role);
        joint_move.push(mv.with_context(|| format!("`{text}` is not legal for {name}"))?);
    }
    Ok(joint_move)
}

pub(crate) fn in_order(machine: &Arc<dyn Machine>, moves: &[MoveId]) -> Vec<MoveId> {
    let mut moves = moves.to_vec();
    moves.sort_by_cached_key(|&mv| machine.info().move_text(mv));
    moves
}

/// A joint move in the form of a PLAY message.
pub(crate) fn joint_move_text(machine: &Arc<dyn Machine>, joint_move: &[MoveId]) -> String {
    let moves = joint_move.iter().map(|&mv| machine.info().move_text(mv));
    let moves: Vec<String> = moves.collect();
    format!("({})", moves.join(" "))
}

/// The path itself, or all files of a folder that end in `.toml`, sorted.
pub(super) fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let shown = path.display();
    if !path.is_dir() {
        ensure!(path.is_file(), "no file or folder `{shown}`");
        return Ok(vec![path.to_path_buf()]);
    }
    let paths = |entries: fs::ReadDir| entries.map(|entry| Ok(entry?.path())).collect();
    let files: io::Result<Vec<PathBuf>> = fs::read_dir(path).and_then(paths);
    let mut files = files.with_context(|| format!("cannot read `{shown}`"))?;
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "toml")
    });
    ensure!(
        !files.is_empty(),
        "`{shown}` holds no file that ends in .toml"
    );
    files.sort();
    Ok(files)
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_string()).to_string()
}

/// A list of texts, on one line where they fit after `before`, else on indented lines.
fn array(texts: &[String], before: &str) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    let line = format!("[{}]", quoted.join(", "));
    if before.len() + line.len() <= WIDTH {
        return line;
    }
    let mut lines = vec![String::new()];
    for item in quoted {
        match lines.last_mut() {
            Some(last) if last.is_empty() => *last = format!("  {item},"),
            Some(last) if last.len() + item.len() + 2 <= WIDTH => {
                last.push_str(&format!(" {item},"));
            }
            _ => lines.push(format!("  {item},")),
        }
    }
    format!("[\n{}\n]", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_arena::engine_choice::build_machine;
    use panza_arena::game_source::Game;

    fn position() -> Position {
        Position {
            role: "xplayer".into(),
            goal: 50,
            good: vec!["(mark 2 2)".into()],
            note: "the centre, \"or\" it is lost".into(),
            moves: vec!["((mark 1 1) noop)".into(), "(noop (mark 2 3))".into()],
        }
    }

    fn error(position: &Position) -> String {
        let game = Game::load("ticTacToe").unwrap();
        let machine = build_machine(&game.rules).unwrap();
        format!("{:#}", position.set_up(&machine).unwrap_err())
    }

    #[test]
    fn files_are_read_as_they_were_written() {
        let long = Position {
            moves: vec!["((mark 1 1) noop)".into(); 40],
            ..position()
        };
        let file = PositionFile {
            game: "ticTacToe".into(),
            notes: "two\nlines".into(),
            positions: vec![position(), long],
        };
        let text = file.text();
        assert_eq!(PositionFile::parse(&text).unwrap(), file, "{text}");
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
    }

    #[test]
    fn faults_of_a_file_have_a_line() {
        let message = |text: &str| PositionFile::parse(text).unwrap_err().to_string();
        let unknown = message("game = \"hex\"\npositions = []\nauthor = 1\n");
        assert!(
            unknown.contains("line 3") && unknown.contains("`author`"),
            "{unknown}"
        );
        assert!(message("game = \"hex\"").contains("missing field `positions`"));
        let missing = files(Path::new("no/such")).unwrap_err().to_string();
        assert_eq!(missing, "no file or folder `no/such`");
    }

    #[test]
    fn positions_are_checked_against_the_rules() {
        let changed = |change: &dyn Fn(&mut Position)| {
            let mut position = position();
            change(&mut position);
            error(&position)
        };
        assert_eq!(
            changed(&|p| p.moves[1] = "(noop (mark 1 1))".into()),
            "joint move 2 `(noop (mark 1 1))`: `(mark 1 1)` is not legal for oplayer"
        );
        assert_eq!(
            changed(&|p| p.moves[1] = "(noop".into()),
            "joint move 2 `(noop`: expected a list of 2 moves, one for each role"
        );
        assert_eq!(
            changed(&|p| p.role = "me".into()),
            "no role `me`; the roles are xplayer, oplayer"
        );
        assert_eq!(
            changed(&|p| p.good.push("(mark 1 1)".into())),
            "`(mark 1 1)` is claimed to be good, but is no legal move of xplayer"
        );
        assert_eq!(
            changed(&|p| p.good.push("( mark 2  2)".into())),
            "a good move is listed twice"
        );
        assert_eq!(changed(&|p| p.good.clear()), "no move is good");
        assert_eq!(
            changed(&|p| p.role = "oplayer".into()),
            "`(mark 2 2)` is claimed to be good, but is no legal move of oplayer"
        );
        assert_eq!(
            changed(&|p| p.goal = 101),
            "the goal is 101; 0 to 100 was expected"
        );
    }
}
