use super::*;
use crate::build_memory::{PROVER_BYTES, TABLE_BYTES};
use crate::host::{MAX_TIME, Spent};
use panza_game::{BuildError, BuiltGame};
use panza_gdl::Rules;
use panza_gdl_games::EMBEDDED;
use panza_memory::GameMemory;
use panza_metagame as metagame;
use panza_player::{Manager, Message, StartRequest};
use panza_sync::Budget;

const PATIENCE: Duration = Duration::from_secs(120);
/// Building this game takes all the time that it may take.
const EXPLODING: &str = "(role r) (init (n y)) (init (n z)) (legal r go)
    (<= terminal (true (n stop))) (goal r 50)
    (<= (next (n (f ?x ?y))) (true (n ?x)) (true (n ?y)))";

fn tables() -> Tables {
    tables_with(GameBuilders::standard())
}

/// With games that are built like this.
fn tables_with(of_tables: GameBuilders) -> Tables {
    tables_set(of_tables, &["memory.enabled=false".to_string()])
}

/// The same with settings.
fn tables_set(of_tables: GameBuilders, settings: &[String]) -> Tables {
    let mut items = settings.to_vec();
    items.push("logs.match_logs=false".to_string());
    let settings = Settings::load(None, &items).unwrap();
    let player = Player::new(&settings, GameBuilders::standard()).unwrap();
    Tables::new(&settings, of_tables, player)
}

fn setting(game: &str, people: People) -> Setting {
    let source = EMBEDDED.iter().find(|(name, _)| *name == game).unwrap().1;
    Setting {
        game: game.to_string(),
        source: source.into(),
        dialect: Dialect::Kif,
        anyway: false,
        board: None,
        training: Duration::ZERO,
        study: None,
        people,
        effort: Effort::Iterations(200),
    }
}

/// The first view that fits.
fn wait(tables: &Tables, table: &str, fits: impl Fn(&View) -> bool) -> Arc<View> {
    wait_with(tables, table, fits, || Duration::from_millis(5))
}

/// The first view that fits; `act` says how long to rest before the next look.
fn wait_with(
    tables: &Tables,
    table: &str,
    fits: impl Fn(&View) -> bool,
    act: impl Fn() -> Duration,
) -> Arc<View> {
    let until = Instant::now() + PATIENCE;
    loop {
        let view = tables.view(table).expect("the table is there");
        if fits(&view) {
            return view;
        }
        assert!(Instant::now() < until, "{view:?}");
        std::thread::sleep(act());
    }
}

fn is_asked(view: &View) -> bool {
    view.legal.iter().any(|moves| !moves.is_empty())
}

fn first_move(view: &View) -> Command {
    let role = view
        .legal
        .iter()
        .position(|moves| !moves.is_empty())
        .unwrap();
    Command::Move {
        turn: view.moves.len(),
        role: view.roles[role].clone(),
        text: view.legal[role][0].clone(),
    }
}

#[test]
fn a_game_in_hrf_is_played_to_its_end() {
    let tables = tables();
    let source = "% Filling\n%\n% Three cells.\nrole(x) role(o) init(cell(1,blank))
        init(cell(2,blank)) init(cell(3,blank)) init(control(x)) legal(mark(N)) :- cell(N,blank)
        mark(N) :: control(R) ==> ~cell(N,blank) & cell(N,R)
        mark(N) :: control(x) ==> ~control(x) & control(o)
        mark(N) :: control(o) ==> ~control(o) & control(x) goal(x,70) goal(o,30)
        terminal :- ~cell(1,blank) & ~cell(2,blank) & ~cell(3,blank)";
    let filling = Setting {
        game: "filling".to_string(),
        source: source.into(),
        dialect: Dialect::Hrf,
        ..setting("ticTacToe", People::Nth(1))
    };
    let table = tables.open(filling).unwrap();
    let view = wait(&tables, &table, is_asked);
    assert_eq!(view.people, [false, true]);
    assert_eq!(
        (&*view.title, &*view.about),
        ("Filling", &["Three cells.".to_string()][..])
    );
    assert_eq!(view.moves[0][1], "noop$");
    tables.tell(&table, first_move(&view)).unwrap();
    let end = wait(&tables, &table, |view| view.phase == Phase::Over);
    assert_eq!(end.goals, Some(vec![Some(70), Some(30)]));
    let faulty = Setting {
        source: "role(x)\nlegal(=)".into(),
        dialect: Dialect::Hrf,
        ..setting("ticTacToe", People::All)
    };
    let why = tables.open(faulty).unwrap_err().to_string();
    assert!(
        why.contains("ticTacToe:2:7: error[unknown-character]"),
        "{why}"
    );
    let misprint = format!(
        "{} (gaol xplayer 3)",
        setting("ticTacToe", People::All).source
    );
    let misprint = |anyway| Setting {
        source: misprint.as_str().into(),
        anyway,
        ..setting("ticTacToe", People::All)
    };
    let why = tables.open(misprint(false)).unwrap_err().to_string();
    assert!(why.contains("error[misspelt-keyword]"), "{why}");
    let table = tables.open(misprint(true)).unwrap();
    wait(&tables, &table, is_asked);
}

#[test]
fn what_moves_change_is_told_where_others_choose_too() {
    let tables = tables();
    let boards = setting("connectFourSimultaneous", People::All);
    let table = tables.open(boards).unwrap();
    let view = wait(&tables, &table, is_asked);
    assert_eq!(view.last, Effect::default());
    // Each disc lands on one cell, whatever the other role does.
    for (moves, effects) in view.legal.iter().zip(&view.effects) {
        assert_eq!(moves.len(), effects.len());
        assert!(effects.iter().all(|effect| effect.came.len() == 1));
    }
    for role in 0..2 {
        let text = view.legal[role][0].clone();
        let role = view.roles[role].clone();
        let mv = Command::Move {
            turn: 0,
            role,
            text,
        };
        tables.tell(&table, mv).unwrap();
    }
    let next = wait(&tables, &table, |view| view.moves.len() == 1);
    for effects in &view.effects {
        assert!(next.last.came.contains(&effects[0].came[0]));
    }
}

#[test]
fn a_person_plays_to_the_end_against_panza() {
    let tables = tables();
    let table = tables.open(setting("ticTacToe", People::Nth(0))).unwrap();
    let end = loop {
        let view = wait(&tables, &table, |view| {
            is_asked(view) || view.phase == Phase::Over
        });
        if view.phase == Phase::Over {
            break view;
        }
        assert_eq!(view.people, [true, false]);
        assert!(view.legal[1].is_empty());
        tables.tell(&table, first_move(&view)).unwrap();
        let turn = view.moves.len();
        wait(&tables, &table, |view| view.moves.len() > turn);
    };
    let goals = end.goals.clone().unwrap();
    assert_eq!(goals[0].unwrap() + goals[1].unwrap(), 100);
    assert_eq!(end.answer.as_ref().unwrap().role, end.roles[1]);
    assert!(!end.shapes.is_empty());
}

