//! The project's own games against `tests/fingerprints.json`: their sizes as networks, and where playouts lead.
//!
//! A difference is no fault by itself. Who meant it writes the file anew, and the difference shows in the review.

use std::path::Path;

use panza::commands::fingerprint::{Fingerprints, differences, fingerprint};
use panza::commands::game_source::{EMBEDDED, Game};

#[test]
fn games_come_to_what_is_written_down() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fingerprints.json");
    let recorded = Fingerprints::read(&file).unwrap_or_else(|error| panic!("{error:#}"));
    let (seed, playouts) = (recorded.seed, recorded.playouts);
    let games = EMBEDDED.iter().map(|(name, _)| {
        let game = Game::load(name).expect("the project's games can be played");
        fingerprint(&game, seed, playouts).expect("the project's games have networks")
    });
    let found = Fingerprints {
        seed,
        playouts,
        games: games.collect(),
    };
    let differences = differences(&recorded, &found);
    assert!(
        differences.is_empty(),
        "recorded → found:\n  {}\nIf this is meant: cargo run --release -- fingerprint --out tests/fingerprints.json",
        differences.join("\n  ")
    );
}
