//! `panza games`: the games that are known by name.

use clap::Args;
use serde::Serialize;

use panza_cli::game_source::known_games;
use panza_cli::output::{Column, table};
use panza_cli::{Game, Outcome, Output};

#[derive(Args, Debug)]
pub struct GamesArguments {}

#[derive(Serialize)]
struct Report<'a> {
    game: &'a str,
    roles: Vec<String>,
    about: &'a str,
}

pub fn run(_: &GamesArguments, output: Output) -> anyhow::Result<Outcome> {
    let mut rows = Vec::new();
    for name in known_games() {
        // Rules of the user's own beside the working directory may be broken.
        let game = match Game::load(&name) {
            Ok(game) => game,
            Err(error) => {
                tracing::warn!("{name} is left out: {error:#}");
                continue;
            }
        };
        let report = Report {
            game: &name,
            roles: game.role_names(),
            about: title(&game.sheet.text),
        };
        output.object(&report)?;
        let roles = report.roles.join(", ");
        rows.push(vec![name.clone(), roles, report.about.to_string()]);
    }
    let columns = ["game", "roles", "about"].map(Column::text);
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
