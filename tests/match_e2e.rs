//! Whole matches over HTTP: the game manager with players that work and with players that fail.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use panza_cli::{Game, Rulesheet, SettingsChoice};
use panza_gdl::{Id, RoleId};
use panza_prover::Prover;
use panza_referee::game_manager::MAX_STEPS;
use panza_referee::game_manager::messages::rules_on_one_line;
use panza_referee::{
    Clocks, Ending, FaultKind, MatchError, MatchPlan, MatchRecord, Opening, Patience, Player,
    PlayerSpec, Request, Seat, SeatPlayer, play_match,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{Barrier, watch};

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

fn game(name: &str) -> Game {
    Game::load(name).unwrap()
}

fn game_of(text: &str) -> Game {
    let sheet = Rulesheet {
        name: "test".into(),
        origin: "test".into(),
        text: text.into(),
        encoding: Default::default(),
        file: None,
    };
    Game::from_sheet(sheet).unwrap()
}

/// Plays a match with a short play clock and no margin beyond it, so that silence costs little
/// time.
fn play(game: &Game, seats: Vec<Seat>, runtime: &Runtime) -> MatchRecord {
    let (_sender, cancelled) = watch::channel(false);
    let rules_text = rules_on_one_line(&game.sheet.text);
    let plan = plan(game, &rules_text, seats);
    play_match(&plan, runtime.handle(), &cancelled, &mut ()).unwrap()
}

fn plan<'a>(game: &'a Game, rules_text: &'a str, seats: Vec<Seat>) -> MatchPlan<'a> {
    MatchPlan {
        id: "test.1".into(),
        rules: &game.rules,
        rules_text,
        seats,
        clocks: Clocks { start: 20, play: 1 },
        patience: Patience {
            play_margin: Duration::ZERO,
            ..Patience::default()
        },
        opening: Opening::default(),
        max_steps: MAX_STEPS,
        seed: 5,
    }
}

fn start(spec: PlayerSpec, seed: u64, runtime: &Runtime) -> Player {
    Player::start(
        &spec,
        &SettingsChoice::default(),
        false,
        seed,
        runtime.handle(),
    )
    .unwrap()
}

/// Replays the moves on the prover: all legal, the end where the record has it, the goals as
/// recorded.
fn assert_is_by_the_rules(game: &Game, record: &MatchRecord) {
    let mut prover = Prover::new(&game.rules).unwrap();
    let mut state = prover.initial_state();
    let n_roles = prover.roles().len();
    for texts in &record.moves {
        assert!(!prover.is_terminal(&state).unwrap());
        let mut joint_move = Vec::new();
        for (role, text) in texts.iter().enumerate() {
            let mv = prover.read_term(text).unwrap();
            let legal = prover
                .legal_moves(&state, RoleId::from_index(role))
                .unwrap();
            assert!(legal.contains(&mv), "{text}");
            joint_move.push(mv);
        }
        state = prover.next_state(&state, &joint_move).unwrap();
    }
    assert_eq!(record.ending, Ending::Terminal);
    assert!(prover.is_terminal(&state).unwrap());
    let goals: Vec<Option<u8>> = (0..n_roles)
        .map(|role| prover.goal(&state, RoleId::from_index(role)).unwrap())
        .collect();
    assert_eq!(record.goals, goals);
}

/// What a scripted player does with a request.
enum Act {
    Say(String),
    /// Answers with the status of a server that failed.
    Fail(String),
    /// Answers after 2 s, and reads nothing else until then.
    SayLate(String),
    /// Reads and never answers.
    Silence,
    /// Answers with something that is not HTTP.
    Garbage,
    /// Closes the connection.
    Close,
}

/// A player that does what its script says, and keeps the messages that it was sent.
struct Scripted {
    seat: Seat,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    /// The script gets the number of the request, from 0, and its body.
    fn start(
        runtime: &Runtime,
        mut script: impl FnMut(usize, &str) -> Act + Send + 'static,
    ) -> Self {
        Self::start_after(runtime, None, move |number, body| script(number, body))
    }

    /// The same, but START is answered only when all players at the barrier have theirs.
    fn start_after(
        runtime: &Runtime,
        barrier: Option<Arc<Barrier>>,
        mut script: impl FnMut(usize, &str) -> Act + Send + 'static,
    ) -> Self {
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().into();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heard);
        runtime.spawn(async move {
            let mut held = Vec::new();
            for number in 0.. {
                let (mut stream, _) = listener.accept().await.unwrap();
                let body = read_body(&mut stream).await;
                log.lock().unwrap().push(body.clone());
                if let Some(barrier) = barrier.as_ref().filter(|_| body.starts_with("( START")) {
                    barrier.wait().await;
                }
                match script(number, &body) {
                    Act::Say(text) => answer(&mut stream, "200 OK", &text).await,
                    Act::SayLate(text) => {
                        tokio::time::sleep(Duration::from_secs(2)).await;
                        answer(&mut stream, "200 OK", &text).await;
                    }
                    Act::Fail(text) => answer(&mut stream, "500 No", &text).await,
                    Act::Silence => held.push(stream),
                    Act::Garbage => stream
                        .write_all(b"%$\x00 who are you\r\n\r\n")
                        .await
                        .unwrap(),
                    Act::Close => drop(stream),
                }
            }
        });
        let name = "scripted".to_string();
        Self {
            seat: Seat {
                name,
                player: SeatPlayer::Remote(address),
            },
            heard,
        }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

async fn answer(stream: &mut tokio::net::TcpStream, status: &str, text: &str) {
    let length = text.len();
    let answer = format!(
        "HTTP/1.0 {status}\r\nContent-type: text/acl\r\nContent-length: {length}\r\n\r\n{text}"
    );
    stream.write_all(answer.as_bytes()).await.unwrap();
}

async fn read_body(stream: &mut tokio::net::TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("Content-Length: "))
                .and_then(|length| length.parse::<usize>().ok())
                .expect("the manager sends a length");
            if body.len() >= length {
                return body.to_string();
            }
        }
        assert!(
            stream.read_buf(&mut bytes).await.unwrap() > 0,
            "the manager hung up"
        );
    }
}

