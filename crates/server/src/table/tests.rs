use super::*;
use crate::games::EMBEDDED;

const PATIENCE: Duration = Duration::from_secs(60);

fn tables() -> Tables {
    let items = ["logs.match_logs=false", "memory.enabled=false"].map(String::from);
    let settings = Settings::load(None, &items).unwrap();
    let builders = GameBuilders::standard();
    let player = Player::new(&settings, builders.clone()).unwrap();
    Tables::new(&settings, builders, player)
}

fn setting(game: &str, people: People) -> Setting {
    let source = EMBEDDED.iter().find(|(name, _)| *name == game).unwrap().1;
    Setting {
        game: game.to_string(),
        source: source.into(),
        board: None,
        training: Duration::ZERO,
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
fn a_person_plays_to_the_end_against_panza() {
    let tables = tables();
    let table = tables.open(setting("ticTacToe", People::First)).unwrap();
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
    let table = tables.open(setting("connectFour", People::First)).unwrap();
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
    let table = tables.open(setting("roshamboTen", People::First)).unwrap();
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
    let source = "(role r) (init (n y)) (init (n z)) (legal r go) (<= terminal (true (n stop)))
        (goal r 50) (<= (next (n (f ?x ?y))) (true (n ?x)) (true (n ?y)))";
    let exploding = || Setting {
        source: source.into(),
        ..setting("ticTacToe", People::First)
    };
    let opened: Vec<String> = (0..MAX_TABLES)
        .map(|_| tables.open(exploding()).unwrap())
        .collect();
    assert_eq!(tables.shared.n_threads.load(Ordering::Acquire), MAX_TABLES);
    for table in &opened {
        tables.close(table);
    }
    // A build that is not stopped takes `BUILD_TIME` for each table.
    let until = Instant::now() + PATIENCE;
    while tables.shared.n_threads.load(Ordering::Acquire) > 0 {
        assert!(Instant::now() < until, "threads of closed tables are left");
        std::thread::sleep(Duration::from_millis(5));
    }
    // The next table plays as ever.
    let table = tables.open(setting("ticTacToe", People::First)).unwrap();
    wait(&tables, &table, is_asked);
}
