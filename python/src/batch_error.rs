//! Why a batch refuses something.

/// Why a batch refuses something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BatchError {
    /// It would take too much memory.
    TooLarge(String),
    /// An action is not legal.
    Illegal(String),
}
