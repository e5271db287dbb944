//! `panza lsp` as editors use it: whole sessions over standard input and output.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::program::{file, program, text};
use crate::{PROGRAM, ROOT};

const SHEET: &str = "(role white)
; \u{1F600} Squares.
(index 1)
(init (cell 1 b))
(<= (legal white (mark ?n)) (true (cell ?n b)) (index ?n))
(<= (next (cell ?n x)) (does white (mark ?n)))
(<= terminal (true (cell 1 x)))
(goal white 100)
";
const URI: &str = "file:///game.gdl";

/// A running server and its client.
struct Session {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last_id: i32,
    /// The version of the document that was sent last; none once it is closed.
    version: Option<i32>,
}

impl Session {
    fn begin() -> Self {
        let mut child = program()
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().expect("it is a pipe")),
            child,
            last_id: 0,
            version: None,
        }
    }

    fn initialized() -> Self {
        let mut session = Self::begin();
        let item = json!({ "snippetSupport": true });
        let capabilities = json!({ "textDocument": { "completion": { "completionItem": item } } });
        let answer = session.ask("initialize", json!({ "capabilities": capabilities }));
        assert_eq!(answer["result"]["capabilities"]["hoverProvider"], true);
        session.tell("initialized", json!({}));
        session
    }

    fn write(&mut self, text: &str) {
        let input = self.input.as_mut().expect("it is open");
        write!(input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("it is read");
        input.flush().expect("it is read");
    }

    fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("it is written");
            assert_ne!(read, 0, "the server has ended");
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", value)) => length = value.parse().expect("a number"),
                Some(_) => {}
                None => break,
            }
        }
        let mut text = vec![0; length];
        self.output.read_exact(&mut text).expect("it is written");
        serde_json::from_slice(&text).expect("it is JSON")
    }

    fn tell(&mut self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.write(&message.to_string());
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write(&message.to_string());
        loop {
            let answer = self.read();
            if answer["id"] == id {
                return answer;
            }
        }
    }

    /// The result of a question about a place, counted from 0, with more parameters.
    fn at(&mut self, method: &str, line: u32, character: u32, more: Value) -> Value {
        let mut params = json!({
            "textDocument": { "uri": URI },
            "position": { "line": line, "character": character },
        });
        let more = more.as_object().cloned().unwrap_or_default();
        params.as_object_mut().expect("an object").extend(more);
        self.ask(&format!("textDocument/{method}"), params)["result"].take()
    }

    fn open(&mut self, text: &str) -> Vec<Value> {
        self.open_as("gdl", text)
    }

    fn open_as(&mut self, language: &str, text: &str) -> Vec<Value> {
        let document = json!({ "uri": URI, "languageId": language, "version": 1, "text": text });
        self.version = Some(1);
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
        self.diagnostics()
    }

    fn change(&mut self, version: i32, text: &str) {
        self.version = Some(version);
        let document = json!({ "uri": URI, "version": version });
        let params = json!({ "textDocument": document, "contentChanges": [{ "text": text }] });
        self.tell("textDocument/didChange", params);
    }

    fn close(&mut self) {
        self.version = None;
        let params = json!({ "textDocument": { "uri": URI } });
        self.tell("textDocument/didClose", params);
    }

    /// The next diagnostics of the text that was sent last. The first ones are of the text alone,
    /// the second ones are with what play has shown.
    fn diagnostics(&mut self) -> Vec<Value> {
        loop {
            let message = self.read();
            let version = message["params"]["version"].as_i64();
            if message["method"] == "textDocument/publishDiagnostics"
                && version == self.version.map(i64::from)
            {
                let found = message["params"]["diagnostics"].as_array();
                return found.expect("a list").clone();
            }
        }
    }

    /// Ends the session as editors do, or by the end of the input, and gives status and complaints.
    fn end(mut self, says_goodbye: bool) -> (Option<i32>, String) {
        if says_goodbye {
            assert_eq!(self.ask("shutdown", Value::Null)["result"], Value::Null);
            self.tell("exit", Value::Null);
        }
        drop(self.input.take());
        let mut complaints = String::new();
        let mut stderr = self.child.stderr.take().expect("it is a pipe");
        stderr.read_to_string(&mut complaints).expect("it is text");
        (self.child.wait().expect("it ends").code(), complaints)
    }
}

fn range(line: u32, start: u32, end: u32) -> Value {
    json!({
        "start": { "line": line, "character": start },
        "end": { "line": line, "character": end },
    })
}

