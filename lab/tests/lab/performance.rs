//! `cargo lab performance`, as scripts meet it.

use std::process::Command;

use crate::program::{fails, objects, run, text};

/// A baseline with fixed figures.
#[cfg(unix)]
const FAKE: &str = r"fake=printf 'playouts_per_cpu_s=1000 mean_length=7.6\n'";

const SHORT: [&str; 5] = ["performance", "--seconds", "0.02", "--runs", "3"];

/// The page, and what goes to standard error.
fn page(more: &[&str]) -> (String, String) {
    let output = run(&[&SHORT, more].concat());
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
    (text(&output.stdout), message)
}

/// The cells of the first row that begins with `first`.
fn row(page: &str, first: &str) -> Vec<String> {
    let start = format!("| {first} ");
    let row = page.lines().find(|line| line.starts_with(&start));
    let row = row.unwrap_or_else(|| panic!("no row `{start}` in\n{page}"));
    let cells = row.trim_matches('|').split('|');
    cells.map(|cell| cell.trim().to_string()).collect()
}

/// The number at the start of a cell.
fn number(cell: &str) -> f64 {
    let number = cell.split(' ').next().unwrap().replace(',', "");
    number
        .parse()
        .unwrap_or_else(|_| panic!("no number: {cell}"))
}

#[cfg(unix)]
#[test]
fn engines_and_baselines_have_a_column_each() {
    let (page, message) = page(&["ticTacToe", "--baseline", FAKE]);
    assert_eq!(message, "");
    let heads = row(&page, "game");
    assert_eq!(
        heads[2..],
        [
            "length",
            "counter",
            "256 lanes",
            "512 lanes",
            "1024 lanes",
            "fake",
            "length",
            "ratio to fake"
        ]
    );
    let cells = row(&page, "ticTacToe");
    assert_eq!(cells.len(), heads.len());
    assert!((5.0..=9.0).contains(&number(&cells[2])), "{cells:?}");
    assert_eq!(cells[7..9], ["1,000 ±0 %", "7.60"]);
    let best = cells[3..7]
        .iter()
        .map(|cell| number(cell))
        .fold(0.0, f64::max);
    assert!(
        (best / 1000.0 - number(&cells[9])).abs() < 0.01,
        "{cells:?}"
    );
    let command =
        "- `cargo lab performance --seconds 0.02 --runs 3 ticTacToe --baseline fake=...`\n";
    assert!(page.contains(command), "{page}");
}

#[cfg(unix)]
#[test]
fn baselines_that_fail_are_listed_and_run_once() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    let broken = format!(
        "broken=echo x >> {}; echo no luck >&2; exit 4",
        count.display()
    );
    let (page, message) = page(&[
        "hanoi",
        "--widths",
        "512",
        "--baseline",
        &broken,
        "--baseline",
        "slow=sleep 600",
        "--baseline",
        FAKE,
        "--baseline-timeout",
        "10",
    ]);
    let cells = row(&page, "hanoi");
    assert_eq!(cells[5..11], ["-"; 6]);
    assert_eq!(cells[11], "1,000 ±0 %");
    for failure in [
        "\n- hanoi, broken: ended with exit status: 4\n",
        "\n- hanoi, slow: not done after 10 s\n",
    ] {
        assert!(page.contains(failure), "{page}");
    }
    assert!(message.contains("broken on hanoi: ended with exit status: 4: no luck\n"));
    assert_eq!(std::fs::read_to_string(count).unwrap(), "x\n");
}

#[cfg(unix)]
#[test]
fn the_page_names_no_folder_of_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let game = folder.path().join("my game.gdl");
    std::fs::copy(
        std::path::Path::new(crate::ROOT).join("gdl-games/ticTacToe.gdl"),
        &game,
    )
    .unwrap();
    let file = folder.path().join("page.md");
    let (game, out) = (game.to_str().unwrap(), file.to_str().unwrap());
    // The command complains with the path that replaced its place.
    let baseline = "picky=test -f {rulesheet} && echo {rulesheet} >&2 && exit 7";
    let (_, message) = page(&[
        game,
        "--out",
        out,
        "--widths",
        "512",
        "--baseline",
        baseline,
    ]);
    assert!(message.contains("my game.gdl"), "{message}");
    let page = std::fs::read_to_string(file).unwrap();
    assert!(
        page.contains("- my game, picky: ended with exit status: 7"),
        "{page}"
    );
    assert!(page.contains(" 'my game.gdl' --out page.md "), "{page}");
    let folder = folder.path().file_name().unwrap().to_str().unwrap();
    assert!(!page.contains(folder), "{page}");
}

#[test]
fn games_without_a_network_are_played_with_the_prover() {
    // No network is built in this time.
    let (page, _) = page(&[
        "ticTacToe",
        "--widths",
        "512",
        "--build-seconds",
        "0.000001",
    ]);
    let cells = row(&page, "ticTacToe");
    assert!(number(&cells[3]) > 0.0, "{cells:?}");
    assert_eq!((cells[1].as_str(), cells[4].as_str()), ("-", "-"));
    assert!(
        page.contains("\n- ticTacToe, counter: played with the prover\n"),
        "{page}"
    );
    assert!(
        page.contains("\n- ticTacToe, 512 lanes: no network: "),
        "{page}"
    );
}

#[test]
fn passes_are_left_out_and_searches_are_measured() {
    let arguments = [
        "--without-passes-on",
        "connectFour",
        "--search-on",
        "ticTacToe",
    ];
    let (page, _) = page(&arguments);
    assert!(!page.contains("## Playouts"), "{page}");
    let cells = row(&page, "connectFour");
    assert_eq!((cells[1].as_str(), cells[4].as_str()), ("none", "+0.0 %"));
    let cells = row(&page, "ticTacToe");
    assert!(number(&cells[2]) > 0.0, "{cells:?}");
    let reports = objects(&[&SHORT[..], &arguments].concat(), 0);
    assert_eq!(reports.len(), 2);
    assert_eq!(
        reports[0]["players"][0]["rate"]["runs"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert!(reports[1]["iterations"]["median"].as_f64() > Some(0.0));
}

#[test]
fn unusable_arguments_are_refused_before_the_work() {
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
        (&["--search-on", "hanoi,hanoy"], "error: no game `hanoy`"),
        (
            &["hanoi", "--widths", "256,128"],
            "error: invalid value '128' for '--widths",
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
        let message = fails(&[&SHORT[..], arguments].concat(), 2);
        assert!(message.starts_with(expected), "{message}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_running_baseline() {
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
    let until = Instant::now() + Duration::from_secs(120);
    // An orphan that ended stays as a zombie where no process waits for it.
    let is_zombie = || {
        std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| stat.contains(") Z "))
    };
    while kill(&["-0", id]) && !is_zombie() {
        assert!(Instant::now() < until, "the baseline goes on");
    }
}
