#![doc = include_str!("../README.md")]
//!
//! A semi-naive fixpoint over the relaxed game finds every atom that can ever hold: `does` follows
//! from `legal`, `true` from `init` and `next`, and negated dynamic atoms are ignored. Relations
//! that depend on neither `true` nor `does` are static: they are evaluated exactly beforehand and
//! do not appear in the result. Each instance of a rule is recorded once, when the last of its
//! atoms is found.
//!
//! Invariants of a `GroundProgram`: every atom index is below the atom count; bodies have no
//! static atoms; an atom without rules that is neither base nor move never holds.
//!
//! Never uses: gates, playouts, the prover.

#![cfg_attr(test, allow(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

mod components;
mod evaluate;
mod findings;
mod index;
mod pattern;
mod plan;
mod prepare;
mod program;
mod relations;
mod split;
mod unfold;
#[cfg(test)]
mod tests;

use thiserror::Error;

use evaluate::{Evaluation, Stop};
use panza_gdl::term::MAX_SIZE;
use panza_gdl::{MAX_ROLES, Rules};
use panza_sync::Budget;
use prepare::PreparedRules;

pub use components::components;
pub use findings::examine;
pub use panza_gdl::strongly_connected;
pub use program::{AtomKind, GroundProgram};

/// Why there is no ground program.
///
/// `atoms` and `rules` are those found so far.
#[allow(missing_docs)]
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum GroundError {
    #[error("grounding was not finished in time: {atoms} atoms and {rules} ground rules so far")]
    OutOfTime { atoms: usize, rules: usize },
    #[error(
        "grounding passed its limit of {max_bytes} bytes: {atoms} atoms and {rules} ground rules so far"
    )]
    OutOfMemory {
        max_bytes: usize,
        atoms: usize,
        rules: usize,
    },
    #[error(
        "terms nest more than {max_depth} deep, or have more than {MAX_SIZE} names, as in `{example}`"
    )]
    TermsTooDeep { max_depth: usize, example: String },
    #[error("`{call}` is asked about a variable that no other condition binds")]
    OpenCall { call: String },
    #[error("`{call}` can only be asked about given arguments, and {why}")]
    OpenHelper { call: String, why: &'static str },
    #[error("`init` depends on conditions that facts of the rules alone do not decide")]
    DynamicInit,
    #[error("a rule for `{head}` has {conditions} conditions, more than can be joined")]
    RuleTooLong { head: String, conditions: usize },
    #[error("the rules name no role")]
    NoRoles,
    #[error("the rules derive more than {MAX_ROLES} roles")]
    TooManyRoles,
}

/// Grounds a game. Fails beyond the budget, and for rules without a finite ground form.
pub fn ground(rules: &Rules, budget: &Budget) -> Result<GroundProgram, GroundError> {
    if rules.roles().is_empty() {
        return Err(GroundError::NoRoles);
    }
    let mut prepared = PreparedRules::new(rules)?;
    // Each round splits a rule, takes a split back for good, or settles that a rule stays whole, so
    // this ends.
    loop {
        match Evaluation::new(rules, &prepared, budget).run() {
            Ok(program) => return Ok(program),
            Err(Stop::Error(error)) => return Err(error),
            Err(Stop::Split(rule)) => prepared.split(rule),
            Err(Stop::TakeBack(rule)) => prepared.take_back(rule),
        }
    }
}
