//! Whole jobs under `mpirun`: what they find, what a killed rank costs, and that they go on.
//!
//! Each test has a time limit, and ends the processes that it started.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use panza_cli::{Game, SettingsChoice, interrupt};
use panza_referee::game_manager::MAX_STEPS;
use panza_referee::game_manager::messages::rules_on_one_line;
use panza_referee::{
    Clocks, Ending, MatchPlan, MatchRecord, Opening, Patience, Player, PlayerSpec, RoleTurn,
    Spectator, match_id, play_match,
};
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(120);

/// One job at a time: they have all processors.
fn alone() -> MutexGuard<'static, ()> {
    static JOB: Mutex<()> = Mutex::new(());
    panza_sync::lock(&JOB)
}

/// A job of `mpirun`, which ends when this is dropped.
struct Job(Child);

impl Job {
    fn start(ranks: usize, folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new("mpirun");
        command
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .args(["--oversubscribe", "--bind-to", "none", "-n"])
            .arg(ranks.to_string())
            .arg(env!("CARGO_BIN_EXE_panza-mpi"))
            .args(arguments)
            .current_dir(folder)
            .env("XDG_STATE_HOME", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self(command.spawn().expect("mpirun starts"))
    }

    /// Waits for its end: whether it succeeded, and all that it wrote.
    fn end(mut self) -> (bool, String) {
        let mut streams: Vec<Box<dyn Read + Send>> = Vec::new();
        streams.extend(self.0.stdout.take().map(|it| Box::new(it) as _));
        streams.extend(self.0.stderr.take().map(|it| Box::new(it) as _));
        let readers = streams.into_iter().map(|mut stream| {
            thread::spawn(move || {
                let mut text = String::new();
                // What is no text is not compared.
                let _ = stream.read_to_string(&mut text);
                text
            })
        });
        let readers: Vec<_> = readers.collect();
        let until = Instant::now() + LIMIT;
        let status = loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                break status;
            }
            assert!(
                Instant::now() < until,
                "the job takes longer than {LIMIT:?}"
            );
            thread::sleep(Duration::from_millis(20));
        };
        let texts = readers.into_iter().map(|reader| reader.join().unwrap());
        (status.success(), texts.collect::<Vec<_>>().join("\n"))
    }

    /// The process of a rank.
    fn rank(&self, rank: usize) -> u32 {
        let wanted = format!("OMPI_COMM_WORLD_RANK={rank}");
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let mut processes = processes.filter_map(|it| it.file_name().to_str()?.parse().ok());
        let is_it = |id: &u32| {
            let read = |file: &str| fs::read(format!("/proc/{id}/{file}")).unwrap_or_default();
            let status = read("status");
            let parent = format!("PPid:\t{}\n", self.0.id());
            String::from_utf8_lossy(&status).contains(&parent)
                && read("environ")
                    .split(|&byte| byte == 0)
                    .any(|it| it == wanted.as_bytes())
        };
        processes.find(is_it).expect("the rank runs")
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // SIGTERM, so that mpirun ends its ranks.
        signal("TERM", self.0.id());
        let until = Instant::now() + Duration::from_secs(10);
        while Instant::now() < until && matches!(self.0.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(20));
        }
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn signal(name: &str, process: u32) {
    let sent = Command::new("kill")
        .args([format!("-{name}"), process.to_string()])
        .stderr(Stdio::null())
        .status();
    // The process may have ended.
    let _ = sent;
}

/// Waits until a file has at least this many lines.
fn wait_for_lines(path: &Path, least: usize) -> Vec<String> {
    let until = Instant::now() + LIMIT;
    loop {
        let lines = lines(path);
        if lines.len() >= least {
            return lines;
        }
        assert!(
            Instant::now() < until,
            "{} has {}",
            path.display(),
            lines.len()
        );
        thread::sleep(Duration::from_millis(20));
    }
}

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_string).collect()
}

/// A tournament of players that take no time, or of one that takes its clock.
fn write_tournament(folder: &Path, first: &str, games_a_side: usize) {
    let text = format!(
        "games = [\"ticTacToe\", \"connectFour\"]\ngames_a_side = {games_a_side}\n\
         start_clock = 1\nplay_clock = 1\n\
         [[players]]\nname = \"one\"\nbuiltin = \"{first}\"\n\
         [[players]]\nname = \"two\"\nbuiltin = \"random\"\n"
    );
    fs::write(folder.join("t.toml"), text).unwrap();
}

#[test]
fn fifty_matches_are_played_without_an_error() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    write_tournament(folder.path(), "legal", 13);
    let (succeeded, text) = Job::start(4, folder.path(), &["tournament", "t.toml"]).end();
    assert!(succeeded, "{text}");
    let results = lines(&folder.path().join("t.results.jsonl"));
    assert_eq!(results.len(), 52);
    for line in results {
        let result: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(result["ending"], "terminal", "{line}");
        assert_eq!(result["faults"], serde_json::json!([]), "{line}");
    }
}

#[test]
fn a_killed_worker_ends_the_job_and_it_goes_on_from_its_file() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    write_tournament(folder.path(), "panza", 2);
    let path = folder.path().join("t.results.jsonl");
    let job = Job::start(4, folder.path(), &["tournament", "t.toml"]);
    let before = wait_for_lines(&path, 1);
    signal("KILL", job.rank(2));
    let (succeeded, text) = job.end();
    assert!(!succeeded, "{text}");

    let kept = lines(&path);
    assert!(kept.starts_with(&before));
    // A line that was cut off is dropped.
    let torn = format!("{}\n{}", kept.join("\n"), &kept[0][..30]);
    fs::write(&path, torn).unwrap();
    let (succeeded, text) = Job::start(4, folder.path(), &["tournament", "t.toml"]).end();
    assert!(succeeded, "{text}");
    let after = lines(&path);
    assert!(after.starts_with(&kept));
    let key = |line: &String| {
        let result: Value = serde_json::from_str(line).unwrap();
        ["game", "round", "side"].map(|key| result[key].to_string())
    };
    assert_eq!(after.len(), 8);
    assert_eq!(after.iter().map(key).collect::<BTreeSet<_>>().len(), 8);
}

