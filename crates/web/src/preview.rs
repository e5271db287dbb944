//! A look at a game whose rules are being written: its first position and some random games.
//!
//! The work runs on a thread of its own for some seconds at most. It ends when a match begins, and
//! then there is no preview.
//!
//! Invariants: time, memory and what is listed are bounded; no search is made.
//!
//! Never uses: HTTP, pages, tables.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;

pub use super::background::PreviewError;
use super::{background, build_memory};
use panza_analysis::board::Layout;
use panza_analysis::{BoardPainter, board};
use panza_game::{BuildError, BuiltGame, ProverMachine};
use panza_gdl::{Id, RoleId, Rules};
use panza_hrf::Dialect;
use panza_machine::{Machine, PlayoutEnd};
use panza_player::Position;
use panza_sync::{Budget, Instant, Random, allocator};

/// Time for building the game; without a network in this time the prover plays.
const BUILD_TIME: Duration = Duration::from_secs(2);
/// Time for everything.
const WHOLE_TIME: Duration = Duration::from_secs(5);
/// Limits on the random games: their time, their number, and joint moves of one.
const PLAYOUT_TIME: Duration = Duration::from_millis(300);
const MAX_PLAYOUTS: u64 = 100_000;
const MAX_STEPS: u32 = 2000;
/// States that boards are recognised in, facts that name cells, and the time for that.
const BOARD_STATES: usize = 100;
const MAX_BOARD_FACTS: usize = 20_000;
const BOARD_TIME: Duration = Duration::from_millis(200);
/// Facts, and moves of a role, that are listed.
const MAX_FACTS: usize = 20_000;
const MAX_MOVES: usize = 500;

/// What there is to see of a game.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Preview {
    /// The roles, in the order of the rulesheet.
    pub roles: Vec<String>,
    /// The boards on which facts are drawn.
    pub shapes: Vec<Layout>,
    /// The facts of the initial position.
    pub facts: Vec<String>,
    /// For each role its legal moves there.
    pub legal: Vec<Vec<String>>,
    /// For each role their number, which may be more than are listed.
    pub n_legal: Vec<usize>,
    /// Whether the game is over before it begins.
    pub terminal: bool,
    /// Whether the rules themselves are evaluated, since there was no network in time.
    pub is_slow: bool,
    /// Random games.
    pub playouts: Playouts,
}

/// Random games from the initial position.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Playouts {
    /// Those that came to an end.
    pub games: u64,
    /// Those that were cut off after many joint moves.
    pub cut_off: u64,
    /// The mean length of games that ended, in joint moves.
    pub length: Option<f64>,
    /// The shortest length.
    pub shortest: u32,
    /// The longest length.
    pub longest: u32,
    /// The mean goal of each role.
    pub goals: Vec<f64>,
}

/// A look at the game of a rulesheet. `is_busy` says whether a match runs.
///
/// # Errors
/// There is a match, or no game.
pub fn preview(
    dialect: Dialect,
    text: &str,
    is_busy: impl Fn() -> bool,
) -> Result<Preview, PreviewError> {
    if is_busy() {
        return Err(PreviewError::Busy);
    }
    let (rules, diagnostics) = dialect.load(text);
    if let Some(fault) = panza_gdl::main_error(&diagnostics) {
        return Err(PreviewError::Rules(fault.one_line("rules", text)));
    }
    let stop = Arc::new(AtomicBool::new(false));
    background::run("preview", &stop, WHOLE_TIME, is_busy, move |stop| {
        build_preview(&rules, stop)
    })
}

/// The initial position of a game, with what it takes to draw it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Picture {
    /// The boards on which facts are drawn.
    pub shapes: Vec<Layout>,
    /// The facts.
    pub facts: Vec<String>,
}

