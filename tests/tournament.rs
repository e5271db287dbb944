//! `panza tournament`: whole small tournaments, interrupted, resumed, and shown.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::PROGRAM;
use crate::support::program::{program, text};

fn tournament() -> Command {
    let mut command = program();
    command.arg("tournament");
    command
}

/// Runs the command, which must end with `status`; its standard output and standard error.
fn run(arguments: &[&str], status: i32) -> (String, String) {
    let output: Output = tournament().args(arguments).output().unwrap();
    let (said, message) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(
        output.status.code(),
        Some(status),
        "{arguments:?}: {message}"
    );
    (said, message)
}

/// The one object of a command's output.
fn object(said: &str) -> Value {
    serde_json::from_str(said).unwrap_or_else(|error| panic!("{said}: {error}"))
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_string()
    }

    fn results(&self, name: &str) -> Vec<Value> {
        let lines = std::fs::read_to_string(self.path(name)).unwrap();
        lines.lines().map(object).collect()
    }
}

const RANDOM_AND_LEGAL: &str = "\
games = ['ticTacToe', 'eightPuzzle', { game = 'ticTacToeThree', games_a_side = 1 }]
games_a_side = 2
start_clock = 20
play_clock = 20
[[players]]
name = 'chance'
builtin = 'random'
version = 'r'
[[players]]
name = 'first'
builtin = 'legal'
";

#[test]
fn a_tournament_resumes_where_it_stopped() {
    let folder = Folder::new();
    let file = folder.file("t.toml", RANDOM_AND_LEGAL);

    let (said, message) = run(&[&file, "--limit", "3", "--json"], 0);
    assert!(message.contains("3 of 3: "), "{message}");
    let report = object(&said);
    let total = report["scores"].as_array().unwrap().last().unwrap();
    assert_eq!(total["matches"], 3);
    let first = folder.results("t.results.jsonl");
    assert_eq!(first.len(), 3);

    // Four of ticTacToe, four of the puzzle, two of the game with three roles.
    let (said, message) = run(&[&file, "--json"], 0);
    assert!(message.contains("7 of 7: "), "{message}");
    let report = object(&said);
    let all = folder.results("t.results.jsonl");
    assert_eq!((all.len(), &all[..3]), (10, first.as_slice()));
    let pair = &report["pairs"][0];
    assert_eq!(
        (&pair["a"], &pair["a_version"]),
        (&"chance".into(), &"r".into())
    );
    assert_eq!(pair["b_version"], env!("CARGO_PKG_VERSION"));
    let scores = report["scores"].as_array().unwrap();
    let (total, games) = scores.split_last().unwrap();
    assert!(total["game"].is_null());
    let counted = |game: &str| {
        let score = games.iter().find(|score| score["game"] == game).unwrap();
        (
            score["matches"].as_u64().unwrap(),
            score["a_matches"].as_u64().unwrap(),
        )
    };
    assert_eq!(counted("ticTacToe"), (4, 4));
    assert_eq!(counted("eightPuzzle"), (4, 2));
    assert_eq!(counted("ticTacToeThree"), (2, 2));
    let shares: Vec<f64> = games
        .iter()
        .map(|s| s["wdl"]["share"].as_f64().unwrap())
        .collect();
    assert!(shares.is_sorted(), "{shares:?}");
    assert_eq!(report["intervals"].as_array().unwrap().len(), scores.len());
    for (score, interval) in scores.iter().zip(report["intervals"].as_array().unwrap()) {
        let share = score["a_share"].as_f64().unwrap();
        let low = interval["low"].as_f64().unwrap();
        assert!(low <= share && share <= interval["high"].as_f64().unwrap());
    }
    for result in &all {
        assert_eq!(result["faults"].as_array().unwrap().len(), 0, "{result}");
        // The sides are swapped: the first role is the first player's on side 0 only.
        let is_first = result["players"][0] == "chance";
        assert_eq!(is_first, result["side"] == 0, "{result}");
    }

    // Nothing is left: nothing is played, and the table is the same from the results alone.
    let (again, message) = run(&[&file, "--json"], 0);
    assert_eq!((object(&again), message.as_str()), (report.clone(), ""));
    std::fs::remove_file(&file).unwrap();
    let (shown, _) = run(&["--show", &file, "--json"], 0);
    assert_eq!(object(&shown), report);
}

#[test]
fn the_same_seed_plays_the_same_matches() {
    let moves = || {
        let folder = Folder::new();
        let file = folder.file("t.toml", RANDOM_AND_LEGAL);
        run(&[&file, "--limit", "6"], 0);
        let results = folder.results("t.results.jsonl");
        let moves = results.iter().map(|result| result["moves"].clone());
        moves.collect::<Vec<Value>>()
    };
    assert_eq!(moves(), moves());
}

