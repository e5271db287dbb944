//! `panza convert`: a rulesheet in the other dialect.
//!
//! KIF is written from HRF by the translation that Panza plays, and from textbook GDL in infix form
//! as it is. HRF is written from KIF for games
//! in which one role moves in every state, and read again before it is shown.

use anyhow::bail;
use clap::{Args, ValueEnum};
use serde::Serialize;

use panza_cli::{Game, Outcome, Output};
use panza_game::turns::find_turns;
use panza_gdl::{Rules, Severity};
use panza_hrf::Dialect;
use panza_hrf::textbook::is_textbook;

#[derive(Args, Debug)]
pub struct ConvertArguments {
    /// Path to a rulesheet, or the name of a game.
    game: String,
    /// The dialect to write. [default: the other one]
    #[arg(long)]
    to: Option<Target>,
}

/// A dialect as the command line names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Target {
    /// KIF.
    #[value(alias = "gdl")]
    Kif,
    /// HRF.
    Hrf,
}

#[derive(Serialize)]
struct Report<'a> {
    game: &'a str,
    dialect: &'static str,
    /// Nothing where the game cannot be written in this dialect.
    text: Option<&'a str>,
    /// Why, one sentence each.
    reasons: Vec<String>,
}

/// Runs the command. A game that the dialect cannot have makes it [`Outcome::DoesNotHold`].
pub fn run(arguments: &ConvertArguments, output: Output) -> anyhow::Result<Outcome> {
    let game = Game::load(&arguments.game)?;
    let target = arguments.to.unwrap_or(match game.sheet.dialect() {
        Dialect::Kif => Target::Hrf,
        Dialect::Hrf => Target::Kif,
    });
    let converted = match (target, game.sheet.dialect()) {
        (Target::Kif, _) => Ok(game.kif_text().into_owned()),
        (Target::Hrf, Dialect::Hrf) if !is_textbook(&game.sheet.text) => {
            Ok(game.sheet.text.clone())
        }
        (Target::Hrf, _) => to_hrf(&game)?,
    };
    let report = |text, reasons| Report {
        game: &game.sheet.name,
        dialect: match target {
            Target::Kif => "kif",
            Target::Hrf => "hrf",
        },
        text,
        reasons,
    };
    match converted {
        Ok(text) => {
            output.text(&text)?;
            output.object(&report(Some(&text), Vec::new()))?;
            Ok(Outcome::Holds)
        }
        Err(reasons) => {
            for reason in &reasons {
                output.complaint(format!("{}: {reason}", game.sheet.origin));
            }
            output.object(&report(None, reasons))?;
            Ok(Outcome::DoesNotHold)
        }
    }
}

/// A game of KIF as HRF, or why it cannot be written.
fn to_hrf(game: &Game) -> anyhow::Result<Result<String, Vec<String>>> {
    let turns = match find_turns(&game.rules) {
        Ok(turns) => turns,
        Err(why) => return Ok(Err(vec![why.to_string()])),
    };
    let text = match panza_hrf::write(&game.rules, &turns) {
        Ok(text) => text,
        Err(faults) => {
            let (origin, text) = (&game.sheet.origin, &game.sheet.text);
            let shown = faults.iter().map(|fault| fault.one_line(origin, text));
            return Ok(Err(shown.collect()));
        }
    };
    let (rules, faults) = panza_hrf::load(&text);
    if let Some(fault) = faults.iter().find(|it| it.severity == Severity::Error) {
        let fault = fault.one_line("HRF", &text);
        bail!("the rules that were written cannot be read again: {fault}");
    }
    let names = |rules: &Rules| rules.role_names();
    if names(&rules).len() != names(&game.rules).len() {
        bail!("the rules that were written have other roles");
    }
    Ok(Ok(text))
}
