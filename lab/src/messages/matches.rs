//! The match that must not suffer: played from START to STOP again and again.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock, RwLockWriteGuard};
use std::time::Duration;

use anyhow::bail;
use panza::commands::game_manager::messages::rules_on_one_line;
use panza::commands::game_manager::{
    Clocks, Ending, Fault, MAX_STEPS, MatchPlan, Patience, RoleTurn, Seat, SeatPlayer, Spectator,
    match_id, play_match,
};
use panza::commands::game_source::Game;
use panza::commands::interrupt;
use panza::commands::players::PlayerSpec;
use panza::machine::random::Random;
use panza::prover::Prover;
use serde::Serialize;

/// Joint moves after which a match may end.
const SURE_MOVES: u32 = 3;

/// The matches that were played.
#[derive(Clone, PartialEq, Default, Debug, Serialize)]
pub struct Played {
    pub matches: u32,
    pub moves: usize,
    /// Missing, late and illegal answers.
    pub faults: Vec<String>,
}

/// Held for writing whenever the player may be free, so that no other START gets it.
pub type Busy = RwLock<()>;

/// Keeps [`Busy`] as a match goes on.
struct Gate<'a> {
    busy: &'a Busy,
    free: Option<RwLockWriteGuard<'a, ()>>,
}

impl<'a> Gate<'a> {
    fn close(&mut self) {
        if self.free.is_none() {
            // The lock guards nothing that a panic could leave half done.
            let guard = self.busy.write();
            self.free = Some(guard.unwrap_or_else(std::sync::PoisonError::into_inner));
        }
    }
}

impl Spectator for Gate<'_> {
    fn started(&mut self, _: &[Fault], _: &[String]) {
        self.free = None;
    }

    fn moved(&mut self, step: u32, _: &[RoleTurn], _: &[String]) {
        if step >= SURE_MOVES {
            self.close();
        }
    }
}

/// Plays matches, one at least, until `stop` is set; the last one is played to its end. The player
/// has each role in turn, against random moves. An answer after its clock is late, by however
/// little.
pub fn play(
    address: SocketAddr,
    game: &Game,
    clocks: Clocks,
    busy: &Busy,
    stop: &AtomicBool,
) -> anyhow::Result<Played> {
    let (runtime, cancelled) = interrupt::runtime(|| {})?;
    let PlayerSpec::Remote(server) = player_at(address)? else {
        bail!("`{address}` is no address");
    };
    let n_roles = Prover::new(&game.rules)?.roles().len();
    let rules_text = rules_on_one_line(&game.sheet.text);
    let random = Arc::new(Mutex::new(Random::new(1)));
    let mut gate = Gate { busy, free: None };
    let mut played = Played::default();
    loop {
        gate.close();
        let ours = played.matches as usize % n_roles;
        let seat = |role: usize| match role == ours {
            true => Seat {
                name: "Panza".into(),
                player: SeatPlayer::Remote(server.clone()),
            },
            false => Seat {
                name: "random".into(),
                player: SeatPlayer::Random(Arc::clone(&random)),
            },
        };
        let plan = MatchPlan {
            id: match_id(&game.sheet.name, played.matches),
            rules: &game.rules,
            rules_text: &rules_text,
            seats: (0..n_roles).map(seat).collect(),
            clocks,
            patience: Patience {
                play_margin: Duration::ZERO,
                ..Patience::default()
            },
            max_steps: MAX_STEPS,
            seed: 1,
        };
        let record = play_match(&plan, runtime.handle(), &cancelled, &mut gate)?;
        played.matches += 1;
        played.moves += record.moves.len();
        let faults = record.faults.iter().map(|fault| format!("{fault:?}"));
        played.faults.extend(faults);
        if record.ending != Ending::Terminal {
            played.faults.push(format!("ended as {:?}", record.ending));
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(played);
        }
    }
}

fn player_at(address: SocketAddr) -> anyhow::Result<PlayerSpec> {
    PlayerSpec::parse(&format!("http://{address}")).map_err(anyhow::Error::msg)
}
