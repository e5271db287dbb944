//! Neighbouring groups of sessions change places, all other pushes keep their order.
//!
//! To move a group forward over the next one is to move that one backward, so each pair is tried
//! once. No session is broken.

use super::Run;
use super::permutation::Exchange;

/// The largest number of sessions in the first group.
const GROUP: usize = 12;

pub(super) fn improve(run: &mut Run) {
    while pass(run) {}
}

/// Tries all pairs of groups; whether something was gained.
fn pass(run: &mut Run) -> bool {
    let mut gained = false;
    let mut first = 0;
    loop {
        let sessions = run.plan.sessions(run.board);
        if first + 2 >= sessions.len() || run.is_over() {
            return gained;
        }
        run.tell(first, sessions.len());
        let mut exchange = Exchange::new(run.board, &run.plan, sessions[first], run.options);
        let better = (first + 1..sessions.len() - 1)
            .take(GROUP)
            .find_map(|second| exchange.later(sessions[second], &sessions[second + 1..]));
        if better.is_some_and(|pushes| run.offer(pushes)) {
            gained = true;
        } else {
            first += 1;
        }
    }
}
