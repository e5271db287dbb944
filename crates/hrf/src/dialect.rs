//! The two ways to write rules: KIF, with prefix operators and parentheses, and [`hrf`].

use panza_gdl::text::is_space;
use panza_gdl::{Diagnostic, Rules, format};

/// A way to write rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dialect {
    /// The standard's: `(<= (legal ?r noop) (role ?r))`.
    #[default]
    Kif,
    /// Infix form. That of Gamemaster: `legal(noop) :- control(R)`; or
    /// [textbook GDL](crate::textbook): `legal(R,noop) :- role(R)`.
    Hrf,
}

impl Dialect {
    /// The dialect of a text from a file of this name. The endings `.hrf`, `.gdl` and `.kif` say
    /// it; under any other name, and under none, the beginning of the text does.
    pub fn of(file: &str, text: &str) -> Self {
        let (_, ending) = file.rsplit_once('.').unwrap_or_default();
        let is = |own: &str| ending.eq_ignore_ascii_case(own);
        match () {
            () if is("hrf") => Dialect::Hrf,
            () if is("gdl") || is("kif") => Dialect::Kif,
            () => Self::of_text(text),
        }
    }

    /// HRF if the text begins, after comments, with a name and one of `(`, `:-` and `::`, or if it
    /// has nothing but a comment that begins with `%`.
    fn of_text(text: &str) -> Self {
        let lines = text.lines().map(|line| line.trim_start_matches(is_space));
        let mut lines = lines.skip_while(|line| line.is_empty() || line.starts_with([';', '%']));
        let is_hrf = match lines.next() {
            Some(line) => {
                let end = line.find(|letter| !crate::is_name_character(letter));
                let (name, rest) = line.split_at(end.unwrap_or(line.len()));
                let after = rest.trim_start();
                let goes_on = after.starts_with(":-") || after.starts_with("::");
                !name.is_empty() && (rest.starts_with('(') || goes_on)
            }
            None => text.trim_start_matches(is_space).starts_with('%'),
        };
        if is_hrf { Dialect::Hrf } else { Dialect::Kif }
    }

    /// `kif` or `hrf`.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Kif => "kif",
            Dialect::Hrf => "hrf",
        }
    }

    /// The character that a comment begins with, which goes on to the end of its line.
    pub fn comment(self) -> char {
        match self {
            Dialect::Kif => ';',
            Dialect::Hrf => '%',
        }
    }

    /// Reads and checks a whole rulesheet, as [`panza_gdl::load`] and [`crate::load`].
    pub fn load(self, text: &str) -> (Rules, Vec<Diagnostic>) {
        match self {
            Dialect::Kif => panza_gdl::load(text),
            Dialect::Hrf => crate::load(text),
        }
    }

    /// The rulesheet in canonical layout.
    ///
    /// # Errors
    /// The faults of a text that cannot be laid out.
    pub fn format(self, text: &str) -> Result<String, Vec<Diagnostic>> {
        match self {
            Dialect::Kif => format::format(text),
            Dialect::Hrf => crate::format(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_of_a_file_tells_the_dialect() {
        let (kif, hrf) = ("(role a)", "role(a)");
        for (name, text, expected) in [
            ("games/go.hrf", kif, Dialect::Hrf),
            ("GO.HRF", kif, Dialect::Hrf),
            ("go.kif", hrf, Dialect::Kif),
            ("go.GDL", hrf, Dialect::Kif),
            ("hrf", kif, Dialect::Kif),
            ("go.txt", hrf, Dialect::Hrf),
            ("go.txt", kif, Dialect::Kif),
        ] {
            assert_eq!(Dialect::of(name, text), expected, "{name}");
        }
    }

    #[test]
    fn the_beginning_of_a_text_tells_the_dialect() {
        for text in [
            "role(a)",
            "\u{feff}% a game\n\n  role ( a )\n",
            "% a game\n  role(a)",
            "terminal :- p",
            "a::b",
            "% a game",
            "move(X) :: p ==> q",
        ] {
            let expected = match text.contains("role (") {
                true => Dialect::Kif,
                false => Dialect::Hrf,
            };
            assert_eq!(Dialect::of("", text), expected, "{text}");
        }
        for text in [
            "",
            "; a game",
            "% no game of this dialect\n(role a)",
            "; role(a)\n(role a)",
            "(<= (legal a b) (c))",
            "<html>",
            "Dear Sir (or Madam)",
            ":- p",
        ] {
            assert_eq!(Dialect::of("", text), Dialect::Kif, "{text}");
        }
    }
}