#[test]
fn an_editor_is_told_everything_about_names() {
    let mut session = Session::initialized();
    assert_eq!(session.open(SHEET), [] as [Value; 0]);
    let hover = session.at("hover", 4, 36, json!({}));
    let shown = hover["contents"]["value"].as_str().expect("a text");
    assert!(
        shown.contains("(cell ?n _)") && shown.contains("a fact with 2"),
        "{shown}"
    );
    assert_eq!(hover["range"], range(4, 35, 39));
    let index = session.at("hover", 4, 50, json!({}));
    assert!(index.to_string().contains("\u{1F600} Squares."), "{index}");
    let defined = session.at("definition", 4, 50, json!({}));
    assert_eq!(defined, json!([{ "uri": URI, "range": range(2, 1, 6) }]));
    let all = json!({ "context": { "includeDeclaration": true } });
    let places = session.at("references", 3, 8, all);
    assert_eq!(places.as_array().expect("a list").len(), 4);
    let uses = json!({ "context": { "includeDeclaration": false } });
    assert_eq!(
        session
            .at("references", 3, 8, uses)
            .as_array()
            .expect("a list")
            .len(),
        2
    );
    let marked = session.at("documentHighlight", 4, 23, json!({}));
    assert_eq!(marked.as_array().expect("a list").len(), 3);
    assert_eq!(
        session.at("prepareRename", 4, 23, json!({})),
        range(4, 23, 25)
    );
    assert_eq!(session.at("prepareRename", 5, 6, json!({})), Value::Null);
    let renamed = session.at("rename", 4, 23, json!({ "newName": "?square" }));
    let edits = renamed["changes"][URI].as_array().expect("a list");
    assert_eq!(edits.len(), 3);
    assert_eq!(
        edits[0],
        json!({ "range": range(4, 23, 25), "newText": "?square" })
    );
    let proposed = session.at("completion", 6, 13, json!({}));
    let of = |label: &str| {
        let mut items = proposed.as_array().expect("a list").iter();
        items.find(|item| item["label"] == label).cloned()
    };
    assert_eq!(of("distinct").expect("a word")["kind"], 14);
    let index = of("index").expect("a relation");
    assert_eq!(index["textEdit"]["newText"], "(index ${1:?n})");
    let symbols = session.ask(
        "textDocument/documentSymbol",
        json!({ "textDocument": { "uri": URI } }),
    );
    let names: Vec<&Value> = symbols["result"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| &it["name"])
        .collect();
    assert_eq!((names.len(), names[4]), (7, &json!("(next (cell ?n x))")));
    assert_eq!(session.end(true), (Some(0), String::new()));
}

const HRF: &str = "role(white)
% \u{1F600} Squares.
index(1)
init(cell(1,b))
init(control(white))
% Marks a square.
legal(mark(N)) :- cell(N,b) & index(N)
mark(N) :: control(R) ==> ~cell(N,b) & cell(N,R)
terminal :- ~open
open :- cell(N,b)
goal(R,100) :- role(R)
";

