//! The pool: the published games by which changes of play are judged, by stratum.
//!
//! A change that helps one kind of game can harm another, so the pool has games of each kind. Half
//! of them are held out: reports show those only together, so that nothing is tuned on one of them.
//! Only names are here. The rulesheets are in the folder `games` of a corpus of published games,
//! `../shared/corpus` or the one that `PANZA_CORPUS` names; a game without a file there is one that
//! comes with the program.
//!
//! Never uses: engines.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use panza_cli::Rulesheet;

/// What games of the pool have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stratum {
    /// Several roles choose at once.
    Simultaneous,
    /// The game falls into factors.
    Factored,
    /// Positions have dozens of moves or more.
    Wide,
    /// A playout takes long.
    Slow,
    /// More than two roles.
    ManyRoles,
    /// A counter of steps ends the game, so that positions of different lines are never equal.
    Counted,
    /// Two roles take turns, and none of the above stands out.
    Ordinary,
}

use Stratum::{Counted, Factored, ManyRoles, Ordinary, Simultaneous, Slow, Wide};

impl Stratum {
    /// As tables show it.
    pub fn name(self) -> &'static str {
        match self {
            Simultaneous => "simultaneous",
            Factored => "factored",
            Wide => "wide",
            Slow => "slow",
            ManyRoles => "many roles",
            Counted => "step counter",
            Ordinary => "ordinary",
        }
    }
}

/// The pool: each stratum with its open games and those held out.
pub const POOL: [(Stratum, &[&str], &[&str]); 7] = [
    (
        Simultaneous,
        &["blocker", "blockerSerial", "ticblock", "tron_10x10"],
        &["battle", "biddingTicTacToe_10coins", "bunk_t", "racer"],
    ),
    (
        Factored,
        &["connectFourSimultaneous", "dualConnect4"],
        &["breakthroughWalls", "ticTacHeaven"],
    ),
    (
        Wide,
        &["amazons", "gomoku_11x11", "hex"],
        &["atariGoVariant_7x7", "gomoku_15x15", "quad_7x7"],
    ),
    (
        Slow,
        &["chess_200", "skirmish", "speedChess"],
        &["othello-comp2007", "shogi_ctk", "zhadu"],
    ),
    (
        ManyRoles,
        &["3pConnectFour", "chineseCheckers4"],
        &["cubicup_3player", "tictactoe_3player"],
    ),
    (
        Counted,
        &["checkers", "checkersSmall", "checkersTorusNoKings"],
        &["2pffa_zerosum", "englishDraughts", "escortLatch"],
    ),
    (
        Ordinary,
        &["breakthrough", "connectFour", "reversi"],
        &["cephalopodMicro", "cubicup", "pentagoSuicide"],
    ),
];

/// The stratum of a game of the pool.
pub fn stratum_of(game: &str) -> Option<Stratum> {
    let mut strata = POOL.iter();
    let of_game = strata.find(|(_, open, held)| open.contains(&game) || held.contains(&game));
    of_game.map(|&(stratum, _, _)| stratum)
}

/// Whether reports may show a game only together with others.
pub fn is_held_out(game: &str) -> bool {
    POOL.iter().any(|(_, _, held)| held.contains(&game))
}

/// The names of the pool's games, one of each stratum in turn.
pub fn names() -> Vec<&'static str> {
    let longest = POOL
        .iter()
        .map(|(_, open, held)| open.len().max(held.len()));
    let places = 0..longest.max().unwrap_or(0);
    let of_place = |place: usize| {
        POOL.iter()
            .flat_map(move |(_, open, held)| [open.get(place), held.get(place)])
    };
    places.flat_map(of_place).flatten().copied().collect()
}

/// The games of a command.
#[derive(Args, Debug)]
pub struct GameChoice {
    /// Paths to rulesheets, or names of games.
    #[arg(long = "game", num_args = 1.., value_name = "NAME", required_unless_present = "pool")]
    games: Vec<String>,
    /// The games of the pool (lab/src/pool.rs), half of which are shown only together.
    #[arg(long, conflicts_with = "games")]
    pool: bool,
}

impl GameChoice {
    /// The rulesheets, each name once.
    pub fn sheets(&self) -> anyhow::Result<Vec<Rulesheet>> {
        let mut sheets: Vec<Rulesheet> = Vec::new();
        let named: Vec<&str> = match self.pool {
            true => names(),
            false => self.games.iter().map(String::as_str).collect(),
        };
        for name in named {
            let sheet = find(name)?;
            if sheets.iter().any(|known| known.name == sheet.name) {
                bail!("two games are called `{}`", sheet.name);
            }
            sheets.push(sheet);
        }
        Ok(sheets)
    }
}

/// The rulesheet of a game of the pool, or of any other.
fn find(name: &str) -> anyhow::Result<Rulesheet> {
    if stratum_of(name).is_none() {
        return Rulesheet::find(name);
    }
    let corpus = corpus();
    let path = corpus.join("games").join(format!("{name}.kif"));
    match path.is_file() {
        true => Rulesheet::find(&path.to_string_lossy()),
        false => Rulesheet::find(name).with_context(|| {
            format!(
                "the pool's game `{name}` is not in `{}`; PANZA_CORPUS names another corpus",
                corpus.display()
            )
        }),
    }
}

/// The folder of published games.
fn corpus() -> PathBuf {
    let named = std::env::var_os("PANZA_CORPUS").map(PathBuf::from);
    named.unwrap_or_else(|| PathBuf::from("../shared/corpus"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_pool_has_forty_games_and_half_of_them_are_held_out() {
        let sizes: Vec<(usize, usize)> = POOL
            .iter()
            .map(|(_, open, held)| (open.len() + held.len(), held.len()))
            .collect();
        let expected = [(8, 4), (4, 2), (6, 3), (6, 3), (4, 2), (6, 3), (6, 3)];
        assert_eq!(sizes, expected);
        let names = names();
        assert_eq!(names.len(), 40);
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 40);
        assert_eq!(names.iter().filter(|name| is_held_out(name)).count(), 20);
        assert_eq!(stratum_of("battle"), Some(Simultaneous));
        assert_eq!(stratum_of("ticTacToe"), None);
    }

    #[test]
    fn the_games_are_what_their_strata_say() {
        let folder = match std::env::var_os("PANZA_CORPUS") {
            Some(named) => PathBuf::from(named),
            None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus"),
        };
        let Ok(table) = std::fs::read_to_string(folder.join("games.csv")) else {
            return;
        };
        let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split(',').collect()).collect();
        let column = |name: &str| rows[0].iter().position(|head| *head == name).unwrap();
        let (roles, simultaneous) = (column("roles"), column("simultaneous"));
        for name in names() {
            let mut of_game = rows.iter().filter(|row| row[0] == name);
            let row = of_game.next().unwrap_or_else(|| panic!("no game {name}"));
            let stratum = stratum_of(name);
            let expected = stratum == Some(ManyRoles);
            assert_eq!(row[roles] != "2", expected, "{name}");
            let may_be = matches!(stratum, Some(Simultaneous | Factored));
            assert!(row[simultaneous] == "0" || may_be, "{name}");
        }
    }
}
