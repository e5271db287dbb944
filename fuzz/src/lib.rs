//! What the fuzz targets do with their bytes: each reads them as one kind of outside text, and
//! panics if the reader does, or if it breaks one of its promises.
//!
//! The programs in `fuzz_targets` run these under libFuzzer. `tests/fuzzed.rs` takes this file in
//! as a module and runs the same targets on a fixed number of mutated [`seeds`].

pub mod mutate;
pub mod seeds;

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::{Duration, Instant};

use panza_config::Settings;
use panza_referee::tournament::plan::Schedule;
use panza_referee::tournament::{results, tally};
use panza_web::Gamemaster;
use panza_web::gamemaster::{RelayedMessage, Translation};

use panza_gdl::RoleId;
use panza_ide::Sheet;
use panza_learning::Trainer;
use panza_machine::Machine;
use panza_memory::{GameHistory, Kind, PlanNote, Store};
use panza_metagame::prior_preparation;

use panza_player::{Answer, GameBuilders, Message};
use panza_server::message;
use panza_server::message::Head;
use panza_sokoban::rulesheet::rulesheet;
use panza_sokoban::{Board, Collection, Solution};
use panza_sync::Budget;
use panza_telemetry::{Archive, Part};

/// A fuzz target.
pub struct Target {
    /// The name, which is also that of its program.
    pub name: &'static str,
    /// Reads bytes; panics at a fault.
    pub run: fn(&[u8]),
    /// Sound inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    target("message", message, seeds::messages),
    target("rules", rules, seeds::rules),
    target("hrf", hrf, seeds::hrf),
    target("gamemaster", gamemaster, seeds::dialogues),
    target("editor", editor, seeds::sessions),
    target("http", http, seeds::requests),
    target("logs", logs, seeds::logs),
    target("tournament", tournament, seeds::tournaments),
    target("results", results, seeds::results),
    target("settings", settings, seeds::settings),
    target("sokoban", sokoban, seeds::levels),
    target("notes", notes, seeds::notes),
    target("memory", memory, seeds::memories),
];

const fn target(name: &'static str, run: fn(&[u8]), seeds: fn() -> Vec<Vec<u8>>) -> Target {
    Target { name, run, seeds }
}

/// Threads of the server that `http` and `logs` ask have this name.
pub const SERVER_THREAD: &str = "fuzzed-server";
/// An answer of the server that takes longer is a fault.
const PATIENCE: Duration = Duration::from_secs(20);
/// Places of a text at which an editor asks.
const QUESTIONS: usize = 40;
/// Diagnostics of one text that are rendered, at most.
const DIAGNOSTICS: usize = 50;
/// Between the files of a match in an input of `logs`.
pub const NEXT_FILE: &str = "\n=====\n";
/// Moves of a level's rulesheet.
const STEPS: usize = 20;
/// Larger levels are not made rulesheets.
const CELLS: usize = 400;

/// A GGP message, and the rules that a START among them carries. The head agrees with the whole.
pub fn message(bytes: &[u8]) {
    let text = message::decoded(bytes);
    let head = Head::read(bytes);
    let id = |message: &Message| match message {
        Message::Info | Message::Preview => None,
        Message::Start(start) => Some(start.match_id.clone()),
        Message::Play(play) => Some(play.match_id.clone()),
        Message::Unplayable { match_id, .. }
        | Message::Stop { match_id, .. }
        | Message::Abort { match_id } => Some(match_id.clone()),
    };
    // Bytes that are no UTF-8 are decoded as a whole.
    if std::str::from_utf8(bytes).is_ok()
        && let Ok(message) = message::parse(&text, Instant::now())
        && let Some(id) = id(&message)
    {
        let head = head.expect("a message has a head");
        assert_eq!(head.match_id, Some(id), "the head and the message");
    }
    laid_out(&text);
}

