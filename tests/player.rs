//! The player through its handle: no failure of game code costs a match its answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::support::pile::{Mischief, Pile, hang, rules};
use crate::support::{HIGH, factory, piles, settings, sound};
use panza::analysis::signature;
use panza::config::Settings;
use panza::gdl::{self, sexpr};
use panza::memory::Store;
use panza::player::{Answer, GameBuilders, PlayRequest, Player, Reply, StartRequest, Status};

const PATIENCE: Duration = Duration::from_secs(30);

struct Table {
    player: Player,
    play_clock: Duration,
}

fn reply() -> (Reply, mpsc::Receiver<Answer>) {
    let (sender, receiver) = mpsc::channel();
    (
        Box::new(move |answer| sender.send(answer).unwrap()),
        receiver,
    )
}

impl Table {
    /// A match has begun, and `ready` was answered.
    fn new(settings: &Settings, factories: GameBuilders, role: &str, clocks: [f64; 2]) -> Self {
        let [start_clock, play_clock] = clocks.map(Duration::from_secs_f64);
        let table = Self {
            player: Player::new(settings, factories).unwrap(),
            play_clock,
        };
        let source = rules(60);
        let (reply, answer) = reply();
        table.player.start(
            StartRequest {
                match_id: "m".into(),
                role: sexpr::parse(role).0.remove(0),
                rules: sexpr::parse(&source).0,
                source: source.into(),
                start_clock,
                play_clock,
                received: Instant::now(),
                manager: panza::player::Manager::default(),
            },
            reply,
        );
        let begin = Instant::now();
        assert_eq!(answer.recv_timeout(PATIENCE), Ok(Answer::Ready));
        assert!(begin.elapsed() < start_clock + Duration::from_millis(50));
        assert_eq!(table.player.info(), Status::Busy);
        table
    }

    /// The answer to a PLAY, which must come before its clock has run out.
    fn play(&self, moves: &str) -> String {
        let begin = Instant::now();
        let (reply, answer) = reply();
        let moves = sexpr::parse(moves).0;
        let request = PlayRequest {
            match_id: "m".into(),
            moves: (!moves.is_empty()).then_some(moves),
            received: begin,
        };
        self.player.play(request, reply);
        let Ok(Answer::Move(text)) = answer.recv_timeout(PATIENCE) else {
            panic!("no move")
        };
        let took = begin.elapsed();
        assert!(took < self.play_clock, "the answer took {took:?}");
        text
    }

    fn stop(&self, moves: &str) {
        let (reply, answer) = reply();
        let begin = Instant::now();
        self.player
            .stop("m".into(), Some(sexpr::parse(moves).0), reply);
        assert_eq!(answer.recv_timeout(PATIENCE), Ok(Answer::Done));
        assert!(begin.elapsed() < Duration::from_secs(1));
        assert_eq!(self.player.info(), Status::Available);
        assert!(self.player.shut_down(PATIENCE), "threads are left");
    }

    /// Plays as the first role up to the end; every move must be legal.
    fn plays_soundly(&self) {
        assert!(is_take(&self.play("")));
        assert_eq!(self.play("(take 1) noop"), "noop");
        assert!(is_take(&self.play("noop (take 2)")));
        assert_eq!(self.play("(take 1) noop"), "noop");
        self.stop("noop (take 1)");
    }
}

/// A margin that lets a busy machine keep the clocks.
fn patient() -> Settings {
    settings(&["player.margin_seconds=0.4"])
}

fn is_take(text: &str) -> bool {
    text == "(take 1)" || text == "(take 2)"
}

fn with_last_resort(main: Mischief) -> GameBuilders {
    GameBuilders {
        main: piles(HIGH, "main", main),
        fallback: Some(piles(HIGH, "fallback", Mischief::default())),
    }
}

#[test]
fn a_working_machine_plays() {
    let table = Table::new(&patient(), sound(7), "first", [0.8, 1.0]);
    // Seven tokens: taking one leaves six, a lost pile.
    assert_eq!(table.play(""), "(take 1)");
    table.play("(take 1) noop");
    table.stop("noop (take 1)");
}

