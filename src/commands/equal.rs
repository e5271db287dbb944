//! `panza equal`: whether two rulesheets describe the same game.

use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Serialize;

use panza_cli::arguments::parse_seconds;
use panza_cli::output::{counted, spinner};
use panza_cli::{Game, Outcome, Output};
use panza_game::equality::{self, Comparison, Difference, Naming};
use panza_gdl::Span;
use panza_gdl::span::line_and_column;
use panza_sync::Budget;

/// Memory for building each of the games.
const BYTES: usize = 1 << 30;

#[derive(Args, Debug)]
pub struct EqualArguments {
    /// Path to a rulesheet, or the name of a game.
    #[arg(value_name = "A")]
    first: String,
    /// The game to compare it with.
    #[arg(value_name = "B")]
    second: String,
    /// Whether roles and moves must have the same names.
    #[arg(long, value_enum, default_value = "any")]
    names: Names,
    /// Seconds for building and playing the games, at most.
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = parse_seconds)]
    seconds: f64,
}

/// Whether names matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Names {
    /// Games that differ in names alone are equal.
    Any,
    /// Roles and moves must have the same names.
    Same,
}

#[derive(Serialize)]
struct Report<'a> {
    first: &'a str,
    second: &'a str,
    equal: bool,
    /// Whether all states were seen, or the rules are the same up to names and order.
    exhaustive: bool,
    states: u64,
    games: u64,
    /// The joint moves that lead to the difference.
    moves: Option<&'a [Vec<String>]>,
    difference: Option<ShownDifference<'a>>,
}

#[derive(Serialize)]
struct ShownDifference<'a> {
    what: &'static str,
    role: Option<&'a str>,
    /// What the first game alone has, and the second alone.
    first: &'a [String],
    second: &'a [String],
    /// The position in the first game, as one list of facts.
    state: String,
    /// The statements that make the difference, where that can be told.
    statements: Vec<Statement<'a>>,
}

/// A statement of one of the rulesheets.
#[derive(Serialize)]
struct Statement<'a> {
    file: &'a str,
    line: usize,
    text: &'a str,
}

/// Runs the command. A difference makes it [`Outcome::DoesNotHold`].
pub fn run(arguments: &EqualArguments, output: Output) -> anyhow::Result<Outcome> {
    let (first, second) = (
        Game::load(&arguments.first)?,
        Game::load(&arguments.second)?,
    );
    let naming = match arguments.names {
        Names::Any => Naming::Any,
        Names::Same => Naming::Same,
    };
    let budget = Budget::within(Duration::from_secs_f64(arguments.seconds), BYTES);
    let progress = spinner(format!(
        "comparing {} and {}",
        first.sheet.name, second.sheet.name
    ));
    let found = equality::compare(&first.rules, &second.rules, naming, &budget);
    progress.finish_and_clear();
    let found = found?;
    let difference = found.difference.as_ref();
    output.object(&Report {
        first: &first.sheet.origin,
        second: &second.sheet.origin,
        equal: difference.is_none(),
        exhaustive: found.is_exhaustive,
        states: found.states,
        games: found.games,
        moves: difference.map(|it| &it.evidence.moves[..]),
        difference: difference.map(|it| shown(it, [&first, &second])),
    })?;
    match difference {
        None => output.line(equal_line(&found))?,
        Some(difference) => show(difference, [&first, &second], output)?,
    }
    Ok(match difference {
        None => Outcome::Holds,
        Some(_) => Outcome::DoesNotHold,
    })
}

/// The line for games without a difference.
fn equal_line(found: &Comparison) -> String {
    match (found.is_exhaustive, found.states) {
        (true, 0) => "equal: the same rules up to names and order".to_string(),
        (true, states) => format!("equal: all {} are the same", counted(states, "state")),
        (false, states) => format!(
            "no difference in {} and {}",
            counted(states, "state"),
            counted(found.games, "random game")
        ),
    }
}

fn shown<'a>(difference: &'a Difference, games: [&'a Game; 2]) -> ShownDifference<'a> {
    ShownDifference {
        what: difference.aspect.as_str(),
        role: difference.role.as_deref(),
        first: &difference.first,
        second: &difference.second,
        state: difference.evidence.state_line(),
        statements: statements(difference, games),
    }
}

/// The statements that make a difference.
fn statements<'a>(difference: &Difference, games: [&'a Game; 2]) -> Vec<Statement<'a>> {
    let statement = |(span, game): (Option<Span>, &'a Game)| {
        let span = span?;
        Some(Statement {
            file: &game.sheet.origin,
            line: line_and_column(&game.sheet.text, span.start).0,
            text: game.sheet.text.get(span.range())?,
        })
    };
    let both = difference.statements.into_iter().zip(games);
    both.filter_map(statement).collect()
}

fn show(difference: &Difference, games: [&Game; 2], output: Output) -> anyhow::Result<()> {
    let role = difference.role.as_ref();
    let of = role.map_or(String::new(), |role| format!(" of {role}"));
    let evidence = &difference.evidence;
    let place = match evidence.moves.len() {
        0 => "in the initial state".to_string(),
        n => format!("after {}", counted(n as u64, "joint move")),
    };
    output.line(format_args!(
        "different: {}{of} {place}",
        difference.aspect.as_str()
    ))?;
    let sides = [&difference.first, &difference.second];
    for (game, only) in games.into_iter().zip(sides) {
        let only = match only.is_empty() {
            true => "nothing".to_string(),
            false => only.join(" "),
        };
        output.line(format_args!("  only in {}: {only}", game.sheet.origin))?;
    }
    output.line(format_args!("  state: {}", evidence.state_line()))?;
    if !evidence.moves.is_empty() {
        output.line(format_args!("  moves: {}", evidence.moves_line()))?;
    }
    for Statement { file, line, text } in statements(difference, games) {
        output.line(format_args!("  {file}:{line}: {text}"))?;
    }
    Ok(())
}
