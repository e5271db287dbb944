use super::*;
use panza_telemetry::MatchLog;

/// The pages of a player that logs into a folder of its own.
fn pages() -> (tempfile::TempDir, Arc<Pages>) {
    let root = tempfile::tempdir().unwrap();
    let folder = format!("logs.folder={}", root.path().display());
    let items = [folder, "memory.enabled=false".into()];
    let settings = Settings::load(None, &items).unwrap();
    let player = Player::new(&settings, GameBuilders::standard()).unwrap();
    let pages = Pages::new(player, &settings, None);
    (root, Arc::new(pages))
}

#[test]
fn others_see_only_what_has_ended_and_only_at_the_log_service() {
    let (root, pages) = pages();
    let live = MatchLog::create(root.path(), "live").unwrap();
    drop(MatchLog::create(root.path(), "ended").unwrap());
    let reply = |path: &str, at_log_service, sees_all| {
        let client = Client {
            at_log_service,
            sees_all,
            ..Client::default()
        };
        let request = PageRequest {
            path: path.into(),
            client,
            ..PageRequest::default()
        };
        pages.route(request).answer()
    };
    let status = |path, at_log_service, sees_all| reply(path, at_log_service, sees_all).status;
    let (ok, not_found) = (PageStatus::Ok, PageStatus::NotFound);
    for path in ["/", "/matches/live", "/api/matches/ended/log", "/metrics"] {
        let seen = if path == "/metrics" { ok } else { not_found };
        assert_eq!(status(path, false, true), ok, "{path}");
        assert_eq!(status(path, false, false), seen, "{path}");
    }
    for path in [
        "/matches/live",
        "/api/matches/live",
        "/api/matches/live/series",
        "/live",
    ] {
        assert_eq!(status(path, true, true), ok, "{path}");
        assert_eq!(status(path, true, false), not_found, "{path}");
    }
    for path in ["/", "/matches/ended", "/api/matches/ended/log", "/ended"] {
        assert_eq!(status(path, true, false), ok, "{path}");
    }
    let listed = reply("/api/matches", true, false).body;
    let listed = String::from_utf8_lossy(&listed);
    assert!(listed.contains("\"folder\":\"ended\""), "{listed}");
    assert!(!listed.contains("\"folder\":\"live\""), "{listed}");
    drop(live);
}

#[test]
fn a_log_that_is_being_closed_is_waited_for() {
    let (root, pages) = pages();
    let closing = MatchLog::create(root.path(), "m").unwrap();
    let request = PageRequest {
        path: "/m".into(),
        client: Client {
            at_log_service: true,
            ..Client::default()
        },
        ..PageRequest::default()
    };
    let asked = pages.route(request);
    std::thread::scope(|scope| {
        let answer = scope.spawn(move || asked.answer());
        std::thread::sleep(Duration::from_millis(50));
        closing.summarise(|summary| summary.how = Some("stopped".into()));
        drop(closing);
        let answer = answer.join().unwrap();
        assert_eq!(answer.status, PageStatus::Ok);
        let body = String::from_utf8_lossy(&answer.body);
        assert!(body.contains("\"how\":\"stopped\""), "{body}");
    });
}

#[test]
fn pages_to_play_on_are_for_those_that_may() {
    let (_root, pages) = pages();
    let status = |method, path: &str, client| {
        let request = PageRequest {
            method,
            path: path.into(),
            body: b"{\"text\": \"\"}".to_vec(),
            client,
            ..PageRequest::default()
        };
        pages.route(request).answer().status
    };
    let stranger = Client {
        sees_all: true,
        is_own_page: true,
        ..Client::default()
    };
    let own = Client {
        may_play: true,
        ..stranger
    };
    let foreign_page = Client {
        is_own_page: false,
        ..own
    };
    let (get, post) = (Method::Get, Method::Post);
    for path in ["/play", "/study", "/edit", "/api/games", "/api/gamemaster"] {
        assert_eq!(status(get, path, own), PageStatus::Ok, "{path}");
        assert_eq!(status(get, path, stranger), PageStatus::NotFound, "{path}");
    }
    assert_eq!(status(post, "/api/check", own), PageStatus::Ok);
    for client in [stranger, foreign_page] {
        assert_eq!(status(post, "/api/check", client), PageStatus::Forbidden);
    }
    let rebound = Client {
        names_unknown_host: true,
        ..Client::default()
    };
    for path in ["/", "/matches/m", "/api/other"] {
        assert_eq!(status(get, path, rebound), PageStatus::Forbidden, "{path}");
    }
    assert_eq!(status(get, "/play", rebound), PageStatus::NotFound);
}