/// The initial position of a game, on `shapes` where its file says how to draw it. `is_busy` says
/// whether a match runs.
///
/// # Errors
/// There is a match, or no game.
pub fn picture(
    rules: Rules,
    shapes: Vec<Layout>,
    is_busy: impl Fn() -> bool,
) -> Result<Picture, PreviewError> {
    if is_busy() {
        return Err(PreviewError::Busy);
    }
    let stop = Arc::new(AtomicBool::new(false));
    background::run("picture", &stop, WHOLE_TIME, is_busy, move |stop| {
        let (built, _) = build(&rules, stop)?;
        let shapes = match shapes.is_empty() {
            true => find_boards(&built, &rules, &mut Random::new(1), stop),
            false => shapes,
        };
        Ok(Picture {
            shapes,
            facts: first_facts(&mut Position::new(&built.machine)),
        })
    })
}

/// Builds the game and looks at it, until `stop` is set.
fn build_preview(rules: &Rules, stop: &Arc<AtomicBool>) -> Result<Preview, BuildError> {
    let (built, is_slow) = build(rules, stop)?;
    let mut random = Random::new(1);
    let shapes = find_boards(&built, rules, &mut random, stop);
    let mut position = Position::new(&built.machine);
    let n_roles = built.info().n_roles();
    let mut legal: Vec<Vec<String>> = Vec::new();
    let mut n_legal = Vec::new();
    for role in (0..n_roles).map(RoleId::from_index) {
        let moves = position.legal_moves(role).to_vec();
        n_legal.push(moves.len());
        let shown = moves.iter().take(MAX_MOVES);
        legal.push(shown.map(|&mv| built.info().move_text(mv)).collect());
    }
    let is_stopped = || stop.load(Ordering::Acquire);
    Ok(Preview {
        roles: built.info().roles(),
        shapes,
        facts: first_facts(&mut position),
        legal,
        n_legal,
        terminal: position.is_terminal(),
        is_slow,
        playouts: playouts(&built.machine, &mut random, is_stopped),
    })
}

/// Builds the game, until `stop` is set. Says too whether the rules themselves are evaluated.
fn build(rules: &Rules, stop: &Arc<AtomicBool>) -> Result<(BuiltGame, bool), BuildError> {
    let budget = Budget::within(BUILD_TIME, build_memory::PREVIEW_BYTES).stopped_by(stop);
    // The engine is not chosen by measurement: that would take longer than the games do.
    let compiled = panza_game::compile(rules, &budget);
    let (machine, is_slow): (Arc<dyn Machine>, bool) = match compiled {
        Ok(compiled) => (Arc::new(compiled.machine), false),
        Err(BuildError::Stopped) => return Err(BuildError::Stopped),
        Err(_) => {
            allocator::give_back();
            let budget = budget.with_bytes(build_memory::PROVER_BYTES);
            (Arc::new(ProverMachine::within(rules, &budget)?), true)
        }
    };
    Ok((BuiltGame::from(machine), is_slow))
}

/// The boards that are seen in random games.
fn find_boards(
    built: &BuiltGame,
    rules: &Rules,
    random: &mut Random,
    stop: &AtomicBool,
) -> Vec<Layout> {
    let until = Instant::now() + BOARD_TIME;
    let go_on = || Instant::now() < until && !stop.load(Ordering::Acquire);
    let states = board::sample_states(&built.machine, random, BOARD_STATES, go_on);
    let facts = built.info().facts();
    let facts = facts.filter(|facts| facts.len() <= MAX_BOARD_FACTS);
    BoardPainter::learn_with(&states, facts.unwrap_or_default(), rules).layouts()
}

/// The facts of a position that are listed.
fn first_facts(position: &mut Position) -> Vec<String> {
    let mut facts = position.facts();
    facts.truncate(MAX_FACTS);
    facts
}

