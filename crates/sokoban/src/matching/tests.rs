use super::super::board::Board;
use super::super::level::Level;
use super::*;

fn board(rows: &[&str]) -> Board {
    Board::new(&Level::from_rows(rows).unwrap()).unwrap()
}

/// The least cost by trying all ways to give boxes goals.
fn brute_force(distances: &Distances, boxes: &[Square], taken: &mut Vec<bool>) -> Option<u32> {
    let Some((&square, rest)) = boxes.split_first() else {
        return Some(0);
    };
    let mut best = None;
    for goal in 0..taken.len() {
        let pushes = distances.to_goal(goal, square);
        if taken[goal] || pushes == UNREACHABLE {
            continue;
        }
        taken[goal] = true;
        if let Some(others) = brute_force(distances, rest, taken) {
            let cost = others + u32::from(pushes);
            best = Some(best.map_or(cost, |best: u32| best.min(cost)));
        }
        taken[goal] = false;
    }
    best
}

const ROWS: [&str; 9] = [
    "###########",
    "#.   #   .#",
    "#  $ #    #",
    "#   .  $  #",
    "## ### ####",
    "#    @    #",
    "# $    $. #",
    "#.   $    #",
    "###########",
];

#[test]
fn agrees_with_brute_force_after_every_move() {
    let board = board(&ROWS);
    let distances = Distances::new(&board);
    for count in 1..=5 {
        let mut boxes = board.start().boxes[..count].to_vec();
        let mut matching = Matching::new(&distances, &boxes);
        let mut random = 7_u32;
        for _ in 0..400 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let index = (random >> 8) as usize % count;
            let square = ((random >> 16) as usize % board.len()) as Square;
            boxes[index] = square;
            matching.moved(&distances, index, square);
            let mut taken = vec![false; board.goals().len()];
            assert_eq!(matching.cost(), brute_force(&distances, &boxes, &mut taken));
            assert_eq!(
                matching.cost(),
                Matching::new(&distances, &boxes).cost(),
                "{boxes:?}"
            );
        }
    }
}

#[test]
fn has_no_cost_where_two_boxes_share_one_goal() {
    // Both boxes can reach the lower goal only.
    let board = board(&["######", "#.   #", "#    #", "# $$ #", "#@ . #", "######"]);
    let distances = Distances::new(&board);
    let row = board.square_at((4, 2));
    let other = board.square_at((4, 3));
    let matching = Matching::new(&distances, &[row, other]);
    assert_eq!(matching.cost(), None);
    let mut mended = matching.clone();
    mended.moved(&distances, 0, board.square_at((2, 2)));
    assert!(mended.cost().is_some());
    assert_eq!(mended.box_of(mended.goal_of(0)), 0);
}
