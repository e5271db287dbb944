//! Oracles: the solvers against plain minimax, the files, verification and scores.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use panza_cli::Game;
use panza_cli::engine_choice::build_machine;
use panza_gdl::{Id, MoveId, RoleId};
use panza_lab::oracle::Oracle;
use panza_lab::oracle::score::{SearchBudget, fixed_machine, score};
use panza_lab::oracle::solve::alpha_beta::AlphaBeta;
use panza_lab::oracle::solve::connect_four::ConnectFour;
use panza_lab::oracle::solve::reversi::Reversi;
use panza_lab::oracle::solve::simultaneous::Simultaneous;
use panza_lab::oracle::solve::{Solver, ValueTable};
use panza_machine::{Machine, Reasoner};
use panza_search::SearchConfig;
use panza_sync::Random;

use crate::ROOT;
use crate::program::{assert_keys, fails, file, objects};

/// Nodes for each question, more than any needs.
const NODES: u64 = 10_000_000;

fn machine(game: &str) -> Arc<dyn Machine> {
    let game = Game::load(game).expect("the game is one of ours");
    build_machine(&game.rules).expect("the game is one of ours")
}

/// Solves without any table or cut-off.
struct Minimax {
    machine: Arc<dyn Machine>,
    reasoner: Box<dyn Reasoner>,
    /// States in which nobody has a choice.
    forced: usize,
}

impl Minimax {
    fn new(machine: &Arc<dyn Machine>) -> Self {
        Self {
            machine: Arc::clone(machine),
            reasoner: Arc::clone(machine).reasoner(),
            forced: 0,
        }
    }

    fn is_over(&mut self, state: &[u64]) -> bool {
        self.reasoner.set_state(state);
        self.reasoner.is_terminal()
    }

    fn legal(&mut self, state: &[u64]) -> [Vec<MoveId>; 2] {
        self.reasoner.set_state(state);
        [0, 1].map(|role| self.reasoner.legal_moves(RoleId(role)).to_vec())
    }

    fn after(&mut self, state: &[u64], joint_move: [MoveId; 2]) -> Vec<u64> {
        let mut next = Vec::new();
        self.reasoner.set_state(state);
        self.reasoner.next_state(&joint_move, &mut next);
        next
    }

    /// The first role's goal with best play of both.
    fn goal(&mut self, state: &[u64]) -> u8 {
        if self.is_over(state) {
            let mut goals = [None; 2];
            self.reasoner.goals(&mut goals);
            return goals[0].expect("every role has a goal");
        }
        let [rows, columns] = self.legal(state);
        assert!(rows.len() == 1 || columns.len() == 1);
        self.forced += usize::from(rows.len() == 1 && columns.len() == 1);
        let mut goals = Vec::new();
        for &row in &rows {
            for &column in &columns {
                let next = self.after(state, [row, column]);
                goals.push(self.goal(&next));
            }
        }
        let best = match rows.len() {
            1 => goals.into_iter().min(),
            _ => goals.into_iter().max(),
        };
        best.expect("every role has a move")
    }

    /// The values of a role's moves.
    fn table(&mut self, state: &[u64], role: RoleId) -> ValueTable {
        let moves = self.legal(state);
        let mut rows = Vec::new();
        for &mv in &moves[role.index()] {
            let mut joint_move = [moves[0][0], moves[1][0]];
            joint_move[role.index()] = mv;
            let next = self.after(state, joint_move);
            let first = f64::from(self.goal(&next));
            let own = match role.index() {
                0 => first,
                _ => 100.0 - first,
            };
            rows.push((mv, vec![own]));
        }
        ValueTable::new(self.machine.info(), rows)
    }

    /// States of random games with so many discs on the board, or more where nobody had a choice,
    /// and the role that chooses there.
    fn positions(&mut self, count: usize, discs: usize, seed: u64) -> Vec<(Vec<u64>, RoleId)> {
        let mut random = Random::new(seed);
        let mut found = Vec::new();
        while found.len() < count {
            let mut state = self.machine.initial_state();
            while !self.is_over(&state) {
                let moves = self.legal(&state);
                let facts = self.machine.info().state_facts(&state);
                let is_disc = |fact: &&String| fact.starts_with("(cell ") && !fact.ends_with(" b)");
                let chooser = moves.iter().position(|moves| moves.len() > 1);
                if let Some(role) = chooser
                    && facts.iter().filter(is_disc).count() >= discs
                {
                    found.push((state, RoleId::from_index(role)));
                    break;
                }
                let draw = |moves: Vec<MoveId>| moves[random.below(moves.len() as u32) as usize];
                let joint_move = moves.map(draw);
                state = self.after(&state, joint_move);
            }
        }
        found
    }

