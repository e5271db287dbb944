use std::io;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use super::pending::MAX_WAITING;
use super::*;
use crate::StartRules;
use crate::common::WorkerLink;
use crate::search::Effort;
use crossbeam::channel::bounded;
use panza_game::BuildKind;
use panza_gdl::sexpr;
use panza_search::MoveStats;

mod random_orders;

const RULES: &str =
    "(role a) (role b) (<= (legal ?r go) (role ?r)) (<= terminal (true over)) (init off)
    (<= (next over) (does a go)) (<= (goal ?r 50) (role ?r))";

impl<F: FnMut(MatchSetup) -> io::Result<Link> + Send> StartMatch for F {
    fn start(&mut self, setup: MatchSetup) -> io::Result<Link> {
        self(setup)
    }
}

/// A conductor whose clock and match thread are the test.
struct Stage {
    conductor: Conductor,
    running: Arc<RunningMatch>,
    links: Arc<Mutex<Vec<Arc<WorkerLink>>>>,
    begin: Instant,
    now: Instant,
}

impl Stage {
    fn new() -> Self {
        let items = [
            "logs.match_logs=false",
            "memory.enabled=false",
            "player.margin_seconds=2",
            "server.idle_abort_seconds=60",
        ];
        let settings = Settings::load(None, &items.map(String::from)).unwrap();
        let running = Arc::new(RunningMatch::default());
        let links = Arc::new(Mutex::new(Vec::new()));
        let made = Arc::clone(&links);
        let factory = move |_: MatchSetup| {
            let (link, worker_link) = Link::new(bounded(1).0);
            made.lock().unwrap().push(Arc::new(worker_link));
            Ok(link)
        };
        let begin = Instant::now();
        Self {
            conductor: Conductor::new(Arc::new(settings), Arc::clone(&running), Box::new(factory)),
            running,
            links,
            begin,
            now: begin,
        }
    }

    /// The match thread's end of the latest match.
    fn link(&self) -> Arc<WorkerLink> {
        Arc::clone(self.links.lock().unwrap().last().unwrap())
    }

    /// Moves the time on to so many seconds after the beginning, and ticks.
    fn at(&mut self, seconds: f64) {
        self.now = self.begin + Duration::from_secs_f64(seconds);
        self.conductor.tick(self.now);
    }

    fn ask(&mut self, request: Message) -> Receiver<Answer> {
        let (sender, receiver) = channel();
        let reply: Reply = Box::new(move |answer| sender.send(answer).unwrap());
        self.conductor.handle(request, reply, self.now);
        receiver
    }

    /// START with a start clock of 20 and a play clock of 10 seconds: `ready` is due at 18.
    fn start(&mut self) -> Receiver<Answer> {
        let request = self.start_request("m", "a");
        self.ask(request)
    }

    fn start_request(&self, match_id: &str, role: &str) -> Message {
        Message::Start(StartRequest {
            match_id: match_id.into(),
            role: role.into(),
            rules: StartRules::read(&sexpr::parse(RULES).0, RULES, match_id).unwrap(),
            start_clock: Duration::from_secs(20),
            play_clock: Duration::from_secs(10),
            received: self.now,
            manager: crate::Manager::default(),
        })
    }

    /// START at 0, answered at 18. No legal move is known after that.
    fn started() -> Self {
        let mut stage = Self::new();
        let ready = stage.start();
        stage.publish(0, "first", |_| {});
        stage.at(18.0);
        assert_eq!(ready.try_recv(), Ok(Answer::Ready));
        stage.link().publish(None);
        stage
    }

    /// PLAY, received now; NIL when the moves are empty.
    fn play(&mut self, moves: &str) -> Receiver<Answer> {
        let moves = texts(moves);
        self.ask(Message::Play(PlayRequest {
            match_id: "m".into(),
            moves: (!moves.is_empty()).then_some(moves),
            is_repeat: None,
            received: self.now,
        }))
    }

    fn publish(&self, position: usize, text: &str, change: impl FnOnce(&mut Advice)) {
        let mut advice = Advice {
            position,
            best: MoveStats {
                value: Some(50.0),
                visits: 1.0,
                ..MoveStats::new(text.into())
            },
            is_only: false,
            repeat_is_legal: true,
            effort: Effort::default(),
        };
        change(&mut advice);
        self.link().publish(Some(advice));
    }

