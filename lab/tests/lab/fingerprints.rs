//! The project's own games against `tests/fingerprints.json`: network sizes and playout statistics.
//!
//! A difference may be intended. Then the file is written again, and the difference shows in
//! review.

use std::path::Path;
use std::sync::Arc;

use panza_cli::Game;
use panza_cli::engine_choice::build_machine;
use panza_cli::game_source::EMBEDDED;
use panza_gdl::{Id, MoveId, RoleId};
use panza_lab::fingerprint::{Fingerprints, differences, fingerprint};
use panza_machine::PlayoutEnd;
use panza_sync::Random;

#[test]
fn games_have_the_recorded_fingerprints() {
    let file = Path::new(crate::ROOT).join("tests/fingerprints.json");
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
        "recorded → found:\n  {}\nIf this is meant: cargo lab fingerprint --out tests/fingerprints.json",
        differences.join("\n  ")
    );
}

/// In the engine's playouts each role with several legal moves draws one, roles in order, moves by
/// number.
#[test]
fn engines_draw_moves_by_their_numbers() {
    for (name, _) in EMBEDDED {
        let game = Game::load(name).expect("the project's games can be played");
        let machine = build_machine(&game.rules).expect("the project's games have networks");
        let mut reasoner = Arc::clone(&machine).reasoner();
        let (mut plain, mut engine) = (Random::new(5), Random::new(5));
        let mut goals = vec![0; machine.info().n_roles()];
        let mut expected = vec![None; machine.info().n_roles()];
        for playout in 0..20 {
            let mut state = machine.initial_state();
            let mut steps = 0;
            reasoner.set_state(&state);
            while !reasoner.is_terminal() {
                let joint_move: Vec<MoveId> = (0..machine.info().n_roles())
                    .map(|role| {
                        let mut legal = reasoner.legal_moves(RoleId::from_index(role)).to_vec();
                        legal.sort();
                        match legal.len() {
                            1 => legal[0],
                            count => legal[plain.below(count as u32) as usize],
                        }
                    })
                    .collect();
                reasoner.next_state(&joint_move, &mut state);
                reasoner.set_state(&state);
                steps += 1;
            }
            reasoner.goals(&mut expected);
            reasoner.set_state(&machine.initial_state());
            let end = reasoner.playout(&mut engine, 10_000, &mut goals);
            assert_eq!(
                end,
                PlayoutEnd::Finished { steps },
                "{name}, playout {playout}"
            );
            let expected: Vec<u8> = expected.iter().map(|goal| goal.unwrap_or(0)).collect();
            assert_eq!(goals, expected, "{name}, playout {playout}");
            assert_eq!(
                plain.clone().bits(),
                engine.clone().bits(),
                "{name}, playout {playout}"
            );
        }
    }
}