#[test]
fn panza_plays_itself_and_puzzles() {
    let tables = tables();
    for game in ["ticTacToe", "threeJugs"] {
        let nobody = People::Named(Vec::new());
        let table = tables.open(setting(game, nobody)).unwrap();
        let end = wait(&tables, &table, |view| view.phase == Phase::Over);
        assert!(end.goals.is_some(), "{game}");
    }
}

#[test]
fn moves_are_taken_back_and_hints_given() {
    let tables = tables();
    let table = tables.open(setting("connectFour", People::Nth(0))).unwrap();
    let view = wait(&tables, &table, is_asked);
    let role = view.roles[0].clone();
    let hint = Command::Hint { role: role.clone() };
    tables.tell(&table, hint).unwrap();
    let hinted = wait(&tables, &table, |view| view.hint.is_some());
    let hint = hinted.hint.clone().unwrap();
    assert!(hinted.legal[0].contains(&hint.text), "{hint:?}");
    tables.tell(&table, first_move(&view)).unwrap();
    let later = wait(&tables, &table, |view| {
        view.moves.len() == 2 && is_asked(view)
    });
    assert!(later.hint.is_none());
    tables.tell(&table, Command::Undo).unwrap();
    let back = wait(&tables, &table, |view| {
        view.moves.is_empty() && is_asked(view)
    });
    assert_eq!(back.facts, view.facts);
    assert_eq!(back.legal, view.legal);
    tables.tell(&table, Command::Undo).unwrap();
    wait(&tables, &table, |view| view.problem.is_some());
    tables.tell(&table, Command::Resign { role }).unwrap();
    let over = wait(&tables, &table, |view| view.phase == Phase::Over);
    assert_eq!(over.resigned, Some(over.roles[0].clone()));
    tables.close(&table);
    assert!(tables.view(&table).is_err());
}

#[test]
fn nobody_sees_a_choice_before_all_have_chosen() {
    let tables = tables();
    let table = tables.open(setting("roshamboTen", People::Nth(0))).unwrap();
    let view = wait(&tables, &table, is_asked);
    // Panza has long chosen.
    wait(&tables, &table, |view| view.chosen[1]);
    let shown = tables.view(&table).unwrap();
    assert_eq!((&shown.facts, shown.moves.len()), (&view.facts, 0));
    assert!(shown.legal[1].is_empty() && shown.answer.is_none());
    tables.tell(&table, first_move(&shown)).unwrap();
    let next = wait(&tables, &table, |view| view.moves.len() == 1);
    assert_eq!(next.moves[0].len(), 2);
    assert_eq!(next.answer.as_ref().unwrap().text, next.moves[0][1]);
}

#[test]
fn what_is_not_legal_is_refused() {
    let tables = tables();
    let table = tables.open(setting("ticTacToe", People::All)).unwrap();
    let view = wait(&tables, &table, is_asked);
    let mv = |turn: usize, role: &str, text: &str| Command::Move {
        turn,
        role: role.to_string(),
        text: text.to_string(),
    };
    let own = view.roles[0].as_str();
    for (wrong, problem) in [
        (mv(0, own, "(fly away)"), "not legal"),
        (mv(7, own, &view.legal[0][0]), "earlier position"),
        (mv(0, &view.roles[1], "noop"), "chosen already"),
        (mv(0, "nobody", "noop"), "nobody plays nobody"),
    ] {
        tables.tell(&table, wrong).unwrap();
        let told = wait(&tables, &table, |view| {
            view.problem
                .as_ref()
                .is_some_and(|said| said.contains(problem))
        });
        assert!(told.moves.is_empty());
    }
    let unknown = setting("ticTacToe", People::Named(vec!["king".into()]));
    assert_eq!(tables.open(unknown), Err(TableError::Role("king".into())));
    let faulty = Setting {
        source: "(role".into(),
        ..setting("ticTacToe", People::All)
    };
    assert!(matches!(tables.open(faulty), Err(TableError::Rules(_))));
    assert_eq!(tables.tell("x", Command::Undo), Err(TableError::Gone));
}

#[test]
fn there_are_at_most_so_many_tables() {
    let tables = tables();
    let open = || tables.open(setting("ticTacToe", People::All)).unwrap();
    let names: Vec<String> = (0..=MAX_TABLES).map(|_| open()).collect();
    assert!(tables.view(&names[0]).is_err());
    assert!(names[1..].iter().all(|name| tables.view(name).is_ok()));
}

#[test]
fn closed_tables_end_their_builds() {
    let tables = tables();
    let exploding = || Setting {
        source: EXPLODING.into(),
        ..setting("ticTacToe", People::Nth(0))
    };
    let opened: Vec<String> = (0..MAX_TABLES)
        .map(|_| tables.open(exploding()).unwrap())
        .collect();
    assert_eq!(tables.shared.n_threads.load(Ordering::Acquire), MAX_TABLES);
    for table in &opened {
        tables.close(table);
    }
    // A build that is not stopped takes `BUILD_TIME` for each table.
    wait_until(|| tables.shared.n_threads.load(Ordering::Acquire) == 0);
    // The next table plays as ever.
    let table = tables.open(setting("ticTacToe", People::Nth(0))).unwrap();
    wait(&tables, &table, is_asked);
}

/// The text of its only fact doubles with each joint move.
const DOUBLING: &str = "(role r) (init (t z)) (legal r go) (legal r stay)
    (<= terminal (true (t stop))) (goal r 50)
    (<= (next (t (g ?x ?x))) (true (t ?x)))";

#[test]
fn a_game_whose_terms_grow_ends_with_the_name_of_the_fact_that_does() {
    let tables = tables();
    let doubling = Setting {
        source: DOUBLING.into(),
        effort: Effort::Iterations(0),
        ..setting("ticTacToe", People::Named(Vec::new()))
    };
    let table = tables.open(doubling).unwrap();
    let view = wait(&tables, &table, |view| view.phase == Phase::Failed);
    let problem = view.problem.as_deref().unwrap_or_default();
    assert!(problem.contains("a fact of relation `t/1`"), "{problem}");
    assert_eq!(view.moves.len(), 16);
    let begin = Instant::now();
    tables.close(&table);
    wait_until(|| tables.shared.n_threads.load(Ordering::Acquire) == 0);
    assert!(begin.elapsed() < PATIENCE / 10, "{:?}", begin.elapsed());
}