    fn orders(&self) -> Vec<Order> {
        self.link()
            .orders
            .try_iter()
            // What is told after each answer, for the log.
            .filter(|order| !matches!(order, Order::Answered(_)))
            .collect()
    }

    /// When the conductor wants to be woken, in seconds after the beginning.
    fn alarm(&self) -> Option<f64> {
        let alarm = self.conductor.next_tick(self.now);
        alarm.map(|alarm| (alarm - self.begin).as_secs_f64())
    }

    fn is_busy(&self) -> bool {
        self.running.is_some()
    }
}

fn advance(moves: &[&str]) -> Order {
    Order::Advance(moves.iter().map(ToString::to_string).collect())
}

/// The texts of moves.
fn texts(moves: &str) -> SentMoves {
    let moves = sexpr::parse(moves).0;
    moves.iter().map(ToString::to_string).collect()
}

fn waits(answer: &Receiver<Answer>) -> bool {
    answer.try_recv() == Err(TryRecvError::Empty)
}

fn moved(text: &str) -> Result<Answer, TryRecvError> {
    Ok(Answer::Move(text.into()))
}

#[test]
fn ready_is_answered_as_late_as_the_clock_allows() {
    let mut stage = Stage::new();
    assert_eq!(stage.alarm(), None);
    let ready = stage.start();
    assert!(stage.is_busy());
    assert_eq!(stage.alarm(), Some(18.0));
    stage.publish(0, "go", |advice| advice.is_only = true);
    stage.at(17.9);
    assert!(waits(&ready));
    stage.at(18.0);
    assert_eq!(ready.try_recv(), Ok(Answer::Ready));
    assert!(stage.is_busy());
}

#[test]
fn ready_is_answered_early_when_the_game_is_proven() {
    let mut stage = Stage::new();
    let ready = stage.start();
    stage.publish(0, "go", |advice| advice.best.is_proven_best = true);
    stage.at(0.5);
    assert_eq!(ready.try_recv(), Ok(Answer::Ready));
}

#[test]
fn a_move_leaves_with_the_latest_advice_before_the_clock_ends() {
    let mut stage = Stage::started();
    stage.at(20.0);
    stage.publish(0, "first", |_| {});
    let answer = stage.play("");
    assert_eq!(stage.alarm(), Some(28.0));
    stage.at(27.9);
    assert!(waits(&answer));
    stage.publish(0, "latest", |_| {});
    stage.at(28.0);
    assert_eq!(answer.try_recv(), moved("latest"));
    assert_eq!(stage.orders(), []);
}

#[test]
fn settled_moves_leave_at_once() {
    for settle in [
        |advice: &mut Advice| advice.is_only = true,
        |advice: &mut Advice| advice.best.is_proven_best = true,
    ] {
        let mut stage = Stage::started();
        let answer = stage.play("x y");
        // Advice of the position before says nothing here.
        stage.publish(0, "old", settle);
        stage.at(18.1);
        assert!(waits(&answer));
        stage.publish(1, "new", settle);
        stage.at(18.2);
        assert_eq!(answer.try_recv(), moved("new"));
    }
}

#[test]
fn without_a_legal_move_the_answer_waits_for_the_last_call() {
    let mut stage = Stage::started();
    let answer = stage.play("");
    assert_eq!(stage.alarm(), Some(26.0));
    stage.at(26.0);
    assert!(waits(&answer));
    assert_eq!(stage.alarm(), Some(27.0));
    stage.at(27.0);
    assert_eq!(answer.try_recv(), moved("noop"));

    // Advice that comes in between is taken.
    let answer = stage.play("x y");
    stage.at(35.5);
    assert!(waits(&answer));
    stage.publish(1, "late", |_| {});
    stage.at(35.6);
    assert_eq!(answer.try_recv(), moved("late"));
}

