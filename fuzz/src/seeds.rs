//! Sound inputs of each target, to be mutated. All come from the games and levels of this project,
//! or from the code that writes what the target reads.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use panza_analysis::Tuples;
use panza_cli::game_source::EMBEDDED;
use panza_gdl::BaseId;
use panza_learning::{Evaluation, GradientSums};
use panza_memory::{Kind, PastMatch, PlanNote, Store};
use panza_metagame::Preparation;
use panza_sync::Random;
use serde_json::{Value, json};

use super::{NEXT_FILE, games};

/// A puzzle, for plans.
pub const PUZZLE: &str = "(role a) (init (at 1)) (succ 1 2) (succ 2 3) (legal a go) (legal a stay)
    (<= (next (at ?y)) (does a go) (true (at ?x)) (succ ?x ?y))
    (<= (next (at ?x)) (does a stay) (true (at ?x)))
    (<= terminal (true (at 3))) (<= (goal a 100) (true (at 3)))
    (<= (goal a 0) (not (true (at 3))))";
/// A game of two roles, for evaluations.
pub const RACE: &str = "(role a) (role b) (init (at a 1)) (init (at b 1)) (succ 1 2) (succ 2 3)
    (<= (legal ?r go) (role ?r)) (<= (legal ?r stay) (role ?r))
    (<= (next (at ?r ?y)) (does ?r go) (true (at ?r ?x)) (succ ?x ?y))
    (<= (next (at ?r ?x)) (does ?r stay) (true (at ?r ?x)))
    (<= terminal (true (at ?r 3))) (<= (goal ?r 100) (true (at ?r 3)))
    (<= (goal ?r 0) (role ?r) (not (true (at ?r 3))))";
/// The signature under which the memory knows a game.
pub const SIGNATURE: &str = "0123456789abcdef";

const SNIPPETS: &[&str] = &[
    "(<= (p ?x) (or (q ?x) (and (r ?x) (not (s ?x)))) (distinct ?x a))",
    "(<= p (not (distinct (f ?x a) (f b ?y))) (q ?x ?y))",
    "(<= (p ?x) (q ?x) (or (a ?x) (b ?x)) (or (a ?x) (b ?x) (c ?x)) (or (d ?x) (not (or (e ?x) (distinct ?x b)))))",
    "; a comment\n(role white) ; another\r\n(init (cell 1 1 b))\n\n\n(legal white noop)",
    "((role a) (<= terminal (true (step 9))) (<= (goal a 100) terminal))",
    "(<= (legal ?r ?m) (role ?r) (not (or)) (and))",
    "( START m white ((role white) (legal white noop) terminal) 10 10 )",
    "\u{e9}\u{1F600}\u{a0}(\u{2028}a\u{85}b)",
];

fn texts<T: AsRef<[u8]>>(texts: impl IntoIterator<Item = T>) -> Vec<Vec<u8>> {
    texts
        .into_iter()
        .map(|text| text.as_ref().to_vec())
        .collect()
}

/// Rulesheets, and rules with all that GDL has.
pub fn rules() -> Vec<Vec<u8>> {
    let games = EMBEDDED.iter().map(|(_, text)| *text);
    texts(games.chain(SNIPPETS.iter().copied()))
}

/// Rulesheets in HRF with all that the dialect has.
pub fn hrf() -> Vec<Vec<u8>> {
    texts([
        "role(a)\nrole(b)\ninit(cell(1,b))\ninit(cell(2,b))\ninit(control(a))
legal(mark(X)) :- cell(X,b)
mark(X) :: control(R) & cell(X,b) ==> ~cell(X,b) & cell(X,R)
mark(X) :: control(a) ==> ~control(a) & control(b)
mark(X) :: control(b) ==> ~control(b) & control(a)
goal(R,N) :- countofall(X,cell(X,R),M) & times(M,50,N)
terminal :- ~open\nopen :- cell(X,b) % an end\n",
        "role(a) init(control(a)) init(step(1)) legal(go) legal(M) :- other(M) other(f(1))
go :: tick & far(2)\ntick :: step(M) & plus(M,1,N) ==> ~step(M) & step(N)\nfar(1) :: near
goal(R,N) :- step(N) & less(N,9) goal(R,0) :- ~lost(R) | role(R) & same(R,a)
terminal :- step(N) & ~(late(N) & distinct(N,3)) | mutex(a,b,c) & leq(1,2)
late(X) :- ~early(X) & ~done(Y) & done(X) early(X) :- ~done(X) done(4)",
        "p(f(X,Y)) :- q(X!Y![]) & r([a,b,X]) & same(f(X,Y),f(Y,X)) & minus(3,X,2,Y) & ~~s(X)",
        "p &(R) ~q(R) f(X) := g(X) next(1) :- does(a,go) & true(1) random(-3) \"a b\" tick()",
        "a :: b ==> c :- d % e\n. X :- Y\n_foo :- evaluate(plus(1,2),X)\n(p(1))",
    ])
}

