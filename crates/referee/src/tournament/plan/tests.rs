use super::*;

const PLAYERS: &str = "[[players]]\nname = 'a'\nbuiltin = 'legal'\n\
    [[players]]\nname = 'b'\nbuiltin = 'random'\n\
    [[players]]\nname = 'c'\nbuiltin = 'random'\n";

fn plan(head: &str) -> Schedule {
    Schedule::parse(&format!("{head}\n{PLAYERS}"), "t.toml").unwrap()
}

#[test]
fn every_two_players_meet_on_both_sides_round_by_round() {
    let plan =
        plan("games = ['ticTacToe', { game = 'connectFour', games_a_side = 1 }]\ngames_a_side = 2");
    assert_eq!(plan.pairs, [(0, 1), (0, 2), (1, 2)]);
    let fixtures = plan.fixtures();
    let of_round = |round| fixtures.iter().filter(move |f| f.round == round);
    // Three pairs, two sides; the second game has no second round.
    assert_eq!((of_round(0).count(), of_round(1).count()), (12, 6));
    assert!(fixtures.is_sorted_by_key(|fixture| fixture.round));
    assert!(of_round(1).all(|fixture| fixture.event == 0));
    let first: Vec<_> = fixtures[..2].iter().map(|f| plan.seated(f)).collect();
    assert_eq!(first, [[0, 1], [1, 0]]);
}

#[test]
fn players_take_turns_through_more_roles_and_play_alone_in_one() {
    let plan = plan("games = ['ticTacToeThree', 'eightPuzzle']\npairs = [['b', 'a']]");
    let seated: Vec<Vec<usize>> = plan.fixtures().iter().map(|f| plan.seated(f)).collect();
    assert_eq!(seated, [vec![1, 0, 1], vec![0, 1, 0], vec![1], vec![0]]);
    assert_eq!(plan.most_roles(), 3);
}

#[test]
fn each_match_has_a_key_and_a_seed_of_its_own_that_stay() {
    let head = "games = ['ticTacToe', 'connectFour']\ngames_a_side = 3";
    let one = plan(head);
    let fixtures = one.fixtures();
    let keys: std::collections::BTreeSet<Key> = fixtures.iter().map(|f| one.key(f)).collect();
    assert_eq!(keys.len(), fixtures.len());
    let seeds = |plan: &Schedule| -> std::collections::BTreeMap<Key, u64> {
        let fixtures = plan.fixtures();
        fixtures
            .iter()
            .map(|f| (plan.key(f), plan.seed(f)))
            .collect()
    };
    let distinct: std::collections::BTreeSet<u64> = seeds(&one).into_values().collect();
    assert_eq!(distinct.len(), fixtures.len());
    assert!(distinct.iter().all(|&seed| (1..1 << 31).contains(&seed)));
    // Another order of the games changes nothing, another seed changes all.
    let turned = plan("games = ['connectFour', 'ticTacToe']\ngames_a_side = 3");
    assert_eq!(seeds(&turned), seeds(&one));
    let other = seeds(&plan(&format!("{head}\nseed = 2")));
    assert!(seeds(&one).iter().all(|(key, seed)| other[key] != *seed));
}

#[test]
fn rounds_take_the_openings_of_a_game_in_turn() {
    let folder = tempfile::tempdir().unwrap();
    for (name, mv) in [("a.txt", "(mark 1 1)"), ("b.txt", "(mark 2 2)")] {
        std::fs::write(folder.path().join(name), format!("({mv} noop)")).unwrap();
    }
    let plan = plan(&format!(
        "games = [{{ game = 'ticTacToe', openings = '{}' }}, 'hex']\ngames_a_side = 2\n\
         opening_clock = 3\npairs = [['a', 'b']]",
        folder.path().display()
    ));
    let fixtures = plan.fixtures();
    let ours = fixtures.iter().filter(|fixture| fixture.event == 0);
    let openings: Vec<String> = ours
        .clone()
        .map(|fixture| plan.key(fixture).opening)
        .collect();
    let (a, b) = ("a.txt", "b.txt");
    assert_eq!(openings, [a, a, b, b, a, a, b, b]);
    let keys: std::collections::BTreeSet<Key> = ours.clone().map(|it| plan.key(it)).collect();
    assert_eq!(keys.len(), 8);
    let first = ours.clone().next().unwrap();
    assert_eq!(plan.title(first), "ticTacToe from a.txt, a - b");
    assert_eq!(plan.opening(first).unwrap().clock, Some(3));
    assert_eq!(fixtures.len(), 8 + 4);
    assert!(plan.opening(fixtures.last().unwrap()).is_some());
    assert!(plan.opening(&fixtures[2]).is_none());
}
