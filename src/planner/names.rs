//! The only role, and the words of moves and facts.

use crate::ids::RoleId;

/// The only role.
pub(super) const PLAYER: RoleId = RoleId(0);

/// The symbols of the text of a move or fact, nested ones as they come.
pub(super) fn words(text: &str) -> Vec<String> {
    let split = text.split(|c: char| c == '(' || c == ')' || c.is_whitespace());
    split
        .filter(|word| !word.is_empty())
        .map(str::to_string)
        .collect()
}
