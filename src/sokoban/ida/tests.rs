use super::super::level::Level;
use super::*;

fn board(rows: &[&str]) -> Board {
    Board::new(&Level::from_rows(rows).unwrap()).unwrap()
}

const SMALL: [&str; 6] = [
    "########", "#  .   #", "# $ $  #", "# #.#$ #", "#@   . #", "########",
];

#[test]
fn every_rung_solves_a_small_level() {
    let board = board(&SMALL);
    for (name, parts) in Parts::LADDER {
        let outcome = solve(&board, &parts, 1, &Budget::default());
        assert!(matches!(outcome.verdict, Verdict::Solved(_)), "{name}");
    }
}
