//! Names of the passes, and sets of them.
//!
//! Each pass can be left out or run alone, so that what it gains can be measured and what it breaks can be found. The
//! order of [`Pass::all`] is the order in which a round applies them.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::{factors, flatten, one_move};
use crate::ground::Budget;
use crate::propnet::{BuildError, Network};

/// One pass.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pass {
    /// [`flatten`]: an AND that only another AND needs is taken into it.
    Flatten,
    /// [`factors`]: common factors of an OR's terms are tested once.
    Factors,
    /// [`one_move`]: each role makes exactly one move.
    OneMove,
}

/// A name that no pass has.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("no pass is called `{name}`; the passes are {}", names())]
pub struct UnknownPass {
    /// The name.
    pub name: String,
}

fn names() -> String {
    Pass::all().map(Pass::name).join(", ")
}

impl Pass {
    /// Every pass, in the order in which they are applied.
    pub const fn all() -> [Pass; 3] {
        [Pass::Flatten, Pass::Factors, Pass::OneMove]
    }

    /// The name it is asked for by: lower case, words joined by hyphens.
    pub const fn name(self) -> &'static str {
        match self {
            Pass::Flatten => "flatten",
            Pass::Factors => "factors",
            Pass::OneMove => "one-move",
        }
    }

    /// Applies this pass once.
    ///
    /// # Errors
    /// When the budget ends.
    pub fn apply(self, network: &Network, budget: Budget) -> Result<Network, BuildError> {
        match self {
            Pass::Flatten => flatten::flatten(network, budget),
            Pass::Factors => factors::factors(network, budget),
            Pass::OneMove => one_move::one_move(network, budget),
        }
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Pass {
    type Err = UnknownPass;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Pass::all().into_iter().find(|pass| pass.name() == name);
        found.ok_or_else(|| UnknownPass { name: name.into() })
    }
}

/// Which passes to apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PassSet {
    /// One bit per pass, by its place in the enumeration.
    bits: u32,
}

impl PassSet {
    /// Every pass.
    pub fn all() -> Self {
        Pass::all().into_iter().fold(Self::none(), Self::with)
    }

    /// No pass.
    pub const fn none() -> Self {
        Self { bits: 0 }
    }

    /// One pass alone.
    pub const fn only(pass: Pass) -> Self {
        Self::none().with(pass)
    }

    /// This set and one more.
    #[must_use]
    pub const fn with(self, pass: Pass) -> Self {
        Self {
            bits: self.bits | 1 << pass as u32,
        }
    }

    /// This set but for one.
    #[must_use]
    pub const fn without(self, pass: Pass) -> Self {
        Self {
            bits: self.bits & !(1 << pass as u32),
        }
    }

    /// Whether a pass is in it.
    pub const fn contains(self, pass: Pass) -> bool {
        self.bits >> pass as u32 & 1 == 1
    }

    /// Its passes, in the order in which they are applied.
    pub fn iter(self) -> impl Iterator<Item = Pass> {
        Pass::all()
            .into_iter()
            .filter(move |&pass| self.contains(pass))
    }
}

impl Default for PassSet {
    /// The passes that pay.
    fn default() -> Self {
        Self::all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_passes() {
        for pass in Pass::all() {
            assert_eq!(pass.name().parse(), Ok(pass));
        }
        let error = "folding".parse::<Pass>().expect_err("no such pass");
        assert!(error.to_string().contains("`folding`"), "{error}");
        assert!(error.to_string().contains("one-move"), "{error}");
    }

    #[test]
    fn sets_hold_what_was_put_in() {
        for pass in Pass::all() {
            assert!(PassSet::all().contains(pass));
            assert!(!PassSet::all().without(pass).contains(pass));
            assert_eq!(PassSet::only(pass).iter().collect::<Vec<_>>(), [pass]);
            assert_eq!(PassSet::all().without(pass).with(pass), PassSet::all());
        }
        assert_eq!(PassSet::none().iter().count(), 0);
    }
}
