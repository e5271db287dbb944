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
mod outline;
mod words;

pub use completion::Completion;
pub use outline::{Kind, Name, Occurrence, Outline, Statement};

use super::diagnostic::{Diagnostic, Edit, Remedy};
use super::format::format;
use super::lines::Lines;
use super::read::unwrapped;
use super::rules::Rules;
use super::span::Span;
use super::token::{Token, TokenKind, tokens};
use words::word;

/// A rulesheet that was analysed.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// The text.
    pub text: Box<str>,
    /// Its lines.
    pub lines: Lines,
    /// The rules that could be read.
    pub rules: Rules,
    /// What is wrong, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// Its names and statements.
    pub outline: Outline,
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
    pub fn read(text: impl Into<Box<str>>) -> Self {
        let text = text.into();
        let lines = Lines::of(&text);
        let (statements, rules, diagnostics) = super::load_with_statements(&text);
        let outline = Outline::of(&text, &lines, unwrapped(&statements));
        Self {
            text,
            lines,
            rules,
            diagnostics,
            outline,
        }
    }

    /// The text in the canonical layout; nothing where its parentheses do not match.
    pub fn laid_out(&self) -> Option<String> {
        format(&self.text).ok()
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
        let is_it =
            |token: &Token| token.kind == TokenKind::Symbol && text[token.span.range()] == *name;
        let found = tokens(text).find(is_it)?.span.range();
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
        let known = word(&name.text).filter(|_| name.kind == Kind::Keyword);
        let (form, meaning) = match known {
            Some(word) => (word.form.to_string(), word.meaning.to_string()),
            None => (name.form(), name.comment.clone()),
        };
        Some(Explanation {
            span: place.span,
            form,
            kind: self.kind_of(place.name),
            meaning,
        })
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
        let roles: Vec<&str> = [(is_role, "role"), (is_fact, "fact"), (is_move, "move")]
            .into_iter()
            .filter_map(|(is, word)| is.then_some(word))
            .collect();
        let what = match kind {
            Kind::Keyword => return "a word of GDL".to_string(),
            Kind::Variable => "a variable of this statement".to_string(),
            Kind::Relation => format!("a relation with {arguments}"),
            Kind::Function if roles.is_empty() => format!("a function with {arguments}"),
            Kind::Constant if roles.is_empty() => "a constant".to_string(),
            Kind::Function => format!("a {} with {arguments}", roles.join(" and ")),
            Kind::Constant => format!("a {}", roles.join(" and ")),
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
        completion::completions(&self.text, &self.outline, offset)
    }

    /// The place of the name at a byte offset that can be renamed.
    ///
    /// # Errors
    /// There is no name, or it is one of GDL's own.
    pub fn renamable(&self, offset: u32) -> Result<&Occurrence, String> {
        let place = self.outline.at(offset).ok_or("there is no name here")?;
        let name = &self.outline.names[place.name];
        match name.kind {
            Kind::Keyword => Err(format!("`{}` is a word of GDL", name.text)),
            _ => Ok(place),
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
        let mut read = tokens(to);
        let is_symbol = read.next().is_some_and(|token| {
            token.kind == TokenKind::Symbol && token.span == Span::new(0, to.len())
        });
        if !is_symbol {
            return Err(format!("`{}` is not one name", brief(to)));
        }
        if to.starts_with('?') != is_variable {
            let what = match is_variable {
                true => "the name of a variable begins with `?`",
                false => "only the name of a variable begins with `?`",
            };
            return Err(what.to_string());
        }
        if word(to).is_some() {
            return Err(format!("`{to}` is a word of GDL"));
        }
        let is_taken = |(number, other): (usize, &Name)| {
            let is_same = other.kind == name.kind && other.arity == name.arity;
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

/// A name as titles show it.
fn brief(name: &str) -> String {
    super::diagnostic::brief(name).into_owned()
}

#[cfg(test)]
mod tests;