#[test]
fn without_a_legal_move_the_latest_one_that_was_known_is_guessed() {
    let mut stage = Stage::started();
    stage.publish(0, "go", |_| {});
    let follower = stage.link().follower(BuildKind::Fallback);
    follower.publish(Some(Advice::of_legal(0, "stay".into())));
    let answer = stage.play("x y");
    stage.at(27.0);
    assert_eq!(answer.try_recv(), moved("go"));
    stage.link().publish(None);
    let answer = stage.play("x z");
    stage.at(45.0);
    assert_eq!(answer.try_recv(), moved("stay"));
}

#[test]
fn a_play_before_ready_answers_both() {
    let mut stage = Stage::new();
    let ready = stage.start();
    stage.publish(0, "go", |_| {});
    stage.at(3.0);
    let answer = stage.play("");
    assert_eq!(ready.try_recv(), Ok(Answer::Ready));
    assert!(waits(&answer));
    stage.at(11.0);
    assert_eq!(answer.try_recv(), moved("go"));
}

#[test]
fn the_moves_of_a_play_are_followed_whatever_we_answered() {
    let mut stage = Stage::started();
    stage.publish(0, "go", |advice| advice.is_only = true);
    assert_eq!(stage.play("").try_recv(), moved("go"));
    let _answer = stage.play("other (move 1)");
    assert_eq!(stage.orders(), [advance(&["other", "(move 1)"])]);
}

#[test]
fn an_unanswered_play_is_repeated_by_the_same_moves() {
    let mut stage = Stage::started();
    let first = stage.play("x y");
    let again = stage.play("x y");
    assert_eq!(stage.orders(), [advance(&["x", "y"])]);
    stage.publish(1, "z", |_| {});
    stage.at(26.0);
    assert_eq!(first.try_recv(), moved("z"));
    assert_eq!(again.try_recv(), moved("z"));
}

#[test]
fn an_answered_play_is_repeated_by_moves_that_cannot_follow_it() {
    // Whether the second PLAY with the moves x y is a new one, by our answer to the first and by
    // the rules.
    for (ours, repeat_is_legal, is_new) in [
        ("x", true, true),
        ("x", false, false),
        ("z", true, false),
        ("z", false, false),
    ] {
        let mut stage = Stage::started();
        let first = stage.play("x y");
        stage.publish(1, ours, |advice| {
            advice.best.is_proven_best = true;
            advice.repeat_is_legal = repeat_is_legal;
        });
        stage.at(18.1);
        assert_eq!(first.try_recv(), moved(ours));
        let second = stage.play("x y");
        let case = format!("{ours} {repeat_is_legal}");
        if is_new {
            assert!(waits(&second), "{case}");
            assert_eq!(stage.orders().len(), 2, "{case}");
        } else {
            assert_eq!(second.try_recv(), moved(ours), "{case}");
            assert_eq!(stage.orders().len(), 1, "{case}");
        }
    }
}

#[test]
fn a_replaced_answer_makes_the_same_moves_a_new_play() {
    // The manager had no legal move of ours, or none in time, and took our last one again. Whether
    // that is legal is known or not.
    let is_new = |moves: &str, was_known: bool, at: f64, is_legal: Option<bool>| {
        let mut stage = Stage::started();
        let _first = stage.play(moves);
        if was_known {
            stage.publish(1, "z", |_| {});
        }
        stage.at(27.0);
        if let Some(is_legal) = is_legal {
            stage.publish(1, "z", |advice| advice.repeat_is_legal = is_legal);
        } else {
            stage.link().publish(None);
        }
        stage.at(at);
        let _second = stage.play(moves);
        stage.orders().len() == 2
    };
    // No legal move was known: the answer at 27 was `noop`.
    assert!(is_new("x", false, 27.1, None));
    assert!(is_new("x", false, 27.1, Some(true)));
    assert!(!is_new("x", false, 27.1, Some(false)));
    assert!(is_new("x y", false, 27.1, Some(true)));
    assert!(!is_new("x y", false, 27.1, None));
    // The clock ends at 28; until then the caller may ask again.
    assert!(!is_new("x", true, 27.9, Some(true)));
    assert!(is_new("x", true, 28.1, Some(true)));
    assert!(is_new("x", true, 28.1, None));
    assert!(!is_new("x", true, 28.1, Some(false)));
    assert!(!is_new("x y", true, 28.1, None));
}

