//! Training that lasts: it goes on where it ended, a trained game is known under other names, and
//! files of other machines are checked.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::PROGRAM;
use crate::support::client::send;
use crate::support::logging_server;
use panza_cli::game_source::EMBEDDED;
use panza_config::Settings;
use panza_game::BuiltGame;
use panza_gdl::sexpr;
use panza_learning::Evaluation;
use panza_sync::Budget;
use panza_testing::renamed::Disguise;

use panza_gdl::RoleId;
use panza_memory::{GameMemory, Kind, MOST_NOTE_BYTES, Store};
use panza_metagame::transfer::{export, import};
use panza_metagame::{
    PreparationBudget, RoundPlan, Training, find_prospects, notes, prepare, prior_preparation,
};
use panza_search::SearchConfig;
use serde_json::{Value, json};

const GAME: &str = "ticTacToe";

fn source() -> &'static str {
    let found = EMBEDDED.iter().find(|(name, _)| *name == GAME);
    found.unwrap().1
}

fn built(source: &str) -> (panza_gdl::Rules, BuiltGame) {
    let (rules, faults) = panza_gdl::load(source);
    assert!(faults.is_empty(), "{faults:?}");
    let budget = Budget::lasting(Duration::from_secs(60));
    let game = panza_game::build(&rules, &budget).unwrap();
    (rules, game)
}

fn plan(cancelled: &Arc<AtomicBool>) -> RoundPlan<'_> {
    RoundPlan {
        time: Duration::from_millis(400),
        threads: 1,
        seed: 1,
        cancelled,
        members: None,
    }
}

/// The value of the initial state for the role that moves first; the order of roles is no matter.
fn value_at_start(game: &BuiltGame, evaluation: &Evaluation) -> f32 {
    let mut values = [0.0; 2];
    let state = game.machine.initial_state();
    evaluation.values(&state, &mut values);
    let mut reasoner = Arc::clone(&game.machine).reasoner();
    reasoner.set_state(&state);
    let first = (0..2).find(|&role| reasoner.legal_moves(RoleId(role)).len() > 1);
    values[first.unwrap() as usize]
}

/// The notes of a short training, which is called a generation whether it is stronger or not.
fn trained(game: &BuiltGame) -> Vec<(Kind, Value)> {
    let config = SearchConfig::deterministic(1);
    let mut training = Training::new(game, config, None).unwrap();
    assert!(training.notes().is_none());
    let cancelled = Arc::default();
    let report = training.round(&plan(&cancelled)).unwrap();
    assert!(report.games > 100, "{report:?}");
    let mut notes = training.notes().unwrap();
    for (kind, note) in &mut notes {
        match kind {
            Kind::Training => note["progress"]["generation"] = json!(3),
            Kind::Parameters => note["parameters"]["evaluation_share"] = json!(0.25),
            _ => {}
        }
    }
    notes
}

#[test]
fn training_goes_on_and_is_known_in_twenty_disguises() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let (rules, game) = built(source());
    let found = trained(&game);
    let (mut memory, history) = GameMemory::open(&path, 10, &rules).unwrap();
    assert!(history.is_none());
    memory.write(&found).unwrap();

    let statements = sexpr::parse(source()).0;
    let mut value = None;
    for seed in 0..20 {
        let is_number = |symbol: &str| symbol.parse::<u32>().is_ok();
        let text = Disguise::new(&statements, seed, is_number).rulesheet(&statements);
        let (rules, game) = built(&text);
        let (_, history) = GameMemory::open(&path, 10, &rules).unwrap();
        let history = history.unwrap();
        let prior = prior_preparation(game.info(), &history, || find_prospects(&game)).unwrap();
        let of_start = value_at_start(&game, &prior.known.evaluation);
        let expected = *value.get_or_insert(of_start);
        assert!((of_start - expected).abs() < 0.5, "{of_start} {expected}");
        assert_eq!(prior.trained.unwrap().generation, 3);
        // A match trains and tries nothing, and leaves what is known.
        let mut budget = PreparationBudget::from_now(
            &Settings::load(None, &[]).unwrap().metagame,
            Duration::from_secs(60),
            &Arc::default(),
        );
        budget.threads = 1;
        let games = prior.known.games;
        let study = prepare(&game, Some(prior), &SearchConfig::deterministic(1), &budget);
        assert_eq!((study.generation, study.games), (Some(3), games));
        assert_eq!(study.parameters.evaluation_share, 0.25);
        assert!(notes(game.info(), &study).is_empty());

        let config = SearchConfig::deterministic(1);
        let training = Training::new(&game, config, Some(&history)).unwrap();
        assert_eq!(training.progress().generation, 3);
        assert_eq!(training.progress().games, games);
    }
}

