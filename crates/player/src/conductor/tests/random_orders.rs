//! Messages, advice and time in random order, under a simulated clock. The match thread takes no
//! orders here, as one that hangs.
//!
//! The test knows which moves were published and checks every answer: that there is exactly one,
//! what it may be, and when it leaves.

use proptest::prelude::*;

use super::*;
use crate::common::FollowerLink;

/// The clocks of every match.
const START_CLOCK: Duration = Duration::from_secs(20);
const PLAY_CLOCK: Duration = Duration::from_secs(10);
/// The longest wait of a step: more than it takes to give up a silent match.
const LONGEST_WAIT: u32 = 90_000;

/// The moves in a PLAY.
#[derive(Clone, Copy, Debug)]
enum Moves {
    Nil,
    /// Ours as it was answered, or another one.
    Played(bool),
    /// Those of the last PLAY.
    Repeated,
    TooFew,
    TooMany,
}

/// A step of a test. Matches have the names m and n.
#[derive(Clone, Debug)]
enum Action {
    Preview,
    Start {
        is_m: bool,
        is_a: bool,
    },
    Play {
        is_m: bool,
        moves: Moves,
    },
    Stop {
        is_m: bool,
        has_moves: bool,
    },
    Abort {
        is_m: bool,
    },
    /// The search publishes a move, or none, for the position `ahead` moves after this one.
    Search {
        ahead: usize,
        is_known: bool,
        is_only: bool,
        is_proven: bool,
    },
    /// The follower of the machine knows one.
    Follower {
        ahead: usize,
    },
    /// The game cannot be played.
    Refuse,
    /// Milliseconds from the last answer until its bytes were handed to the socket.
    Delay(u32),
    /// Milliseconds that pass.
    Wait(u32),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let moves = prop_oneof![
        2 => Just(Moves::Nil),
        8 => any::<bool>().prop_map(Moves::Played),
        2 => Just(Moves::Repeated),
        1 => Just(Moves::TooFew),
        1 => Just(Moves::TooMany),
    ];
    let is_m = || prop::bool::weighted(0.9);
    let action = prop_oneof![
        1 => Just(Action::Preview),
        4 => (is_m(), is_m()).prop_map(|(is_m, is_a)| Action::Start { is_m, is_a }),
        12 => (is_m(), moves).prop_map(|(is_m, moves)| Action::Play { is_m, moves }),
        1 => (is_m(), any::<bool>())
            .prop_map(|(is_m, has_moves)| Action::Stop { is_m, has_moves }),
        1 => is_m().prop_map(|is_m| Action::Abort { is_m }),
        8 => (0usize..2, is_m(), prop::bool::weighted(0.2), prop::bool::weighted(0.1)).prop_map(
            |(ahead, is_known, is_only, is_proven)| Action::Search {
                ahead,
                is_known,
                is_only,
                is_proven
            }
        ),
        4 => (0usize..2).prop_map(|ahead| Action::Follower { ahead }),
        1 => Just(Action::Refuse),
        3 => (0u32..3_000).prop_map(Action::Delay),
        8 => prop_oneof![10 => 0u32..12_000, 1 => 0u32..LONGEST_WAIT].prop_map(Action::Wait),
    ];
    prop::collection::vec(action, 0..80)
}

/// A message that was sent.
struct Sent {
    kind: Kind,
    at: Instant,
    /// The position of a PLAY of the match that ran then.
    position: Option<usize>,
    answer: Option<Answer>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Preview,
    Start,
    Play,
    Stop,
    Abort,
}

/// Both ends of a channel of answers with the numbers of their messages.
type Answers = (
    std::sync::mpsc::Sender<(usize, Answer)>,
    Receiver<(usize, Answer)>,
);

struct Simulation {
    stage: Stage,
    sent: Vec<Sent>,
    answers: Answers,
    follower: Option<FollowerLink>,
    /// The positions of which the search and the follower know a move.
    known: [Option<usize>; 2],
    /// The answers to the PLAYs of this match.
    answered: Vec<(usize, String)>,
    last_moves: Vec<String>,
    n_matches: usize,
}

impl Simulation {
    fn new() -> Self {
        Self {
            stage: Stage::new(),
            sent: Vec::new(),
            answers: channel(),
            follower: None,
            known: [None; 2],
            answered: Vec::new(),
            last_moves: Vec::new(),
            n_matches: 0,
        }
    }

    fn game(&self) -> Option<&Match> {
        self.stage.conductor.game.as_ref()
    }

