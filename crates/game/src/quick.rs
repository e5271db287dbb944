//! A machine within a part of a second: the counters of the whole game, or else the prover.
//!
//! Some work asks a few thousand questions only, and ends soon. Phases and lanes are not worth
//! while there.
//!
//! Invariant: no question to the prover outlives the budget, as a watcher sets its stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::compile::compile_whole;
use super::error::BuildError;
use super::prover_machine::ProverMachine;
use panza_gdl::Rules;
use panza_machine::Machine;
use panza_sync::{Budget, spawn_scoped};

/// How often the watcher looks at the budget.
const PAUSE: Duration = Duration::from_millis(5);

/// Does some work with a flag that is set when the budget is over, as the prover takes one.
pub fn watched<T>(budget: &Budget, work: impl FnOnce(&Arc<AtomicBool>) -> T) -> T {
    let stop = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (done, is_done) = channel::<()>();
        let flag = &stop;
        let watcher = spawn_scoped(scope, "watcher", move || {
            while is_done.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                if budget.is_over() {
                    flag.store(true, Ordering::Relaxed);
                    return;
                }
            }
        });
        if let Err(why) = watcher {
            tracing::warn!("the prover is not watched: {why}");
        }
        let result = work(&stop);
        drop(done);
        result
    })
}

/// A machine of the game. Half of the time goes to its network, and without one in that time the
/// prover takes its place, which `stop` ends.
///
/// # Errors
/// The budget was stopped, or the prover cannot evaluate the rules.
pub fn machine(
    rules: &Rules,
    budget: &Budget,
    stop: &Arc<AtomicBool>,
) -> Result<Arc<dyn Machine>, BuildError> {
    match compile_whole(rules, &budget.share(0.5)) {
        Ok(machine) => Ok(Arc::new(machine)),
        Err(BuildError::Stopped) => Err(BuildError::Stopped),
        Err(_) => prover(rules, budget, stop),
    }
}

/// The prover as a machine within the bytes of the budget, which `stop` ends.
///
/// # Errors
/// The prover cannot evaluate the rules.
pub fn prover(
    rules: &Rules,
    budget: &Budget,
    stop: &Arc<AtomicBool>,
) -> Result<Arc<dyn Machine>, BuildError> {
    let budget = budget.stopped_by(stop);
    let machine = ProverMachine::within(rules, &budget)?;
    Ok(Arc::new(machine))
}
