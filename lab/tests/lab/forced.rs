//! Positions with proven good moves: the files are valid, their claims can be proven, and the
//! search finds a good move in each position outside `hard`.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use panza_cli::Output;
use panza_cli::engine_choice::build_to_search;
use panza_config::Settings;
use panza_lab::oracle::check::examine;
use panza_lab::oracle::file::OracleSetup;
use panza_lab::oracle::score::SearchBudget;
use panza_lab::oracle::verify::verify;
use panza_lab::oracle::{Oracle, open_all};
use panza_machine::Machine;
use panza_player::search_config;

/// Iterations within which a good move has to be found.
const ITERATIONS: u64 = 60_000;
/// States to visit for the proof of a position.
const STATES: usize = 1_000_000;

/// A position and its name.
struct Case {
    name: String,
    is_hard: bool,
    machine: Arc<dyn Machine>,
    setup: OracleSetup,
}

/// Oracles of goals; those in the folder `hard` last.
fn oracles() -> Vec<Oracle> {
    let folders = ["lab/oracles/forced", "lab/oracles/forced/hard"];
    let folders = folders.map(|folder| format!("{}/{folder}", crate::ROOT));
    open_all(&folders, Output::new(true)).expect("the positions can be read")
}

fn is_hard(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with("hard"))
}

fn cases() -> Vec<Case> {
    let cases_of = |oracle: Oracle| {
        let machine = build_to_search(&oracle.game.rules, 1).expect("the game is one of ours");
        let setups = oracle.set_up(&machine, None).expect("the claims fit");
        setups.into_iter().map(move |(line, setup)| Case {
            name: format!("{}:{line}", oracle.path.display()),
            is_hard: is_hard(&oracle.path),
            machine: Arc::clone(&machine),
            setup,
        })
    };
    oracles().into_iter().flat_map(cases_of).collect()
}

/// Runs `work` for each case on two threads and collects the faults.
fn faults_of(cases: &[Case], work: impl Fn(&Case) -> Option<String> + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let faults = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(fault) = work(case) {
                        let fault = format!("{}: {fault}", case.name);
                        faults.lock().expect("no thread panicked").push(fault);
                    }
                }
            });
        }
    });
    faults.into_inner().expect("no thread panicked")
}

#[test]
fn there_are_fifty_positions_of_many_games_and_none_twice() {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for oracle in oracles() {
        let (path, head) = (&oracle.path, &oracle.file.head);
        assert_eq!(oracle.name, head.game, "a file has its game's name");
        assert!(
            !head.about.is_empty(),
            "{path:?} says nothing of its positions"
        );
        if !is_hard(path) {
            *counts.entry(oracle.name).or_default() += oracle.file.positions.len();
        }
    }
    let mut met = HashSet::new();
    for case in cases() {
        let (game, _) = case.name.rsplit_once(':').unwrap();
        let game = Path::new(game).file_stem().map(ToOwned::to_owned);
        let key = (game, case.setup.role, case.setup.state);
        assert!(met.insert(key), "{} is there twice", case.name);
    }
    assert!(counts.len() >= 10, "{counts:?}");
    assert!(counts.values().sum::<usize>() >= 50, "{counts:?}");
}

#[test]
fn every_claim_can_be_proven() {
    let faults = faults_of(&cases(), |case| {
        let verified = verify(&case.machine, &case.setup, STATES);
        (verified.holds != Some(true)).then(|| format!("{verified:?}, claimed {:?}", case.setup))
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_search_finds_a_good_move_in_every_position() {
    let settings = Settings::load(None, &[]).expect("the settings are fine as they come");
    let mut config = search_config(&settings.search, 1);
    // Only the searching thread: then every run is the same.
    config.rollout_threads = 0;
    let mut cases = cases();
    cases.retain(|case| !case.is_hard);
    let faults = faults_of(&cases, |case| {
        let budget = SearchBudget::Iterations(ITERATIONS);
        let finding = examine(&case.machine, &case.setup, &config, budget).unwrap();
        (!finding.is_good).then(|| format!("{finding:?}, good were {:?}", case.setup.claims))
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