/// A rulesheet: read, checked, rendered, laid out, read again.
pub fn rules(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (rules, diagnostics) = panza_gdl::load(&text);
    for diagnostic in diagnostics.iter().take(DIAGNOSTICS) {
        let found = text.get(diagnostic.span.range());
        assert!(found.is_some(), "no such place: {diagnostic:?}");
        diagnostic.render("text", &text, false);
        diagnostic.one_line("text", &text);
    }
    questions(&text);
    let Some(once) = laid_out(&text) else { return };
    // What looks like HRF, a name and its list without a space, no longer does.
    if diagnostics.iter().any(|it| it.code == "not-gdl") {
        return;
    }
    let (again, _) = panza_gdl::load(&once);
    let shown = |rules: &panza_gdl::Rules| -> Vec<String> {
        let rules = rules.rules.iter().map(|rule| rules.show_rule(rule));
        rules.map(|rule| rule.to_string()).collect()
    };
    assert_eq!(shown(&rules), shown(&again), "the rules stay the same");
}

/// A rulesheet in HRF: read, checked, rendered, laid out, written in KIF and in HRF again.
pub fn hrf(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (rules, diagnostics) = panza_hrf::load(&text);
    for diagnostic in diagnostics.iter().take(DIAGNOSTICS) {
        let found = text.get(diagnostic.span.range());
        assert!(found.is_some(), "no such place: {diagnostic:?}");
        diagnostic.render("text", &text, false);
        diagnostic.one_line("text", &text);
    }
    let shown = |rules: &panza_gdl::Rules| -> Vec<String> {
        let rules = rules.rules.iter().map(|rule| rules.show_rule(rule));
        rules.map(|rule| rule.to_string()).collect()
    };
    let (statements, faults) = panza_gdl::sexpr::parse(&panza_gdl::format::rulesheet(&rules));
    let (again, _) = panza_gdl::load_statements(&statements, faults);
    assert_eq!(
        shown(&rules),
        shown(&again),
        "the rules stay the same in KIF"
    );
    let wait = panza_gdl::Term::Constant(panza_gdl::keyword::ROLE);
    let turns = panza_hrf::Turns {
        control: panza_hrf::Control::Choice,
        waits: vec![wait; rules.roles().len()],
    };
    if let Ok(written) = panza_hrf::write(&rules, &turns) {
        let laid_out = panza_hrf::format(&written);
        assert_eq!(
            laid_out.as_ref(),
            Ok(&written),
            "what is written is laid out"
        );
    }
    let Ok(once) = panza_hrf::format(&text) else {
        return;
    };
    assert_eq!(
        panza_hrf::format(&once).as_ref(),
        Ok(&once),
        "the layout stays the same"
    );
    let (again, _) = panza_hrf::load(&once);
    assert_eq!(shown(&rules), shown(&again), "the rules stay the same");
}

/// Messages of Gamemaster, one a line, and the answers of a player that answers with the same text.
pub fn gamemaster(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let gamemaster = Gamemaster::default();
    for (number, content) in (1..).zip(text.lines().take(DIAGNOSTICS)) {
        let relayed = RelayedMessage {
            player: "fuzzed".into(),
            number,
            content: content.into(),
            waited: 0,
            sent_at: None,
        };
        match gamemaster.translate(&relayed, Instant::now()) {
            Ok(Translation::Messages(messages)) => assert!(!messages.is_empty()),
            Ok(Translation::Reply(_)) => {}
            Err(why) => assert!(!why.is_empty()),
        }
        let _ = gamemaster.answer(&Answer::Move(content.to_string()));
    }
}

/// What an editor asks of a rulesheet, at some of its places.
fn questions(text: &str) {
    for dialect in [panza_hrf::Dialect::Kif, panza_hrf::Dialect::Hrf] {
        questions_of(&Sheet::read(dialect, text), text);
    }
}

