//! Rulesheets that are being written in a browser: `/edit` asks these.
//!
//! | request | answer |
//! |---|---|
//! | `GET /api/games/NAME` | the rulesheet of a game inside the program |
//! | `GET /api/games/NAME/picture` | its initial position as a [`Picture`](crate::preview::Picture), or `{"busy"}` |
//! | `POST /api/check` with `{"text"}` | `{"dialect", "roles", "diagnostics", "more"}`, each diagnostic with its places and its fix |
//! | `POST /api/format` with `{"text"}` | `{"text"}`, null for a text that cannot be read |
//! | `POST /api/complete` with `{"text", "at"}` | `{"from", "to", "proposals"}`: what may be written there |
//! | `POST /api/explain` with `{"text", "at"}` | what the name there means, or null |
//! | `POST /api/preview` with `{"text"}` | a [`Preview`](crate::preview::Preview), or `{"busy"}` |
//! | `POST /api/trial` with `{"text"}` | `{"diagnostics"}`: what random games show; or `{"busy"}`, and it is to be asked again later |
//!
//! Each POST takes `"dialect"` too, which is `"kif"` or `"hrf"`. Without it the name of the file,
//! in `"file"`, and the text say what it is. Offsets count UTF-16 code units from the start of the
//! text, as browsers do; lines and columns count from 1. Who may play may ask.
//!
//! Never uses: files; how a game is played.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::tables::board_of;
use super::{DialectName, PageReply, PageStatus, RoutedRequest, dialect};
use crate::preview::{self, PreviewError};
use crate::table::read_board;
use crate::trial;
use panza_gdl::lines::utf16_offsets;
use panza_gdl::{Diagnostic, Edit};
use panza_gdl_games::EMBEDDED;
use panza_hrf::Dialect;
use panza_ide::Sheet;
use panza_ide::language::Kind;
use panza_sync::lock;

/// Limits on what is listed.
const MAX_DIAGNOSTICS: usize = 300;
const MAX_EDITS: usize = 1000;
const MAX_PROPOSALS: usize = 200;

#[derive(Deserialize)]
/// What is asked of a rulesheet.
pub(super) struct SheetRequest {
    text: String,
    /// The name of its file.
    file: Option<String>,
    /// Its dialect, where that does not follow from the file or the text.
    dialect: Option<DialectName>,
    /// Where the cursor is.
    #[serde(default)]
    at: usize,
}

impl SheetRequest {
    fn dialect(&self) -> Dialect {
        dialect(self.dialect, self.file.as_deref(), &self.text)
    }
}

#[derive(Serialize)]
struct DiagnosticView<'a> {
    severity: &'static str,
    code: &'static str,
    from: u32,
    to: u32,
    line: usize,
    column: usize,
    message: &'a str,
    help: &'a str,
    fix: Option<FixView>,
}

#[derive(Serialize)]
struct FixView {
    title: String,
    edits: Vec<EditView>,
}

#[derive(Serialize)]
struct EditView {
    from: u32,
    to: u32,
    text: String,
}

#[derive(Serialize)]
struct ProposalView {
    label: String,
    kind: &'static str,
    form: String,
    meaning: String,
    snippet: String,
}

/// Byte offsets of a text as UTF-16 offsets.
struct Units {
    bytes: Vec<u32>,
    units: Vec<u32>,
}

impl Units {
    fn new(text: &str, mut bytes: Vec<u32>) -> Self {
        bytes.sort_unstable();
        bytes.dedup();
        let units = utf16_offsets(text, bytes.iter().copied());
        Self { bytes, units }
    }

    /// The UTF-16 offset of one of the byte offsets.
    fn of(&self, byte: u32) -> u32 {
        let found = self.bytes.binary_search(&byte);
        found.map_or(0, |place| self.units[place])
    }
}

/// The byte offset of a UTF-16 offset.
fn byte_offset(text: &str, units: usize) -> u32 {
    let mut left = units;
    for (at, character) in text.char_indices() {
        if left < character.len_utf16() {
            return at as u32;
        }
        left -= character.len_utf16();
    }
    text.len() as u32
}

