//! Reads the reference traces of the conformance corpus.
//!
//! A trace is a compressed file of JSON lines, one line per state, playouts one after the other. The corpus lies
//! beside the project (`../shared/corpus`), or where the environment variable `PANZA_CORPUS` says.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde::Deserialize;

/// One state of a playout and what is known of it.
#[derive(Clone, Debug, Deserialize)]
pub struct TraceState {
    /// The playout, from 0.
    pub playout: u32,
    /// The step, from 0; step 0 is the initial state.
    pub step: u32,
    /// The facts that hold, sorted; left out at most states of a large trace.
    pub state: Option<Vec<String>>,
    /// Whether the game is over.
    pub terminal: bool,
    /// Each role's legal moves, sorted; only where the game is not over.
    pub legal: Option<BTreeMap<String, Vec<String>>>,
    /// The joint move that leads to the next line's state.
    pub moves: Option<BTreeMap<String, String>>,
    /// The goals of roles with exactly one integer value, where they were asked for.
    pub goal: Option<BTreeMap<String, i64>>,
    /// All values of roles with none or several.
    pub goal_values: Option<BTreeMap<String, Vec<String>>>,
}

/// The folder of the corpus, if it is here.
pub fn corpus() -> Option<PathBuf> {
    let folder = match std::env::var_os("PANZA_CORPUS") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"),
    };
    folder.join("games.csv").is_file().then_some(folder)
}

/// The keys of all games of the corpus, in the order of its list.
pub fn keys(corpus: &Path) -> Vec<String> {
    let list = std::fs::read_to_string(corpus.join("games.csv")).expect("games.csv is readable");
    list.lines()
        .skip(1)
        .filter_map(|line| line.split(',').next())
        .map(str::to_string)
        .collect()
}

/// A game's rulesheet. Bytes that are no UTF-8 are replaced.
pub fn rulesheet(corpus: &Path, key: &str) -> String {
    let path = corpus.join("games").join(format!("{key}.kif"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A game's traces of both oracles, playouts one after the other.
pub fn states(corpus: &Path, key: &str) -> impl Iterator<Item = TraceState> + use<> {
    ["traces", "traces-clingo"]
        .map(|folder| corpus.join(folder).join(format!("{key}.jsonl.gz")))
        .into_iter()
        .filter(|path| path.is_file())
        .flat_map(|path| {
            let file =
                File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            BufReader::new(GzDecoder::new(file))
                .lines()
                .map(move |line| {
                    let line = line.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                    serde_json::from_str(&line)
                        .unwrap_or_else(|error| panic!("{}: {error} in {line}", path.display()))
                })
        })
}