#[test]
fn one_table_builds_at_a_time_and_a_closed_one_stops_or_never_begins() {
    let (begun, builds) = bounded(10);
    let endless = move |_: &Rules, budget: &Budget| {
        begun.send(budget.max_bytes).unwrap();
        while !budget.is_stopped() {
            std::thread::sleep(Duration::from_millis(1));
        }
        Err(BuildError::Stopped)
    };
    let tables = tables_with(GameBuilders {
        main: Arc::new(endless),
        fallback: None,
    });
    let open = || tables.open(setting("ticTacToe", People::Nth(0))).unwrap();
    let first = open();
    assert_eq!(builds.recv_timeout(PATIENCE), Ok(TABLE_BYTES));
    let (never, last) = (open(), open());
    tables.close(&never);
    wait_until(|| tables.shared.n_threads.load(Ordering::Acquire) == 2);
    assert!(builds.is_empty(), "two tables build");
    tables.close(&first);
    let bytes = builds.recv_timeout(PATIENCE).unwrap();
    assert!(bytes <= TABLE_BYTES);
    tables.close(&last);
    wait_until(|| tables.shared.n_threads.load(Ordering::Acquire) == 0);
    assert!(builds.is_empty(), "a closed table was built");
}

#[test]
fn a_prover_in_place_of_a_network_is_bounded_and_ends_with_its_table() {
    let (begun, builds) = bounded(10);
    let prover = move |rules: &Rules, budget: &Budget| {
        let stop = budget.stop.clone().unwrap();
        begun.send((budget.max_bytes, stop)).unwrap();
        panza_game::prover(rules)
    };
    let tables = tables_with(GameBuilders {
        main: Arc::new(|_: &Rules, _: &Budget| Err("too large".into())),
        fallback: Some(Arc::new(prover)),
    });
    let table = tables.open(setting("ticTacToe", People::Nth(0))).unwrap();
    wait(&tables, &table, is_asked);
    let (bytes, stop) = builds.recv_timeout(PATIENCE).unwrap();
    assert_eq!(bytes, PROVER_BYTES);
    assert!(!stop.load(Ordering::Acquire));
    tables.close(&table);
    assert!(stop.load(Ordering::Acquire));
}

/// Begins a match of a game manager, and returns when it runs.
fn begin_match(tables: &Tables) {
    let source = EMBEDDED
        .iter()
        .find(|(name, _)| *name == "ticTacToe")
        .unwrap()
        .1;
    let rules = StartRules::read(&sexpr::parse(source).0, source, "m").unwrap();
    let start = StartRequest {
        match_id: "m".to_string(),
        role: "xplayer".to_string(),
        rules,
        start_clock: Duration::from_secs(600),
        play_clock: Duration::from_secs(600),
        received: Instant::now(),
        manager: Manager::default(),
    };
    let player = &tables.shared.player;
    player.handle(Message::Start(start), Box::new(drop));
    wait_until(|| player.info() == Status::Busy);
}

/// Ends it, and returns when the player is free again.
fn end_match(tables: &Tables) {
    let player = &tables.shared.player;
    let match_id = "m".to_string();
    player.handle(Message::Abort { match_id }, Box::new(drop));
    wait_until(|| player.info() == Status::Available);
}

