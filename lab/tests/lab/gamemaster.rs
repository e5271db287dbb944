//! Recorded playouts of Stanford's Gamemaster, against the prover and the built machines.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flate2::read::MultiGzDecoder;
use panza_arena::engine_choice::build_prover;
use panza_arena::replay::{Replay, replay_file};
use panza_arena::turns::find_turns;
use panza_machine::build::{BuildBudget, build};
use panza_machine::machine::Machine;
use panza_rules::gdl::{self, Diagnostic, Rules, Severity, hrf};
use serde::Deserialize;

/// The fewest games that agree, and the most that have no network.
const GAMES: usize = 64;
const MAX_WITHOUT_NETWORK: usize = 3;

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

/// The folder of the rulesheets and traces, `../shared/gamemaster` or what the environment
/// variable `PANZA_GAMEMASTER` names.
fn folder() -> PathBuf {
    match std::env::var_os("PANZA_GAMEMASTER") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(crate::ROOT).join("../shared/gamemaster"),
    }
}

fn read_trace(path: &Path) -> Vec<Recorded> {
    let file = std::fs::File::open(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let lines = BufReader::new(MultiGzDecoder::new(file)).lines();
    let lines = lines.map(|line| line.expect("the trace can be read"));
    let states = lines.map(|line| serde_json::from_str(&line).expect("a recorded state"));
    states.collect()
}

fn kif(term: &str) -> String {
    let read = hrf::names::term_to_kif(term);
    read.unwrap_or_else(|| panic!("no term: {term}"))
        .to_string()
}

/// The trace as Panza writes traces, without the goals.
fn converted(states: &[Recorded], out: &mut impl Write) {
    for state in states {
        let Some(terminal) = state.terminal else {
            continue;
        };
        let all = |terms: &[String]| terms.iter().map(|it| kif(it)).collect::<Vec<String>>();
        let mover = state.control.as_deref().unwrap_or_default();
        let noop = || hrf::names::NOOP.to_string();
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
        writeln!(out, "{line}").expect("the trace can be written");
    }
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
fn faults(machine: &Arc<dyn Machine>, states: &[Recorded], trace: &Path) -> Vec<String> {
    let mut replay = Replay::default();
    replay_file(machine, trace, &mut replay, || {}).expect("the trace can be read");
    let first = replay.first.map(|first| first.to_string());
    let reward = first_wrong_reward(machine, states);
    let kind = machine.kind();
    (first.into_iter().chain(reward))
        .map(|fault| format!("{kind}: {fault}"))
        .collect()
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
    let kif = read(gdl::load(&gdl::format::rulesheet(rules)));
    let hrf = kif.clone().and_then(|rules| {
        let turns = find_turns(&rules).map_err(|why| why.to_string())?;
        let text = hrf::write(&rules, &turns).map_err(|faults| faults[0].message.clone())?;
        read(hrf::load(&text))
    });
    [("as KIF", kif), ("as HRF again", hrf)]
}

fn network(rules: &Rules) -> Result<Arc<dyn Machine>, String> {
    let budget = BuildBudget {
        until: Instant::now() + Duration::from_secs(60),
        memory: 1 << 30,
        cancelled: Arc::default(),
    };
    build(rules, &budget).map(|built| built.machine)
}

#[test]
#[ignore = "needs the rulesheets of Gamemaster, see CONTRIBUTING.md"]
fn gamemaster_games_agree_with_their_traces_on_the_prover_and_on_networks() {
    let folder = folder();
    if !folder.is_dir() {
        return println!("no folder {}", folder.display());
    }
    let only = std::env::var("PANZA_GAMEMASTER_ONLY").ok();
    let mut games: Vec<(String, String)> = std::fs::read_dir(folder.join("games"))
        .expect("the rulesheets are there")
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let sheet = name.strip_suffix(".hrf")?.to_string();
            let game = sheet.strip_suffix(".manager").unwrap_or(&sheet).to_string();
            Some((game, sheet))
        })
        .filter(|(_, sheet)| only.as_ref().is_none_or(|only| only == sheet))
        .collect();
    games.sort();
    let temporary = tempfile::tempdir().expect("a folder");
    let (mut n_games, mut without_network, mut all_faults) = (0, 0, Vec::new());
    for (game, sheet) in &games {
        let start = Instant::now();
        let text = std::fs::read_to_string(folder.join(format!("games/{sheet}.hrf")));
        let (rules, diagnostics) = gdl::hrf::load(&text.expect("a rulesheet"));
        let loaded = start.elapsed();
        let errors = diagnostics
            .iter()
            .filter(|it| it.severity == Severity::Error);
        let errors: Vec<&str> = errors.map(|fault| fault.code).collect();
        let mut found: Vec<String> = errors.iter().map(|code| code.to_string()).collect();
        // The players' sheet is compared with the traces of both sheets.
        let mut traces = vec![
            format!("{game}.jsonl.gz"),
            format!("{game}.manager.jsonl.gz"),
        ];
        traces.retain(|trace| folder.join("traces").join(trace).is_file());
        let mut states = Vec::new();
        let path = temporary.path().join(format!("{sheet}.jsonl"));
        let mut file = std::fs::File::create(&path).expect("a file");
        for trace in &traces {
            let more = read_trace(&folder.join("traces").join(trace));
            converted(&more, &mut file);
            states.extend(more);
        }
        drop(file);
        let start = Instant::now();
        let prover = build_prover(&rules).expect("the prover takes the rules");
        let proved = start.elapsed();
        found.extend(faults(&prover, &states, &path));
        let replayed = start.elapsed();
        for (what, rules) in converted_rules(&rules) {
            match rules {
                Err(why) => found.push(format!("{what}: {why}")),
                Ok(rules) => {
                    let prover = build_prover(&rules).expect("the prover takes the rules");
                    let faults = faults(&prover, &states, &path).into_iter();
                    found.extend(faults.map(|fault| format!("{what}: {fault}")));
                }
            }
        }
        let start = Instant::now();
        let kind = match network(&rules) {
            Ok(machine) => {
                let kind = format!("{} in {:.2?}", machine.kind(), start.elapsed());
                found.extend(faults(&machine, &states, &path));
                kind
            }
            Err(why) => {
                without_network += usize::from(game == sheet);
                format!("no network: {why}")
            }
        };
        n_games += usize::from(game == sheet);
        println!(
            "{sheet}: {} rules in {loaded:.2?}, {} states, prover {proved:.2?} and {replayed:.2?}, {kind}",
            rules.rules.len(),
            states.len()
        );
        for fault in found {
            println!("  {fault}");
            all_faults.push(format!("{sheet}: {fault}"));
        }
    }
    println!("{n_games} games, {without_network} without a network");
    assert!(all_faults.is_empty(), "{}", all_faults.join("\n"));
    assert!(only.is_some() || n_games == GAMES, "{n_games} games");
    assert!(
        without_network <= MAX_WITHOUT_NETWORK,
        "{without_network} without a network"
    );
}
