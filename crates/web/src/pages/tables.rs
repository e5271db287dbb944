//! Playing in a browser: the games to choose from, and the tables.
//!
//! | request | answer |
//! |---|---|
//! | `GET /api/games` | the games inside the program, and for each level its Elo above the first, by classes of games |
//! | `GET /api/tables?names=TABLE,...` | `{"tables"}`: which of these tables there are |
//! | `POST /api/tables` with `{"game" or "name" and "rules", "people", "level" or "seconds" or "iterations"}` | `{"table"}` |
//! | beside `"rules"`: `"file"`, `"dialect"` | as of `/api/check` in `rulesheets` |
//! | the same with `"study": {"facts", "line", "turn"}`, or with `{"match"}` or `{"table"}` in place of a game | `{"table"}`, at which the game is studied |
//! | `GET /api/matches/FOLDER/board` | the boards by the file of the game of a match, as `{"shapes"}`; none where it has no such file |
//! | `GET /api/tables/TABLE?after=VERSION` | what the table shows, once it is newer than the version, or after a while |
//! | `GET /api/tables/TABLE/report?after=VERSION` | likewise what Panza thinks at a study table, a [`Report`](crate::table::Report), or null |
//! | `GET /api/tables/TABLE/lines` | the tree of lines of a study table as `{"lines"}`, as its page wrote it |
//! | `GET /api/tables/TABLE/rules` | its rulesheet as `{"rules", "dialect"}`; the rules are null where its game is inside the program |
//! | `POST /api/tables` with `{"table"}` | `{"table"}`: the same game from its start, at a table of its own |
//! | `POST /api/tables/TABLE` with `{"do", ...}`, a [`Command`] | nothing |
//!
//! Thinking costs processor time, so it is for clients of this machine, and for those who show the
//! secret. Commands need the header `panza-page`, which no page of another origin may send.
//!
//! Never uses: how a game is played.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{DialectName, PageReply, PageStatus, RoutedRequest, dialect, matches};
use crate::about::About;
use crate::table::{
    CLASSES, Command, Effort, LEVELS, Level, People, Setting, Study, TableError, Tables, read_board,
};
use panza_gdl::sexpr;
use panza_gdl_games::{BOARDS, EMBEDDED};
use panza_hrf::Dialect;
use panza_player::StoredMatch;
use panza_telemetry::{Archive, Part};

/// Bytes of the events of a match that are read, and of those that have its rules.
const MOST_EVENTS: usize = 64 << 20;
const MOST_RULES: usize = 1 << 20;
/// Limit on the characters of the name of a game.
const LONGEST_NAME: usize = 80;
/// Tables that are asked about at once, at most.
const MOST_NAMES: usize = 50;

/// A game inside the program.
#[derive(Debug, Serialize)]
struct Known {
    name: &'static str,
    /// What the rulesheet says of the game: its name, a line, and the rules.
    title: String,
    about: String,
    rules: Vec<String>,
    roles: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Opening {
    /// A table, whose game is opened again.
    table: Option<String>,
    /// The name of a game inside the program.
    game: Option<String>,
    /// A rulesheet, and the name of its game.
    rules: Option<String>,
    name: Option<String>,
    /// The name of its file, and its dialect where that does not follow from the file or the text.
    file: Option<String>,
    dialect: Option<DialectName>,
    /// Whether it is played in spite of errors.
    #[serde(default)]
    anyway: bool,
    /// The file that says how to draw it; see `docs/boards.md`.
    board: Option<String>,
    people: Option<Seats>,
    /// Seconds of training before the first move.
    training: Option<f64>,
    /// A level of [`LEVELS`], from 1 on, in place of an effort and training.
    level: Option<usize>,
    /// What is studied, if the game is not played.
    study: Option<StudyRequest>,
    #[serde(flatten)]
    effort: Effort,
}

/// What is studied, in place of a game that is played.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StudyRequest {
    /// The folder of the log of a match, whose game and moves are taken.
    #[serde(rename = "match")]
    folder: Option<String>,
    /// A table, whose game and moves are taken.
    table: Option<String>,
    /// The facts of the position from which lines lead.
    facts: Option<String>,
    /// Joint moves.
    line: Vec<Vec<String>>,
    /// The turn that is shown first.
    turn: Option<usize>,
    /// The role of a player, and for each turn the value that it found.
    role: Option<String>,
    values: Vec<Option<f64>>,
    /// The names of the players.
    players: Vec<String>,
}

