//! The games inside the program.
//!
//! Never uses: how rules are read.

/// The rulesheets of `gdl-games`: name and text, sorted by name.
pub const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded_games.rs"));

/// How some of them want to be drawn: name and text of `NAME.board.toml`, sorted by name.
pub const BOARDS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded_boards.rs"));
