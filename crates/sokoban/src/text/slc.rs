//! The XML format of levels, SLC: `SokobanLevels`, `LevelCollection`, `Level` and its rows `L`.
//!
//! Format: sourcecode.se, "SokobanLevels". Titles, authors and other text of the collection become
//! notes.

use super::lines;
use super::read::{self, Block};
use super::{Collection, Entry, Fault};
use crate::level::MAX_SIDE;
use roxmltree::{Document, Node, ParsingOptions};

/// The most elements and texts of a document.
const MAX_NODES: u32 = 1 << 20;
/// The most attributes of an element. The parser compares each attribute with all before it.
const MAX_ATTRIBUTES: usize = 200;

/// The elements around the levels whose text becomes a note.
const NOTES: [&str; 4] = ["Title", "Description", "Email", "Url"];

/// Whether a text is XML rather than lines of levels.
pub(super) fn is_xml(text: &str) -> bool {
    let text = text.trim_start();
    ["<?xml", "<SokobanLevels", "<LevelCollection"]
        .iter()
        .any(|start| text.starts_with(start))
}

/// Reads a document.
///
/// # Errors
///
/// The text is no XML, XML of something else, or has text in place of rows.
pub(super) fn collection(text: &str) -> Result<Collection, Fault> {
    if let Some(line) = crowded_line(text) {
        return Err(Fault {
            line,
            column: 1,
            message: format!("expected at most {MAX_ATTRIBUTES} attributes of an element"),
        });
    }
    let options = ParsingOptions {
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let place = error.pos();
        Fault {
            line: place.row as usize,
            column: place.col as usize,
            message: format!("expected XML: {error}"),
        }
    })?;
    let places = Places::new(text);
    let root = document.root_element();
    let name = root.tag_name().name();
    if !matches!(name, "SokobanLevels" | "LevelCollection") {
        let message = format!("expected the element `SokobanLevels`, found `{name}`");
        return Err(places.fault(root, message));
    }
    let mut collection = Collection::default();
    for node in root.descendants().filter(Node::is_element) {
        match node.tag_name().name() {
            "Level" => {
                let number = collection.entries.len() + 1;
                collection.entries.push(entry(node, number, &places)?);
            }
            name if NOTES.contains(&name) => {
                let words = one_line(node.text().unwrap_or(""));
                if !words.is_empty() {
                    collection.notes.push(format!("{name}: {words}"));
                }
            }
            _ => {}
        }
    }
    Ok(collection)
}

/// The line of the first element with more than [`MAX_ATTRIBUTES`] attributes.
fn crowded_line(text: &str) -> Option<usize> {
    let mut line = 1;
    // Neither names nor values of attributes have a `<`.
    for tag in text.split('<') {
        let values = tag.split('=').skip(1);
        let is_value = |value: &&str| value.trim_start().starts_with(['"', '\'']);
        if values.filter(is_value).count() > MAX_ATTRIBUTES {
            return Some(line);
        }
        line += tag.matches('\n').count();
    }
    None
}

/// One level.
fn entry(level: Node, number: usize, places: &Places) -> Result<Entry, Fault> {
    let mut block = Block {
        rows: Vec::new(),
        row_lines: Vec::new(),
        lines: places.line(level)..places.line(level) + 1,
    };
    let elements = level.children().filter(|node| node.has_tag_name("L"));
    for row in elements.take(MAX_SIDE + 1) {
        let text = lines::canonical(row.text().unwrap_or(""));
        let is_first = block.rows.is_empty();
        if is_first && text.is_empty() {
            continue;
        }
        if !text.is_empty() && !lines::is_row(&text, !is_first) {
            let message = format!("expected a row of # @ + $ * . - _ or spaces, found `{text}`");
            return Err(places.fault(row, message));
        }
        block.rows.push(text);
        block.row_lines.push(places.line(row));
    }
    block.trim();
    let title = level.attribute("Id").map(one_line);
    let author = level.attribute("Copyright").map(one_line);
    let author = author.filter(|author| !author.is_empty());
    let notes = author.map(|author| format!("Author: {author}"));
    let own_number = number.to_string();
    let (level, faults) = match read::level(&block, &|_| 0) {
        Ok(level) => (Some(level), Vec::new()),
        Err(fault) => (None, vec![fault]),
    };
    Ok(Entry {
        title: title.filter(|title| !title.is_empty() && *title != own_number),
        rows: block.rows,
        level,
        notes: notes.into_iter().collect(),
        solutions: Vec::new(),
        faults,
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where the lines of a document begin.
struct Places<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Places<'a> {
    fn new(text: &'a str) -> Self {
        let ends = text.match_indices('\n').map(|(end, _)| end + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(ends).collect(),
        }
    }

    /// The line on which an element begins, from 0.
    fn line(&self, node: Node) -> usize {
        let at = node.range().start;
        self.starts.partition_point(|&start| start <= at) - 1
    }

    fn fault(&self, node: Node, message: String) -> Fault {
        let line = self.line(node);
        let before = self.text.get(self.starts[line]..node.range().start);
        Fault {
            line: line + 1,
            column: before.map_or(1, |before| before.chars().count() + 1),
            message,
        }
    }
}
