//! What is known about a sheet, in the words of the protocol.
//!
//! Never uses: messages, other documents.

use crate::language::{Completion, Kind, Occurrence, Sheet};
use lsp_types::{
    CodeAction, CodeActionKind, CompletionItem, CompletionItemKind, CompletionTextEdit, Diagnostic,
    DiagnosticSeverity, DocumentHighlight, DocumentHighlightKind, DocumentSymbol, Documentation,
    Hover, HoverContents, InsertTextFormat, Location, MarkupContent, MarkupKind, NumberOrString,
    Position, Range, SymbolKind, TextEdit, Uri, WorkspaceEdit,
};
use panza_gdl::lines::Place;
use panza_gdl::{Diagnostic as Fault, Edit, Severity, Span};
use panza_hrf::Dialect;

/// Limits on the diagnostics and symbols that are sent.
const MAX_DIAGNOSTICS: usize = 1000;
const MAX_SYMBOLS: usize = 20_000;
/// Characters of the title of a statement.
const LONGEST_TITLE: usize = 80;

/// The byte offset of a position.
pub fn offset(sheet: &Sheet, position: Position) -> u32 {
    let place = Place {
        line: position.line,
        column: position.character,
    };
    sheet.lines.offset(&sheet.text, place)
}

fn position(sheet: &Sheet, offset: u32) -> Position {
    let place = sheet.lines.place(&sheet.text, offset);
    Position::new(place.line, place.column)
}

/// The range of a span.
pub fn range(sheet: &Sheet, span: Span) -> Range {
    Range::new(position(sheet, span.start), position(sheet, span.end))
}

/// The changes of a text.
pub fn text_edits(sheet: &Sheet, edits: &[Edit]) -> Vec<TextEdit> {
    let edits = edits.iter();
    edits
        .map(|edit| TextEdit::new(range(sheet, edit.span), edit.text.clone()))
        .collect()
}

/// The same as changes of the document of this address.
pub fn workspace_edit(sheet: &Sheet, uri: &Uri, edits: &[Edit]) -> WorkspaceEdit {
    let changes = std::iter::once((uri.clone(), text_edits(sheet, edits)));
    WorkspaceEdit::new(changes.collect())
}

/// A diagnostic.
fn diagnostic(sheet: &Sheet, fault: &Fault) -> Diagnostic {
    let message = match fault.help.as_str() {
        "" => fault.message.clone(),
        help => format!("{}\n{help}", fault.message),
    };
    Diagnostic {
        range: range(sheet, sheet.place(fault)),
        severity: Some(match fault.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Note => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(fault.code.to_string())),
        source: Some("panza".to_string()),
        message,
        ..Diagnostic::default()
    }
}

/// The diagnostics of a sheet.
pub fn diagnostics(sheet: &Sheet) -> Vec<Diagnostic> {
    let faults = sheet.diagnostics.iter().take(MAX_DIAGNOSTICS);
    faults.map(|fault| diagnostic(sheet, fault)).collect()
}

/// The fixes of the faults that touch a range.
pub fn code_actions(sheet: &Sheet, uri: &Uri, wanted: Range) -> Vec<CodeAction> {
    let (start, end) = (offset(sheet, wanted.start), offset(sheet, wanted.end));
    let faults = sheet.diagnostics.iter().take(MAX_DIAGNOSTICS);
    let touching = faults.filter(|fault| fault.span.start <= end && fault.span.end >= start);
    touching
        .filter_map(|fault| {
            let fix = sheet.fix(fault)?;
            Some(CodeAction {
                title: fix.title,
                kind: Some(CodeActionKind::QUICKFIX),
                diagnostics: Some(vec![diagnostic(sheet, fault)]),
                edit: Some(workspace_edit(sheet, uri, &fix.edits)),
                is_preferred: Some(true),
                ..CodeAction::default()
            })
        })
        .collect()
}

/// What is shown over a name.
pub fn hover(sheet: &Sheet, position: Position) -> Option<Hover> {
    let found = sheet.explain(offset(sheet, position))?;
    let language = match sheet.dialect {
        Dialect::Kif => "gdl",
        Dialect::Hrf => "hrf",
    };
    let mut text = format!("```{language}\n{}\n```\n{}", found.form, found.kind);
    if !found.meaning.is_empty() {
        text += &format!("\n\n{}", found.meaning);
    }
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent {
            kind: MarkupKind::Markdown,
            value: text,
        }),
        range: Some(range(sheet, found.span)),
    })
}

fn locations<'a>(
    sheet: &Sheet,
    uri: &Uri,
    places: impl IntoIterator<Item = &'a Occurrence>,
) -> Vec<Location> {
    let places = places.into_iter();
    places
        .map(|place| Location::new(uri.clone(), range(sheet, place.span)))
        .collect()
}

/// Where the name at a position is defined.
pub fn definition(sheet: &Sheet, uri: &Uri, position: Position) -> Vec<Location> {
    let place = sheet.outline.at(offset(sheet, position));
    let defined = place.map(|place| sheet.outline.definitions(place.name));
    locations(sheet, uri, defined.unwrap_or_default())
}