#[test]
fn a_game_of_many_facts_is_trained_and_kept() {
    let mut source = source().to_owned();
    source += "(init (tick 0)) (<= (next (tick ?m)) (true (tick ?n)) (comes ?n ?m))\n";
    for number in 0..2_500 {
        source += &format!("(base (tick {number})) (comes {number} {})\n", number + 1);
    }
    source += "(base (tick 2500))\n";
    let (rules, game) = built(&source);
    assert!(game.info().facts().unwrap().len() > 2_500);
    let found = trained(&game);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let (mut memory, _) = GameMemory::open(&path, 10, &rules).unwrap();
    memory.write(&found).unwrap();
    let (_, history) = GameMemory::open(&path, 10, &rules).unwrap();
    let prior =
        prior_preparation(game.info(), &history.unwrap(), || find_prospects(&game)).unwrap();
    assert_eq!(prior.trained.unwrap().generation, 3);
}

#[test]
fn a_file_of_another_machine_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let (rules, game) = built(source());
    let (mut memory, _) = GameMemory::open(&path, 10, &rules).unwrap();
    memory.write(&trained(&game)).unwrap();
    let signature = memory.signature().to_string();
    drop(memory);
    let mut store = Store::open(&path, 10, Duration::from_secs(120)).unwrap();
    let record = store.read(&signature).unwrap().unwrap();
    let file = export(&signature, &record).unwrap();
    let imported = import(&file).unwrap();
    let kinds = |notes: &[(Kind, Value)]| notes.iter().map(|it| it.0).collect::<BTreeSet<_>>();
    assert_eq!(kinds(&imported.notes), kinds(&record.notes));
    // It goes into another memory, and from there the same file comes.
    let other = folder.path().join("other.db");
    let (mut memory, history) = GameMemory::open(&other, 10, &imported.rules).unwrap();
    assert_eq!(memory.signature(), signature);
    assert!(history.is_none());
    memory.write(&imported.notes).unwrap();
    let (_, history) = GameMemory::open(&other, 10, &rules).unwrap();
    let prior = prior_preparation(game.info(), &history.unwrap(), || None).unwrap();
    assert_eq!(prior.trained.unwrap().generation, 3);

    let refusal = |text: &str| import(text).unwrap_err().to_string();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut value: Value = serde_json::from_str(&file).unwrap();
        change(&mut value);
        refusal(&value.to_string())
    };
    let other = "0".repeat(32);
    for (error, expected) in [
        (refusal(""), "no file of"),
        (refusal(&file[..file.len() / 2]), "no file of"),
        (refusal(&"[".repeat(100_000)), "no file of"),
        (changed(&|it| it["panza_memory"] = json!(2)), "version 2"),
        (changed(&|it| it["more"] = json!(1)), "no file of"),
        (changed(&|it| it["signature"] = json!(other)), "signature"),
        (changed(&|it| it["text"] = json!("(role")), "damaged"),
        (changed(&|it| it["notes"]["others"] = json!({})), "`others`"),
        (
            changed(&|it| it["notes"]["evaluation"]["bias"] = json!([1.0])),
            "evaluation does not fit",
        ),
        (
            changed(&|it| it["notes"]["training"] = json!({ "progress": 1 })),
            "training does not fit",
        ),
        (
            changed(&|it| it["notes"]["training"]["progress"]["games"] = json!(u64::MAX)),
            "training does not fit",
        ),
        (
            changed(&|it| it["notes"]["training"]["newest"]["games"] = json!(u64::MAX)),
            "training does not fit",
        ),
        (
            changed(&|it| it["notes"]["parameters"]["parameters"]["evaluation_share"] = json!(1e9)),
            "parameters does not fit",
        ),
        (
            changed(&|it| it["notes"]["parameters"] = json!("x".repeat(MOST_NOTE_BYTES))),
            "bytes; expected at most",
        ),
    ] {
        assert!(error.contains(expected), "{error}: {expected}");
    }
}

fn panza(arguments: &[&str], memory: &Path) -> Output {
    Command::new(PROGRAM)
        .args(arguments)
        .arg("--set")
        .arg(format!("memory.path={}", memory.display()))
        .output()
        .unwrap()
}

