//! Why a table cannot be opened or asked, and how many there may be.

/// Tables at the same time. A further one takes the place of the one that was idle longest.
pub(crate) const MAX_TABLES: usize = 8;
/// Study tables among them. A further one takes the place of the one that was idle longest.
pub(crate) const MAX_STUDIES: usize = 3;

/// Why a table cannot be opened or asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TableError {
    /// The rules cannot be played; the text names line and column.
    #[error("the rules cannot be played: {0}")]
    Rules(String),
    /// The file that says how to draw the game cannot be read.
    #[error("the board file cannot be read: {0}")]
    Board(String),
    /// There is no role of this name.
    #[error("no role is called `{0}`")]
    Role(String),
    /// The game has fewer roles than a person wants to play.
    #[error("{0}")]
    TooFewRoles(String),
    /// All tables that may be open are in use.
    #[error(
        "{MAX_TABLES} tables are in use, at most {MAX_STUDIES} of them studies; this one goes on \
         when another is left"
    )]
    Full,
    /// The files of the table are of a later version of Panza.
    #[error("a later version of Panza has kept this table; this one cannot read it")]
    Later,
    /// There is no table of this name; it may be too old.
    #[error("this table is not there any more")]
    Gone,
    /// The table has not yet done what it was asked before.
    #[error("the table is busy, ask again")]
    Busy,
    /// The system gives no thread.
    #[error("the system gives no thread for a table")]
    Thread,
}
