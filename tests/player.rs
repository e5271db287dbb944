//! The player through its handle: no failure of game code costs a match its answers.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::support::client::PATIENCE;
use crate::support::pile::{Mischief, Pile, hang, rules};
use crate::support::{HIGH, factory, piles, settings, sound};
use panza_analysis::signature;
use panza_config::Settings;
use panza_gdl::sexpr;
use panza_memory::Store;
use panza_planner::SOLVERS;
use panza_player::{
    Answer, GameBuilders, Message, PlayRequest, Player, Reply, SentMoves, StartRequest, StartRules,
    Status,
};
use serde_json::json;

/// The start clock and the play clock in seconds. With [`MARGIN`] an answer leaves in the middle of
/// a clock, and after three quarters of it at the latest. The rest is for a busy machine.
const CLOCKS: [f64; 2] = [3.0, 3.0];
const MARGIN: &str = "player.margin_seconds=1.5";

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
        Self::of(&rules(60), settings, factories, role, clocks)
    }

    /// The same for a game.
    fn of(
        source: &str,
        settings: &Settings,
        factories: GameBuilders,
        role: &str,
        clocks: [f64; 2],
    ) -> Self {
        let (table, answer) = Self::begin(source, settings, factories, role, clocks);
        let begin = Instant::now();
        assert_eq!(answer.recv_timeout(PATIENCE), Ok(Answer::Ready));
        assert!(begin.elapsed().as_secs_f64() < clocks[0]);
        assert_eq!(table.player.info(), Status::Busy);
        table
    }

    /// START was sent.
    fn begin(
        source: &str,
        settings: &Settings,
        factories: GameBuilders,
        role: &str,
        clocks: [f64; 2],
    ) -> (Self, mpsc::Receiver<Answer>) {
        let [start_clock, play_clock] = clocks.map(Duration::from_secs_f64);
        let table = Self {
            player: Player::new(settings, factories).unwrap(),
            play_clock,
        };
        let (reply, answer) = reply();
        let start = StartRequest {
            match_id: "m".into(),
            role: role.into(),
            rules: StartRules::read(&sexpr::parse(source).0, source, "m").unwrap(),
            start_clock,
            play_clock,
            received: Instant::now(),
            manager: panza_player::Manager::default(),
        };
        table.player.handle(Message::Start(start), reply);
        (table, answer)
    }

    /// The answer to a PLAY, which must come before its clock has run out.
    fn play(&self, moves: &str) -> String {
        let begin = Instant::now();
        let (reply, answer) = reply();
        let moves = texts(moves);
        let request = PlayRequest {
            match_id: "m".into(),
            moves: (!moves.is_empty()).then_some(moves),
            is_repeat: None,
            received: begin,
        };
        self.player.handle(Message::Play(request), reply);
        let Ok(Answer::Move(text)) = answer.recv_timeout(PATIENCE) else {
            panic!("no move")
        };
        let took = begin.elapsed();
        assert!(took < self.play_clock, "the answer took {took:?}");
        text
    }

    fn stop(&self, moves: &str) {
        let (reply, answer) = reply();
        let stop = Message::Stop {
            match_id: "m".into(),
            moves: Some(texts(moves)),
        };
        self.player.handle(stop, reply);
        assert_eq!(answer.recv_timeout(PATIENCE), Ok(Answer::Done));
        assert_eq!(self.player.info(), Status::Available);
        assert!(self.player.shut_down(PATIENCE), "threads are left");
    }

    /// Plays as the first role up to the end.
    fn plays_soundly(&self) {
        self.answers_soundly();
        self.stop("noop (take 1)");
    }

    /// Plays as the first role; every move must be legal.
    fn answers_soundly(&self) {
        assert!(is_take(&self.play("")));
        assert_eq!(self.play("(take 1) noop"), "noop");
        assert!(is_take(&self.play("noop (take 2)")));
        assert_eq!(self.play("(take 1) noop"), "noop");
    }
}

