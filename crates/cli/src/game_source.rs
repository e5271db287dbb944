//! Finds the game that the command line names, and loads its rules.
//!
//! A game is a path to a rulesheet, `-` for standard input, or a name. A name is looked up in
//! [folders](game_folders) and then among the copies inside the program. [`Dialect::of`] says
//! whether a rulesheet is KIF or HRF.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::arguments::{STANDARD_INPUT, SettingsChoice, is_standard_input, read_limited};
use super::game_folders::{self, ENDINGS};
use super::output::complain;
use panza_gdl::{Diagnostic, Encoding, Rules, Severity, Span, text};
use panza_hrf::Dialect;

/// Larger files are refused.
const MAX_BYTES: u64 = 64 << 20;
/// The most warnings and notes that loading a game prints.
const MAX_TOLD: usize = 20;

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
    /// The file, unless it is a copy inside the program or was read from standard input.
    pub file: Option<PathBuf>,
}

/// A game that is known by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownGame {
    /// The name.
    pub name: String,
    /// The folder that has its rulesheet; none for a copy inside the program.
    pub folder: Option<PathBuf>,
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
    /// Finds a rulesheet by path or name, or reads it from standard input.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn find(argument: &str) -> anyhow::Result<Self> {
        Self::find_in(argument, &[])
    }

    /// As [`find`](Self::find), with the folders of the settings, which come before others.
    ///
    /// # Errors
    /// As there.
    pub fn find_in(argument: &str, of_settings: &[PathBuf]) -> anyhow::Result<Self> {
        let path = Path::new(argument);
        if is_standard_input(path) || path.is_file() {
            return Self::read(path, argument);
        }
        if path.is_dir() {
            bail!("`{argument}` is a folder; a rulesheet or the name of a game was expected");
        }
        if looks_like_path(argument) {
            bail!("no file `{argument}`");
        }
        Self::find_named(argument, of_settings)
    }

    /// Finds a rulesheet by name alone: no path, and not standard input. The folders of the
    /// settings come before others.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn find_named(name: &str, of_settings: &[PathBuf]) -> anyhow::Result<Self> {
        Self::find_among(name, &game_folders::folders(of_settings))
    }

    /// Finds a rulesheet by name, in these folders or inside the program.
    fn find_among(name: &str, folders: &[PathBuf]) -> anyhow::Result<Self> {
        Self::find_with_title(name, folders).map(|(sheet, _)| sheet)
    }

    /// As [`find_among`](Self::find_among), with the title that metadata give the game.
    fn find_with_title(name: &str, folders: &[PathBuf]) -> anyhow::Result<(Self, Option<String>)> {
        for folder in folders {
            if let Some(found) = game_folders::find(folder, name)? {
                let mut sheet = Self::read(&found.file, &found.file.to_string_lossy())?;
                // In a folder of its own a game is named after the folder.
                sheet.name = name.to_string();
                return Ok((sheet, found.title));
            }
        }
        if let Some((name, text)) = EMBEDDED.iter().find(|(known, _)| *known == name) {
            let sheet = Self {
                name: name.to_string(),
                // Its file may not be there.
                origin: name.to_string(),
                text: text.to_string(),
                encoding: Encoding::Utf8,
                file: None,
            };
            return Ok((sheet, None));
        }
        let known = known_among(folders);
        let known: Vec<&str> = known.iter().map(|game| game.name.as_str()).collect();
        match near_names(name, &known).as_slice() {
            [] => bail!(
                "no game `{name}`: neither a file nor one of the {} games that `panza games` lists",
                known.len()
            ),
            near => bail!("no game `{name}`; did you mean {}?", near.join(" or ")),
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
        if is_standard_input(path) {
            return Ok(Self {
                name: "stdin".to_string(),
                origin: STANDARD_INPUT.to_string(),
                text: text.into_owned(),
                encoding,
                file: None,
            });
        }
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
        Self::load_in(argument, &[])
    }

    /// As [`load`](Self::load), with the folders of the settings, which come before others. What
    /// `panza check` says of the text goes to standard error.
    ///
    /// # Errors
    /// There is no such rulesheet, or its rules cannot be played.
    pub fn load_in(argument: &str, of_settings: &[PathBuf]) -> anyhow::Result<Self> {
        let (game, found) = Self::checked(Rulesheet::find_in(argument, of_settings)?)?;
        for one in found.iter().take(MAX_TOLD) {
            complain(one.one_line(&game.sheet.origin, &game.sheet.text));
        }
        Ok(game)
    }

    /// Reads a rulesheet's rules.
    ///
    /// # Errors
    /// The rules cannot be played; the message has line and column of the first error.
    pub fn from_sheet(sheet: Rulesheet) -> anyhow::Result<Self> {
        Self::checked(sheet).map(|(game, _)| game)
    }

    /// The game of a rulesheet without errors, and what else there is to say about it.
    fn checked(sheet: Rulesheet) -> anyhow::Result<(Self, Vec<Diagnostic>)> {
        let (rules, diagnostics) = sheet.load();
        let Some(first) = panza_gdl::main_error(&diagnostics) else {
            return Ok((Self { sheet, rules }, diagnostics));
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

impl SettingsChoice {
    /// The game of a path or a name, which is looked up in the folders of the settings too.
    ///
    /// # Errors
    /// The settings cannot be used, or the game cannot be loaded.
    pub fn game(&self, argument: &str) -> anyhow::Result<Game> {
        Game::load_in(argument, &self.load([])?.games.folders)
    }
}

/// Whether an argument can only be meant as a path.
fn looks_like_path(argument: &str) -> bool {
    let path = Path::new(argument);
    path.components().count() != 1
        || argument.ends_with(std::path::is_separator)
        || path.extension().is_some_and(|extension| {
            let mut endings = ENDINGS.into_iter();
            endings.any(|ending| extension.eq_ignore_ascii_case(ending))
        })
}

/// The games known by name, sorted by name, each once: from the first place that has it.
pub fn known_games(of_settings: &[PathBuf]) -> Vec<KnownGame> {
    known_among(&game_folders::folders(of_settings))
}

impl KnownGame {
    /// Reads its rules, and its title where metadata have one.
    ///
    /// # Errors
    /// The rulesheet cannot be read, or its rules cannot be played.
    pub fn load(&self) -> anyhow::Result<(Game, Option<String>)> {
        let (sheet, title) = Rulesheet::find_with_title(&self.name, self.folder.as_slice())?;
        Ok((Game::from_sheet(sheet)?, title))
    }
}

/// The games of these folders and those inside the program.
fn known_among(folders: &[PathBuf]) -> Vec<KnownGame> {
    let mut known = BTreeMap::new();
    for folder in folders {
        for name in game_folders::names(folder) {
            known.entry(name).or_insert_with(|| Some(folder.clone()));
        }
    }
    for (name, _) in EMBEDDED {
        known.entry(name.to_string()).or_insert(None);
    }
    let known = known.into_iter();
    known
        .map(|(name, folder)| KnownGame { name, folder })
        .collect()
}

/// Up to five known names that are similar to `wanted`, in quotes, nearest first.
fn near_names(wanted: &str, known: &[&str]) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let mut near: Vec<(usize, &str)> = known
        .iter()
        .filter_map(|&name| {
            let lower = name.to_lowercase();
            let distance = strsim::damerau_levenshtein(&wanted, &lower);
            let is_part = wanted.len() >= 3 && lower.contains(&wanted)
                || lower.len() >= 3 && wanted.contains(&lower);
            (is_part || distance <= 1 + wanted.chars().count() / 4).then_some((distance, name))
        })
        .collect();
    near.sort();
    let nearest = near.into_iter().take(5);
    nearest.map(|(_, name)| format!("`{name}`")).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn folders_come_in_order_and_before_the_copies_inside() {
        let [first, second] = [0; 2].map(|_| tempfile::tempdir().unwrap());
        let folders = [&first, &second].map(|folder| folder.path().to_path_buf());
        let find = || Rulesheet::find_among("ticTacToe", &folders).unwrap();
        assert!(find().text.contains("xplayer"));
        assert_eq!(find().file, None);
        for (folder, ending, text) in [
            (&second, "gdl", "(role second)"),
            (&first, "kif", "(role first)"),
        ] {
            let file = folder.path().join(format!("ticTacToe.{ending}"));
            fs::write(&file, text).unwrap();
            assert_eq!(
                (find().text.as_str(), find().name.as_str()),
                (text, "ticTacToe")
            );
            assert_eq!(find().file, Some(file));
        }
        let known = known_among(&folders);
        let of = |name: &str| known.iter().find(|game| game.name == name).unwrap();
        assert_eq!(of("ticTacToe").folder.as_ref(), Some(&folders[0]));
        assert_eq!(of("hex").folder, None);
        assert!(known.is_sorted_by_key(|game| &game.name));
    }

    #[test]
    fn unknown_names_get_near_ones() {
        let message = |argument: &str| Rulesheet::find(argument).unwrap_err().to_string();
        let near = message("tictactoe");
        assert!(
            near.starts_with("no game `tictactoe`; did you mean `ticTacToe` or "),
            "{near}"
        );
        assert!(message("conectFour").contains("did you mean `connectFour`"));
        let far = message("qqqqqqqqq");
        assert!(
            far.contains("games that `panza games` lists") && far.len() < 100,
            "{far}"
        );
        assert_eq!(message("x/y"), "no file `x/y`");
        assert_eq!(message("x.kif"), "no file `x.kif`");
        assert_eq!(message("x.hrf"), "no file `x.hrf`");
    }

    #[test]
    fn the_ending_of_the_file_tells_the_dialect() {
        let directory = tempfile::tempdir().unwrap();
        let text = "role(a) init(control(a)) legal(go) go :: over goal(a,100) terminal :- over";
        fs::write(directory.path().join("one.hrf"), text).unwrap();
        let sheet = Rulesheet::find_among("one", &[directory.path().to_path_buf()]).unwrap();
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