#[test]
fn another_version_is_played_again_in_tables_of_its_own() {
    let folder = Folder::new();
    let head = RANDOM_AND_LEGAL.replace(", 'eightPuzzle'", "");
    let old = folder.file("old.toml", &head);
    run(&[&old, "--limit", "2"], 0);
    let new = folder.file("new.toml", &head.replace("'r'", "'s'"));
    let results = folder.path("old.results.jsonl");
    let (_, message) = run(
        &[&new, "--limit", "2", "--results", results.to_str().unwrap()],
        0,
    );
    assert!(message.contains("2 of 2: "), "{message}");
    assert_eq!(folder.results("old.results.jsonl").len(), 4);

    let (said, _) = run(&["--show", &old], 0);
    for part in ["chance (r) against first (", "chance (s) against first ("] {
        assert!(said.contains(part), "no {part:?} in\n{said}");
    }
}

/// A tournament of a player that is a process against a random one.
fn with_a_process(command: &str, more: &str) -> String {
    format!(
        "games = ['ticTacToe']\nstart_clock = 2\nplay_clock = 1\n{more}\n\
         [[players]]\nname = 'child'\ncommand = {command}\nversion = 'v'\nready_seconds = 60\n\
         [[players]]\nname = 'chance'\nbuiltin = 'random'\n"
    )
}

/// Our own server as a player, in quotes that leave paths as they are.
fn serve() -> String {
    format!(
        "['{PROGRAM}', 'serve', '--listen', '127.0.0.1:{{port}}', '--set', 'logs.match_logs=false', '--set', 'memory.enabled=false', \
         '--set', 'player.margin_seconds=0.4', '--set', 'search.seed={{seed}}']"
    )
}

