//! A prover that several steps share, built where one of them needs it.

use panza_gdl::Rules;
use panza_prover::{Limits, Prover};

/// The prover of the rules, built when it is first asked for.
pub struct LazyProver<'a> {
    rules: &'a Rules,
    limits: Limits,
    prover: Option<Prover>,
}

impl<'a> LazyProver<'a> {
    pub fn new(rules: &'a Rules, limits: Limits) -> Self {
        Self {
            rules,
            limits,
            prover: None,
        }
    }

    /// The prover; nothing where it cannot be built within its limits.
    pub fn get(&mut self) -> Option<&mut Prover> {
        if self.prover.is_none() {
            self.prover = Prover::untuned(self.rules, self.limits.clone()).ok();
        }
        self.prover.as_mut()
    }
}
