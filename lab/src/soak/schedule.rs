//! The order of the games: rounds over all of them, each in another order.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use panza::commands::game_source::{EMBEDDED, Game, Rulesheet};
use panza::machine::random::Random;

/// The games, and the rest of the round.
pub struct Schedule {
    games: Vec<Arc<Game>>,
    left_out: BTreeSet<String>,
    round: Vec<Arc<Game>>,
    n_rounds: usize,
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
    /// The games that come with the program, and those of a folder that can be played.
    pub fn new(folder: Option<&Path>, seed: u64) -> anyhow::Result<Self> {
        let mut games = Vec::new();
        for (name, _) in EMBEDDED {
            games.push(Arc::new(Game::load(name)?));
        }
        if let Some(folder) = folder {
            for path in rulesheets(folder)? {
                let sheet = Rulesheet::find(&path.to_string_lossy())?;
                match Game::as_played(sheet) {
                    Ok(game) => games.push(Arc::new(game)),
                    Err(why) => tracing::warn!("left out: {why}"),
                }
            }
        }
        Ok(Self {
            games,
            left_out: BTreeSet::new(),
            round: Vec::new(),
            n_rounds: 0,
            n_turns: 0,
            random: Random::new(seed),
        })
    }

    pub fn next(&mut self) -> Turn {
        let game = loop {
            match self.round.pop() {
                Some(game) if !self.left_out.contains(&game.sheet.name) => break game,
                Some(_) => {}
                None => self.begin_round(),
            }
        };
        let number = self.n_turns;
        self.n_turns += 1;
        Turn {
            game,
            round: self.n_rounds - 1,
            number,
        }
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
        for last in (1..self.round.len()).rev() {
            let chosen = self.random.below(last as u32 + 1) as usize;
            self.round.swap(last, chosen);
        }
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
            .is_some_and(|extension| extension == "gdl" || extension == "kif")
        {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        bail!("no rulesheets (.gdl, .kif) in `{shown}`");
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_every_game_but_those_left_out() {
        let mut schedule = Schedule::new(None, 1).unwrap();
        let n_games = EMBEDDED.len();
        let mut names = |n: usize| -> Vec<String> {
            let turns = (0..n).map(|_| schedule.next().game.sheet.name.clone());
            turns.collect()
        };
        let (first, second) = (names(n_games), names(n_games));
        let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
        assert_eq!(set(&first).len(), n_games);
        assert_eq!(set(&second), set(&first));
        assert_ne!(second, first);
        schedule.leave_out(&first[0]);
        let third: Vec<Turn> = (1..n_games).map(|_| schedule.next()).collect();
        assert!(
            third
                .iter()
                .all(|turn| turn.game.sheet.name != first[0] && turn.round == 2)
        );
    }
}