    fn send(&mut self, kind: Kind, request: Message) {
        let (number, sender) = (self.sent.len(), self.answers.0.clone());
        let is_running = match &request {
            Message::Play(play) => self.stage.conductor.is_running(&play.match_id),
            _ => false,
        };
        self.sent.push(Sent {
            kind,
            at: self.stage.now,
            position: None,
            answer: None,
        });
        let reply: Reply = Box::new(move |answer| sender.send((number, answer)).unwrap());
        self.stage.conductor.handle(request, reply, self.stage.now);
        let position = self.game().filter(|_| is_running).map(|game| game.position);
        self.sent[number].position = position;
    }

    fn act(&mut self, action: Action) {
        let id = |is_m: bool| String::from(if is_m { "m" } else { "n" });
        match action {
            Action::Preview => self.send(Kind::Preview, Message::Preview),
            Action::Start { is_m, is_a } => {
                let role = if is_a { "a" } else { "b" };
                let request = self.stage.start_request(&id(is_m), role);
                self.send(Kind::Start, request);
                if self.n_links() > self.n_matches {
                    self.n_matches += 1;
                    self.known = [None; 2];
                    self.answered.clear();
                    self.last_moves.clear();
                    self.follower = Some(self.stage.link().follower(BuildKind::Main));
                }
            }
            Action::Play { is_m, moves } => {
                let moves = self.moves(moves);
                if !moves.is_empty() {
                    self.last_moves = moves.clone();
                }
                let moves = texts(&moves.join(" "));
                let request = Message::Play(PlayRequest {
                    match_id: id(is_m),
                    moves: (!moves.is_empty()).then_some(moves),
                    is_repeat: None,
                    received: self.stage.now,
                });
                self.send(Kind::Play, request);
            }
            Action::Stop { is_m, has_moves } => {
                let moves = has_moves.then(|| texts("x y"));
                let match_id = id(is_m);
                self.send(Kind::Stop, Message::Stop { match_id, moves });
            }
            Action::Abort { is_m } => {
                let match_id = id(is_m);
                self.send(Kind::Abort, Message::Abort { match_id });
            }
            Action::Search {
                ahead,
                is_known,
                is_only,
                is_proven,
            } => {
                let position = self.game().map_or(0, |game| game.position) + ahead;
                if self.n_links() == 0 {
                    return;
                }
                let advice = advice(position, is_only, is_proven);
                self.stage.link().publish(is_known.then_some(advice));
                self.known[0] = is_known.then_some(position);
            }
            Action::Follower { ahead } => {
                let position = self.game().map_or(0, |game| game.position) + ahead;
                if let Some(follower) = &self.follower {
                    follower.publish(Some(advice(position, false, false)));
                    self.known[1] = Some(position);
                }
            }
            Action::Refuse if self.n_links() > 0 => self.stage.link().refuse("no machine".into()),
            Action::Refuse => {}
            Action::Delay(milliseconds) => {
                let delay = Duration::from_millis(milliseconds.into());
                self.stage.conductor.note_delay(delay);
            }
            Action::Wait(milliseconds) => {
                self.wait(Duration::from_millis(milliseconds.into()));
            }
        }
    }

    fn n_links(&self) -> usize {
        self.stage.links.lock().unwrap().len()
    }

    fn moves(&self, moves: Moves) -> Vec<String> {
        let ours = self.answered.last().map_or("x", |(_, text)| text);
        let moves: &[&str] = match moves {
            Moves::Nil => &[],
            Moves::Played(true) => &[ours, "y"],
            Moves::Played(false) => &["x", "y"],
            Moves::Repeated => return self.last_moves.clone(),
            Moves::TooFew => &[ours],
            Moves::TooMany => &[ours, "y", "(z 1)"],
        };
        moves.iter().map(ToString::to_string).collect()
    }

    /// Lets time pass, and ticks whenever the conductor asks for it.
    fn wait(&mut self, time: Duration) {
        let until = self.stage.now + time;
        loop {
            self.check();
            let alarm = self.stage.conductor.next_tick(self.stage.now);
            let Some(alarm) = alarm.filter(|&alarm| alarm <= until) else {
                break;
            };
            self.stage.now = self.stage.now.max(alarm);
            self.stage.conductor.tick(self.stage.now);
            let next = self.stage.conductor.next_tick(self.stage.now);
            assert!(
                next.is_none_or(|next| next > self.stage.now),
                "it would tick without end"
            );
        }
        self.stage.now = until;
    }