/// The server names the trained games and draws their curves; nothing is made where there is no
/// memory.
fn curves_are_served(memory: &Path, signature: &str, drawn: &str) {
    let asked = |memory: &Path, path: &str| {
        let setting = format!("memory.path={}", memory.display());
        let (server, _root) = logging_server(&["memory.enabled=true", &setting]);
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        send(server.address, &request)
    };
    let games: Value = serde_json::from_str(&asked(memory, "/api/training").body).unwrap();
    assert_eq!(games["games"][0]["name"], GAME);
    assert_eq!(games["games"][0]["signature"], signature);
    let picture = asked(memory, &format!("/api/training/{signature}.svg"));
    assert_eq!(picture.header("content-type"), Some("image/svg+xml"));
    assert_eq!(picture.body, drawn);
    assert_eq!(asked(memory, "/api/training/nothing.svg").code(), "404");
    let missing = memory.with_file_name("missing.db");
    assert_eq!(asked(&missing, "/api/training").body, r#"{"games":[]}"#);
    assert!(!missing.exists());
}

/// The rules of a match from an opening are those of the game, so that what was trained is found.
fn a_match_from_an_opening_knows_the_game(memory: &Path, folder: &Path) {
    let (moves, logs) = (folder.join("moves.txt"), folder.join("logs"));
    std::fs::write(&moves, "((mark 1 2) noop)\n(noop (mark 2 1))\n").unwrap();
    let players = ["--player", "panza", "--player", "random"];
    let clocks = ["--start-clock", "2", "--play-clock", "1"];
    let opening = ["--opening", moves.to_str().unwrap()];
    let logged = format!("logs.folder={}", logs.display());
    let settings = ["--set", "memory.enabled=true", "--set", &logged];
    let command = ["match", GAME];
    let arguments = [&command[..], &players, &clocks, &opening, &settings].concat();
    let output = panza(&arguments, memory);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let log = std::fs::read_dir(&logs).unwrap().next().unwrap().unwrap();
    let log = std::fs::read_to_string(log.path().join("match.log")).unwrap();
    let known = log
        .lines()
        .find(|line| line.contains(" is known; "))
        .expect("it is known");
    assert!(known.contains("evaluation"), "{known}");
    assert!(log.contains("step 0: played (mark 1 2) noop"), "{log}");
}

#[test]
fn the_commands_train_export_import_and_forget() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (folder.path().join("a.db"), folder.path().join("b.db"));
    let file = folder.path().join("game.json");
    let file = file.to_str().unwrap();
    let curve = folder.path().join("curve.svg");
    let svg = ["--svg", curve.to_str().unwrap()];
    let train = ["train", GAME, "--games", "50", "--round", "1", "--json"];
    let train = [&train[..], &svg].concat();
    for is_resumed in [false, true] {
        let output = panza(&train, &here);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{text}");
        let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(first["resumed"], is_resumed, "{text}");
        // The second run has enough games from the start.
        assert_eq!(
            text.lines().count(),
            if is_resumed { 1 } else { 2 },
            "{text}"
        );
    }
    let ok = |arguments: &[&str], memory: &Path| {
        let output = panza(arguments, memory);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    };
    // It says where it keeps what it learns before it plays.
    let said = ok(&["train", GAME, "--games", "50", svg[0], svg[1]], &here);
    let kept = format!("{GAME}: kept in {} after each 60 s", here.display());
    let (at_kept, at_drawn) = (said.find(&kept), said.find(curve.to_str().unwrap()));
    assert!(at_kept < at_drawn && at_kept.is_some(), "{said}");
    let listed = ok(&["memory", "list", "--json"], &here);
    let listed: Value = serde_json::from_str(listed.trim()).unwrap();
    assert_eq!(listed["name"], GAME);
    let drawn = std::fs::read_to_string(&curve).unwrap();
    assert!(drawn.starts_with("<svg ") && drawn.contains("ticTacToe: training"));
    std::fs::remove_file(&curve).unwrap();
    ok(&["memory", "show", GAME, svg[0], svg[1]], &here);
    assert_eq!(std::fs::read_to_string(&curve).unwrap(), drawn);
    curves_are_served(&here, listed["signature"].as_str().unwrap(), &drawn);
    a_match_from_an_opening_knows_the_game(&here, folder.path());
    ok(&["memory", "export", GAME, "--out", file], &here);
    ok(&["memory", "import", file], &there);
    let shown = ok(&["memory", "show", GAME, "--json"], &there);
    let shown: Value = serde_json::from_str(shown.trim()).unwrap();
    assert!(shown["training"]["games"].as_u64().unwrap() >= 50);
    ok(&["memory", "forget", GAME], &there);
    assert_eq!(
        panza(&["memory", "forget", GAME], &there).status.code(),
        Some(2)
    );
    assert_eq!(ok(&["memory", "list", "--json"], &there), "");
}