/// The rulesheet of a game inside the program.
pub(super) fn text(name: &str) -> PageReply {
    match EMBEDDED.iter().find(|(own, _)| *own == name) {
        Some((_, text)) => PageReply::text(PageStatus::Ok, *text),
        None => PageReply::text(PageStatus::NotFound, "there is no game of this name\n"),
    }
}

/// The initial position of a game inside the program, made once. `is_busy` says whether a match
/// runs.
pub(super) fn picture(it: &RoutedRequest, is_busy: impl Fn() -> bool) -> PageReply {
    static MADE: Mutex<BTreeMap<&str, Vec<u8>>> = Mutex::new(BTreeMap::new());
    let Some((name, text)) = EMBEDDED.iter().find(|(own, _)| *own == it.part(0)) else {
        return PageReply::text(PageStatus::NotFound, "there is no game of this name\n");
    };
    if let Some(made) = lock(&MADE).get(name) {
        return PageReply::new(PageStatus::Ok, "application/json", made.clone());
    }
    let (rules, _) = Dialect::of("", text).load(text);
    let shapes = board_of(name).and_then(|text| read_board(&text).ok());
    match preview::picture(rules, shapes.unwrap_or_default(), is_busy) {
        Ok(picture) => {
            let page = PageReply::json(&picture);
            lock(&MADE).insert(name, page.body.to_vec());
            page
        }
        Err(PreviewError::Busy | PreviewError::Full) => PageReply::json(&json!({ "busy": true })),
        Err(error) => PageReply::text(PageStatus::Unprocessable, format!("{error}\n")),
    }
}

/// What is wrong with a rulesheet.
pub(super) fn check(asked: SheetRequest) -> PageReply {
    let sheet = Sheet::read(asked.dialect(), asked.text);
    let shown = views(&sheet, &sheet.diagnostics);
    let more = sheet.diagnostics.len() - shown.len();
    let dialect = sheet.dialect.name();
    PageReply::json(&json!({
        "dialect": dialect,
        "roles": sheet.rules.role_names(),
        "diagnostics": shown,
        "more": more,
    }))
}

/// Diagnostics of a sheet as the page takes them, as many as are listed.
fn views<'a>(sheet: &Sheet, faults: &'a [Diagnostic]) -> Vec<DiagnosticView<'a>> {
    let faults = &faults[..faults.len().min(MAX_DIAGNOSTICS)];
    let fixes: Vec<_> = faults.iter().map(|fault| sheet.fix(fault)).collect();
    let is_short = |edits: &[Edit]| edits.len() <= MAX_EDITS;
    let edits = fixes.iter().flatten().flat_map(|fix| &fix.edits);
    let spans = edits.map(|edit| edit.span);
    let spans = spans.chain(faults.iter().map(|fault| sheet.place(fault)));
    let units = Units::new(
        &sheet.text,
        spans.flat_map(|span| [span.start, span.end]).collect(),
    );
    let shown = faults.iter().zip(fixes).map(|(fault, fix)| {
        let span = sheet.place(fault);
        let (line, column) = sheet.lines.line_and_column(&sheet.text, span.start);
        DiagnosticView {
            severity: fault.severity.as_str(),
            code: fault.code,
            from: units.of(span.start),
            to: units.of(span.end),
            line,
            column,
            message: &fault.message,
            help: &fault.help,
            fix: fix.filter(|fix| is_short(&fix.edits)).map(|fix| FixView {
                title: fix.title,
                edits: fix
                    .edits
                    .into_iter()
                    .map(|edit| EditView {
                        from: units.of(edit.span.start),
                        to: units.of(edit.span.end),
                        text: edit.text,
                    })
                    .collect(),
            }),
        }
    });
    shown.collect()
}

