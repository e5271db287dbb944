//! Errors of the prover, and the limits that bound an evaluation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use panza_gdl::term::MAX_SIZE;
use thiserror::Error;

/// Why there is no answer.
///
/// Limits are those of [`Limits`]; relations are written as name/arity.
#[allow(missing_docs)]
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ProverError {
    #[error("the rules name no role, expected at least one `(role name)` fact")]
    NoRoles,
    #[error(
        "evaluation was stopped: more than {limit} facts hold in one state, the last of relation `{relation}`"
    )]
    TooManyFacts { limit: usize, relation: String },
    #[error(
        "evaluation was stopped: a fact of relation `{relation}` nests functions more than {limit} deep, or has more than {MAX_SIZE} names"
    )]
    TooDeep { limit: usize, relation: String },
    #[error(
        "evaluation was stopped: relation `{relation}` took more than {limit} steps in one state"
    )]
    TooMuchWork { limit: u64, relation: String },
    /// Negation within a recursion that only goal-directed evaluation would end.
    #[error(
        "relation `{relation}` is too large to be evaluated as a whole, and its recursion through `not` cannot be evaluated call by call"
    )]
    Undecided { relation: String },
    #[error(
        "a rule for `{relation}` has {found} positive conditions, at most {limit} can be evaluated"
    )]
    RuleTooLong {
        relation: String,
        found: usize,
        limit: usize,
    },
    #[error("there is no term number {term}, the prover knows {n_terms}")]
    NoSuchTerm { term: usize, n_terms: usize },
    #[error("evaluation was stopped: the game has more than {limit} different terms")]
    TooManyTerms { limit: usize },
    #[error("the joint move has {found} moves, expected one for each of the {expected} roles")]
    WrongJointMove { found: usize, expected: usize },
    #[error("evaluation was stopped: the answer is no longer needed")]
    Stopped,
    #[error("there is no role number {role}, the game has {n_roles}")]
    NoSuchRole { role: usize, n_roles: usize },
}

/// What bounds an evaluation.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Facts derived while one question is answered.
    pub facts: usize,
    /// Nesting of functions in a derived fact.
    pub depth: usize,
    /// Terms ever seen. They are never forgotten, since states hold on to them.
    pub terms: usize,
    /// Matches looked at while one question is answered.
    pub work: u64,
    /// Set by another thread once no answer is needed any more.
    pub stop: Arc<AtomicBool>,
}

/// Bytes that a term takes, with the facts and the indices that have it, about.
const BYTES_PER_TERM: usize = 128;
/// Terms for each fact that a question may derive.
const TERMS_PER_FACT: usize = 2;

impl Limits {
    /// The default limits, lowered so that about `max_bytes` bytes are held at most.
    pub fn within(max_bytes: usize) -> Self {
        let limits = Self::default();
        let terms = max_bytes / BYTES_PER_TERM;
        Self {
            terms: limits.terms.min(terms),
            facts: limits.facts.min(terms / TERMS_PER_FACT),
            ..limits
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            facts: 2_000_000,
            depth: 500,
            terms: 8_000_000,
            work: 500_000_000,
            stop: Arc::default(),
        }
    }
}
