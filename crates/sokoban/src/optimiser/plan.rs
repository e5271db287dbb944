//! A plan with its cost, and the board with boxes on which plans are replayed.
//!
//! Between two pushes the player takes a shortest path, and of these one with the fewest lines, so
//! that the pushes alone determine all metrics. The metrics of a plan are the sum of those of its
//! pushes, each with the walk to it: what a push adds depends on the push before it and on where
//! the boxes stand.
//!
//! Invariants: moves count steps and pushes; a [`PushPlan`] was replayed and solves its board.

use super::super::board::{Board, NO_SQUARE, Push, Square};
use super::super::solution::Metrics;
use super::super::walk::Walks;
use super::Measure;
use super::configurations::squares;

/// What a plan or a part of one costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Steps and pushes.
    pub moves: u32,
    /// Pushes alone.
    pub pushes: u32,
}

impl Cost {
    /// The numbers in the order in which a measure compares them.
    pub fn key(self, measure: Measure) -> (u32, u32) {
        match measure {
            Measure::MovesPushes => (self.moves, self.pushes),
            Measure::PushesMoves => (self.pushes, self.moves),
        }
    }
}

/// A board with boxes. Boxes move by [`push`](Self::push) and [`undo`](Self::undo).
#[derive(Clone, Debug)]
pub(super) struct StepField<'a> {
    board: &'a Board,
    occupied: Vec<bool>,
    /// `distance[square]` holds if `round[square]` is the current round.
    distance: Vec<u16>,
    round: Vec<u32>,
    rounds: u32,
    queue: Vec<Square>,
}

impl<'a> StepField<'a> {
    pub(super) fn new(board: &'a Board, boxes: &[Square]) -> Self {
        let mut occupied = vec![false; board.len()];
        for &square in boxes {
            occupied[square as usize] = true;
        }
        Self {
            board,
            occupied,
            distance: vec![0; board.len()],
            round: vec![0; board.len()],
            rounds: 0,
            queue: Vec::with_capacity(board.len()),
        }
    }

    /// Replaces all boxes, given as one bit each.
    pub(super) fn set(&mut self, boxes: &[u64]) {
        self.occupied.fill(false);
        for square in squares(boxes) {
            self.occupied[square as usize] = true;
        }
    }

    pub(super) fn is_box(&self, square: Square) -> bool {
        self.occupied[square as usize]
    }

    /// All boxes, sorted.
    pub(super) fn boxes(&self) -> Vec<Square> {
        let is_box = |&square: &Square| self.is_box(square);
        self.board.squares().filter(is_box).collect()
    }

    /// The number of steps from one square to another, or nothing if boxes block every way.
    pub(super) fn walk(&mut self, from: Square, to: Square) -> Option<u32> {
        if from == to {
            return Some(0);
        }
        self.start(from);
        let mut next = 0;
        while let Some(&square) = self.queue.get(next) {
            next += 1;
            let distance = self.distance[square as usize] + 1;
            for &neighbour in self.board.neighbours(square) {
                if neighbour == to && !self.occupied[to as usize] {
                    return Some(u32::from(distance));
                }
                self.reach(neighbour, distance);
            }
        }
        None
    }

    /// Measures the steps from one square to all others, for [`steps`](Self::steps).
    pub(super) fn walk_everywhere(&mut self, from: Square) {
        self.start(from);
        let mut next = 0;
        while let Some(&square) = self.queue.get(next) {
            next += 1;
            let distance = self.distance[square as usize] + 1;
            for &neighbour in self.board.neighbours(square) {
                self.reach(neighbour, distance);
            }
        }
    }

    /// The steps to a square since the last [`walk_everywhere`](Self::walk_everywhere).
    pub(super) fn steps(&self, to: Square) -> Option<u32> {
        (self.round[to as usize] == self.rounds).then(|| u32::from(self.distance[to as usize]))
    }

    fn start(&mut self, from: Square) {
        self.rounds += 1;
        self.queue.clear();
        self.queue.push(from);
        self.round[from as usize] = self.rounds;
        self.distance[from as usize] = 0;
    }

    #[inline]
    fn reach(&mut self, square: Square, distance: u16) {
        if square != NO_SQUARE
            && self.round[square as usize] != self.rounds
            && !self.occupied[square as usize]
        {
            self.round[square as usize] = self.rounds;
            self.distance[square as usize] = distance;
            self.queue.push(square);
        }
    }

    /// Measures the walks after a push, or from the start, as [`Walks::measure`].
    pub(super) fn measure(&self, walks: &mut Walks, last: Option<Push>, end: Option<Square>) {
        let from = last.map_or(self.board.start().player, |last| last.square);
        let direction = last.map(|last| last.direction);
        walks.measure(
            self.board,
            |square| self.is_box(square),
            from,
            direction,
            end,
        );
    }

    /// Where the player stands before a push.
    pub(super) fn stand(&self, push: Push) -> Square {
        self.board.next(push.square, push.direction.opposite())
    }

    /// Whether a push is possible once the player stands behind the box.
    pub(super) fn is_free(&self, push: Push) -> bool {
        let ahead = self.board.next(push.square, push.direction);
        self.is_box(push.square)
            && self.stand(push) != NO_SQUARE
            && ahead != NO_SQUARE
            && !self.is_box(ahead)
    }