/// The roles that people play: `first`, `second`, `third`, `all`, `none`, or a list of names.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Seats {
    Word(String),
    Names(Vec<String>),
}

/// The games inside the program, and the levels that Panza plays at.
pub(super) fn games() -> PageReply {
    static KNOWN: OnceLock<Vec<Known>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        EMBEDDED
            .iter()
            .map(|(name, text)| known(name, text))
            .collect()
    });
    let by_class = |level: &Level| -> Vec<_> { CLASSES.into_iter().zip(level.elo).collect() };
    let levels: Vec<_> = LEVELS.iter().map(by_class).collect();
    PageReply::json(&json!({ "games": known, "levels": levels }))
}

fn known(name: &'static str, text: &'static str) -> Known {
    let dialect = Dialect::of("", text);
    let about = About::read(dialect, text);
    Known {
        name,
        title: about.title,
        about: about.line,
        rules: about.rules,
        roles: dialect.load(text).0.role_names(),
    }
}

/// The answer to what cannot be opened.
type Refusal = Box<PageReply>;

/// The game of an opening, to be studied or played.
fn game_of(opening: &mut Opening, study: Option<Study>) -> Result<Setting, Refusal> {
    let board = opening.board.take().map(Arc::from);
    match (opening.game.take(), opening.rules.take()) {
        // Where a match is studied, its record may be given in place of rules.
        (_, Some(record)) if study.is_some() && record.trim_start().starts_with('{') => {
            let stored = StoredMatch::read(&record);
            let unread = |why| PageReply::text(PageStatus::Unprocessable, format!("{why}\n"));
            of_stored(stored.map_err(unread)?)
        }
        (_, Some(rules)) => {
            let name = plain_name(&opening.name.take().unwrap_or_default());
            Ok(match known_rules(&rules).filter(|(own, _)| *own == name) {
                // The game inside the program may say how to draw it.
                Some((name, text)) if board.is_none() => of_program(name, text, study),
                _ => {
                    let dialect = dialect(opening.dialect, opening.file.as_deref(), &rules);
                    setting(name, rules.into(), dialect, board, study)
                }
            })
        }
        (Some(game), None) => {
            let Some((name, text)) = EMBEDDED.iter().find(|(name, _)| *name == game) else {
                let text = format!("there is no game `{game}`\n");
                return Err(PageReply::text(PageStatus::NotFound, text).into());
            };
            let found = of_program(name, text, study);
            Ok(Setting {
                board: board.or(found.board),
                ..found
            })
        }
        (None, None) => {
            let text = "expected the name of a game or rules\n";
            Err(PageReply::text(PageStatus::BadRequest, text).into())
        }
    }
}

/// How a game inside the program wants to be drawn, if it says so.
pub(super) fn board_of(game: &str) -> Option<Arc<str>> {
    let known = BOARDS.iter().find(|(of, _)| *of == game);
    known.map(|(_, text)| Arc::from(*text))
}

fn plain_name(name: &str) -> String {
    let name: String = name.trim().chars().take(LONGEST_NAME).collect();
    match name.is_empty() {
        true => "rules".into(),
        false => name,
    }
}

/// What is studied of a match, from its log.
fn of_match(archive: &Archive, folder: &str) -> Result<Setting, Refusal> {
    let events = archive.slice(folder, Part::Events, 0, MOST_EVENTS);
    let Ok((events, _)) = events else {
        let text = format!("there is no match `{folder}`\n");
        return Err(PageReply::text(PageStatus::NotFound, text).into());
    };
    let stored = StoredMatch::read(&String::from_utf8_lossy(&events));
    let stored =
        stored.map_err(|why| PageReply::text(PageStatus::Unprocessable, format!("{why}\n")))?;
    of_stored(stored)
}

