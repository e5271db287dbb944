//! Finds the game that the command line names, and loads its rules.
//!
//! A game is a path to a rulesheet or a name. A name is looked up in the folder `gdl-games` of the
//! working directory and then among the copies inside the program. [`Dialect::of`] says whether a
//! rulesheet is KIF or HRF.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::arguments::read_limited;
use panza_gdl::{Diagnostic, Encoding, Rules, Severity, Span, text};
use panza_hrf::Dialect;

/// The folder of rulesheets that are found by name.
pub const FOLDER: &str = "gdl-games";

/// Larger files are refused.
const MAX_BYTES: u64 = 64 << 20;

pub use panza_gdl_games::EMBEDDED;

/// A rulesheet as text.
#[derive(Clone, Debug)]
pub struct Rulesheet {
    /// The game's name: the file's name without its ending.
    pub name: String,
    /// The origin of the text, for messages.
    pub origin: String,
    /// The text.
    pub text: String,
    /// How its file is encoded.
    pub encoding: Encoding,
    /// The file, unless it is a copy inside the program.
    pub file: Option<PathBuf>,
}

/// A rulesheet whose rules can be played.
#[derive(Clone, Debug)]
pub struct Game {
    /// Name and text.
    pub sheet: Rulesheet,
    /// The rules.
    pub rules: Rules,
}

impl Rulesheet {
    /// Finds a rulesheet by path or name.
    pub fn find(argument: &str) -> anyhow::Result<Self> {
        Self::find_beside(argument, Path::new(""))
    }

    /// As [`find`](Self::find), with names looked for in `directory/gdl-games`.
    fn find_beside(argument: &str, directory: &Path) -> anyhow::Result<Self> {
        let path = directory.join(argument);
        if path.is_file() {
            return Self::read(&path, argument);
        }
        if path.is_dir() {
            bail!("`{argument}` is a folder; a rulesheet or the name of a game was expected");
        }
        if looks_like_path(argument) {
            bail!("no file `{argument}`");
        }
        let folder = directory.join(FOLDER);
        for ending in ["gdl", "hrf"] {
            let by_name = folder.join(format!("{argument}.{ending}"));
            if by_name.is_file() {
                return Self::read(&by_name, &format!("{FOLDER}/{argument}.{ending}"));
            }
        }
        if let Some((name, text)) = EMBEDDED.iter().find(|(name, _)| *name == argument) {
            return Ok(Self {
                name: name.to_string(),
                // Its file may not be there.
                origin: name.to_string(),
                text: text.to_string(),
                encoding: Encoding::Utf8,
                file: None,
            });
        }
        let known = known_names(&folder);
        match near_names(argument, &known).as_slice() {
            [] => bail!(
                "no game `{argument}`: neither a file nor one of the {} games known by name ({})",
                known.len(),
                known.join(", ")
            ),
            near => bail!("no game `{argument}`; near names: {}", near.join(", ")),
        }
    }

    /// The dialect of its rules.
    pub fn dialect(&self) -> Dialect {
        Dialect::of(&self.origin, &self.text)
    }

    /// Reads and checks its rules, and notes an encoding that was guessed.
    pub fn load(&self) -> (Rules, Vec<Diagnostic>) {
        let (rules, mut diagnostics) = self.dialect().load(&self.text);
        if let Encoding::Latin1 { first } = self.encoding {
            let letter = self.text.get(first as usize..).unwrap_or_default().chars();
            let length = letter.take(1).map(char::len_utf8).sum::<usize>();
            let place = Span::new(first as usize, first as usize + length);
            let message = "the file is not UTF-8 from here on; it is read as Latin-1";
            let help = "save it as UTF-8, so that every program reads the same names";
            diagnostics.push(Diagnostic::note("not-utf8", place, message).with_help(help));
        }
        (rules, diagnostics)
    }

    fn read(path: &Path, shown: &str) -> anyhow::Result<Self> {
        let bytes = read_limited(path, MAX_BYTES)?;
        let (text, encoding) = text::decode(&bytes);
        let name = path.file_stem().unwrap_or(path.as_os_str());
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            origin: shown.to_string(),
            text: text.into_owned(),
            encoding,
            file: Some(path.to_path_buf()),
        })
    }
}

impl Game {
    /// Finds a rulesheet and reads its rules.
    pub fn load(argument: &str) -> anyhow::Result<Self> {
        Self::from_sheet(Rulesheet::find(argument)?)
    }

    /// Reads a rulesheet's rules.
    ///
    /// # Errors
    /// The rules cannot be played; the message has line and column of the first error.
    pub fn from_sheet(sheet: Rulesheet) -> anyhow::Result<Self> {
        let (rules, diagnostics) = sheet.load();
        let Some(first) = panza_gdl::main_error(&diagnostics) else {
            return Ok(Self { sheet, rules });
        };
        let first = first.one_line(&sheet.origin, &sheet.text);
        let is_error = |diagnostic: &&Diagnostic| diagnostic.severity == Severity::Error;
        match diagnostics.iter().filter(is_error).count() - 1 {
            0 => bail!("{first}"),
            more => bail!("{first} (and {more} more; `panza check` shows them all)"),
        }
    }