/// What may be written at a place.
pub(super) fn complete(asked: SheetRequest) -> PageReply {
    let at = byte_offset(&asked.text, asked.at);
    let sheet = Sheet::read(asked.dialect(), asked.text);
    let (span, found) = sheet.completions(at);
    let units = utf16_offsets(&sheet.text, [span.start, span.end]);
    let proposals = found
        .into_iter()
        .take(MAX_PROPOSALS)
        .map(|found| ProposalView {
            label: found.label,
            kind: match found.kind {
                Kind::Keyword => "keyword",
                Kind::Relation => "relation",
                Kind::Function => "function",
                Kind::Constant => "constant",
                Kind::Variable => "variable",
            },
            form: found.form,
            meaning: found.documentation,
            snippet: found.snippet,
        });
    let proposals: Vec<ProposalView> = proposals.collect();
    PageReply::json(&json!({ "from": units[0], "to": units[1], "proposals": proposals }))
}

/// What the name at a place means.
pub(super) fn explain(asked: SheetRequest) -> PageReply {
    let at = byte_offset(&asked.text, asked.at);
    let sheet = Sheet::read(asked.dialect(), asked.text);
    let found = sheet.explain(at).map(|found| {
        let units = utf16_offsets(&sheet.text, [found.span.start, found.span.end]);
        json!({
            "from": units[0],
            "to": units[1],
            "form": found.form,
            "kind": found.kind,
            "meaning": found.meaning,
        })
    });
    PageReply::json(&found)
}

/// The rulesheet, laid out.
pub(super) fn format(asked: SheetRequest) -> PageReply {
    let laid_out = asked.dialect().format(&asked.text).ok();
    PageReply::json(&json!({ "text": laid_out }))
}

/// Its game, as far as it can be seen in some seconds. `is_busy` says whether a match runs.
pub(super) fn preview(asked: SheetRequest, is_busy: impl Fn() -> bool) -> PageReply {
    match preview::preview(asked.dialect(), &asked.text, is_busy) {
        Ok(seen) => PageReply::json(&seen),
        Err(PreviewError::Busy) => PageReply::json(&json!({ "busy": true })),
        Err(error) => PageReply::text(PageStatus::Unprocessable, format!("{error}\n")),
    }
}

