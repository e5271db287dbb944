use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::storage::Told;
use super::*;
use panza_sync::lock;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(120);

/// A host, and the names of the files that it keeps.
fn host() -> (Host, Arc<Mutex<BTreeSet<String>>>) {
    let names = Arc::new(Mutex::new(BTreeSet::new()));
    let told = Arc::clone(&names);
    let storage = Told::new(Box::new(move |name, text| {
        let mut names = lock(&told);
        match text {
            Some(_) => names.insert(name.to_string()),
            None => names.remove(name),
        };
    }));
    (Host::new(Box::new(storage), 0).unwrap(), names)
}

fn reply(host: &mut Host, method: Method, address: &str, body: &Value) -> (u32, Value) {
    let body = body.to_string().into_bytes();
    let found = match host.request(method, address, body) {
        Outcome::Reply(reply) => reply,
        Outcome::Waits(key) => {
            let until = after(PATIENCE);
            loop {
                host.work(Duration::from_millis(5));
                if let Some((found, reply)) = host.finished() {
                    assert_eq!(found, key);
                    break reply;
                }
                assert!(!is_past(until), "{address}");
            }
        }
    };
    let value = serde_json::from_slice(&found.body).unwrap_or_default();
    (found.status as u32, value)
}

#[test]
fn a_game_is_opened_watched_and_kept() {
    let (mut host, names) = host();
    let asked = json!({ "game": "ticTacToe", "people": "first", "iterations": 20 });
    let (status, opened) = reply(&mut host, Method::Post, "/api/tables", &asked);
    assert_eq!(status, 200);
    let address = format!("/api/tables/{}", opened["table"].as_str().unwrap());
    let (_, mut view) = reply(&mut host, Method::Get, &address, &Value::Null);
    while view["phase"] != "playing" {
        let newer = format!("{address}?after={}", view["version"]);
        view = reply(&mut host, Method::Get, &newer, &Value::Null).1;
    }
    assert_eq!(view["legal"][0].as_array().map(Vec::len), Some(9));
    let files = lock(&names).clone();
    assert!(
        files.iter().any(|name| name.ends_with("/game.json")),
        "{files:?}"
    );
}

#[test]
fn a_damaged_file_is_kept_aside() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let changes = Arc::clone(&told);
    let storage = Told::new(Box::new(move |name, text| {
        lock(&changes).push((name.to_string(), text.map(<[u8]>::to_vec)));
    }));
    storage.take("table/state.json".into(), b"{".to_vec());
    let aside = storage.put_aside("table", "state.json").unwrap();
    assert_eq!(aside, "table/state.damaged");
    assert!(!storage.has("table", "state.json"));
    let expected = [
        (aside, Some(b"{".to_vec())),
        ("table/state.json".into(), None),
    ];
    assert_eq!(*lock(&told), expected);
    assert!(storage.put_aside("table", "state.json").is_err());
}

#[test]
fn a_bounded_number_of_requests_waits() {
    let (mut host, _) = host();
    let asked = json!({ "game": "ticTacToe" });
    let (_, opened) = reply(&mut host, Method::Post, "/api/tables", &asked);
    let address = format!("/api/tables/{}", opened["table"].as_str().unwrap());
    let (_, view) = reply(&mut host, Method::Get, &address, &Value::Null);
    let newer = format!("{address}?after={}", view["version"]);
    let ask = |host: &mut Host| match host.request(Method::Get, &newer, Vec::new()) {
        Outcome::Waits(key) => Some(key),
        Outcome::Reply(_) => None,
    };
    let keys: Vec<u32> = (0..MAX_WAITING).filter_map(|_| ask(&mut host)).collect();
    assert_eq!(keys.len(), MAX_WAITING);
    assert_eq!(ask(&mut host), None);
}

/// x and o fill two squares in turn; who has the first one wins.
const RULES: &str = "role(x),role(o),square(1),square(2),init(cell(N,b)) :- square(N),\
    init(control(x)),legal(mark(N)) :- cell(N,b),\
    mark(N) :: control(R) ==> ~cell(N,b) & cell(N,R),\
    mark(N) :: control(x) ==> ~control(x) & control(o),\
    mark(N) :: control(o) ==> ~control(o) & control(x),\
    goal(R,100) :- role(R) & cell(1,R),goal(R,0) :- role(R) & ~cell(1,R),\
    terminal :- ~cell(1,b) & ~cell(2,b)";

/// The answer to a message of Gamemaster.
fn say(host: &mut Host, number: u32, content: &str) -> (u32, Value) {
    let body = json!({ "player": "panza", "number": number, "content": content, "waited": 0 });
    reply(host, Method::Post, GAMEMASTER, &body)
}

#[test]
fn a_match_of_gamemaster_is_played() {
    let (mut host, names) = host();
    assert_eq!(say(&mut host, 1, "ping()").1["reply"], "ready");
    assert_eq!(say(&mut host, 1, "start(x)").0, 400);
    let start = format!("start(x,ruleset({RULES}),10,10)");
    assert_eq!(say(&mut host, 2, &start).1["reply"], "ready");
    let (_, found) = say(&mut host, 3, "play([])");
    assert_eq!(found["reply"], "mark(1)");
    assert_eq!(found["thoughts"]["move"], "mark(1)");
    assert_eq!(found["thoughts"]["value"], 100.0);
    assert_eq!(say(&mut host, 4, "play(mark(1))").1["reply"], Value::Null);
    assert_eq!(say(&mut host, 5, "stop(mark(2))").1["reply"], Value::Null);
    let (status, _) = say(&mut host, 6, "play([])");
    assert_eq!(status, 400);
    assert!(lock(&names).is_empty());
}

#[test]
fn a_match_that_is_told_at_once_goes_on_where_it_is() {
    let (mut host, _) = host();
    let start = format!("start(o,ruleset({RULES}),10,10)");
    for (number, content) in [(1, &*start), (2, "play([])")] {
        let body = json!({ "player": "panza", "number": number, "content": content });
        let body = body.to_string().into_bytes();
        let outcome = host.request(Method::Post, GAMEMASTER, body);
        assert!(matches!(outcome, Outcome::Waits(_)));
    }
    let waits = |host: &mut Host| {
        let body = json!({ "player": "panza", "number": 3, "content": "play(mark(2))" });
        let body = body.to_string().into_bytes();
        match host.request(Method::Post, GAMEMASTER, body) {
            Outcome::Waits(key) => key,
            Outcome::Reply(reply) => panic!("{reply:?}"),
        }
    };
    let key = waits(&mut host);
    let until = after(PATIENCE);
    let found = loop {
        host.work(Duration::from_millis(5));
        match host.finished() {
            Some((found, reply)) if found == key => break reply,
            _ => assert!(!is_past(until)),
        }
    };
    let found: Value = serde_json::from_slice(&found.body).unwrap();
    assert_eq!(found["reply"], "mark(1)");
}

#[test]
fn what_needs_a_server_is_refused() {
    let (mut host, _) = host();
    for address in [
        "/",
        "/api/matches",
        "/metrics",
        "/api/training",
        "/api/gamesx",
        "/play",
    ] {
        let found = reply(&mut host, Method::Get, address, &Value::Null);
        assert_eq!(found.0, 404, "{address}");
    }
    let found = reply(
        &mut host,
        Method::Post,
        "/api/check",
        &json!({ "text": "(role" }),
    );
    let codes = found.1["diagnostics"].as_array().unwrap().iter();
    let mut codes = codes.map(|it| it["code"].as_str().unwrap());
    assert!(codes.any(|code| code == "unclosed-parenthesis"));
}
