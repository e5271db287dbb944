//! `panza sokoban` as scripts meet it.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::program;

const LEVELS: &str = "sokoban-levels/twelve.sok";

fn run(arguments: &[&str]) -> Output {
    program::run(&[&["sokoban"], arguments].concat())
}

fn objects(arguments: &[&str], status: i32) -> Vec<Value> {
    program::objects(&[&["sokoban"], arguments].concat(), status)
}

fn complaint(arguments: &[&str]) -> String {
    program::fails(&[&["sokoban"], arguments].concat(), 2)
}

fn file(folder: &Path, name: &str, content: &str) -> String {
    let path = program::file(folder, name, content);
    path.to_str().unwrap().to_string()
}

#[test]
fn check_replays_solutions_and_names_faults() {
    let levels = objects(&["check", LEVELS], 0);
    assert_eq!(levels.len(), 12);
    assert_eq!(levels[1]["title"], "Round the corner");
    assert_eq!(
        (&levels[1]["moves"], &levels[1]["pushes"]),
        (&11.into(), &3.into())
    );
    assert_eq!(levels[1]["solutions"][0]["box_lines"], 2);

    let folder = tempfile::tempdir().unwrap();
    let text =
        "#####\n#@$.#\n#####\n\nSolution\nlR\n\n; 2\n####\n#@x#\n####\n\n; 3\n####\n#@$.\n####\n";
    let faulty = objects(&["check", &file(folder.path(), "faulty.sok", text)], 1);
    let error = faulty[0]["solutions"][0]["error"].as_str().unwrap();
    assert!(error.starts_with("move 1"), "{error}");
    let fault = |index: usize| faulty[index]["faults"][0].as_str().unwrap();
    assert!(
        fault(1).starts_with("line 10, column 3: expected one of"),
        "{}",
        fault(1)
    );
    assert!(fault(2).contains("walls must enclose it"), "{}", fault(2));
}

#[test]
fn check_reads_files_of_other_programs() {
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, text: &str, status| {
        objects(&["check", &file(folder.path(), name, text)], status)
    };
    let small = check(
        "small.sok",
        "\u{feff}#####\r#pbo#\r#####\r\rSolution\rr\r",
        0,
    );
    assert_eq!(
        (&small[0]["solved"], &small[0]["boxes"]),
        (&true.into(), &1.into())
    );
    let other = check("hexoban.sok", "#####\n#@$.#\n#####\nVariant: Hexoban\n", 1);
    let fault = other[0]["faults"][0].as_str().unwrap();
    assert!(fault.contains("found `Hexoban`"), "{fault}");
    let wrong = check("wrong.sok", "#####\n#@$.#\n#####\nSolution: rXR\n", 1);
    let fault = wrong[0]["faults"][0].as_str().unwrap();
    assert!(
        fault.starts_with("line 4, column 12: expected a move"),
        "{fault}"
    );
    let lost = check("lost.xsb", "########\n#@$.#$.#\n########\n", 1);
    let fault = lost[0]["faults"][0].as_str().unwrap();
    assert!(fault.starts_with("row 2, column 6"), "{fault}");
    let not = complaint(&[
        "check",
        &file(folder.path(), "page.xml", "<?xml version='1.0'?><a/>"),
    ]);
    assert!(
        not.contains("expected the element `SokobanLevels`"),
        "{not}"
    );
}

#[test]
fn solve_skips_what_was_solved_before() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("solved.sok");
    let out = out.to_str().unwrap();
    let first = objects(
        &[
            "solve",
            LEVELS,
            "--level",
            "2-3",
            "--seconds",
            "20",
            "--out",
            out,
        ],
        0,
    );
    assert_eq!(first.len(), 2);
    for level in &first {
        assert_eq!(level["solved"], true);
        for key in ["level", "moves", "pushes", "nodes", "seconds", "solution"] {
            assert!(!level[key].is_null(), "{key}: {level}");
        }
    }
    let second = objects(&["solve", LEVELS, "--level", "1-3", "--out", out], 0);
    assert_eq!(second.len(), 1);
    assert_eq!(
        (&second[0]["level"], &second[0]["solution"]),
        (&1.into(), &"R".into())
    );
    let checked = objects(&["check", out], 0);
    assert_eq!(checked.len(), 3);
    assert!(checked.iter().all(|level| level["solved"] == true));
}

#[test]
fn solve_says_what_it_cannot_solve() {
    let folder = tempfile::tempdir().unwrap();
    let text = "#####\n#$@.#\n#####\n\n; 2\n####\n#@ #\n####\n";
    let levels = objects(&["solve", &file(folder.path(), "dead.sok", text)], 1);
    assert_eq!(
        (&levels[0]["solved"], &levels[0]["proven"]),
        (&false.into(), &true.into())
    );
    assert!(levels[1]["fault"].as_str().unwrap().contains("no box"));
}