/// The places of the name at a position; without those that define it where they are not wanted.
pub fn references(
    sheet: &Sheet,
    uri: &Uri,
    position: Position,
    with_definitions: bool,
) -> Vec<Location> {
    let Some(place) = sheet.outline.at(offset(sheet, position)) else {
        return Vec::new();
    };
    let places = sheet.outline.places(place.name);
    locations(
        sheet,
        uri,
        places.filter(|place| with_definitions || !place.is_definition),
    )
}

/// The same for marks in the text.
pub fn highlights(sheet: &Sheet, position: Position) -> Vec<DocumentHighlight> {
    let Some(place) = sheet.outline.at(offset(sheet, position)) else {
        return Vec::new();
    };
    let places = sheet.outline.places(place.name);
    places
        .map(|place| DocumentHighlight {
            range: range(sheet, place.span),
            kind: Some(match place.is_definition {
                true => DocumentHighlightKind::WRITE,
                false => DocumentHighlightKind::READ,
            }),
        })
        .collect()
}

/// What may be written at a position.
pub fn completions(sheet: &Sheet, position: Position, has_snippets: bool) -> Vec<CompletionItem> {
    let (span, found) = sheet.completions(offset(sheet, position));
    let replaced = range(sheet, span);
    let found = found.into_iter().enumerate();
    found
        .map(|(place, proposal)| item(proposal, place, replaced, has_snippets))
        .collect()
}

fn item(proposal: Completion, place: usize, replaced: Range, has_snippets: bool) -> CompletionItem {
    let (text, format) = match has_snippets {
        true => (proposal.snippet, InsertTextFormat::SNIPPET),
        false => (proposal.label.clone(), InsertTextFormat::PLAIN_TEXT),
    };
    let meaning = Some(proposal.documentation).filter(|text| !text.is_empty());
    CompletionItem {
        kind: Some(match proposal.kind {
            Kind::Keyword => CompletionItemKind::KEYWORD,
            Kind::Relation => CompletionItemKind::FUNCTION,
            Kind::Function => CompletionItemKind::STRUCT,
            Kind::Constant => CompletionItemKind::CONSTANT,
            Kind::Variable => CompletionItemKind::VARIABLE,
        }),
        label: proposal.label,
        detail: Some(proposal.form),
        documentation: meaning.map(Documentation::String),
        sort_text: Some(format!("{place:05}")),
        insert_text_format: Some(format),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(replaced, text))),
        ..CompletionItem::default()
    }
}

/// The statements of a sheet.
pub fn symbols(sheet: &Sheet) -> Vec<DocumentSymbol> {
    let statements = sheet.outline.statements.iter().take(MAX_SYMBOLS);
    statements
        .map(|statement| {
            let head = sheet.text.get(statement.head.range()).unwrap_or("");
            let kind = match statement.is_rule {
                true => SymbolKind::FUNCTION,
                false => SymbolKind::CONSTANT,
            };
            symbol(
                title(head),
                kind,
                range(sheet, statement.span),
                range(sheet, statement.head),
            )
        })
        .collect()
}

#[expect(deprecated, reason = "the type has a field that is not used any more")]
fn symbol(name: String, kind: SymbolKind, range: Range, selection_range: Range) -> DocumentSymbol {
    DocumentSymbol {
        name,
        detail: None,
        kind,
        tags: None,
        deprecated: None,
        range,
        selection_range,
        children: None,
    }
}

/// The text of a head on one line.
fn title(head: &str) -> String {
    let mut shown = String::new();
    for (count, character) in head.chars().enumerate() {
        if count >= LONGEST_TITLE {
            return shown + "...";
        }
        match character.is_whitespace() {
            true if shown.ends_with(' ') => {}
            true => shown.push(' '),
            false => shown.push(character),
        }
    }
    match shown.is_empty() {
        true => "()".to_string(),
        false => shown,
    }
}

/// The changes that lay a text out; nothing for a text that cannot be read. What is the same at
/// both ends is left alone, so that the cursor keeps its place.
pub fn formatting(sheet: &Sheet) -> Option<Vec<TextEdit>> {
    let old = &*sheet.text;
    let new = sheet.laid_out()?;
    if *old == *new {
        return Some(Vec::new());
    }
    let same = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b);
    let mut start = same.count();
    while !old.is_char_boundary(start) || !new.is_char_boundary(start) {
        start -= 1;
    }
    let ends = old[start..].bytes().rev().zip(new[start..].bytes().rev());
    let mut n_end = ends.take_while(|(a, b)| a == b).count();
    while !old.is_char_boundary(old.len() - n_end) || !new.is_char_boundary(new.len() - n_end) {
        n_end -= 1;
    }
    // A place between CR and LF is none for editors.
    if old[start..].starts_with('\n') && old[..start].ends_with('\r') {
        start -= 1;
    }
    if old[..old.len() - n_end].ends_with('\r') && old[old.len() - n_end..].starts_with('\n') {
        n_end -= 1;
    }
    let replaced = Span::new(start, old.len() - n_end);
    let text = new.get(start..new.len() - n_end).unwrap_or("");
    Some(vec![TextEdit::new(
        range(sheet, replaced),
        text.to_string(),
    )])
}
