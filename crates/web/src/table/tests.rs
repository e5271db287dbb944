use super::effects::Effect;
use super::host::Spent;
use super::*;
use crate::build_memory::{PROVER_BYTES, TABLE_BYTES};
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
        board: None,
        training: Duration::ZERO,
        study: None,
        people,
        effort: Effort::Iterations(200),
    }
}

/// The first view that fits.
fn wait(tables: &Tables, table: &str, fits: impl Fn(&View) -> bool) -> Arc<View> {
    let until = Instant::now() + PATIENCE;
    loop {
        let view = tables.view(table).expect("the table is there");
        if fits(&view) {
            return view;
        }
        assert!(Instant::now() < until, "{view:?}");
        std::thread::sleep(Duration::from_millis(5));
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
        ..setting("ticTacToe", People::Nth(5))
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
    assert!(tables.view(&table).is_none());
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
    assert!(tables.view(&names[0]).is_none());
    assert!(names[1..].iter().all(|name| tables.view(name).is_some()));
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

#[test]
fn one_table_builds_at_a_time_and_a_closed_one_stops_or_never_begins() {
    let (begun, builds) = bounded(10);
    let endless = move |_: &Rules, budget: Budget<'_>| {
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
    let prover = move |rules: &Rules, budget: Budget<'_>| {
        let stop = budget.stop.cloned().unwrap();
        begun.send((budget.max_bytes, stop)).unwrap();
        panza_game::prover(rules)
    };
    let tables = tables_with(GameBuilders {
        main: Arc::new(|_: &Rules, _: Budget<'_>| Err("too large".into())),
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
        let report = tables.report(table);
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
    tables
        .tell(
            &table,
            Command::Go {
                line: branch.clone(),
            },
        )
        .unwrap();
    let view = wait(&tables, &table, |view| view.moves == branch);
    let report = wait_report(&tables, &table, |report| {
        report.position == position(&view) && !report.line.is_empty()
    });
    assert_eq!(report.role.as_deref(), Some("oplayer"));
    let sum: f64 = report.worth.values.iter().flatten().sum();
    assert!((sum - 100.0).abs() < 0.1, "{report:?}");

    // A line is followed as far as it is legal.
    let wrong = marks(&["1 1", "2 2", "1 1"]);
    tables.tell(&table, Command::Go { line: wrong }).unwrap();
    let view = wait(&tables, &table, |view| view.problem.is_some());
    assert_eq!(view.moves, marks(&["1 1", "2 2"]));
    let problem = view.problem.as_ref().unwrap();
    assert!(
        problem.contains("turn 3: (mark 1 1) is not legal for xplayer"),
        "{problem}"
    );

    // The end of the game.
    tables
        .tell(&table, Command::Go { line: line.clone() })
        .unwrap();
    let end = wait(&tables, &table, |view| view.phase == Phase::Over);
    assert_eq!(end.goals, Some(vec![Some(100), Some(0)]));
    let report = wait_report(&tables, &table, |report| report.state == Thinking::Over);
    assert_eq!(report.worth.proven, [Some(100), Some(0)]);
    let beyond = marks(&["1 1", "2 2", "1 2", "3 3", "1 3", "2 1"]);
    tables.tell(&table, Command::Go { line: beyond }).unwrap();
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
        seconds: 0.2,
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
    let [blunder] = &review.blunders[..] else {
        panic!("{review:?}");
    };
    assert_eq!((blunder.turn, blunder.role.as_str()), (3, "oplayer"));
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
        seconds: f64::NAN,
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
    let first = vec![vec![plan.moves[0].clone()]];
    tables.tell(&table, Command::Go { line: first }).unwrap();
    let view = wait(&tables, &table, |view| view.moves.len() == 1);
    let next = wait_report(&tables, &table, |report| {
        report.position == position(&view) && report.plan.as_ref().is_some_and(|it| it.is_best)
    });
    assert_eq!(next.plan.as_ref().unwrap().goal, Some(100));
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
    assert!(tables.view(&names[0]).is_none());
    assert!(names[1..].iter().all(|name| tables.view(name).is_some()));
    assert!(tables.view(&played).is_some());
    assert!(tables.to_study("x").is_none() && tables.report("x").is_none());
    assert!(tables.report_versions("x").is_none());
}

/// Tic-tac-toe, and a study of it as a match leaves it.
fn studied_for_alpha_beta() -> (Rules, BuiltGame, metagame::Study) {
    let rules = panza_gdl::load(panza_gdl_games::rulesheet("ticTacToe").unwrap()).0;
    let game = panza_game::build(&rules, Budget::generous()).unwrap();
    let settings = Settings::load(None, &[]).unwrap();
    let config = panza_player::search_config(&settings.search, 1);
    let time = Duration::from_secs(3);
    let budget = metagame::StudyBudget::from_now(&settings.metagame, time, &Arc::default());
    let study = metagame::study(&game, None, &config, &budget);
    assert!(study.depth.is_some(), "{study:?}");
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
        assert_eq!(report.depth.is_some(), expected == "alpha-beta");
        if expected == "tree" {
            assert!(report.lines.is_empty() && report.selective_depth.is_none());
            continue;
        }
        // The move that does not lose, with its line and others.
        let deep = wait_report(&tables, &table, |report| report.depth >= Some(6));
        assert_eq!(deep.moves[0].text, "(mark 1 3)");
        assert_eq!(deep.lines.len(), 3);
        assert_eq!(
            (&deep.lines[0].text, &deep.lines[0].line),
            (&deep.moves[0].text, &deep.line)
        );
        assert!(deep.nodes > 0 && deep.selective_depth > Some(0));
        // The last position is a win that is proven.
        tables
            .tell(&table, Command::Go { line: line.clone() })
            .unwrap();
        let won = wait_report(&tables, &table, |report| report.state == Thinking::Proven);
        assert_eq!(won.worth.proven, [Some(100), Some(0)]);
        assert_eq!(
            (&won.moves[0].text[..], won.moves[0].proven),
            ("(mark 1 3)", Some(100))
        );
    }
}
