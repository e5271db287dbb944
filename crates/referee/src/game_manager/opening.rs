//! Openings: joint moves that the game manager makes at the start of a match, whatever the players
//! answer.
//!
//! The file of an opening has one joint move a line in KIF, the moves in role order. Empty lines
//! and comments after `;` are skipped.
//!
//! Invariant: what was read is legal move by move, and the game goes on after it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use panza_cli::arguments::{read_text, shown_path};
use panza_cli::output::counted;
use panza_gdl::{Rules, TermId, sexpr};

use super::referee::Referee;
use super::shortened;

/// Larger files are refused, and folders of more files.
const MAX_BYTES: u64 = 1 << 20;
const MAX_FILES: usize = 1_000;
/// Legal moves that an error names, at most.
const MAX_NAMED: usize = 6;

/// The joint moves with which a match begins; none without an opening.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Opening {
    /// Its name: that of its file.
    pub name: String,
    /// The joint moves, each in role order.
    pub moves: Vec<Vec<String>>,
    /// Seconds for each of them, instead of the play clock.
    pub clock: Option<u32>,
}

impl Opening {
    /// Reads the opening of a file, or those of all files of a folder in the order of their names.
    ///
    /// # Errors
    /// A file cannot be read, or has a line that is no legal joint move of the game there.
    pub fn read_all(path: &Path, rules: &Rules) -> anyhow::Result<Vec<Self>> {
        if !path.is_dir() {
            return Ok(vec![Self::read(path, rules)?]);
        }
        let shown = path.display();
        let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.with_context(|| format!("cannot read `{shown}`"))?;
        let is_hidden = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default();
            name.to_string_lossy().starts_with('.')
        };
        let mut files: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
        files.retain(|file| file.is_file() && !is_hidden(file));
        files.sort();
        ensure!(
            (1..=MAX_FILES).contains(&files.len()),
            "`{shown}` has {}; expected 1 to {MAX_FILES} openings",
            counted(files.len() as u64, "file")
        );
        files.iter().map(|file| Self::read(file, rules)).collect()
    }

    /// Reads the opening of a file.
    ///
    /// # Errors
    /// As [`read_all`](Self::read_all).
    pub fn read(path: &Path, rules: &Rules) -> anyhow::Result<Self> {
        let shown = shown_path(path);
        let text = read_text(path, MAX_BYTES)?;
        let mut referee = Referee::new(rules)?;
        let mut moves = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let made = joint_move(&mut referee, line);
            moves.extend(made.with_context(|| format!("{shown}:{number}"))?);
        }
        if moves.is_empty() {
            bail!("{shown}: no joint move; expected one a line, such as ((mark 1 1) noop)");
        }
        if referee.is_over()? {
            bail!("{shown}: the game is over after the last line; expected one that goes on");
        }
        let name = path.file_name().unwrap_or_default();
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            moves,
            clock: None,
        })
    }
}

/// Makes the joint move of a line, and gives its moves; none where the line has only a comment.
fn joint_move(referee: &mut Referee, line: &str) -> anyhow::Result<Option<Vec<String>>> {
    let (expressions, faults) = sexpr::parse(line);
    if expressions.is_empty() && faults.is_empty() {
        return Ok(None);
    }
    let roles = referee.roles().to_vec();
    let moves = match expressions.as_slice() {
        [one] if faults.is_empty() => one.list().filter(|moves| moves.len() == roles.len()),
        _ => None,
    };
    let Some(moves) = moves else {
        let (roles, line) = (roles.join(", "), shortened(line.trim()));
        bail!("expected a list with one move each of {roles}; found {line}");
    };
    if referee.is_over()? {
        bail!("the game is over here; expected no further joint move");
    }
    let legal = referee.legal_moves()?;
    let mut joint_move: Vec<TermId> = Vec::with_capacity(roles.len());
    for ((role, mv), legal) in roles.iter().zip(moves).zip(&legal) {
        let text = mv.to_string();
        match referee.read_move(&text, legal) {
            Some(mv) => joint_move.push(mv),
            None => bail!(
                "{} is no legal move of {role} here; expected {}",
                shortened(&text),
                named(referee, legal)
            ),
        }
    }
    referee.advance(&joint_move)?;
    let texts = joint_move.iter().map(|&mv| referee.show(mv));
    Ok(Some(texts.collect()))
}