/// A margin that lets a busy machine keep the clocks.
fn patient() -> Settings {
    settings(&[MARGIN])
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

/// The texts of moves.
fn texts(moves: &str) -> SentMoves {
    let moves = sexpr::parse(moves).0;
    moves.iter().map(ToString::to_string).collect()
}

#[test]
fn a_working_machine_plays() {
    let table = Table::new(&patient(), sound(7), "first", CLOCKS);
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
    Table::new(&patient(), with_last_resort(mischief), "first", CLOCKS).plays_soundly();
}

#[test]
fn a_machine_that_panics_on_every_state_is_replaced() {
    let mischief = Mischief {
        states_panic: true,
        ..Mischief::default()
    };
    Table::new(&patient(), with_last_resort(mischief), "first", CLOCKS).plays_soundly();
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
        Table::new(&patient(), factories, "first", CLOCKS).plays_soundly();
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
    let table = Table::new(&patient(), factories, "second", CLOCKS);
    assert_eq!(table.play(""), "noop");
    assert!(is_take(&table.play("(take 2) noop")));
    assert_eq!(table.play("noop (take 2)"), "noop");
    release.store(true, Ordering::Relaxed);
    // The follower of the build takes it first, then the engine on the match thread.
    while takes.recv_timeout(PATIENCE).expect("an engine is made") != "match" {}
    // The real machine has one token left here, the other one two.
    assert_eq!(table.play("(take 2) noop"), "(take 1)");
    table.stop("noop (take 1)");
}

/// Plays with these settings on a machine whose playouts never end.
fn plays_with_endless_playouts(settings: &Settings) {
    let release = Arc::new(AtomicBool::new(false));
    let mischief = Mischief {
        playouts_hang: Some(Arc::clone(&release)),
        ..Mischief::default()
    };
    let factories = GameBuilders {
        main: piles(HIGH, "main", mischief),
        fallback: None,
    };
    let table = Table::new(settings, factories, "first", CLOCKS);
    table.answers_soundly();
    release.store(true, Ordering::Relaxed);
    table.stop("noop (take 1)");
}

#[test]
fn playouts_that_never_end_do_not_delay_the_answer() {
    plays_with_endless_playouts(&patient());
}

#[test]
fn a_search_that_never_ends_leaves_legal_moves() {
    // Without rollout threads the match thread itself plays out.
    plays_with_endless_playouts(&settings(&[MARGIN, "search.threads=0"]));
}

#[test]
fn a_panic_costs_its_thread_only() {
    for thread in ["match", "build", "board", "study", "rollout-0"] {
        let mischief = Mischief {
            panics_on: Some(thread),
            ..Mischief::default()
        };
        Table::new(&patient(), with_last_resort(mischief), "first", CLOCKS).plays_soundly();
    }
}

#[test]
fn a_thread_that_hangs_does_not_cost_the_answers() {
    for thread in ["match", "build", "board", "study", "rollout-0"] {
        let release = Arc::new(AtomicBool::new(false));
        let mischief = Mischief {
            hangs_on: Some((thread, Arc::clone(&release))),
            ..Mischief::default()
        };
        let table = Table::new(&patient(), with_last_resort(mischief), "first", CLOCKS);
        table.answers_soundly();
        release.store(true, Ordering::Relaxed);
        table.stop("noop (take 1)");
    }
}

#[test]
fn a_panic_of_the_match_thread_beside_the_engines_is_survived() {
    // The kind of the machine is asked for as an engine is made, and for the log.
    for n_panics in [1, 2, 3, 4, 1_000] {
        let mischief = Mischief {
            kind_panics: Arc::new(n_panics.into()),
            ..Mischief::default()
        };
        Table::new(&patient(), with_last_resort(mischief), "first", CLOCKS).plays_soundly();
    }
}

#[test]
fn the_fallback_follows_where_the_machine_begins_to_hang() {
    let is_fine = Arc::new(AtomicBool::new(true));
    let stuck = Mischief {
        legal_moves_hang: Some(Arc::clone(&is_fine)),
        ..Mischief::default()
    };
    let (taken, takes) = mpsc::channel();
    let takes = std::sync::Mutex::new(takes);
    let factories = GameBuilders {
        main: factory(move |_, _| {
            // Only an idle fallback is kept beside the machine. Once the match has it, its board is
            // looked for.
            let takes = takes.lock().unwrap();
            while takes.recv_timeout(PATIENCE).expect("the match takes it") != "board" {}
            Ok(Arc::new(Pile {
                mischief: stuck.clone(),
                ..Pile::new(HIGH)
            }))
        }),
        fallback: Some(piles(
            HIGH,
            "fallback",
            Mischief {
                taken: Some(taken),
                ..Mischief::default()
            },
        )),
    };
    let table = Table::new(&patient(), factories, "first", CLOCKS);
    assert!(is_take(&table.play("")));
    is_fine.store(false, Ordering::Relaxed);
    assert_eq!(table.play("(take 1) noop"), "noop");
    assert!(is_take(&table.play("noop (take 2)")));
    is_fine.store(true, Ordering::Relaxed);
    table.stop("(take 1) noop");
}

#[test]
fn a_game_without_a_machine_is_refused() {
    let broken = Mischief {
        states_panic: true,
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
    for factories in [none, panicking] {
        let (table, answer) = Table::begin(&rules(60), &patient(), factories, "first", [20.0, 1.0]);
        let answer = answer.recv_timeout(PATIENCE);
        assert!(matches!(answer, Ok(Answer::Refused(_))), "{answer:?}");
        assert_eq!(table.player.info(), Status::Available);
    }
}

#[test]
fn an_answer_leaves_when_the_machine_hangs() {
    let release = Arc::new(AtomicBool::new(false));
    let stuck = Mischief {
        legal_moves_hang: Some(Arc::clone(&release)),
        ..Mischief::default()
    };
    let hanging = GameBuilders {
        main: piles(HIGH, "main", stuck),
        fallback: None,
    };
    let table = Table::new(&patient(), hanging, "first", CLOCKS);
    assert_eq!(table.play(""), "noop");
    assert_eq!(table.play("(take 1) noop"), "noop");
    release.store(true, Ordering::Relaxed);
    table.stop("noop (take 1)");
}

/// Settings under which the logs of matches lie in a folder.
fn logging(folder: &Path) -> Settings {
    let folder_item = format!("logs.folder={}", folder.display());
    settings(&[MARGIN, "logs.match_logs=true", &folder_item])
}

/// The events of a match log.
fn events(folder: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(folder.join("m/events.jsonl")).unwrap();
    let events = text.lines().map(serde_json::from_str);
    events.collect::<Result<_, _>>().unwrap()
}

#[test]
fn the_match_is_logged() {
    let folder = tempfile::tempdir().unwrap();
    let settings = logging(folder.path());
    let table = Table::new(&settings, sound(7), "first", CLOCKS);
    let answer = table.play("");
    assert_eq!(table.play("(take 2) noop"), "noop");
    assert!(is_take(&table.play("noop (take 2)")));
    assert_eq!(table.play("(take 2) noop"), "noop");
    table.stop("noop (take 1)");

    let events = events(folder.path());
    let of_kind = |kind: &str| -> Vec<&serde_json::Value> {
        let matching = events.iter().filter(|event| event["kind"] == kind);
        matching.map(|event| &event["data"]).collect()
    };
    assert_eq!(of_kind("start")[0]["role"], "first");
    assert_eq!(of_kind("machine")[0]["kind"], "pile");
    assert_eq!(of_kind("move").len(), 4);
    assert_eq!(of_kind("move")[0]["move"], answer.as_str());
    assert!(of_kind("move")[0]["seconds"].as_f64().unwrap() <= CLOCKS[1]);
    assert!(of_kind("move")[0]["visits"].as_u64().unwrap() > 0);
    assert_eq!(of_kind("move")[1]["only"], true);
    assert_eq!(of_kind("played")[1]["moves"][1], "(take 2)");
    assert_eq!(of_kind("error").len(), 0);
    let end = of_kind("end");
    assert_eq!(end.len(), 1);
    assert_eq!(end[0]["how"], "stopped");
    assert_eq!(end[0]["goals"], json!({ "first": 0, "second": 100 }));
    let text = std::fs::read_to_string(folder.path().join("m/match.log")).unwrap();
    assert!(text.contains("step 0: answers "), "{text}");
}

/// Lamps that all have to be on, and some moves more than that takes: out of reach of playouts.
fn lamps(n_lamps: u32) -> String {
    let limit = n_lamps + 10;
    let mut source = format!(
        "(role robot) (init (step 0))
         (<= (base (on ?x)) (lamp ?x)) (<= (base (step ?x)) (succ ?x ?y))
         (<= (input robot (toggle ?x)) (lamp ?x)) (<= (legal robot (toggle ?x)) (lamp ?x))
         (<= (next (on ?x)) (does robot (toggle ?x)) (not (true (on ?x))))
         (<= (next (on ?x)) (true (on ?x)) (not (does robot (toggle ?x))))
         (<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
         (<= dark (lamp ?x) (not (true (on ?x))))
         (<= terminal (not dark)) (<= terminal (true (step {limit})))
         (<= (goal robot 100) (not dark)) (<= (goal robot 0) dark)"
    );
    source.extend((0..n_lamps).map(|lamp| format!("(lamp {lamp})")));
    source.extend((0..=limit).map(|step| format!("(succ {step} {})", step + 1)));
    source
}

#[test]
fn the_plan_is_logged() {
    let folder = tempfile::tempdir().unwrap();
    let settings = logging(folder.path());
    let builders = GameBuilders::standard();
    let table = Table::of(&lamps(205), &settings, builders, "robot", [30.0, 2.0]);
    // On a busy machine the planner may be later than READY.
    let log = folder.path().join("m/match.log");
    let until = Instant::now() + PATIENCE;
    while !std::fs::read_to_string(&log).is_ok_and(|text| text.contains("proven best")) {
        assert!(Instant::now() < until, "no plan is proven best");
        std::thread::sleep(Duration::from_millis(10));
    }
    let answer = table.play("");
    let next = table.play(&answer);
    table.stop(&next);

    let mut events = events(folder.path());
    events.retain(|event| event["kind"] == "plan");
    assert!(events.iter().all(|event| event["at_seconds"].is_number()));
    let plan = &events.last().unwrap()["data"];
    assert_eq!(plan["step"], 0, "the plan is followed, which is no news");
    assert_eq!((&plan["goal"], &plan["bound"]), (&json!(100), &json!(100)));
    assert_eq!(plan["proven"], true);
    assert!(SOLVERS.contains(&plan["solver"].as_str().unwrap()));
    assert!(plan["states"].as_u64().unwrap() > 0);
    let moves = plan["moves"].as_array().unwrap();
    assert_eq!((moves.len(), &plan["n_moves"]), (200, &json!(205)));
    assert_eq!(moves[..2], [json!(answer), json!(next)]);
    let first = &events[0]["data"];
    assert_eq!(
        (&first["goal"], &first["solver"]),
        (&json!(null), &json!(null))
    );
    assert_eq!(
        (&first["moves"], &first["n_moves"]),
        (&json!([]), &json!(0))
    );
    let text = std::fs::read_to_string(folder.path().join("m/match.log")).unwrap();
    assert!(
        text.contains(" solver has a plan: goal 100, proven best, 205 moves left"),
        "{text}"
    );
}

#[test]
fn the_result_is_stored_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.sqlite");
    let path_item = format!("memory.path={}", path.display());
    let settings = settings(&[MARGIN, "memory.enabled=true", &path_item]);
    let table = Table::new(&settings, sound(7), "first", CLOCKS);
    assert!(is_take(&table.play("")));
    assert_eq!(table.play("(take 2) noop"), "noop");
    assert!(is_take(&table.play("noop (take 2)")));
    assert_eq!(table.play("(take 2) noop"), "noop");
    table.stop("noop (take 1)");
    let table = Table::new(&settings, sound(7), "second", CLOCKS);
    let (reply, answer) = reply();
    let match_id = "m".into();
    table.player.handle(Message::Abort { match_id }, reply);
    assert_eq!(answer.recv_timeout(PATIENCE), Ok(Answer::Aborted));
    assert!(table.player.shut_down(PATIENCE), "threads are left");

    let (rules, _) = panza_gdl::load(&rules(60));
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