#[test]
fn an_editor_is_told_the_same_about_hrf() {
    let mut session = Session::initialized();
    assert_eq!(session.open_as("hrf", HRF), [] as [Value; 0]);
    let hover = session.at("hover", 6, 20, json!({}));
    let shown = hover["contents"]["value"].as_str().expect("a text");
    let expected = "```hrf\ncell(N,R)\n```\na fact with 2 arguments";
    assert!(shown.starts_with(expected), "{shown}");
    assert_eq!(hover["range"], range(6, 18, 22));
    let index = session.at("hover", 6, 32, json!({}));
    assert!(index.to_string().contains("\u{1F600} Squares."), "{index}");
    let legal = session.at("hover", 6, 1, json!({}));
    assert!(legal.to_string().contains("legal(action)"), "{legal}");
    assert_eq!(session.at("hover", 1, 5, json!({})), Value::Null);
    let defined = session.at("definition", 6, 32, json!({}));
    assert_eq!(defined, json!([{ "uri": URI, "range": range(2, 0, 5) }]));
    let mut n_places = |with_definitions: bool, line, character| {
        let more = json!({ "context": { "includeDeclaration": with_definitions } });
        let places = session.at("references", line, character, more);
        places.as_array().expect("a list").len()
    };
    assert_eq!((n_places(true, 3, 6), n_places(false, 3, 6)), (5, 3));
    assert_eq!(n_places(true, 6, 11), 3);
    let marked = session.at("documentHighlight", 7, 0, json!({}));
    assert_eq!(marked.as_array().expect("a list").len(), 2);
    assert_eq!(
        session.at("prepareRename", 6, 32, json!({})),
        range(6, 30, 35)
    );
    for (line, character) in [(6, 1), (7, 10), (2, 6), (1, 4)] {
        assert_eq!(
            session.at("prepareRename", line, character, json!({})),
            Value::Null
        );
    }
    let renamed = session.at("rename", 7, 5, json!({ "newName": "Square" }));
    let edits = renamed["changes"][URI].as_array().expect("a list");
    assert_eq!(edits.len(), 3);
    assert_eq!(
        edits[0],
        json!({ "range": range(7, 5, 6), "newText": "Square" })
    );
    let renamed = session.at("rename", 9, 1, json!({ "newName": "cell" }));
    assert_eq!(renamed, Value::Null);
    let proposed = session.at("completion", 6, 19, json!({}));
    let of = |label: &str| {
        let mut items = proposed.as_array().expect("a list").iter();
        items.find(|item| item["label"] == label).cloned()
    };
    assert_eq!(of("distinct").expect("a word")["kind"], 14);
    let open = of("open").expect("a relation");
    assert_eq!(
        open["textEdit"],
        json!({ "range": range(6, 18, 22), "newText": "open" })
    );
    assert!(of("mark").is_some() && of("white").is_none());
    let document = json!({ "uri": URI });
    let symbols = session.ask(
        "textDocument/documentSymbol",
        json!({ "textDocument": document }),
    );
    let symbols = symbols["result"].as_array().expect("a list");
    assert_eq!(
        (symbols.len(), &symbols[4]["name"]),
        (9, &json!("legal(mark(N))"))
    );
    let faulty = HRF
        .replace("role(white)", "role( white )")
        .replace("~open", "~opn");
    session.change(2, &faulty);
    let found = session.diagnostics();
    let codes: Vec<&Value> = found.iter().map(|it| &it["code"]).collect();
    assert_eq!(codes, ["undefined-relation", "unused-relation"]);
    assert_eq!(found[0]["range"], range(8, 13, 16));
    let params = json!({
        "textDocument": document,
        "range": found[0]["range"],
        "context": { "diagnostics": found },
    });
    let actions = session.ask("textDocument/codeAction", params)["result"].take();
    assert_eq!(actions[0]["title"], "Change `opn` to `open`");
    let options = json!({ "tabSize": 2, "insertSpaces": true });
    let params = json!({ "textDocument": document, "options": options });
    let laid_out = session.ask("textDocument/formatting", params.clone())["result"].take();
    let expected = json!([{ "range": range(0, 5, 12), "newText": "white" }]);
    assert_eq!(laid_out, expected);
    session.change(3, "role(");
    assert_eq!(
        session.ask("textDocument/formatting", params)["result"],
        Value::Null
    );
    session.change(4, &format!("{HRF}bad :- cell(="));
    let renamed = session.at("rename", 9, 1, json!({ "newName": "free" }));
    assert_eq!(renamed, Value::Null);
    assert_eq!(session.end(true), (Some(0), String::new()));
}

#[cfg(unix)]
#[test]
fn the_server_ends_when_the_process_of_the_client_is_gone() {
    let mut client = Command::new("sleep").arg("600").spawn().expect("it starts");
    let mut session = Session::begin();
    let parameters = json!({ "processId": client.id(), "capabilities": {} });
    session.ask("initialize", parameters);
    client.kill().expect("it runs");
    client.wait().expect("it runs");
    // The input stays open.
    let status = session.child.wait().expect("it runs");
    assert_eq!(status.code(), Some(1));
}

#[test]
fn line_ends_stay_as_they_are() {
    let mut session = Session::initialized();
    let untidy = SHEET
        .replace('\n', "\r\n")
        .replace("(role white)", "(role   white)");
    session.open(&untidy);
    let options = json!({ "tabSize": 2, "insertSpaces": true });
    let params = json!({ "textDocument": { "uri": URI }, "options": options });
    let laid_out = session.ask("textDocument/formatting", params)["result"].take();
    let edits = laid_out.as_array().expect("a list");
    let new = edits[0]["newText"].as_str().expect("a text");
    assert_eq!(new.matches("\r\n").count(), new.matches('\n').count());
    assert_eq!(
        edits[0]["range"]["start"],
        json!({ "line": 0, "character": 6 })
    );
    assert_eq!(session.end(true), (Some(0), String::new()));
}

