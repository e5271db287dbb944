//! Playing in a browser: the games to choose from, and the tables.
//!
//! | request | answer |
//! |---|---|
//! | `GET /api/games` | the games inside the program |
//! | `POST /api/tables` with `{"game" or "name" and "rules", "people", "seconds" or "iterations"}` | `{"table"}` |
//! | `GET /api/tables/TABLE?after=VERSION` | what the table shows, once it is newer than the version, or after a while |
//! | `POST /api/tables/TABLE` with `{"do", ...}`, a [`Command`] | nothing |
//!
//! Thinking costs processor time, so it is for clients of this machine, and for those who show the
//! secret. Commands need the header `panza-page`, which no page of another origin may send.
//!
//! Never uses: how a game is played.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Page, number, unreadable};
use crate::games::{BOARDS, EMBEDDED};
use crate::table::{Command, Effort, People, Setting, TableError, Tables, title_and_text};
use panza_rules::gdl;

/// How long a request waits for something new, and how often it looks.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Limit on the characters of the name of a game.
const LONGEST_NAME: usize = 80;

/// A game inside the program.
#[derive(Debug, Serialize)]
struct Known {
    name: &'static str,
    /// The first line of the rulesheet's comment.
    title: String,
    /// Its first paragraph.
    about: String,
    roles: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Opening {
    /// The name of a game inside the program.
    game: Option<String>,
    /// A rulesheet, and the name of its game.
    rules: Option<String>,
    name: Option<String>,
    /// The file that says how to draw it; see `docs/boards.md`.
    board: Option<String>,
    people: Option<Seats>,
    /// Seconds of training before the first move.
    training: Option<f64>,
    #[serde(flatten)]
    effort: Effort,
}

/// The roles that people play: `first`, `all`, `none`, or a list of names.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Seats {
    Word(String),
    Names(Vec<String>),
}

/// The games inside the program.
pub(super) fn games() -> Page {
    static KNOWN: OnceLock<Vec<Known>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| EMBEDDED.iter().copied().map(known).collect());
    Page::json(&json!({ "games": known }))
}

fn known((name, text): (&'static str, &'static str)) -> Known {
    let (title, about) = title_and_text(text);
    Known {
        name,
        title,
        about: about.into_iter().next().unwrap_or_default(),
        roles: gdl::load(text).0.role_names(),
    }
}

/// Opens a table.
pub(super) fn open(tables: &Tables, body: &[u8]) -> Page {
    let opening: Opening = match serde_json::from_slice(body) {
        Ok(opening) => opening,
        Err(fault) => return unreadable(&fault),
    };
    let mut board = opening.board.map(Arc::from);
    let (game, source): (String, Arc<str>) = match (opening.game, opening.rules) {
        (_, Some(rules)) => {
            let name: String = opening.name.unwrap_or_default();
            let name: String = name.trim().chars().take(LONGEST_NAME).collect();
            let name = if name.is_empty() {
                "rules".into()
            } else {
                name
            };
            (name, rules.into())
        }
        (Some(game), None) => {
            let Some((name, text)) = EMBEDDED.iter().find(|(name, _)| *name == game) else {
                let text = format!("there is no game `{game}`\n");
                return Page::text(StatusCode::NOT_FOUND, text);
            };
            let known = BOARDS.iter().find(|(of, _)| of == name);
            board = board.or(known.map(|(_, text)| Arc::from(*text)));
            (name.to_string(), (*text).into())
        }
        (None, None) => {
            let text = "expected the name of a game or rules\n";
            return Page::text(StatusCode::BAD_REQUEST, text);
        }
    };
    let people = match opening.people {
        None => People::First,
        Some(Seats::Names(names)) => People::Named(names),
        Some(Seats::Word(word)) => match word.as_str() {
            "first" => People::First,
            "all" => People::All,
            "none" => People::Named(Vec::new()),
            _ => People::Named(vec![word]),
        },
    };
    let setting = Setting {
        game,
        source,
        board,
        people,
        effort: opening.effort,
        training: opening.training.map_or(Duration::ZERO, |seconds| {
            Duration::try_from_secs_f64(seconds).unwrap_or_default()
        }),
    };
    match tables.open(setting) {
        Ok(table) => Page::json(&json!({ "table": table })),
        Err(error) => refused(&error),
    }
}

/// Does what a person asks for at a table.
pub(super) fn tell(tables: &Tables, table: &str, body: &[u8]) -> Page {
    let command: Command = match serde_json::from_slice(body) {
        Ok(command) => command,
        Err(fault) => return unreadable(&fault),
    };
    match tables.tell(table, command) {
        Ok(()) => Page::json(&json!({})),
        Err(error) => refused(&error),
    }
}

/// What a table shows.
pub(super) fn show(tables: &Tables, table: &str) -> Page {
    match tables.view(table) {
        Some(view) => Page::json(&*view),
        None => refused(&TableError::Gone),
    }
}

/// The facts of an earlier turn.
pub(super) fn turn(tables: &Tables, table: &str, query: &str) -> Page {
    let turn = number(query, "turn").unwrap_or(usize::MAX);
    match tables.facts_of_turn(table, turn) {
        Some(facts) => Page::json(&json!({ "facts": facts })),
        None => Page::text(StatusCode::NOT_FOUND, "there is no such turn\n".to_string()),
    }
}

/// Waits until a table shows something newer than the version in the query, or for a while.
pub(super) async fn wait(tables: &Tables, table: &str, query: &str) {
    let Some(after) = number(query, "after") else {
        return;
    };
    let until = Instant::now() + LONGEST_WAIT;
    while tables.version(table) == Some(after as u64) && Instant::now() < until {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn refused(error: &TableError) -> Page {
    let status = match error {
        TableError::Rules(_) | TableError::Board(_) | TableError::Role(_) => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        TableError::Gone => StatusCode::NOT_FOUND,
        TableError::Busy | TableError::Thread => StatusCode::SERVICE_UNAVAILABLE,
    };
    Page::text(status, format!("{error}\n"))
}
