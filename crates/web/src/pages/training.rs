//! Trained games in the memory, and their learning curves.
//!
//! | request | answer |
//! |---|---|
//! | `GET /api/training` | the games, the latest first: signature, known name, progress |
//! | `GET /api/training/SIGNATURE.svg` | the learning curve of one |
//!
//! Notes hold weights, so reading them takes time and memory in proportion to the trained games.
//!
//! Invariant: no note is changed, and no memory is made where there is none.
//!
//! Never uses: matches.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::json;

use super::{PageReply, PageStatus, RoutedRequest};
use panza_analysis::signature;
use panza_config::MemorySettings;
use panza_gdl_games::EMBEDDED;
use panza_memory::{GameRecord, Kind, MemoryError, Store};
use panza_metagame::{Progress, curve};

/// How long another program may hold the file.
const PATIENCE: Duration = Duration::from_secs(2);
/// Games in one answer.
const MOST_GAMES: usize = 100;
/// The ending of a curve's address.
const SVG: &str = ".svg";

/// The trained games.
pub(super) fn games(it: &RoutedRequest) -> PageReply {
    match read_games(&it.pages.memory) {
        Ok(games) => PageReply::json(&json!({ "games": games })),
        Err(error) => PageReply::failed(&error),
    }
}

/// The learning curve of the game in the name of a file.
pub(super) fn curve_of(it: &RoutedRequest) -> PageReply {
    read_curve(&it.pages.memory, it.part(0)).unwrap_or_else(|| it.nothing())
}

fn read_curve(settings: &MemorySettings, file: &str) -> Option<PageReply> {
    let signature = file.strip_suffix(SVG)?;
    let mut store = open(settings)?.ok()?;
    let progress = progress(&store.read(signature).ok()??)?;
    let name = name(signature).unwrap_or(signature);
    let text = curve(name, &progress);
    Some(PageReply::new(
        PageStatus::Ok,
        "image/svg+xml",
        text.into_bytes(),
    ))
}

/// The memory, if there is one.
fn open(settings: &MemorySettings) -> Option<Result<Store, MemoryError>> {
    (settings.enabled && settings.path.is_file())
        .then(|| Store::open(&settings.path, settings.max_games, PATIENCE))
}

fn read_games(settings: &MemorySettings) -> Result<Vec<serde_json::Value>, MemoryError> {
    let Some(store) = open(settings) else {
        return Ok(Vec::new());
    };
    let mut store = store?;
    let mut games = Vec::new();
    for game in store.list()? {
        if !game.kinds.contains(&Kind::Training) || games.len() == MOST_GAMES {
            continue;
        }
        let record = store.read(&game.signature)?;
        if let Some(progress) = record.as_ref().and_then(progress) {
            games.push(json!({
                "signature": game.signature,
                "name": name(&game.signature),
                "generation": progress.generation,
                "elo": progress.elo,
                "games": progress.games,
                "seconds": progress.seconds,
                "last_seen": game.last_seen,
            }));
        }
    }
    Ok(games)
}

fn progress(record: &GameRecord) -> Option<Progress> {
    let mut notes = record.notes.iter();
    let (_, note) = notes.find(|(kind, _)| *kind == Kind::Training)?;
    Progress::from_note(note)
}

/// The name of a game inside the program.
fn name(signature: &str) -> Option<&'static str> {
    static NAMES: OnceLock<HashMap<String, &'static str>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let signed = |&(name, text): &(&'static str, &'static str)| {
            let rules = panza_gdl::load(text).0;
            (
                signature::signature(&rules, signature::WORK).to_string(),
                name,
            )
        };
        EMBEDDED.iter().map(signed).collect()
    });
    names.get(signature).copied()
}