fn wait_until(holds: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn training_that_a_match_cuts_off_begins_again() {
    let tables = tables();
    let trained = Setting {
        training: Duration::from_secs(600),
        ..setting("connectFour", People::Nth(0))
    };
    let table = tables.open(trained).unwrap();
    let trains = |view: &View| view.phase == Phase::Training && !view.waits;
    wait(&tables, &table, trains);
    begin_match(&tables);
    wait(&tables, &table, |view| view.waits);
    end_match(&tables);
    wait(&tables, &table, trains);
}

/// Longer than anything that a table does without being asked.
const QUIET: Duration = Duration::from_millis(800);

#[test]
fn studies_and_tables_give_way_to_a_match_and_go_on_after_it() {
    let tables = tables();
    let thinking = Setting {
        effort: Effort::Time(MAX_TIME),
        ..setting("connectFour", People::Named(Vec::new()))
    };
    let table = tables.open(thinking).unwrap();
    wait(&tables, &table, |view| view.thinks_for.is_some());
    let long = Setting {
        effort: Effort::Time(MAX_TIME),
        ..studied("connectFour", Study::default())
    };
    let study = tables.open(long).unwrap();
    let searched = wait_report(&tables, &study, |report| {
        report.state == Thinking::Searching && report.iterations > 0 && !report.moves.is_empty()
    });
    begin_match(&tables);
    wait(&tables, &table, |view| view.waits);
    let waiting = wait_report(&tables, &study, |report| report.state == Thinking::Waiting);
    // What was found before is still shown.
    assert!(waiting.iterations >= searched.iterations && !waiting.moves.is_empty());
    // Nothing is opened either.
    let late = tables
        .open(setting("ticTacToe", People::Named(Vec::new())))
        .unwrap();
    let view = wait(&tables, &late, |view| view.waits);
    assert_eq!(view.phase, Phase::Building);
    // No new version is published, which a browser would have to draw.
    let versions = || {
        let shown = |name: &String| *tables.versions(name).unwrap().borrow();
        let report = *tables.report_versions(&study).unwrap().borrow();
        ([&table, &study, &late].map(shown), report)
    };
    let before = versions();
    std::thread::sleep(QUIET);
    assert_eq!(versions(), before);
    // Without a match it would have been played to its end.
    assert_eq!(tables.view(&late).unwrap().phase, Phase::Building);
    end_match(&tables);
    wait(&tables, &late, |view| view.phase == Phase::Over);
    wait(&tables, &table, |view| {
        !view.waits && view.thinks_for.is_some()
    });
    wait_report(&tables, &study, |report| {
        report.state == Thinking::Searching && report.iterations > 0
    });
}

#[test]
fn what_a_match_cuts_off_is_built_again_after_it() {
    let tables = tables();
    let exploding = Setting {
        source: EXPLODING.into(),
        ..setting("ticTacToe", People::Nth(0))
    };
    let table = tables.open(exploding).unwrap();
    let building = &tables.shared.building;
    let is_building = || building.try_lock().is_err();
    wait_until(is_building);
    begin_match(&tables);
    wait(&tables, &table, |view| view.waits);
    assert!(!is_building());
    end_match(&tables);
    wait(&tables, &table, |view| !view.waits);
    wait_until(is_building);
    tables.close(&table);
}

#[test]
fn slices_that_are_counted_are_as_short_as_those_of_a_time() {
    let spent = |milliseconds, iterations| Spent {
        time: Duration::from_millis(milliseconds),
        iterations,
    };
    assert_eq!(spent(0, 0).next_iterations(200), 1);
    assert_eq!(spent(1000, 10_000).next_iterations(200), 100);
    assert_eq!(spent(1000, 10_000).next_iterations(30), 30);
    assert_eq!(spent(1000, 1_000_000).next_iterations(2000), 500);
    assert_eq!(spent(1000, 3).next_iterations(200), 1);
}

fn studied(game: &str, study: Study) -> Setting {
    Setting {
        study: Some(study),
        effort: Effort::Time(Duration::from_secs(20)),
        ..setting(game, People::All)
    }
}

/// The first report that fits.
fn wait_report(tables: &Tables, table: &str, fits: impl Fn(&Report) -> bool) -> Arc<Report> {
    let until = Instant::now() + PATIENCE;
    loop {
        let report = tables.report(table).unwrap();
        if let Some(report) = report.as_ref().filter(|report| fits(report)) {
            return Arc::clone(report);
        }
        assert!(Instant::now() < until, "{report:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Joint moves of tic-tac-toe, in which the roles mark these cells in turn.
fn marks(cells: &[&str]) -> Vec<Vec<String>> {
    let mark = |(turn, cell): (usize, &&str)| {
        let mut joint = vec!["noop".to_string(); 2];
        joint[turn % 2] = format!("(mark {cell})");
        joint
    };
    cells.iter().enumerate().map(mark).collect()
}

fn go(line: Vec<Vec<String>>) -> Command {
    Command::Go { line, start: None }
}

/// The number of the position that a study table shows.
fn position(view: &View) -> u64 {
    view.study.as_ref().map_or(0, |study| study.position)
}

#[test]
fn a_study_goes_along_lines_and_thinks_about_each_position() {
    let tables = tables();
    let line = marks(&["1 1", "2 2", "1 2", "3 3", "1 3"]);
    let study = Study {
        line: line.clone(),
        turn: 4,
        ..Study::default()
    };
    let table = tables.open(studied("ticTacToe", study)).unwrap();
    let view = wait(&tables, &table, |view| position(view) > 0);
    assert_eq!((&view.moves[..], view.phase), (&line[..4], Phase::Playing));
    assert_eq!(view.study.as_ref().unwrap().line, line);
    assert_eq!(view.n_legal, [5, 1]);
    assert_eq!(view.legal[0].len(), 5);
    let report = wait_report(&tables, &table, |report| report.state == Thinking::Proven);
    assert_eq!(report.position, position(&view));
    assert_eq!(report.role.as_deref(), Some("xplayer"));
    assert_eq!(report.worth.proven, [Some(100), Some(0)]);
    assert_eq!(report.moves[0].text, "(mark 1 3)");
    assert_eq!(report.line, [["(mark 1 3)", "noop"]]);

    // A branch, further back.
    let branch = marks(&["1 1", "2 2", "3 3"]);
    tables.tell(&table, go(branch.clone())).unwrap();
    let view = wait(&tables, &table, |view| view.moves == branch);
    let report = wait_report(&tables, &table, |report| {
        report.position == position(&view) && !report.line.is_empty()
    });
    assert_eq!(report.role.as_deref(), Some("oplayer"));
    let sum: f64 = report.worth.values.iter().flatten().sum();
    assert!((sum - 100.0).abs() < 0.1, "{report:?}");

    // A line is followed as far as it is legal.
    let wrong = marks(&["1 1", "2 2", "1 1"]);
    tables.tell(&table, go(wrong)).unwrap();
    let view = wait(&tables, &table, |view| view.problem.is_some());
    assert_eq!(view.moves, marks(&["1 1", "2 2"]));
    let problem = view.problem.as_ref().unwrap();
    assert!(
        problem.contains("turn 3: (mark 1 1) is not legal for xplayer"),
        "{problem}"
    );

    // The end of the game.
    tables.tell(&table, go(line.clone())).unwrap();
    let end = wait(&tables, &table, |view| view.phase == Phase::Over);
    assert_eq!(end.goals, Some(vec![Some(100), Some(0)]));
    let report = wait_report(&tables, &table, |report| report.state == Thinking::Over);
    assert_eq!(report.worth.proven, [Some(100), Some(0)]);
    let beyond = marks(&["1 1", "2 2", "1 2", "3 3", "1 3", "2 1"]);
    tables.tell(&table, go(beyond)).unwrap();
    wait(&tables, &table, |view| {
        let problem = view.problem.as_deref().unwrap_or_default();
        problem.contains("turn 6: the game is over here")
    });

    // What is for games that are played is refused.
    tables.tell(&table, Command::Undo).unwrap();
    wait(&tables, &table, |view| {
        let problem = view.problem.as_deref().unwrap_or_default();
        problem.contains("games that are played")
    });
}

#[test]
fn blunders_are_named_at_a_study_table() {
    let tables = tables();
    let line = marks(&["1 1", "2 2", "1 2", "3 3", "1 3"]);
    let table = tables.open(studied("ticTacToe", Study::default())).unwrap();
    wait(&tables, &table, |view| position(view) > 0);
    tables.tell(&table, Command::Pause { on: true }).unwrap();
    wait_report(&tables, &table, |report| report.state == Thinking::Paused);
    let review = Command::Review {
        line: line.clone(),
        ms: 30,
    };
    tables.tell(&table, review).unwrap();
    let report = wait_report(&tables, &table, |report| {
        report
            .review
            .as_ref()
            .is_some_and(|review| review.is_finished)
    });
    let review = report.review.as_ref().unwrap();
    assert_eq!((review.done, review.of, review.worths.len()), (6, 6, 6));
    let [blunder] = &review.graded[..] else {
        panic!("{review:?}");
    };
    assert_eq!((blunder.turn, blunder.role.as_str()), (3, "oplayer"));
    assert_eq!(blunder.grade, "blunder");
    let summary = review.summary.iter();
    let summary = summary.map(|it| (it.role.as_str(), it.moves, it.grades));
    assert_eq!(
        summary.collect::<Vec<_>>(),
        [("xplayer", 3, [0, 0, 0]), ("oplayer", 2, [0, 0, 1])]
    );
    assert_eq!(
        (blunder.played.as_str(), blunder.better.as_str()),
        ("(mark 3 3)", "(mark 1 3)")
    );
    assert!(blunder.is_proven);
    tables.tell(&table, Command::EndReview).unwrap();
    wait_report(&tables, &table, |report| report.review.is_none());
    // There is nothing to look at in an empty line.
    let nothing = Command::Review {
        line: Vec::new(),
        ms: 0,
    };
    tables.tell(&table, nothing).unwrap();
    wait(&tables, &table, |view| view.problem.is_some());
}

#[test]
fn a_study_begins_with_any_position() {
    let tables = tables();
    let facts = "((cell 1 1 x) (cell 1 2 x) (cell 1 3 blank) (cell 2 1 o) (cell 2 2 o)
        (cell 2 3 blank) (cell 3 1 blank) (cell 3 2 blank) (cell 3 3 blank)
        (true (control xplayer)))";
    let open = |facts: &str| {
        let study = Study {
            facts: Some(facts.to_string()),
            ..Study::default()
        };
        tables.open(studied("ticTacToe", study)).unwrap()
    };
    let table = open(facts);
    let view = wait(&tables, &table, |view| position(view) > 0);
    assert_eq!(view.facts.len(), 10);
    let report = wait_report(&tables, &table, |report| report.state == Thinking::Proven);
    assert_eq!(report.moves[0].text, "(mark 1 3)");
    for (wrong, problem) in [
        ("((cell 9 9 x))", "cannot be set up"),
        ("((cell 1 1 x)", "cannot be read"),
        ("; nothing", "between 1 and"),
    ] {
        let table = open(wrong);
        let view = wait(&tables, &table, |view| view.phase == Phase::Failed);
        let told = view.problem.as_deref().unwrap();
        assert!(told.contains(problem), "{told}");
    }
}

/// A position of tic-tac-toe in which x has a line with its next move.
const NEARLY: &str = "((cell 1 1 x) (cell 1 2 x) (cell 1 3 blank) (cell 2 1 o) (cell 2 2 o)
    (cell 2 3 blank) (cell 3 1 blank) (cell 3 2 blank) (cell 3 3 blank) (control xplayer))";

#[test]
fn a_chapter_begins_with_a_position_of_its_own_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let tables = kept_in(folder.path());
    let table = tables.open(studied("ticTacToe", Study::default())).unwrap();
    wait(&tables, &table, |view| position(view) > 0);
    let at = |chapter, facts: &str, cells: &[&str]| Command::Go {
        line: marks(cells),
        start: Some(Start {
            chapter,
            facts: facts.to_string(),
        }),
    };
    let shown = |view: &View| view.study.as_ref().map(|study| study.chapter);
    tables.tell(&table, at(7, NEARLY, &["1 3"])).unwrap();
    let won = wait(&tables, &table, |view| view.phase == Phase::Over);
    assert_eq!((shown(&won), won.moves.len()), (Some(7), 1));
    let nowhere = at(8, "((cell 9 9 x))", &[]);
    tables.tell(&table, nowhere).unwrap();
    let view = wait(&tables, &table, |view| view.problem.is_some());
    assert_eq!((shown(&view), &view.facts), (Some(7), &won.facts));
    assert_eq!(
        tables.to_study(&table).unwrap().study.unwrap().facts,
        Some(NEARLY.to_string())
    );
    let tables = restart(tables, folder.path());
    let back = wait(&tables, &table, |view| position(view) > 0);
    assert_eq!((shown(&back), &back.facts), (Some(7), &won.facts));
    tables.tell(&table, at(1, "", &["2 2"])).unwrap();
    let view = wait(&tables, &table, |view| shown(view) == Some(1));
    assert_eq!((view.moves.len(), view.phase), (1, Phase::Playing));
    assert!(view.study.as_ref().unwrap().facts.is_none());
}

#[test]
fn lines_that_are_brought_are_looked_at() {
    let tables = tables();
    let table = tables.open(studied("ticTacToe", Study::default())).unwrap();
    wait(&tables, &table, |view| position(view) > 0);
    let fits: LineTree = LineTree {
        facts: String::new(),
        lines: vec![
            (0, marks(&["1 1"]).remove(0)),
            (1, marks(&["", "2 2"]).remove(1)),
            (1, marks(&["", "2 1"]).remove(1)),
            (0, marks(&["3 3"]).remove(0)),
        ],
    };
    let nearly = |lines| LineTree {
        facts: NEARLY.to_string(),
        lines,
    };
    let wins = (0, marks(&["1 3"]).remove(0));
    let taken = (0, marks(&["1 1"]).remove(0));
    let nowhere = LineTree {
        facts: "(cell 9 9 x)".to_string(),
        lines: Vec::new(),
    };
    let cases = [
        (vec![fits.clone()], None),
        (vec![fits.clone(), nearly(vec![wins.clone()])], None),
        (
            vec![fits.clone(), nearly(vec![wins, taken])],
            Some((1, 2, "(mark 1 1) is not legal")),
        ),
        (
            vec![nearly(vec![(3, vec![])])],
            Some((0, 1, "written to the end")),
        ),
        (
            vec![nearly(vec![(0, vec![])])],
            Some((0, 1, "0 moves for 2 roles")),
        ),
        (vec![fits, nowhere], Some((1, 0, "cannot be set up"))),
    ];
    for (number, (chapters, fault)) in (1..).zip(cases) {
        tables
            .tell(&table, Command::Check { number, chapters })
            .unwrap();
        let checked = |view: &View| view.study.as_ref().unwrap().checked.clone();
        let view = wait(&tables, &table, |view| {
            checked(view).is_some_and(|it| it.number == number)
        });
        let found = checked(&view).unwrap();
        let (chapter, node, why) = fault.unwrap_or((0, 0, ""));
        assert_eq!((found.chapter, found.node), (chapter, node));
        assert_eq!(found.problem.is_some(), fault.is_some());
        assert!(found.problem.unwrap_or_default().contains(why));
        assert!(view.moves.is_empty() && view.problem.is_none());
    }
}

#[test]
fn a_puzzle_is_planned_at_a_study_table() {
    let tables = tables();
    let table = tables.open(studied("threeJugs", Study::default())).unwrap();
    let report = wait_report(&tables, &table, |report| {
        report.plan.as_ref().is_some_and(|plan| plan.is_best)
    });
    let plan = report.plan.as_ref().unwrap();
    assert_eq!(plan.goal, Some(100));
    assert_eq!(plan.n_moves, plan.moves.len());
    follows_its_plan(&report);
    let first = vec![vec![plan.moves[0].clone()]];
    tables.tell(&table, go(first)).unwrap();
    let view = wait(&tables, &table, |view| view.moves.len() == 1);
    // The rest of the plan is known at once.
    let next = wait_report(&tables, &table, |report| report.position == position(&view));
    assert_eq!(next.plan.as_ref().unwrap().moves, plan.moves[1..]);
    follows_its_plan(&next);
}

/// A plan that is known is what is shown, and nothing contradicts it.
fn follows_its_plan(report: &Report) {
    let plan = report.plan.as_ref().unwrap();
    assert_eq!(report.worth.values, [Some(100.0)]);
    assert_eq!(report.worth.proven, [Some(100)]);
    let line = plan.moves.iter().take(report.line.len());
    assert!(report.line.iter().map(|joint_move| &joint_move[0]).eq(line));
    let first = &report.moves[0];
    assert_eq!((&first.text, first.value), (&plan.moves[0], Some(100.0)));
    let begins = |text: &str| report.alternatives.iter().any(|it| it.moves[0] == text);
    for other in &report.moves[1..] {
        let is_shown = other.value.is_some();
        assert!(!is_shown || begins(&other.text), "{other:?}");
    }
}

#[test]
fn outcomes_of_chance_are_listed_at_a_study_table() {
    let tables = tables();
    let table = tables.open(studied("diceRace", Study::default())).unwrap();
    let is_valued = |report: &Report| {
        let values = report.outcomes.iter().map(|it| it.worth.values.first());
        report.outcomes.len() == 3 && values.flatten().count() == 3
    };
    let report = wait_report(&tables, &table, is_valued);
    assert!(report.moves.is_empty() && report.role.is_none());
    let values = report.outcomes.iter().map(|it| it.worth.values[0].unwrap());
    let mean = values.sum::<f64>() / 3.0;
    let worth = report.worth.values[0].unwrap();
    assert!((mean - worth).abs() < 0.02, "{mean} and {worth}");
    let text = report.outcomes[1].text.clone();
    let joint = vec!["wait".to_string(), "wait".to_string(), text];
    tables.tell(&table, go(vec![joint])).unwrap();
    let view = wait(&tables, &table, |view| view.moves.len() == 1);
    let next = wait_report(&tables, &table, |report| {
        report.position == position(&view) && !report.moves.is_empty()
    });
    assert!(next.outcomes.is_empty());
    // One number: what the position is worth is the value of the best move.
    let best = &next.moves[0];
    let role = usize::from(next.role.as_deref() == Some("blue"));
    assert_eq!(
        best.proven.map(f64::from).or(best.value),
        next.worth.values[role]
    );
}

#[test]
fn there_are_at_most_so_many_studies_and_a_table_can_be_studied() {
    let tables = tables();
    let played = tables.open(setting("ticTacToe", People::All)).unwrap();
    let view = wait(&tables, &played, is_asked);
    tables.tell(&played, first_move(&view)).unwrap();
    wait(&tables, &played, |view| view.moves.len() == 1);
    let of_table = tables.to_study(&played).unwrap();
    let study = of_table.study.as_ref().unwrap();
    assert_eq!((study.turn, study.line.len()), (1, 1));
    let names: Vec<String> = (0..=MAX_STUDIES)
        .map(|_| tables.open(of_table.clone()).unwrap())
        .collect();
    assert!(tables.view(&names[0]).is_err());
    assert!(names[1..].iter().all(|name| tables.view(name).is_ok()));
    assert!(tables.view(&played).is_ok());
    assert!(tables.to_study("x").is_err() && tables.report("x").is_err());
    assert!(tables.report_versions("x").is_none());
}

/// Tic-tac-toe, and a study of it as a match leaves it.
fn studied_for_alpha_beta() -> (Rules, BuiltGame, metagame::Preparation) {
    let rules = panza_gdl::load(panza_gdl_games::rulesheet("ticTacToe").unwrap()).0;
    let game = panza_game::build(&rules, &Budget::generous()).unwrap();
    let settings = Settings::load(None, &[]).unwrap();
    let config = panza_player::search_config(&settings.search, 1);
    let time = Duration::from_secs(3);
    let budget = metagame::PreparationBudget::from_now(&settings.metagame, time, &Arc::default());
    let study = metagame::prepare(&game, None, &config, &budget);
    assert!(study.alpha_beta.is_some(), "{study:?}");
    (rules, game, study)
}

#[test]
fn alpha_beta_thinks_at_a_study_table_where_it_is_the_stronger_search() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let line = marks(&["1 1", "2 2", "1 2", "3 3"]);
    let (rules, game, mut of_match) = studied_for_alpha_beta();
    for (alpha_beta, method, expected) in [
        (true, "auto", "alpha-beta"),
        (true, "tree", "tree"),
        (false, "auto", "tree"),
        (false, "alpha-beta", "alpha-beta"),
    ] {
        of_match.parameters.alpha_beta = alpha_beta;
        let (mut memory, _) = GameMemory::open(&path, 10, &rules).unwrap();
        let notes = metagame::notes(game.info(), &of_match);
        memory.write(&notes).unwrap();
        let settings = [
            format!("memory.path={}", path.display()),
            format!("search.method={method}"),
        ];
        let tables = tables_set(GameBuilders::standard(), &settings);
        let study = Study {
            line: line.clone(),
            turn: 3,
            ..Study::default()
        };
        let table = tables.open(studied("ticTacToe", study)).unwrap();
        let view = wait(&tables, &table, |view| position(view) > 0);
        let report = wait_report(&tables, &table, |report| {
            !report.moves.is_empty() && report.position == position(&view)
        });
        assert_eq!(report.method, expected, "{alpha_beta} {method}");
        assert_eq!(report.role.as_deref(), Some("oplayer"));
        let reason = (expected == "tree" && method == "auto").then_some(());
        assert_eq!(report.why_tree.map(|_| ()), reason);
        if expected == "tree" {
            assert!(report.depth > 0 && report.lines.len() == 1, "{report:?}");
            continue;
        }
        // The move that does not lose, with its line and others.
        let deep = wait_report(&tables, &table, |report| report.depth >= 6);
        assert_eq!(deep.moves[0].text, "(mark 1 3)");
        assert_eq!(deep.lines.len(), 3);
        assert_eq!(
            (&deep.lines[0].text, &deep.lines[0].line),
            (&deep.moves[0].text, &deep.line)
        );
        assert!(deep.nodes > 0 && deep.selective_depth > 0);
        // The last position is a win that is proven.
        tables.tell(&table, go(line.clone())).unwrap();
        let won = wait_report(&tables, &table, |report| report.state == Thinking::Proven);
        assert_eq!(won.worth.proven, [Some(100), Some(0)]);
        assert_eq!(
            (&won.moves[0].text[..], won.moves[0].proven),
            ("(mark 1 3)", Some(100))
        );
    }
}

