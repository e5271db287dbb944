//! Recorded playouts of Stanford's Gamemaster, against the prover and the built machines.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    let sheets: Vec<(String, String)> = sheets(&folder)
        .expect("the rulesheets are there")
        .into_iter()
        .filter(|(_, sheet)| only.as_ref().is_none_or(|only| only == sheet))
        .collect();
    let (next, examined) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let examine_some = || {
        while let Some((game, sheet)) = sheets.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = examine(&folder, game, sheet, 0.0).expect("the files can be read");
            println!("{sheet}: {} states, {:?}", found.states, found.network);
            examined.lock().unwrap().push((game == sheet, sheet, found));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(examine_some);
        }
    });
    let (mut n_games, mut without_network, mut faults) = (0, 0, Vec::new());
    for (is_game, sheet, found) in examined.into_inner().unwrap() {
        if is_game {
            n_games += 1;
            without_network += usize::from(found.network.is_err());
        }
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
