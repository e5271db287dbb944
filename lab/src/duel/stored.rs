//! The file of a study: what an engine has learned of a game, so that others play with the same.
//!
//! It is a JSON object with the notes of a study, as the memory of matches has them, and the name
//! of the game. A study that trained no evaluation has none in its file. Studies of parts and of
//! reduced games are not stored; such games are played without a study.
//!
//! Invariant: an engine that loads a file learns nothing more.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use panza_cli::arguments::read_limited;
use panza_cli::output::write_whole;
use panza_memory::{GameHistory, Kind};
use panza_metagame::{
    Preparation, Structure, find_prospects, prior_preparation, whole_preparation_notes,
};
use panza_sync::Budget;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::builds::NamedGame;

/// The greatest size of a file that is read.
const MAX_BYTES: u64 = 1 << 30;

#[derive(Serialize, Deserialize)]
struct Stored {
    game: String,
    /// None for a game that a match does not study as a whole.
    notes: Option<Vec<(String, Value)>>,
    games: usize,
}

/// Writes a study. The folder is made where it is missing.
pub(super) fn save(
    path: &Path,
    game: &NamedGame,
    study: Option<&Preparation>,
) -> anyhow::Result<()> {
    let info = game.built.info();
    let notes = study.map(|study| {
        let notes = whole_preparation_notes(info, study).into_iter();
        notes
            .map(|(kind, note)| (kind.name().to_string(), note))
            .collect()
    });
    let stored = Stored {
        game: game.name.clone(),
        notes,
        games: study.map_or(0, |study| study.games),
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    }
    write_whole(path, &serde_json::to_string(&stored)?)
}

/// The study in a file; none for a game that a match does not study as a whole.
pub(super) fn load(path: &Path, game: &NamedGame) -> anyhow::Result<Option<Preparation>> {
    let shown = path.display();
    if !path.is_file() {
        bail!("no study `{shown}`; `--save-studies` of a duel writes such files");
    }
    let stored: Stored = serde_json::from_slice(&read_limited(path, MAX_BYTES)?)
        .with_context(|| format!("`{shown}` is no study"))?;
    if stored.game != game.name {
        let (found, expected) = (&stored.game, &game.name);
        bail!("`{shown}` is a study of `{found}`; expected one of `{expected}`");
    }
    let Some(notes) = stored.notes else {
        return Ok(None);
    };
    let notes = notes.into_iter().map(|(kind, note)| {
        let known = Kind::from_name(&kind);
        let known = known.with_context(|| format!("`{shown}` has a note of unknown kind `{kind}`"));
        known.map(|kind| (kind, note))
    });
    let history = GameHistory {
        is_exact: true,
        notes: notes.collect::<anyhow::Result<_>>()?,
        matches: Vec::new(),
    };
    let mut study = Preparation {
        structure: Structure::find(&game.built, &Budget::generous()),
        games: stored.games,
        ..Preparation::default()
    };
    if history.note(Kind::Evaluation).is_none() {
        return Ok(Some(study));
    }
    let info = game.built.info();
    let prior = prior_preparation(info, &history, || find_prospects(&game.built));
    let prior = prior.with_context(|| format!("`{shown}` does not fit the rules of the game"))?;
    if let Some(trained) = prior.trained {
        study.parameters = trained.parameters;
    }
    study.evaluation = Some(Arc::new(prior.known.evaluation));
    study.alpha_beta = prior.alpha_beta;
    Ok(Some(study))
}
