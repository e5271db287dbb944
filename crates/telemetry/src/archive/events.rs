//! Reads the events of a match again, one JSON object a line.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

/// An event. What a line lacks is null.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Event {
    /// What happened.
    pub kind: String,
    /// The time of day.
    pub time: Value,
    /// Seconds since the match began.
    pub at_seconds: Value,
    /// What there is to say about it.
    pub data: Value,
}

impl Event {
    /// The event on a line; nothing if there is none.
    pub fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// The kind of the event on a line. The rest of a line may be long, and is not kept.
    pub fn kind_of(line: &str) -> Option<Cow<'_, str>> {
        #[derive(Deserialize)]
        struct Kind<'a> {
            #[serde(borrow)]
            kind: Cow<'a, str>,
        }
        let found: Kind<'_> = serde_json::from_str(line).ok()?;
        Some(found.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_that_of_the_event() {
        let line = r#"{"data":{"kind":"move","step":1},"kind":"st\u0061te","at_seconds":2}"#;
        assert_eq!(Event::kind_of(line).as_deref(), Some("state"));
        let event = Event::read(line).unwrap();
        assert_eq!(
            (&*event.kind, event.data["step"].as_u64()),
            ("state", Some(1))
        );
        assert!(event.time.is_null());
        for damaged in ["", "[]", r#"{"kind":"move","data":{"st"#] {
            assert_eq!(Event::kind_of(damaged), None, "{damaged}");
        }
    }
}
