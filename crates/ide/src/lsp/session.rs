//! One client: what it said, what it is answered.
//!
//! Invariants: every request has exactly one answer; a panic while one is answered costs that
//! request.

use std::time::Instant;

use crate::language::Sheet;
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::{
    CodeActionParams, CodeActionProviderCapability, CompletionOptions, CompletionParams,
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    DocumentFormattingParams, DocumentHighlightParams, DocumentSymbolParams, GotoDefinitionParams,
    HoverParams, HoverProviderCapability, InitializeParams, InitializeResult, OneOf,
    PrepareRenameResponse, PublishDiagnosticsParams, ReferenceParams, RenameOptions, RenameParams,
    ServerCapabilities, ServerInfo, TextDocumentPositionParams, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, Uri, WorkDoneProgressOptions,
};
use panza_gdl::Diagnostic as Fault;
use panza_hrf::Dialect;
use panza_sync::catch_panic;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::answers;
use super::documents::Documents;
use super::trials::{Subject, Trials};

/// Whether the server goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// It does.
    Continue,
    /// The client said `exit`.
    Exit {
        /// Whether it said `shutdown` before.
        was_shut_down: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Before,
    Running,
    ShutDown,
}

/// The state of a client.
pub struct Session {
    stage: Stage,
    documents: Documents,
    trials: Trials,
    has_snippets: bool,
    /// The process of the client, once it is known.
    pub process: Option<u32>,
    /// What is to be sent.
    pub answers: Vec<Message>,
}

/// Why a request is not answered as it was asked.
struct Refusal(ErrorCode, String);

impl Refusal {
    fn of_parameters(why: impl Into<String>) -> Self {
        Self(ErrorCode::InvalidParams, why.into())
    }
}

type Answer = Result<Value, Refusal>;

impl Session {
    /// A client that has said nothing yet.
    pub fn new(trials: Trials) -> Self {
        Self {
            stage: Stage::default(),
            documents: Documents::default(),
            trials,
            has_snippets: false,
            process: None,
            answers: Vec::new(),
        }
    }

    /// When there is something to do without a message.
    pub fn due(&self) -> Option<Instant> {
        // The next trial begins when the one that runs has ended.
        let trial = match self.trials.is_running() {
            true => None,
            false => self.documents.next_trial(),
        };
        let trial = trial.map(|(due, _)| due);
        self.documents.next_due().into_iter().chain(trial).min()
    }

    /// Sends the diagnostics that are due, and begins a trial that is due.
    pub fn work_due(&mut self, now: Instant) {
        self.publish_due(now);
        while !self.trials.is_running() {
            let next = self.documents.next_trial();
            let Some((_, address)) = next.filter(|&(due, _)| due <= now) else {
                return;
            };
            let address = address.to_string();
            let Some(document) = self.documents.get(&address) else {
                return;
            };
            document.trial_due = None;
            if let Some(rules) = document.sound_rules() {
                let revision = document.revision;
                self.trials.begin(Subject { address, revision }, rules);
            }
        }
    }

    /// A trial has ended. Its findings are sent if the text is still the one that was played.
    pub fn take_findings(&mut self, found: Vec<Fault>) {
        if let Some(Subject { address, revision }) = self.trials.end()
            && let Some(document) = self.documents.get(&address)
            && document.revision == revision
            && !found.is_empty()
        {
            document.add_findings(found);
            self.publish_diagnostics(&address);
        }
        self.work_due(Instant::now());
    }

    /// Takes a message.
    pub fn take(&mut self, message: Message) -> Flow {
        match message {
            Message::Request(request) => self.request(request),
            Message::Notification(notification) => return self.notification(notification),
            // The server asks for nothing.
            Message::Response(_) => {}
        }
        Flow::Continue
    }

    fn request(&mut self, request: Request) {
        let Request { id, method, params } = request;
        let answer = match (self.stage, method.as_str()) {
            (Stage::Before, "initialize") => self.initialize(params),
            (Stage::Before, _) => {
                let why = "expected `initialize` first".to_string();
                Err(Refusal(ErrorCode::ServerNotInitialized, why))
            }
            (Stage::Running, "shutdown") => {
                self.stage = Stage::ShutDown;
                Ok(Value::Null)
            }
            (Stage::Running, "initialize") | (Stage::ShutDown, _) => {
                let why = format!("`{method}` is not expected now");
                Err(Refusal(ErrorCode::InvalidRequest, why))
            }
            (Stage::Running, _) => catch_panic(|| self.ask(&method, params)).unwrap_or_else(|_| {
                tracing::error!("`{method}` failed");
                let why = format!("`{method}` failed in the server");
                Err(Refusal(ErrorCode::InternalError, why))
            }),
        };
        self.answers.push(Message::Response(response(id, answer)));
    }

