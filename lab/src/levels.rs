//! `cargo lab levels`: how far apart the levels of a table are.
//!
//! Each level plays the one below it from random openings, in every seat, and the lowest plays one
//! that looks a single move ahead. A match counts by the goals of the stronger level beside those
//! of each other role: more is a point, the same half of one. The games of a class count together.
//!
//! Never uses: tables; it searches as they do.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use panza_cli::output::progress_bar;
use panza_cli::{Game, Outcome, Output};
use panza_config::Settings;
use panza_game::{BuiltGame, build};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::Reasoner;
use panza_metagame::{PreparationBudget, prepare, sprt::elo};
use panza_player::{MatchSearcher, preferred_search, search_config};
use panza_search::SearchConfig;
use panza_sync::{Budget, Random};
use panza_web::table::{CLASSES, Effort, LEVELS, Level};
use serde_json::json;

use crate::page::{Page, Table, check_place};

/// Joint moves of a match.
const MAX_TURNS: usize = 500;
/// Random joint moves before the levels choose.
const OPENING: usize = 2;

#[derive(Args, Debug)]
pub struct LevelsArguments {
    /// Matches of each two levels in each game, half of them in each seat of two.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    matches: u32,
    /// The same where a level thinks for a time.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    timed: u32,
    /// Seed of openings and searches.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the page to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Who plays a seat.
#[derive(Clone, Copy)]
enum Opponent {
    /// A level, counted from 0.
    Level(usize),
    /// Makes a move that wins at once where one is, and a random one else.
    OneAhead,
}

/// Points of the stronger side, and of how many.
#[derive(Clone, Copy, Default)]
struct Score {
    points: f64,
    trials: u32,
}

impl Score {
    /// The score with half a point for each side in addition, so that it is never 0 or 1.
    fn share(self) -> f64 {
        (self.points + 0.5) / (f64::from(self.trials) + 1.0)
    }

    fn add(&mut self, other: Self) {
        self.points += other.points;
        self.trials += other.trials;
    }