/// Tables that are kept in a folder.
fn kept_in(folder: &std::path::Path) -> Tables {
    let items = [
        "memory.enabled=false".to_string(),
        format!("logs.folder={}", folder.display()),
    ];
    let settings = Settings::load(None, &items).unwrap();
    let player = Player::new(&settings, GameBuilders::standard()).unwrap();
    Tables::new(&settings, GameBuilders::standard(), player)
}

/// Ends all tables, as a restart of the server does, and opens the folder again.
fn restart(tables: Tables, folder: &std::path::Path) -> Tables {
    let n_threads = Arc::clone(&tables.shared.n_threads);
    drop(tables);
    wait_until(|| n_threads.load(Ordering::Acquire) == 0);
    kept_in(folder)
}

#[test]
fn every_table_goes_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let tables = kept_in(folder.path());
    let games = ["ticTacToe", "threeJugs", "connectFour"];
    let opened = games.map(|game| tables.open(setting(game, People::Nth(0))).unwrap());
    let before = opened.each_ref().map(|table| {
        let view = wait(&tables, table, is_asked);
        let turn = view.moves.len();
        tables.tell(table, first_move(&view)).unwrap();
        wait(&tables, table, |view| {
            view.moves.len() > turn && is_asked(view)
        })
    });
    let tables = restart(tables, folder.path());
    for (table, before) in opened.iter().zip(&before) {
        let after = wait(&tables, table, is_asked);
        assert_eq!(after.moves, before.moves);
        assert_eq!((&after.facts, &after.legal), (&before.facts, &before.legal));
        assert_eq!((&after.people, &after.problem), (&before.people, &None));
        // Each start has a log of its own, with all turns.
        assert_ne!(after.log, before.log);
        assert!(after.version > before.version);
        tables.tell(table, first_move(&after)).unwrap();
        wait(&tables, table, |view| view.moves.len() > after.moves.len());
    }
}

