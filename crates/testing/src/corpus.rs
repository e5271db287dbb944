//! The files of a corpus of published games.
//!
//! `games.csv` lists the games, a key in the first column; `games/KEY.kif` is a game's rulesheet,
//! and `traces/KEY.jsonl.gz` and `traces-clingo/KEY.jsonl.gz` are its recorded playouts, by one
//! reasoner each.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// The corpus beside the project (`../shared/corpus`), or where the environment variable
/// `PANZA_CORPUS` says, which is relative to the root folder of the project.
pub fn corpus() -> Corpus {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = std::env::var_os("PANZA_CORPUS").unwrap_or_else(|| "../shared/corpus".into());
    Corpus::open(&root.join(folder)).expect("the published games are there")
}

/// The folders of traces; a game may have a file in each.
const TRACES: [&str; 2] = ["traces", "traces-clingo"];

/// A corpus of games with recorded playouts.
#[derive(Clone, Debug)]
pub struct Corpus {
    folder: PathBuf,
    keys: Vec<String>,
}

impl Corpus {
    /// Reads the list of games. Fails where there is none, or a key in it can be no file's name.
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let list = folder.join("games.csv");
        let shown = list.display();
        let text = fs::read_to_string(&list).with_context(|| {
            format!("no corpus in `{}`: cannot read `{shown}`", folder.display())
        })?;
        let mut keys = Vec::new();
        for (index, line) in text.lines().enumerate().skip(1) {
            let key = line.split(',').next().unwrap_or_default();
            let is_name = key
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_-+.".contains(c));
            if key.is_empty() || key.starts_with('.') || !is_name {
                bail!(
                    "{shown}:{}: `{key}` is no key of a game; expected letters, digits, _, -, + and .",
                    index + 1
                );
            }
            keys.push(key.to_string());
        }
        Ok(Self {
            folder: folder.to_path_buf(),
            keys,
        })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The games' keys, in the order of the list.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The named games in the order of the list; all when none is named. Fails for unknown names.
    pub fn select(&self, names: &[String]) -> anyhow::Result<Vec<String>> {
        if let Some(unknown) = names.iter().find(|name| !self.keys.contains(name)) {
            bail!(
                "no game `{unknown}` among the {} of `{}`",
                self.keys.len(),
                self.folder.join("games.csv").display()
            );
        }
        let is_wanted = |key: &&String| names.is_empty() || names.contains(key);
        Ok(self.keys.iter().filter(is_wanted).cloned().collect())
    }

    /// The path of a game's rulesheet.
    pub fn rulesheet(&self, key: &str) -> PathBuf {
        self.folder.join("games").join(format!("{key}.kif"))
    }

    /// The paths of a game's traces that exist.
    pub fn traces(&self, key: &str) -> Vec<PathBuf> {
        let paths = TRACES.map(|traces| self.folder.join(traces).join(format!("{key}.jsonl.gz")));
        paths.into_iter().filter(|path| path.is_file()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_and_their_traces_are_found() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("games.csv"),
            "key,roles\nhex,2\nmaze_2,1\n",
        )
        .unwrap();
        fs::create_dir(folder.path().join("traces-clingo")).unwrap();
        let trace = folder.path().join("traces-clingo/hex.jsonl.gz");
        fs::write(&trace, "").unwrap();
        let corpus = Corpus::open(folder.path()).unwrap();
        assert_eq!(corpus.keys(), ["hex", "maze_2"]);
        assert_eq!(corpus.traces("hex"), [trace]);
        assert!(corpus.traces("maze_2").is_empty());
    }

    #[test]
    fn bad_lists_are_refused_with_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let message = |folder: &Path| format!("{:#}", Corpus::open(folder).unwrap_err());
        assert!(message(folder.path()).contains("games.csv"));
        for key in ["../hex", "", "a b", ".hidden"] {
            let list = format!("key,roles\nhex,2\n{key},2\n");
            fs::write(folder.path().join("games.csv"), list).unwrap();
            let message = message(folder.path());
            assert!(
                message.contains(&format!("games.csv:3: `{key}` is no key")),
                "{message}"
            );
        }
    }
}
