//! A player without threads.

use std::sync::mpsc::{Receiver, channel};

use super::*;
use crate::{Manager, PlayRequest, Position, SentMoves, StartRequest, StartRules};
use panza_game::{BuildError, BuiltGame};
use panza_gdl::{Id, RoleId, Rules, sexpr};
use panza_sync::Budget;
use panza_testing::{game_of, rulesheet};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(300);
const SLICE: Duration = Duration::from_millis(10);
/// Results of small games are proven long before.
const CLOCK: Duration = PATIENCE;

/// A player, and what it is asked.
struct Table {
    player: Player,
    work: PlayerWork,
}

impl Table {
    fn new(builders: GameBuilders) -> Self {
        let values = [
            "logs.match_logs=false",
            "memory.enabled=false",
            "search.method=tree",
            "search.threads=0",
            "search.seed=1",
            "search.max_nodes=20000",
        ];
        let settings = Settings::load(None, &values.map(String::from)).unwrap();
        let (player, work) = Player::without_threads(&settings, builders, None);
        Self { player, work }
    }

    fn ask(&self, message: Message) -> Receiver<Answer> {
        let (sender, answer) = channel();
        let reply = move |answer| {
            // Not every answer is waited for.
            let _ = sender.send(answer);
        };
        self.player.handle(message, Box::new(reply));
        answer
    }

    /// Works until there is an answer, and rests as long as it may.
    fn answer(&mut self, answer: &Receiver<Answer>) -> Answer {
        let until = at(PATIENCE);
        loop {
            let rest = self.work.work(SLICE);
            if let Ok(answer) = answer.try_recv() {
                return answer;
            }
            assert!(!is_past(until), "no answer");
            std::thread::sleep(rest);
        }
    }

    fn say(&mut self, message: Message) -> Answer {
        let answer = self.ask(message);
        self.answer(&answer)
    }

    fn status(&self) -> Status {
        self.player.info()
    }
}

fn start(match_id: &str, game: &str, role: &str, clock: Duration) -> Message {
    let rules = rulesheet(game);
    Message::Start(StartRequest {
        match_id: match_id.into(),
        role: role.into(),
        rules: StartRules::read(&sexpr::parse(rules).0, rules, match_id).unwrap(),
        start_clock: clock,
        play_clock: clock,
        received: Instant::now(),
        manager: Manager::default(),
    })
}

fn play(match_id: &str, moves: Option<SentMoves>) -> Message {
    Message::Play(PlayRequest {
        match_id: match_id.into(),
        moves,
        is_repeat: None,
        received: Instant::now(),
    })
}

fn stop(match_id: &str, moves: Option<SentMoves>) -> Message {
    Message::Stop {
        match_id: match_id.into(),
        moves,
    }
}

/// A build that fails.
fn no_build(_: &Rules, _: &Budget) -> Result<BuiltGame, BuildError> {
    Err(BuildError::Panicked("no".into()))
}

/// Plays a match in which the other roles make their first legal moves. Returns the goals.
fn play_match(table: &mut Table, game: &str, role: &str, clock: Duration) -> Vec<Option<u8>> {
    let built = game_of(rulesheet(game));
    let mut position = Position::new(&built.machine);
    let roles = position.info().roles();
    let own = roles.iter().position(|name| name == role).unwrap();
    assert_eq!(table.say(start("m", game, role, clock)), Answer::Ready);
    assert_eq!(table.status(), Status::Busy);
    let mut last: Option<SentMoves> = None;
    while !position.is_terminal() {
        let begin = Instant::now();
        let Answer::Move(text) = table.say(play("m", last.clone())) else {
            panic!("no move");
        };
        assert!(begin.elapsed() < clock, "{:?}", begin.elapsed());
        let mut moves = Vec::new();
        for index in 0..roles.len() {
            let id = RoleId::from_index(index);
            let legal = position.legal_moves(id).to_vec();
            let texts = legal.iter().map(|&mv| position.info().move_text(mv));
            let texts: Vec<String> = texts.collect();
            moves.push(match index == own {
                true => {
                    assert!(texts.contains(&text), "{text} is not legal: {texts:?}");
                    text.clone()
                }
                false => texts[0].clone(),
            });
        }
        let sent: SentMoves = moves.into();
        assert!(position.advance(&sent).faults.is_empty());
        last = Some(sent);
    }
    assert_eq!(table.say(stop("m", last)), Answer::Done);
    // The end of the match is a step too.
    table.work.work(SLICE);
    assert_eq!(table.status(), Status::Available);
    assert_eq!(table.work.thoughts(), None);
    position.goals()
}

