//! Plans of puzzles that are kept for the next match of the same game, under other names.

use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::support::settings;
use panza_analysis::signature;
use panza_cli::game_source::EMBEDDED;
use panza_gdl::{MoveId, RoleId, sexpr};
use panza_memory::{Kind, PlanNote, Store, term};
use panza_planner::Plan;
use panza_player::{
    Answer, GameBuilders, Manager, Message, PlayRequest, Player, Reply, StartRequest, StartRules,
};
use panza_sync::{Budget, Random};
use panza_testing::renamed::Disguise;
use serde_json::json;

const PATIENCE: Duration = Duration::from_secs(120);

/// A puzzle under some names.
struct Puzzle {
    source: String,
    role: String,
}

/// The eight puzzle; under other names where a seed is given. The tree search does not solve it
/// before the planner.
fn eight_puzzle(seed: Option<u64>) -> Puzzle {
    let (_, source) = EMBEDDED
        .iter()
        .find(|(name, _)| *name == "eightPuzzle")
        .unwrap();
    let statements = sexpr::parse(source).0;
    let Some(seed) = seed else {
        return Puzzle {
            source: source.to_string(),
            role: "player".to_string(),
        };
    };
    // Goals are numbers, and mean something.
    let is_number = |symbol: &str| symbol.parse::<u32>().is_ok();
    let mut disguise = Disguise::new(&statements, seed, is_number);
    Puzzle {
        source: disguise.rulesheet(&statements),
        role: disguise.name("player").to_string(),
    }
}

/// A puzzle whose plan no search finds in the time of a test, with that plan: `N_CELLS` cells of a
/// ring are set one by one, then follow rule 30 of the elementary cellular automata for `N_STEPS`
/// steps, and must form a given pattern. The plan is the setting that the pattern was made from.
fn one_way() -> (Puzzle, Vec<String>) {
    const N_CELLS: usize = 40;
    const N_STEPS: usize = 20;
    let mut random = Random::new(30);
    let set: Vec<bool> = (0..N_CELLS).map(|_| random.below(2) == 1).collect();
    let mut cells = set.clone();
    for _ in 0..N_STEPS {
        let at = |cell: usize| cells[cell % N_CELLS];
        cells = (0..N_CELLS)
            .map(|cell| at(cell + N_CELLS - 1) ^ (at(cell) | at(cell + 1)))
            .collect();
    }
    let mut source = String::from(
        "(role player) (init (step 0))
         (<= (next (step ?y)) (true (step ?x)) (follows ?x ?y))
         (<= (legal player (set ?v)) (value ?v) (true (step ?x)) (cell ?x))
         (<= (legal player wait) (true (step ?x)) (not (cell ?x)))
         (value off) (value on)
         (<= (next (on ?x)) (true (step ?x)) (cell ?x) (does player (set on)))
         (<= (next (on ?x)) (true (on ?x)) (true (step ?y)) (cell ?y))
         (<= (either ?x) (true (on ?x)))
         (<= (either ?x) (ring ?x ?right) (true (on ?right)))
         (<= (next (on ?x)) (true (step ?y)) (not (cell ?y)) (ring ?left ?x)
             (true (on ?left)) (not (either ?x)))
         (<= (next (on ?x)) (true (step ?y)) (not (cell ?y)) (ring ?left ?x)
             (not (true (on ?left))) (either ?x))
         (<= wrong (target ?x) (not (true (on ?x))))
         (<= wrong (true (on ?x)) (not (target ?x)))
         (<= (goal player 100) (not wrong))
         (<= (goal player 0) wrong)\n",
    );
    for step in 0..N_CELLS + N_STEPS {
        source.push_str(&format!("(follows {step} {})", step + 1));
    }
    for (cell, is_on) in cells.iter().enumerate() {
        source.push_str(&format!(
            "(cell {cell}) (ring {cell} {})",
            (cell + 1) % N_CELLS
        ));
        if *is_on {
            source.push_str(&format!("(target {cell})"));
        }
    }
    source.push_str(&format!(
        "(<= terminal (true (step {})))",
        N_CELLS + N_STEPS
    ));
    let settings = set
        .iter()
        .map(|&is_on| if is_on { "(set on)" } else { "(set off)" });
    let waits = std::iter::repeat_n("wait", N_STEPS);
    let puzzle = Puzzle {
        source,
        role: "player".to_string(),
    };
    (puzzle, settings.chain(waits).map(String::from).collect())
}