/// Messages of Gamemaster in a match, one a line.
pub fn dialogues() -> Vec<Vec<u8>> {
    let rules = "role(a),role(b),init(cell(1,b)),init(cell(2,b)),init(control(a)),\
        legal(mark(X)) :- cell(X,b),mark(X) :: control(R) ==> ~cell(X,b) & cell(X,R),\
        mark(X) :: control(a) ==> ~control(a) & control(b),\
        mark(X) :: control(b) ==> ~control(b) & control(a),\
        goal(R,100) :- cell(1,R),terminal :- ~open,open :- cell(X,b)";
    let start = format!("start(a,ruleset({rules}),10,10)");
    texts([
        format!("ping()\n{start}\nplay([])\nplay(mark(1))\nplay(mark(2))\nstop(mark(2))"),
        format!("{start}\nplay(nil)\nplay(f(\"a,b\",[1,2],X))\nplay(-3)\nabort()\nplay([])"),
        "start(r,ruleset(role(r)),Infinity,1e9)\n(mark 1)\n($)\nnoop$\n\"a$zz.".to_string(),
    ])
}

/// Messages of each kind.
pub fn messages() -> Vec<Vec<u8>> {
    let start = |text: &str| format!("( START match.1 a ( {text} ) 10 5 )");
    let starts = [PUZZLE, RACE].map(start);
    let others = [
        "( INFO )",
        "( PREVIEW ( (role a) ) 10 )",
        "( PLAY match.1 NIL )",
        "( PLAY match.1 ( ( mark 1 2 ) noop ) )",
        "( play m ((move (f a) \u{e4})))",
        "( STOP match.1 ( go stay ) )",
        "( ABORT match.1 )",
    ];
    texts(starts.iter().map(String::as_str).chain(others))
}

/// Connections of game managers, of browsers, and of those who write carelessly.
pub fn requests() -> Vec<Vec<u8>> {
    let post = |headers: &str, body: &str| {
        let length = body.len();
        format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        )
    };
    let get = |target: &str, headers: &str| {
        format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")
    };
    let kept = "Connection: keep-alive\r\n";
    texts([
        post("Content-Type: text/acl\r\nSender: GAMESERVER\r\nReceiver: Panza\r\n", "( INFO )"),
        post("", "( PLAY x ( ( mark 1 2 ) noop ) )"),
        post("GGP-Match-Host: here\r\nGGP-Match-Players: [\"a\",\"b\"]\r\n", "( STOP x NIL )"),
        post(kept, "( INFO )") + &post(kept, "( ABORT x )") + &post("", "( PREVIEW )"),
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n( IN\r\n4\r\nFO )\r\n0\r\n\r\n".into(),
        "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 8\r\n\r\n( INFO )".into(),
        "OPTIONS / HTTP/1.1\r\nHost: x\r\nOrigin: http://localhost\r\n\r\n".into(),
        "GET /( INFO ) HTTP/1.0\r\n\r\n".into(),
        "GET /( INFO )\n\n".into(),
        "HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n".into(),
        get("/(%20INFO+)", ""),
        get("/", "Accept: text/html\r\nAccept-Encoding: gzip\r\n"),
        get("/api/matches?offset=1&limit=2&search=a+b%26c", ""),
        get("/api/matches/m/events?from=12", "Cookie: panza=x\r\nAuthorization: Bearer x\r\n"),
        get("/assets/style.css", "If-None-Match: \"x\"\r\n"),
        get("/metrics", "X-Forwarded-For: 1.2.3.4\r\n"),
        get("/matches/..%2f..%2fetc", ""),
    ])
}