#[test]
fn nil_after_moves_follows_nothing() {
    let mut stage = Stage::started();
    let first = stage.play("x y");
    stage.publish(1, "z", |advice| advice.is_only = true);
    stage.at(18.1);
    assert_eq!(first.try_recv(), moved("z"));
    assert_eq!(stage.play("").try_recv(), moved("z"));
    assert_eq!(stage.orders().len(), 1);
}

#[test]
fn the_next_play_answers_the_one_before() {
    let mut stage = Stage::started();
    stage.publish(0, "go", |_| {});
    let first = stage.play("");
    let second = stage.play("x y");
    assert_eq!(first.try_recv(), moved("go"));
    assert!(waits(&second));
}

#[test]
fn late_answers_widen_the_margin() {
    let mut stage = Stage::started();
    stage.publish(0, "go", |_| {});
    let first = stage.play("");
    // Due at 26, looked at at 26.5.
    stage.at(26.5);
    assert_eq!(first.try_recv(), moved("go"));
    stage.conductor.note_delay(Duration::from_millis(250));
    // Replaced by x: it was 0.75 s late here, and later still on the way.
    stage.at(28.0);
    let _second = stage.play("x y");
    assert_eq!(stage.alarm(), Some(28.0 + 10.0 - 4.75));
}

#[test]
fn the_moves_of_an_opening_are_followed_and_cost_no_time() {
    let mut stage = Stage::started();
    let mut moves = "";
    for position in 0..4 {
        let answer = stage.play(moves);
        stage.publish(position, "go", |_| {});
        let due = stage.alarm().unwrap();
        // The margin shrinks as if our move had been made.
        let margin = [2.0, 2.0, 1.6, 1.6][position];
        let begin = (stage.now - stage.begin).as_secs_f64();
        assert!(
            (due - begin - 10.0 + margin).abs() < 1e-6,
            "{position}: {due}"
        );
        stage.at(due);
        assert_eq!(answer.try_recv(), moved("go"));
        // The same moves again are new ones: our answer was in time, and another move was made.
        moves = "x y";
    }
    assert_eq!(stage.orders(), vec![advance(&["x", "y"]); 3]);
}

#[test]
fn confirmed_answers_narrow_the_margin_and_the_search_gets_the_time() {
    let mut stage = Stage::started();
    let mut moves = String::new();
    let mut taken = Vec::new();
    for position in 0..19 {
        let answer = stage.play(&moves);
        stage.publish(position, "go", |_| {});
        let begin = (stage.now - stage.begin).as_secs_f64();
        let due = stage.alarm().unwrap();
        taken.push(((due - begin) * 1e3).round());
        stage.at(due);
        assert_eq!(answer.try_recv(), moved("go"));
        moves = format!("go {position}");
    }
    assert_eq!(taken[..5], [8_000.0, 8_000.0, 8_400.0, 8_400.0, 8_720.0]);
    assert_eq!(taken[18], 9_600.0);
}

#[test]
fn settled_answers_say_nothing_about_the_margin() {
    let mut stage = Stage::started();
    let mut moves = String::new();
    for position in 0..10 {
        let answer = stage.play(&moves);
        stage.publish(position, "go", |advice| advice.is_only = true);
        let begin = (stage.now - stage.begin).as_secs_f64();
        assert_eq!(
            stage.alarm(),
            (position == 0).then_some(26.0).or(Some(begin + 8.0))
        );
        stage.at(begin);
        assert_eq!(answer.try_recv(), moved("go"));
        moves = format!("go {position}");
    }
}