    fn initialize(&mut self, parameters: Value) -> Answer {
        let parameters: InitializeParams = read(parameters)?;
        self.process = parameters.process_id;
        let snippets = parameters.capabilities.text_document.and_then(|it| {
            let item = it.completion?.completion_item?;
            item.snippet_support
        });
        self.has_snippets = snippets == Some(true);
        self.stage = Stage::Running;
        shown(InitializeResult {
            capabilities: capabilities(),
            server_info: Some(ServerInfo {
                name: "panza lsp".to_string(),
                version: Some(env!("CARGO_PKG_VERSION").to_string()),
            }),
        })
    }

    fn ask(&mut self, method: &str, parameters: Value) -> Answer {
        match method {
            "textDocument/hover" => {
                let asked: HoverParams = read(parameters)?;
                let at = asked.text_document_position_params;
                self.at(&at, |sheet| shown(answers::hover(sheet, at.position)))
            }
            "textDocument/definition" => {
                let asked: GotoDefinitionParams = read(parameters)?;
                let at = asked.text_document_position_params;
                let uri = &at.text_document.uri;
                self.at(&at, |sheet| {
                    shown(answers::definition(sheet, uri, at.position))
                })
            }
            "textDocument/references" => {
                let asked: ReferenceParams = read(parameters)?;
                let at = asked.text_document_position;
                let uri = &at.text_document.uri;
                let all = asked.context.include_declaration;
                self.at(&at, |sheet| {
                    shown(answers::references(sheet, uri, at.position, all))
                })
            }
            "textDocument/documentHighlight" => {
                let asked: DocumentHighlightParams = read(parameters)?;
                let at = asked.text_document_position_params;
                self.at(&at, |sheet| shown(answers::highlights(sheet, at.position)))
            }
            "textDocument/completion" => {
                let asked: CompletionParams = read(parameters)?;
                let at = asked.text_document_position;
                let has_snippets = self.has_snippets;
                self.at(&at, |sheet| {
                    shown(answers::completions(sheet, at.position, has_snippets))
                })
            }
            "textDocument/prepareRename" => {
                let at: TextDocumentPositionParams = read(parameters)?;
                self.at(&at, |sheet| {
                    let place = sheet.renamable(answers::offset(sheet, at.position));
                    let place = place.map_err(Refusal::of_parameters)?;
                    shown(PrepareRenameResponse::Range(answers::range(
                        sheet, place.span,
                    )))
                })
            }
            "textDocument/rename" => {
                let asked: RenameParams = read(parameters)?;
                let at = asked.text_document_position;
                let uri = &at.text_document.uri;
                self.at(&at, |sheet| {
                    let offset = answers::offset(sheet, at.position);
                    let edits = sheet.rename(offset, &asked.new_name);
                    let edits = edits.map_err(Refusal::of_parameters)?;
                    shown(answers::workspace_edit(sheet, uri, &edits))
                })
            }
            "textDocument/codeAction" => {
                let asked: CodeActionParams = read(parameters)?;
                let uri = asked.text_document.uri;
                self.of(&uri, |sheet| {
                    shown(answers::code_actions(sheet, &uri, asked.range))
                })
            }
            "textDocument/documentSymbol" => {
                let asked: DocumentSymbolParams = read(parameters)?;
                let uri = asked.text_document.uri;
                self.of(&uri, |sheet| shown(answers::symbols(sheet)))
            }
            "textDocument/formatting" => {
                let asked: DocumentFormattingParams = read(parameters)?;
                let uri = asked.text_document.uri;
                self.of(&uri, |sheet| shown(answers::formatting(sheet)))
            }
            _ => {
                let why = format!("`{method}` is not known");
                Err(Refusal(ErrorCode::MethodNotFound, why))
            }
        }
    }

    /// Answers a question about a place in a document.
    fn at(
        &mut self,
        at: &TextDocumentPositionParams,
        ask: impl FnOnce(&Sheet) -> Answer,
    ) -> Answer {
        self.of(&at.text_document.uri, ask)
    }

