use super::*;

/// Two squares, which x and o fill in turn.
const RULES: &str = "role(x),role(o),square(1),square(2),init(cell(N,b)) :- square(N),\
    init(control(x)),legal(mark(N)) :- cell(N,b),\
    mark(N) :: control(R) ==> ~cell(N,b) & cell(N,R),\
    mark(N) :: control(x) ==> ~control(x) & control(o),\
    mark(N) :: control(o) ==> ~control(o) & control(x),\
    goal(R,100) :- role(R) & cell(1,R),goal(R,0) :- role(R) & ~cell(1,R),\
    terminal :- ~cell(1,b) & ~cell(2,b)";

fn relayed(player: &str, number: u64, content: &str) -> RelayedMessage {
    RelayedMessage {
        player: player.into(),
        number,
        content: content.into(),
        waited: 0,
        sent_at: None,
    }
}

fn say(gamemaster: &Gamemaster, number: u64, content: &str) -> Result<Vec<Message>, String> {
    let relayed = relayed("panza", number, content);
    Ok(match gamemaster.translate(&relayed, Instant::now())? {
        Translation::Messages(messages) => messages,
        Translation::Reply(_) => Vec::new(),
    })
}

fn start(role: &str) -> String {
    format!("start({role},ruleset({RULES}),10,10)")
}

fn texts(moves: Option<&SentMoves>) -> Vec<&str> {
    moves.map_or(Vec::new(), |moves| {
        moves.iter().map(String::as_str).collect()
    })
}

#[test]
fn a_match_is_passed_on() {
    let gamemaster = Gamemaster::default();
    let messages = say(&gamemaster, 1, &start("o")).unwrap();
    let [Message::Start(start)] = &messages[..] else {
        panic!("{messages:?}");
    };
    assert_eq!(
        (&*start.role, start.play_clock),
        ("o", Duration::from_millis(9700))
    );
    assert_eq!(start.rules.rules.role_names(), ["x", "o"]);
    assert!(start.match_id.starts_with("gamemaster.panza."));
    for (number, content, expected) in [
        (2, "play([])", vec![]),
        (3, "play(mark(2))", vec!["(mark 2)", "noop$"]),
        // The same message again.
        (3, "play(mark(2))", vec!["(mark 2)", "noop$"]),
    ] {
        let messages = say(&gamemaster, number, content).unwrap();
        let [Message::Play(play)] = &messages[..] else {
            panic!("{messages:?}");
        };
        assert_eq!(play.match_id, start.match_id);
        assert_eq!(texts(play.moves.as_ref()), expected);
    }
    let messages = say(&gamemaster, 4, "stop(mark(1))").unwrap();
    let [Message::Stop { moves, .. }] = &messages[..] else {
        panic!("{messages:?}");
    };
    assert_eq!(texts(moves.as_ref()), ["noop$", "(mark 1)"]);
    assert_eq!(gamemaster.match_id(), None);
    assert!(say(&gamemaster, 5, "abort()").unwrap().is_empty());
}

#[test]
fn a_start_ends_the_match_before_unless_it_is_the_same() {
    let gamemaster = Gamemaster::default();
    say(&gamemaster, 1, &start("x")).unwrap();
    let first = gamemaster.match_id();
    assert_eq!(say(&gamemaster, 1, &start("x")).unwrap().len(), 1);
    assert_eq!(gamemaster.match_id(), first);
    say(&gamemaster, 2, "play([])").unwrap();
    let messages = say(&gamemaster, 1, &start("x")).unwrap();
    assert!(
        matches!(&messages[..], [Message::Abort { match_id }, Message::Start(_)]
            if Some(match_id) == first.as_ref())
    );
}

#[test]
fn answers_are_written_in_the_dialect() {
    let gamemaster = Gamemaster::default();
    let answer = |answer| gamemaster.answer(&answer);
    let mv = |text: &str| Answer::Move(text.to_string());
    assert_eq!(answer(Answer::Ready), Ok(Some("ready".into())));
    assert_eq!(answer(mv("(mark 1 2)")), Ok(Some("mark(1,2)".into())));
    assert_eq!(answer(mv("tick$0")), Ok(Some("tick()".into())));
    assert_eq!(answer(mv("noop$")), Ok(None));
    assert_eq!(answer(Answer::Done), Ok(None));
    assert!(answer(mv("($)")).is_err());
    assert!(answer(Answer::Busy).is_err());
}

#[test]
fn faults_are_told_and_change_nothing() {
    let gamemaster = Gamemaster::default();
    say(&gamemaster, 1, &start("x")).unwrap();
    for (content, expected) in [
        ("play(mark(X))", "expected a move"),
        ("nonsense", "expected ping()"),
    ] {
        let fault = say(&gamemaster, 2, content).unwrap_err();
        assert!(fault.contains(expected), "{fault}");
    }
    assert!(gamemaster.match_id().is_some());
    let stranger = relayed("another", 2, "play([])");
    assert!(gamemaster.translate(&stranger, Instant::now()).is_err());
    let faulty = "start(x,ruleset(legal(a)),10,10)";
    let fault = say(&gamemaster, 9, faulty).unwrap_err();
    assert!(
        fault.starts_with("ruleset:") && fault.contains("error"),
        "{fault}"
    );
    assert!(gamemaster.match_id().is_some());
}

#[test]
fn a_faulty_sentence_is_left_out() {
    let gamemaster = Gamemaster::default();
    let start = format!("start(x,ruleset({RULES},legal(mark(3)) :- <),10,10)");
    assert_eq!(say(&gamemaster, 1, &start).unwrap().len(), 1);
}
