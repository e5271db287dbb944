//! The two ways to write rules: KIF, with prefix operators and parentheses, and [`hrf`].

use std::borrow::Cow;

use panza_gdl::text::is_space;
use panza_gdl::{Diagnostic, Rules, Sexpr, format, keyword, sexpr};

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

    /// The rulesheet in canonical layout, with line ends as the first of the text.
    ///
    /// # Errors
    /// The faults of a text that cannot be laid out.
    pub fn format(self, text: &str) -> Result<String, Vec<Diagnostic>> {
        let first = text.find(['\r', '\n']).map_or("", |at| &text[at..]);
        let end = ["\r\n", "\r"]
            .into_iter()
            .find(|end| first.starts_with(end));
        // LF has the length of CR, so that places stay.
        let text = match end {
            Some("\r") => Cow::Owned(text.replace('\r', "\n")),
            _ => Cow::Borrowed(text),
        };
        let layout = match self {
            Dialect::Kif => format::format(&text),
            Dialect::Hrf => crate::format(&text),
        }?;
        let layout = layout.replace("\r\n", "\n");
        Ok(match end {
            Some(end) => layout.replace('\n', end),
            None => layout,
        })
    }
}

/// The fault of a text that is read as HRF and is KIF: it begins with a list, and has one that
/// begins with a word of rules.
pub(super) fn looks_like_kif(text: &str) -> Option<Diagnostic> {
    let statements = sexpr::parse(text).0;
    statements.first()?.list()?;
    let word = |it: &Sexpr| Some(it.list()?.first()?.symbol()?.to_string());
    let is_of_kif = |word: String| word == "<=" || keyword::of(&word).is_some();
    let first = statements
        .iter()
        .find(|it| word(it).is_some_and(is_of_kif))?;
    let message = "this looks like KIF and is read as HRF";
    let fault = Diagnostic::error("not-hrf", first.span(), message);
    Some(fault.with_help("KIF is read from files whose name ends in `.gdl` or `.kif`"))
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
    fn each_dialect_is_known_under_the_name_of_the_other() {
        let kif = "; a game\n(at 1)\n(role a)\n(<= (legal a go) (true (at 1)))";
        let hrf = "role(a)\ninit(at(1))\nlegal(go) :- at(1)";
        let only = |dialect: Dialect, text: &str| {
            let mut faults = dialect.load(text).1;
            assert_eq!(faults.len(), 1, "{faults:?}");
            let fault = faults.remove(0);
            let place = text[fault.span.range()].to_string();
            (fault.code, place, fault.message)
        };
        let (code, place, message) = only(Dialect::Hrf, kif);
        assert_eq!((code, &*place), ("not-hrf", "(role a)"));
        assert!(message.contains("looks like KIF"), "{message}");
        for text in [hrf, "role(a)\ninit(at(1))"] {
            let (code, place, message) = only(Dialect::Kif, text);
            assert_eq!((code, &*place), ("not-gdl", "role"));
            assert!(message.contains("looks like HRF"), "{message}");
        }
    }

    #[test]
    fn line_ends_stay_as_they_are() {
        let kif = "(role a)\n\n(<= p\n  q) ; why\n";
        let hrf = "role(a)\n\np :-\n  % why\n  q\n";
        for (dialect, text) in [(Dialect::Kif, kif), (Dialect::Hrf, hrf)] {
            for end in ["\n", "\r\n", "\r"] {
                let text = text.replace('\n', end);
                assert_eq!(dialect.format(&text).as_ref(), Ok(&text));
                let loose = text.replace('a', "a  ");
                assert_eq!(dialect.format(&loose).as_ref(), Ok(&text));
            }
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
