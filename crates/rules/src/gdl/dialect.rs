//! The two ways to write rules: KIF, with prefix operators and parentheses, and [`hrf`].

use super::diagnostic::Diagnostic;
use super::rules::Rules;
use super::{format, hrf};

/// A way to write rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// The standard's: `(<= (legal ?r noop) (role ?r))`.
    Kif,
    /// That of Gamemaster: `legal(noop) :- control(R)`.
    Hrf,
}

impl Dialect {
    /// The dialect of a file of this name: HRF if it ends in `.hrf`.
    pub fn of_file(name: &str) -> Self {
        let (_, ending) = name.rsplit_once('.').unwrap_or_default();
        match ending.eq_ignore_ascii_case("hrf") {
            true => Dialect::Hrf,
            false => Dialect::Kif,
        }
    }

    /// Reads and checks a whole rulesheet, as [`super::load`] and [`hrf::load`].
    pub fn load(self, text: &str) -> (Rules, Vec<Diagnostic>) {
        match self {
            Dialect::Kif => super::load(text),
            Dialect::Hrf => hrf::load(text),
        }
    }

    /// The rulesheet in canonical layout.
    ///
    /// # Errors
    /// The faults of a text that cannot be laid out.
    pub fn format(self, text: &str) -> Result<String, Vec<Diagnostic>> {
        match self {
            Dialect::Kif => format::format(text),
            Dialect::Hrf => hrf::format(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_of_a_file_tells_the_dialect() {
        for (name, expected) in [
            ("games/go.hrf", Dialect::Hrf),
            ("GO.HRF", Dialect::Hrf),
            ("go.kif", Dialect::Kif),
            ("hrf", Dialect::Kif),
        ] {
            assert_eq!(Dialect::of_file(name), expected, "{name}");
        }
    }
}