#[test]
fn faults_are_reported_as_they_come_and_mended() {
    let mut session = Session::initialized();
    session.open(SHEET);
    let faulty = SHEET.replace("(index ?n))", "(indx ?n))");
    // Of changes in quick succession the last one counts.
    session.change(2, "(role");
    session.change(3, &faulty);
    let found = session.diagnostics();
    let codes: Vec<&Value> = found.iter().map(|it| &it["code"]).collect();
    assert_eq!(codes, ["unused-relation", "undefined-relation"]);
    let misspelt = &found[1];
    assert_eq!(
        (&misspelt["source"], &misspelt["severity"]),
        (&json!("panza"), &json!(2))
    );
    let params = json!({
        "textDocument": { "uri": URI },
        "range": misspelt["range"],
        "context": { "diagnostics": found },
    });
    let actions = session.ask("textDocument/codeAction", params)["result"].take();
    assert_eq!(actions[0]["title"], "Change `indx` to `index`");
    let edit = &actions[0]["edit"]["changes"][URI][0];
    assert_eq!(
        edit,
        &json!({ "range": range(4, 48, 52), "newText": "index" })
    );
    let untidy = SHEET.replace("(role white)", "(role    white)");
    session.change(4, &untidy);
    let params = json!({ "textDocument": { "uri": URI }, "options": { "tabSize": 2, "insertSpaces": true } });
    let laid_out = session.ask("textDocument/formatting", params.clone())["result"].take();
    let edits = laid_out.as_array().expect("a list");
    assert_eq!(edits.len(), 1);
    let new = edits[0]["newText"].as_str().expect("a text");
    assert!(
        new.contains("(<= (next (cell ?n x))\n  (does white (mark ?n))"),
        "{new}"
    );
    session.change(5, "(role");
    assert_eq!(
        session.ask("textDocument/formatting", params)["result"],
        Value::Null
    );
    session.close();
    assert_eq!(session.diagnostics(), [] as [Value; 0]);
    assert_eq!(session.end(true), (Some(0), String::new()));
}

#[test]
fn what_play_shows_is_added_and_a_changed_text_drops_it() {
    let mut session = Session::initialized();
    let counting = "(role white)
(init (at 0))
(succ 0 1)
(succ 1 2)
(<= (legal white step) (true (at ?n)) (succ ?n ?m))
(<= (legal white stay) (true (at ?n)) (succ ?n ?m))
(<= (next (at ?m)) (true (at ?n)) (does white step) (succ ?n ?m))
(<= (next (at ?n)) (true (at ?n)) (does white stay))
(<= terminal (true (at 3)))
(goal white 100)
";
    assert_eq!(session.open(counting), [] as [Value; 0]);
    let found = session.diagnostics();
    assert_eq!(found[0]["code"], "no-legal-move", "{found:?}");
    assert_eq!(
        (&found[0]["severity"], &found[0]["range"]),
        (&json!(1), &range(0, 0, 12))
    );
    let message = found[0]["message"].as_str().expect("a text");
    assert!(
        message.contains("\nstate: ((at 2))\nmoves: (st"),
        "{message}"
    );
    // Of a text that has changed meanwhile nothing is heard any more.
    let ends = counting.replace("(at 3)", "(at 2)");
    session.change(2, counting);
    session.change(
        3,
        &ends.replace("(goal white 100)", "(<= (goal white 100) (true (at 1)))"),
    );
    assert_eq!(session.diagnostics(), [] as [Value; 0]);
    let found = session.diagnostics();
    assert_eq!(found[0]["code"], "no-goal", "{found:?}");
    assert!(found.iter().all(|it| it["code"] != "no-legal-move"));
    session.change(4, &ends);
    assert_eq!(session.diagnostics(), [] as [Value; 0]);
    session.close();
    assert_eq!(session.diagnostics(), [] as [Value; 0]);
    assert_eq!(session.end(true), (Some(0), String::new()));
}

#[test]
fn messages_that_are_not_understood_cost_only_themselves() {
    let mut session = Session::begin();
    assert_eq!(
        session.ask("textDocument/hover", json!({}))["error"]["code"],
        -32002
    );
    session.write("{oops");
    let answer = session.read();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&Value::Null, &json!(-32700))
    );
    session.ask("initialize", json!({ "capabilities": {} }));
    assert_eq!(
        session.ask("initialize", json!({}))["error"]["code"],
        -32600
    );
    assert_eq!(
        session.ask("textDocument/jump", json!({}))["error"]["code"],
        -32601
    );
    assert_eq!(
        session.ask("textDocument/hover", json!([1]))["error"]["code"],
        -32602
    );
    let closed = session.ask(
        "textDocument/hover",
        json!({
            "textDocument": { "uri": URI },
            "position": { "line": 0, "character": 0 },
        }),
    );
    assert_eq!(closed["error"]["message"], "it is not open");
    let large = "(role a) ; x\n".repeat(1_400_000);
    let found = session.open(&large);
    assert!(
        found[0]["message"]
            .as_str()
            .expect("a text")
            .contains("16777216 bytes")
    );
    let renamed = session.at("rename", 0, 1, json!({ "newName": "b" }));
    assert_eq!(renamed, Value::Null);
    let (status, _) = session.end(false);
    assert_eq!(status, Some(1));
}