fn questions_of(sheet: &Sheet, text: &str) {
    let is_within = |span: panza_gdl::Span| text.get(span.range()).is_some();
    let places = sheet.outline.occurrences.windows(2);
    places.for_each(|two| assert!(two[0].span.end <= two[1].span.start, "{two:?}"));
    for diagnostic in sheet.diagnostics.iter().take(DIAGNOSTICS) {
        let edits = sheet.fix(diagnostic).map_or(Vec::new(), |fix| fix.edits);
        let is_sound = edits.iter().all(|edit| is_within(edit.span));
        let is_ordered = edits.is_sorted_by(|one, next| one.span.end <= next.span.start);
        assert!(is_sound && is_ordered, "{diagnostic:?}");
    }
    let step = text.len() / QUESTIONS + 1;
    for offset in (0..=text.len()).step_by(step).map(|offset| offset as u32) {
        let place = sheet.lines.place(text, offset);
        let back = sheet.lines.offset(text, place);
        assert!(back <= offset, "{offset} is {place:?} is {back}");
        let (replaced, _) = sheet.completions(offset);
        assert!(is_within(replaced) || !text.is_char_boundary(offset as usize));
        if let Some(found) = sheet.explain(offset) {
            assert!(is_within(found.span), "{found:?}");
        }
        if let Ok(edits) = sheet.rename(offset, "other") {
            assert!(edits.iter().all(|edit| is_within(edit.span)), "{edits:?}");
        }
    }
}

/// What an editor sends to the language server.
pub fn editor(bytes: &[u8]) {
    let input = std::io::Cursor::new(bytes.to_vec());
    // That it is no protocol is an error, which most of these inputs are.
    let nothing = |_: &_, _: &_| Vec::new();
    drop(panza_ide::serve(input, std::io::sink(), nothing, |_| true));
}

/// The laid out text, which does not change when it is laid out again.
fn laid_out(text: &str) -> Option<String> {
    let once = panza_gdl::format::format(text).ok()?;
    let twice = panza_gdl::format::format(&once).expect("what was laid out can be laid out again");
    assert_eq!(once, twice, "laying out again changes nothing");
    Some(once)
}

/// The bytes of a connection to the server.
///
/// A START is left out, since the match that it begins would go on in the next cases.
pub fn http(bytes: &[u8]) {
    let is_start = |word: &[u8]| word.eq_ignore_ascii_case(b"start");
    if !bytes.windows(5).any(is_start) {
        let answer = exchange(bytes);
        let is_http = answer.is_empty() || answer.starts_with(b"HTTP/1.");
        assert!(is_http, "{}", answer.escape_ascii());
    }
}

/// The files of a stored match: the archive reads them, and the server makes pages of them.
pub fn logs(bytes: &[u8]) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    const FILES: [&str; 4] = ["summary.json", "events.jsonl", "series.csv", "match.log"];
    // The server remembers a finished match by its folder, so that each case has its own.
    let name = format!("m{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let root = &server().logs;
    let folder = root.join(&name);
    fs::create_dir(&folder).expect("the folder of logs can be written");
    let mut rest = bytes;
    for file in FILES {
        let end = find(rest, NEXT_FILE.as_bytes());
        let content = &rest[..end.unwrap_or(rest.len())];
        rest = end.map_or(&[], |end| &rest[end + NEXT_FILE.len()..]);
        // An empty part stands for a file that is missing.
        if !content.is_empty() {
            fs::write(folder.join(file), content).expect("the folder of logs can be written");
        }
    }
    let archive = Archive::new(root);
    let entry = archive.entry(&name);
    let listed = archive.list().expect("the folder can be listed");
    assert_eq!(entry.is_some(), listed.iter().any(|it| it.folder == name));
    if let Some(entry) = entry {
        archive.find(&entry.summary.match_id);
        archive.bundle(&name).expect("there is a match");
        for part in Part::ALL {
            for from in [0, 1, 7, u64::MAX] {
                let slice = archive.slice(&name, part, from, 64);
                slice.expect("there is a match");
            }
        }
        for page in ["", "/bundle", "/tiltyard"] {
            let target = format!("/api/matches/{name}{page}");
            let body = page_of(&target);
            let value: serde_json::Value = serde_json::from_slice(&body).expect("it is JSON");
            assert!(value.is_object(), "{target}");
            let is_short = page != "/tiltyard" || body.len() <= 1_000_000;
            assert!(is_short, "{target} has {} bytes", body.len());
        }
        page_of("/api/matches?limit=3&search=m");
        page_of(&format!("/api/matches/{name}/events?from=3"));
    }
    fs::remove_dir_all(&folder).expect("the folder can be removed");
}

