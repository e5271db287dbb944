//! Whole matches of real games over sockets, and the fallback machine compared with the main one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::client::{Running, read_to_end};
use crate::support::{factory, settings};
use panza_cli::Game;
use panza_game::GameBuilders;
use panza_gdl::{Id, RoleId, Rules};
use panza_prover::{Prover, State};
use panza_sync::{Budget, Random};

/// The prover alone.
fn last_resort() -> GameBuilders {
    GameBuilders {
        main: factory(|_, _| Err("switched off".into())),
        fallback: GameBuilders::standard().fallback,
    }
}

/// A referee that sees what it is told, and what each player may do.
struct Referee {
    prover: Prover,
    state: State,
    n_roles: usize,
}

impl Referee {
    fn new(rules: &Rules) -> Self {
        let prover = Prover::new(rules).unwrap();
        Self {
            state: prover.initial_state(),
            n_roles: prover.roles().len(),
            prover,
        }
    }

    fn is_over(&mut self) -> bool {
        self.prover.is_terminal(&self.state).unwrap()
    }

    /// Makes a joint move; every move must be legal.
    fn make(&mut self, moves: &[String]) {
        let mut terms = Vec::new();
        for (role, text) in moves.iter().enumerate() {
            let role = RoleId::from_index(role);
            let legal = self.prover.legal_moves(&self.state, role).unwrap();
            let term = self.prover.read_term(text);
            let term = term.filter(|term| legal.contains(term));
            terms.push(term.unwrap_or_else(|| panic!("role {role:?} plays {text}")));
        }
        self.state = self.prover.next_state(&self.state, &terms).unwrap();
    }

    fn goals(&mut self) -> Vec<Option<u8>> {
        (0..self.n_roles)
            .map(|role| {
                self.prover
                    .goal(&self.state, RoleId::from_index(role))
                    .unwrap()
            })
            .collect()
    }
}

/// Plays a match, one server for each role, and returns the goals. Answers leave in the middle of
/// their clocks, and two seconds before the end of the start clock: a busy machine keeps them.
fn play(
    game: &str,
    players: Vec<GameBuilders>,
    start_clock: f64,
    play_clock: f64,
) -> Vec<Option<u8>> {
    let Game { sheet, rules } = Game::load(game).unwrap();
    let text = sheet.text;
    let mut referee = Referee::new(&rules);
    assert_eq!(referee.n_roles, players.len());
    let servers: Vec<Running> = players
        .into_iter()
        .map(|factories| Running::new(settings(&["player.margin_seconds=2"]), factories))
        .collect();
    let roles: Vec<String> = referee
        .prover
        .roles()
        .iter()
        .map(|&role| referee.prover.show(role))
        .collect();
    // Every player gets its message before any answer is awaited.
    let ask_all = |messages: Vec<String>, clock: f64| -> Vec<String> {
        let begin = Instant::now();
        let streams: Vec<_> = servers
            .iter()
            .zip(&messages)
            .map(|(server, message)| server.send(message))
            .collect();
        let answers = streams
            .into_iter()
            .map(|stream| read_to_end(stream).body)
            .collect();
        let took = begin.elapsed();
        assert!(
            took < Duration::from_secs_f64(clock),
            "{game}: {messages:?} took {took:?}"
        );
        answers
    };
    let starts = roles
        .iter()
        .map(|role| format!("( START m {role} ( {text} ) {start_clock} {play_clock} )"))
        .collect();
    assert!(
        ask_all(starts, start_clock)
            .iter()
            .all(|answer| answer == "ready")
    );
    // ggp-base waits a second longer than the play clock.
    let patience = play_clock + 1.0;
    let mut last = "NIL".to_string();
    for _ in 0..200 {
        if referee.is_over() {
            break;
        }
        let message = format!("( PLAY m {last} )");
        let moves = ask_all(vec![message; roles.len()], patience);
        referee.make(&moves);
        last = format!("( {} )", moves.join(" "));
    }
    assert!(referee.is_over(), "{game} did not end");
    let message = format!("( STOP m {last} )");
    let answers = ask_all(vec![message; roles.len()], patience);
    assert!(answers.iter().all(|answer| answer == "done"));
    for server in &servers {
        server.assert_available();
    }
    referee.goals()
}