#[test]
fn built_in_players_make_legal_moves_fixed_by_the_seed() {
    let runtime = runtime();
    for name in ["ticTacToe", "roshamboTen"] {
        let game = game(name);
        let records: Vec<MatchRecord> = [1, 1, 2]
            .into_iter()
            .map(|seed| {
                let random = start(PlayerSpec::Random, seed, &runtime);
                let legal = start(PlayerSpec::Legal, seed, &runtime);
                let seats = vec![random.seat().clone(), legal.seat().clone()];
                play(&game, seats, &runtime)
            })
            .collect();
        for record in &records {
            assert_is_by_the_rules(&game, record);
            assert_eq!(record.faults, [], "{name}");
        }
        assert_eq!(records[0].moves, records[1].moves);
        assert_ne!(records[0].moves, records[2].moves);
    }
}

#[test]
fn the_server_plays_a_match_without_faults() {
    let runtime = runtime();
    let game = game("ticTacToe");
    let panza = start(PlayerSpec::Panza, 1, &runtime);
    let random = start(PlayerSpec::Random, 1, &runtime);
    let rules_text = rules_on_one_line(&game.sheet.text);
    let seats = vec![random.seat().clone(), panza.seat().clone()];
    let mut plan = plan(&game, &rules_text, seats);
    plan.clocks = Clocks { start: 2, play: 1 };
    plan.patience = Patience::default();
    let (_sender, cancelled) = watch::channel(false);
    let record = play_match(&plan, runtime.handle(), &cancelled, &mut ()).unwrap();
    assert_is_by_the_rules(&game, &record);
    assert_eq!(record.faults, []);
    panza.shut_down(runtime.handle());
}

#[test]
fn players_get_the_last_moves_at_the_same_time() {
    let runtime = runtime();
    let game = game("ticTacToe");
    // Each answers START only when the other was asked too: a manager that asks in turn would wait
    // for ever.
    let barrier = Arc::new(Barrier::new(2));
    let players: Vec<Scripted> = (0..2)
        .map(|_| {
            let barrier = Some(Arc::clone(&barrier));
            Scripted::start_after(&runtime, barrier, |_, _| Act::Say("nonsense".into()))
        })
        .collect();
    let seats = players.iter().map(|player| player.seat.clone()).collect();
    let record = play(&game, seats, &runtime);
    assert_is_by_the_rules(&game, &record);
    for (player, role) in players.iter().zip(["xplayer", "oplayer"]) {
        let heard = player.heard();
        assert_eq!(heard.len(), record.moves.len() + 2);
        let rules = rules_on_one_line(&game.sheet.text);
        assert_eq!(heard[0], format!("( START test.1 {role} {rules} 20 1)"));
        assert_eq!(heard[1], "( PLAY test.1 NIL )");
        for (step, moves) in record.moves.iter().enumerate() {
            let word = if step + 1 == record.moves.len() {
                "STOP"
            } else {
                "PLAY"
            };
            assert_eq!(
                heard[step + 2],
                format!("( {word} test.1 ({}) )", moves.join(" "))
            );
        }
    }
    // `nonsense` is no legal move; as an answer to START and STOP it is as good as any.
    assert_eq!(record.faults.len(), 2 * record.moves.len());
    let is_illegal = |kind| kind == FaultKind::Illegal;
    assert!(
        record
            .faults
            .iter()
            .all(|fault| is_illegal(fault.kind) && fault.request == Request::Play)
    );
}

