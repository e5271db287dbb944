//! The commands that measure and write down, as scripts meet them: `cargo lab performance` and `panza
//! fingerprint`.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// A baseline that has measured already.
#[cfg(unix)]
const FAKE: &str = r"fake=printf 'playouts_per_cpu_s=1000 mean_length=7.6\n'";

fn panza(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_panza-lab"))
        .current_dir(crate::ROOT)
        .env_remove("RUST_LOG")
        .args(arguments)
        .output()
        .expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

/// Standard output and standard error of a command that must end with `status`.
fn run(arguments: &[&str], status: i32) -> (String, String) {
    let output = panza(arguments);
    let (said, message) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(
        output.status.code(),
        Some(status),
        "{arguments:?}: {message}"
    );
    (said, message)
}

fn performance(more: &[&str], status: i32) -> (String, String) {
    let arguments = ["performance", "--seconds", "0.02", "--runs", "3"];
    run(&[&arguments, more].concat(), status)
}

/// The cells of the first row that begins with `first`.
fn row(page: &str, first: &str) -> Vec<String> {
    let start = format!("| {first}");
    let row = page.lines().find(|line| line.starts_with(&start));
    let row = row.unwrap_or_else(|| panic!("no row `{start}` in\n{page}"));
    let cells = row.trim_matches('|').split('|');
    cells.map(|cell| cell.trim().to_string()).collect()
}

fn number(text: &str) -> f64 {
    text.replace(',', "")
        .parse()
        .unwrap_or_else(|_| panic!("no number: {text}"))
}

#[cfg(unix)]
#[test]
fn a_baseline_stands_beside_our_own_figures() {
    let arguments = ["ticTacToe", "--baseline", FAKE, "--without-passes-on", ""];
    let (page, message) = performance(&arguments, 0);
    assert_eq!(message, "");
    let cells = row(&page, "ticTacToe ");
    assert_eq!(cells.len(), 8, "{cells:?}");
    let length = number(&cells[1]);
    assert!((5.0..=9.0).contains(&length), "{cells:?}");
    let (ours, ratio) = (number(&cells[2]), number(&cells[7]));
    assert_eq!(cells[4..7], ["1,000", "1,000 - 1,000", "7.60"]);
    assert!((ours / 1000.0 - ratio).abs() < 0.01, "{cells:?}");
    let (least, most) = cells[3].split_once(" - ").unwrap();
    assert!(number(least) <= ours && ours <= number(most), "{cells:?}");

    assert!(page.contains("--baseline 'fake=...' --without-passes-on '' ticTacToe\n"));
    assert!(
        page.contains("| threads | 1 |\n| runs | 3 of 0.02 s each |\n"),
        "{page}"
    );
    assert!(page.contains("\npanza / fake, games 1: median "), "{page}");
    assert!(!page.contains("printf"), "{page}");
    assert!(!page.contains("left out\n"), "{page}");
    assert!(page.ends_with("\n## Tried and rejected\n\n<!-- notes -->\n<!-- /notes -->\n"));
}

#[cfg(unix)]
#[test]
fn baselines_that_fail_give_a_dash_and_a_footnote_and_run_once() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    let broken = format!(
        "broken=echo x >> {}; echo no luck >&2; exit 4",
        count.display()
    );
    let arguments = [
        "hanoi",
        "--baseline",
        &broken,
        "--baseline",
        "slow=sleep 600",
        "--baseline",
        FAKE,
        "--baseline-timeout",
        "2",
        "--without-passes-on",
        "",
    ];
    let (page, message) = performance(&arguments, 0);
    let cells = row(&page, "hanoi ");
    assert_eq!(cells[4..8], ["- (1)", "-", "-", "-"]);
    assert_eq!(cells[8..12], ["- (2)", "-", "-", "-"]);
    assert_eq!(cells[12], "1,000");
    assert!(
        page.contains(
            "\n1. broken on hanoi: ended with exit status: 4\n2. slow on hanoi: not done after 2 s\n"
        ),
        "{page}"
    );
    assert!(message.contains("broken on hanoi: ended with exit status: 4: no luck\n"));
    assert_eq!(std::fs::read_to_string(count).unwrap(), "x\n");
}

