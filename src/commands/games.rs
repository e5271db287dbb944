//! `panza games`: the games that are known by name, and where each comes from.

use std::borrow::Cow;

use clap::Args;
use serde::Serialize;

use panza_cli::game_source::known_games;
use panza_cli::output::{Column, table};
use panza_cli::{Outcome, Output, SettingsChoice};

#[derive(Args, Debug)]
pub struct GamesArguments {
    #[command(flatten)]
    settings: SettingsChoice,
}

#[derive(Serialize)]
struct Report<'a> {
    game: &'a str,
    roles: Vec<String>,
    about: &'a str,
    /// The folder that has the rulesheet; nothing where it is in the program.
    folder: Option<Cow<'a, str>>,
}

pub fn run(arguments: &GamesArguments, output: Output) -> anyhow::Result<Outcome> {
    let settings = arguments.settings.load([])?;
    let mut rows = Vec::new();
    for known in known_games(&settings.games.folders) {
        // Rules of the user's own may be broken.
        let (game, title_of_metadata) = match known.load() {
            Ok(loaded) => loaded,
            Err(error) => {
                tracing::warn!("{} is left out: {error:#}", known.name);
                continue;
            }
        };
        let about = match title(&game.sheet.text) {
            "" => title_of_metadata.as_deref().unwrap_or_default(),
            title => title,
        };
        let report = Report {
            game: &known.name,
            roles: game.role_names(),
            about,
            folder: known.folder.as_ref().map(|folder| folder.to_string_lossy()),
        };
        output.object(&report)?;
        let from = report.folder.as_deref().unwrap_or("the program");
        let cells = [&known.name, &report.roles.join(", "), from, about];
        rows.push(cells.map(str::to_string).to_vec());
    }
    let columns = ["game", "roles", "from", "about"].map(Column::text);
    output.line(table(&columns, &rows))?;
    Ok(Outcome::Holds)
}

/// The text of a rulesheet's first comment; empty where it does not begin with one.
fn title(text: &str) -> &str {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    let comment = first.and_then(|line| line.strip_prefix(';'));
    comment.map_or("", |comment| comment.trim_start_matches(';').trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_is_the_first_comment() {
        assert_eq!(title("\n;; A game\n; more\n(role a)"), "A game");
        assert_eq!(title("(role a) ; not a title"), "");
        assert_eq!(title(""), "");
    }
}