/// What random games of it show. `is_busy` says whether a match runs.
pub(super) fn trial(asked: SheetRequest, is_busy: impl Fn() -> bool) -> PageReply {
    let sheet = Sheet::read(asked.dialect(), asked.text);
    let found = match panza_gdl::main_error(&sheet.diagnostics) {
        Some(fault) => Err(PreviewError::Rules(fault.one_line("rules", &sheet.text))),
        None => trial::try_out(Arc::clone(&sheet.rules), is_busy),
    };
    match found {
        Ok(found) => PageReply::json(&json!({ "diagnostics": views(&sheet, &found) })),
        Err(PreviewError::Busy | PreviewError::Full) => PageReply::json(&json!({ "busy": true })),
        Err(error) => PageReply::text(PageStatus::Unprocessable, format!("{error}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    type Question = fn(SheetRequest) -> PageReply;

    fn ask(question: impl FnOnce(SheetRequest) -> PageReply, body: &Value) -> Value {
        let page = PageReply::to_json(body.to_string().as_bytes(), question);
        assert_eq!(page.status, PageStatus::Ok);
        serde_json::from_slice(&page.body).expect("it is JSON")
    }

    fn asked(question: Question, text: &str, at: usize) -> Value {
        ask(question, &json!({ "text": text, "at": at }))
    }

    #[test]
    fn diagnostics_have_places_in_utf16_and_fixes() {
        let text = "; \u{1F600}\n(role a)\n(<= (legal a go)\n  (true (p))\n(init p)";
        let found = asked(check, text, 0);
        let first = &found["diagnostics"];
        let first = first.as_array().unwrap();
        let is_open = |it: &&Value| it["code"] == "unclosed-parenthesis";
        let open = first.iter().find(is_open).expect("it is found");
        assert_eq!((&open["line"], &open["column"]), (&json!(3), &json!(1)));
        let edit = &open["fix"]["edits"][0];
        // One unit less than bytes would be four for the face: the place is behind `(true (p))`.
        let behind = text.find("\n(init").unwrap() - 2;
        assert_eq!(edit, &json!({ "from": behind, "to": behind, "text": ")" }));
    }

    #[test]
    fn the_dialect_follows_from_file_and_text_or_is_said() {
        let found = |more: Value| {
            let mut asked = json!({ "text": "role( a )" });
            let object = asked.as_object_mut().unwrap();
            object.extend(more.as_object().unwrap().clone());
            (
                ask(check, &asked)["dialect"].clone(),
                ask(format, &asked)["text"].clone(),
            )
        };
        let (kif, hrf) = (json!("kif"), json!("hrf"));
        assert_eq!(found(json!({})), (hrf.clone(), json!("role(a)\n")));
        assert_eq!(found(json!({ "file": "a.hrf" })).0, hrf);
        assert_eq!(found(json!({ "file": "a.gdl" })).0, kif);
        assert_eq!(found(json!({ "file": "a.hrf", "dialect": "kif" })).0, kif);
        let page = PageReply::to_json(br#"{"text": "", "dialect": "latin"}"#, check);
        let why = String::from_utf8_lossy(&page.body);
        assert!(why.contains("expected `kif` or `hrf`"), "{why}");
        let text = "role(a)\nlegal(go) :- contrl(a)\ncontrol(a)";
        let found = asked(check, text, 0);
        let fix = &found["diagnostics"].as_array().unwrap().iter();
        let mut fixes = fix.clone().filter(|it| !it["fix"].is_null());
        let fix = &fixes.next().expect("a name is proposed")["fix"];
        assert_eq!(
            fix["edits"],
            json!([{ "from": 21, "to": 27, "text": "control" }])
        );
        assert_eq!(asked(explain, text, 9)["form"], json!("legal(action)"));
    }

    #[test]
    fn names_are_proposed_and_explained() {
        let text = "(role a)\n(<= (legal a go) (tr))";
        let found = asked(complete, text, text.len() - 2);
        let labels = found["proposals"].as_array().unwrap().iter();
        let labels: Vec<&Value> = labels.map(|it| &it["label"]).collect();
        assert!(labels.contains(&&json!("true")), "{labels:?}");
        assert_eq!(found["to"], json!(text.len() - 2));
        assert_eq!(asked(explain, text, 2)["form"], json!("(role player)"));
        assert_eq!(asked(explain, text, 9), Value::Null);
        assert_eq!(
            asked(format, "( role   a )", 0)["text"],
            json!("(role a)\n")
        );
        assert_eq!(asked(format, "(role", 0)["text"], Value::Null);
        let busy = |asked| preview(asked, || true);
        let busy = PageReply::to_json(b"{\"text\": \"\"}", busy);
        assert_eq!(&busy.body[..], b"{\"busy\":true}");
    }

    #[test]
    fn what_play_shows_has_its_place_and_faults_are_told() {
        let _alone = crate::background::alone();
        let text = "; \u{1F600}\n(role a) (init p)\n(legal a go)\n(<= terminal (not (true p)))
(<= (goal a 100) (true p))";
        let found = ask(|asked| trial(asked, || false), &json!({ "text": text }));
        let first = &found["diagnostics"][0];
        assert_eq!(
            (&first["code"], &first["severity"]),
            (&json!("no-goal"), &json!("error"))
        );
        let role = text.find("(role").unwrap() - 2;
        assert_eq!(
            (&first["from"], &first["line"], &first["column"]),
            (&json!(role), &json!(2), &json!(1))
        );
        let help = first["help"].as_str().unwrap();
        assert!(help.ends_with("state: ()\nmoves: (go)"), "{help}");
        let busy = ask(|asked| trial(asked, || true), &json!({ "text": text }));
        assert_eq!(busy, json!({ "busy": true }));
        let faulty = PageReply::to_json(br#"{"text": "(role a"}"#, |asked| trial(asked, || false));
        assert_eq!(faulty.status, PageStatus::Unprocessable);
        let why = String::from_utf8_lossy(&faulty.body);
        assert!(why.starts_with("rules:1:1: error[unclosed"), "{why}");
    }
}