/// A match in which the second player misbehaves from the second step on.
fn with_misbehaving_player(act: fn() -> Act) -> MatchRecord {
    let runtime = runtime();
    let game = game("ticTacToe");
    let random = start(PlayerSpec::Random, 3, &runtime);
    let bad = Scripted::start(&runtime, move |number, body| match number {
        0 => Act::Say("ready".into()),
        1 => Act::Say("noop ; as it must be".into()),
        _ if body.starts_with("( STOP") => Act::Say("done".into()),
        _ => act(),
    });
    let record = play(
        &game,
        vec![random.seat().clone(), bad.seat.clone()],
        &runtime,
    );
    assert_is_by_the_rules(&game, &record);
    // Its first PLAY was answered, all others were not.
    let steps: Vec<u32> = record.faults.iter().map(|fault| fault.step).collect();
    assert_eq!(steps, (1..record.moves.len() as u32).collect::<Vec<_>>());
    assert!(record.faults.iter().all(|fault| fault.role == 1));
    record
}

fn assert_kinds(record: &MatchRecord, kind: FaultKind) {
    assert!(
        record.faults.iter().all(|fault| fault.kind == kind),
        "{:?}",
        record.faults
    );
}

#[test]
fn a_silent_player_times_out_and_the_match_continues() {
    let record = with_misbehaving_player(|| Act::Silence);
    assert_kinds(&record, FaultKind::Timeout);
    let waited = Duration::from_secs(1) * record.faults.len() as u32;
    assert!(record.time >= waited, "{:?}", record.time);
}

#[test]
fn an_answer_that_is_not_http_is_a_broken_connection() {
    let record = with_misbehaving_player(|| Act::Garbage);
    assert_kinds(&record, FaultKind::Connection);
}

#[test]
fn a_closed_connection_is_a_broken_connection() {
    let record = with_misbehaving_player(|| Act::Close);
    assert_kinds(&record, FaultKind::Connection);
}

#[test]
fn an_illegal_move_is_replaced() {
    for answer in ["", "(mark 1", "(mark 9 9)", "(MARK 9 1)", "((x))", "?x"] {
        let runtime = runtime();
        let game = game("ticTacToe");
        let random = start(PlayerSpec::Random, 3, &runtime);
        let bad = Scripted::start(&runtime, move |_, _| Act::Say(answer.into()));
        let record = play(
            &game,
            vec![bad.seat.clone(), random.seat().clone()],
            &runtime,
        );
        assert_is_by_the_rules(&game, &record);
        assert_eq!(record.faults.len(), record.moves.len(), "{answer}");
        assert_kinds(&record, FaultKind::Illegal);
    }
}

#[test]
fn answers_in_capitals_are_the_moves_that_they_mean() {
    let runtime = runtime();
    let game = game_of(
        "(role a) (role b) (init (n 0)) (succ 0 1) (succ 1 2) (succ 2 3)
         (<= (legal a (go left)) (true (n ?n))) (<= (legal a (go right)) (true (n ?n)))
         (<= (legal b noop) (true (n ?n))) (<= (next (n ?m)) (true (n ?n)) (succ ?n ?m))
         (<= terminal (true (n 3))) (goal a 100) (goal b 0)",
    );
    let capital = |text: &'static str| Scripted::start(&runtime, move |_, _| Act::Say(text.into()));
    let (first, second) = (capital("( GO RIGHT )"), capital("NOOP"));
    let record = play(&game, vec![first.seat, second.seat], &runtime);
    assert_is_by_the_rules(&game, &record);
    assert_eq!(record.faults, []);
    assert_eq!(record.moves, vec![vec!["(go right)", "noop"]; 3]);
}