#[test]
fn a_match_is_played_in_slices() {
    let mut table = Table::new(GameBuilders::standard());
    let goals = play_match(&mut table, "ticTacToe", "xplayer", CLOCK);
    assert_eq!(goals[0], Some(100));
    let goals = play_match(&mut table, "ticTacToe", "oplayer", CLOCK);
    assert!(goals[1] >= Some(50), "{goals:?}");
}

#[test]
fn answers_wait_for_their_clock_and_say_what_is_thought() {
    let mut table = Table::new(GameBuilders::standard());
    let clock = Duration::from_secs(2);
    let begin = Instant::now();
    assert_eq!(
        table.say(start("m", "connectFour", "red", clock)),
        Answer::Ready
    );
    assert!(begin.elapsed() < clock, "{:?}", begin.elapsed());
    let begin = Instant::now();
    let answer = table.say(play("m", None));
    let took = begin.elapsed();
    assert!(took < clock && took > clock / 2, "{took:?}");
    let thoughts = table.work.thoughts().unwrap();
    assert_eq!(answer, Answer::Move(thoughts.best_move.clone()));
    assert!(thoughts.value.is_some());
    assert_eq!(thoughts.line[0][0], thoughts.best_move);
}

#[test]
fn a_game_without_a_network_is_played_by_the_prover() {
    let mut table = Table::new(GameBuilders {
        main: Arc::new(no_build),
        ..GameBuilders::standard()
    });
    play_match(&mut table, "ticTacToe", "xplayer", Duration::from_secs(2));
}

#[test]
fn a_game_that_cannot_be_built_is_refused() {
    let mut table = Table::new(GameBuilders {
        main: Arc::new(no_build),
        fallback: None,
    });
    let answer = table.say(start("m", "ticTacToe", "xplayer", CLOCK));
    assert!(matches!(answer, Answer::Refused(_)), "{answer:?}");
    assert_eq!(table.status(), Status::Available);
}

#[test]
fn a_start_right_behind_an_abort_begins_its_match() {
    let mut table = Table::new(GameBuilders::standard());
    let first = table.ask(start("first", "ticTacToe", "xplayer", CLOCK));
    let aborted = table.ask(Message::Abort {
        match_id: "first".into(),
    });
    let second = table.ask(start("second", "ticTacToe", "xplayer", CLOCK));
    assert_eq!(table.answer(&first), Answer::Ready);
    assert_eq!(table.answer(&aborted), Answer::Aborted);
    assert_eq!(table.answer(&second), Answer::Ready);
    assert!(table.player.is_playing("second"));
    assert!(matches!(table.say(play("second", None)), Answer::Move(_)));
}

#[test]
fn a_match_that_is_told_at_once_goes_on_where_it_is() {
    let mut table = Table::new(GameBuilders::standard());
    let moves = |texts: [&str; 2]| -> SentMoves { texts.map(String::from).to_vec().into() };
    let played = [
        moves(["(mark 1 1)", "noop"]),
        moves(["noop", "(mark 3 3)"]),
        moves(["(mark 1 2)", "noop"]),
        moves(["noop", "(mark 3 2)"]),
    ];
    drop(table.ask(start("m", "ticTacToe", "xplayer", CLOCK)));
    let answers = [None].into_iter().chain(played.map(Some));
    let answers: Vec<_> = answers.map(|it| table.ask(play("m", it))).collect();
    let last = answers.last().unwrap();
    assert_ne!(table.answer(last), Answer::Move("noop".into()));
    assert_eq!(table.work.thoughts().unwrap().value, Some(100.0));
}