#[test]
fn sides_pauses_and_resignations_come_back_and_so_does_an_own_rulesheet() {
    let folder = tempfile::tempdir().unwrap();
    let tables = kept_in(folder.path());
    let own = Setting {
        game: "own".to_string(),
        source: "role(x) role(o) init(s(1)) base(s(1)) base(s(2)) succ(1,2)
            legal(x,a) legal(x,b) legal(o,a) legal(o,b)
            next(s(N)) :- true(s(M)) & succ(M,N) next(s(1)) :- true(s(2))
            goal(x,50) goal(o,50) terminal :- true(s(3))"
            .into(),
        dialect: Dialect::Hrf,
        ..setting("ticTacToe", People::Nth(0))
    };
    let table = tables.open(own).unwrap();
    wait(&tables, &table, is_asked);
    tables.tell(&table, Command::Switch).unwrap();
    let view = wait(&tables, &table, |view| {
        view.people == [false, true] && is_asked(view)
    });
    tables.tell(&table, Command::Pause { on: true }).unwrap();
    wait(&tables, &table, |view| view.paused);
    let tables = restart(tables, folder.path());
    let back = wait(&tables, &table, is_asked);
    assert_eq!((&back.people[..], back.paused), (&[false, true][..], true));
    assert_eq!(back.legal, view.legal);
    let role = view.roles[1].clone();
    tables.tell(&table, Command::Resign { role }).unwrap();
    let over = wait(&tables, &table, |view| view.resigned.is_some());
    let tables = restart(tables, folder.path());
    let back = wait(&tables, &table, |view| view.phase == Phase::Over);
    assert_eq!((&back.resigned, &back.log), (&over.resigned, &over.log));
    // The same game again begins with the sides of its opening.
    let again = tables.open(tables.setting(&table).unwrap()).unwrap();
    let view = wait(&tables, &again, is_asked);
    assert_eq!(view.people, [true, false]);
}

