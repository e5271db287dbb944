//! The logs of matches that alpha-beta may play: what the debug log tells beside the readable one,
//! and that the times of the threads add up. It is the only test of its program, since the messages
//! of a process are set up once, and its processor time is that of all its threads.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use panza_config::Settings;
use panza_gdl::sexpr;
use panza_player::{
    Answer, GameBuilders, Manager, Message, PlayRequest, Player, StartRequest, StartRules,
};

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(300);
/// Lines of figures, a second each, over which times are compared.
const COMPARED: usize = 4;

fn ask(player: &Player, message: Message) -> Receiver<Answer> {
    let (sender, answers) = channel();
    let reply = move |answer| sender.send(answer).unwrap();
    player.handle(message, Box::new(reply));
    answers
}

fn answer(player: &Player, message: Message) -> Answer {
    let answer = ask(player, message).recv_timeout(PATIENCE);
    answer.expect("every message is answered")
}

/// Starts a match, sends a PLAY, does something until its answer, and stops.
fn play(folder: &Path, method: &str, game: &str, clocks: [u64; 2], meanwhile: impl FnOnce(&Path)) {
    let settings = [
        format!("logs.folder={}", folder.display()),
        format!("search.method={method}"),
        "memory.enabled=false".to_string(),
        "search.threads=1".to_string(),
    ];
    let settings = Settings::load(None, &settings).unwrap();
    let player = Player::new(&settings, GameBuilders::standard()).unwrap();
    let rules = panza_testing::rulesheet(game);
    let [start_clock, play_clock] = clocks.map(Duration::from_secs);
    let rules = StartRules::read(&sexpr::parse(rules).0, rules, method).unwrap();
    let start = StartRequest {
        match_id: method.into(),
        role: rules.rules.role_names().swap_remove(0),
        rules,
        start_clock,
        play_clock,
        received: Instant::now(),
        manager: Manager::default(),
    };
    assert_eq!(answer(&player, Message::Start(start)), Answer::Ready);
    let play = PlayRequest {
        match_id: method.into(),
        moves: None,
        is_repeat: None,
        received: Instant::now(),
    };
    let moved = ask(&player, Message::Play(play));
    meanwhile(&folder.join(method));
    assert!(matches!(moved.recv_timeout(PATIENCE), Ok(Answer::Move(_))));
    let stop = Message::Stop {
        match_id: method.into(),
        moves: None,
    };
    assert_eq!(answer(&player, stop), Answer::Done);
    assert!(player.shut_down(PATIENCE));
}

/// Of each line of figures the time, the sum of all stages, and the stage of alpha-beta.
fn figures(folder: &Path) -> Vec<[f64; 3]> {
    let series = fs::read_to_string(folder.join("series.csv")).unwrap();
    // A line that is being written is left out.
    let whole = series.rfind('\n').map_or("", |end| &series[..end]);
    let mut lines = whole.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let line = |line: &str| {
        let cells: Vec<&str> = line.splitn(names.len(), ',').collect();
        let sum = |beginning: &str| -> f64 {
            let named = names.iter().zip(&cells);
            let named = named.filter(|(name, _)| name.starts_with(beginning));
            named.map(|(_, cell)| cell.parse::<f64>().unwrap()).sum()
        };
        [sum("at_seconds"), sum("time_"), sum("time_alpha_beta")]
    };
    lines.map(line).collect()
}

/// Waits for this number of lines of figures. Returns how many there are, and the processor time of
/// this process in seconds, threads that have ended included.
fn when_there_are(folder: &Path, wanted: usize) -> (usize, f64) {
    let begin = Instant::now();
    loop {
        let found = figures(folder).len();
        let stat = fs::read_to_string("/proc/self/stat").unwrap();
        let fields: Vec<&str> = stat[stat.rfind(')').unwrap()..].split(' ').collect();
        let ticks: f64 = fields[12..14]
            .iter()
            .map(|it| it.parse::<f64>().unwrap())
            .sum();
        if found >= wanted {
            return (found, ticks / 100.0);
        }
        assert!(begin.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// It compares times of the system, so it needs a quiet machine and runs where `PANZA_TIMED` is
/// set.
#[test]
fn the_debug_log_tells_what_was_found_and_times_add_up() {
    if std::env::var_os("PANZA_TIMED").is_none() {
        eprintln!("left out: without PANZA_TIMED");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let console = panza_telemetry::init(tracing::Level::ERROR).unwrap();
    play(folder.path(), "auto", "connectFour", [10, 2], |_| {});
    play(
        folder.path(),
        "alpha-beta",
        "breakthrough",
        [5, 12],
        |folder| {
            let n_before = figures(folder).len();
            let (first, before) = when_there_are(folder, n_before + 1);
            let (last, after) = when_there_are(folder, first + COMPARED);
            let lines = &figures(folder)[first - 1..last];
            let over_time = |stage: usize| -> f64 {
                let pairs = lines.iter().zip(&lines[1..]);
                pairs
                    .map(|(earlier, it)| it[stage] * (it[0] - earlier[0]))
                    .sum()
            };
            let (told, spent) = (over_time(1), after - before);
            assert!(
                (told - spent).abs() < 0.05 * spent,
                "{told} of {spent}: {lines:?}"
            );
            assert!(over_time(2) > 0.8 * told, "{lines:?}");
        },
    );
    drop(console);

    let read = |name: &str| fs::read_to_string(folder.path().join(name).join("debug.log")).unwrap();
    let log = read("auto");
    for told in [
        "self-play for the tree games=",
        "the tree's evaluation is trained games=",
        "the tree's evaluation: Validation",
        "training for alpha-beta games=",
        "an evaluation is trained for alpha-beta too",
        " points against the tree after ",
        " plays: alpha-beta has ",
        "findings: ",
        "plays with the ",
    ] {
        assert!(log.contains(told), "{told} in\n{log}");
    }
    let log = read("alpha-beta");
    let depths = log.lines().filter(|line| line.contains(": depth "));
    let depths: Vec<&str> = depths.collect();
    assert!((2..=200).contains(&depths.len()), "{log}");
    let last = depths[depths.len() - 1];
    assert!(
        last.contains(", value ") && last.contains(" nodes, line ("),
        "{last}"
    );
    assert!(log.lines().count() < 2_000, "{}", log.lines().count());
}
