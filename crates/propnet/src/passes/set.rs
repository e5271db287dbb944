//! The table of the passes, and sets of them.
//!
//! Each pass can be left out or applied alone, to measure its gain and to find its faults.

use super::{factors, flatten, one_move, products};
use crate::{Network, NetworkError};
use panza_sync::Budget;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Schedule {
    FirstRound,
    EachRound,
}

/// Declares every pass, in the order in which they are applied: what it does, its variant, its
/// name, when it is applied, and its function.
macro_rules! passes {
    ($($(#[$doc:meta])+ $pass:ident, $name:literal, $schedule:ident, $function:path;)+) => {
        /// One pass.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Pass {
            $($(#[$doc])+ $pass,)+
        }

        impl Pass {
            /// Every pass, in the order in which they are applied.
            pub const fn all() -> [Pass; [$(Pass::$pass),+].len()] {
                [$(Pass::$pass),+]
            }

            /// Its name: lower case, words joined by hyphens.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Pass::$pass => $name,)+
                }
            }

            /// When the pass is applied.
            pub(super) const fn schedule(self) -> Schedule {
                match self {
                    $(Pass::$pass => Schedule::$schedule,)+
                }
            }

            /// Applies this pass once.
            ///
            /// # Errors
            /// When the budget ends.
            pub fn apply(
                self,
                network: &Network,
                budget: &Budget,
            ) -> Result<Network, NetworkError> {
                match self {
                    $(Pass::$pass => $function(network, budget),)+
                }
            }
        }
    };
}

passes! {
    /// An AND with one user that is an AND is merged into it.
    Flatten, "flatten", EachRound, flatten::flatten;
    /// An OR of every combination becomes a product of ORs. A second round rarely finds anything.
    Products, "products", FirstRound, products::products;
    /// Common factors of an OR's terms are factored out.
    Factors, "factors", EachRound, factors::factors;
    /// Each role makes exactly one move.
    OneMove, "one-move", EachRound, one_move::one_move;
}

/// Which passes to apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PassSet {
    /// One bit per pass, by its discriminant.
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
    fn default() -> Self {
        Self::all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_contain_the_passes_put_in() {
        for pass in Pass::all() {
            assert!(PassSet::all().contains(pass));
            assert!(!PassSet::all().without(pass).contains(pass));
            assert_eq!(PassSet::only(pass).iter().collect::<Vec<_>>(), [pass]);
            assert_eq!(PassSet::all().without(pass).with(pass), PassSet::all());
        }
        assert_eq!(PassSet::none().iter().count(), 0);
    }
}