#[test]
fn a_table_that_was_closed_comes_back_once_however_many_ask() {
    let folder = tempfile::tempdir().unwrap();
    let tables = kept_in(folder.path());
    let table = tables.open(setting("ticTacToe", People::All)).unwrap();
    let view = wait(&tables, &table, is_asked);
    tables.tell(&table, first_move(&view)).unwrap();
    wait(&tables, &table, |view| view.moves.len() == 1);
    tables.tell(&table, Command::Close).unwrap();
    let n_threads = || tables.shared.n_threads.load(Ordering::Acquire);
    wait_until(|| n_threads() == 0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| tables.view(&table).unwrap());
        }
    });
    assert_eq!(n_threads(), 1);
    let view = wait(&tables, &table, is_asked);
    assert_eq!(view.moves.len(), 1);
    for wrong in ["../../etc", "0123456789abcdef", ""] {
        assert_eq!(tables.view(wrong).err(), Some(TableError::Gone));
    }
}

#[test]
fn a_table_comes_back_only_where_another_is_not_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let tables = kept_in(folder.path());
    let open = || tables.open(setting("ticTacToe", People::All)).unwrap();
    let names: Vec<String> = (0..=MAX_TABLES).map(|_| open()).collect();
    // The last took the place of the first, and all are in use.
    assert_eq!(tables.view(&names[0]).err(), Some(TableError::Full));
    tables.tell(&names[1], Command::Close).unwrap();
    wait(&tables, &names[0], is_asked);
}

#[test]
fn what_is_damaged_on_disk_is_told_and_the_game_begins_again() {
    let folder = tempfile::tempdir().unwrap();
    let tables = kept_in(folder.path());
    let table = tables.open(setting("ticTacToe", People::All)).unwrap();
    let view = wait(&tables, &table, is_asked);
    tables.tell(&table, first_move(&view)).unwrap();
    wait(&tables, &table, |view| view.moves.len() == 1);
    let of_table = folder.path().join(".tables").join(&table);
    let state = of_table.join("state.json");
    wait_until(|| std::fs::read_to_string(&state).is_ok_and(|text| text.contains("mark")));
    let n_threads = Arc::clone(&tables.shared.n_threads);
    drop(tables);
    wait_until(|| n_threads.load(Ordering::Acquire) == 0);
    std::fs::write(&state, "{\"version\":1,\"moves\":[[").unwrap();
    let tables = kept_in(folder.path());
    let view = wait(&tables, &table, is_asked);
    assert!(view.moves.is_empty());
    let problem = view.problem.as_deref().unwrap_or_default();
    assert!(problem.contains("kept aside"), "{problem}");
    // A move that is not legal any more ends what is made again.
    let kept =
        r#"{"version":1,"moves":[["(mark 1 1)","noop"],["(fly)","noop"]],"people":["xplayer"]}"#;
    let n_threads = Arc::clone(&tables.shared.n_threads);
    drop(tables);
    wait_until(|| n_threads.load(Ordering::Acquire) == 0);
    std::fs::write(&state, kept).unwrap();
    let tables = kept_in(folder.path());
    let view = wait(&tables, &table, |view| view.moves.len() == 1);
    let problem = view.problem.as_deref().unwrap_or_default();
    assert!(problem.contains("goes on from turn 1"), "{problem}");
    assert!(of_table.join("state.damaged").exists());
}

#[test]
fn a_study_comes_back_with_its_position_and_its_lines() {
    let folder = tempfile::tempdir().unwrap();
    let tables = kept_in(folder.path());
    let table = tables.open(studied("ticTacToe", Study::default())).unwrap();
    let first = wait(&tables, &table, |view| position(view) > 0);
    let line = marks(&["1 1", "2 2"]);
    tables.tell(&table, go(line.clone())).unwrap();
    tables.tell(&table, Command::Pause { on: true }).unwrap();
    let tree = serde_json::json!([[0, ["(mark 1 1)", "noop"]]]);
    let lines = Command::Lines {
        lines: tree.clone(),
    };
    tables.tell(&table, lines).unwrap();
    let told = |view: &View| view.study.as_ref().map_or(0, |study| study.lines);
    let view = wait(&tables, &table, |view| told(view) > 0);
    let tables = restart(tables, folder.path());
    let back = wait(&tables, &table, |view| position(view) > 0);
    assert_eq!(back.moves, line);
    assert!(position(&back) > position(&view) && position(&view) > position(&first));
    assert!(told(&back) > told(&view));
    assert_eq!(tables.lines(&table).unwrap().as_deref(), Some(&tree));
    wait_report(&tables, &table, |report| report.state == Thinking::Paused);
}

#[test]
fn nothing_is_written_while_nothing_changes() {
    let folder = tempfile::tempdir().unwrap();
    let tables = kept_in(folder.path());
    let played = tables.open(setting("ticTacToe", People::All)).unwrap();
    let study = tables
        .open(studied("connectFour", Study::default()))
        .unwrap();
    wait(&tables, &played, is_asked);
    let line = vec![vec!["(drop 1)".to_string(), "noop".to_string()]];
    tables.tell(&study, go(line)).unwrap();
    wait(&tables, &study, |view| view.moves.len() == 1);
    wait_report(&tables, &study, |report| report.iterations > 0);
    let path = |table: &String| folder.path().join(".tables").join(table).join("state.json");
    let paths = [&played, &study].map(path);
    wait_until(|| paths.iter().all(|path| path.exists()));
    let changed = || {
        paths
            .each_ref()
            .map(|path| path.metadata().unwrap().modified().unwrap())
    };
    let before = changed();
    std::thread::sleep(QUIET);
    assert_eq!(changed(), before);
}

