//! What editors ask of a rulesheet: one analysis for the language server and for the editor page.
//!
//! A [`Sheet`] is a text with its diagnostics, its names with their places ([`Outline`]) and its
//! lines. Questions are by byte offset; [`Lines`] turns them into places and back.
//!
//! Invariants: every answer is made for any text, however faulty; all work is linear in the text
//! apart from the diagnostics, whose checks are bounded.
//!
//! Never uses: protocols of editors, files, the meaning of a game.

mod comments;
mod completion;
mod infix;
mod outline;
mod place;
mod words;

pub use completion::Completion;
pub use outline::{Kind, Name, Occurrence, Outline, Statement};

use std::sync::Arc;

use panza_gdl::{Diagnostic, Edit, Remedy};
use panza_hrf::{Dialect, textbook};

use panza_gdl::read::unwrapped;
use panza_gdl::token::{TokenKind, tokens};
use panza_gdl::{Lines, Rules, Span};
use words::word;

/// A rulesheet that was analysed.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// The dialect that it is read in.
    pub dialect: Dialect,
    /// The text.
    pub text: Box<str>,
    /// Its lines.
    pub lines: Lines,
    /// The rules that could be read; shared, as another thread may play them.
    pub rules: Arc<Rules>,
    /// What is wrong, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// Its names and statements.
    pub outline: Outline,
    /// Whether every sentence is in the outline. In KIF those with faults are, too.
    is_whole: bool,
    /// Whether its infix form is that of textbook GDL, whose words are those of KIF.
    is_textbook: bool,
}

/// A change that mends a fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fix {
    /// What it does, such as `Add the missing )`.
    pub title: String,
    /// The changes, in the order of the text.
    pub edits: Vec<Edit>,
}

/// What is known about a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// The place of the name.
    pub span: Span,
    /// The name with its arguments.
    pub form: String,
    /// What it is, and where it stands.
    pub kind: String,
    /// What it means: of GDL's own words the meaning, of others the comment above the definition.
    pub meaning: String,
}

impl Sheet {
    /// Analyses a text.
    pub fn read(dialect: Dialect, text: impl Into<Box<str>>) -> Self {
        let text = text.into();
        let lines = Lines::of(&text);
        let (rules, diagnostics, outline, is_whole, is_textbook) = match dialect {
            Dialect::Kif => {
                let (statements, rules, diagnostics) = panza_gdl::load_with_statements(&text);
                let outline = Outline::of(dialect, &text, &lines, unwrapped(&statements));
                (rules, diagnostics, outline, true, false)
            }
            Dialect::Hrf => {
                let read = panza_hrf::read(&text);
                let outline = match &read.statements {
                    Some(statements) => infix::textbook_outline(&text, &lines, statements),
                    None => infix::outline(&text, &lines, &read.sentences),
                };
                let is_textbook = read.statements.is_some();
                (
                    read.rules,
                    read.diagnostics,
                    outline,
                    read.is_whole,
                    is_textbook,
                )
            }
        };
        Self {
            dialect,
            text,
            lines,
            rules: Arc::new(rules),
            diagnostics,
            outline,
            is_whole,
            is_textbook,
        }
    }

    /// The text in the canonical layout; nothing for a text that cannot be read.
    pub fn laid_out(&self) -> Option<String> {
        self.dialect.format(&self.text).ok()
    }

    /// The place of a diagnostic of this sheet, as narrow as it is known: a misspelt name rather
    /// than all that it stands in.
    pub fn place(&self, diagnostic: &Diagnostic) -> Span {
        let name = match &diagnostic.remedy {
            Remedy::Name { from, .. } => self.named(diagnostic.span, from),
            Remedy::Unknown | Remedy::Edits(_) => None,
        };
        name.unwrap_or(diagnostic.span)
    }

    /// The first place of a name inside a span.
    fn named(&self, span: Span, name: &str) -> Option<Span> {
        let text = self.text.get(span.range())?;
        let is_it = |span: &Span| text[span.range()] == *name;
        let found = name_tokens(self.dialect, text).find(is_it)?.range();
        let start = span.start as usize;
        Some(Span::new(start + found.start, start + found.end))
    }

