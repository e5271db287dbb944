//! What a match thread does with the parts of a study, step by step and without a conductor.

use super::*;
use crate::{Manager, OurRole, Record, StartRequest, StartRules};
use panza_config::Settings;
use panza_gdl::sexpr;
use panza_testing::rulesheet;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(300);

/// A match whose START is answered much later, and the conductor's end of it.
fn begun(rules: &str) -> (MatchThread, Link) {
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
    let (alive, _) = bounded(0);
    let factory = MatchFactory {
        builders: GameBuilders::standard(),
        companions: None,
        memory: None,
        archive: Arc::new(Archive::new("/nowhere".as_ref())),
        wake: wake.clone(),
        alive: alive.clone(),
    };
    let (link, worker_link) = Link::new(wake);
    let mut thread = MatchThread::new(setup, worker_link, &factory, alive);
    thread.builds.start(
        BuildKind::Main,
        &mut thread.engines,
        &thread.tasks,
        &thread.link,
    );
    (thread, link)
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
fn the_search_gets_the_structure_while_the_study_goes_on() {
    let (mut thread, _link) = begun(rulesheet("nineBoardTicTacToe"));
    go_on(&mut thread, |thread| {
        thread.engines.config().placements.is_some()
    });
    assert!(thread.is_studying());
    // Nothing was learned so far.
    assert!(thread.engines.config().evaluation.is_none());
    // The study was going on: it ends now, by the flag.
    thread.tasks.cancel();
    go_on(&mut thread, |thread| thread.studying_until.is_none());
}

#[test]
fn a_match_that_was_stopped_drops_the_structure() {
    let (mut thread, link) = begun(rulesheet("connectFour"));
    link.order(Order::Abandon("aborted"));
    let game = panza_testing::game("connectFour");
    let metagame = &thread.setup.settings.metagame;
    let until = Instant::now() + PATIENCE;
    assert!((thread.tasks).study(&game, &thread.memory, &thread.search, until, metagame));
    loop {
        match thread.tasks.results.recv_timeout(PATIENCE).unwrap() {
            TaskResult::Begun(study) => panic!("{study:?}"),
            TaskResult::Studied(study) => {
                assert_eq!(study.unwrap().games, 0);
                break;
            }
            _ => {}
        }
    }
    assert!(!thread.iterate(), "the match is over");
}