    /// Compares a solver's values of positions.
    fn compare(&mut self, solver: &mut dyn Solver, positions: &[(Vec<u64>, RoleId)]) {
        for (state, role) in positions {
            let table = solver.solve(state, *role).expect("the game is suitable");
            let facts = self.machine.info().state_facts(state);
            let expected = self.table(state, *role);
            assert_eq!(table, Some(expected), "{role:?} in {facts:?}");
        }
    }
}

#[test]
fn connect_four_is_solved_as_by_minimax() {
    let machine = machine("connectFour");
    let mut minimax = Minimax::new(&machine);
    let positions = minimax.positions(80, 38, 1);
    minimax.compare(&mut ConnectFour::new(&machine, NODES), &positions);
    let positions = minimax.positions(40, 33, 2);
    let mut solver = AlphaBeta::new(&machine, NODES).unwrap();
    for (state, role) in positions {
        let ours = ConnectFour::new(&machine, NODES).solve(&state, role);
        assert_eq!(ours.unwrap(), solver.solve(&state, role).unwrap());
    }
}

#[test]
fn reversi_is_solved_as_by_minimax_with_passes() {
    let machine = machine("reversi");
    let mut minimax = Minimax::new(&machine);
    let mut solver = Reversi::new(&machine, NODES);
    let positions = minimax.positions(25, 57, 1);
    minimax.compare(&mut solver, &positions);
    let positions = minimax.positions(3, 56, 2);
    minimax.compare(&mut solver, &positions);
    assert!(minimax.forced > 0, "nobody had to pass");
}

#[test]
fn tic_tac_toe_is_solved_as_by_minimax() {
    let machine = machine("ticTacToe");
    let mut minimax = Minimax::new(&machine);
    let mut alpha_beta = AlphaBeta::new(&machine, NODES).unwrap();
    let mut induction = Simultaneous::new(&machine, NODES).unwrap();
    let start = machine.initial_state();
    for solver in [&mut alpha_beta as &mut dyn Solver, &mut induction] {
        let table = solver.solve(&start, RoleId(0)).unwrap().unwrap();
        assert_eq!(table.value(), 50.0, "best play is a draw");
        assert!(table.rows().iter().all(|row| row == &[50.0]));
        let positions = minimax.positions(20, 3, 1);
        minimax.compare(solver, &positions);
    }
}

/// The first role's expected goal, where at most one role chooses; the role `chance` has no aim.
fn expectimax(
    reasoner: &mut dyn Reasoner,
    state: &[u64],
    n_roles: usize,
    chance: usize,
    known: &mut HashMap<Vec<u64>, f64>,
) -> f64 {
    if let Some(&value) = known.get(state) {
        return value;
    }
    reasoner.set_state(state);
    let value = if reasoner.is_terminal() {
        let mut goals = vec![None; n_roles];
        reasoner.goals(&mut goals);
        f64::from(goals[0].expect("every role has a goal"))
    } else {
        let legal: Vec<Vec<MoveId>> = (0..n_roles)
            .map(|role| reasoner.legal_moves(RoleId::from_index(role)).to_vec())
            .collect();
        let mover = (0..n_roles)
            .find(|&role| legal[role].len() > 1)
            .unwrap_or(0);
        let mut values = Vec::new();
        for &mv in &legal[mover] {
            let mut joint_move: Vec<MoveId> = legal.iter().map(|moves| moves[0]).collect();
            joint_move[mover] = mv;
            let mut next = Vec::new();
            reasoner.set_state(state);
            reasoner.next_state(&joint_move, &mut next);
            values.push(expectimax(reasoner, &next, n_roles, chance, known));
        }
        match mover {
            _ if mover == chance => values.iter().sum::<f64>() / values.len() as f64,
            0 => values.into_iter().fold(0.0, f64::max),
            _ => values.into_iter().fold(100.0, f64::min),
        }
    };
    known.insert(state.to_vec(), value);
    value
}

