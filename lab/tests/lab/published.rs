//! The corpus of published games.

use std::path::{Path, PathBuf};

use panza_lab::corpus::folder::Corpus;

/// The corpus beside the project (`../shared/corpus`), or in the folder that the environment
/// variable `PANZA_CORPUS` names.
pub fn corpus() -> Corpus {
    let folder = match std::env::var_os("PANZA_CORPUS") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(crate::ROOT).join("../shared/corpus"),
    };
    Corpus::open(&folder).expect("the published games are there")
}