/// Legal moves for a message.
fn named(referee: &Referee, legal: &[TermId]) -> String {
    let (first, more) = legal.split_at(legal.len().min(MAX_NAMED));
    let texts: Vec<String> = first.iter().map(|&mv| referee.show(mv)).collect();
    match more.len() {
        0 if texts.is_empty() => "no move at all".to_string(),
        0 => texts.join(", "),
        n => format!("{} or {n} others", texts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Vec<String>>, String> {
        let rules = panza_gdl::load(panza_gdl_games::rulesheet("ticTacToe").unwrap()).0;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("moves.txt");
        fs::write(&file, text).unwrap();
        let found = Opening::read(&file, &rules).map(|opening| opening.moves);
        found.map_err(|error| {
            let error = format!("{error:#}");
            let shown = format!("{}:", file.display());
            error
                .strip_prefix(&shown)
                .expect("it names the file")
                .to_string()
        })
    }

    /// x wins with the fifth move.
    const WHOLE: &str = "((mark 1 1) noop)\n(noop (mark 2 1))\n((mark 1 2) noop)\n\
        (noop (mark 2 2))\n((mark 1 3) noop)\n";

    #[test]
    fn joint_moves_stand_on_lines_between_comments() {
        let text = "; two moves\r\n\r\n( ( MARK 1 1 ) noop ) ; a corner\n \n(noop (mark 2 2))";
        let expected = [["(mark 1 1)", "noop"], ["noop", "(mark 2 2)"]];
        assert_eq!(read(text).unwrap(), expected);
    }

    #[test]
    fn what_is_no_opening_is_told_with_its_line() {
        let list = "expected a list with one move each of xplayer, oplayer; found";
        let (open, early) = ("((mark 1 1) noop", format!("{WHOLE}(noop noop)"));
        for (text, expected) in [
            (
                "",
                " no joint move; expected one a line, such as ((mark 1 1) noop)",
            ),
            (";\n\n", " no joint move; expected"),
            (open, &format!("1: {list} `{open}`")),
            ("; x\n(mark 1 1)", &format!("2: {list} `(mark 1 1)`")),
            ("noop noop", &format!("1: {list} `noop noop`")),
            (
                "((mark 1 1) noop)\n((mark 1 1) noop)",
                "2: `(mark 1 1)` is no legal move of xplayer here; expected noop",
            ),
            (
                "((mark 4 1) noop)",
                "1: `(mark 4 1)` is no legal move of xplayer here; expected (mark 1 1), ",
            ),
            ("((mark 4 1) noop)", "(mark 2 3) or 3 others"),
            (WHOLE, " the game is over after the last line"),
            (&early, "6: the game is over here"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_folder_has_an_opening_in_each_file() {
        let rules = panza_gdl::load(panza_gdl_games::rulesheet("ticTacToe").unwrap()).0;
        let folder = tempfile::tempdir().unwrap();
        let all = || Opening::read_all(folder.path(), &rules);
        let error = all().unwrap_err().to_string();
        assert!(
            error.ends_with("has 0 files; expected 1 to 1000 openings"),
            "{error}"
        );
        for (name, mv) in [
            ("b.txt", "(mark 1 1)"),
            ("a", "(mark 2 2)"),
            (".hidden", "no"),
        ] {
            fs::write(folder.path().join(name), format!("({mv} noop)\n")).unwrap();
        }
        let names: Vec<String> = all().unwrap().into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["a", "b.txt"]);
    }
}
