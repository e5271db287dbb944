//! What a table shows.

use serde::{Deserialize, Serialize, Serializer};

use super::effects::Effect;
use panza_analysis::board::Layout;
use panza_sync::{Instant, SystemTime, UNIX_EPOCH};

/// Moves of a role that are listed, at most.
pub(crate) const MAX_MOVES: usize = 5000;

/// What a table shows, as it is sent to a browser. Values are goals of the role, 0 to 100.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct View {
    /// Greater with each change.
    pub version: u64,
    /// The table's name.
    pub table: String,
    /// The game's name.
    pub game: String,
    /// Its title, and paragraphs about it; empty where the rulesheet has none.
    pub title: String,
    /// The paragraphs.
    pub about: Vec<String>,
    /// How far the game is.
    pub phase: Phase,
    /// What is wrong; for a game that cannot be played, or a command that was not followed.
    pub problem: Option<String>,
    /// The number of commands that were followed or refused; the problem is about the last one.
    pub told: u64,
    /// The roles, in the order of the rulesheet.
    pub roles: Vec<String>,
    /// Whether a person plays, for each role.
    pub people: Vec<bool>,
    /// The boards on which facts are drawn.
    pub shapes: Vec<Layout>,
    /// The facts that hold.
    pub facts: Vec<String>,
    /// What the last joint move changed of them.
    pub last: Effect,
    /// The joint moves made, in role order.
    pub moves: Vec<Vec<String>>,
    /// For each role what a person may choose; empty for Panza's roles, and after a choice.
    pub legal: Vec<Vec<String>>,
    /// For each role what each of these moves does; empty where that is not known.
    pub effects: Vec<Vec<Effect>>,
    /// For each role the number of its legal moves, which may be more than are listed.
    pub n_legal: Vec<usize>,
    /// For each role whether it has chosen while others have not.
    pub chosen: Vec<bool>,
    /// The role that Panza thinks for.
    pub thinks_for: Option<String>,
    /// When that began. In JSON the seconds since then.
    #[serde(serialize_with = "seconds_since")]
    pub thinks_since: Option<Instant>,
    /// Whether Panza makes no moves and thinks about none, since somebody has stopped it.
    pub paused: bool,
    /// Whether Panza waits for the end of a match of a game manager.
    pub waits: bool,
    /// What Panza found when it chose last.
    pub answer: Option<Found>,
    /// The hint that was asked for.
    pub hint: Option<Found>,
    /// The goals of the roles at the end.
    pub goals: Option<Vec<Option<u8>>>,
    /// The facts that decided the game, such as those of a line.
    pub decisive: Vec<String>,
    /// The role that has given the game up.
    pub resigned: Option<String>,
    /// The folder of the log, if there is one.
    pub log: Option<String>,
    /// What is studied, at a study table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub study: Option<Study>,
}

/// What a study begins with, and the number of the position that is shown.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Study {
    /// The facts of the position from which the line leads; the initial position without.
    pub facts: Option<String>,
    /// The number of the chapter that is shown, as the page counts them.
    pub chapter: u32,
    /// The joint moves of the game that is studied.
    pub line: Vec<Vec<String>>,
    /// The turn that is shown first.
    pub turn: usize,
    /// The role of the player that made a log of the game, if there is one.
    pub role: Option<String>,
    /// For each turn the value that the player found for its role.
    pub values: Vec<Option<f64>>,
    /// The names of the players, in the order of the roles; empty where they are not known.
    pub players: Vec<String>,
    /// Greater with each position that is shown; 0 before the first.
    pub position: u64,
    /// Greater with each change of the tree of lines; 0 where none is kept.
    pub lines: u64,
    /// The answer to the last question whether lines are legal.
    #[serde(skip_deserializing)]
    pub checked: Option<Checked>,
}

/// Where a line of a study begins.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Start {
    /// The number of its chapter.
    pub chapter: u32,
    /// The facts of its first position; nothing for the initial position.
    pub facts: String,
}

/// Whether lines that a person has brought are legal.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Checked {
    /// The number of the question.
    pub number: u64,
    /// The place of the first chapter and the number of the first node in it that do not fit.
    pub chapter: usize,
    /// 0 where the position cannot be set up that the chapter begins with.
    pub node: usize,
    /// Why; none where everything fits.
    pub problem: Option<String>,
}

/// How far the game at a table is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The game is being built.
    Building,
    /// Panza studies the game before the first move.
    Training,
    /// Moves are made.
    Playing,
    /// The game is over.
    Over,
    /// The game cannot be played.
    Failed,
}

/// What a search found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Found {
    /// The number of joint moves before it.
    pub turn: usize,
    /// The role that searched.
    pub role: String,
    /// The best move.
    pub text: String,
    /// The value of the move.
    pub value: Option<f64>,
    /// Its visits.
    pub visits: u64,
    /// Whether further search cannot change the move.
    pub is_proven: bool,
    /// The moves of a plan to the end, where one is known.
    pub plan: Vec<String>,
    /// The moves that were searched most, with visits and values, the best first.
    pub candidates: Vec<(String, u64, f64)>,
}

impl View {
    /// A table whose game is being built.
    pub(crate) fn first(table: &str, game: &str, roles: &[String], people: &[bool]) -> Self {
        Self {
            version: first_version(),
            table: table.to_string(),
            game: game.to_string(),
            title: String::new(),
            about: Vec::new(),
            phase: Phase::Building,
            problem: None,
            told: 0,
            roles: roles.to_vec(),
            people: people.to_vec(),
            shapes: Vec::new(),
            facts: Vec::new(),
            last: Effect::default(),
            moves: Vec::new(),
            legal: vec![Vec::new(); roles.len()],
            effects: vec![Vec::new(); roles.len()],
            n_legal: vec![0; roles.len()],
            chosen: vec![false; roles.len()],
            thinks_for: None,
            thinks_since: None,
            paused: false,
            waits: false,
            answer: None,
            hint: None,
            goals: None,
            decisive: Vec::new(),
            resigned: None,
            log: None,
            study: None,
        }
    }
}

/// The first version of what a table shows: the microseconds since 1970, so that a table that has
/// come back after a restart has none of the versions that a page knows.
fn first_version() -> u64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    time.map_or(1, |time| time.as_micros() as u64)
}

fn seconds_since<S: Serializer>(since: &Option<Instant>, to: S) -> Result<S::Ok, S::Error> {
    let seconds = since.map(|since| since.elapsed().as_secs_f64());
    seconds.serialize(to)
}
