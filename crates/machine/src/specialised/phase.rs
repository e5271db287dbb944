//! Which phase of a specialised game a state belongs to.

use panza_gdl::{BaseId, Id};

/// Which phase of a game that is specialised by this mutex group a state belongs to; a game without
/// a group has one phase.
#[inline(always)]
pub fn phase_of_group(mutex_group: &[BaseId], state: &[u64]) -> Option<usize> {
    match mutex_group {
        [] => Some(0),
        _ => only_true(mutex_group, state),
    }
}

/// The index of the base that is true in a state; `None` unless exactly one is.
#[inline]
pub fn only_true(mutex_group: &[BaseId], state: &[u64]) -> Option<usize> {
    let is_true = |base: &BaseId| {
        state
            .get(base.index() / 64)
            .is_some_and(|word| word >> (base.index() % 64) & 1 == 1)
    };
    let mut found = None;
    for (index, base) in mutex_group.iter().enumerate() {
        if is_true(base) {
            if found.is_some() {
                return None;
            }
            found = Some(index);
        }
    }
    found
}