/// Processes whose command line holds `text`.
#[cfg(target_os = "linux")]
fn processes_with(text: &str) -> Vec<String> {
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_number(name))
        .filter_map(|id| std::fs::read(Path::new("/proc").join(id).join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(text))
        .collect()
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_plays_on_its_own_core_and_ends() {
    let folder = Folder::new();
    let logs = folder.path("logs");
    let usable = panza_sync::pinning::available_cores();
    let cores: Vec<String> = usable
        .iter()
        .take(2)
        .map(|core| core.id.to_string())
        .collect();
    let (more, is_confined) = match cores.as_slice() {
        [a, b] => (format!("cores = [{a}, {b}]\n"), true),
        _ => (String::new(), false),
    };
    let more = format!("{more}log_folder = '{}'", logs.display());
    // A mark by which the process is found.
    let mark = folder
        .0
        .path()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .replace('.', "");
    let command = serve().replace(
        "'--set', 'search.seed",
        &format!("'--name', 'Panza-{mark}', '--set', 'search.seed"),
    );
    let file = folder.file("t.toml", &with_a_process(&command, &more));
    run(&[&file], 0);
    assert_eq!(processes_with(&mark).len(), 0);

    let results = folder.results("t.results.jsonl");
    assert_eq!(results.len(), 2);
    for result in &results {
        assert_eq!(result["faults"].as_array().unwrap().len(), 0, "{result}");
        let side = result["side"].as_u64().unwrap() as usize;
        assert_eq!(result["players"][side], "child");
        assert_eq!(result["cores"][side].is_u64(), is_confined, "{result}");
        assert!(result["cores"][1 - side].is_null(), "{result}");
    }
    let logs: Vec<_> = std::fs::read_dir(logs).unwrap().flatten().collect();
    assert_eq!(logs.len(), 2);
    for log in logs {
        let said = std::fs::read_to_string(log.path()).unwrap();
        // Another test may hold the port of the log service; then a warning comes first.
        let mut lines = said.lines();
        let listens = lines.any(|line| line.starts_with("listening on http://127.0.0.1:"));
        assert!(listens, "{said}");
    }
}

#[test]
fn a_player_that_does_not_start_is_reported_and_its_matches_stay_open() {
    let folder = Folder::new();
    let broken = "['/nonexistent/player', '{port}']";
    let file = folder.file("t.toml", &with_a_process(broken, "games_a_side = 3"));
    let (_, message) = run(&[&file], 1);
    assert!(
        message.contains("1 of 6: ticTacToe, child - chance: not played: child: cannot start `/nonexistent/player`: "),
        "{message}"
    );
    assert!(
        message.contains("matches not played: 3, left out: 3"),
        "{message}"
    );
    assert_eq!(folder.results("t.results.jsonl").len(), 0);

    folder.file("t.toml", &with_a_process(&serve(), "games_a_side = 1"));
    run(&[&file], 0);
    assert_eq!(folder.results("t.results.jsonl").len(), 2);
}

#[cfg(unix)]
#[test]
fn a_player_that_ends_or_does_not_answer_is_not_ready() {
    let folder = Folder::new();
    for (command, said) in [
        (
            "['sh', '-c', 'exit 3', '{port}']",
            "it ended with exit status: 3 before it was ready",
        ),
        (
            "['sh', '-c', 'sleep 600', '{port}']",
            "not ready after 0.2 s: no connection: ",
        ),
    ] {
        let written = with_a_process(command, "").replace("= 60", "= 0.2");
        let file = folder.file("t.toml", &written);
        let (_, message) = run(&[&file, "--limit", "1"], 1);
        assert!(message.contains(said), "{message}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_tournament_ends_its_players_and_resumes() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    let folder = Folder::new();
    let mark = format!("sleeper-{}", std::process::id());
    // Never ready, and it takes a child of its own along.
    let command = format!("['sh', '-c', 'sleep 600 & wait', '{mark}', '{{port}}']");
    let sleeping = with_a_process(&command, "").replace("games = ", "games_a_side = 1\ngames = ");
    let file = folder.file("t.toml", &sleeping);
    for signal in ["-INT", "-TERM"] {
        let mut child = tournament()
            .arg(&file)
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(120);
        while processes_with(&mark).is_empty() {
            assert!(
                std::time::Instant::now() < until,
                "the player does not start"
            );
            std::thread::yield_now();
        }
        let sent = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "interrupted", "{signal}");
        let said = lines.next().unwrap().unwrap();
        let expected = "t.toml: the same command goes on with the matches that are left";
        assert!(said.ends_with(expected), "{signal}: {said}");
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        // They are killed by then, and end when they get a processor.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(120);
        while !processes_with(&mark).is_empty() && std::time::Instant::now() < until {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(processes_with(&mark), Vec::<String>::new(), "{signal}");
    }
    folder.file("t.toml", &with_a_process(&serve(), ""));
    run(&[&file], 0);
    assert_eq!(folder.results("t.results.jsonl").len(), 2);
}

#[test]
fn errors_take_one_line() {
    let folder = Folder::new();
    let file = folder.file("t.toml", RANDOM_AND_LEGAL);
    let missing = folder.path("missing.toml");
    let missing = missing.to_str().unwrap();
    let wrong = folder.file(
        "wrong.toml",
        "games = ['ticTacToe']\n[[players]]\nname = 'a'\n",
    );
    let core = folder.file(
        "core.toml",
        &format!("cores = [99998, 99999, 99997]\n{RANDOM_AND_LEGAL}"),
    );
    let foreign = folder.file("foreign.results.jsonl", "{\"no\": \"result\"}\n");
    for (arguments, said) in [
        (&[missing][..], "cannot read `"),
        (&["--show", missing], "no results `"),
        (
            &[&wrong],
            "wrong.toml:2: player `a`: exactly one of `builtin`, `address` and `command`",
        ),
        (&[&core], "`cores` names core 99998; this process may use "),
        (
            &["--show", &foreign],
            "foreign.results.jsonl:1: not a result of a match: ",
        ),
        (
            &[&file, &file, "--results", "x"],
            "--results is for a single FILE, found 2",
        ),
    ] {
        let (_, message) = run(arguments, 2);
        assert!(message.contains(said), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    assert!(!folder.path("t.results.jsonl").exists());
    run(&[], 2);
    run(&["--show", "--limit", "1", &file], 2);
}

/// A game that is proven at once, so that no clock has to run.
const ONCE: &str =
    "(role r) (init first) (<= (legal r go) (true first)) (<= (next over) (does r go))
    (<= terminal (true over)) (<= (goal r 100) (true over)) (<= (goal r 0) (true first))";

#[test]
fn a_panza_of_this_process_plays_with_settings_of_its_own() {
    let folder = Folder::new();
    let game = folder.file("once.gdl", ONCE);
    let file = |set: &str| {
        let players = format!(
            "[[players]]\nname = 'p'\nbuiltin = 'panza'\nset = ['{set}']\n\
             [[players]]\nname = 'chance'\nbuiltin = 'random'\n"
        );
        folder.file(
            "t.toml",
            &format!("games = ['{game}']\nstart_clock = 2\n{players}"),
        )
    };
    let (said, _) = run(&[&file("search.threads=1"), "--json"], 0);
    assert_eq!(object(&said)["scores"][0]["a_points"], 1.0);
    let results = folder.results("t.results.jsonl");
    assert!(
        results
            .iter()
            .all(|result| result["faults"] == serde_json::json!([]))
    );

    let (_, message) = run(&[&file("search.thread=1")], 2);
    let expected = "t.toml:3: player `p`: --set search.thread=1: there is no setting";
    assert!(message.contains(expected), "{message}");
}
