//! Recorded playouts of Stanford's Gamemaster, against the prover and the built machines.

use std::path::{Path, PathBuf};

use panza_lab::gamemaster::{examine, sheets};

/// The fewest games that agree, and the most that have no network.
const GAMES: usize = 64;
const MAX_WITHOUT_NETWORK: usize = 3;

/// The folder of the rulesheets and traces, `../shared/gamemaster` or what the environment
/// variable `PANZA_GAMEMASTER` names.
fn folder() -> PathBuf {
    match std::env::var_os("PANZA_GAMEMASTER") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(crate::ROOT).join("../shared/gamemaster"),
    }
}

#[test]
#[ignore = "needs the rulesheets of Gamemaster, see CONTRIBUTING.md"]
fn gamemaster_games_agree_with_their_traces_on_the_prover_and_on_networks() {
    let folder = folder();
    if !folder.is_dir() {
        return println!("no folder {}", folder.display());
    }
    let only = std::env::var("PANZA_GAMEMASTER_ONLY").ok();
    let (mut n_games, mut without_network, mut faults) = (0, 0, Vec::new());
    for (game, sheet) in sheets(&folder).expect("the rulesheets are there") {
        if only.as_ref().is_some_and(|only| *only != sheet) {
            continue;
        }
        let found = examine(&folder, (&game, &sheet), 0.0).expect("the files can be read");
        if game == sheet {
            n_games += 1;
            without_network += usize::from(found.network.is_err());
        }
        println!("{sheet}: {} states, {:?}", found.states, found.network);
        faults.extend(found.faults.iter().map(|fault| format!("{sheet}: {fault}")));
    }
    println!("{n_games} games, {without_network} without a network");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(only.is_some() || n_games == GAMES, "{n_games} games");
    assert!(
        without_network <= MAX_WITHOUT_NETWORK,
        "{without_network} without a network"
    );
}
