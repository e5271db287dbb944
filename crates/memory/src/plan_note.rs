//! The best plan of a single-player game as a note for later matches, and back.
//!
//! Moves are terms, so that the note is stored in canonical names.
//!
//! Never uses: machines, whether the moves are legal.

use serde_json::{Value, json};

use super::history::{term, term_text};

/// A plan from the initial state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanNote {
    /// The moves in order, as GDL text.
    pub moves: Vec<String>,
    /// The goal of the final state, 0 to 100.
    pub goal: u8,
    /// Whether it is proven that no plan reaches a higher goal.
    pub is_best: bool,
}

impl PlanNote {
    /// The note.
    pub fn to_json(&self) -> Value {
        let moves: Vec<String> = self.moves.iter().map(|mv| term(mv)).collect();
        json!({ "moves": moves, "goal": self.goal, "is_best": self.is_best })
    }

    /// The plan in a note; `None` if the note is damaged.
    pub fn from_json(note: &Value) -> Option<Self> {
        let moves = note["moves"].as_array()?.iter();
        let moves = moves.map(|mv| term_text(mv.as_str()?).map(str::to_string));
        let goal = u8::try_from(note["goal"].as_u64()?).ok();
        Some(Self {
            moves: moves.collect::<Option<_>>()?,
            goal: goal.filter(|goal| *goal <= 100)?,
            is_best: note["is_best"].as_bool()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_restored_from_its_note() {
        let plan = PlanNote {
            moves: vec!["(pour large small)".into(), "wait".into()],
            goal: 30,
            is_best: true,
        };
        assert_eq!(PlanNote::from_json(&plan.to_json()), Some(plan));
    }

    #[test]
    fn damaged_notes_are_no_plans() {
        for note in [
            json!(null),
            json!({ "moves": ["gdl:wait"], "goal": 30 }),
            json!({ "moves": ["gdl:wait"], "goal": 101, "is_best": false }),
            json!({ "moves": ["wait"], "goal": 30, "is_best": false }),
            json!({ "moves": [7], "goal": 30, "is_best": false }),
            json!({ "moves": "gdl:wait", "goal": 30, "is_best": false }),
        ] {
            assert_eq!(PlanNote::from_json(&note), None, "{note}");
        }
    }
}