/// The files of a match, one after the other.
pub fn logs() -> Vec<Vec<u8>> {
    let summary = json!({
        "match_id": "m", "game": "race", "role": "a", "roles": ["a", "b"], "players": ["x", "y"],
        "host": "here", "started": "2026-03-01T12:00:00.000000Z", "seconds": 12.5, "steps": 2,
        "how": "stopped", "goals": { "a": 100, "b": null }, "value": 73.5,
        "start_clock": 10.0, "play_clock": 5.0, "errors": 0, "lost_lines": 0,
    });
    let event = |at: f64, kind: &str, data: Value| {
        let time = "2026-03-01T12:00:00.000000Z";
        json!({ "time": time, "at_seconds": at, "kind": kind, "data": data }).to_string() + "\n"
    };
    let events = event(0.0, "log", json!({ "match_id": "m" }))
        + &event(
            0.0,
            "start",
            json!({ "role": "a", "roles": ["a", "b"], "start_clock": 10, "play_clock": 5 }),
        )
        + &event(
            1.0,
            "state",
            json!({ "step": 0, "facts": ["(at a 1)", "(at b 1)"] }),
        )
        + &event(
            1.5,
            "move",
            json!({ "step": 0, "move": "go", "value": 73.5, "seconds": 1.5, "due_seconds": 1.5 }),
        )
        + &event(2.0, "played", json!({ "step": 0, "moves": ["go", "stay"] }))
        + &event(2.0, "warning", json!({ "text": "late" }))
        + &event(2.0, "lost_lines", json!({ "count": 3 }))
        + &event(
            3.0,
            "end",
            json!({ "how": "stopped", "goals": { "a": 100, "b": null } }),
        );
    let series = "at_seconds,step,iterations,playouts,nodes,samples_per_request,root_moves\n\
        1,0,1000,64000,900,64,\"[[\"\"go\"\",10,73.5]]\"\n2,0,2000,128000,1700,64,\"[]\"\n";
    let log = "2026-03-01T12:00:00 INFO a match\n";
    let summary = summary.to_string();
    let all = |summary: &str| [summary, &events, series, log].join(NEXT_FILE);
    texts([all(&summary), all(""), all(&summary[..60])])
}

/// Files of tournaments.
pub fn tournaments() -> Vec<Vec<u8>> {
    let example = include_str!("../../config/example-tournament.toml");
    let all = "start_clock = 10\nplay_clock = 2\ngames_a_side = 3\nseed = 7\nparallel = 1\n\
        cores = [0, 1]\nlog_folder = \"logs\"\npairs = [[\"one\", \"two\"], [\"two\", \"three\"]]\n\
        games = [\"ticTacToe\", { game = \"hanoi\", start_clock = 3, play_clock = 1, games_a_side = 2 }]\n\
        [[players]]\nname = \"one\"\nbuiltin = \"panza\"\nset = [\"search.exploration=0.6\"]\n\
        [[players]]\nname = \"two\"\ncommand = [\"panza\", \"--listen\", \"127.0.0.1:{port}\"]\n\
        environment = { A = \"b\" }\nversion = \"3\"\nready_seconds = 4.5\n\
        [[players]]\nname = \"three\"\naddress = \"127.0.0.1:9147\"\n";
    texts([example, all])
}

/// Results of tournaments.
pub fn results() -> Vec<Vec<u8>> {
    let line = |side: u32, goals: [Option<u8>; 2]| {
        json!({
            "a": "one", "a_version": "1", "b": "two", "b_version": "", "game": "hex",
            "start_clock": 10, "play_clock": 1, "round": 0, "side": side,
            "roles": ["white", "black"], "players": ["one", "two"], "goals": goals,
            "ending": "terminal", "steps": 30, "seconds": 20.5,
            "faults": [{ "role": 1, "request": "play", "step": 3, "kind": "timeout", "detail": "" }],
            "moves": [["noop", "(mark 1 1)"]], "seed": 7, "cores": [0, null],
            "processor": "Some Processor", "date": "2026-01-02",
        })
        .to_string()
            + "\n"
    };
    texts([line(0, [Some(100), Some(0)]) + &line(1, [Some(50), None])])
}

/// Files of settings.
pub fn settings() -> Vec<Vec<u8>> {
    texts([
        include_str!("../../config/default.toml"),
        include_str!("../../config/tournament.toml"),
    ])
}

/// Collections of levels.
pub fn levels() -> Vec<Vec<u8>> {
    let lengths = "; 1 The hatch\n5#|#@$.#|5#\n\nAuthor: A. Person\nComment:\nit is\nsmall\nComment-End:\n\n\
        Solution/Moves\nR\n\n; 2\n#######\n#.$ $.#\n#  @  #\n#######\n\nSolution\n3r2L(rl)u\nruLdllluRR\n";
    let twelve = include_str!("../../sokoban-levels/twelve.sok");
    texts([
        twelve,
        lengths,
        "Title: x\n#####\n#@$.#\n#####\nSolution: R\n",
    ])
}