#[test]
fn what_a_manager_has_shown_counts_in_its_next_match_only() {
    for (first, second, margin) in [
        (Some(1), Some(1), 1.6),
        (Some(1), Some(2), 2.0),
        (Some(1), None, 2.0),
        (None, None, 2.0),
    ] {
        let mut stage = Stage::new();
        for (last, expected) in [(first, 2.0), (second, margin)] {
            let Message::Start(mut start) = stage.start_request("m", "a") else {
                panic!("a START was made")
            };
            start.manager.address = last.map(|last| [192, 0, 2, last].into());
            let _ready = stage.ask(Message::Start(start));
            let begin = (stage.now - stage.begin).as_secs_f64();
            let due = stage.alarm().unwrap();
            assert!(
                (due - begin - 20.0 + expected).abs() < 1e-6,
                "{first:?} {second:?}"
            );
            for (position, moves) in ["", "go 0"].into_iter().enumerate() {
                let _answer = stage.play(moves);
                stage.publish(position, "go", |_| {});
                let due = stage.alarm().unwrap();
                stage.at(due);
            }
            let (match_id, moves) = ("m".into(), Some(texts("go 1")));
            stage.ask(Message::Stop { match_id, moves });
        }
    }
}

#[test]
fn advice_that_came_late_is_no_lateness_of_the_answer() {
    let mut stage = Stage::started();
    let first = stage.play("");
    stage.at(27.5);
    assert_eq!(first.try_recv(), moved("noop"));
    let _second = stage.play("x y");
    assert_eq!(stage.alarm(), Some(35.5));
}

#[test]
fn ready_waits_for_a_legal_move_until_the_last_call() {
    let mut stage = Stage::new();
    let ready = stage.start();
    stage.at(18.0);
    assert!(waits(&ready));
    assert_eq!(stage.alarm(), Some(19.0));
    stage.publish(0, "first", |_| {});
    stage.at(18.5);
    assert_eq!(ready.try_recv(), Ok(Answer::Ready));

    let mut stage = Stage::new();
    let ready = stage.start();
    stage.at(19.0);
    assert_eq!(ready.try_recv(), Ok(Answer::Ready));
    // That was no lateness of the answer.
    let _first = stage.play("");
    assert_eq!(stage.alarm(), Some(27.0));
}

#[test]
fn a_game_that_cannot_be_played_is_refused_and_the_player_is_free() {
    let mut stage = Stage::new();
    let ready = stage.start();
    stage.link().refuse("no machine".into());
    stage.at(3.0);
    assert_eq!(ready.try_recv(), Ok(Answer::Refused("no machine".into())));
    assert_eq!(stage.orders(), [Order::Abandon("refused")]);
    assert!(!stage.is_busy());

    // Once it is under way, it goes on.
    let mut stage = Stage::started();
    stage.link().refuse("no machine".into());
    stage.at(19.0);
    assert!(stage.is_busy());
}

#[test]
fn abandoning_a_match_stops_its_work_before_the_order_is_read() {
    let mut stage = Stage::started();
    let flag = stage.link().stops.issue();
    assert!(!flag.load(Ordering::Relaxed));
    let match_id = "m".into();
    let aborted = stage.ask(Message::Abort { match_id });
    assert_eq!(aborted.try_recv(), Ok(Answer::Aborted));
    assert!(flag.load(Ordering::Relaxed));
    let later = stage.link().stops.issue();
    assert!(later.load(Ordering::Relaxed));
}

#[test]
fn stop_and_abort_end_the_match_at_once() {
    let stop = || Message::Stop {
        match_id: "m".into(),
        moves: Some(texts("x y")),
    };
    let abort = || Message::Abort {
        match_id: "m".into(),
    };
    let finish = Order::Finish(Some(texts("x y")));
    for (request, answer, order) in [
        (stop(), Answer::Done, finish),
        (abort(), Answer::Aborted, Order::Abandon("aborted")),
    ] {
        let mut stage = Stage::new();
        let ready = stage.start();
        let (sender, receiver) = channel();
        let running = Arc::clone(&stage.running);
        let reply: Reply = Box::new(move |answer| {
            sender.send((answer, running.is_some())).unwrap();
        });
        stage.conductor.handle(request, reply, stage.now);
        // Free before the answer leaves.
        assert_eq!(receiver.try_recv(), Ok((answer, false)));
        assert_eq!(ready.try_recv(), Ok(Answer::Ready));
        assert_eq!(stage.orders(), [order]);
        assert_eq!(stage.ask(stop()).try_recv(), Ok(Answer::Busy));
        assert_eq!(stage.ask(abort()).try_recv(), Ok(Answer::Busy));
        assert_eq!(stage.alarm(), None);
    }
}