#[test]
fn a_player_that_says_that_it_failed_is_told_apart() {
    let record = with_misbehaving_player(|| Act::Fail("play failed: no".into()));
    assert_kinds(&record, FaultKind::Failed);
    assert_eq!(record.faults[0].detail, "`play failed: no`");
    let runtime = runtime();
    let game = game("ticTacToe");
    let random = start(PlayerSpec::Random, 3, &runtime);
    // A legal move counts whatever its status is.
    let odd = Scripted::start(&runtime, |number, body| match number {
        0 => Act::Fail("the rules do not load".into()),
        _ if body.starts_with("( STOP") => Act::Fail("done".into()),
        _ => Act::Fail("noop".into()),
    });
    let seats = vec![random.seat().clone(), odd.seat.clone()];
    let record = play(&game, seats, &runtime);
    let fault = &record.faults[0];
    let expected = (Request::Start, FaultKind::Failed);
    assert_eq!((fault.request, fault.kind), expected);
    assert_eq!(fault.detail, "`the rules do not load`");
    assert_eq!(
        record.faults.iter().filter(|fault| fault.step == 0).count(),
        1
    );
}

#[test]
fn an_unreachable_player_gets_moves() {
    let runtime = runtime();
    let game = game("ticTacToe");
    let random = start(PlayerSpec::Random, 3, &runtime);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = Seat {
        name: "gone".into(),
        player: SeatPlayer::Remote(listener.local_addr().unwrap().into()),
    };
    drop(listener);
    let record = play(&game, vec![gone, random.seat().clone()], &runtime);
    assert_is_by_the_rules(&game, &record);
    // START, each PLAY, and STOP.
    assert_eq!(record.faults.len(), record.moves.len() + 2);
    assert_kinds(&record, FaultKind::Connection);
}

#[test]
fn a_cancelled_match_is_aborted_at_all_players() {
    let runtime = runtime();
    let game = game("ticTacToe");
    let (sender, cancelled) = watch::channel(false);
    // The first PLAY makes somebody press Ctrl-C.
    let silent = Scripted::start(&runtime, move |_, body| {
        if body.starts_with("( PLAY") {
            sender.send_replace(true);
            return Act::Silence;
        }
        Act::Say("ready".into())
    });
    let random = start(PlayerSpec::Random, 3, &runtime);
    let rules_text = rules_on_one_line(&game.sheet.text);
    let seats = vec![silent.seat.clone(), random.seat().clone()];
    let mut plan = plan(&game, &rules_text, seats);
    plan.clocks.play = 3600;
    let error = play_match(&plan, runtime.handle(), &cancelled, &mut ()).unwrap_err();
    assert!(matches!(error, MatchError::Interrupted), "{error}");
    assert_eq!(silent.heard().last().unwrap(), "( ABORT test.1 )");
}

#[test]
fn matches_without_an_end_are_aborted() {
    let runtime = runtime();
    let ending = "(<= terminal (true over)) (<= (goal a 100) (true over))";
    let endless = game_of(&format!(
        "(role a) (init x) (<= (next x) (true x)) (<= (legal a go) (true x)) {ending}"
    ));
    let stuck = game_of(&format!(
        "(role a) (init (n 0)) (<= (next (n 1)) (does a go)) (<= (legal a go) (true (n 0))) {ending}"
    ));
    for (game, ending, steps) in [(endless, Ending::Endless, 7), (stuck, Ending::Stuck, 1)] {
        let player = Scripted::start(&runtime, |_, _| Act::Say("go".into()));
        let rules_text = rules_on_one_line(&game.sheet.text);
        let mut plan = plan(&game, &rules_text, vec![player.seat.clone()]);
        plan.max_steps = 7;
        let (_sender, cancelled) = watch::channel(false);
        let record = play_match(&plan, runtime.handle(), &cancelled, &mut ()).unwrap();
        assert_eq!((record.ending, record.moves.len()), (ending, steps));
        assert_eq!(record.goals, [None]);
        assert_eq!(player.heard().last().unwrap(), "( ABORT test.1 )");
    }
}

/// A game of three steps in which the first of two roles has a choice.
const STEPS: &str = "(role a) (role b) (init (n 0)) (succ 0 1) (succ 1 2) (succ 2 3)
    (<= (legal a left) (true (n ?n))) (<= (legal a right) (true (n ?n)))
    (<= (legal b noop) (true (n ?n))) (<= (next (n ?m)) (true (n ?n)) (succ ?n ?m))
    (<= terminal (true (n 3))) (goal a 100) (goal b 0)";