#[test]
fn a_panic_in_playouts_replaces_the_machine_only() {
    let mischief = Mischief {
        playouts_panic: true,
        ..Mischief::default()
    };
    Table::new(&patient(), with_last_resort(mischief), "first", [0.8, 1.0]).plays_soundly();
}

#[test]
fn a_machine_that_panics_on_every_state_is_replaced() {
    let mischief = Mischief {
        states_panic: true,
        ..Mischief::default()
    };
    Table::new(&patient(), with_last_resort(mischief), "first", [0.8, 1.0]).plays_soundly();
}

#[test]
fn a_build_that_fails_or_panics_is_replaced() {
    let failing = factory(|_, _| Err("too large".into()));
    let panicking = factory(|_, _| panic!("beyond me"));
    for main in [failing, panicking] {
        let factories = GameBuilders {
            main,
            fallback: Some(piles(HIGH, "fallback", Mischief::default())),
        };
        Table::new(&patient(), factories, "first", [0.8, 1.0]).plays_soundly();
    }
}

#[test]
fn a_late_build_takes_over() {
    let release = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&release);
    let (taken, takes) = mpsc::channel();
    let main = factory(move |_, _| {
        hang(&gate);
        Ok(Arc::new(Pile {
            mischief: Mischief {
                taken: Some(taken.clone()),
                ..Mischief::default()
            },
            ..Pile::new(7)
        }))
    });
    // The machine of last resort takes each pile for one larger, which shows who plays.
    let factories = GameBuilders {
        main,
        fallback: Some(piles(8, "fallback", Mischief::default())),
    };
    let table = Table::new(&patient(), factories, "second", [0.8, 1.0]);
    assert_eq!(table.play(""), "noop");
    assert!(is_take(&table.play("(take 2) noop")));
    assert_eq!(table.play("noop (take 2)"), "noop");
    release.store(true, Ordering::Relaxed);
    assert_eq!(takes.recv_timeout(PATIENCE), Ok(()));
    // The real machine has one token left here, the other one two.
    assert_eq!(table.play("(take 2) noop"), "(take 1)");
    table.stop("noop (take 1)");
}

#[test]
fn playouts_that_never_end_do_not_delay_the_answer() {
    let release = Arc::new(AtomicBool::new(false));
    let mischief = Mischief {
        playouts_hang: Some(Arc::clone(&release)),
        ..Mischief::default()
    };
    let factories = GameBuilders {
        main: piles(HIGH, "main", mischief),
        fallback: None,
    };
    let table = Table::new(&patient(), factories, "first", [0.8, 1.0]);
    assert!(is_take(&table.play("")));
    release.store(true, Ordering::Relaxed);
    table.stop("(take 1) noop");
}

#[test]
fn an_answer_leaves_when_all_machines_fail() {
    let broken = Mischief {
        states_panic: true,
        ..Mischief::default()
    };
    let release = Arc::new(AtomicBool::new(false));
    let stuck = Mischief {
        legal_moves_hang: Some(Arc::clone(&release)),
        ..Mischief::default()
    };
    let none = GameBuilders {
        main: factory(|_, _| Err("too large".into())),
        fallback: None,
    };
    let panicking = GameBuilders {
        main: piles(HIGH, "main", broken.clone()),
        fallback: Some(piles(HIGH, "fallback", broken)),
    };
    let hanging = GameBuilders {
        main: piles(HIGH, "main", stuck),
        fallback: None,
    };
    for (factories, is_last) in [(none, false), (panicking, false), (hanging, true)] {
        let table = Table::new(&patient(), factories, "first", [0.8, 1.0]);
        assert_eq!(table.play(""), "noop");
        assert_eq!(table.play("(take 1) noop"), "noop");
        release.store(is_last, Ordering::Relaxed);
        table.stop("noop (take 1)");
    }
}