#[test]
fn the_match_thread_sees_that_the_match_is_over() {
    let mut stage = Stage::started();
    stage.ask(Message::Abort {
        match_id: "m".into(),
    });
    assert_eq!(stage.orders().len(), 1);
    let links = stage.links.lock().unwrap();
    assert!(links[0].orders.recv().is_err());
}

#[test]
fn only_the_same_start_is_taken_again() {
    let mut stage = Stage::new();
    let first = stage.start();
    let other_role = stage.start_request("m", "b");
    assert_eq!(stage.ask(other_role).try_recv(), Ok(Answer::Busy));
    let other_match = stage.start_request("n", "a");
    assert_eq!(stage.ask(other_match).try_recv(), Ok(Answer::Busy));
    let again = stage.start();
    assert!(waits(&first) && waits(&again));
    stage.at(19.5);
    assert_eq!(first.try_recv(), Ok(Answer::Ready));
    assert_eq!(again.try_recv(), Ok(Answer::Ready));
    assert_eq!(stage.start().try_recv(), Ok(Answer::Ready));
    assert_eq!(stage.links.lock().unwrap().len(), 1);
}

#[test]
fn not_everybody_may_wait() {
    let mut stage = Stage::started();
    let answers: Vec<_> = (0..=MAX_WAITING).map(|_| stage.play("x y")).collect();
    let (last, others) = answers.split_last().unwrap();
    assert_eq!(last.try_recv(), Ok(Answer::Busy));
    assert!(others.iter().all(waits));
}

#[test]
fn silence_beyond_the_clocks_ends_the_match() {
    let mut stage = Stage::started();
    // Since the start clock ended at 20.
    assert_eq!(stage.alarm(), Some(80.0));
    stage.at(79.0);
    assert!(stage.is_busy());
    stage.publish(0, "go", |advice| advice.is_only = true);
    let answer = stage.play("");
    assert_eq!(answer.try_recv(), moved("go"));
    // Since the play clock ended at 89.
    assert_eq!(stage.alarm(), Some(149.0));
    stage.at(149.0);
    assert!(!stage.is_busy());
    assert!(matches!(stage.orders()[..], [Order::Abandon(_)]));
    assert_eq!(stage.play("").try_recv(), Ok(Answer::Busy));
}

#[test]
fn rules_with_errors_are_not_read() {
    for source in ["(role a) (<=)", "(role", "", "(init a)"] {
        let read = StartRules::read(&sexpr::parse(source).0, source, "m");
        assert!(!read.unwrap_err().is_empty(), "{source}");
    }
}

#[test]
fn longer_clocks_than_the_greatest_are_cut() {
    let mut stage = Stage::new();
    let Message::Start(start) = stage.start_request("m", "a") else {
        panic!("a START was made")
    };
    let week = Duration::from_secs(7 * 24 * 3600);
    let ready = stage.ask(Message::Start(StartRequest {
        start_clock: week,
        play_clock: week,
        ..start
    }));
    stage.publish(0, "first", |_| {});
    stage.at(3597.0);
    assert!(waits(&ready));
    stage.at(3598.0);
    assert_eq!(ready.try_recv(), Ok(Answer::Ready));
    // A week after the last clock it would still be busy.
    stage.at(3600.0 + 60.0);
    assert!(!stage.is_busy());
}

#[test]
fn without_a_thread_there_is_no_match() {
    let mut stage = Stage::new();
    stage.conductor.factory = Box::new(|_: MatchSetup| Err(io::ErrorKind::WouldBlock.into()));
    assert_eq!(stage.start().try_recv(), Ok(Answer::Busy));
    assert!(!stage.is_busy());
}

#[test]
fn a_shutdown_answers_what_is_owed() {
    let mut stage = Stage::started();
    stage.publish(0, "go", |_| {});
    let answer = stage.play("");
    stage.conductor.shut_down(stage.now);
    assert_eq!(answer.try_recv(), moved("go"));
    assert!(!stage.is_busy());
    assert!(matches!(stage.orders()[..], [Order::Abandon(_)]));
}