/// What is studied of a match. Without rules it must name a game inside the program.
fn of_stored(stored: StoredMatch) -> Result<Setting, Refusal> {
    let name = plain_name(&stored.game.unwrap_or_default());
    // A log has no comments and no file for the board; the game inside the program has both.
    let known = match stored.rules.is_empty() {
        true => EMBEDDED.iter().find(|(known, _)| *known == name).copied(),
        false => known_rules(&stored.rules),
    };
    if known.is_none() && stored.rules.is_empty() {
        let text = format!("the match has no rules, and there is no game `{name}`\n");
        return Err(PageReply::text(PageStatus::Unprocessable, text).into());
    }
    let study = Some(Study {
        turn: stored.moves.len(),
        line: stored.moves,
        role: stored.role,
        values: stored.values,
        players: stored.players,
        ..Study::default()
    });
    Ok(match known {
        Some((name, text)) => of_program(name, text, study),
        None => setting(name, stored.rules.into(), Dialect::Kif, None, study),
    })
}

/// The game inside the program that has these statements in this order.
fn known_rules(rules: &str) -> Option<(&'static str, &'static str)> {
    static KNOWN: OnceLock<Vec<Vec<String>>> = OnceLock::new();
    let statements = |text: &str| -> Vec<String> {
        let statements = sexpr::parse(text).0.into_iter();
        statements.map(|it| it.to_string()).collect()
    };
    let known = KNOWN.get_or_init(|| {
        let games = EMBEDDED.iter();
        games.map(|(_, text)| statements(text)).collect()
    });
    let asked = statements(rules);
    let place = known.iter().position(|own| *own == asked)?;
    EMBEDDED.get(place).copied()
}

/// The boards of a match by the file of its game, for the page of the match.
pub(super) fn board(it: &RoutedRequest) -> PageReply {
    let events = match it
        .pages
        .archive
        .slice(it.part(0), Part::Events, 0, MOST_RULES)
    {
        Ok((events, _)) => events,
        Err(error) => return matches::unread(&error),
    };
    let stored = StoredMatch::read(&String::from_utf8_lossy(&events)).ok();
    let board = stored.and_then(|stored| board_of(known_rules(&stored.rules)?.0));
    let shapes = board.and_then(|text| read_board(&text).ok());
    PageReply::json(&json!({ "shapes": shapes.unwrap_or_default() }))
}

/// A game inside the program.
fn of_program(name: &str, text: &str, study: Option<Study>) -> Setting {
    let dialect = Dialect::of("", text);
    setting(
        name.to_string(),
        text.into(),
        dialect,
        board_of(name),
        study,
    )
}

fn setting(
    game: String,
    source: Arc<str>,
    dialect: Dialect,
    board: Option<Arc<str>>,
    study: Option<Study>,
) -> Setting {
    Setting {
        game,
        source,
        dialect,
        anyway: false,
        board,
        people: People::All,
        effort: Effort::Time(Duration::from_secs(30)),
        training: Duration::ZERO,
        study,
    }
}

/// What is studied.
fn studied(
    tables: &Tables,
    archive: &Archive,
    opening: &mut Opening,
    studied: StudyRequest,
) -> Result<Setting, Refusal> {
    let mut found = match (&studied.folder, &studied.table) {
        (Some(folder), _) => of_match(archive, folder)?,
        (None, Some(table)) => {
            let setting = tables.to_study(table);
            setting.map_err(|why| Box::new(refused(&why)))?
        }
        (None, None) => {
            let study = Study {
                facts: studied.facts,
                line: studied.line,
                role: studied.role,
                values: studied.values,
                players: studied.players,
                ..Study::default()
            };
            game_of(opening, Some(study))?
        }
    };
    if let Some(study) = &mut found.study {
        study.turn = studied.turn.unwrap_or(study.turn);
    }
    found.people = People::All;
    found.effort = opening.effort;
    found.training = Duration::ZERO;
    Ok(found)
}

/// Opens a table.
pub(super) fn open(it: &RoutedRequest, mut opening: Opening) -> PageReply {
    let tables = &it.pages.tables;
    let setting = match opening.study.take() {
        Some(study) => studied(tables, &it.pages.archive, &mut opening, study),
        None => match &opening.table {
            Some(table) => tables.setting(table).map_err(|why| refused(&why).into()),
            None => played(opening),
        },
    };
    match setting.map(|setting| tables.open(setting)) {
        Ok(Ok(table)) => PageReply::json(&json!({ "table": table })),
        Ok(Err(error)) => refused(&error),
        Err(page) => *page,
    }
}

