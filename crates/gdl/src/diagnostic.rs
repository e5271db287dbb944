//! Diagnostics of a rulesheet: code, place, message and help, rendered as rustc does.

use std::borrow::Cow;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::span::{Span, line_and_column};
use super::text::plain;

/// How serious a diagnostic is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// The rules cannot be played as they stand.
    Error,
    /// The rules break the standard and are played nevertheless.
    Warning,
    /// The rules are played as they stand; something about them is worth knowing.
    Note,
}

impl Severity {
    /// `error`, `warning` or `note`.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// A change of a text: what stands at `span` becomes `text`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// The place; empty where something is put in.
    pub span: Span,
    /// What stands there afterwards.
    pub text: String,
}

impl Edit {
    /// Takes out what stands at a place.
    pub fn removal(span: Span) -> Self {
        Self::replacement(span, "")
    }

    /// Puts another text in a place.
    pub fn replacement(span: Span, text: impl Into<String>) -> Self {
        Self {
            span,
            text: text.into(),
        }
    }

    /// Puts a text behind a place.
    pub fn insertion(after: Span, text: impl Into<String>) -> Self {
        let span = Span {
            start: after.end,
            end: after.end,
        };
        Self::replacement(span, text)
    }
}

/// How a diagnostic can be mended by a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Remedy {
    /// Not known.
    #[default]
    Unknown,
    /// By these changes, in the order of the text.
    Edits(Vec<Edit>),
    /// By another name in the place of the diagnostic.
    Name {
        /// The name that stands there.
        from: Box<str>,
        /// The name to write.
        to: Box<str>,
    },
}

/// One finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Error, warning or note.
    pub severity: Severity,
    /// A stable name in kebab case, such as `unsafe-variable`.
    pub code: &'static str,
    /// Where.
    pub span: Span,
    /// One sentence without a full stop: what was found, and what was expected.
    pub message: String,
    /// How to mend it; may be empty.
    pub help: String,
    /// The same for programs.
    pub remedy: Remedy,
}

impl Diagnostic {
    /// An error without help text.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            span,
            message: message.into(),
            help: String::new(),
            remedy: Remedy::Unknown,
        }
    }

    /// A warning without help text.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, span, message)
        }
    }

    /// A note without help text.
    pub fn note(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Note,
            ..Self::error(code, span, message)
        }
    }

    /// The same with help text.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// The same with changes that mend it.
    pub fn with_edits(mut self, edits: Vec<Edit>) -> Self {
        self.remedy = Remedy::Edits(edits);
        self
    }

    /// The same with a name that is meant in the place of another, if there is one.
    pub fn with_name(mut self, from: &str, to: Option<&str>) -> Self {
        if let Some(to) = to {
            let (from, to) = (from.into(), to.into());
            self.remedy = Remedy::Name { from, to };
        }
        self
    }

    /// `origin:line:column: severity[code]: message`, on one line.
    pub fn one_line(&self, origin: &str, text: &str) -> String {
        let (line, column) = line_and_column(text, self.span.start);
        format!(
            "{origin}:{line}:{column}: {}[{}]: {}",
            self.severity.as_str(),
            self.code,
            self.message
        )
    }

    /// Several lines with the source text and a marker under the place, as rustc prints them.
    pub fn render(&self, origin: &str, text: &str, colour: bool) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let start = (self.span.start as usize).min(text.len());
        let end = (self.span.end as usize).clamp(start, text.len());
        let title = level
            .primary_title(plain(&self.message, false))
            .id(self.code);
        // What is missing in the text as a whole has no place.
        let group = match self.span.is_empty() {
            true => title.element(Origin::path(origin)),
            false => {
                let snippet = Snippet::source(text).path(origin);
                title.element(snippet.annotation(AnnotationKind::Primary.span(start..end)))
            }
        };
        let mut report: Vec<Group<'_>> = vec![group];
        if !self.help.is_empty() {
            let group = report
                .remove(0)
                .element(Level::HELP.message(plain(&self.help, false)));
            report.push(group);
        }
        let renderer = if colour {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        renderer.render(&report)
    }
}

const LONGEST_NAME: usize = 80;

/// A name as messages show it, cut to `LONGEST_NAME` characters.
pub fn brief(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(LONGEST_NAME) {
        Some((at, _)) => Cow::Owned(format!("{}...", &name[..at])),
        None => Cow::Borrowed(name),
    }
}