    /// Answers a question about a document.
    fn of(&mut self, uri: &Uri, ask: impl FnOnce(&Sheet) -> Answer) -> Answer {
        let document = self.documents.get(uri.as_str());
        let document = document.ok_or_else(|| Refusal::of_parameters("it is not open"))?;
        ask(document.sheet().map_err(Refusal::of_parameters)?)
    }

    fn notification(&mut self, notification: Notification) -> Flow {
        let Notification { method, params } = notification;
        if method == "exit" {
            return Flow::Exit {
                was_shut_down: self.stage == Stage::ShutDown,
            };
        }
        if self.stage != Stage::Running {
            return Flow::Continue;
        }
        let taken = match method.as_str() {
            "textDocument/didOpen" => read(params).and_then(|it: DidOpenTextDocumentParams| {
                let document = it.text_document;
                // The other names of languages are left to the address and the text.
                let dialect = (document.language_id == "hrf").then_some(Dialect::Hrf);
                self.set(&document.uri, document.version, dialect, document.text)
            }),
            "textDocument/didChange" => read(params).and_then(|it: DidChangeTextDocumentParams| {
                let mut changes = it.content_changes.into_iter();
                match changes.next_back() {
                    Some(last) if last.range.is_none() => {
                        let document = it.text_document;
                        self.set(&document.uri, document.version, None, last.text)
                    }
                    _ => Err(Refusal::of_parameters(
                        "expected the whole text of the document",
                    )),
                }
            }),
            "textDocument/didClose" => read(params).map(|it: DidCloseTextDocumentParams| {
                let address = it.text_document.uri.as_str();
                self.trials.stop(address);
                self.documents.close(address);
                self.publish(&it.text_document.uri, Vec::new(), None);
            }),
            _ => Ok(()),
        };
        if let Err(Refusal(_, why)) = taken {
            tracing::warn!("{method}: {why}");
        }
        self.work_due(Instant::now());
        Flow::Continue
    }

    fn set(
        &mut self,
        uri: &Uri,
        version: i32,
        dialect: Option<Dialect>,
        text: String,
    ) -> Result<(), Refusal> {
        self.trials.stop(uri.as_str());
        let set = self.documents.set(uri.as_str(), version, dialect, text);
        set.map_err(Refusal::of_parameters)
    }

    /// Sends the diagnostics that are due.
    fn publish_due(&mut self, now: Instant) {
        for address in self.documents.all_due(now) {
            self.publish_diagnostics(&address);
        }
    }

    /// Sends the diagnostics of a document.
    fn publish_diagnostics(&mut self, address: &str) {
        let Some(document) = self.documents.get(address) else {
            return;
        };
        document.due = None;
        let version = Some(document.version);
        let found = catch_panic(|| match document.sheet() {
            Ok(sheet) => answers::diagnostics(sheet),
            Err(why) => vec![lsp_types::Diagnostic {
                message: why.to_string(),
                source: Some("panza".to_string()),
                ..lsp_types::Diagnostic::default()
            }],
        });
        let found = found.unwrap_or_else(|_| {
            tracing::error!("`{address}` could not be analysed");
            Vec::new()
        });
        if let Ok(uri) = address.parse() {
            self.publish(&uri, found, version);
        }
    }

    fn publish(&mut self, uri: &Uri, found: Vec<lsp_types::Diagnostic>, version: Option<i32>) {
        let parameters = PublishDiagnosticsParams::new(uri.clone(), found, version);
        if let Ok(params) = serde_json::to_value(parameters) {
            let method = "textDocument/publishDiagnostics".to_string();
            let notification = Notification { method, params };
            self.answers.push(Message::Notification(notification));
        }
    }
}

fn read<T: DeserializeOwned>(parameters: Value) -> Result<T, Refusal> {
    serde_json::from_value(parameters).map_err(|error| Refusal::of_parameters(error.to_string()))
}

fn shown(answer: impl Serialize) -> Answer {
    let failed = |error: serde_json::Error| Refusal(ErrorCode::InternalError, error.to_string());
    serde_json::to_value(answer).map_err(failed)
}

fn response(id: RequestId, answer: Answer) -> Response {
    match answer {
        Ok(result) => Response {
            id,
            response_result: Ok(result),
        },
        Err(Refusal(code, message)) => Response::new_err(id, code as i32, message),
    }
}

/// What the server can do.
fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Options(
            TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(TextDocumentSyncKind::FULL),
                ..TextDocumentSyncOptions::default()
            },
        )),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Simple(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(["(", "?", ","].map(String::from).to_vec()),
            ..CompletionOptions::default()
        }),
        ..ServerCapabilities::default()
    }
}