    /// Reads the rules that a player would play: rulesheets with errors are playable without the
    /// faulty statements.
    pub fn as_played(sheet: Rulesheet) -> anyhow::Result<Self> {
        let (rules, diagnostics) = sheet.load();
        match panza_gdl::is_playable(&rules, &diagnostics) {
            true => Ok(Self { sheet, rules }),
            false => Self::from_sheet(sheet),
        }
    }

    /// The rules in KIF, as messages carry them: the text of the rulesheet, or its translation.
    pub fn kif_text(&self) -> Cow<'_, str> {
        match self.sheet.dialect() {
            Dialect::Kif => Cow::Borrowed(&self.sheet.text),
            Dialect::Hrf => Cow::Owned(panza_gdl::format::rulesheet(&self.rules)),
        }
    }

    /// The roles' names, in order.
    pub fn role_names(&self) -> Vec<String> {
        self.rules.role_names()
    }
}

/// Whether an argument can only be meant as a path.
fn looks_like_path(argument: &str) -> bool {
    let path = Path::new(argument);
    path.components().count() != 1
        || argument.ends_with(std::path::is_separator)
        || path.extension().is_some_and(|extension| {
            let mut endings = ["gdl", "kif", "hrf"].into_iter();
            endings.any(|ending| extension.eq_ignore_ascii_case(ending))
        })
}

/// The games known by name: those in `gdl-games` beside the working directory and those inside the
/// program, sorted, each once.
pub fn known_games() -> Vec<String> {
    known_names(Path::new(FOLDER))
}

/// The games of a folder and those inside the program, sorted, each once.
fn known_names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = EMBEDDED.iter().map(|(name, _)| name.to_string()).collect();
    if let Ok(entries) = fs::read_dir(folder) {
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        names.extend(paths.filter_map(|path: PathBuf| {
            let ending = path.extension();
            let is_rulesheet = ending.is_some_and(|ending| ending == "gdl" || ending == "hrf");
            is_rulesheet.then(|| path.file_stem()?.to_str().map(str::to_string))?
        }));
    }
    names.sort();
    names.dedup();
    names
}

/// Up to five known names that are similar to `wanted`, nearest first.
fn near_names(wanted: &str, known: &[String]) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let mut near: Vec<(usize, &String)> = known
        .iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let distance = strsim::damerau_levenshtein(&wanted, &lower);
            let is_part = wanted.len() >= 3 && lower.contains(&wanted)
                || lower.len() >= 3 && wanted.contains(&lower);
            (is_part || distance <= 1 + wanted.chars().count() / 4).then_some((distance, name))
        })
        .collect();
    near.sort();
    let nearest = near.into_iter().take(5);
    nearest.map(|(_, name)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beside_the_directory_wins_over_the_copy_inside() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join(FOLDER)).unwrap();
        let find = || Rulesheet::find_beside("ticTacToe", directory.path()).unwrap();
        assert!(find().text.contains("xplayer"));
        fs::write(
            directory.path().join(FOLDER).join("ticTacToe.gdl"),
            "(role me)",
        )
        .unwrap();
        assert_eq!(find().text, "(role me)");
        assert_eq!(find().name, "ticTacToe");
    }

    #[test]
    fn unknown_names_get_near_ones() {
        let message = |argument: &str| {
            Rulesheet::find_beside(argument, Path::new("/nonexistent"))
                .unwrap_err()
                .to_string()
        };
        assert!(
            message("tictactoe").starts_with("no game `tictactoe`; near names: ticTacToe"),
            "{}",
            message("tictactoe")
        );
        assert!(message("conectFour").contains("connectFour"));
        assert!(message("qqqqqqqqq").contains("games known by name (bidding"));
        assert_eq!(message("x/y"), "no file `x/y`");
        assert_eq!(message("x.kif"), "no file `x.kif`");
        assert_eq!(message("x.hrf"), "no file `x.hrf`");
    }

    #[test]
    fn the_ending_of_the_file_tells_the_dialect() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join(FOLDER)).unwrap();
        let text = "role(a) init(control(a)) legal(go) go :: over goal(a,100) terminal :- over";
        fs::write(directory.path().join(FOLDER).join("one.hrf"), text).unwrap();
        let sheet = Rulesheet::find_beside("one", directory.path()).unwrap();
        let game = Game::from_sheet(sheet).unwrap();
        assert_eq!(game.role_names(), ["a"]);
        let kif = game.kif_text();
        assert!(kif.contains("(<= terminal\n  (true over))\n"), "{kif}");
        let (again, faults) = panza_gdl::load(&kif);
        assert!(
            faults.iter().all(|fault| fault.severity != Severity::Error),
            "{faults:?}"
        );
        assert_eq!(panza_gdl::format::rulesheet(&again), kif);
    }

    #[test]
    fn rules_that_cannot_be_played_are_refused_with_line_and_column() {
        let sheet = Rulesheet {
            name: "broken".into(),
            origin: "broken.gdl".into(),
            text: "(role a)\n  (init (x".into(),
            encoding: Encoding::Utf8,
            file: None,
        };
        let message = Game::from_sheet(sheet).unwrap_err().to_string();
        let expected = "broken.gdl:2:9: error[unclosed-parenthesis]: ";
        assert!(message.starts_with(expected), "{message}");
    }
}
