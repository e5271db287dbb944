#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

/// The rulesheets: name and text, sorted by name.
pub const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/games.rs"));

/// How some of them want to be drawn: name and text of `NAME.board.toml`, sorted by name.
pub const BOARDS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/boards.rs"));

/// The text of a rulesheet.
pub fn rulesheet(name: &str) -> Option<&'static str> {
    let place = EMBEDDED.binary_search_by_key(&name, |&(own, _)| own).ok()?;
    Some(EMBEDDED[place].1)
}