/// The file of a tournament.
pub fn tournament(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(plan) = Schedule::parse(&text, "text") else {
        return;
    };
    for fixture in plan.fixtures().iter().take(4) {
        plan.key(fixture);
        plan.title(fixture);
        assert!(plan.seed(fixture) > 0);
        assert!(!plan.seated(fixture).is_empty());
    }
}

/// The results of a tournament.
pub fn results(bytes: &[u8]) {
    let path = file("t.results.jsonl", bytes);
    if let Ok(results) = results::load(&path) {
        tally::tally(&results);
    }
}

/// A file of settings.
pub fn settings(bytes: &[u8]) {
    let _ = Settings::load(Some(&file("panza.toml", bytes)), &[]);
}

/// A collection of Sokoban levels with solutions in LURD.
pub fn sokoban(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(collection) = Collection::read(&text) else {
        return;
    };
    let written = collection.to_string();
    let again = Collection::read(&written).expect("what was written can be read");
    assert_eq!(written, again.to_string(), "writing again changes nothing");
    for entry in collection.entries() {
        entry.title();
        entry.key("Author");
        let faults = entry.faults().iter();
        faults.for_each(|fault| assert!(!fault.to_string().is_empty()));
        let Some(level) = entry.level() else { continue };
        let Ok(board) = Board::new(level) else {
            continue;
        };
        if level.rows() * level.columns() <= CELLS {
            let sheet = rulesheet(entry.title().unwrap_or("-"), level, &board, STEPS);
            let (rules, diagnostics) = panza_gdl::load(&sheet);
            let is_playable = panza_gdl::is_playable(&rules, &diagnostics);
            assert!(is_playable, "{diagnostics:?} in {sheet}");
        }
        for solution in entry.solutions() {
            match Solution::from_text(&board, solution.moves()) {
                Ok(solution) => {
                    let pushes = Solution::from_pushes(&board, solution.pushes());
                    let pushes = pushes.expect("a solution replays");
                    assert_eq!(pushes.pushes(), solution.pushes());
                    let text = solution.to_string();
                    let again = Solution::from_text(&board, &text).expect("a solution replays");
                    assert_eq!(again.metrics(), solution.metrics());
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
}

/// Notes about a game, as the memory keeps them: the plan, and the evaluation with its training.
pub fn notes(bytes: &[u8]) {
    let Ok(note) = serde_json::from_slice::<serde_json::Value>(bytes) else {
        return;
    };
    if let Some(plan) = PlanNote::from_json(&note) {
        assert_eq!(PlanNote::from_json(&plan.to_json()).as_ref(), Some(&plan));
        let machine = games()[0].clone();
        let moves = plan.moves.iter();
        let moves = moves.map(|text| machine.info().find_move(RoleId(0), text));
        if let Some(moves) = moves.collect::<Option<Vec<_>>>() {
            panza_planner::Plan::replay(&machine, &machine.initial_state(), &moves);
        }
    }
    let kinds = [Kind::Parameters, Kind::Evaluation, Kind::Plan];
    let history = GameHistory {
        is_exact: true,
        notes: kinds.map(|kind| (kind, note.clone())).into(),
        matches: Vec::new(),
    };
    for machine in games() {
        let Some(prior) = prior_preparation(machine.info(), &history, || None) else {
            continue;
        };
        let known = prior.known;
        let n_roles = machine.info().n_roles();
        let mut trainer = Trainer::new(known.evaluation, known.sums.as_ref());
        for _ in 0..2 {
            let mut values = vec![0.0; n_roles];
            trainer
                .evaluation
                .values(&machine.initial_state(), &mut values);
            let are_values = values.iter().all(|value| (0.0..=200.0).contains(value));
            assert!(are_values, "{values:?}");
            trainer.train(&machine.initial_state(), &vec![0.5; n_roles], 0.1);
        }
    }
}

/// The file of the memory.
pub fn memory(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("there is a place for files");
    let path = folder.path().join("memory.sqlite");
    fs::write(&path, bytes).expect("the file can be written");
    let Ok(mut store) = Store::open(&path, 3, Duration::ZERO) else {
        return;
    };
    let _ = store.read(seeds::SIGNATURE);
    let notes = [(Kind::Plan, serde_json::json!({ "moves": [] }))];
    let _ = store.write(seeds::SIGNATURE, "(role a)", &notes, None);
    let _ = store.read(seeds::SIGNATURE);
}

/// Machines of a puzzle, and of a game of two roles.
fn games() -> &'static [Arc<dyn Machine>; 2] {
    static GAMES: OnceLock<[Arc<dyn Machine>; 2]> = OnceLock::new();
    GAMES.get_or_init(|| {
        [seeds::PUZZLE, seeds::RACE].map(|text| {
            let budget = Budget::within(Duration::from_secs(60), 1 << 30);
            let built = panza_game::build(&panza_gdl::load(text).0, &budget);
            built.expect("the game is small").machine
        })
    })
}

/// A file of this name and content. Each thread has a folder of its own.
fn file(name: &str, content: &[u8]) -> PathBuf {
    thread_local! {
        static FOLDER: tempfile::TempDir = tempfile::tempdir().expect("there is a place for files");
    }
    FOLDER.with(|folder| {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("the file can be written");
        path
    })
}

/// The server that is asked, which is never ended.
struct Running {
    address: SocketAddr,
    logs: PathBuf,
    _folder: tempfile::TempDir,
}

fn server() -> &'static Running {
    static SERVER: OnceLock<Running> = OnceLock::new();
    SERVER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("there is a place for logs");
        let logs = folder.path().to_path_buf();
        Running {
            address: serve(&logs),
            logs,
            _folder: folder,
        }
    })
}