#[cfg(unix)]
#[test]
fn the_page_names_no_folder_of_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let game = folder.path().join("my game.gdl");
    std::fs::copy(
        Path::new(crate::ROOT).join("gdl-games/ticTacToe.gdl"),
        &game,
    )
    .unwrap();
    let page = folder.path().join("page.md");
    // The baseline finds the rulesheet where it is told, and complains with its path.
    let baseline = "picky=test -f {rulesheet} && echo {rulesheet} >&2 && exit 7";
    let arguments = [
        game.to_str().unwrap(),
        "--out",
        page.to_str().unwrap(),
        "--baseline",
        baseline,
        "--without-passes-on",
        "my game",
    ];
    let (said, message) = performance(&arguments, 0);
    assert!(message.contains("my game.gdl"), "{message}");
    assert!(
        said.starts_with("1 games measured, 1 on a network, 1 by lanes; 1 followed"),
        "{said}"
    );
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("picky on my game: ended with exit status: 7"),
        "{page}"
    );
    assert!(
        page.contains("cargo lab performance --out page.md "),
        "{page}"
    );
    let folder = folder.path().file_name().unwrap().to_str().unwrap();
    assert!(!page.contains(folder), "{page}");
}

#[test]
fn notes_are_kept_as_they_stand_and_never_lost() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.md");
    let path = page.to_str().unwrap();
    let arguments = ["ticTacToe", "--out", path, "--without-passes-on", ""];
    let read = || std::fs::read_to_string(&page).unwrap();
    performance(&arguments, 0);
    let notes = "<!-- notes -->\r\n\n- Nothing | *at all*: 3 % slower.  \n\n<!-- /notes -->\n";
    let written = read().replace("<!-- notes -->\n<!-- /notes -->\n", notes);
    assert!(written.ends_with(notes), "{written}");
    std::fs::write(&page, &written).unwrap();
    performance(&arguments, 0);
    assert!(read().ends_with(notes), "{}", read());

    for broken in [
        "<!-- notes -->\nprecious",
        "precious\n<!-- /notes -->",
        "<!-- /notes --> precious <!-- notes -->",
        "<!-- notes --> precious <!-- notes --> <!-- /notes -->",
    ] {
        std::fs::write(&page, broken).unwrap();
        let (_, message) = performance(&arguments, 2);
        assert!(
            message.starts_with(&format!(
                "error: cannot keep the notes of `{path}`: expected `"
            )),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
        assert_eq!(read(), broken);
    }
}

/// What stands below a heading.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let start = format!("\n## {heading}\n");
    let at = page.find(&start);
    let below = &page[at.unwrap_or_else(|| panic!("no {start} in\n{page}")) + start.len()..];
    below.split("\n## ").next().unwrap_or(below)
}

#[cfg(unix)]
#[test]
fn lanes_stand_beside_the_counter_and_the_baselines() {
    let arguments = [
        "ticTacToe",
        "hanoi",
        "--baseline",
        FAKE,
        "--baseline",
        "broken=exit 4",
        "--without-passes-on",
        "",
        "--profile-of",
        "",
        "--threads-on",
        "",
    ];
    let (page, _) = performance(&arguments, 0);
    assert!(page.contains("--without-passes-on '' --profile-of '' --threads-on '' ticTacToe"));
    assert!(!page.contains("two threads"), "{page}");
    assert!(!page.contains("What a pass of lanes takes"), "{page}");
    let counter = number(&row(&page, "ticTacToe ")[2]);
    let lanes = section(&page, "Playouts per second: lanes");
    let heads = row(lanes, "game ");
    assert_eq!(
        heads[4..8],
        ["256 lanes", "512 lanes", "1024 lanes", "best"]
    );
    let cells = row(lanes, "ticTacToe ");
    assert_eq!(cells.len(), heads.len());
    let lengths = [number(&cells[1]), number(&cells[2])];
    for length in lengths {
        assert!((7.0..=8.2).contains(&length), "{cells:?}");
    }
    assert_eq!(number(&cells[3]), counter);
    let rates: Vec<f64> = cells[4..7].iter().map(|cell| number(cell)).collect();
    let best = rates.iter().copied().fold(0.0, f64::max);
    let of_best = rates.iter().position(|&rate| rate == best).unwrap();
    assert_eq!(cells[7], ["256", "512", "1024"][of_best]);
    let (least, most) = cells[8].split_once(" - ").unwrap();
    assert!(number(least) <= best && best <= number(most), "{cells:?}");
    assert!(
        (best / counter - number(&cells[9])).abs() < 0.01,
        "{cells:?}"
    );
    assert!(
        (best / 1000.0 - number(&cells[10])).abs() < 0.01,
        "{cells:?}"
    );
    assert_eq!(cells[11], "-");
    for line in [
        "lanes / counter, games 2: median ",
        "lanes / fake, games 2: median ",
    ] {
        assert!(lanes.contains(&format!("\n{line}")), "{lanes}");
    }
    assert!(!lanes.contains("lanes / broken, games"), "{lanes}");
}

