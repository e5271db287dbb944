//! Helpers for the tests of the player and of the server.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod client;
pub mod pile;
pub mod program;
#[cfg(target_os = "linux")]
pub mod process;

use std::path::Path;
use std::sync::{Arc, Once};

use client::Running;
use panza_config::Settings;
use panza_game::{BuildError, BuiltGame, GameBuilder, GameBuilders};
use panza_gdl::Rules;
use panza_machine::Machine;
use panza_sync::Budget;
use pile::{Mischief, Pile};

/// Keeps the panics that a test has ordered off the terminal; with their backtraces they cost more
/// time than a clock of these tests has.
fn hush_mischief() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let text = info.payload().downcast_ref::<&str>();
            if !text.is_some_and(|text| text.contains(pile::MISCHIEF)) {
                usual(info);
            }
        }));
    });
}

/// A pile that no search proves within the clocks of these tests, so that they are used; playouts
/// are cut off.
pub const HIGH: u64 = 100_000;

/// Settings for tests: nothing is written to disk, a fixed seed, and a margin in seconds.
pub fn settings(overrides: &[&str]) -> Settings {
    hush_mischief();
    let mut items = vec![
        "server.listen=127.0.0.1:0".to_string(),
        "logs.match_logs=false".to_string(),
        "server.log_listen=none".to_string(),
        "memory.enabled=false".to_string(),
        "search.seed=1".to_string(),
        "search.threads=1".to_string(),
        "player.margin_seconds=0.2".to_string(),
    ];
    items.extend(overrides.iter().map(ToString::to_string));
    Settings::load(None, &items).expect("the overrides are in range")
}

/// A factory from a closure.
pub fn factory<F>(build: F) -> Arc<dyn GameBuilder>
where
    F: Fn(&Rules, &Budget) -> Result<Arc<dyn Machine>, BuildError> + Send + Sync + 'static,
{
    Arc::new(move |rules: &Rules, budget: &Budget| build(rules, budget).map(BuiltGame::from))
}

/// A factory of piles.
pub fn piles(size: u64, kind: &'static str, mischief: Mischief) -> Arc<dyn GameBuilder> {
    factory(move |_, _| {
        Ok(Arc::new(Pile {
            size,
            kind,
            mischief: mischief.clone(),
        }))
    })
}

/// Sound piles, without a last resort.
pub fn sound(size: u64) -> GameBuilders {
    GameBuilders {
        main: piles(size, "pile", Mischief::default()),
        fallback: None,
    }
}

/// A server of piles that serves logs, and the folder of its logs.
pub fn logging_server(items: &[&str]) -> (Running, tempfile::TempDir) {
    let root = tempfile::tempdir().unwrap();
    let server = server_logging_into(root.path(), items);
    (server, root)
}

/// A server of piles that serves the logs that it writes into `folder`.
pub fn server_logging_into(folder: &Path, items: &[&str]) -> Running {
    let folder = format!("logs.folder={}", folder.display());
    let mut all = vec![
        "logs.match_logs=true",
        "server.log_listen=127.0.0.1:0",
        folder.as_str(),
    ];
    all.extend(items);
    Running::new(settings(&all), sound(4))
}
