//! The match that must not suffer: played from START to STOP again and again.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock, RwLockWriteGuard};
use std::time::Duration;

use anyhow::bail;
use panza_cli::{Game, interrupt};
use panza_prover::Prover;
use panza_referee::game_manager::MAX_STEPS;
use panza_referee::game_manager::messages::rules_on_one_line;
use panza_referee::{
    Clocks, Ending, Fault, MatchPlan, Opening, Patience, PlayerSpec, RoleTurn, Seat, SeatPlayer,
    Spectator, match_id, play_match,
};
use panza_sync::{Random, unpoisoned};
use serde::Serialize;

/// Joint moves after which a match may end.
const SURE_MOVES: u32 = 3;

/// The matches that were played.
#[derive(Clone, PartialEq, Default, Debug, Serialize)]
pub struct Played {
    pub matches: u32,
    pub moves: usize,
    /// Answers to PLAY after the clock.
    pub late: usize,
    /// The slowest answer to PLAY.
    pub slowest_ms: f64,
    /// Missing, late and illegal answers.
    pub faults: Vec<String>,
}

/// Held for writing whenever the player may be free, so that no other START gets it.
pub type Busy = RwLock<()>;

/// Keeps [`Busy`] as a match goes on, and measures answers.
struct Gate<'a> {
    /// The player's role.
    ours: usize,
    clock: Duration,
    busy: &'a Busy,
    played: Played,
    free: Option<RwLockWriteGuard<'a, ()>>,
}

impl<'a> Gate<'a> {
    fn close(&mut self) {
        if self.free.is_none() {
            // The lock guards nothing that a panic could leave half done.
            let guard = self.busy.write();
            self.free = Some(unpoisoned(guard));
        }
    }
}

impl Spectator for Gate<'_> {
    fn started(&mut self, _: &[Fault], _: &[String]) {
        self.free = None;
    }

    fn moved(&mut self, step: u32, turns: &[RoleTurn], _: &[String]) {
        let time = turns[self.ours].time;
        let milliseconds = time.as_secs_f64() * 1000.0;
        self.played.slowest_ms = self.played.slowest_ms.max(milliseconds);
        if time > self.clock {
            self.played.late += 1;
            let fault = format!("the answer of step {step} after {milliseconds:.0} ms");
            self.played.faults.push(fault);
        }
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
    let (runtime, cancelled) = interrupt::runtime()?;
    let PlayerSpec::Remote(server) = player_at(address)? else {
        bail!("`{address}` is no address");
    };
    let n_roles = Prover::new(&game.rules)?.roles().len();
    let rules_text = rules_on_one_line(&game.sheet.text);
    let random = Arc::new(Mutex::new(Random::new(1)));
    let mut gate = Gate {
        ours: 0,
        clock: Duration::from_secs(clocks.play.into()),
        busy,
        played: Played::default(),
        free: None,
    };
    loop {
        gate.close();
        let ours = gate.played.matches as usize % n_roles;
        gate.ours = ours;
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
            id: match_id(&game.sheet.name, gate.played.matches),
            rules: &game.rules,
            rules_text: &rules_text,
            seats: (0..n_roles).map(seat).collect(),
            clocks,
            patience: Patience::default(),
            opening: Opening::default(),
            max_steps: MAX_STEPS,
            seed: 1,
        };
        let record = play_match(&plan, runtime.handle(), &cancelled, &mut gate)?;
        let played = &mut gate.played;
        played.matches += 1;
        played.moves += record.moves.len();
        let faults = record.faults.iter().map(|fault| format!("{fault:?}"));
        played.faults.extend(faults);
        if record.ending != Ending::Terminal {
            played.faults.push(format!("ended as {:?}", record.ending));
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(gate.played);
        }
    }
}

fn player_at(address: SocketAddr) -> anyhow::Result<PlayerSpec> {
    PlayerSpec::parse(&format!("http://{address}")).map_err(anyhow::Error::msg)
}