#[test]
fn chance_is_an_expectation() {
    for (game, chance) in [("diceRace", 2), ("pearlDiver", 1)] {
        let machine = machine(game);
        let n_roles = machine.info().n_roles();
        assert_eq!(
            machine.info().chance_role(),
            Some(RoleId::from_index(chance))
        );
        let mut reasoner = Arc::clone(&machine).reasoner();
        let mut known = HashMap::new();
        let mut solver = Simultaneous::new(&machine, NODES).unwrap();
        let mut random = Random::new(1);
        let mut compared = 0;
        while compared < 20 {
            let mut state = machine.initial_state();
            for _ in 0..8 + random.below(8) {
                reasoner.set_state(&state);
                if reasoner.is_terminal() {
                    break;
                }
                let joint_move: Vec<MoveId> = (0..n_roles)
                    .map(|role| {
                        let legal = reasoner.legal_moves(RoleId::from_index(role));
                        legal[random.below(legal.len() as u32) as usize]
                    })
                    .collect();
                let mut next = Vec::new();
                reasoner.next_state(&joint_move, &mut next);
                state = next;
            }
            reasoner.set_state(&state);
            let is_over = reasoner.is_terminal();
            let chooser = (0..chance)
                .find(|&role| !is_over && reasoner.legal_moves(RoleId::from_index(role)).len() > 1);
            let Some(role) = chooser else { continue };
            let table = solver
                .solve(&state, RoleId::from_index(role))
                .unwrap()
                .unwrap();
            assert!(table.is_alone());
            let first = expectimax(reasoner.as_mut(), &state, n_roles, chance, &mut known);
            let own = if role == 0 { first } else { 100.0 - first };
            assert!(
                (table.value() - own).abs() < 1e-6,
                "{game}: {} is {own}",
                table.value()
            );
            compared += 1;
        }
        // Chance has no aim, and alpha-beta would give it one.
        let state = machine.initial_state();
        assert!(solver.solve(&state, RoleId::from_index(chance)).is_err());
        assert!(AlphaBeta::new(&machine, NODES).is_err());
    }
}

#[test]
fn games_of_chance_have_oracles_of_expected_goals() {
    let path = format!("{ROOT}/lab/tests/lab/diceRace.jsonl");
    let shown = path.as_str();
    let score = &objects(&["oracle", "score", shown, "--iterations", "2000"], 0)[0];
    assert_eq!(score["positions"], 6);
    let message = fails(&["oracle", "verify", shown], 2);
    assert!(message.contains("games with chance"), "{message}");
}

#[test]
fn solvers_say_what_they_cannot_solve() {
    let machine = machine("biddingTicTacToe");
    let state = machine.initial_state();
    let mut solver = AlphaBeta::new(&machine, NODES).unwrap();
    let error = solver.solve(&state, RoleId(0)).unwrap_err().to_string();
    assert_eq!(error, "both roles have a choice");
    let mut solver = Simultaneous::new(&machine, 100).unwrap();
    let table = solver.solve(&state, RoleId(0)).unwrap();
    assert_eq!(table, None, "beyond the budget");
}

/// An oracle of the first positions of one of the project's.
fn few(folder: &Path, game: &str, count: usize) -> PathBuf {
    let text = std::fs::read_to_string(format!("{ROOT}/lab/oracles/{game}.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().take(1 + count).collect();
    file(folder, &format!("{game}.jsonl"), &lines.join("\n"))
}

#[test]
fn oracles_are_verified_and_scored() {
    let folder = tempfile::tempdir().unwrap();
    let path = few(folder.path(), "ticTacToe", 12);
    let text = std::fs::read_to_string(&path).unwrap();
    let oracle = Oracle::open(&path).unwrap();
    assert_eq!(oracle.file.positions.len(), 12);

    let shown = path.to_str().unwrap();
    let verify = ["oracle", "verify", shown, "--positions", "12"];
    assert_eq!(objects(&verify, 0).len(), 12);
    let checked = objects(&["oracle", "check", shown, "--iterations", "5000"], 0);
    assert!(checked.iter().all(|finding| finding["is_good"] == true));

    let page = folder.path().join("page.md");
    let arguments = ["oracle", "score", shown, "--iterations", "20,200", "--page"];
    let reports = objects(&[&arguments[..], &[page.to_str().unwrap()]].concat(), 0);
    assert_eq!(reports.len(), 2);
    for report in &reports {
        assert_keys(
            report,
            &["oracle", "share", "share_low", "share_high", "mean_lost"],
        );
        assert_eq!(report["positions"], 12);
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("\n| ticTacToe | 200 iterations | 12 | "),
        "{page}"
    );
    let timed = &objects(
        &["oracle", "score", shown, "--ms", "2", "--positions", "3"],
        0,
    )[0];
    assert_eq!(
        (&timed["milliseconds"], &timed["positions"]),
        (&2.into(), &3.into())
    );

    // A wrong value is found.
    let wrong = text.replacen(":[0]", ":[100]", 1);
    assert_ne!(wrong, text);
    std::fs::write(&path, wrong).unwrap();
    let faults = objects(&verify, 1);
    let faults = faults.iter().filter_map(|report| report["fault"].as_str());
    let faults: Vec<&str> = faults.collect();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].contains(" is worth less than 100"), "{faults:?}");
}

