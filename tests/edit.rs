//! Writing rulesheets in a browser, over HTTP: who may, and what is answered.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::support::client::{Answer, send};
use crate::support::logging_server;
use crate::support::pile::rules;

const OWN: &str = "panza-page: 1\r\n";
const FAULTY: &str = "(role a)\n(<= (legal a go) (true (at 1))\n(init (at 1))\n";

fn post(address: SocketAddr, path: &str, headers: &str, body: &str) -> Answer {
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    );
    send(address, &request)
}

fn get(address: SocketAddr, path: &str) -> Answer {
    send(
        address,
        &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    )
}

fn asked(text: &str) -> String {
    json!({ "text": text, "at": 1 }).to_string()
}

fn json(answer: &Answer) -> Value {
    assert_eq!(answer.code(), "200", "{}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}

#[test]
fn rules_are_checked_laid_out_and_tried_out() {
    let (server, _root) = logging_server(&[]);
    let page = get(server.address, "/edit");
    assert!(page.body.contains("id=\"editor\""), "{}", page.body);
    assert!(get(server.address, "/assets/codemirror.js").body.len() > 100_000);
    let text = get(server.address, "/api/games/ticTacToe").body;
    assert!(text.contains("(role xplayer)"), "{text}");
    assert_eq!(get(server.address, "/api/games/none").code(), "404");
    let ask = |what: &str, text: &str| {
        let path = format!("/api/{what}");
        post(server.address, &path, OWN, &asked(text))
    };
    assert_eq!(
        json(&ask("check", &text)),
        json!({ "dialect": "kif", "diagnostics": [], "more": 0, "roles": ["xplayer", "oplayer"] })
    );
    let found = json(&ask("check", FAULTY));
    let open = &found["diagnostics"][0];
    assert_eq!(
        (&open["code"], &open["line"]),
        (&json!("no-goal"), &json!(1))
    );
    let is_mended = |it: &Value| it["fix"]["edits"][0]["text"] == ")";
    assert!(
        found["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .any(is_mended),
        "{found}"
    );
    assert_eq!(
        json(&ask("format", "(role  a)")),
        json!({ "text": "(role a)\n" })
    );
    assert_eq!(json(&ask("explain", &text)), Value::Null);
    assert!(
        json(&ask("complete", "("))
            .to_string()
            .contains("role ${1:player}")
    );
    let seen = json(&ask("preview", &text));
    assert_eq!(seen["n_legal"], json!([9, 1]));
    let refused = ask("preview", FAULTY);
    assert_eq!(refused.code(), "422");
    assert!(
        refused.body.starts_with("rules:2:1: error"),
        "{}",
        refused.body
    );
    let goalless = "(role a) (legal a go) (init p)
        (<= terminal (not (true p))) (<= (goal a 100) (true p))";
    let seen = json(&ask("trial", goalless));
    assert_eq!(seen["diagnostics"][0]["code"], "no-goal", "{seen}");
    assert_eq!(ask("trial", FAULTY).code(), "422");
    for body in ["", "{}", "[1]", "{\"text\": 1}"] {
        for path in ["/api/check", "/api/trial"] {
            let refused = post(server.address, path, OWN, body);
            assert_eq!(refused.code(), "400", "{path} {body}");
        }
    }
    let most = 2 << 20;
    assert_eq!(
        post(server.address, "/api/check", OWN, &asked(&"x".repeat(most))).code(),
        "413"
    );
    assert_eq!(post(server.address, "/api/other", OWN, "{}").code(), "400");
}

#[test]
fn only_the_pages_of_this_machine_may_ask() {
    let (server, _root) = logging_server(&[
        "server.pages_for=secret",
        "server.pages_secret=0123456789abcdef",
    ]);
    let secret = format!("{OWN}Authorization: Bearer 0123456789abcdef\r\n");
    for what in ["check", "complete", "explain", "format", "preview", "trial"] {
        let path = format!("/api/{what}");
        let body = asked(&rules(9));
        assert_eq!(
            post(server.address, &path, OWN, &body).code(),
            "403",
            "{what}"
        );
        assert_eq!(
            post(server.address, &path, &secret, &body).code(),
            "200",
            "{what}"
        );
        let foreign = format!("{secret}Origin: http://evil.example\r\n");
        assert_eq!(
            post(server.address, &path, &foreign, &body).code(),
            "403",
            "{what}"
        );
    }
    assert_eq!(get(server.address, "/edit").code(), "404");
    let (server, _root) = logging_server(&[]);
    let without = post(server.address, "/api/check", "", &asked(""));
    assert_eq!(without.code(), "403");
}