#[test]
fn two_searches_draw_at_tic_tac_toe() {
    let players = vec![GameBuilders::standard(), GameBuilders::standard()];
    assert_eq!(play("ticTacToe", players, 8.0, 3.0), [Some(50), Some(50)]);
}

#[test]
fn the_fallback_plays_whole_matches() {
    let players = vec![last_resort(), GameBuilders::standard()];
    let goals = play("ticTacToe", players, 4.0, 1.6);
    assert!(goals.iter().all(Option::is_some), "{goals:?}");
}

#[test]
fn simultaneous_moves_are_played() {
    let players = vec![GameBuilders::standard(), GameBuilders::standard()];
    let goals = play("roshamboTen", players, 4.0, 1.5);
    assert!(goals.iter().all(Option::is_some), "{goals:?}");
}

#[test]
fn a_single_player_game_is_played() {
    let goals = play("hanoi", vec![GameBuilders::standard()], 4.0, 1.4);
    assert!(goals[0].is_some());
}

/// Facts, terminality, goals and legal moves of the compiled machine and the prover, on random
/// walks.
#[test]
fn the_fallback_agrees_with_the_main_machine() {
    for game in ["ticTacToe", "roshamboTen", "hanoi", "breakthrough"] {
        let rules = Game::load(game).unwrap().rules;
        let budget = Budget::within(Duration::from_secs(60), 1 << 30);
        let compiled = panza_game::build(&rules, &budget).unwrap().machine;
        let prover = panza_game::prover(&rules).unwrap().machine;
        assert_eq!(prover.kind(), "prover");
        let n_roles = compiled.info().n_roles();
        assert_eq!(prover.info().n_roles(), n_roles);
        let mut random = Random::new(3);
        for walk in 0..3 {
            let mut reasoners = [
                Arc::clone(&compiled).reasoner(),
                Arc::clone(&prover).reasoner(),
            ];
            let machines = [&compiled, &prover];
            let mut states = machines.map(|machine| machine.initial_state());
            for step in 0..30 {
                let place = format!("{game}, walk {walk}, step {step}");
                for (reasoner, state) in reasoners.iter_mut().zip(&states) {
                    reasoner.set_state(state);
                }
                let [expected, found] =
                    [0, 1].map(|index| machines[index].info().state_facts(&states[index]));
                assert_eq!(found, expected, "{place}");
                let facts = prover.info().state_from_facts(&found).unwrap();
                assert_eq!(facts, states[1], "{place}: equal states have equal numbers");
                let [expected, found] = reasoners.each_mut().map(|reasoner| reasoner.is_terminal());
                assert_eq!(found, expected, "{place}");
                if found {
                    let [expected, found] = reasoners.each_mut().map(|reasoner| {
                        let mut goals = vec![None; n_roles];
                        reasoner.goals(&mut goals);
                        goals
                    });
                    assert_eq!(found, expected, "{place}");
                    break;
                }
                let mut joint_moves = [Vec::new(), Vec::new()];
                for role in (0..n_roles).map(RoleId::from_index) {
                    let texts = [0, 1].map(|index| -> BTreeSet<String> {
                        let legal = reasoners[index].legal_moves(role);
                        legal
                            .iter()
                            .map(|&mv| machines[index].info().move_text(mv))
                            .collect()
                    });
                    assert_eq!(texts[1], texts[0], "{place}");
                    let chosen = random.below(texts[0].len() as u32) as usize;
                    let text = texts[0].iter().nth(chosen).unwrap();
                    for index in [0, 1] {
                        let mv = machines[index].info().find_move(role, text);
                        joint_moves[index].push(mv.unwrap_or_else(|| panic!("{place}: {text}")));
                    }
                }
                for index in [0, 1] {
                    let mut next = Vec::new();
                    reasoners[index].next_state(&joint_moves[index], &mut next);
                    states[index] = next;
                }
            }
        }
        let mut goals = vec![0; n_roles];
        let mut reasoner = Arc::clone(&prover).reasoner();
        reasoner.playout(&mut random, 1000, &mut goals);
        assert!(reasoner.is_terminal(), "{game}: a playout ends at the end");
    }
}
