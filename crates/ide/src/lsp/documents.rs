//! The documents that the client has open, each with its analysis.
//!
//! Invariant: the bytes of all documents together and their number are bounded; what is beyond is
//! kept by name only and has one diagnostic.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::language::Sheet;
use panza_gdl::{Diagnostic, Rules, Severity};
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
/// A document without errors is played when it was not changed for this time.
const TRIAL_PAUSE: Duration = Duration::from_secs(1);
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
    /// Our own number of this text, which no other text has.
    pub revision: u64,
    /// The dialect, if the client says it.
    dialect: Option<Dialect>,
    content: Content,
    /// When its diagnostics are to be sent.
    pub due: Option<Instant>,
    /// When it is to be played, if it has no errors.
    pub trial_due: Option<Instant>,
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
                panza_ground::examine(&sheet.rules, &mut sheet.diagnostics, &budget);
            }
            self.content = Content::Known(sheet);
        }
        match &self.content {
            Content::Known(sheet) => Ok(sheet),
            Content::Refused(why) => Err(why),
            Content::Changed(_) => Err("it is not analysed"),
        }
    }

    /// Its rules, where it was analysed and has no errors.
    pub fn sound_rules(&self) -> Option<Arc<Rules>> {
        let Content::Known(sheet) = &self.content else {
            return None;
        };
        let is_error = |fault: &Diagnostic| fault.severity == Severity::Error;
        let has_errors = sheet.diagnostics.iter().any(is_error);
        (!has_errors).then(|| Arc::clone(&sheet.rules))
    }

    /// Adds findings of play to the diagnostics.
    pub fn add_findings(&mut self, found: Vec<Diagnostic>) {
        if let Content::Known(sheet) = &mut self.content {
            sheet.diagnostics.extend(found);
        }
    }
}

/// All open documents, by their addresses.
#[derive(Debug, Default)]
pub struct Documents {
    by_address: HashMap<String, Document>,
    /// Texts that there were so far.
    n_revisions: u64,
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
        self.n_revisions += 1;
        let document = Document {
            address: address.to_string(),
            version,
            revision: self.n_revisions,
            dialect,
            content,
            due,
            trial_due: Some(now + TRIAL_PAUSE),
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

    /// When the next document is to be played, and its address.
    pub fn next_trial(&self) -> Option<(Instant, &str)> {
        let all = self.by_address.iter();
        let due = all.filter_map(|(address, it)| Some((it.trial_due?, address.as_str())));
        due.min()
    }

    /// The addresses of documents whose diagnostics are due.
    pub fn all_due(&self, now: Instant) -> Vec<String> {
        let is_due = |document: &Document| document.due.is_some_and(|due| due <= now);
        let due = self.by_address.iter().filter(|(_, it)| is_due(it));
        due.map(|(address, _)| address.clone()).collect()
    }
}
