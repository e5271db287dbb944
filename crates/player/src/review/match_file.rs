//! A match as game managers of ggp-base and match databases such as Tiltyard's write it: one JSON
//! object with the states, the joint moves and the goals.
//!
//! States are texts, each a list of facts; facts stand there with `true` or without. The rules are
//! rarely in the object; it names the game by an address that ends in the game's name.
//!
//! Invariant: facts and moves are canonical texts, one space between elements.

use panza_gdl::{Sexpr, sexpr};
use serde_json::Value;

/// Joint moves that are read, at most.
pub(super) const MAX_TURNS: usize = 10_000;

/// Characters of the name of a game; more are left out.
const LONGEST_NAME: usize = 100;

/// A match from a file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct MatchFile {
    /// The name of the match; empty if the file does not say.
    pub match_id: String,
    /// The name of the game, if the file says it.
    pub game: Option<String>,
    /// The rulesheet, if the file holds it.
    pub rules: Option<String>,
    /// The roles, in the order of moves and goals; empty where they are not named.
    pub roles: Vec<String>,
    /// The names of the players, in the order of the roles; empty where they are not known.
    pub players: Vec<String>,
    /// The facts of each state, from the first on.
    pub states: Vec<Vec<String>>,
    /// The joint moves.
    pub moves: Vec<Vec<String>>,
    /// The goals, in the order of the roles; empty where there are none.
    pub goals: Vec<i64>,
    /// Whether the match came to its end.
    pub is_complete: bool,
}

impl MatchFile {
    /// Reads a file.
    ///
    /// # Errors
    /// The text is no such match, or a part of it cannot be read; the message says which.
    pub fn read(text: &str) -> Result<Self, String> {
        let object: Value =
            serde_json::from_str(text).map_err(|why| format!("this is no JSON: {why}"))?;
        Self::of(&object)
    }

    /// Reads the object of a file.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(super) fn of(object: &Value) -> Result<Self, String> {
        if !object["moves"].is_array() || !object["states"].is_array() {
            return Err(
                "this is no match: expected an object with the lists `states` and `moves`".into(),
            );
        }
        let word = |name: &str| object[name].as_str().map(str::to_string);
        let first = |names: &[&str]| names.iter().find_map(|name| word(name));
        let address = first(&["gameMetaURL", "gameURL"]);
        let named = first(&["gameName", "game", "gameKey"]);
        let roles = match texts(&object["gameRolesByIndex"]) {
            Some(roles) => Some(roles),
            None => texts(&object["roles"]),
        };
        Ok(Self {
            match_id: word("matchId").unwrap_or_default(),
            game: (named.or_else(|| game_of(&address?)))
                .map(|name| name.chars().take(LONGEST_NAME).collect()),
            rules: first(&["rulesheet", "rules", "gameRulesheet"]),
            roles: roles.unwrap_or_default(),
            players: texts(&object["playerNamesFromHost"]).unwrap_or_default(),
            states: entries(object, "states", facts)?,
            moves: entries(object, "moves", moves)?,
            goals: goals(&object["goalValues"])?,
            is_complete: object["isCompleted"].as_bool().unwrap_or(false),
        })
    }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    let items = value.as_array()?.iter();
    items
        .map(|item| item.as_str().map(str::to_string))
        .collect()
}

/// The game that an address names: its last part that is no version.
fn game_of(address: &str) -> Option<String> {
    let is_version = |part: &str| {
        let digits = part.strip_prefix('v').unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let (_, path) = address.split_once("://").unwrap_or(("", address));
    let mut parts = path
        .split('/')
        .rev()
        .filter(|part| !part.is_empty() && !is_version(part));
    parts.next().map(str::to_string)
}

/// The entries of a list, each read in its way.
fn entries(
    object: &Value,
    name: &str,
    read: impl Fn(&Value) -> Option<Vec<String>>,
) -> Result<Vec<Vec<String>>, String> {
    let list = object[name]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if list.len() > MAX_TURNS {
        return Err(format!(
            "`{name}` has {} entries, at most {MAX_TURNS} are read",
            list.len()
        ));
    }
    let numbered = list.iter().enumerate();
    let read = numbered.map(|(index, value)| {
        read(value).ok_or_else(|| format!("entry {index} of `{name}` cannot be read"))
    });
    read.collect()
}

/// The facts of a state: a list of them in one text, or a list of texts.
fn facts(value: &Value) -> Option<Vec<String>> {
    let facts = match value.as_str() {
        None => all_expressions(value)?,
        Some(text) => match sexpr::parse_one(text)? {
            Sexpr::List(facts, _) => facts,
            Sexpr::Symbol(..) => return None,
        },
    };
    Some(facts.iter().map(|fact| fact.fact().canonical()).collect())
}

fn moves(value: &Value) -> Option<Vec<String>> {
    Some(
        all_expressions(value)?
            .iter()
            .map(Sexpr::canonical)
            .collect(),
    )
}

/// The expressions of a list of texts.
fn all_expressions(value: &Value) -> Option<Vec<Sexpr>> {
    texts(value)?
        .iter()
        .map(|text| sexpr::parse_one(text))
        .collect()
}

fn goals(value: &Value) -> Result<Vec<i64>, String> {
    let Some(list) = value.as_array() else {
        return Ok(Vec::new());
    };
    let goals: Option<Vec<i64>> = list.iter().map(Value::as_i64).collect();
    goals.ok_or_else(|| "`goalValues` must be a list of whole numbers".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"matchId":"m.1","gameMetaURL":"http://games.example/base/games/count/v0/",
        "states":["( ( true ( at 0 ) ) )","( ( at 1 ) ( open ) )"],"moves":[["( go )"]],
        "goalValues":[100],"isCompleted":true,"gameRolesByIndex":["a"],"playerNamesFromHost":["P"]}"#;

    #[test]
    fn facts_and_moves_become_canonical() {
        let found = MatchFile::read(FILE).unwrap();
        assert_eq!(found.game.as_deref(), Some("count"));
        assert_eq!(found.states, [vec!["(at 0)"], vec!["(at 1)", "open"]]);
        assert_eq!(found.moves, [["go"]]);
        assert_eq!((found.goals, found.is_complete), (vec![100], true));
        assert_eq!(found.roles, ["a"]);
    }

    #[test]
    fn what_is_no_match_is_refused_with_its_place() {
        for (text, expected) in [
            ("no", "this is no JSON"),
            ("{}", "this is no match"),
            (r#"{"states":["(("],"moves":[]}"#, "entry 0 of `states`"),
            (r#"{"states":[],"moves":[["a"],[3]]}"#, "entry 1 of `moves`"),
            (
                r#"{"states":[],"moves":[],"goalValues":["x"]}"#,
                "`goalValues`",
            ),
        ] {
            let why = MatchFile::read(text).unwrap_err();
            assert!(why.starts_with(expected), "{text}: {why}");
        }
    }
}