#[test]
fn a_score_of_a_number_of_iterations_repeats() {
    let folder = tempfile::tempdir().unwrap();
    let path = few(folder.path(), "biddingTicTacToe", 4);
    let oracle = Oracle::open(&path).unwrap();
    let machine = fixed_machine(&oracle.game.rules).unwrap();
    let config = SearchConfig {
        samples_per_request: 0,
        ..SearchConfig::deterministic(1)
    };
    let run = || {
        let budget = SearchBudget::Iterations(300);
        let score = score(&oracle, &machine, &config, budget, None).unwrap();
        (score.positions, score.losing, score.lost, score.iterations)
    };
    let first = run();
    assert_eq!(first.0, 4);
    assert_eq!(run(), first);
}

#[test]
fn errors_name_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.jsonl");
    let shown = path.to_str().unwrap();
    let head = r#"{"game":"ticTacToe","about":""}"#;
    let message = |lines: &[&str]| {
        std::fs::write(&path, lines.join("\n")).unwrap();
        fails(&["oracle", "score", shown, "--iterations", "1"], 2)
    };
    let cases = [
        (vec![], ":1"),
        (vec![r#"{"game":"ticTacToe"}"#], ":1: missing field `about`"),
        (vec![head, "{"], ":2: EOF while parsing"),
        (
            vec![head, r#"{"role":"x","author":1}"#],
            ":2: unknown field `author`",
        ),
        (
            vec![head, r#"{"role":"red","moves":"","values":{}}"#],
            ":2: no role `red`",
        ),
        (
            vec![
                head,
                r#"{"role":"xplayer","moves":"((mark 1 1) (mark 1 2))","values":{}}"#,
            ],
            ":2: joint move 1 `((mark 1 1) (mark 1 2))`: `(mark 1 2)` is not legal for oplayer",
        ),
        (
            vec![
                head,
                r#"{"role":"xplayer","moves":"","values":{"(mark 1 1)":[50]}}"#,
            ],
            ":2: 1 of 9 legal moves have values",
        ),
        (
            vec![
                head,
                r#"{"role":"xplayer","moves":"","values":{"(mark 1 1)":[50,50]}}"#,
            ],
            ":2: `(mark 1 1)` has 2 values; 1 were expected",
        ),
    ];
    for (lines, expected) in cases {
        let message = message(&lines);
        assert!(message.contains(&format!("{shown}{expected}")), "{message}");
    }
    let missing = fails(&["oracle", "score", "chess", "--iterations", "1"], 2);
    assert!(
        missing.contains("cannot read `lab/oracles/chess.jsonl`"),
        "{missing}"
    );
}

#[test]
fn the_oracles_of_the_project_fit_their_games() {
    let folder = Path::new(ROOT).join("lab/oracles");
    let mut bytes = 0;
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_none_or(|extension| extension != "jsonl")
        {
            continue;
        }
        bytes += std::fs::metadata(&path).unwrap().len();
        let file = panza_lab::oracle::file::OracleFile::read(&path).unwrap();
        count += file.positions.len();
        // Published rulesheets are not part of the project.
        let sheet = Path::new(ROOT).join(&file.head.game);
        let game = match file.head.game.contains('/') {
            true if !sheet.is_file() => continue,
            true => sheet.to_str().unwrap().to_string(),
            false => file.head.game,
        };
        let machine = machine(&game);
        for (index, position) in file.positions.iter().enumerate() {
            let setup = position.set_up(&machine);
            let setup = setup.unwrap_or_else(|error| panic!("{path:?} {index}: {error:#}"));
            let table = setup.claims.values().expect("these oracles have values");
            assert!(table.lost_by_chance() > 0.9, "{path:?} {index}");
        }
    }
    assert!(count >= 2_000, "{count} positions");
    assert!(bytes < 2_000_000, "{bytes} bytes");
}
