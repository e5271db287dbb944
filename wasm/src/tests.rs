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
    (Host::new(Box::new(storage)).unwrap(), names)
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