#[test]
fn training_goes_on_after_its_job_was_killed() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let arguments = |more: &[&'static str]| {
        let common = [
            "train",
            "ticTacToe",
            "--round",
            "3",
            "--json",
            "--set",
            "memory.path=m.db",
        ];
        [&common[..], more].concat()
    };
    let mut job = Job::start(4, folder.path(), &arguments(&[]));
    let mut output = BufReader::new(job.0.stdout.take().unwrap()).lines();
    let mut object = || -> Value {
        let line = output.next().expect("it trains").unwrap();
        serde_json::from_str(&line).unwrap()
    };
    assert_eq!(object()["resumed"], false);
    let first = object();
    assert!(first["games"].as_u64().unwrap() > 100, "{first}");
    thread::sleep(Duration::from_millis(500));
    signal("KILL", job.rank(0));
    let (succeeded, _) = job.end();
    assert!(!succeeded);

    let job = Job::start(4, folder.path(), &arguments(&["--hours", "0.001"]));
    let (succeeded, text) = job.end();
    assert!(succeeded, "{text}");
    let begun: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(begun["resumed"], true, "{text}");
    assert!(begun["games"].as_u64() >= first["games"].as_u64(), "{text}");
}

#[test]
fn a_duel_is_the_same_on_any_number_of_ranks() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let play = |ranks: usize| {
        let file = format!("{ranks}.jsonl");
        let common = [
            "duel",
            "--game",
            "ticTacToe",
            "connectFour",
            "--iterations",
            "30",
        ];
        let more = [
            "--b",
            "exploration=2",
            "--pairs",
            "3",
            "--out",
            file.as_str(),
        ];
        let (_, text) = Job::start(ranks, folder.path(), &[&common[..], &more].concat()).end();
        let mut pairs: Vec<String> = lines(&folder.path().join(&file))
            .iter()
            .map(|line| {
                let pair: Value = serde_json::from_str(line).unwrap();
                let kept = ["game", "pair", "opening", "points", "lengths"];
                kept.map(|key| pair[key].to_string()).join(" ")
            })
            .collect();
        pairs.sort();
        assert_eq!(pairs.len(), 6, "{text}");
        pairs
    };
    assert_eq!(play(2), play(4));
}

/// Plays a match of two roles against random moves at a server, and calls `at_step` with each step.
fn play(game: &str, address: &str, at_step: impl FnMut(u32)) -> MatchRecord {
    struct Steps<F>(F);
    impl<F: FnMut(u32)> Spectator for Steps<F> {
        fn moved(&mut self, step: u32, _: &[RoleTurn], _: &[String]) {
            (self.0)(step);
        }
    }
    let game = Game::load(game).unwrap();
    let (runtime, cancelled) = interrupt::runtime().unwrap();
    let settings = SettingsChoice {
        config: None,
        set: Vec::new(),
    };
    let specs = [address, "random"].map(|it| PlayerSpec::parse(it).unwrap());
    let players =
        specs.map(|it| Player::start(&it, &settings, false, 1, runtime.handle()).unwrap());
    let plan = MatchPlan {
        id: match_id(&game.sheet.name, 0),
        rules: &game.rules,
        rules_text: &rules_on_one_line(&game.kif_text()),
        seats: players.iter().map(|it| it.seat().clone()).collect(),
        clocks: Clocks { start: 3, play: 1 },
        patience: Patience::default(),
        opening: Opening::default(),
        max_steps: MAX_STEPS,
        seed: 1,
    };
    play_match(&plan, runtime.handle(), &cancelled, &mut Steps(at_step)).unwrap()
}

#[test]
fn a_worker_that_hangs_costs_a_served_match_nothing() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--json",
        "--set",
        "logs.match_logs=false",
    ];
    let more = [
        "--set",
        "memory.enabled=false",
        "--set",
        "server.log_listen=none",
    ];
    let mut job = Job::start(3, folder.path(), &[&arguments[..], &more].concat());
    let mut output = BufReader::new(job.0.stdout.take().unwrap()).lines();
    let listening: Value = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
    let address = format!("http://{}", listening["listening"].as_str().unwrap());
    let hung = job.rank(1);
    let record = play("connectFour", &address, |step| {
        if step == 4 {
            signal("STOP", hung);
        }
    });
    signal("CONT", hung);
    assert_eq!(record.ending, Ending::Terminal);
    assert!(record.faults.is_empty(), "{:?}", record.faults);
    assert_eq!(record.goals[0], Some(100));
}

#[test]
fn wrong_arguments_are_explained_once() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (succeeded, text) = Job::start(1, folder.path(), &["tournament", "t.toml"]).end();
    assert!(
        !succeeded && text.contains("expected at least 2 ranks"),
        "{text}"
    );
    let (succeeded, text) = Job::start(3, folder.path(), &["tournament", "t.toml"]).end();
    assert!(!succeeded && text.contains("t.toml"), "{text}");
    let (succeeded, text) = Job::start(3, folder.path(), &["--help"]).end();
    assert!(succeeded, "{text}");
    assert_eq!(text.matches("Usage:").count(), 1, "{text}");
}