/// What is played.
fn played(mut opening: Opening) -> Result<Setting, Refusal> {
    let found = game_of(&mut opening, None)?;
    let people = match opening.people {
        None => People::Nth(0),
        Some(Seats::Names(names)) => People::Named(names),
        Some(Seats::Word(word)) => match word.as_str() {
            "first" => People::Nth(0),
            "second" => People::Nth(1),
            "third" => People::Nth(2),
            "all" => People::All,
            "none" => People::Named(Vec::new()),
            _ => People::Named(vec![word]),
        },
    };
    let training = opening.training.map_or(Duration::ZERO, |seconds| {
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    });
    let level = match opening.level {
        None => None,
        Some(number) => Some(level(number)?),
    };
    Ok(Setting {
        people,
        anyway: opening.anyway,
        effort: level.map_or(opening.effort, |level| level.effort),
        training: level.map_or(training, |level| level.training),
        ..found
    })
}

/// The level of this number, counted from 1.
fn level(number: usize) -> Result<Level, Refusal> {
    let found = number.checked_sub(1).and_then(|index| LEVELS.get(index));
    found.copied().ok_or_else(|| {
        let text = format!(
            "there is no level {number}: levels are 1 to {}\n",
            LEVELS.len()
        );
        Box::new(PageReply::text(PageStatus::Unprocessable, text))
    })
}

/// Does what a person asks for at a table.
pub(super) fn tell(it: &RoutedRequest, command: Command) -> PageReply {
    match it.pages.tables.tell(it.part(0), command) {
        Ok(()) => PageReply::json(&json!({})),
        Err(error) => refused(&error),
    }
}

/// Which of the tables that a page names there are.
pub(super) fn known_tables(it: &RoutedRequest) -> PageReply {
    let names = it.request.parameter("names").unwrap_or_default();
    let names: Vec<&str> = names.split(',').take(MOST_NAMES).collect();
    PageReply::json(&json!({ "tables": it.pages.tables.known(&names) }))
}

/// A page at the address of a table; nothing where there is no such table.
pub(super) fn page(it: &RoutedRequest, file: &str) -> PageReply {
    match it.pages.tables.known(&[it.part(0)]).is_empty() {
        true => it.nothing(),
        false => it.file(file),
    }
}

/// What a table shows.
pub(super) fn show(it: &RoutedRequest) -> PageReply {
    match it.pages.tables.view(it.part(0)) {
        Ok(view) => PageReply::json(&*view),
        Err(error) => refused(&error),
    }
}

/// What Panza thinks at a study table.
pub(super) fn report(it: &RoutedRequest) -> PageReply {
    match it.pages.tables.report(it.part(0)) {
        Ok(report) => PageReply::json(&report.as_deref()),
        Err(error) => refused(&error),
    }
}

/// The tree of lines of a study table.
pub(super) fn lines(it: &RoutedRequest) -> PageReply {
    match it.pages.tables.lines(it.part(0)) {
        Ok(lines) => PageReply::json(&json!({ "lines": lines.as_deref() })),
        Err(error) => refused(&error),
    }
}

/// The rulesheet of a table; none where its game is inside the program.
pub(super) fn rules(it: &RoutedRequest) -> PageReply {
    match it.pages.tables.setting(it.part(0)) {
        Ok(of) => {
            let known = (&*of.game, &*of.source);
            let is_own = EMBEDDED.iter().all(|own| *own != known);
            let rules = is_own.then_some(&*of.source);
            PageReply::json(&json!({ "rules": rules, "dialect": of.dialect.name() }))
        }
        Err(error) => refused(&error),
    }
}

/// The facts of an earlier turn.
pub(super) fn turn(it: &RoutedRequest) -> PageReply {
    let turn = it.request.number("turn").unwrap_or(usize::MAX);
    match it.pages.tables.facts_of_turn(it.part(0), turn) {
        Some(facts) => PageReply::json(&json!({ "facts": facts })),
        None => PageReply::text(PageStatus::NotFound, "there is no such turn\n"),
    }
}

fn refused(error: &TableError) -> PageReply {
    let status = match error {
        TableError::Rules(_)
        | TableError::Board(_)
        | TableError::Role(_)
        | TableError::TooFewRoles(_)
        | TableError::Later => PageStatus::Unprocessable,
        TableError::Gone => PageStatus::NotFound,
        TableError::Busy | TableError::Full | TableError::Thread => PageStatus::Unavailable,
    };
    PageReply::text(status, format!("{error}\n"))
}