#[test]
fn the_match_is_logged() {
    let folder = tempfile::tempdir().unwrap();
    let folder_item = format!("logs.folder={}", folder.path().display());
    let settings = settings(&[
        "player.margin_seconds=0.4",
        "logs.match_logs=true",
        &folder_item,
    ]);
    let table = Table::new(&settings, sound(7), "first", [0.8, 1.0]);
    let answer = table.play("");
    assert_eq!(table.play("(take 2) noop"), "noop");
    assert!(is_take(&table.play("noop (take 2)")));
    assert_eq!(table.play("(take 2) noop"), "noop");
    table.stop("noop (take 1)");

    let read = |name| std::fs::read_to_string(folder.path().join("m").join(name)).unwrap();
    let events: Vec<serde_json::Value> = read("events.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of_kind = |kind: &str| -> Vec<&serde_json::Value> {
        let matching = events.iter().filter(|event| event["kind"] == kind);
        matching.map(|event| &event["data"]).collect()
    };
    assert_eq!(of_kind("start")[0]["role"], "first");
    assert_eq!(of_kind("machine")[0]["kind"], "pile");
    assert_eq!(of_kind("move").len(), 4);
    assert_eq!(of_kind("move")[0]["move"], answer.as_str());
    assert!(of_kind("move")[0]["seconds"].as_f64().unwrap() <= 1.0);
    assert!(of_kind("move")[0]["visits"].as_u64().unwrap() > 0);
    assert_eq!(of_kind("move")[1]["only"], true);
    assert_eq!(of_kind("played")[1]["moves"][1], "(take 2)");
    assert_eq!(of_kind("error").len(), 0);
    let end = of_kind("end");
    assert_eq!(end.len(), 1);
    assert_eq!(end[0]["how"], "stopped");
    assert_eq!(
        end[0]["goals"],
        serde_json::json!({ "first": 0, "second": 100 })
    );
    let text = read("match.log");
    assert!(text.contains("step 0: answers "), "{text}");
}

#[test]
fn the_result_is_stored_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.sqlite");
    let path_item = format!("memory.path={}", path.display());
    let settings = settings(&[
        "player.margin_seconds=0.4",
        "memory.enabled=true",
        &path_item,
    ]);
    let table = Table::new(&settings, sound(7), "first", [0.8, 1.0]);
    assert!(is_take(&table.play("")));
    assert_eq!(table.play("(take 2) noop"), "noop");
    assert!(is_take(&table.play("noop (take 2)")));
    assert_eq!(table.play("(take 2) noop"), "noop");
    table.stop("noop (take 1)");
    let table = Table::new(&settings, sound(7), "second", [0.8, 1.0]);
    let (reply, answer) = reply();
    table.player.abort("m".into(), reply);
    assert_eq!(answer.recv_timeout(PATIENCE), Ok(Answer::Aborted));
    assert!(table.player.shut_down(PATIENCE), "threads are left");

    let (rules, _) = gdl::load(&rules(60));
    let game = signature::identify(&rules, signature::WORK).1.unwrap();
    let mut memory = Store::open(&path, 10, PATIENCE).unwrap();
    let known = memory.read(&game.signature().to_string()).unwrap().unwrap();
    assert_eq!(known.text, game.text());
    let [aborted, stopped] = known.matches.as_slice() else {
        panic!("{:?}", known.matches)
    };
    let role = |name: &str| game.from_canonical(name).unwrap();
    assert_eq!(role(&stopped.our_role), "first");
    assert_eq!((stopped.ending.as_str(), stopped.steps), ("stopped", 4));
    let roles: Vec<String> = stopped.roles.iter().map(|name| role(name)).collect();
    assert_eq!(roles, ["first", "second"]);
    assert_eq!(stopped.goals, [Some(0), Some(100)]);
    assert_eq!(role(&aborted.our_role), "second");
    assert_eq!((aborted.ending.as_str(), aborted.steps), ("aborted", 0));
    assert!(aborted.goals.is_empty());
}