    /// What mends a diagnostic of this sheet, if that is known.
    pub fn fix(&self, diagnostic: &Diagnostic) -> Option<Fix> {
        match &diagnostic.remedy {
            Remedy::Unknown => None,
            Remedy::Edits(edits) => {
                let title = match (diagnostic.code, edits.len()) {
                    ("unclosed-parenthesis", _) => "Add the missing `)`",
                    ("stray-parenthesis", 1) => "Remove this `)`",
                    ("stray-parenthesis", _) => "Remove these `)`",
                    ("reversed-arrow", _) => "Write the head first, behind `<=`",
                    _ => "Write it as a fact",
                };
                Some(Fix {
                    title: title.to_string(),
                    edits: edits.clone(),
                })
            }
            Remedy::Name { from, to } => {
                let span = self.named(diagnostic.span, from)?;
                Some(Fix {
                    title: format!("Change `{}` to `{}`", brief(from), brief(to)),
                    edits: vec![Edit::replacement(span, &**to)],
                })
            }
        }
    }

    /// What is known about the name at a byte offset.
    pub fn explain(&self, offset: u32) -> Option<Explanation> {
        let place = self.outline.at(offset)?;
        let name = &self.outline.names[place.name];
        let known = word(self.dialect_of_words(), &name.text);
        let (form, meaning) = match known {
            Some(word) if name.kind == Kind::Keyword && self.is_textbook => {
                (textbook::in_infix(word.form), word.meaning.to_string())
            }
            Some(word) if name.kind == Kind::Keyword => {
                (word.form.to_string(), word.meaning.to_string())
            }
            _ => (name.form(self.dialect), name.comment.clone()),
        };
        Some(Explanation {
            span: place.span,
            form,
            kind: self.kind_of(place.name),
            meaning,
        })
    }

    /// The dialect that gives words their meaning.
    fn dialect_of_words(&self) -> Dialect {
        match self.is_textbook {
            true => Dialect::Kif,
            false => self.dialect,
        }
    }

    /// What a name is, and where it is defined and used.
    pub fn kind_of(&self, name: usize) -> String {
        let Name {
            kind,
            arity,
            is_fact,
            is_move,
            is_role,
            ..
        } = self.outline.names[name];
        let arguments = match arity {
            1 => "1 argument".to_string(),
            _ => format!("{arity} arguments"),
        };
        let (word, of_move) = match self.dialect_of_words() {
            Dialect::Kif => ("a word of GDL", "move"),
            Dialect::Hrf => ("a word of HRF", "action"),
        };
        let roles: Vec<&str> = [(is_role, "role"), (is_fact, "fact"), (is_move, of_move)]
            .into_iter()
            .filter_map(|(is, word)| is.then_some(word))
            .collect();
        let what = match kind {
            Kind::Keyword => return word.to_string(),
            Kind::Variable => "a variable of this statement".to_string(),
            Kind::Relation => format!("a relation with {arguments}"),
            Kind::Function if roles.is_empty() => format!("a function with {arguments}"),
            Kind::Constant if roles.is_empty() => "a constant".to_string(),
            Kind::Function => format!("{} with {arguments}", one_of(&roles)),
            Kind::Constant => one_of(&roles),
        };
        let mut places = self
            .outline
            .places(name)
            .filter(|place| place.is_definition);
        let defined = places.next().map(|first| {
            let line = self.lines.line_of(first.span.start) + 1;
            let more = places.count();
            match more {
                0 => format!(", defined in line {line}"),
                _ => format!(", defined in line {line} and {more} more"),
            }
        });
        let n_uses = self.outline.places(name).filter(|it| !it.is_definition);
        let used = match n_uses.count() {
            1 => "used once".to_string(),
            n => format!("used {n} times"),
        };
        format!("{what}{}, {used}", defined.unwrap_or_default())
    }

    /// What may be written at a byte offset, and the place of what it replaces.
    pub fn completions(&self, offset: u32) -> (Span, Vec<Completion>) {
        completion::completions(self.dialect, &self.text, &self.outline, offset)
    }

    /// The place of the name at a byte offset that can be renamed.
    ///
    /// # Errors
    /// There is no name, or it is one of GDL's own.
    pub fn renamable(&self, offset: u32) -> Result<&Occurrence, String> {
        let place = self.outline.at(offset).ok_or("there is no name here")?;
        let name = &self.outline.names[place.name];
        match name.kind {
            Kind::Keyword => Err(self.own_word(&name.text)),
            Kind::Variable => Ok(place),
            _ if self.dialect == Dialect::Hrf => self.renamable_in_hrf(place),
            _ => Ok(place),
        }
    }

