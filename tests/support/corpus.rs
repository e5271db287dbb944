//! Finds the corpus of published games.

use std::path::{Path, PathBuf};

#[path = "../../lab/src/corpus/folder.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod folder;

use folder::Corpus;

/// The corpus beside the project (`../shared/corpus`), or where the environment variable
/// `PANZA_CORPUS` says.
pub fn corpus() -> Corpus {
    let folder = match std::env::var_os("PANZA_CORPUS") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"),
    };
    Corpus::open(&folder).expect("the published games are there")
}