fn serve(logs: &Path) -> SocketAddr {
    let items = [
        "server.listen=127.0.0.1:0".into(),
        "server.log_listen=none".into(),
        "memory.enabled=false".into(),
        "search.threads=1".into(),
        format!("logs.folder={}", logs.display()),
    ];
    let settings = Settings::load(None, &items).expect("the settings are in range");
    let (report, listening) = mpsc::channel();
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .thread_name(SERVER_THREAD)
            .enable_all()
            .build()
            .expect("the system has threads");
        let builders = GameBuilders::standard();
        let on_listening = move |listens: panza_server::Listening| {
            report.send(listens.address).expect("it is awaited");
        };
        let forever = std::future::pending();
        let served = panza_server::serve(&settings, builders, forever, on_listening);
        runtime.block_on(served).expect("the server starts");
    };
    panza_sync::spawn(SERVER_THREAD, run).expect("the system has threads");
    let address = listening.recv_timeout(PATIENCE);
    address.expect("the server starts")
}

/// Writes bytes to the server, closes this side, and returns all that comes back.
fn exchange(bytes: &[u8]) -> Vec<u8> {
    // One connection at a time: the next case begins when the last one is over.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = panza_sync::lock(&TURN);
    let mut stream = TcpStream::connect(server().address).expect("the server accepts");
    let timeout = stream.set_read_timeout(Some(PATIENCE));
    timeout.expect("the system has timeouts");
    // The server may have refused before all was written.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let mut piece = [0; 1 << 16];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return answer,
            Ok(length) => answer.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return answer,
            Err(error) => panic!("no end of the answer: {error}"),
        }
    }
}

/// The body of a page of the server.
fn page_of(target: &str) -> Vec<u8> {
    let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut answer = exchange(request.as_bytes());
    let end = find(&answer, b"\r\n\r\n").expect("an answer has a head");
    let is_fine = answer.starts_with(b"HTTP/1.1 200 ");
    assert!(is_fine, "{target}: {}", answer.escape_ascii());
    answer.drain(..end + 4);
    answer
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|found| found == wanted)
}
