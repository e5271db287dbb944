//! A match as it is read from its log: the rules, and the moves that were made.
//!
//! Invariant: whatever a log holds, reading it ends with what can be used, or says why not.

use serde_json::Value;

use super::match_file::{MAX_TURNS, MatchFile};

/// A match from the events of its log.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct StoredMatch {
    /// The name of the match; empty if the log does not say.
    pub match_id: String,
    /// The name of the game, if the log says it.
    pub game: Option<String>,
    /// The rulesheet; empty where the match is in a file that names its game alone.
    pub rules: String,
    /// The role of the player that wrote the log.
    pub role: Option<String>,
    /// The names of the players, in the order of the roles; empty where they are not known.
    pub players: Vec<String>,
    /// The joint moves from the start on.
    pub moves: Vec<Vec<String>>,
    /// For each turn the value that the player found for its role.
    pub values: Vec<Option<f64>>,
}

impl StoredMatch {
    /// Reads the events of a match, one JSON object a line, or the bundle that a match's page
    /// offers for download. Lines that are none are left out. A match of another game manager is
    /// read too ([`MatchFile`]); it may lack the rules.
    ///
    /// # Errors
    /// The text is no log of a match.
    pub fn read(text: &str) -> Result<Self, String> {
        let bundle = serde_json::from_str::<Value>(text).ok();
        if let Some(events) = bundle.as_ref().and_then(|it| it["events"].as_str()) {
            return Self::of_events(events);
        }
        if let Some(object) = bundle.filter(|it| it["states"].is_array() && it["moves"].is_array())
        {
            return MatchFile::of(&object).map(Self::of_file);
        }
        Self::of_events(text)
    }

    fn of_file(file: MatchFile) -> Self {
        Self {
            match_id: file.match_id,
            game: file.game,
            rules: file.rules.unwrap_or_default(),
            role: None,
            players: file.players,
            values: vec![None; file.moves.len() + 1],
            moves: file.moves,
        }
    }

    fn of_events(events: &str) -> Result<Self, String> {
        let mut found = Self::default();
        let mut has_start = false;
        for line in events.lines() {
            if let Ok(event) = serde_json::from_str::<Value>(line) {
                has_start |= event["kind"] == "start";
                found.take(&event);
            }
        }
        if !has_start {
            return Err("this is no log of a match: it has no event `start`".to_string());
        }
        if found.rules.is_empty() {
            return Err("this log does not have the rules of its match".to_string());
        }
        found.values.resize(found.moves.len() + 1, None);
        Ok(found)
    }

    fn take(&mut self, event: &Value) {
        let data = &event["data"];
        let text = |value: &Value| value.as_str().map(str::to_string);
        let texts =
            |value: &Value| -> Option<Vec<String>> { value.as_array()?.iter().map(text).collect() };
        let step = data["step"].as_u64();
        let step = step.and_then(|step| usize::try_from(step).ok());
        let step = step.filter(|&step| step < MAX_TURNS);
        match event["kind"].as_str() {
            Some("log") => self.match_id = text(&data["match_id"]).unwrap_or_default(),
            Some("start") => {
                self.game = text(&data["game"]);
                self.rules = text(&data["rules"]).unwrap_or_default();
                self.role = text(&data["role"]);
                self.players = texts(&data["players"]).unwrap_or_default();
            }
            // A turn that is played again replaces all that came after it.
            Some("played") => {
                if let Some(step) = step
                    && step <= self.moves.len()
                    && let Some(moves) = texts(&data["moves"])
                {
                    self.moves.truncate(step);
                    self.moves.push(moves);
                }
            }
            Some("move") => {
                if let Some(step) = step {
                    self.values.resize(self.values.len().max(step + 1), None);
                    self.values[step] = data["value"].as_f64();
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: &str = r#"{"kind":"log","data":{"match_id":"m.ticTacToe.1"}}
{"kind":"start","data":{"role":"x","game":"ticTacToe","rules":"(role x)","players":["Panza","random"]}}
{"kind":"move","data":{"step":0,"move":"a","value":61.5}}
{"kind":"played","data":{"step":0,"moves":["a","noop"]}}
{"kind":"played","data":{"step":1,"moves":["noop","b"]}}
no line
{"kind":"played","data":{"step":1,"moves":["noop","c"]}}
{"kind":"played","data":{"step":7,"moves":["far","off"]}}
{"kind":"played","data":{"step":2,"mo"#;

    #[test]
    fn the_moves_of_a_match_are_read_and_damage_is_left_out() {
        let found = StoredMatch::read(EVENTS).unwrap();
        assert_eq!(found.game.as_deref(), Some("ticTacToe"));
        assert_eq!(found.moves, [["a", "noop"], ["noop", "c"]]);
        assert_eq!(found.values, [Some(61.5), None, None]);
        let bundle = serde_json::json!({ "version": 1, "events": EVENTS }).to_string();
        assert_eq!(StoredMatch::read(&bundle).unwrap(), found);
    }

    #[test]
    fn what_is_no_log_is_refused() {
        for text in ["", "{}", "(role a)", "[1, 2]", "{\"events\": \"\"}"] {
            let why = StoredMatch::read(text).unwrap_err();
            assert!(why.contains("no event `start`"), "{text}: {why}");
        }
        let without_rules = r#"{"kind":"start","data":{}}"#;
        assert!(StoredMatch::read(without_rules).is_err());
    }
}