#[test]
fn games_without_lanes_have_dashes_and_widths_may_be_left_out() {
    let few = ["ticTacToe", "--without-passes-on", "", "--widths", "512"];
    // Without time for a network it is the prover that plays, and no lane.
    let hasty = [&few[..], &["--build-seconds", "0.000001"]].concat();
    let (page, _) = performance(&hasty, 0);
    assert!(
        page.contains("--widths '512' --without-passes-on '' ticTacToe\n"),
        "{page}"
    );
    let lanes = section(&page, "Playouts per second: lanes");
    let cells = row(lanes, "ticTacToe ");
    assert_eq!(cells, ["ticTacToe (1)", "-", "-", "-", "-", "-", "-", "-"]);
    assert!(
        lanes.contains("\n1. ticTacToe: not by lanes: no network\n"),
        "{lanes}"
    );
    let threads = section(&page, "Playouts per second: lanes on two threads");
    let cells = row(threads, "ticTacToe ");
    assert_eq!(cells[2..], ["-", "-", "-", "-", "-"]);
    let profiles = section(&page, "What a pass of lanes takes");
    assert_eq!(row(profiles, "ticTacToe ")[1..], vec!["-"; 16]);

    let (page, _) = performance(&[&few[..4], &["", "--profile-of", ""]].concat(), 0);
    assert!(!page.contains("lanes |"), "{page}");
    let (page, _) = performance(&few, 0);
    let cells = row(section(&page, "Playouts per second: lanes"), "ticTacToe ");
    assert_eq!((cells.len(), &cells[5][..]), (8, "512"));
}

#[test]
fn the_pieces_of_a_pass_make_up_the_whole() {
    let arguments = [
        "hanoi",
        "--without-passes-on",
        "",
        "--profile-of",
        "ticTacToe,hanoi,ticTacToe",
        "--threads-on",
        "ticTacToe",
    ];
    let (page, _) = performance(&arguments, 0);
    let below = section(&page, "What a pass of lanes takes");
    let heads = row(below, "game ");
    for (game, width) in [("ticTacToe", "512"), ("hanoi", "")] {
        let cells = row(below, &format!("{game} "));
        assert_eq!(cells.len(), heads.len(), "{below}");
        // A game whose rate was not measured is looked at with the usual width.
        assert!(cells[1] == width || width.is_empty(), "{cells:?}");
        let shares = cells[7..14].iter();
        let shares = shares.map(|cell| number(cell.trim_end_matches(" %")));
        let sum: f64 = shares.sum();
        assert!((sum - 100.0).abs() < 1.0, "{cells:?}");
        assert!(number(&cells[4]) > 0.0, "{cells:?}");
        assert_eq!(
            below.matches(&format!("\n- {game}: ")).count(),
            1,
            "{below}"
        );
    }
    let pieces = &below[below.find("| game | piece |").unwrap()..];
    let step = row(pieces, "ticTacToe | step");
    assert!(number(&step[2]) >= 9.0, "{step:?}");
    let a_ns = number(&step[2]) / number(&step[4]);
    assert!((a_ns / number(&step[5]) - 1.0).abs() < 0.1, "{step:?}");

    let threads = section(&page, "Playouts per second: lanes on two threads");
    let cells = row(threads, "ticTacToe ");
    assert_eq!(cells[1], "512");
    let ratio = number(&cells[4]) / number(&cells[2]);
    assert!((ratio - number(&cells[6])).abs() < 0.02, "{cells:?}");
}

