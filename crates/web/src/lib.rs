#![doc = include_str!("../README.md")]
//!
//! A host, such as the HTTP server, makes a [`PageRequest`] of what a browser asks, decides what
//! the [`Client`](pages::Client) may do, and sends the [`PageReply`].
//!
//! # Pages
//!
//! A `table` is a game that is played in a browser. Its thread makes the moves of people as they
//! come and those of Panza by a search, in slices, so that it stops at once when a match begins;
//! the page waits for each new version of what the table shows. The table tries each legal move
//! and tells which facts it changes (`host::effects`); the page derives from them which cells are
//! clicked. At the end facts are taken away while the result stays, and what is left is marked
//! (`host::decision`). Boards come from `panza_analysis::board`, or from the file `NAME.board.toml`
//! (`host::board_file`).
//!
//! At a study table (`study`) the thread goes to any position of any line and searches it. One
//! search serves all positions, and `panza_search::RoleOutlook` reads the values of all roles and
//! the principal line from it. The page changes the tree of lines; the table stores it and knows
//! the line that is shown. `review` goes through the positions of a match from the last to the
//! first and names the moves that lost value, on the page and for `panza study --blunders`.
//!
//! `gamemaster` turns the messages of Stanford's Gamemaster into those of a game manager. A page
//! of ours passes them on, in a browser and often at Gamemaster's origin; the server decides which
//! page may. Gamemaster tells one move a step, so the prover follows the match to know whose it
//! was.
//!
//! `preview` shows the game of rules that are being written on `/edit`, and `trial` looks for
//! faults in random games of it; both end when a match begins. `preview::picture` has the first
//! position alone, for the tiles of `/play`. The server decides who may use which
//! port, and refuses unknown Host names where a browser could be made to ask. The pages are plain
//! files in `log-viewer`, embedded by that crate; `log-viewer/vendor` has the libraries of the
//! editor and of the charts.
//!
//! # What holds
//!
//! Invariants: nothing that a client sends panics, delays a match or allocates without a bound.
//!
//! Never uses: sockets, HTTP libraries, nodes of a search, gates.

#![forbid(unsafe_code)]

mod about;
mod background;
mod build_memory;
pub mod gamemaster;
mod host;
pub mod pages;
pub mod preview;
mod study;
pub mod table;
mod trial;

pub use gamemaster::Gamemaster;
pub use pages::{PageReply, PageRequest, Pages};
pub use preview::{Preview, PreviewError, preview};
pub use table::{TableError, Tables};