    fn cell(self) -> String {
        match self.trials {
            0 => "-".to_string(),
            _ => format!("{:.1} of {}", self.points, self.trials),
        }
    }
}

/// For each class of games some games of the program.
const GAMES: [&[&str]; CLASSES.len()] = [
    &["connectFour", "breakthrough", "reversi", "hex"],
    &["biddingTicTacToe", "connectFourSimultaneous"],
    &["ticTacToeThree", "chineseCheckers3"],
];

const ABOUT: &str = "Each level of `/play` against the one below it, from openings of two random \
turns, in every seat. The lowest plays one that looks a single move ahead. A match counts by the \
goals: more than another role is a point, the same half of one. Elo is of all games together, with \
half a point added for each side, so that whole scores are no infinite distances.";

pub fn run(arguments: &LevelsArguments, output: Output) -> anyhow::Result<Outcome> {
    check_place(arguments.out.as_deref())?;
    let mut page = Page::new("Levels", ABOUT);
    for (class, games) in CLASSES.into_iter().zip(GAMES) {
        let mut scores = vec![Vec::new(); LEVELS.len()];
        for name in games {
            measure(arguments, name, &mut scores, output)?;
        }
        page.section(
            &format!("Games of {class}"),
            "Points of the stronger level, and of how many.",
            &class_table(games, &scores),
        );
    }
    page.write(arguments.out.as_deref(), output)?;
    Ok(Outcome::Holds)
}

/// Plays the levels on a game, and adds to the scores of each level against the one below it.
fn measure(
    arguments: &LevelsArguments,
    name: &str,
    scores: &mut [Vec<Score>],
    output: Output,
) -> anyhow::Result<()> {
    let mut arena = Arena::new(&Game::load(name)?, arguments.seed)?;
    let bar = progress_bar(LEVELS.len() as u64, &format!("levels of {name}"));
    for (upper, row) in scores.iter_mut().enumerate() {
        let (stronger, weaker) = match upper {
            0 => (Opponent::OneAhead, Opponent::Level(0)),
            _ => (Opponent::Level(upper), Opponent::Level(upper - 1)),
        };
        let matches = match LEVELS[upper].effort {
            Effort::Time(_) => arguments.timed,
            Effort::Iterations(_) => arguments.matches,
        };
        let mut score = Score::default();
        for number in 0..matches {
            score.add(arena.play(stronger, weaker, u64::from(number))?);
        }
        output.object(&json!({
            "game": name, "stronger": upper + 1, "points": score.points, "trials": score.trials,
        }))?;
        row.push(score);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

fn class_table(games: &[&str], scores: &[Vec<Score>]) -> Table {
    let heads = ["stronger", "weaker"].iter().chain(games);
    let heads = heads.chain(&["all %", "Elo", "Elo above level 1"]);
    let mut table = Table::new(heads.copied()).with_text_columns(&[0, 1]);
    let mut above = 0.0;
    for (upper, row) in scores.iter().enumerate() {
        let mut all = Score::default();
        row.iter().for_each(|&score| all.add(score));
        let distance = elo(all.share());
        let mut cells = match upper {
            0 => vec!["one move ahead".to_string(), "level 1".to_string()],
            _ => vec![format!("level {}", upper + 1), format!("level {upper}")],
        };
        cells.extend(row.iter().map(|score| score.cell()));
        cells.push(format!("{:.1}", 100.0 * all.share()));
        cells.push(format!("{distance:+.0}"));
        cells.push(match upper {
            0 => "-".to_string(),
            _ => {
                above += distance;
                format!("{above:+.0}")
            }
        });
        table.push(cells);
    }
    table
}

/// A game on which levels play each other.
struct Arena {
    name: String,
    game: BuiltGame,
    reasoner: Box<dyn Reasoner>,
    config: SearchConfig,
    /// The settings of searches that were trained, once there are any.
    trained: Option<SearchConfig>,
    settings: Settings,
    seed: u64,
}

impl Arena {
    fn new(game: &Game, seed: u64) -> anyhow::Result<Self> {
        let name = game.sheet.name.clone();
        let built = build(&game.rules, &Budget::generous()).with_context(|| name.clone())?;
        let settings = Settings::load(None, &[])?;
        Ok(Self {
            name,
            reasoner: Arc::clone(&built.machine).reasoner(),
            game: built,
            config: SearchConfig {
                rollout_threads: 0,
                ..search_config(&settings.search, seed)
            },
            trained: None,
            settings,
            seed,
        })
    }

    /// The settings of a level's searches.
    fn config(&mut self, level: Level) -> SearchConfig {
        if level.training.is_zero() {
            return self.config.clone();
        }
        if self.trained.is_none() {
            let never = Arc::new(AtomicBool::new(false));
            let metagame = &self.settings.metagame;
            let budget = PreparationBudget {
                learning: true,
                ..PreparationBudget::from_now(metagame, level.training, &never)
            };
            let found = prepare(&self.game, None, &self.config, &budget);
            self.trained = Some(found.apply(&self.config));
        }
        self.trained.clone().unwrap_or_else(|| self.config.clone())
    }

    /// A match in which the stronger side has the seat that the number says.
    fn play(&mut self, stronger: Opponent, weaker: Opponent, number: u64) -> anyhow::Result<Score> {
        let n_roles = self.game.info().n_roles();
        if n_roles < 2 {
            bail!("{}: levels are for games of two roles and more", self.name);
        }
        let seat = (number % n_roles as u64) as usize;
        let mut random = Random::new(self.seed.wrapping_add(number / n_roles as u64));
        let mut state = self.game.machine.initial_state();
        let mut searches: Vec<Option<Box<dyn MatchSearcher>>> =
            (0..n_roles).map(|_| None).collect();
        for turn in 0..MAX_TURNS {
            self.reasoner.set_state(&state);
            if self.reasoner.is_terminal() {
                break;
            }
            let legal: Vec<Vec<MoveId>> = (0..n_roles)
                .map(|role| self.reasoner.legal_moves(RoleId::from_index(role)).to_vec())
                .collect();
            if legal.iter().any(Vec::is_empty) {
                break;
            }
            let mut joint_move = Vec::with_capacity(n_roles);
            for (role, moves) in legal.iter().enumerate() {
                let player = if role == seat { stronger } else { weaker };
                let drawn = *random.choose(moves);
                joint_move.push(match player {
                    _ if moves.len() == 1 || turn < OPENING => drawn,
                    Opponent::OneAhead => self.wins_at_once(&state, &legal, role).unwrap_or(drawn),
                    Opponent::Level(level) => {
                        let level = LEVELS[level];
                        let seed = self.seed.wrapping_add(number);
                        let search = &mut searches[role];
                        self.choose(level, search, &state, role, seed)
                            .filter(|mv| moves.contains(mv))
                            .unwrap_or(drawn)
                    }
                });
            }
            let mut next = Vec::with_capacity(state.len());
            self.reasoner.set_state(&state);
            self.reasoner.next_state(&joint_move, &mut next);
            state = next;
            for search in searches.iter_mut().flatten() {
                search.advance(&joint_move, &state);
            }
        }
        Ok(self.score(&state, seat))
    }

    fn score(&mut self, state: &[u64], seat: usize) -> Score {
        let n_roles = self.game.info().n_roles();
        self.reasoner.set_state(state);
        let goals = self.reasoner.final_goals(n_roles);
        let others = (0..n_roles).filter(|&role| role != seat);
        let mut score = Score::default();
        for other in others {
            score.trials += 1;
            score.points += match goals[seat].cmp(&goals[other]) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Less => 0.0,
            };
        }
        score
    }

    /// What a level chooses, as a table does: the search is kept over the game.
    fn choose(
        &mut self,
        level: Level,
        search: &mut Option<Box<dyn MatchSearcher>>,
        state: &[u64],
        role: usize,
        seed: u64,
    ) -> Option<MoveId> {
        if level.effort == Effort::Iterations(0) {
            return None;
        }
        if search.is_none() {
            let config = SearchConfig {
                seed,
                ..self.config(level)
            };
            let role = RoleId::from_index(role);
            *search = Some(preferred_search(&self.game, role, state, &config, true));
        }
        let search = search.as_mut()?;
        let never = Arc::new(AtomicBool::new(false));
        match level.effort {
            Effort::Iterations(count) => search.search_iterations(count, &never),
            Effort::Time(time) => search.search(Instant::now() + time, &never),
        }
        search.best_move().map(|best| best.mv)
    }

    /// A move that ends the game with 100 points, whatever the others choose first.
    fn wins_at_once(
        &mut self,
        state: &[u64],
        legal: &[Vec<MoveId>],
        role: usize,
    ) -> Option<MoveId> {
        let mut joint_move: Vec<MoveId> = legal.iter().map(|moves| moves[0]).collect();
        let mut next = Vec::new();
        legal[role].iter().copied().find(|&mv| {
            joint_move[role] = mv;
            next.clear();
            self.reasoner.set_state(state);
            self.reasoner.next_state(&joint_move, &mut next);
            self.reasoner.set_state(&next);
            self.reasoner.is_terminal() && self.reasoner.final_goals(legal.len())[role] == 100
        })
    }
}