    /// The place of a name of HRF, unless to rename it could change the game.
    fn renamable_in_hrf<'a>(&self, place: &'a Occurrence) -> Result<&'a Occurrence, String> {
        let name = &self.outline.names[place.name];
        if !self.is_whole {
            return Err("a sentence of this rulesheet cannot be read".to_string());
        }
        if has_meaning(&name.text) {
            return Err(self.own_word(&name.text));
        }
        // Whether a relation is looked up in the sheet or in the state follows from its name alone.
        let is_atom = |name: &Name| name.kind == Kind::Relation || name.is_fact || name.is_move;
        let mut others = self.outline.names.iter().enumerate();
        let is_other = |(number, other): (usize, &Name)| {
            number != place.name && other.text == name.text && is_atom(other)
        };
        match is_atom(name) && others.any(is_other) {
            true => Err(format!(
                "`{}` is there with other numbers of arguments",
                brief(&name.text)
            )),
            false => Ok(place),
        }
    }

    fn own_word(&self, name: &str) -> String {
        match self.dialect {
            Dialect::Kif => format!("`{name}` is a word of GDL"),
            Dialect::Hrf => format!("`{}` has a meaning of its own", brief(name)),
        }
    }

    /// Gives the name at a byte offset another text: a relation, function or constant in the whole
    /// sheet, a variable in its statement.
    ///
    /// # Errors
    /// Why it cannot be, in one sentence.
    pub fn rename(&self, offset: u32, to: &str) -> Result<Vec<Edit>, String> {
        let place = self.renamable(offset)?;
        let name = &self.outline.names[place.name];
        let is_variable = name.kind == Kind::Variable;
        let whole = Span::new(0, to.len());
        if name_tokens(self.dialect, to).next() != Some(whole) {
            return Err(format!("`{}` is not one name", brief(to)));
        }
        let (begins_as_variable, begin) = match self.dialect {
            Dialect::Kif => (to.starts_with('?'), "`?`"),
            Dialect::Hrf => (panza_hrf::token::is_variable(to), "a capital letter"),
        };
        if begins_as_variable != is_variable {
            return Err(match is_variable {
                true => format!("the name of a variable begins with {begin}"),
                false => format!("only the name of a variable begins with {begin}"),
            });
        }
        let is_word = match self.dialect {
            Dialect::Kif => word(Dialect::Kif, to).is_some(),
            // `_` is another variable at each place.
            Dialect::Hrf => {
                let is_word = word(self.dialect_of_words(), to).is_some();
                is_word || has_meaning(to) || to == "_"
            }
        };
        if is_word {
            return Err(self.own_word(to));
        }
        let is_taken = |(number, other): (usize, &Name)| {
            let is_same = match self.dialect {
                Dialect::Kif => other.kind == name.kind && other.arity == name.arity,
                // Names are looked up by their text, whatever the number of arguments.
                Dialect::Hrf => (other.kind == Kind::Variable) == is_variable,
            };
            let statement =
                |number: usize| self.outline.places(number).next().map(|it| it.statement);
            let is_near = !is_variable || statement(number) == Some(place.statement);
            is_same && is_near && *other.text == *to && number != place.name
        };
        if self.outline.names.iter().enumerate().any(is_taken) {
            return Err(format!("`{}` is there already", brief(to)));
        }
        let places = self.outline.places(place.name);
        Ok(places
            .map(|place| Edit::replacement(place.span, to))
            .collect())
    }
}

/// The places of the names of a text, variables included.
fn name_tokens(dialect: Dialect, text: &str) -> impl Iterator<Item = Span> {
    use panza_hrf::token as infix;
    let kif = (dialect == Dialect::Kif).then(|| tokens(text));
    let kif = kif.into_iter().flatten();
    let hrf = (dialect == Dialect::Hrf).then(|| infix::tokens(text));
    let hrf = hrf.into_iter().flatten();
    let is_name = |token: &infix::Token| {
        matches!(
            token.kind,
            infix::TokenKind::Name | infix::TokenKind::Variable
        )
    };
    kif.filter(|token| token.kind == TokenKind::Symbol)
        .map(|token| token.span)
        .chain(hrf.filter(is_name).map(|token| token.span))
}

/// Whether a name of HRF means something by itself: a word, a relation that is evaluated, a
/// number, a text or the empty list.
fn has_meaning(name: &str) -> bool {
    word(Dialect::Hrf, name).is_some()
        || panza_hrf::is_built_in(name)
        || panza_hrf::number(name).is_some()
        || name.starts_with('"')
        || name == "nil"
}

/// Words of what a name is, with their article.
fn one_of(words: &[&str]) -> String {
    let article = match words.first() {
        Some(word) if word.starts_with('a') => "an",
        _ => "a",
    };
    format!("{article} {}", words.join(" and "))
}

/// A name as titles show it.
fn brief(name: &str) -> String {
    panza_gdl::diagnostic::brief(name).into_owned()
}

#[cfg(test)]
mod tests;
