//! What long training has left in a memory file, for studies of engines and oracles.
//!
//! Never uses: searches.

use std::path::Path;

use anyhow::{Context, ensure};
use panza_game::BuiltGame;
use panza_gdl::Rules;
use panza_memory::GameMemory;
use panza_metagame::PriorPreparation;

/// Games that the memory file may hold.
const MAX_GAMES: usize = 100_000;

/// The study of the game that the memory file `path` holds.
pub fn prior_preparation(
    path: &Path,
    rules: &Rules,
    game: &BuiltGame,
) -> anyhow::Result<PriorPreparation> {
    ensure!(path.is_file(), "no memory file `{}`", path.display());
    let (_, history) = GameMemory::open(path, MAX_GAMES, rules)?;
    let prior = history.and_then(|history| {
        let find = || panza_metagame::find_prospects(game);
        panza_metagame::prior_preparation(game.machine.info(), &history, find)
    });
    prior.with_context(|| format!("`{}` holds no training of the game", path.display()))
}
