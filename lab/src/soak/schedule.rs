//! The order of the games: rounds over all of them, each in another order.
//!
//! A run that goes on leaves out the matches of earlier rounds. The order of a round depends on the
//! seed only.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use panza_cli::game_source::EMBEDDED;
use panza_cli::{Game, Rulesheet};
use panza_sync::Random;

use super::record::MatchLine;

/// The games, and the rest of the round.
pub struct Schedule {
    games: Vec<Arc<Game>>,
    left_out: BTreeSet<String>,
    round: Vec<Arc<Game>>,
    n_rounds: usize,
    /// No limit if there is none.
    max_rounds: Option<usize>,
    /// Rounds in which earlier parts of the run have played a game.
    played: BTreeMap<String, usize>,
    n_turns: u32,
    random: Random,
}

/// A match to play.
pub struct Turn {
    pub game: Arc<Game>,
    /// Rounds before.
    pub round: usize,
    /// Matches before.
    pub number: u32,
}

impl Schedule {
    /// The games of a folder that can be played, and those that come with the program and have
    /// other names. `earlier` are the matches of the run so far.
    pub fn new(
        folder: Option<&Path>,
        seed: u64,
        max_rounds: Option<usize>,
        earlier: &[MatchLine],
    ) -> anyhow::Result<Self> {
        let mut games = BTreeMap::new();
        for (name, _) in EMBEDDED {
            games.insert(name.to_string(), Arc::new(Game::load(name)?));
        }
        if let Some(folder) = folder {
            for path in rulesheets(folder)? {
                let sheet = Rulesheet::find(&path.to_string_lossy())?;
                match Game::as_played(sheet) {
                    Ok(game) => {
                        games.insert(game.sheet.name.clone(), Arc::new(game));
                    }
                    Err(why) => tracing::warn!("left out: {why}"),
                }
            }
        }
        let mut played = BTreeMap::new();
        for line in earlier {
            *played.entry(line.game.clone()).or_default() += 1;
        }
        Ok(Self {
            games: games.into_values().collect(),
            left_out: BTreeSet::new(),
            round: Vec::new(),
            n_rounds: 0,
            max_rounds,
            played,
            n_turns: u32::try_from(earlier.len())?,
            random: Random::new(seed),
        })
    }

    /// The next match; none after the last round.
    pub fn next(&mut self) -> Option<Turn> {
        let game = loop {
            match self.round.pop() {
                Some(game) if self.is_due(&game.sheet.name) => break game,
                Some(_) => {}
                None if self.max_rounds.is_some_and(|max| self.n_rounds >= max) => return None,
                None => self.begin_round(),
            }
        };
        let number = self.n_turns;
        self.n_turns += 1;
        Some(Turn {
            game,
            round: self.n_rounds - 1,
            number,
        })
    }

    /// Whether a game is still to be played in this round.
    fn is_due(&self, game: &str) -> bool {
        let played = self.played.get(game).copied().unwrap_or(0);
        played < self.n_rounds && !self.left_out.contains(game)
    }

    /// Plays a game no more, unless no other is left.
    pub fn leave_out(&mut self, game: &str) {
        if self.left_out.len() + 1 < self.games.len() {
            self.left_out.insert(game.to_string());
        }
    }

    fn begin_round(&mut self) {
        self.n_rounds += 1;
        self.round.clone_from(&self.games);
        self.random.shuffle(&mut self.round);
    }
}

/// The rulesheets of a folder, sorted.
fn rulesheets(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let shown = folder.display();
    let entries = folder
        .read_dir()
        .with_context(|| format!("cannot read `{shown}`"))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|ending| ["gdl", "kif", "hrf"].iter().any(|known| ending == *known))
        {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        bail!("no rulesheets (.gdl, .kif, .hrf) in `{shown}`");
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soak::summary::tests::line_of;

    fn names(schedule: &mut Schedule, n: usize) -> Vec<String> {
        let turns = std::iter::from_fn(|| schedule.next());
        turns
            .take(n)
            .map(|turn| turn.game.sheet.name.clone())
            .collect()
    }

    fn set(names: &[String]) -> BTreeSet<String> {
        names.iter().cloned().collect()
    }

    #[test]
    fn every_round_has_every_game_but_those_left_out() {
        let mut schedule = Schedule::new(None, 1, None, &[]).unwrap();
        let n_games = EMBEDDED.len();
        let first = names(&mut schedule, n_games);
        let second = names(&mut schedule, n_games);
        assert_eq!(set(&first).len(), n_games);
        assert_eq!(set(&second), set(&first));
        assert_ne!(second, first);
        schedule.leave_out(&first[0]);
        let mut third = (1..n_games).map(|_| schedule.next().unwrap());
        assert!(third.all(|turn| turn.game.sheet.name != first[0] && turn.round == 2));
    }

    #[test]
    fn a_run_that_goes_on_plays_the_rest_of_its_rounds() {
        let all = names(&mut Schedule::new(None, 1, Some(2), &[]).unwrap(), 1000);
        assert_eq!(all.len(), 2 * EMBEDDED.len());
        let (earlier, rest) = all.split_at(EMBEDDED.len() + 3);
        let earlier: Vec<MatchLine> = earlier.iter().map(|game| line_of(game)).collect();
        let mut schedule = Schedule::new(None, 1, Some(2), &earlier).unwrap();
        assert_eq!(names(&mut schedule, 1000), rest);
        assert!(schedule.next().is_none());
    }

    #[test]
    fn games_of_a_folder_take_the_place_of_those_of_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let game = "(role r) (legal r go) (<= terminal (true a)) (goal r 1)";
        for name in ["hanoi.kif", "own.gdl"] {
            std::fs::write(folder.path().join(name), game).unwrap();
        }
        let mut schedule = Schedule::new(Some(folder.path()), 1, Some(1), &[]).unwrap();
        let turns: Vec<Turn> = std::iter::from_fn(|| schedule.next()).collect();
        assert_eq!(turns.len(), EMBEDDED.len() + 1);
        let is_short = |turn: &&Turn| turn.game.sheet.text == game;
        assert_eq!(turns.iter().filter(is_short).count(), 2);
    }
}