#[test]
fn passes_are_followed_and_left_out() {
    let arguments = [
        "ticTacToe",
        "--without-passes-on",
        "connectFour,ticTacToe",
        "--json",
    ];
    let (lines, _) = performance(&arguments, 0);
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let tables: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["table"].as_str())
        .collect();
    let expected = [
        "conditions",
        "game",
        "profile",
        "threads",
        "passes",
        "passes",
    ];
    assert_eq!(tables, expected);
    assert_eq!(lines[0]["threads"], 1);
    let (game, passes) = (&lines[1], &lines[4]);
    assert_eq!(game["game"], "ticTacToe");
    assert_eq!(
        game["playouts_per_cpu_s"]["runs"].as_array().unwrap().len(),
        3
    );
    assert!(game["gates_for_goals"].is_u64(), "{game}");
    assert!(game["build_seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(passes["game"], "connectFour");
    let stages = passes["stages"]["whole"].as_array().unwrap();
    let without = passes["without"].as_array().unwrap();
    assert_eq!(stages.len(), without.len() + 2);
    assert_eq!(stages[0]["after"], "full");
    for (stage, without) in stages[1..].iter().zip(without) {
        assert_eq!(stage["after"], without["pass"]);
        assert!(stage["edges"].as_u64().unwrap() > 0);
        assert!(without["playouts_per_cpu_s"]["min"].as_f64().unwrap() > 0.0);
    }

    let (page, _) = performance(&arguments[..3], 0);
    for section in [
        "## What each pass makes of a network\n\n| game | full | ",
        "## Playouts per second with a pass left out\n\n| game | all passes | min - max | without ",
    ] {
        let at = page
            .find(section)
            .unwrap_or_else(|| panic!("no {section} in {page}"));
        let cells = row(&page[at..], "connectFour ");
        let heads = row(&page[at..], "game ");
        assert_eq!(cells.len(), heads.len(), "{page}");
    }
}

#[test]
fn unusable_arguments_are_told_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("hanoi.gdl");
    std::fs::write(&copy, "(role a) (legal a b) (init c)").unwrap();
    let nowhere = folder.path().join("nowhere/page.md");
    for (arguments, expected) in [
        (
            &["hanoi", copy.to_str().unwrap()][..],
            "error: two games are called `hanoi`",
        ),
        (
            &["hanoi", "--baseline", "a=true", "--baseline", "a=false"],
            "error: two baselines have the same name",
        ),
        (
            &["hanoi", "--without-passes-on", "hanoy"],
            "error: no game `hanoy`",
        ),
        (
            &["hanoi", "--profile-of", "hanoy"],
            "error: no game `hanoy`",
        ),
        (
            &["hanoi", "--threads-on", "hanoi,hanoy"],
            "error: no game `hanoy`",
        ),
        (
            &["hanoi", "--widths", "256,128"],
            "error: invalid value '256,128' for '--widths <WIDTH,...>': expected 256, 512 or 1024",
        ),
        (
            &["hanoi", "--out", nowhere.to_str().unwrap()],
            "error: cannot write `",
        ),
        (
            &["hanoi", "--baseline", "true"],
            "error: invalid value 'true'",
        ),
    ] {
        let (_, message) = performance(arguments, 2);
        assert!(message.starts_with(expected), "{message}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_baseline_under_way_as_well() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let baseline = format!("slow=echo $$ > {}; sleep 600", pipe.display());
    let mut child = Command::new(env!("CARGO_BIN_EXE_panza-lab"))
        .args([
            "performance",
            "ticTacToe",
            "--seconds",
            "0.01",
            "--baseline",
            &baseline,
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut id = String::new();
    BufReader::new(std::fs::File::open(&pipe).unwrap())
        .read_line(&mut id)
        .unwrap();
    let id = id.trim();
    let kill = |arguments: &[&str]| {
        let mut kill = Command::new("kill");
        kill.args(arguments)
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
    };
    assert!(kill(&["-0", id]), "the baseline is under way");
    assert!(kill(&["-INT", &child.id().to_string()]));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let until = Instant::now() + Duration::from_secs(60);
    // Where nobody waits for orphans, an ended one stays as a zombie.
    let is_zombie = || {
        std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| stat.contains(") Z "))
    };
    while kill(&["-0", id]) && !is_zombie() {
        assert!(Instant::now() < until, "the baseline goes on");
    }
}

#[test]
fn fingerprints_are_written_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fingerprints.json");
    let path = file.to_str().unwrap();
    let games = ["fingerprint", "ticTacToe", "hanoi"];
    let (said, _) = run(
        &[&games[..], &["--playouts", "5", "--out", path]].concat(),
        0,
    );
    assert_eq!(said, "");
    let written = std::fs::read_to_string(&file).unwrap();
    let (said, _) = run(&[&games[..], &["--playouts", "5"]].concat(), 0);
    assert_eq!(said, written);
    let (said, _) = run(&["fingerprint", "--against", path], 0);
    assert_eq!(said, "");

    let changed = written.replace(
        "\"game\":\"hanoi\",\"bases\":",
        "\"game\":\"hanoi\",\"bases\":9",
    );
    assert_ne!(changed, written);
    std::fs::write(&file, changed).unwrap();
    let (said, _) = run(&["fingerprint", "--against", path], 1);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("hanoi: bases 9"), "{said}");

    std::fs::write(&file, "{}").unwrap();
    let (_, message) = run(&["fingerprint", "--against", path], 2);
    assert!(message.starts_with("error: `"), "{message}");
    assert!(message.contains("is no file of fingerprints"), "{message}");
}
