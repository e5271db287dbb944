//! Faults of rules that are seen when the game is played: some hundred random games.
//!
//! The text of rules cannot show whether every state has a legal move or every end a goal. Random
//! games can show that one has not. What they do not show may still be there.
//!
//! 1. A machine is built, the counters or else the prover.
//! 2. Random games are played on it (`games`). For each kind of fault the shortest game that shows
//!    it is kept.
//! 3. What was seen becomes [`Finding`]s (`findings`), with what is likely to be its cause
//!    (`reasons`). The prover confirms each error and warning about a state, since it evaluates the
//!    rules themselves.
//!
//! Invariants: the work ends soon after its budget; an error was confirmed by the prover.
//!
//! Never uses: search trees, files.

mod finding;
mod findings;
mod games;
mod lazy_prover;
mod reasons;

use std::sync::Arc;

use panza_gdl::{Diagnostic, Rules};
use panza_prover::{Limits, ProverError};
use panza_sync::Budget;

use super::error::BuildError;
use super::quick;
pub use finding::Finding;
use lazy_prover::LazyProver;

/// What is seen in a game that was played.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// Random games that were begun.
    pub games: u32,
    /// Those that came to an end.
    pub ended: u32,
    /// The findings, errors first.
    pub findings: Vec<Finding>,
}

/// The share of the time after the build that random games take.
const PLAYING_SHARE: f64 = 0.7;

/// Plays random games of some rules and says what is seen. The steps of the budget are joint moves.
/// The same steps give the same findings, unless the time ends first.
///
/// # Errors
/// The game cannot be played at all.
pub fn try_out(rules: &Rules, budget: &Budget) -> Result<Trial, BuildError> {
    quick::watched(budget, |stop| {
        let machine = match quick::machine(rules, budget, stop) {
            Err(BuildError::Prover(why)) if why != ProverError::Stopped => {
                return Ok(Trial {
                    findings: vec![findings::no_answer(rules, &why.to_string())],
                    ..Trial::default()
                });
            }
            machine => machine?,
        };
        // The rest of the time is for the prover, which confirms what was seen.
        let playing = budget.share(PLAYING_SHARE);
        let limits = Limits {
            stop: Arc::clone(stop),
            ..Limits::within(budget.max_bytes)
        };
        let mut prover = LazyProver::new(rules, limits);
        let seen = games::play(rules, &machine, &playing, &mut prover);
        let program = match seen.endless {
            0 => None,
            _ => panza_ground::ground(rules, budget).ok(),
        };
        let program = program.as_ref();
        let mut findings = findings::findings(rules, machine.info(), &seen, &mut prover, program);
        if let Some(why) = machine.fault() {
            findings.insert(0, findings::no_answer(rules, &why));
        }
        Ok(Trial {
            games: seen.games,
            ended: seen.ended,
            findings,
        })
    })
}

/// Plays random games and gives the findings as editors show them, each with its evidence in the
/// hint.
///
/// # Errors
/// The budget was stopped, or the game cannot be played at all.
pub fn diagnostics(rules: &Rules, budget: &Budget) -> Result<Vec<Diagnostic>, BuildError> {
    let trial = try_out(rules, budget)?;
    if budget.is_stopped() {
        return Err(BuildError::Stopped);
    }
    let findings = trial.findings.into_iter();
    Ok(findings.map(Finding::into_diagnostic).collect())
}

#[cfg(test)]
mod tests;