fn reply() -> (Reply, mpsc::Receiver<Answer>) {
    let (sender, receiver) = mpsc::channel();
    let reply = Box::new(move |answer| sender.send(answer).unwrap());
    (reply, receiver)
}

/// A match in the folder `folder`, with the memory beside it.
fn begin(folder: &Path, puzzle: &Puzzle) -> Player {
    let settings = settings(&[
        "player.margin_seconds=2",
        "memory.enabled=true",
        &format!("memory.path={}", memory_of(folder).display()),
        "logs.match_logs=true",
        &format!("logs.folder={}", folder.display()),
    ]);
    let player = Player::new(&settings, GameBuilders::standard()).unwrap();
    let (reply, answer) = reply();
    let start = StartRequest {
        match_id: "m".into(),
        role: puzzle.role.clone(),
        rules: StartRules::read(&sexpr::parse(&puzzle.source).0, &puzzle.source, "m").unwrap(),
        start_clock: PATIENCE,
        play_clock: PATIENCE,
        received: Instant::now(),
        manager: Manager::default(),
    };
    player.handle(Message::Start(start), reply);
    assert_eq!(answer.recv_timeout(PATIENCE), Ok(Answer::Ready));
    player
}

/// Plays one more move of the match, after `moves`.
fn play_move(player: &Player, moves: &mut Vec<String>) {
    let (reply, answer) = reply();
    let request = PlayRequest {
        match_id: "m".into(),
        moves: moves.last().map(|last| vec![last.clone()].into()),
        is_repeat: None,
        received: Instant::now(),
    };
    player.handle(Message::Play(request), reply);
    match answer.recv_timeout(PATIENCE) {
        Ok(Answer::Move(text)) => moves.push(text),
        other => panic!("{other:?}"),
    }
}

/// Plays until the game ends with 100 points, for at most `max_moves` moves.
fn play_to_the_goal(player: &Player, puzzle: &Puzzle, max_moves: usize) {
    let rules = panza_gdl::load(&puzzle.source).0;
    let budget = Budget::within(PATIENCE, 1 << 30);
    let machine = panza_game::build(&rules, &budget).unwrap().machine;
    let (start, mut moves) = (machine.initial_state(), Vec::new());
    for _ in 0..max_moves {
        play_move(player, &mut moves);
        let plan = moves
            .iter()
            .map(|text| machine.info().find_move(RoleId(0), text));
        let plan: Vec<MoveId> = plan.collect::<Option<_>>().expect("moves of the game");
        if Plan::replay(&machine, &start, &plan).is_some_and(|plan| plan.goal == 100) {
            return;
        }
    }
    panic!("no goal after {moves:?}");
}

fn end(player: &Player) {
    let (reply, answer) = reply();
    let match_id = "m".into();
    player.handle(Message::Abort { match_id }, reply);
    assert_eq!(answer.recv_timeout(PATIENCE), Ok(Answer::Aborted));
    assert!(player.shut_down(PATIENCE), "threads are left");
}

fn memory_of(folder: &Path) -> std::path::PathBuf {
    folder.with_file_name("memory.sqlite")
}

/// Waits until something is there.
fn wait_for<T>(what: &str, find: impl Fn() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < until, "{what} is missing");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn has_line(folder: &Path, line: &str) -> bool {
    let log = folder.join("m").join("match.log");
    std::fs::read_to_string(log).is_ok_and(|text| text.contains(line))
}