/// Plays random games for a while.
fn playouts(
    machine: &Arc<dyn Machine>,
    random: &mut Random,
    is_stopped: impl Fn() -> bool,
) -> Playouts {
    let until = Instant::now() + PLAYOUT_TIME;
    let n_roles = machine.info().n_roles();
    let initial = machine.initial_state();
    let mut reasoner = Arc::clone(machine).reasoner();
    let mut found = Playouts::default();
    let mut goals = vec![0; n_roles];
    let mut totals = vec![0_u64; n_roles];
    let mut n_steps = 0_u64;
    while found.games + found.cut_off < MAX_PLAYOUTS && Instant::now() < until {
        reasoner.set_state(&initial);
        let end = reasoner.playout(random, MAX_STEPS, &mut goals);
        // A game that was ended from outside says nothing.
        if is_stopped() {
            break;
        }
        match end {
            PlayoutEnd::CutOff => found.cut_off += 1,
            PlayoutEnd::Finished { steps } => {
                found.shortest = match found.games {
                    0 => steps,
                    _ => found.shortest.min(steps),
                };
                found.longest = found.longest.max(steps);
                found.games += 1;
                n_steps += u64::from(steps);
                for (total, &goal) in totals.iter_mut().zip(&goals) {
                    *total += u64::from(goal);
                }
            }
        }
    }
    if found.games > 0 {
        let mean = |total: u64| total as f64 / found.games as f64;
        found.length = Some(mean(n_steps));
        found.goals = totals.iter().copied().map(mean).collect();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_gdl_games::EMBEDDED;

    fn game(name: &str) -> &'static str {
        let found = EMBEDDED.iter().find(|(own, _)| *own == name);
        found.expect("the game is there").1
    }

    #[test]
    fn a_game_is_shown_with_its_board_moves_and_random_games() {
        let _alone = background::alone();
        let seen = preview(Dialect::Kif, game("ticTacToe"), || false).unwrap();
        assert_eq!(seen.roles, ["xplayer", "oplayer"]);
        assert_eq!((seen.shapes.len(), seen.shapes[0].cells.len()), (1, 9));
        assert_eq!(seen.n_legal, [9, 1]);
        assert_eq!(seen.legal[1], ["noop"]);
        assert!(!seen.terminal && !seen.is_slow);
        let Playouts {
            games,
            cut_off,
            length,
            shortest,
            longest,
            goals,
        } = seen.playouts;
        assert!(games > 0 && cut_off == 0);
        assert!(shortest >= 5 && longest <= 9, "{shortest} {longest}");
        assert!((5.0..=9.0).contains(&length.unwrap()));
        assert!((goals[0] + goals[1] - 100.0).abs() < 1e-6, "{goals:?}");
    }

    #[test]
    fn a_picture_has_the_first_position_and_the_boards_of_the_file_or_those_found() {
        let _alone = background::alone();
        let rules = |name| panza_gdl::load(game(name)).0;
        let seen = picture(rules("connectFour"), Vec::new(), || false).unwrap();
        assert_eq!(seen.shapes[0].cells.len(), 48);
        assert_eq!(seen.facts, ["(control red)"]);
        let hex = picture(rules("hex"), seen.shapes.clone(), || false).unwrap();
        assert_eq!(hex.shapes, seen.shapes);
        let busy = picture(rules("hex"), Vec::new(), || true);
        assert_eq!(busy, Err(PreviewError::Busy));
    }

    #[test]
    fn a_match_goes_first_and_faults_are_told() {
        let _alone = background::alone();
        assert_eq!(
            preview(Dialect::Kif, game("hex"), || true),
            Err(PreviewError::Busy)
        );
        let n_asked = std::cell::Cell::new(0);
        let begins = || n_asked.replace(n_asked.get() + 1) > 0;
        assert_eq!(
            preview(Dialect::Kif, game("hex"), begins),
            Err(PreviewError::Busy)
        );
        let fault = preview(Dialect::Kif, "(role a", || false)
            .unwrap_err()
            .to_string();
        assert!(
            fault.starts_with("rules:1:1: error[unclosed-parenthesis]"),
            "{fault}"
        );
    }
}
