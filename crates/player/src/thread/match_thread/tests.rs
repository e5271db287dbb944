//! What a match thread does with the parts of a preparation, step by step and without a conductor.

use std::path::Path;

use super::*;
use crate::search::ROWS;
use crate::{Manager, OurRole, Record, StartRequest, StartRules};
use crossbeam::channel::{Receiver, RecvTimeoutError};
use panza_config::Settings;
use panza_gdl::sexpr;
use panza_memory::Store;
use panza_testing::dead_boards::tic_tac_toe;
use panza_testing::{game_of, rulesheet};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(300);

/// A match whose START is answered much later, and the conductor's end of it.
fn begun(rules: &str) -> (MatchThread, Link) {
    let (thread, link, _) = begun_with(rules, None);
    (thread, link)
}

/// The same with a memory, and what says that all threads of the match have ended.
fn begun_with(rules: &str, memory: Option<&Path>) -> (MatchThread, Link, Receiver<()>) {
    let values = [
        "logs.match_logs=false",
        "memory.enabled=false",
        "search.threads=1",
        "search.seed=1",
        "search.max_nodes=20000",
    ];
    let settings = Settings::load(None, &values.map(String::from)).unwrap();
    let start = StartRequest {
        match_id: "m".into(),
        role: String::new(),
        rules: StartRules::read(&sexpr::parse(rules).0, rules, "m").unwrap(),
        start_clock: PATIENCE,
        play_clock: PATIENCE,
        received: Instant::now(),
        manager: Manager::default(),
    };
    let roles = start.rules.rules.role_names();
    let setup = MatchSetup {
        match_id: start.match_id.clone(),
        rules: start.rules.clone(),
        role: OurRole {
            name: roles[0].clone(),
            index: 0,
        },
        build_until: Instant::now() + PATIENCE,
        ready_by: Instant::now() + PATIENCE,
        record: Record::new(&settings, &start, &roles),
        settings: Arc::new(settings),
    };
    let (wake, _) = bounded(1);
    let (alive, gone) = bounded(0);
    let factory = MatchFactory {
        builders: GameBuilders::standard(),
        companions: None,
        memory: memory.map(|path| MemoryService::new(path, 10)),
        archive: Arc::new(Archive::new("/nowhere".as_ref())),
        wake: wake.clone(),
        alive: alive.clone(),
        own: None,
    };
    let (link, worker_link) = Link::new(wake);
    let mut thread = MatchThread::new(setup, worker_link, &factory, alive);
    thread.begin();
    (thread, link, gone)
}

/// Lets the match go on until something is so.
fn go_on(thread: &mut MatchThread, is_so: impl Fn(&MatchThread) -> bool) {
    let begin = Instant::now();
    while !is_so(thread) {
        assert!(begin.elapsed() < PATIENCE);
        assert!(thread.iterate());
    }
}

#[test]
fn the_search_gets_the_structure_while_the_preparation_goes_on() {
    let (mut thread, _link) = begun(rulesheet("nineBoardTicTacToe"));
    go_on(&mut thread, |thread| {
        thread.engines.config().whole.placements.is_some()
    });
    assert!(thread.is_preparing());
    // Nothing was learned so far.
    assert!(thread.engines.config().whole.evaluation.is_none());
    // The preparation was going on: it ends now, by the flag.
    thread.tasks.cancel();
    go_on(&mut thread, |thread| thread.preparing_until.is_none());
}

#[test]
fn a_match_that_was_stopped_drops_the_structure() {
    let (mut thread, link) = begun(rulesheet("connectFour"));
    link.order(Order::Abandon("aborted"));
    let game = panza_testing::game("connectFour");
    let metagame = &thread.setup.settings.metagame;
    let budget = PreparationBudget::from_now(metagame, PATIENCE, &thread.tasks.issue_stop());
    assert!((thread.tasks).prepare(
        PreparationOf::Game,
        &game,
        &thread.memory,
        &thread.search,
        budget,
    ));
    loop {
        match thread.tasks.results.recv_timeout(PATIENCE).unwrap() {
            TaskResult::Begun(preparation) => panic!("{preparation:?}"),
            TaskResult::Prepared(preparations) => {
                assert_eq!(preparations.unwrap().preparations[0].games, 0);
                break;
            }
            _ => {}
        }
    }
    assert!(!thread.iterate(), "the match is over");
}

#[test]
fn what_is_searched_is_prepared() {
    let cases = [
        (tic_tac_toe(1), PreparationOf::Reduced, 1),
        (ROWS.to_string(), PreparationOf::Parts, 2),
    ];
    for (rules, of, n_games) in cases {
        let (mut thread, _link) = begun(&rules);
        go_on(&mut thread, |thread| {
            thread.engines.config().parts.len() == n_games
        });
        // What holds for a part is not said of the game.
        let config = thread.engines.config();
        let knows = |it: &SearchConfig| !it.score_ranges.is_empty() || it.placements.is_some();
        assert!(!knows(&config.whole) && config.parts.iter().any(knows));
        let engine = thread.engines.current().unwrap();
        assert_eq!(engine.searcher.preparation_of(), of);
        thread.tasks.cancel();
        go_on(&mut thread, |thread| thread.preparing_until.is_none());
    }
}

#[test]
fn preparations_of_parts_are_not_remembered() {
    let game = game_of(ROWS);
    for (of, is_remembered) in [(PreparationOf::Game, true), (PreparationOf::Parts, false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory");
        let (mut thread, link, gone) = begun_with(ROWS, Some(&path));
        let metagame = &thread.setup.settings.metagame;
        let time = Duration::from_secs(1);
        let budget = PreparationBudget::from_now(metagame, time, &thread.tasks.issue_stop());
        assert!((thread.tasks).prepare(of, &game, &thread.memory, &thread.search, budget));
        loop {
            let result = thread.tasks.results.recv_timeout(PATIENCE).unwrap();
            if let TaskResult::Prepared(preparations) = result {
                assert_eq!(
                    preparations.unwrap().preparations.len(),
                    of.games(&game).len()
                );
                break;
            }
        }
        thread.end("stopped", &[]);
        drop((thread, link));
        assert_eq!(
            gone.recv_timeout(PATIENCE),
            Err(RecvTimeoutError::Disconnected)
        );
        let games = Store::open(&path, 10, PATIENCE).unwrap().list().unwrap();
        assert_eq!(!games[0].kinds.is_empty(), is_remembered, "{of:?}");
    }
}