#[test]
fn input_that_is_no_protocol_is_said_to_be_none() {
    let mut session = Session::begin();
    let input = session.input.as_mut().expect("it is open");
    input.write_all(b"(role white)\n").expect("it is read");
    let (status, complaint) = session.end(false);
    assert_eq!(status, Some(2));
    assert!(complaint.contains("found `(role white)`"), "{complaint}");
    assert!(complaint.contains("docs/editing.md"), "{complaint}");
}

/// What Neovim does with a rulesheet: it waits for diagnostics, applies the first fix, goes to a
/// definition, renames, lays out, and writes what came of it.
const NEOVIM: &str = r#"
local wait = function(what, done)
  if not vim.wait(60000, done, 20) then error('waited in vain for ' .. what) end
end
local buffer = vim.api.nvim_get_current_buf()
local id = vim.lsp.start_client({ name = 'panza', cmd = { vim.env.PANZA, 'lsp' }, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(buffer, id)
wait('diagnostics', function() return #vim.diagnostic.get(buffer) > 0 end)
local client = vim.lsp.get_client_by_id(id)
local ask = function(method, more)
  local parameters = vim.tbl_extend('force', vim.lsp.util.make_position_params(), more or {})
  local answer = client.request_sync(method, parameters, 60000, buffer)
  assert(answer and not answer.err, method)
  return answer.result
end
local faults = { severity = { min = vim.diagnostic.severity.WARN } }
local found = vim.diagnostic.get(buffer, faults)
local misspelt = found[#found]
vim.api.nvim_win_set_cursor(0, { misspelt.lnum + 1, misspelt.col + 1 })
local range = vim.lsp.util.make_range_params()
range.context = { diagnostics = {} }
local fixes = client.request_sync('textDocument/codeAction', range, 60000, buffer).result
vim.lsp.util.apply_workspace_edit(fixes[1].edit, client.offset_encoding)
wait('no diagnostics', function() return #vim.diagnostic.get(buffer, faults) == 0 end)
vim.api.nvim_win_set_cursor(0, { 5, 50 })
local places = ask('textDocument/definition')
vim.lsp.util.apply_workspace_edit(ask('textDocument/rename', { newName = 'square' }), client.offset_encoding)
if vim.lsp.buf.format then
  vim.lsp.buf.format({ timeout_ms = 120000 })
else
  vim.lsp.buf.formatting_sync(nil, 60000)
end
local out = { 'definition in line ' .. (places[1].range.start.line + 1) }
vim.list_extend(out, vim.api.nvim_buf_get_lines(buffer, 0, -1, false))
vim.fn.writefile(out, vim.env.RESULT)
vim.lsp.stop_client(id)
"#;

#[test]
fn neovim_shows_faults_and_mends_them() {
    let version = Command::new("nvim").arg("--version").output();
    let version = version
        .map(|output| text(&output.stdout))
        .unwrap_or_default();
    // Its functions have other names from 0.11 on.
    let is_known = ["NVIM v0.7", "NVIM v0.8", "NVIM v0.9", "NVIM v0.10"];
    if !is_known.iter().any(|known| version.starts_with(known)) {
        eprintln!("left out: there is no Neovim that this test knows");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let faulty = SHEET.replace("(index ?n))", "(indx ?n))");
    let sheet = file(folder.path(), "game.gdl", &faulty);
    let script = file(folder.path(), "session.lua", NEOVIM);
    let result = folder.path().join("result");
    let ran = Command::new("nvim")
        .args(["--headless", "-u", "NONE", "-i", "NONE", "-n"])
        .arg(&sheet)
        .arg("-c")
        .arg(format!("luafile {}", script.display()))
        .args(["-c", "qall!"])
        .env("PANZA", PROGRAM)
        .env("RESULT", &result)
        .env("HOME", folder.path())
        .current_dir(ROOT)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let complaint = text(&ran.stderr);
    let shown = std::fs::read_to_string(&result).unwrap_or_else(|_| panic!("{complaint}"));
    let tidy = "(<= (legal white (mark ?n))\n  (true (cell ?n b))\n  (square ?n))";
    assert!(shown.starts_with("definition in line 3\n"), "{shown}");
    assert!(
        shown.contains("(square 1)\n") && shown.contains(tidy),
        "{shown}"
    );
}