/// Notes of a plan and of an evaluation.
pub fn notes() -> Vec<Vec<u8>> {
    let [_, race] = games();
    let n_facts = race.info().facts().map_or(0, <[String]>::len);
    let plan = PlanNote {
        moves: vec!["go".into(), "stay".into(), "go".into()],
        goal: 100,
        is_best: true,
    };
    let study = |sum, tuples: Option<Arc<Tuples>>| {
        let n_weights = tuples.as_ref().map_or(0, |tuples| tuples.n_weights);
        let n_outputs = if sum == Some(100) { 1 } else { 2 };
        let evaluation = Evaluation::new(2, n_facts, sum, tuples, &mut Random::new(4));
        Preparation {
            evaluation: Some(Arc::new(evaluation.expect("the game is small"))),
            games: 1234,
            sums: Some(GradientSums {
                rows: vec![1.0; n_facts],
                bias: 2.5,
                outputs: vec![0.5; n_outputs],
                tables: vec![0.5; n_outputs * n_weights],
            }),
            ..Preparation::default()
        }
    };
    let variables = vec![vec![BaseId(0), BaseId(1)], vec![BaseId(2)]];
    let tuples = Tuples::new(variables, vec![vec![0, 1]], n_facts).map(Arc::new);
    let studies = [study(None, tuples), study(Some(100), None)];
    let of_studies = studies.iter();
    let of_studies = of_studies.flat_map(|study| panza_metagame::notes(race.info(), study));
    let mut notes: Vec<Value> = of_studies.map(|(_, note)| note).collect();
    for index in 0..notes.len() {
        let mut note = notes[index].clone();
        enlarge(&mut note);
        notes.push(note);
    }
    notes.push(plan.to_json());
    texts(notes.iter().map(Value::to_string))
}

/// Multiplies all fractions by more than any sum of them bears.
fn enlarge(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            *value = json!(number.as_f64().unwrap_or_default() * 1e38);
        }
        Value::Array(items) => items.iter_mut().for_each(enlarge),
        Value::Object(fields) => fields.values_mut().for_each(enlarge),
        _ => {}
    }
}

/// A memory with one game.
pub fn memories() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("there is a place for files");
    let path = folder.path().join("memory.sqlite");
    let mut store = Store::open(&path, 3, Duration::from_secs(1)).expect("the folder is new");
    let notes = [(
        Kind::Plan,
        json!({ "moves": ["gdl:go"], "goal": 100, "is_best": true }),
    )];
    let played = PastMatch {
        match_id: "m".into(),
        roles: vec!["a".into()],
        our_role: "a".into(),
        goals: vec![Some(100)],
        steps: 2,
        seconds: 12.5,
        ending: "stopped".into(),
        time: 1_700_000_000,
    };
    let written = store.write(SIGNATURE, PUZZLE, &notes, Some(&played));
    written.expect("the file can be written");
    // Closing moves the write-ahead log into the file.
    drop(store);
    vec![fs::read(&path).expect("the file was written")]
}

/// What editors send: a document that is opened, questions about it, and a goodbye.
pub fn sessions() -> Vec<Vec<u8>> {
    let place = r#"{"textDocument":{"uri":"file:///a.gdl"},"position":{"line":1,"character":6}"#;
    let ask = |id: u32, what: &str, more: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{what}","params":{place}{more}}}}}"#)
    };
    let texts = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#.to_string(),
        r#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///a.gdl","languageId":"gdl","version":1,"text":"(role a)\n(<= (legal a ?x) (tru ?x)"}}}"#.to_string(),
        r#"{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///a.gdl","version":2},"contentChanges":[{"text":"(role a)\n(init (p ?x))"}]}}"#.to_string(),
        ask(2, "textDocument/hover", ""),
        ask(3, "textDocument/completion", ""),
        ask(4, "textDocument/rename", r#","newName":"b""#),
        ask(5, "textDocument/definition", ""),
        ask(6, "textDocument/formatting", r#","options":{"tabSize":2,"insertSpaces":true}"#),
        ask(7, "textDocument/documentSymbol", ""),
        r#"{"jsonrpc":"2.0","id":8,"method":"shutdown"}"#.to_string(),
        r#"{"jsonrpc":"2.0","method":"exit"}"#.to_string(),
    ];
    let framed = texts.map(|text| format!("Content-Length: {}\r\n\r\n{text}", text.len()));
    vec![framed.concat().into_bytes(), framed[0].clone().into_bytes()]
}