fn wait_for_line(folder: &Path, line: &str) {
    wait_for(line, || has_line(folder, line).then_some(()));
}

/// The plan in the memory, in the names of the puzzle.
fn stored(folder: &Path, puzzle: &Puzzle) -> Option<PlanNote> {
    let game = signature::identify(&panza_gdl::load(&puzzle.source).0, signature::WORK).1?;
    let mut store = Store::open(&memory_of(folder), 10, PATIENCE).unwrap();
    let record = store.read(&game.signature().to_string()).unwrap()?;
    let (_, note) = record.notes.iter().find(|(kind, _)| *kind == Kind::Plan)?;
    let mut note = PlanNote::from_json(note)?;
    for mv in &mut note.moves {
        *mv = game.from_canonical(mv).unwrap();
    }
    Some(note)
}

/// Waits until the memory holds a plan that is proven best.
fn wait_for_plan(folder: &Path, puzzle: &Puzzle) -> PlanNote {
    wait_for("a plan proven best", || {
        stored(folder, puzzle).filter(|note| note.is_best)
    })
}

#[test]
fn the_next_match_starts_with_the_plan_under_other_names() {
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("first");
    let puzzle = eight_puzzle(None);
    let player = begin(&first, &puzzle);
    let note = wait_for_plan(&first, &puzzle);
    assert_eq!(note.goal, 100);
    // The planner goes on to shorten the plan, and the match follows the shorter one.
    play_to_the_goal(&player, &puzzle, note.moves.len());
    end(&player);
    let kept = stored(&first, &puzzle).unwrap();
    assert!(kept.is_best && kept.goal == 100);
    assert!(kept.moves.len() <= note.moves.len());

    for seed in [2, 3] {
        let note = stored(&first, &puzzle).unwrap();
        let next = folder.path().join(seed.to_string());
        let renamed = eight_puzzle(Some(seed));
        let player = begin(&next, &renamed);
        let n_moves = note.moves.len();
        wait_for_line(
            &next,
            &format!("an earlier match left a plan: goal 100, proven best, {n_moves} moves"),
        );
        end(&player);
        let kept = stored(&next, &puzzle).unwrap();
        assert!(kept.is_best && kept.goal == 100);
        assert!(kept.moves.len() <= n_moves);
    }
}

/// A plan in canonical names is all that the memory has of the game.
fn store_plan(folder: &Path, puzzle: &Puzzle, moves: &[&str], is_best: bool) {
    let rules = panza_gdl::load(&puzzle.source).0;
    let game = signature::identify(&rules, signature::WORK).1.unwrap();
    let moves: Vec<_> = moves
        .iter()
        .map(|mv| term(&game.to_canonical(mv).unwrap()))
        .collect();
    let note = json!({ "moves": moves, "goal": 100, "is_best": is_best });
    let mut store = Store::open(&memory_of(folder), 10, PATIENCE).unwrap();
    let key = game.signature().to_string();
    store
        .write(&key, game.text(), &[(Kind::Plan, note)], None)
        .unwrap();
}

#[test]
fn a_remembered_plan_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    let (puzzle, moves) = one_way();
    let moves: Vec<&str> = moves.iter().map(String::as_str).collect();
    store_plan(&logs, &puzzle, &moves, true);
    let player = begin(&logs, &puzzle);
    wait_for_line(&logs, "the memory solver has a plan: goal 100, proven best");
    let mut played = Vec::new();
    for _ in 0..moves.len() {
        play_move(&player, &mut played);
    }
    assert_eq!(played, moves);
    end(&player);
}

#[test]
fn a_damaged_plan_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    let puzzle = eight_puzzle(None);
    store_plan(&logs, &puzzle, &["(slide 1 1)"], false);
    let player = begin(&logs, &puzzle);
    wait_for_line(&logs, "the remembered plan is ignored: it does not replay");
    assert_eq!(wait_for_plan(&logs, &puzzle).goal, 100);
    end(&player);
}
