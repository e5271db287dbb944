//! Random games of rules that are being written, and the faults that they show.
//!
//! One trial runs at a time. The text that was asked about last counts: an earlier trial is
//! stopped, and the one who asked for it is told to ask again.
//!
//! Invariants: time and memory are bounded, also of those that wait; no search is made.
//!
//! Never uses: HTTP, pages, tables.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::background::{self, PreviewError};
use super::build_memory;
use panza_game::trial;
use panza_gdl::{Diagnostic, Rules};
use panza_sync::{Budget, after, is_past, lock};

/// Time for building and playing the game. Building takes half of it at most.
const PLAY_TIME: Duration = Duration::from_secs(2);
/// Time for everything, and for the end of an earlier trial.
const WHOLE_TIME: Duration = Duration::from_secs(5);

/// Who tries a game out.
static TRIALS: Mutex<Trials> = Mutex::new(Trials {
    newest: None,
    is_running: false,
});

struct Trials {
    /// The stop flag of the trial that was asked for last.
    newest: Option<Arc<AtomicBool>>,
    is_running: bool,
}

/// The one trial that runs, while it exists.
struct OneTrial;

impl Drop for OneTrial {
    fn drop(&mut self) {
        lock(&TRIALS).is_running = false;
    }
}

/// What random games of some rules show, as diagnostics. `is_busy` says whether a match runs.
///
/// # Errors
/// There is a match, a newer text, or no game.
pub fn try_out(
    rules: Arc<Rules>,
    is_busy: impl Fn() -> bool,
) -> Result<Vec<Diagnostic>, PreviewError> {
    if is_busy() {
        return Err(PreviewError::Busy);
    }
    let stop = Arc::new(AtomicBool::new(false));
    if let Some(older) = lock(&TRIALS).newest.replace(Arc::clone(&stop)) {
        older.store(true, Ordering::Release);
    }
    let one = turn(&stop)?;
    background::run("trial", &stop, WHOLE_TIME, is_busy, move |stop| {
        let budget = Budget::within(PLAY_TIME, build_memory::TRIAL_BYTES).stopped_by(stop);
        let found = trial::diagnostics(&rules, &budget);
        drop(one);
        found
    })
}

/// Waits until no other trial runs.
fn turn(stop: &AtomicBool) -> Result<OneTrial, PreviewError> {
    let until = after(WHOLE_TIME);
    loop {
        if stop.load(Ordering::Acquire) || is_past(until) {
            return Err(PreviewError::Full);
        }
        let was_running = std::mem::replace(&mut lock(&TRIALS).is_running, true);
        if !was_running {
            return Ok(OneTrial);
        }
        std::thread::sleep(background::PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn rules(text: &str) -> Arc<Rules> {
        Arc::new(panza_gdl::load(text).0)
    }

    /// Nobody has a goal at the end.
    const GOALLESS: &str = "(role a) (legal a go) (init p)
        (<= terminal (not (true p))) (<= (goal a 100) (true p))";

    #[test]
    fn a_match_goes_first_and_a_newer_text_stops_an_older_one() {
        let _alone = background::alone();
        let busy = try_out(rules(GOALLESS), || true);
        assert_eq!(busy, Err(PreviewError::Busy));
        let begins = Cell::new(0);
        // Its build takes longer than the first look at whether a match runs.
        let hex = rules(panza_gdl_games::rulesheet("hex").expect("it is there"));
        let busy = try_out(Arc::clone(&hex), || begins.replace(begins.get() + 1) > 0);
        assert_eq!(busy, Err(PreviewError::Busy));
        let older = Arc::new(AtomicBool::new(false));
        lock(&TRIALS).newest = Some(Arc::clone(&older));
        let found = try_out(rules(GOALLESS), || false).expect("it can be played");
        assert!(older.load(Ordering::Acquire));
        assert_eq!(found[0].code, "no-goal");
        assert!(
            found[0].help.ends_with("state: ()\nmoves: (go)"),
            "{found:?}"
        );
        // One that waits for its turn ends when a newer text comes.
        lock(&TRIALS).is_running = true;
        let one = OneTrial;
        let stopped = AtomicBool::new(true);
        assert!(matches!(turn(&stopped), Err(PreviewError::Full)));
        drop(one);
        assert!(turn(&AtomicBool::new(false)).is_ok());
    }
}