    /// Checks what holds at all times, and the new answers.
    fn check(&mut self) {
        let new: Vec<(usize, Answer)> = self.answers.1.try_iter().collect();
        for (number, answer) in new {
            let now = self.stage.now;
            let sent = &mut self.sent[number];
            assert_eq!(sent.answer, None, "a second answer");
            sent.answer = Some(answer.clone());
            let clock = match sent.kind {
                Kind::Start => START_CLOCK,
                Kind::Play => PLAY_CLOCK,
                _ => Duration::ZERO,
            };
            assert!(now <= sent.at + clock, "{:?} was answered late", sent.kind);
            match (sent.kind, answer, sent.position) {
                (_, Answer::Busy, _)
                | (Kind::Preview, Answer::Done, None)
                | (Kind::Start, Answer::Ready | Answer::Refused(_), None)
                | (Kind::Stop, Answer::Done, None)
                | (Kind::Abort, Answer::Aborted, None) => {}
                (Kind::Play, Answer::Move(text), Some(position)) => {
                    let again = self.answered.last() == Some(&(position, text.clone()));
                    let is_known = self.known.contains(&Some(position));
                    let expected = match is_known {
                        true => legal(position),
                        // The latest move that is known is the best guess.
                        false => (self.known.iter().flatten().max())
                            .map_or(DEFAULT_MOVE.to_string(), |&position| legal(position)),
                    };
                    assert!(again || text == expected, "{text} in position {position}");
                    self.answered.push((position, text));
                }
                (kind, answer, position) => panic!("{kind:?} {answer:?} {position:?}"),
            }
        }
        // Nothing is overdue, and nothing is free to wait while a match is over.
        let now = self.stage.now;
        let is_open = |sent: &&Sent| sent.answer.is_none();
        for sent in self.sent.iter().filter(is_open) {
            let clock = match sent.kind {
                Kind::Start => START_CLOCK,
                Kind::Play => PLAY_CLOCK,
                kind => panic!("{kind:?} waits"),
            };
            assert!(now < sent.at + clock && self.game().is_some());
        }
        assert_eq!(self.stage.is_busy(), self.game().is_some());
        // The threads of all matches but the running one see that theirs is over.
        let links = self.stage.links.lock().unwrap();
        for (number, link) in links.iter().enumerate() {
            let is_last = number + 1 == links.len();
            if !is_last || self.stage.conductor.game.is_none() {
                while link.orders.try_recv().is_ok() {}
                assert_eq!(
                    link.orders.try_recv(),
                    Err(crossbeam::channel::TryRecvError::Disconnected)
                );
            }
        }
    }
}

fn legal(position: usize) -> String {
    format!("m{position}")
}

fn advice(position: usize, is_only: bool, is_proven: bool) -> Advice {
    Advice {
        position,
        best: MoveStats {
            is_proven_best: is_proven,
            ..MoveStats::new(legal(position))
        },
        is_only,
        repeat_is_legal: position.is_multiple_of(2),
        effort: Effort::default(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn every_message_gets_one_answer_in_time(actions in actions()) {
        let mut simulation = Simulation::new();
        for action in actions {
            simulation.act(action);
            simulation.check();
        }
        simulation.stage.conductor.shut_down(simulation.stage.now);
        simulation.check();
        prop_assert!(simulation.sent.iter().all(|sent| sent.answer.is_some()));
        prop_assert!(!simulation.stage.is_busy());
    }

    #[test]
    fn the_player_is_available_after_stop_and_abort(
        actions in actions(),
        is_m in any::<bool>(),
        is_stop in any::<bool>(),
    ) {
        let mut simulation = Simulation::new();
        for action in actions {
            simulation.act(action);
            simulation.check();
        }
        // A game that was just found unplayable ends the match first.
        simulation.stage.conductor.tick(simulation.stage.now);
        let is_running = simulation.stage.is_busy();
        for is_m in [is_m, !is_m] {
            simulation.act(match is_stop {
                true => Action::Stop { is_m, has_moves: true },
                false => Action::Abort { is_m },
            });
            simulation.check();
        }
        prop_assert!(!simulation.stage.is_busy());
        let n_ended = simulation.sent.iter().rev().take(2);
        let n_ended = n_ended.filter(|sent| sent.answer != Some(Answer::Busy)).count();
        prop_assert_eq!(n_ended, usize::from(is_running));
        let n_matches = simulation.n_matches;
        simulation.act(Action::Start { is_m, is_a: true });
        prop_assert_eq!(simulation.n_matches, n_matches + 1);
    }
}