/// The record of a match of [`STEPS`] from an opening in which the role `a` has these moves, and
/// what its player was told. The player gives these answers, late after `late:`, and is silent
/// where one is empty.
fn from_opening(
    moves: &[&str],
    answers: &'static [&str],
    clock: Option<u32>,
    play_clock: u32,
) -> (MatchRecord, Vec<String>) {
    let runtime = runtime();
    let game = game_of(STEPS);
    let answer = |number: usize| number.checked_sub(1).and_then(|number| answers.get(number));
    let player = Scripted::start(&runtime, move |number, _| match answer(number) {
        Some(&"") => Act::Silence,
        Some(answer) => match answer.strip_prefix("late:") {
            Some(answer) => Act::SayLate(answer.into()),
            None => Act::Say(answer.to_string()),
        },
        None => Act::Say("done".into()),
    });
    let legal = start(PlayerSpec::Legal, 1, &runtime);
    let rules_text = rules_on_one_line(&game.sheet.text);
    let seats = vec![player.seat.clone(), legal.seat().clone()];
    let mut plan = plan(&game, &rules_text, seats);
    plan.clocks.play = play_clock;
    plan.opening.moves = moves
        .iter()
        .map(|mv| vec![mv.to_string(), "noop".into()])
        .collect();
    plan.opening.clock = clock;
    let (_sender, cancelled) = watch::channel(false);
    let record = play_match(&plan, runtime.handle(), &cancelled, &mut ()).unwrap();
    assert_is_by_the_rules(&game, &record);
    assert_eq!(record.forced_steps, moves.len());
    (record, player.heard().split_off(1))
}

#[test]
fn the_moves_of_an_opening_are_made_whatever_is_answered() {
    let answers = &["right", "nonsense", "right"];
    let (record, heard) = from_opening(&["left", "left"], answers, None, 60);
    assert_eq!(
        record.moves,
        ["left", "left", "right"].map(|mv| [mv, "noop"])
    );
    let told = ["( PLAY test.1 NIL )", "( PLAY test.1 (left noop) )"];
    let end = [told[1], "( STOP test.1 (right noop) )"];
    assert_eq!(heard, [told, end].concat());
    // What is put aside is looked at: a player with a wrong state shows.
    assert_kinds(&record, FaultKind::Illegal);
    let steps: Vec<u32> = record.faults.iter().map(|fault| fault.step).collect();
    assert_eq!(steps, [1]);
}

#[test]
fn a_shorter_clock_for_the_opening_makes_no_fault() {
    let answers = &["", "", "busy", "left"];
    let (record, heard) = from_opening(&["left", "right"], answers, Some(1), 3600);
    assert_eq!((record.faults.as_slice(), heard.len()), (&[][..], 5));
    assert!(record.time < Duration::from_secs(600), "{:?}", record.time);
}

#[test]
fn the_first_move_after_an_opening_waits_for_a_player_that_is_behind() {
    // It answers the two moves of the opening, and then INFO, each after more than their clock.
    let answers = &["late:left", "late:right", "late:busy", "left"];
    let (record, heard) = from_opening(&["left", "right"], answers, Some(1), 3600);
    assert_eq!(record.faults, []);
    assert_eq!(heard[2], "( INFO )", "{heard:?}");
    assert_eq!(record.moves[2], ["left", "noop"]);
}

#[test]
fn the_same_moves_again_wait_for_the_clock_where_they_could_be_taken_for_a_repeat() {
    for (answers, waits) in [(&["left", "right", "left"], true), (&["right"; 3], false)] {
        let (record, _) = from_opening(&["left", "left"], answers, None, 2);
        assert_eq!(record.faults, []);
        assert_eq!(
            record.time >= Duration::from_secs(2),
            waits,
            "{:?}",
            record.time
        );
    }
}

#[test]
fn an_opening_of_other_rules_is_an_error() {
    let runtime = runtime();
    let game = game("ticTacToe");
    let legal = start(PlayerSpec::Legal, 1, &runtime);
    let seats = vec![legal.seat().clone(); 2];
    let mut plan = plan(&game, "", seats);
    plan.opening.moves = vec![vec!["left".into(), "noop".into()]];
    let (_sender, cancelled) = watch::channel(false);
    let error = play_match(&plan, runtime.handle(), &cancelled, &mut ()).unwrap_err();
    let expected = "the opening has `left noop`, which is not legal there";
    assert_eq!(error.to_string(), expected);
}
