//! The file of a tournament: players, pairs, games, clocks, cores, and the matches that follow from
//! them.
//!
//! The [`Fixture`]s are in rounds of every game and pair with both sides, so that an interrupted
//! tournament has played all games and pairs about equally often. Rounds take the openings of a
//! game in turn, each with both sides.
//!
//! Invariants: names of players are unique; pairs name two different players; each match has at
//! least one role and each of its players can be started as often as it is seated.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::results::Key;
use crate::game_manager::Opening;
use crate::players::PlayerSpec;
use panza_cli::{Game, SettingsChoice};
use panza_sync::CoreId;

/// The placeholder for a free loopback port in a player's command.
pub(super) const PORT: &str = "{port}";
/// The placeholder for the seed of the match in a player's command.
pub(super) const SEED: &str = "{seed}";

/// A tournament as its file describes it.
#[derive(Debug)]
pub struct Schedule {
    pub(super) players: Vec<Contestant>,
    /// Who meets whom, by position in `players`: A and B.
    pub(super) pairs: Vec<(usize, usize)>,
    pub(super) events: Vec<Event>,
    pub(super) seed: u64,
    pub(super) parallel: usize,
    /// Cores for the players of matches, as many as play at once; or none.
    pub(super) cores: Vec<CoreId>,
    /// The folder for the output of started players, which is dropped without one.
    pub(super) log_folder: Option<PathBuf>,
}

#[derive(Debug)]
pub(super) struct Contestant {
    pub name: String,
    pub entry: Entry,
    pub version: String,
    /// Time limit until it answers.
    pub ready: Duration,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Entry {
    /// A player in this process, or one that listens already.
    Player {
        spec: PlayerSpec,
        settings: SettingsChoice,
    },
    /// A process to start for each match.
    Command {
        argv: Vec<String>,
        environment: BTreeMap<String, String>,
    },
}

#[derive(Debug)]
pub(super) struct Event {
    pub game: Game,
    pub n_roles: usize,
    pub start_clock: u32,
    pub play_clock: u32,
    /// The openings, which the rounds take in turn; none where matches begin as the rules say.
    pub openings: Vec<Opening>,
    /// Matches of each pair on each side, from each opening.
    pub games_a_side: u32,
}

/// A match to be played.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fixture {
    pub(super) pair: usize,
    pub(super) event: usize,
    pub(super) round: u32,
    /// 0 where A has the first role, 1 where B has it.
    pub(super) side: u32,
}

impl Event {
    /// Matches of each pair on each side, from all openings.
    fn rounds(&self) -> u32 {
        self.games_a_side * self.openings.len().max(1) as u32
    }
}

impl Contestant {
    /// Whether it is a process of its own, which can be confined to a core.
    pub fn can_be_confined(&self) -> bool {
        matches!(self.entry, Entry::Command { .. })
    }

    pub fn is_remote(&self) -> bool {
        let remote = |spec: &PlayerSpec| matches!(spec, PlayerSpec::Remote(_));
        matches!(&self.entry, Entry::Player { spec, .. } if remote(spec))
    }
}

/// Whether A has a role: the two players take turns through the roles, and who is first depends on
/// the side.
pub(super) fn is_role_of_a(role: usize, side: u32) -> bool {
    (role + side as usize).is_multiple_of(2)
}

impl Schedule {
    /// The matches in the order in which they are played.
    pub fn fixtures(&self) -> Vec<Fixture> {
        let rounds = self.events.iter().map(Event::rounds).max();
        let mut fixtures = Vec::new();
        for round in 0..rounds.unwrap_or(0) {
            let has_round = |&event: &usize| round < self.events[event].rounds();
            for event in (0..self.events.len()).filter(has_round) {
                let sides = (0..self.pairs.len()).flat_map(|pair| [(pair, 0), (pair, 1)]);
                fixtures.extend(sides.map(|(pair, side)| Fixture {
                    pair,
                    event,
                    round,
                    side,
                }));
            }
        }
        fixtures
    }

    /// Whether it confines players to cores.
    pub fn has_cores(&self) -> bool {
        !self.cores.is_empty()
    }

    /// The identity of a match.
    pub fn key(&self, fixture: &Fixture) -> Key {
        let event = &self.events[fixture.event];
        let (a, b) = self.pairs[fixture.pair];
        let (a, b) = (&self.players[a], &self.players[b]);
        Key {
            a: a.name.clone(),
            a_version: a.version.clone(),
            b: b.name.clone(),
            b_version: b.version.clone(),
            game: event.game.sheet.name.clone(),
            start_clock: event.start_clock,
            play_clock: event.play_clock,
            opening: (self.opening(fixture)).map_or(String::new(), |opening| opening.name.clone()),
            round: fixture.round,
            side: fixture.side,
        }
    }

    /// The opening of a match; `None` where it begins as the rules say.
    pub(super) fn opening(&self, fixture: &Fixture) -> Option<&Opening> {
        let openings = &self.events[fixture.event].openings;
        openings.get(fixture.round as usize % openings.len().max(1))
    }

    /// The player of each role, in role order, by position in `players`.
    pub fn seated(&self, fixture: &Fixture) -> Vec<usize> {
        let (a, b) = self.pairs[fixture.pair];
        let player = |role| {
            if is_role_of_a(role, fixture.side) {
                a
            } else {
                b
            }
        };
        let n_roles = self.events[fixture.event].n_roles;
        (0..n_roles).map(player).collect()
    }

    /// The game, the opening and the players, for people.
    pub fn title(&self, fixture: &Fixture) -> String {
        let players = self.seated(fixture).into_iter();
        let players = players.map(|player| self.players[player].name.as_str());
        let game = &self.events[fixture.event].game.sheet.name;
        let opening = self.opening(fixture);
        let opening = opening.map_or(String::new(), |opening| format!(" from {}", opening.name));
        format!(
            "{game}{opening}, {}",
            players.collect::<Vec<_>>().join(" - ")
        )
    }

    /// A seed of its own for each match, the same whenever it is played.
    pub fn seed(&self, fixture: &Fixture) -> u64 {
        // FNV-1a; the result must be the same in each run and on each machine.
        let text = format!("{} {:?}", self.seed, self.key(fixture));
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        // 31 bits fit the seeds of most programs; 0 means no seed to some.
        ((hash ^ (hash >> 32)) & 0x7fff_ffff).max(1)
    }

    pub(super) fn most_roles(&self) -> usize {
        let roles = self.events.iter().map(|event| event.n_roles);
        roles.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
