//! The corpus of published games.

use std::path::{Path, PathBuf};

use panza_lab::corpus::folder::Corpus;

/// The corpus beside the project (`../shared/corpus`), or in the folder that the environment
/// variable `PANZA_CORPUS` names; nothing where there is none.
pub fn corpus() -> Option<Corpus> {
    let folder = match std::env::var_os("PANZA_CORPUS") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(crate::ROOT).join("../shared/corpus"),
    };
    if !folder.join("games.csv").is_file() {
        println!("no corpus of published games: nothing compared");
        return None;
    }
    Some(Corpus::open(&folder).expect("the corpus can be read"))
}