    /// Makes a push and returns its moves, or changes nothing if the push is impossible.
    pub(super) fn push(&mut self, player: Square, push: Push) -> Option<u32> {
        if !self.is_free(push) {
            return None;
        }
        let steps = self.walk(player, self.stand(push))?;
        self.place(push);
        Some(steps + 1)
    }

    /// Makes a push that is known to be possible.
    pub(super) fn place(&mut self, push: Push) {
        self.occupied[push.square as usize] = false;
        self.occupied[self.board.next(push.square, push.direction) as usize] = true;
    }

    /// Takes back the last push.
    pub(super) fn undo(&mut self, push: Push) {
        self.occupied[self.board.next(push.square, push.direction) as usize] = false;
        self.occupied[push.square as usize] = true;
    }
}

/// What a push adds to the metrics if `walks` were measured after the push `last`. Nothing if the
/// player cannot get behind the box.
pub(super) fn added(
    board: &Board,
    walks: &Walks,
    last: Option<Push>,
    push: Push,
) -> Option<Metrics> {
    let stand = board.next(push.square, push.direction.opposite());
    let steps = walks.steps(stand)? as usize;
    let link = link(board, last, push, steps > 0);
    Some(Metrics {
        moves: steps + 1,
        pushes: 1,
        player_lines: walks.lines(stand, push.direction) as usize,
        ..link
    })
}

/// The box line, box change and pushing session that a push begins after another, with a walk
/// between them or without.
pub(super) fn link(board: &Board, last: Option<Push>, push: Push, has_walk: bool) -> Metrics {
    let is_same = last.is_some_and(|last| board.next(last.square, last.direction) == push.square);
    let begins_session = has_walk || last.is_none();
    Metrics {
        box_lines: usize::from(!is_same || begins_session),
        box_changes: usize::from(!is_same),
        pushing_sessions: usize::from(begins_session),
        ..Metrics::default()
    }
}

/// A solution with the moves up to each push.
#[derive(Clone, Debug)]
pub(super) struct PushPlan {
    pushes: Vec<Push>,
    /// `before[n]` are the moves made when the player stands behind the box of push `n`. The last
    /// entry are all moves.
    before: Vec<u32>,
    /// The metrics of the pushes before each push; the last entry are those of all.
    sums: Vec<Metrics>,
}

impl PushPlan {
    /// Replays pushes from the start up to a solved position. Nothing if one is impossible or the
    /// last leaves the board unsolved.
    pub(super) fn new(board: &Board, mut pushes: Vec<Push>) -> Option<Self> {
        let mut field = StepField::new(board, &board.start().boxes);
        let mut walks = Walks::new(board);
        let mut before = Vec::with_capacity(pushes.len() + 1);
        let mut sums = Vec::with_capacity(pushes.len() + 1);
        let mut sum = Metrics::default();
        let mut last = None;
        let is_off = |square: Square| usize::from(!board.is_goal(square));
        let mut off_goals: usize = board
            .start()
            .boxes
            .iter()
            .map(|&square| is_off(square))
            .sum();
        for &push in &pushes {
            if !field.is_free(push) {
                return None;
            }
            sums.push(sum);
            field.measure(&mut walks, last, Some(field.stand(push)));
            sum = sum + added(board, &walks, last, push)?;
            before.push(sum.moves as u32 - 1);
            field.place(push);
            last = Some(push);
            off_goals += is_off(board.next(push.square, push.direction));
            off_goals -= is_off(push.square);
            if off_goals == 0 {
                break;
            }
        }
        pushes.truncate(before.len());
        before.push(sum.moves as u32);
        sums.push(sum);
        let plan = Self {
            pushes,
            before,
            sums,
        };
        (off_goals == 0).then_some(plan)
    }

    /// All metrics of the plan, or of its first pushes.
    pub(super) fn metrics(&self, pushes: usize) -> Metrics {
        self.sums[pushes]
    }

    pub(super) fn pushes(&self) -> &[Push] {
        &self.pushes
    }

    pub(super) fn cost(&self) -> Cost {
        self.part(0, self.pushes.len())
    }

    /// The cost from before push `start`, the player behind its box, to before push `end`. From 0
    /// the first walk counts.
    pub(super) fn part(&self, start: usize, end: usize) -> Cost {
        let from = if start == 0 { 0 } else { self.before[start] };
        Cost {
            moves: self.before[end] - from,
            pushes: (end - start) as u32,
        }
    }

    /// The moves made right after push `index - 1`; 0 at the start.
    pub(super) fn moves_after(&self, index: usize) -> u32 {
        match index {
            0 => 0,
            _ if index == self.pushes.len() => self.before[index],
            _ => self.before[index - 1] + 1,
        }
    }

    /// The moves made before push `index`, its walk included.
    pub(super) fn moves_before(&self, index: usize) -> u32 {
        self.before[index]
    }

    /// Where the player stands right after push `index - 1`.
    pub(super) fn player(&self, board: &Board, index: usize) -> Square {
        match index {
            0 => board.start().player,
            _ => self.pushes[index - 1].square,
        }
    }

    /// The first pushes of all sessions and the number of pushes. A session is a run of pushes of
    /// one box.
    pub(super) fn sessions(&self, board: &Board) -> Vec<usize> {
        let mut starts = vec![0];
        for index in 1..self.pushes.len() {
            let last = self.pushes[index - 1];
            if board.next(last.square, last.direction) != self.pushes[index].square {
                starts.push(index);
            }
        }
        starts.push(self.pushes.len());
        starts
    }
}
