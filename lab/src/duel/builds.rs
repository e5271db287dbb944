//! Builds of games as a match has them, which engines of one process share.
//!
//! Never uses: searches.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use panza_cli::engine_choice::build_for_playouts;
use panza_cli::{EngineChoice, EngineKind, Game, Rulesheet};
use panza_config::Settings;
use panza_game::BuiltGame;
use panza_gdl::Rules;
use panza_sync::Budget;

/// Time to build a game; after that it is played with the prover.
const BUILD_TIME: Duration = Duration::from_secs(120);

/// A build of a game.
#[derive(Clone)]
pub(crate) struct NamedGame {
    pub name: String,
    pub built: BuiltGame,
    pub rules: Arc<Rules>,
}

/// Builds that engines of one process share, so that they have the same machine.
#[derive(Clone, Default)]
pub(crate) struct Builds(Rc<RefCell<BTreeMap<BuildKey, NamedGame>>>);

/// The path of a rulesheet, and the number of lanes where it is not measured.
type BuildKey = (String, Option<usize>);

impl Builds {
    /// The game, from an earlier call or built as in a match. A `width` in lanes replaces the
    /// measured one, if the game has lanes.
    pub fn get(&self, path: &str, width: Option<usize>) -> anyhow::Result<NamedGame> {
        let key = (path.to_string(), width);
        if let Some(game) = self.0.borrow().get(&key) {
            return Ok(game.clone());
        }
        let game = build_game(path, width)?;
        self.0.borrow_mut().insert(key, game.clone());
        Ok(game)
    }
}

fn build_game(path: &str, width: Option<usize>) -> anyhow::Result<NamedGame> {
    let memory = Settings::load(None, &[])?.player.build_memory_mib << 20;
    let Game { sheet, rules } = Game::as_played(Rulesheet::find(path)?)?;
    let budget = Budget::within(BUILD_TIME, usize::try_from(memory).unwrap_or(usize::MAX));
    let built = panza_game::build(&rules, &budget).or_else(|reason| {
        tracing::info!("the prover runs the game: {reason}");
        panza_game::prover(&rules)
    });
    let mut built = built.map_err(|reason| anyhow!("`{path}` cannot be built: {reason}"))?;
    if let Some(width) = width
        && built.machine.kind() != "prover"
    {
        let kinds = [EngineKind::Lanes, EngineKind::Counter].into_iter();
        let mut machines = kinds.filter_map(|kind| {
            let built = build_for_playouts(&rules, EngineChoice::Only(kind), width);
            built.and_then(|built| built.machine()).ok()
        });
        built.machine = machines.next().context("no machine")?;
    }
    Ok(NamedGame {
        name: sheet.name,
        built,
        rules: Arc::new(rules),
    })
}
