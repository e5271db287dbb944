//! Positions with proven good moves: the files are valid, their claims can be proven, and the
//! search finds a good move in each position outside `hard`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use panza_arena::engine_choice::build_to_search;
use panza_arena::game_source::Game;
use panza_lab::positions::check::{Effort, examine};
use panza_lab::positions::file::{Position, PositionFile};
use panza_lab::positions::read_all;
use panza_lab::positions::verify::verify;
use panza_machine::machine::Machine;
use panza_player::config::Settings;
use panza_player::player::search_config;

/// Iterations within which a good move has to be found.
const ITERATIONS: u64 = 60_000;
/// States to visit for the proof of a position.
const STATES: usize = 1_000_000;

/// A position and its name.
struct Case {
    name: String,
    is_hard: bool,
    machine: Arc<dyn Machine>,
    position: Position,
}

/// Files of positions; those in the folder `hard` last.
fn files() -> Vec<(PathBuf, PositionFile)> {
    let folder = Path::new(crate::ROOT).join("tests/positions");
    let hard = folder.join("hard");
    read_all(&[folder, hard]).expect("the positions can be read")
}

fn is_hard(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with("hard"))
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (path, file) in files() {
        let game = Game::load(&file.game).unwrap_or_else(|error| panic!("{path:?}: {error:#}"));
        let machine = build_to_search(&game.rules, 1).expect("the game is one of ours");
        for (index, position) in file.positions.into_iter().enumerate() {
            cases.push(Case {
                name: format!("{} {}", game.sheet.name, index + 1),
                is_hard: is_hard(&path),
                machine: Arc::clone(&machine),
                position,
            });
        }
    }
    cases
}

/// Runs `work` for each case on two threads and collects the faults.
fn faults_of(cases: &[Case], work: impl Fn(&Case) -> Result<(), String> + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let faults = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(fault) = work(case) {
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
fn there_are_fifty_positions_of_many_games_and_each_fits_its_rules() {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut states = Vec::new();
    for (path, file) in files() {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        assert_eq!(stem, Some(file.game.as_str()), "a file has its game's name");
        assert!(!file.notes.is_empty(), "{path:?} has no notes");
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            file.text(),
            text,
            "{path:?} is laid out as the program writes it"
        );
        if !is_hard(&path) {
            *counts.entry(file.game).or_default() += file.positions.len();
        }
    }
    for case in cases() {
        let setup = case
            .position
            .set_up(&case.machine)
            .unwrap_or_else(|error| panic!("{}: {error:#}", case.name));
        states.push((case.name, setup.role, setup.state));
    }
    assert!(counts.len() >= 10, "{counts:?}");
    assert!(counts.values().sum::<usize>() >= 50, "{counts:?}");
    for (index, (name, role, state)) in states.iter().enumerate() {
        let game = name.split(' ').next();
        let is_same = |(other, other_role, other_state): &&(String, _, _)| {
            other.split(' ').next() == game && other_role == role && other_state == state
        };
        let twin = states[..index].iter().find(is_same);
        assert!(twin.is_none(), "{name} is there twice");
    }
}

#[test]
fn every_claim_can_be_proven() {
    let faults = faults_of(&cases(), |case| {
        let setup = case.position.set_up(&case.machine);
        let setup = setup.map_err(|error| format!("{error:#}"))?;
        let verified = verify(&case.machine, &case.position, &setup, STATES);
        match verified.holds {
            Some(true) => Ok(()),
            _ => Err(format!("{verified:?}, claimed {:?}", case.position)),
        }
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
        let setup = case
            .position
            .set_up(&case.machine)
            .expect("tested elsewhere");
        let effort = Effort::Iterations(ITERATIONS);
        let finding = examine(&case.machine, &setup, &config, effort);
        match finding.is_good {
            true => Ok(()),
            false => Err(format!("{finding:?}, good were {:?}", case.position.good)),
        }
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