/// Two roles with one move each, without an end.
const ENDLESS: &str = "(role a) (role b) (init (n 0)) (succ 0 1) (succ 1 2) (succ 2 0)
    (<= (legal ?r go) (role ?r)) (<= (next (n ?y)) (true (n ?x)) (succ ?x ?y))
    (<= terminal (true (n 3))) (goal a 50) (goal b 50)";

#[test]
fn forced_moves_keep_a_pace_and_can_be_stopped() {
    let tables = tables();
    let endless = Setting {
        source: ENDLESS.into(),
        ..setting("ticTacToe", People::Nth(0))
    };
    let begin = Instant::now();
    let table = tables.open(endless).unwrap();
    let view = wait(&tables, &table, |view| view.moves.len() >= 2);
    let most = 1 + begin.elapsed().as_millis() / super::game::PACE.as_millis();
    assert!(view.moves.len() as u128 <= most, "{}", view.moves.len());
    tables.tell(&table, Command::Pause { on: true }).unwrap();
    let paused = wait(&tables, &table, |view| view.paused);
    std::thread::sleep(QUIET);
    assert_eq!(tables.view(&table).unwrap().moves, paused.moves);
    tables.tell(&table, Command::Pause { on: false }).unwrap();
    wait(&tables, &table, |view| {
        view.moves.len() > paused.moves.len()
    });
}

#[test]
fn a_search_ends_when_somebody_wants_its_result_and_rests_while_paused() {
    let tables = tables();
    let slow = |people| Setting {
        effort: Effort::Time(MAX_TIME),
        ..setting("connectFour", people)
    };
    let table = tables.open(slow(People::Nth(1))).unwrap();
    let thinks = wait(&tables, &table, |view| view.thinks_for.is_some());
    assert!(thinks.thinks_since.is_some());
    tables.tell(&table, Command::Pause { on: true }).unwrap();
    let paused = wait(&tables, &table, |view| {
        view.paused && view.thinks_for.is_none()
    });
    assert!(paused.thinks_since.is_none() && paused.moves.is_empty());
    tables.tell(&table, Command::Now).unwrap();
    let refused = wait(&tables, &table, |view| view.told == 2);
    assert_eq!(refused.problem.as_deref(), Some("Panza is not thinking"));
    tables.tell(&table, Command::Pause { on: false }).unwrap();
    wait(&tables, &table, |view| view.thinks_for.is_some());
    tables.tell(&table, Command::Now).unwrap();
    let moved = wait(&tables, &table, |view| {
        view.moves.len() == 1 && is_asked(view)
    });
    assert_eq!(moved.answer.as_ref().unwrap().turn, 0);
    // A hint has the same second at every level, and ends at a word too.
    let role = moved.roles[1].clone();
    tables.tell(&table, Command::Hint { role }).unwrap();
    tables.tell(&table, Command::Now).unwrap();
    wait(&tables, &table, |view| view.hint.is_some());
}

#[test]
fn a_role_that_a_game_does_not_have_is_refused() {
    let tables = tables();
    for (game, place, reason) in [
        (
            "ticTacToe",
            2,
            "this game has 2 roles, so nobody can play its third role",
        ),
        (
            "threeJugs",
            1,
            "this game has 1 role, so nobody can play its second role",
        ),
    ] {
        let refused = tables.open(setting(game, People::Nth(place)));
        assert_eq!(refused, Err(TableError::TooFewRoles(reason.to_string())));
    }
}

/// Tables without threads that are kept in a folder.
fn without_threads(folder: &std::path::Path) -> Tables {
    let items = [
        "memory.enabled=false".to_string(),
        "logs.match_logs=false".to_string(),
    ];
    let settings = Settings::load(None, &items).unwrap();
    let storage = Box::new(Folder::of_logs(folder));
    let (player, _) = Player::without_threads(&settings, GameBuilders::standard(), None);
    Tables::without_threads(&settings, GameBuilders::standard(), player, storage)
}

/// Works until a view fits.
fn work_until(tables: &Tables, table: &str, fits: impl Fn(&View) -> bool) -> Arc<View> {
    let work = || tables.work(Duration::from_millis(5));
    wait_with(tables, table, fits, || {
        work().min(Duration::from_millis(20))
    })
}

#[test]
fn without_threads_the_host_lets_tables_play_and_study_in_turns() {
    let folder = tempfile::tempdir().unwrap();
    let tables = without_threads(folder.path());
    let played = tables.open(setting("ticTacToe", People::Nth(0))).unwrap();
    let line = marks(&["1 1", "2 2"]);
    let study = Study {
        turn: line.len(),
        line: line.clone(),
        ..Study::default()
    };
    let study = tables.open(studied("ticTacToe", study)).unwrap();
    // Nothing is done by itself.
    assert_eq!(tables.view(&played).unwrap().phase, Phase::Building);
    let mut view = work_until(&tables, &played, is_asked);
    while view.phase == Phase::Playing {
        let turn = view.moves.len();
        tables.tell(&played, first_move(&view)).unwrap();
        view = work_until(&tables, &played, |view| {
            view.phase == Phase::Over || view.moves.len() > turn && is_asked(view)
        });
    }
    assert!(view.goals.is_some(), "{view:?}");
    work_until(&tables, &study, |_| {
        let report = tables.report(&study).unwrap();
        report.is_some_and(|it| it.worth.values.iter().all(Option::is_some))
    });
    tables
        .tell(
            &study,
            Command::Go {
                line: Vec::new(),
                start: None,
            },
        )
        .unwrap();
    work_until(&tables, &study, |view| view.moves.is_empty());
    // The training is a step, after one that shows it.
    let trained = Setting {
        training: Duration::from_millis(50),
        ..setting("ticTacToe", People::Nth(0))
    };
    let trained = tables.open(trained).unwrap();
    work_until(&tables, &trained, |view| view.phase == Phase::Training);
    work_until(&tables, &trained, is_asked);
    assert!(tables.work(Duration::ZERO) <= MAX_IDLE);
    drop(tables);

    let tables = without_threads(folder.path());
    assert_eq!(
        tables.known(&[&study, "0123456789abcdef"]),
        *std::slice::from_ref(&study)
    );
    let view = work_until(&tables, &study, |view| position(view) > 0);
    assert!(view.moves.is_empty());
    tables.tell(&study, Command::Close).unwrap();
    tables.work(Duration::ZERO);
    assert_eq!(tables.shared.n_threads.load(Ordering::Acquire), 0);
}
