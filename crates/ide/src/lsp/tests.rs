//! Trials as a client sees them. What plays is made up, and so is the time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use lsp_server::{Message, Notification, Request};
use panza_gdl::Span;
use serde_json::{Value, json};

use super::*;

/// How long a trial may take to be heard of.
const PATIENCE: Duration = Duration::from_secs(120);
const SOUND: &str = "(role a)\n(legal a go)\n(<= terminal (role a))\n(goal a 100)\n";

struct Client {
    session: Session,
    found: Receiver<Vec<Diagnostic>>,
}

impl Client {
    fn new(
        play: impl Fn(&Rules, &Arc<AtomicBool>) -> Vec<Diagnostic> + Send + Sync + 'static,
    ) -> Self {
        let (sender, found) = bounded(1);
        let session = Session::new(Trials::new(Arc::new(play), sender));
        let mut client = Self { session, found };
        client.ask("initialize", json!({ "capabilities": {} }));
        client
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let request = Request::new(1.into(), method.to_string(), params);
        self.session.take(Message::Request(request));
        let Some(Message::Response(answer)) = self.session.answers.pop() else {
            panic!("`{method}` is answered at once");
        };
        answer.response_result.expect("there is a result")
    }

    /// A document has this text; a first version opens it.
    fn set(&mut self, uri: &str, version: i32, text: &str) {
        let document = json!({ "uri": uri, "version": version, "languageId": "gdl", "text": text });
        let (method, params) = match version {
            1 => ("textDocument/didOpen", json!({ "textDocument": document })),
            _ => {
                let changes = json!([{ "text": text }]);
                let params = json!({ "textDocument": document, "contentChanges": changes });
                ("textDocument/didChange", params)
            }
        };
        let notification = Notification::new(method.to_string(), params);
        self.session.take(Message::Notification(notification));
    }

    /// Some seconds pass.
    fn rest(&mut self) {
        let later = Instant::now() + Duration::from_secs(5);
        self.session.work_due(later);
    }

    /// A trial ends.
    fn hear(&mut self) {
        let found = self.found.recv_timeout(PATIENCE).expect("a trial ends");
        self.session.take_findings(found);
    }

    /// What was sent since: of each list of diagnostics the version and the codes.
    fn published(&mut self) -> Vec<(Value, Vec<String>)> {
        let sent = self.session.answers.drain(..);
        let of = |message| {
            let Message::Notification(notification) = message else {
                panic!("only diagnostics are sent");
            };
            let params = notification.params;
            let all = params["diagnostics"].as_array().expect("a list");
            let codes = all.iter().map(|it| it["code"].as_str().unwrap_or_default());
            (
                params["version"].clone(),
                codes.map(str::to_string).collect(),
            )
        };
        sent.map(of).collect()
    }
}

fn finding(code: &'static str) -> Diagnostic {
    Diagnostic::error(code, Span::new(0, 8), "seen in play".to_string())
}

#[test]
fn findings_of_play_are_added_once_the_text_rests() {
    let mut client = Client::new(|rules, _| {
        assert_eq!(rules.roles().len(), 1);
        vec![finding("no-legal-move")]
    });
    client.set("file:///a.gdl", 1, SOUND);
    assert_eq!(client.published(), [(json!(1), vec![])]);
    assert!(client.session.due().is_some());
    client.rest();
    assert_eq!(client.session.due(), None);
    client.hear();
    let expected = vec!["no-legal-move".to_string()];
    assert_eq!(client.published(), [(json!(1), expected)]);
    client.rest();
    assert_eq!(client.published(), []);
}

#[test]
fn a_changed_text_stops_its_trial_and_drops_the_findings() {
    let mut client = Client::new(|rules, stop| {
        let is_first = rules.rules.len() == 4;
        while is_first && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        vec![finding(if is_first { "first" } else { "second" })]
    });
    let uri = "file:///a.gdl";
    client.set(uri, 1, SOUND);
    client.rest();
    client.published();
    // The trial plays on, and questions are answered meanwhile.
    let at = json!({
        "textDocument": { "uri": uri },
        "position": { "line": 0, "character": 1 },
    });
    let hover = client.ask("textDocument/hover", at);
    assert!(hover.to_string().contains("(role player)"), "{hover}");
    let changed = format!("{SOUND}(legal a stay)\n");
    client.set(uri, 2, &changed);
    client.rest();
    // It was stopped and has not been heard of: nothing else is played until then.
    assert_eq!(client.session.due(), None);
    assert_eq!(client.published(), [(json!(2), vec![])]);
    client.hear();
    assert_eq!(client.published(), []);
    client.rest();
    client.hear();
    assert_eq!(client.published(), [(json!(2), vec!["second".to_string()])]);
}

#[test]
fn what_has_errors_or_is_closed_is_not_played_and_a_panic_costs_one_trial() {
    let mut client = Client::new(|rules, _| match rules.rules.len() {
        5 => panic!("this game is too much"),
        _ => vec![finding("seen")],
    });
    client.set("file:///a.gdl", 1, "(role a");
    client.rest();
    assert_eq!(client.session.due(), None);
    client.set("file:///b.gdl", 1, &format!("{SOUND}(legal a stay)"));
    client.set("file:///c.gdl", 1, SOUND);
    client.rest();
    client.published();
    client.hear();
    assert_eq!(client.published(), []);
    client.rest();
    let params = json!({ "textDocument": { "uri": "file:///c.gdl" } });
    let close = Notification::new("textDocument/didClose".to_string(), params);
    client.session.take(Message::Notification(close));
    assert_eq!(client.published(), [(Value::Null, vec![])]);
    client.hear();
    assert_eq!(client.published(), []);
    // The session ends, and with it the trial.
    client.set("file:///d.gdl", 1, SOUND);
    client.rest();
}
