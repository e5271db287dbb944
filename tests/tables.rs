//! Playing in a browser, over HTTP: who may, what is answered, and that matches go first.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::client::{Answer, Running, send};
use crate::support::logging_server;
use crate::support::pile::rules;

const PATIENCE: Duration = Duration::from_secs(120);
const OWN: &str = "panza-page: 1\r\n";

fn post(address: SocketAddr, path: &str, headers: &str, body: &str) -> Answer {
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    );
    send(address, &request)
}

fn get(address: SocketAddr, path: &str, headers: &str) -> Answer {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
    send(address, &request)
}

fn json(answer: &Answer) -> Value {
    assert_eq!(answer.code(), "200", "{}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}

fn open(server: &Running, setting: &Value) -> String {
    let answer = post(server.address, "/api/tables", OWN, &setting.to_string());
    json(&answer)["table"].as_str().unwrap().to_string()
}

/// The first view of a table that fits.
fn wait(server: &Running, table: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + PATIENCE;
    let mut version = 0;
    loop {
        let path = format!("/api/tables/{table}?after={version}");
        let view = json(&get(server.address, &path, ""));
        if fits(&view) {
            return view;
        }
        assert!(Instant::now() < until, "{view}");
        version = view["version"].as_u64().unwrap();
    }
}

#[test]
fn a_game_is_played_over_http_and_logged() {
    let (server, _root) = logging_server(&[]);
    let games = json(&get(server.address, "/api/games", ""));
    let is_there =
        |game: &Value| game["name"] == "ticTacToe" && game["roles"].as_array().unwrap().len() == 2;
    assert!(games["games"].as_array().unwrap().iter().any(is_there));
    let table = open(&server, &json!({ "game": "ticTacToe", "iterations": 20 }));
    let is_asked = |view: &Value| {
        view["legal"][0]
            .as_array()
            .is_some_and(|moves| !moves.is_empty())
    };
    let end = loop {
        let view = wait(&server, &table, |view| {
            is_asked(view) || view["phase"] == "over"
        });
        if view["phase"] == "over" {
            break view;
        }
        let turn = view["moves"].as_array().unwrap().len();
        let order = json!({ "do": "move", "turn": turn, "role": view["roles"][0], "text": view["legal"][0][0] });
        let path = format!("/api/tables/{table}");
        json(&post(server.address, &path, OWN, &order.to_string()));
        wait(&server, &table, |view| {
            view["moves"].as_array().unwrap().len() > turn
        });
    };
    let log = end["log"].as_str().unwrap();
    let until = Instant::now() + PATIENCE;
    loop {
        let entry = json(&get(server.address, &format!("/api/matches/{log}"), ""));
        if entry["goals"].is_object() {
            assert_eq!(entry["game"], "ticTacToe");
            break;
        }
        assert!(Instant::now() < until, "{entry}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_match_of_a_known_game_is_drawn_by_its_file() {
    let (server, _root) = logging_server(&[]);
    let play = |name: &str, game: &str, role: &str| {
        let source = std::fs::read_to_string(format!("gdl-games/{game}.gdl")).unwrap();
        let rules = source.lines().filter(|line| !line.starts_with(';'));
        let rules: Vec<&str> = rules.collect();
        let rules = rules.join(" ");
        let message = format!("( START {name} {role} ({rules}) 0.2 600 )");
        assert_eq!(server.ask(&message), "ready");
        assert_eq!(server.ask(&format!("( ABORT {name} )")), "aborted");
    };
    play("one", "hex", "red");
    play("two", "ticTacToe", "xplayer");
    let drawn = |name: &str| get(server.address, &format!("/api/matches/{name}/board"), "");
    // Threads of their own write the logs.
    let until = Instant::now() + PATIENCE;
    while drawn("one").code() == "404"
        || json(&drawn("one"))["shapes"].as_array().unwrap().is_empty()
    {
        assert!(Instant::now() < until, "{:?}", json(&drawn("one")));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(json(&drawn("one"))["shapes"].as_array().unwrap().len(), 1);
    assert_eq!(json(&drawn("two"))["shapes"], json!([]));
    assert_eq!(drawn("three").code(), "404");
}

#[test]
fn only_pages_of_this_player_and_machine_may_play() {
    let (server, _root) = logging_server(&[]);
    let opening = json!({ "game": "ticTacToe" }).to_string();
    let refused = |headers: &str| post(server.address, "/api/tables", headers, &opening);
    assert_eq!(refused("").code(), "403");
    let through_proxy = format!("{OWN}X-Forwarded-For: 192.0.2.1\r\n");
    assert_eq!(refused(&through_proxy).code(), "403");
    assert_eq!(
        get(server.address, "/play", "X-Forwarded-For: 192.0.2.1\r\n").code(),
        "404"
    );
    assert_eq!(get(server.address, "/play", "").code(), "200");
    let logs = server.logs.unwrap();
    assert_eq!(post(logs, "/api/tables", OWN, &opening).code(), "405");
    assert_eq!(get(logs, "/play", "").code(), "404");
    // The headers that pages of other origins may send do not have it.
    let asked =
        "OPTIONS /api/tables HTTP/1.1\r\nHost: localhost\r\nOrigin: http://elsewhere\r\n\r\n";
    let allowed = send(server.address, asked);
    assert_eq!(
        allowed.header("access-control-allow-headers"),
        Some("Content-Type")
    );
}

#[test]
fn faulty_orders_are_refused_with_a_reason() {
    let (server, _root) = logging_server(&[]);
    let told = |path: &str, body: &str| post(server.address, path, OWN, body);
    for (path, body, code, reason) in [
        ("/api/tables", "{", "400", "not understood"),
        ("/api/tables", "{}", "400", "expected the name of a game"),
        ("/api/tables", r#"{"game":"x"}"#, "404", "no game `x`"),
        ("/api/tables", r#"{"rules":"(role a"}"#, "422", "rules:1:1"),
        (
            "/api/tables",
            r#"{"game":"hex","people":["king"]}"#,
            "422",
            "no role",
        ),
        (
            "/api/tables",
            r#"{"game":"ticTacToe","people":"third"}"#,
            "422",
            "this game has 2 roles",
        ),
        (
            "/api/tables",
            r#"{"table":"0123456789abcdef"}"#,
            "404",
            "not there any more",
        ),
        (
            "/api/tables/x",
            r#"{"do":"undo"}"#,
            "404",
            "not there any more",
        ),
        ("/api/tables/x", r#"{"do":"fly"}"#, "400", "fly"),
        ("/api/tables/x/y", "{}", "404", ""),
    ] {
        let answer = told(path, body);
        assert_eq!(answer.code(), code, "{path} {body}");
        assert!(answer.body.contains(reason), "{}", answer.body);
    }
    assert_eq!(get(server.address, "/api/tables/x", "").code(), "404");
}

#[test]
fn a_table_waits_while_a_match_is_played() {
    let (server, _root) = logging_server(&[]);
    let setting = json!({ "game": "breakthrough", "people": "none", "seconds": 0.05 });
    let table = open(&server, &setting);
    let n_moves = |view: &Value| view["moves"].as_array().unwrap().len();
    wait(&server, &table, |view| n_moves(view) > 1);
    let message = format!("( START m first ( {} ) 0.2 600 )", rules(4));
    assert_eq!(server.ask(&message), "ready");
    let waits = wait(&server, &table, |view| view["waits"] == true);
    assert_eq!(server.ask("( ABORT m )"), "aborted");
    let before = n_moves(&waits);
    wait(&server, &table, |view| {
        n_moves(view) > before && view["waits"] == false
    });
}

#[test]
fn a_match_is_studied_from_its_log_and_gives_way_to_another() {
    let (server, _root) = logging_server(&[]);
    let setting = json!({ "game": "ticTacToe", "people": "none", "iterations": 20 });
    let table = open(&server, &setting);
    let played = wait(&server, &table, |view| view["phase"] == "over");
    let folder = played["log"].as_str().unwrap();
    let study = |what: &Value| json!({ "seconds": 30, "study": what });
    let table = open(&server, &study(&json!({ "match": folder, "turn": 2 })));
    let shown = wait(&server, &table, |view| {
        view["study"]["position"]
            .as_u64()
            .is_some_and(|position| position > 0)
    });
    assert_eq!(shown["study"]["line"], played["moves"]);
    assert_eq!(shown["moves"].as_array().unwrap().len(), 2);
    // The game inside the program says what it is.
    assert_eq!(shown["title"], played["title"]);
    let of_table = open(&server, &study(&json!({ "table": table })));
    wait(&server, &of_table, |view| view["study"]["turn"] == 2);
    // The record of another game manager names its game.
    let record = json!({
        "matchId": "m", "gameMetaURL": "http://games.example/ticTacToe/", "states": [],
        "moves": [["( mark 2 2 )", "noop"]],
    });
    let of_record = json!({ "rules": record.to_string(), "seconds": 30, "study": {} });
    let of_record = open(&server, &of_record);
    let shown = wait(&server, &of_record, |view| view["study"]["turn"] == 1);
    assert_eq!(shown["study"]["line"], json!([["(mark 2 2)", "noop"]]));

    // Thinking waits for a match.
    let game = json!({ "game": "breakthrough", "seconds": 60, "study": {} });
    let table = open(&server, &game);
    let report = |fits: &dyn Fn(&Value) -> bool| {
        let until = Instant::now() + PATIENCE;
        loop {
            let path = format!("/api/tables/{table}/report");
            let report = json(&get(server.address, &path, ""));
            if fits(&report) {
                return report;
            }
            assert!(Instant::now() < until, "{report}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    report(&|report| report["state"] == "searching" && report["iterations"].as_u64() > Some(0));
    let message = format!("( START m first ( {} ) 0.2 600 )", rules(4));
    assert_eq!(server.ask(&message), "ready");
    report(&|report| report["state"] == "waiting");
    assert_eq!(server.ask("( ABORT m )"), "aborted");
    report(&|report| report["state"] == "searching");
}

#[test]
fn what_cannot_be_studied_is_refused_with_a_reason() {
    let (server, _root) = logging_server(&[]);
    for (body, code, reason) in [
        (r#"{"study":{}}"#, "400", "expected the name of a game"),
        (r#"{"study":{"match":"../x"}}"#, "404", "no match"),
        (r#"{"study":{"match":"none"}}"#, "404", "no match"),
        (r#"{"study":{"table":"none"}}"#, "404", "not there any more"),
        (
            r#"{"rules":"{\"moves\":[],\"states\":[],\"gameName\":\"x\"}","study":{}}"#,
            "422",
            "there is no game `x`",
        ),
        (
            r#"{"game":"hex","study":{"line":3}}"#,
            "400",
            "not understood",
        ),
    ] {
        let answer = post(server.address, "/api/tables", OWN, body);
        assert_eq!(answer.code(), code, "{body}: {}", answer.body);
        assert!(answer.body.contains(reason), "{}", answer.body);
    }
    assert_eq!(get(server.address, "/study", "").code(), "200");
    let forwarded = "X-Forwarded-For: 192.0.2.1\r\n";
    assert_eq!(get(server.address, "/study", forwarded).code(), "404");
    let path = "/api/tables/x/report";
    assert_eq!(get(server.address, path, forwarded).code(), "404");
    assert_eq!(get(server.address, path, "").code(), "404");
    let opening = r#"{"game":"hex","study":{}}"#;
    assert_eq!(
        post(server.address, "/api/tables", "", opening).code(),
        "403"
    );
}
