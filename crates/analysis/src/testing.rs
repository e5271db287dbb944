//! Helpers of the unit tests: networks of rules, and random games.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use panza_gdl::{BaseId, Id, MoveId, RoleId};
use panza_ground::ground;
use panza_machine::{CounterLayout, CounterMachine, Machine};
use panza_propnet::{Network, build};
use panza_sync::{Budget, Random};

/// The network of some rules, as built.
pub(super) fn network(rules: &str) -> Network {
    network_within(rules, Budget::generous()).expect("the rules have a network")
}

fn network_within(rules: &str, budget: Budget) -> Option<Network> {
    let program = ground(&panza_gdl::load(rules).0, &budget).ok()?;
    build(&program, &budget).ok()
}

/// The network of one of the project's games.
pub(super) fn own_game(name: &str) -> Network {
    network(panza_gdl_games::rulesheet(name).expect("the game is there"))
}

/// The base with this text.
pub(super) fn base(network: &Network, text: &str) -> BaseId {
    let found = network.facts.enumerate().find(|(_, fact)| *fact == text);
    found.unwrap_or_else(|| panic!("no fact {text}")).0
}

/// The first move with this text.
pub(super) fn mv(network: &Network, text: &str) -> MoveId {
    let found = network.moves.enumerate().find(|(_, (_, mv))| mv == text);
    found.unwrap_or_else(|| panic!("no move {text}")).0
}

/// More than small games need.
pub(super) fn budget() -> Budget {
    Budget::of_steps(1 << 28)
}

/// The texts of bases.
pub(super) fn texts(network: &Network, bases: impl IntoIterator<Item = BaseId>) -> Vec<String> {
    let texts = bases.into_iter().map(|base| network.facts[base].clone());
    texts.collect()
}

/// A state with just these bases true.
pub(super) fn state_of(network: &Network, bases: &[BaseId]) -> Vec<u64> {
    let mut state = vec![0; network.facts.len().div_ceil(64)];
    for base in bases {
        state[base.index() / 64] |= 1 << (base.index() % 64);
    }
    state
}

/// One random game: all states from the first to the last, the moves between them, and the final
/// goals where it came to an end.
pub(super) struct Played {
    pub states: Vec<Vec<u64>>,
    pub moves: Vec<Vec<MoveId>>,
    pub goals: Option<Vec<u8>>,
}

/// Some random games.
pub(super) fn play(network: &Network, n_games: usize, max_steps: usize) -> Vec<Played> {
    let machine = Arc::new(CounterMachine::new(CounterLayout::compile(network)));
    let mut reasoner = machine.clone().reasoner();
    let mut random = Random::new(3);
    let mut games = Vec::new();
    for _ in 0..n_games {
        let mut played = Played {
            states: vec![machine.initial_state()],
            moves: Vec::new(),
            goals: None,
        };
        let mut state = machine.initial_state();
        for _ in 0..max_steps {
            reasoner.set_state(&state);
            if reasoner.is_terminal() {
                played.goals = Some(reasoner.final_goals(network.roles.len()));
                break;
            }
            let mut joint_move = Vec::new();
            for role in (0..network.roles.len()).map(RoleId::from_index) {
                let moves = reasoner.legal_moves(role);
                if !moves.is_empty() {
                    joint_move.push(*random.choose(moves));
                }
            }
            if joint_move.len() < network.roles.len() {
                break;
            }
            reasoner.next_state(&joint_move, &mut state);
            played.states.push(state.clone());
            played.moves.push(joint_move);
        }
        games.push(played);
    }
    games
}

/// The project's games, and with `PANZA_CORPUS` set to the corpus of published games those that
/// have a network within some seconds.
pub(super) fn each_game(mut visit: impl FnMut(&str, &Network)) {
    for (name, text) in panza_gdl_games::EMBEDDED {
        visit(name, &network(text));
    }
    if let Some(corpus) = std::env::var_os("PANZA_CORPUS") {
        let folder = Path::new(&corpus).join("games");
        let files = std::fs::read_dir(folder).expect("the games can be read");
        let mut files: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
        files.sort();
        for file in files {
            let is_game = file
                .extension()
                .is_some_and(|end| end == "gdl" || end == "kif");
            let Some(text) = is_game
                .then(|| std::fs::read_to_string(&file).ok())
                .flatten()
            else {
                continue;
            };
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            let budget = Budget::generous()
                .until(Some(Instant::now() + Duration::from_secs(20)))
                .with_bytes(2 << 30);
            match network_within(&text, budget) {
                Some(network) => visit(&name, &network),
                None => println!("{name}: no network in time"),
            }
        }
    }
}
