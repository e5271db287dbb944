//! The debug log of a match. It is the only test of its program, since the messages of a process
//! are set up once.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use panza_config::Settings;
use panza_gdl::sexpr;
use panza_player::{
    Answer, GameBuilders, Manager, Message, PlayRequest, Player, StartRequest, StartRules,
};

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(300);

fn ask(player: &Player, message: Message) -> Answer {
    let (sender, answers) = mpsc::channel();
    player.handle(
        message,
        Box::new(move |answer| sender.send(answer).unwrap()),
    );
    answers
        .recv_timeout(PATIENCE)
        .expect("every message is answered")
}

#[test]
fn the_debug_log_of_a_match_has_lines_of_all_its_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let settings = [
        format!("logs.folder={}", path("logs")),
        format!("memory.path={}", path("memory.sqlite")),
        "search.threads=1".to_string(),
        "metagame.learning=false".to_string(),
    ];
    let settings = Settings::load(None, &settings).unwrap();
    let console = panza_telemetry::init(tracing::Level::ERROR).unwrap();
    let player = Player::new(&settings, GameBuilders::standard()).unwrap();
    let rules = panza_testing::rulesheet("connectFour");
    let start = StartRequest {
        match_id: "m".into(),
        role: "red".into(),
        rules: StartRules::read(&sexpr::parse(rules).0, rules, "m").unwrap(),
        start_clock: Duration::from_secs(8),
        play_clock: Duration::from_secs(2),
        received: Instant::now(),
        manager: Manager::default(),
    };
    assert_eq!(ask(&player, Message::Start(start)), Answer::Ready);
    let play = PlayRequest {
        match_id: "m".into(),
        moves: None,
        is_repeat: None,
        received: Instant::now(),
    };
    assert!(matches!(ask(&player, Message::Play(play)), Answer::Move(_)));
    let stop = Message::Stop {
        match_id: "m".into(),
        moves: None,
    };
    assert_eq!(ask(&player, stop), Answer::Done);
    assert!(player.shut_down(PATIENCE));
    drop(console);

    let read =
        |name: &str| std::fs::read_to_string(folder.path().join("logs/m").join(name)).unwrap();
    let text = read("debug.log");
    for thread in [
        "player",
        "match",
        "build",
        "study",
        "board",
        "memory",
        "rollout-0",
    ] {
        assert!(
            text.contains(&format!(" [{thread}] panza_")),
            "{thread} in\n{text}"
        );
    }
    for level in ["DEBUG", " INFO"] {
        assert!(text.contains(&format!(" {level} [")), "{level} in\n{text}");
    }
    assert!(
        text.contains("panza_player::common::record: plays red in m,"),
        "{text}"
    );

    // What follows from the rules is prepared without learning too.
    let events = read("events.jsonl");
    let preparation = events
        .lines()
        .find(|line| line.contains(r#""kind":"study""#));
    let preparation: serde_json::Value =
        serde_json::from_str(preparation.expect("a study")).unwrap();
    assert_eq!(
        preparation["data"]["games"].as_u64(),
        Some(0),
        "{preparation}"
    );
}
