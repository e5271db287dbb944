//! Games with boards on which nothing depends, as rulesheets.

/// Tic-tac-toe with so many boards beside it. A mark on any board passes the turn.
pub fn tic_tac_toe(n_dead: usize) -> String {
    let boards: String = (0..=n_dead).map(|n| format!("(board {n})")).collect();
    format!(
        "{TURNS} {boards} (index 1) (index 2) (index 3)
        (<= (init (cell ?b ?m ?n blank)) (board ?b) (index ?m) (index ?n))
        (<= (legal ?r (mark ?b ?m ?n)) (true (control ?r)) (true (cell ?b ?m ?n blank)))
        (<= (next (cell ?b ?m ?n ?r)) (does ?r (mark ?b ?m ?n)))
        (<= (next (cell ?b ?m ?n ?r)) (true (cell ?b ?m ?n ?r)) (distinct ?r blank))
        (<= (next (cell ?b ?m ?n blank)) (true (cell ?b ?m ?n blank)) (does ?r (mark ?c ?k ?l))
            (or (distinct ?b ?c) (distinct ?m ?k) (distinct ?n ?l)))
        (<= (line ?r) (true (cell 0 ?m 1 ?r)) (true (cell 0 ?m 2 ?r)) (true (cell 0 ?m 3 ?r)))
        (<= (line ?r) (true (cell 0 1 ?n ?r)) (true (cell 0 2 ?n ?r)) (true (cell 0 3 ?n ?r)))
        (<= (line ?r) (true (cell 0 1 1 ?r)) (true (cell 0 2 2 ?r)) (true (cell 0 3 3 ?r)))
        (<= (line ?r) (true (cell 0 1 3 ?r)) (true (cell 0 2 2 ?r)) (true (cell 0 3 1 ?r)))
        (<= (won ?r) (role ?r) (line ?r))
        (<= open (true (cell 0 ?m ?n blank)))
        (<= terminal (won ?r)) (<= terminal (not open)) {GOALS}"
    )
}

/// A row of three squares, of which two side by side win, and a row of so many squares on which
/// nothing depends. A mark on either passes the turn.
pub fn rows(n_dead: usize) -> String {
    let squares: String = (0..n_dead).map(|n| format!("(square b {n})")).collect();
    format!(
        "{TURNS} (square a 1) (square a 2) (square a 3) {squares}
        (<= (marked ?b ?x) (true (cell ?b ?x ?r)))
        (<= (legal ?r (mark ?b ?x)) (true (control ?r)) (square ?b ?x) (not (marked ?b ?x)))
        (<= (next (cell ?b ?x ?r)) (does ?r (mark ?b ?x)))
        (<= (next (cell ?b ?x ?r)) (true (cell ?b ?x ?r)))
        (<= (won ?r) (true (cell a 1 ?r)) (true (cell a 2 ?r)))
        (<= (won ?r) (true (cell a 2 ?r)) (true (cell a 3 ?r)))
        (<= terminal (won ?r))
        (<= terminal (marked a 1) (marked a 2) (marked a 3)) {GOALS}"
    )
}

/// Whoever lights the fuse loses, and the only other thing to do is to mark one of so many squares.
pub fn zugzwang(n_squares: usize) -> String {
    let squares: String = (0..n_squares).map(|n| format!("(square {n})")).collect();
    format!(
        "{TURNS} {squares}
        (<= (legal ?r light) (true (control ?r)))
        (<= (legal ?r (mark ?x)) (true (control ?r)) (square ?x) (not (true (marked ?x))))
        (<= (next (marked ?x)) (does ?r (mark ?x))) (<= (next (marked ?x)) (true (marked ?x)))
        (<= (next (lost ?r)) (does ?r light))
        (<= (won ?r) (true (lost ?o)) (role ?r) (distinct ?r ?o))
        (<= terminal (won ?r)) {GOALS}"
    )
}

/// Groups of three lamps and three buttons, of which only group 0 has to be lit. A group may be
/// pressed six times.
pub fn buttons(n_groups: usize) -> String {
    let groups: String = (0..n_groups).map(|n| format!("(group {n})")).collect();
    format!(
        "(role robot) {groups} (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7)
        (button a) (button b) (button c) (<= (init (step ?g 1)) (group ?g))
        (<= (legal robot (press ?b ?g)) (button ?b) (group ?g) (not (true (step ?g 7))))
        (<= (pressed ?g) (does robot (press ?b ?g)))
        (<= (next (step ?g ?n)) (true (step ?g ?m)) (succ ?m ?n) (pressed ?g))
        (<= (next (step ?g ?n)) (true (step ?g ?n)) (not (pressed ?g)))
        (<= (next (p ?g)) (does robot (press a ?g)) (not (true (p ?g))))
        (<= (next (p ?g)) (does robot (press b ?g)) (true (q ?g)))
        (<= (next (p ?g)) (true (p ?g)) (does robot (press c ?g)))
        (<= (next (p ?g)) (true (p ?g)) (not (pressed ?g)))
        (<= (next (q ?g)) (does robot (press b ?g)) (true (p ?g)))
        (<= (next (q ?g)) (does robot (press c ?g)) (true (r ?g)))
        (<= (next (q ?g)) (true (q ?g)) (does robot (press a ?g)))
        (<= (next (q ?g)) (true (q ?g)) (not (pressed ?g)))
        (<= (next (r ?g)) (does robot (press c ?g)) (true (q ?g)))
        (<= (next (r ?g)) (true (r ?g)) (not (does robot (press c ?g))))
        (<= lit (true (p 0)) (true (q 0)) (true (r 0)))
        (<= terminal lit) (<= terminal (true (step 0 7)))
        (<= (goal robot 100) lit) (<= (goal robot 0) (not lit))"
    )
}

const TURNS: &str = "
    (role red) (role blue) (init (control red))
    (<= (next (control red)) (true (control blue)))
    (<= (next (control blue)) (true (control red)))
    (<= (legal ?r wait) (role ?r) (not (true (control ?r))))";

const GOALS: &str = "
    (<= (goal ?r 100) (won ?r))
    (<= (goal ?r 50) (role ?r) (not (won red)) (not (won blue)))
    (<= (goal ?r 0) (role ?r) (won ?o) (distinct ?r ?o))";
