//! The documents that the client has open, each with its analysis.
//!
//! Invariant: the bytes of all documents together and their number are bounded; what is beyond is
//! kept by name only and has one diagnostic.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::language::Sheet;
use panza_hrf::Dialect;
use panza_sync::Budget;

/// Limits on the bytes of a document, on those of all, and on their number. A message of the game
/// protocol has at most as many bytes as a document, unless the settings say otherwise.
const MAX_BYTES: usize = 16 << 20;
const MAX_ALL_BYTES: usize = 64 << 20;
const MAX_DOCUMENTS: usize = 1000;
/// Limit on the bytes of an address.
const MAX_ADDRESS: usize = 8192;
/// A document is analysed when it was not changed for this time.
const PAUSE: Duration = Duration::from_millis(120);
/// Limits on grounding a document for diagnostics. What it would show is left out beyond them.
const GROUNDING_TIME: Duration = Duration::from_millis(100);
const GROUNDING_BYTES: usize = 64 << 20;

/// What is known about a document.
#[derive(Debug)]
pub enum Content {
    /// It was changed since it was analysed.
    Changed(String),
    /// It was analysed.
    Known(Box<Sheet>),
    /// It is not kept, and why.
    Refused(String),
}

impl Content {
    fn length(&self) -> usize {
        match self {
            Content::Changed(text) => text.len(),
            Content::Known(sheet) => sheet.text.len(),
            Content::Refused(_) => 0,
        }
    }
}

/// A document.
#[derive(Debug)]
pub struct Document {
    address: String,
    /// The client's number of this text.
    pub version: i32,
    /// The dialect, if the client says it.
    dialect: Option<Dialect>,
    content: Content,
    /// When its diagnostics are to be sent.
    pub due: Option<Instant>,
}

impl Document {
    /// The analysis; made now if it is not there.
    ///
    /// # Errors
    /// Why the document is not kept.
    pub fn sheet(&mut self) -> Result<&Sheet, &str> {
        if let Content::Changed(text) = &mut self.content {
            let text = std::mem::take(text);
            let found = || Dialect::of(&self.address, &text);
            let dialect = self.dialect.unwrap_or_else(found);
            let mut sheet = Box::new(Sheet::read(dialect, text));
            if sheet.diagnostics.iter().any(|it| it.code == "unstratified") {
                let budget = Budget::within(GROUNDING_TIME, GROUNDING_BYTES);
                panza_ground::examine(&sheet.rules, &mut sheet.diagnostics, budget);
            }
            self.content = Content::Known(sheet);
        }
        match &self.content {
            Content::Known(sheet) => Ok(sheet),
            Content::Refused(why) => Err(why),
            Content::Changed(_) => Err("it is not analysed"),
        }
    }
}

/// All open documents, by their addresses.
#[derive(Debug, Default)]
pub struct Documents {
    by_address: HashMap<String, Document>,
}

impl Documents {
    /// A document has this text now, and this dialect if the client says one. The diagnostics are
    /// due at once for one that was opened.
    ///
    /// # Errors
    /// There are too many documents, or the address is too long.
    pub fn set(
        &mut self,
        address: &str,
        version: i32,
        dialect: Option<Dialect>,
        text: String,
    ) -> Result<(), String> {
        let is_new = !self.by_address.contains_key(address);
        if is_new && self.by_address.len() >= MAX_DOCUMENTS {
            return Err(format!("more than {MAX_DOCUMENTS} documents are open"));
        }
        if address.len() > MAX_ADDRESS {
            return Err(format!("an address has more than {MAX_ADDRESS} bytes"));
        }
        let others = self.by_address.iter();
        let others = others.filter(|(own, _)| own.as_str() != address);
        let n_others: usize = others.map(|(_, document)| document.content.length()).sum();
        let content = if text.len() > MAX_BYTES {
            Content::Refused(format!("the rulesheet has more than {MAX_BYTES} bytes"))
        } else if n_others + text.len() > MAX_ALL_BYTES {
            Content::Refused(format!(
                "the open documents have more than {MAX_ALL_BYTES} bytes"
            ))
        } else {
            Content::Changed(text)
        };
        let now = Instant::now();
        let due = Some(if is_new { now } else { now + PAUSE });
        let known = self.by_address.get(address);
        let dialect = dialect.or(known.and_then(|known| known.dialect));
        let document = Document {
            address: address.to_string(),
            version,
            dialect,
            content,
            due,
        };
        self.by_address.insert(address.to_string(), document);
        Ok(())
    }

    /// A document is closed.
    pub fn close(&mut self, address: &str) {
        self.by_address.remove(address);
    }

    /// The document of this address.
    pub fn get(&mut self, address: &str) -> Option<&mut Document> {
        self.by_address.get_mut(address)
    }

    /// When the next diagnostics are to be sent.
    pub fn next_due(&self) -> Option<Instant> {
        self.by_address.values().filter_map(|it| it.due).min()
    }

    /// The addresses of documents whose diagnostics are due.
    pub fn all_due(&self, now: Instant) -> Vec<String> {
        let is_due = |document: &Document| document.due.is_some_and(|due| due <= now);
        let due = self.by_address.iter().filter(|(_, it)| is_due(it));
        due.map(|(address, _)| address.clone()).collect()
    }
}