#[test]
fn optimise_starts_from_the_solutions_of_the_file() {
    let levels = objects(&["optimise", LEVELS, "--level", "4", "--seconds", "1"], 0);
    assert_eq!(levels[0]["moves_before"], 14);
    assert!(levels[0]["moves"].as_u64() <= Some(14));
}

#[test]
fn progress_of_the_optimiser_is_told_to_scripts() {
    let arguments = [
        "optimise",
        LEVELS,
        "--level",
        "12",
        "--seconds",
        "4",
        "--json",
    ];
    let output = run(&arguments);
    let told = String::from_utf8(output.stderr).unwrap();
    for line in told.lines() {
        let progress: Value = serde_json::from_str(line).expect(line);
        let part = progress["part"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&part), "{line}");
        assert!(
            progress["moves"].is_u64() && progress["method"].is_string(),
            "{line}"
        );
    }
}

#[test]
fn optimise_compares_and_writes_all_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let text = "#######\n#.$@  $.#\n#######\n".replace("#######", "#########");
    let input = file(
        folder.path(),
        "pair.sok",
        &format!("{text}\nSolution\nrrRlllL\n"),
    );
    let out = folder.path().join("best.sok");
    let out = out.to_str().unwrap();
    let levels = objects(
        &[
            "optimise",
            &input,
            "--seconds",
            "5",
            "--by",
            "pushes,player-lines",
            "--vicinity",
            "10,5",
            "--out",
            out,
        ],
        0,
    );
    assert_eq!(levels[0]["solution"], "LrrrR");
    for key in [
        "box_lines",
        "box_changes",
        "pushing_sessions",
        "player_lines",
    ] {
        assert_eq!(levels[0][key], 2, "{key}");
        assert!(levels[0][&format!("{key}_before")].is_u64(), "{key}");
    }
    let checked = objects(&["check", out], 0);
    assert_eq!(
        checked[0]["solutions"][0]["name"],
        "Solution (5 moves, 2 pushes, 2 box lines, 2 box changes, 2 pushing sessions, 2 player lines)"
    );
    let error = complaint(&["optimise", &input, "--by", "box-lines,moves"]);
    assert!(
        error.contains("`moves` has to stand before `box-lines`"),
        "{error}"
    );
    let error = complaint(&["optimise", &input, "--neighbours", "9,9,9,9,9"]);
    assert!(error.contains("at most 4 boxes"), "{error}");
}

#[test]
fn rulesheets_can_be_checked_and_played() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let levels = objects(&["gdl", LEVELS, "--level", "2-3", "--out", path], 0);
    assert_eq!(levels[1]["steps"], 26);
    let rulesheet = levels[1]["file"].as_str().unwrap();
    assert!(rulesheet.ends_with("twelve-03.gdl"), "{rulesheet}");
    let panza = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_panza"));
        let output = command.args(arguments).arg("--json").output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let checked = panza(&["check", rulesheet]);
    assert_eq!(
        (&checked["errors"], &checked["warnings"]),
        (&0.into(), &0.into())
    );
    assert_eq!(panza(&["solve", rulesheet, "--seconds", "20"])["goal"], 100);

    let one = run(&["gdl", LEVELS, "--level", "3", "--steps", "9"]);
    let text = String::from_utf8(one.stdout).unwrap();
    assert!(
        text.starts_with("; Two shelves\n") && text.contains("(step 9)"),
        "{text}"
    );
    assert!(complaint(&["gdl", LEVELS]).contains("--out FOLDER"));
}

#[test]
fn bench_writes_a_table() {
    let output = run(&["bench", LEVELS, "--level", "1-2", "--seconds", "20"]);
    let table = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{table}");
    assert_eq!(table.lines().count(), 5);
    assert!(
        table
            .lines()
            .all(|line| line.starts_with('|') && line.ends_with('|')),
        "{table}"
    );
}

#[test]
fn unusable_arguments_and_files_have_status_2() {
    assert!(complaint(&["check", "no-such-file.sok"]).contains("no-such-file.sok"));
    assert!(complaint(&["check", "-"]).contains("no level"));
    assert!(complaint(&["check", LEVELS, "--level", "13"]).contains("12 levels"));
    assert!(complaint(&["check", LEVELS, "--level", "3-2"]).contains("a range such as 3-12"));
    assert!(complaint(&["solve", LEVELS, "--out", LEVELS]).contains("another one"));
    assert!(complaint(&["solve", LEVELS, "--methods", "luck"]).contains("possible values"));
}
