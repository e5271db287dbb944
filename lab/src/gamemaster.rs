//! `cargo lab gamemaster`: the rulesheets of Stanford's Gamemaster against playouts that its own
//! interpreter recorded, as a page.
//!
//! Each sheet is read, proven and built, written as KIF and as HRF and read again, and compared in
//! every recorded state: facts, legal moves, ends and rewards.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use flate2::read::MultiGzDecoder;
use panza_cli::arguments::parse_seconds;
use panza_cli::engine_choice::build_prover;
use panza_cli::output::grouped;
use panza_cli::playouts::Until;
use panza_cli::replay::replay_file;
use panza_cli::{Outcome, Output, Replay, playouts};
use panza_game::build;
use panza_game::turns::find_turns;
use panza_gdl::{Diagnostic, Rules, Severity};
use panza_machine::Machine;
use panza_sync::Budget;
use serde::Deserialize;
use serde_json::json;

use crate::page::{Page, Table, check_place, or_dash, quantity};

/// What a network may take.
const BUILD_TIME: Duration = Duration::from_secs(60);
const BUILD_MEMORY: usize = 1 << 30;

/// The arguments of `cargo lab gamemaster`.
#[derive(Args, Debug)]
pub struct GamemasterArguments {
    /// The folder with `games/NAME.hrf` and `traces/NAME.jsonl.gz`.
    folder: PathBuf,
    /// Only these games.
    #[arg(long, value_name = "NAME")]
    game: Vec<String>,
    /// Seconds of random playouts on one core, for the rate of a game.
    #[arg(long, default_value = "0.5", value_parser = parse_seconds, value_name = "S")]
    seconds: f64,
    /// Write the page to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What was found of a sheet.
pub struct Examined {
    /// The name of the game.
    pub game: String,
    /// The name of the sheet, which is another where managers and players have different ones.
    pub sheet: String,
    /// States compared.
    pub states: usize,
    /// Engine and seconds of its build, or why there is no network.
    pub network: Result<(String, f64), String>,
    /// Playouts a second of processor time.
    pub rate: Option<f64>,
    /// All differences from the recorded playouts.
    pub faults: Vec<String>,
}

/// One recorded state. Legal moves in terminal states have no meaning.
#[derive(Deserialize)]
struct Recorded {
    playout: u64,
    step: u64,
    facts: Vec<String>,
    roles: Vec<String>,
    control: Option<String>,
    legal: BTreeMap<String, Vec<String>>,
    terminal: Option<bool>,
    reward: Option<BTreeMap<String, f64>>,
    moves: Option<Vec<String>>,
}

fn read_trace(path: &Path) -> anyhow::Result<Vec<Recorded>> {
    let name = || path.display().to_string();
    let file = File::open(path).with_context(name)?;
    let lines = BufReader::new(MultiGzDecoder::new(file)).lines();
    let states = lines.map(|line| Ok(serde_json::from_str(&line?)?));
    states.collect::<anyhow::Result<_>>().with_context(name)
}

fn kif(term: &str) -> String {
    let read = panza_hrf::names::term_to_kif(term);
    read.unwrap_or_else(|| panic!("no term: {term}"))
        .to_string()
}

/// The trace as Panza writes traces, without the goals.
fn converted(states: &[Recorded], out: &mut impl Write) -> io::Result<()> {
    for state in states {
        let Some(terminal) = state.terminal else {
            continue;
        };
        let all = |terms: &[String]| terms.iter().map(|it| kif(it)).collect::<Vec<String>>();
        let mover = state.control.as_deref().unwrap_or_default();
        let noop = || panza_hrf::NOOP.to_string();
        let legal: BTreeMap<String, Vec<String>> = (state.roles.iter())
            .map(|role| match role == mover {
                true => (kif(role), all(&state.legal[role])),
                false => (kif(role), vec![noop()]),
            })
            .collect();
        let made = state.moves.as_ref().and_then(|moves| moves.first());
        let moves = made.filter(|_| !terminal).map(|made| {
            let of_role = |role: &String| match role == mover {
                true => (kif(role), kif(made)),
                false => (kif(role), noop()),
            };
            state.roles.iter().map(of_role).collect::<BTreeMap<_, _>>()
        });
        let mut line = serde_json::json!({
            "playout": state.playout,
            "step": state.step,
            "state": all(&state.facts),
            "terminal": terminal,
        });
        if !terminal {
            line["legal"] = serde_json::json!(legal);
        }
        if let Some(moves) = moves {
            line["moves"] = serde_json::json!(moves);
        }
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The first reward that differs; where no goal holds the reward is 0.
fn first_wrong_reward(machine: &Arc<dyn Machine>, states: &[Recorded]) -> Option<String> {
    let roles = machine.info().roles();
    let mut reasoner = Arc::clone(machine).reasoner();
    for state in states {
        let Some(rewards) = &state.reward else {
            continue;
        };
        let facts: Vec<String> = state.facts.iter().map(|fact| kif(fact)).collect();
        let Ok(words) = machine.info().state_from_facts(&facts) else {
            return Some(format!("no state {facts:?}"));
        };
        reasoner.set_state(&words);
        let mut goals = vec![None; roles.len()];
        reasoner.goals(&mut goals);
        for (role, goal) in state.roles.iter().zip(goals) {
            let (expected, found) = (rewards[role], f64::from(goal.unwrap_or(0)));
            if expected != found {
                let (playout, step) = (state.playout, state.step);
                return Some(format!(
                    "playout {playout}, step {step}: {role} has {found}, expected {expected}"
                ));
            }
        }
    }
    None
}

/// What is wrong with a machine.
fn faults(
    machine: &Arc<dyn Machine>,
    states: &[Recorded],
    trace: &Path,
) -> anyhow::Result<Vec<String>> {
    let mut replay = Replay::default();
    replay_file(machine, trace, &mut replay, || {})?;
    let first = replay.first.map(|first| first.to_string());
    let reward = first_wrong_reward(machine, states);
    let kind = machine.kind();
    Ok((first.into_iter().chain(reward))
        .map(|fault| format!("{kind}: {fault}"))
        .collect())
}

/// The rules written as KIF and read again, and that written as HRF and read again.
fn converted_rules(rules: &Rules) -> [(&'static str, Result<Rules, String>); 2] {
    let read = |(rules, faults): (Rules, Vec<Diagnostic>)| {
        let error = faults
            .iter()
            .find(|fault| fault.severity == Severity::Error);
        match error {
            None => Ok(rules),
            Some(error) => Err(format!("{}: {}", error.code, error.message)),
        }
    };
    let kif = read(panza_gdl::load(&panza_gdl::format::rulesheet(rules)));
    let hrf = kif.clone().and_then(|rules| {
        let turns = find_turns(&rules).map_err(|why| why.to_string())?;
        let text = panza_hrf::write(&rules, &turns).map_err(|faults| faults[0].message.clone())?;
        read(panza_hrf::load(&text))
    });
    [("as KIF", kif), ("as HRF again", hrf)]
}

fn network(rules: &Rules) -> Result<Arc<dyn Machine>, String> {
    let budget = Budget::within(BUILD_TIME, BUILD_MEMORY);
    let built = build(rules, &budget).map_err(|why| why.to_string())?;
    Ok(built.machine)
}

/// The sheets of a folder with the games that they are of, in order.
///
/// # Errors
/// The folder cannot be read.
pub fn sheets(folder: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let entries = fs::read_dir(folder.join("games"))
        .with_context(|| format!("no games in `{}`", folder.display()))?;
    let mut sheets: Vec<(String, String)> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let sheet = name.strip_suffix(".hrf")?.to_string();
            let game = sheet.strip_suffix(".manager").unwrap_or(&sheet).to_string();
            Some((game, sheet))
        })
        .collect();
    sheets.sort();
    Ok(sheets)
}

/// Compares a sheet with the recorded playouts of its game. With `seconds` of playouts its rate is
/// measured.
///
/// # Errors
/// A file cannot be read or has another form. Differences are no errors.
pub fn examine(folder: &Path, game: &str, sheet: &str, seconds: f64) -> anyhow::Result<Examined> {
    let path = folder.join(format!("games/{sheet}.hrf"));
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let (rules, diagnostics) = panza_hrf::load(&text);
    let errors = diagnostics
        .iter()
        .filter(|fault| fault.severity == Severity::Error);
    let mut found: Vec<String> = errors.map(|fault| fault.code.to_string()).collect();
    // The players' sheet is compared with the playouts of both sheets.
    let mut states = Vec::new();
    let temporary = tempfile::tempdir()?;
    let trace = temporary.path().join(format!("{sheet}.jsonl"));
    let mut file = File::create(&trace)?;
    for ending in ["jsonl.gz", "manager.jsonl.gz"] {
        let path = folder.join(format!("traces/{game}.{ending}"));
        if path.is_file() {
            let more = read_trace(&path)?;
            converted(&more, &mut file)?;
            states.extend(more);
        }
    }
    drop(file);
    let prover = build_prover(&rules)?;
    found.extend(faults(&prover, &states, &trace)?);
    for (what, rules) in converted_rules(&rules) {
        match rules {
            Err(why) => found.push(format!("{what}: {why}")),
            Ok(rules) => {
                let faults = faults(&build_prover(&rules)?, &states, &trace)?;
                found.extend(faults.iter().map(|fault| format!("{what}: {fault}")));
            }
        }
    }
    let start = Instant::now();
    let machine = network(&rules);
    let took = start.elapsed().as_secs_f64();
    if let Ok(machine) = &machine {
        found.extend(faults(machine, &states, &trace)?);
    }
    let measured = machine.as_ref().ok().filter(|_| seconds > 0.0);
    let until = Until::Elapsed(Duration::from_secs_f64(seconds.max(0.0)));
    let rate = measured.map(|machine| playouts::play(machine, 1, until).playouts_per_second);
    Ok(Examined {
        game: game.to_string(),
        sheet: sheet.to_string(),
        states: states.len(),
        network: machine.map(|machine| (machine.kind().to_string(), took)),
        rate,
        faults: found,
    })
}

pub(crate) fn run(arguments: &GamemasterArguments, output: Output) -> anyhow::Result<Outcome> {
    check_place(arguments.out.as_deref())?;
    let mut table = Table::new([
        "rulesheet",
        "states",
        "engine",
        "build, s",
        "playouts/s",
        "agreement",
    ])
    .with_text_columns(&[0, 2, 5]);
    let (mut n_sheets, mut n_agree, mut n_states) = (0_u64, 0_u64, 0_u64);
    let mut notes = Vec::new();
    for (game, sheet) in sheets(&arguments.folder)? {
        if !arguments.game.is_empty() && !arguments.game.contains(&game) {
            continue;
        }
        let found = examine(&arguments.folder, &game, &sheet, arguments.seconds)?;
        output.object(&json!({
            "sheet": found.sheet,
            "states": found.states,
            "engine": found.network.as_ref().ok().map(|(kind, _)| kind),
            "build_seconds": found.network.as_ref().ok().map(|(_, seconds)| seconds),
            "playouts_per_second": found.rate,
            "faults": found.faults,
        }))?;
        n_sheets += 1;
        n_agree += u64::from(found.faults.is_empty());
        n_states += found.states as u64;
        notes.extend(found.faults.iter().map(|fault| format!("{sheet}: {fault}")));
        let (engine, seconds) = match &found.network {
            Ok((kind, seconds)) => (kind.clone(), Some(quantity(*seconds))),
            Err(why) => {
                notes.push(format!("{sheet}: no network: {why}"));
                ("prover".to_string(), None)
            }
        };
        table.push(vec![
            sheet,
            grouped(found.states as u64),
            engine,
            or_dash(seconds),
            or_dash(found.rate.map(quantity)),
            if found.faults.is_empty() {
                "all"
            } else {
                "differs"
            }
            .to_string(),
        ]);
    }
    let mut page = Page::new(
        "Games of Gamemaster",
        "Every rulesheet of a copy of Gamemaster's games, compared with playouts that its own interpreter recorded: facts,\n\
         legal moves, ends and rewards in each state, on the prover and on the network, and on the prover again after\n\
         writing the rules as KIF and as HRF. `.manager` is the sheet of the manager where players get another one.",
    );
    page.section(
        "Rulesheets",
        &format!(
            "{n_agree} of {n_sheets} agree in all of {} states. Rates are of random playouts on one core.",
            grouped(n_states)
        ),
        &table,
    );
    page.list(&notes);
    page.write(arguments.out.as_deref(), output)?;
    Ok(Outcome::holds_if(n_agree == n_sheets))
}
