//! What a rulesheet says of its game to people: the comment that it begins with.
//!
//! The first line is the title. What follows it without an empty line says in one line what the
//! game is about; the paragraphs after it are the rules in words. Notes for designers are left out.
//!
//! Never uses: what the rules mean.

use panza_hrf::Dialect;

/// A line with one of these begins a note for designers, up to the end of its paragraph.
const NOTES: [&str; 2] = ["Why it is useful:", "Useful as:"];
/// A paragraph whose lines are all indented further than this is a drawing or a list.
const USUAL_INDENT: usize = 1;

/// The words about a game; all empty where the rulesheet begins with no comment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct About {
    /// Its name.
    pub title: String,
    /// What it is about, in a line: the first sentence of the rules where nothing else says so.
    pub line: String,
    /// The paragraphs of the rules. Drawings keep their lines.
    pub rules: Vec<String>,
}

impl About {
    /// What a rulesheet says of its game.
    pub fn read(dialect: Dialect, source: &str) -> Self {
        let mark = dialect.comment();
        let comment = source
            .lines()
            .map_while(|line| line.trim_start().strip_prefix(mark));
        let lines: Vec<&str> = comment
            .map(|line| line.trim_start_matches(mark).trim_end())
            .collect();
        let mut paragraphs = lines
            .split(|line| line.is_empty())
            .filter(|lines| !lines.is_empty());
        let (title, line) = match paragraphs.next().and_then(<[&str]>::split_first) {
            Some((title, more)) => (title.trim().to_string(), joined(more)),
            None => Default::default(),
        };
        let rules: Vec<String> = paragraphs
            .map(without_notes)
            .map(paragraph)
            .filter(|text| !text.is_empty())
            .collect();
        let first = || rules.first().map(|text| first_sentence(text));
        Self {
            title,
            line: match line.is_empty() {
                true => first().unwrap_or_default().to_string(),
                false => line,
            },
            rules,
        }
    }
}

/// The lines of a paragraph up to its note for designers.
fn without_notes<'a, 'b>(lines: &'a [&'b str]) -> &'a [&'b str] {
    let is_note = |line: &&str| NOTES.iter().any(|note| line.trim_start().starts_with(note));
    let end = lines.iter().position(is_note);
    &lines[..end.unwrap_or(lines.len())]
}

/// Lines as one text: those of a drawing below each other, others as a sentence.
fn paragraph(lines: &[&str]) -> String {
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let least = lines.iter().map(indent).min().unwrap_or(0);
    if least <= USUAL_INDENT {
        return joined(lines);
    }
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| line.get(least..).unwrap_or_else(|| line.trim_start()))
        .collect();
    lines.join("\n")
}

fn joined(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join(" ")
}

fn first_sentence(text: &str) -> &str {
    let end = text.find(". ");
    end.map_or(text, |end| &text[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_gdl_games::EMBEDDED;

    #[test]
    fn drawings_keep_their_lines_and_notes_are_left_out() {
        let sheet = "; A game\n;\n;; It is short. It ends\n; soon.\n;\n;    # #\n;      #\n;
; Players: 1.\n; Useful as: a test,\n; of more lines.\n;\n; Why it is useful: none\n\n; later";
        let about = About::read(Dialect::Kif, sheet);
        assert_eq!((&*about.title, &*about.line), ("A game", "It is short."));
        let rules = ["It is short. It ends soon.", "# #\n  #", "Players: 1."];
        assert_eq!(about.rules, rules);
        let sheet = "% A game\n% about\n% nothing\nrole(a)";
        let about = About::read(Dialect::Hrf, sheet);
        assert_eq!((&*about.title, &*about.line), ("A game", "about nothing"));
        assert!(about.rules.is_empty());
        assert_eq!(About::read(Dialect::Kif, "(role a)"), About::default());
    }

    #[test]
    fn each_game_of_the_program_says_in_a_line_what_it_is_about() {
        for (name, text) in EMBEDDED {
            let About { title, line, rules } = About::read(Dialect::of("", text), text);
            assert!((1..40).contains(&title.len()), "{name}: {title}");
            assert!((1..70).contains(&line.len()), "{name}: {line}");
            assert!(rules.len() >= 2, "{name}: {rules:?}");
            let is_note = |text: &String| text.to_lowercase().contains("useful");
            assert!(!rules.iter().any(is_note), "{name}: {rules:?}");
        }
    }
}
