//! The cheapest plan over a set of box configurations, by breadth-first search.
//!
//! A state is a configuration and the player's square. Steps and pushes cost one move each, so the
//! states of equal cost form a span: span (pushes, moves) comes by steps from span (pushes, moves - 1)
//! and by pushes from span (pushes - 1, moves - 1). Spans in the order of the measure are an exact
//! search for both of its numbers: rows of equal moves for moves before pushes, and rows of equal
//! pushes for the other.
//!
//! A queued state takes 8 bytes: configuration, player and the last push on its way. Queues are
//! reused from span to span; only the states right after a push are kept, since the steps between
//! pushes can be found again. The representation follows YASO (Brian Damgaard, "YASO - Yet Another
//! Sokoban Optimizer").
//!
//! Invariant: a visited bit is set when a state is queued, and states are queued in the order of cost.

use super::super::board::{Board, Direction, NO_SQUARE, Push, Square};
use super::super::budget::Budget;
use super::super::distances::UNREACHABLE;
use super::Measure;
use super::configurations::{Configurations, LIMIT, bit, bits};
use super::nearby::Nearby;
use super::plan::Cost;

/// Where a search ends.
#[derive(Clone, Debug, Hash)]
pub(super) enum Target {
    /// All boxes on goals, the player anywhere.
    Solved,
    /// These boxes and this player.
    State(Vec<Square>, Square),
}

/// Which configurations a search may enter.
#[derive(Debug)]
pub(super) enum Admitted<'a> {
    Nearby(Nearby<'a>),
    /// All in which these boxes stay where they are.
    Fixed(Vec<Square>),
}

/// What is searched.
#[derive(Clone, Debug)]
pub(super) struct Query<'a> {
    pub(super) board: &'a Board,
    pub(super) measure: Measure,
    pub(super) boxes: Vec<Square>,
    pub(super) player: Square,
    pub(super) target: Target,
    /// A plan that costs more is not wanted.
    pub(super) bound: Cost,
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The cheapest plan over the admitted configurations.
    Plan(Vec<Push>),
    /// Proven: no plan within the bound.
    Nothing,
    /// Time or memory ended first.
    Spent,
}

/// A queued state: configuration in the upper 26 bits, player in 12, and in the lower 26 the number
/// of the last state right after a push.
#[derive(Clone, Copy, Debug)]
struct State(u64);

impl State {
    #[inline]
    fn new(configuration: usize, player: Square, push: usize) -> Self {
        Self((configuration as u64) << 38 | u64::from(player) << 26 | push as u64)
    }

    #[inline]
    fn configuration(self) -> usize {
        (self.0 >> 38) as usize
    }

    #[inline]
    fn player(self) -> Square {
        (self.0 >> 26) as Square & 0xfff
    }

    #[inline]
    fn push(self) -> usize {
        self.0 as usize & (LIMIT - 1)
    }

    #[inline]
    fn with_player(self, player: Square) -> Self {
        Self(self.0 & !(0xfff << 26) | u64::from(player) << 26)
    }
}

/// A queue of states in spans. Each span has a number, of pushes or of moves, and its end.
#[derive(Debug, Default)]
struct Spans {
    states: Vec<State>,
    ends: Vec<(u32, usize)>,
}

impl Spans {
    fn clear(&mut self) {
        self.states.clear();
        self.ends.clear();
    }

    /// Ends a span unless it is empty.
    fn end(&mut self, number: u32) {
        let start = self.ends.last().map_or(0, |&(_, end)| end);
        if self.states.len() > start {
            self.ends.push((number, self.states.len()));
        }
    }

    fn bytes(&self) -> usize {
        self.states.capacity() * 8
    }
}

/// Why spans are no longer extended.
enum Stop {
    /// The target, with the number of the last push.
    Target(usize),
    Spent,
}

/// What is known of a configuration beside its boxes.
#[derive(Clone, Copy, Debug)]
struct Note {
    /// At least so many pushes lead to the target.
    pushes: u32,
    /// Index on the way of a configuration near this one.
    near: u32,
}

struct Search<'a, 'q> {
    query: &'q Query<'a>,
    budget: &'q Budget,
    admitted: &'q Admitted<'a>,
    configurations: Configurations,
    /// One for each configuration.
    notes: Vec<Note>,
    words: usize,
    /// Boxes that stay.
    fixed: Vec<u64>,
    /// Goals, or the boxes of the target.
    goals: Vec<u64>,
    /// The least number of pushes that take a lone box from a square to one of `goals`.
    pushes: Vec<u16>,
    /// Configuration and player of the target, unless any solved state is one.
    end: Option<(usize, Square)>,
    /// States right after a push; each names the one before. The first is the start.
    kept: Vec<State>,
    states: u64,
    boxes: Vec<u64>,
}

/// Searches for the cheapest plan. Also returns the number of states entered.
pub(super) fn search(query: &Query, admitted: &Admitted, budget: &Budget) -> (Found, u64) {
    let fixed: &[Square] = match admitted {
        Admitted::Nearby(_) => &[],
        Admitted::Fixed(fixed) => fixed,
    };
    let goals = match &query.target {
        Target::Solved => query.board.goals(),
        Target::State(boxes, _) => boxes,
    };
    let mut search = Search {
        query,
        budget,
        admitted,
        configurations: Configurations::new(query.board),
        notes: Vec::new(),
        words: super::configurations::words(query.board),
        fixed: bits(query.board, fixed),
        goals: bits(query.board, goals),
        pushes: pushes_to(query.board, goals),
        end: None,
        kept: Vec::new(),
        states: 0,
        boxes: Vec::new(),
    };
    let found = search.run();
    (found, search.states)
}

/// The least number of pushes that take a lone box from each square to one of some squares, wherever
/// the player is.
fn pushes_to(board: &Board, squares: &[Square]) -> Vec<u16> {
    let mut pushes = vec![UNREACHABLE; board.len()];
    let mut queue = squares.to_vec();
    for &square in squares {
        pushes[square as usize] = 0;
    }
    let mut next = 0;
    while let Some(&square) = queue.get(next) {
        next += 1;
        for direction in Direction::ALL {
            let from = board.next(square, direction);
            if from != NO_SQUARE
                && board.next(from, direction) != NO_SQUARE
                && pushes[from as usize] == UNREACHABLE
            {
                pushes[from as usize] = pushes[square as usize] + 1;
                queue.push(from);
            }
        }
    }
    pushes
}

impl Search<'_, '_> {
    fn run(&mut self) -> Found {
        let start = bits(self.query.board, &self.query.boxes);
        let pushes = (self.query.boxes.iter())
            .map(|&square| u32::from(self.pushes[square as usize]))
            .sum();
        let note = |pushes| Note { pushes, near: 0 };
        let Some(number) = self.add(&start, note(pushes)) else {
            return Found::Nothing;
        };
        if let Target::State(_, player) = self.query.target {
            let goals = self.goals.clone();
            match self.add(&goals, note(0)) {
                Some(number) => self.end = Some((number, player)),
                None => return Found::Nothing,
            }
        }
        let player = self.query.player;
        if self.is_end(number, player) {
            return Found::Plan(Vec::new());
        }
        self.visit(number, player);
        let state = State::new(number, player, 0);
        self.kept.push(state);
        let stop = match self.query.measure {
            Measure::MovesPushes => self.rows_of_moves(state),
            Measure::PushesMoves => self.rows_of_pushes(state),
        };
        match stop {
            Ok(()) => Found::Nothing,
            Err(Stop::Spent) => Found::Spent,
            Err(Stop::Target(push)) => Found::Plan(self.pushes_up_to(push)),
        }
    }

    /// Adds a configuration unless it is known. Nothing if there are too many.
    fn add(&mut self, boxes: &[u64], note: Note) -> Option<usize> {
        let number = self.configurations.insert(boxes)?;
        if number == self.notes.len() {
            self.notes.push(note);
        }
        Some(number)
    }

    /// The number of a configuration that may be entered; `note` has the hint of the one before.
    fn admit(&mut self, boxes: &[u64], mut note: Note) -> Result<Option<usize>, Stop> {
        if let Some(number) = self.configurations.find(boxes) {
            return Ok(Some(number));
        }
        if let Admitted::Nearby(nearby) = self.admitted {
            match nearby.find(boxes, note.near as usize) {
                Some(near) => note.near = near as u32,
                None => return Ok(None),
            }
        }
        self.add(boxes, note).map(Some).ok_or(Stop::Spent)
    }

    /// Marks a state; whether it was new.
    #[inline]
    fn visit(&mut self, number: usize, player: Square) -> bool {
        let (word, bit) = bit(player);
        let visited = &mut self.configurations.record_mut(number)[self.words + word];
        let is_new = *visited & bit == 0;
        *visited |= bit;
        is_new
    }

    #[inline]
    fn is_end(&self, number: usize, player: Square) -> bool {
        match self.end {
            Some(end) => end == (number, player),
            None => self.configurations.record(number)[..self.words] == self.goals[..],
        }
    }

    /// All spans, ordered by moves and then pushes.
    fn rows_of_moves(&mut self, start: State) -> Result<(), Stop> {
        let mut row = Spans::default();
        let mut next = Spans::default();
        let mut beside = Vec::new();
        row.states.push(start);
        row.end(0);
        let mut moves = 0;
        while !row.states.is_empty() && moves < self.query.bound.moves {
            moves += 1;
            next.clear();
            let mut first = 0;
            for (index, &(pushes, end)) in row.ends.iter().enumerate() {
                self.step(&row.states[first..end], &mut next.states, &mut beside)?;
                next.end(pushes);
                let cost = Cost {
                    moves,
                    pushes: pushes + 1,
                };
                self.push(&beside, cost, &mut next.states)?;
                beside.clear();
                // Steps of the next span may have the same cost; they end the span then.
                if row
                    .ends
                    .get(index + 1)
                    .is_none_or(|&(other, _)| other > pushes + 1)
                {
                    next.end(pushes + 1);
                }
                first = end;
                self.check(row.bytes() + next.bytes())?;
            }
            std::mem::swap(&mut row, &mut next);
        }
        Ok(())
    }

    /// All spans, ordered by pushes and then moves.
    fn rows_of_pushes(&mut self, start: State) -> Result<(), Stop> {
        // States beside a box, by moves: of the row before and of this one.
        let mut before = Spans::default();
        let mut beside = Spans::default();
        let mut span = vec![start];
        let mut next = Vec::new();
        for pushes in 0..=self.query.bound.pushes {
            let (mut index, mut first, mut moves) = (0, 0, 0);
            loop {
                if span.is_empty() {
                    match before.ends.get(index) {
                        Some(&(number, _)) => moves = number + 1,
                        None => break,
                    }
                }
                if let Some(&(number, end)) = before.ends.get(index)
                    && number + 1 == moves
                {
                    let cost = Cost { moves, pushes };
                    self.push(&before.states[first..end], cost, &mut span)?;
                    (index, first) = (index + 1, end);
                }
                if pushes == self.query.bound.pushes && moves >= self.query.bound.moves {
                    return Ok(());
                }
                next.clear();
                self.step(&span, &mut next, &mut beside.states)?;
                beside.end(moves);
                std::mem::swap(&mut span, &mut next);
                moves += 1;
                self.check(before.bytes() + beside.bytes() + span.capacity() * 16)?;
            }
            std::mem::swap(&mut before, &mut beside);
            beside.clear();
        }
        Ok(())
    }

    /// Appends the states that are one step away, and to `beside` those from which a push may lead
    /// on.
    fn step(
        &mut self,
        span: &[State],
        next: &mut Vec<State>,
        beside: &mut Vec<State>,
    ) -> Result<(), Stop> {
        self.states += span.len() as u64;
        let words = self.words;
        for &state in span {
            let number = state.configuration();
            let record = self.configurations.record_mut(number);
            let mut is_beside = false;
            for direction in Direction::ALL {
                let to = self.query.board.next(state.player(), direction);
                if to == NO_SQUARE {
                    continue;
                }
                let (word, mark) = bit(to);
                if record[word] & mark != 0 {
                    let ahead = self.query.board.next(to, direction);
                    if ahead != NO_SQUARE {
                        let (word, mark) = bit(ahead);
                        is_beside |= record[word] & mark == 0;
                    }
                } else if record[words + word] & mark == 0 {
                    record[words + word] |= mark;
                    next.push(state.with_player(to));
                    if self.end == Some((number, to)) {
                        return Err(Stop::Target(state.push()));
                    }
                }
            }
            if is_beside {
                beside.push(state);
            }
        }
        Ok(())
    }

    /// Appends the states that are one push away; `cost` is theirs.
    fn push(&mut self, span: &[State], cost: Cost, next: &mut Vec<State>) -> Result<(), Stop> {
        let mut boxes = std::mem::take(&mut self.boxes);
        for &state in span {
            for direction in Direction::ALL {
                let square = self.query.board.next(state.player(), direction);
                if square == NO_SQUARE {
                    continue;
                }
                let ahead = self.query.board.next(square, direction);
                if ahead == NO_SQUARE || self.pushes[ahead as usize] == UNREACHABLE {
                    continue;
                }
                let ((word, mark), (word_ahead, mark_ahead)) = (bit(square), bit(ahead));
                let record = &self.configurations.record(state.configuration())[..self.words];
                if record[word] & mark == 0
                    || record[word_ahead] & mark_ahead != 0
                    || self.fixed[word] & mark != 0
                {
                    continue;
                }
                let mut note = self.notes[state.configuration()];
                note.pushes += u32::from(self.pushes[ahead as usize]);
                note.pushes -= u32::from(self.pushes[square as usize]);
                if self.is_too_far(note, cost) {
                    continue;
                }
                boxes.clear();
                boxes.extend_from_slice(record);
                boxes[word] ^= mark;
                boxes[word_ahead] ^= mark_ahead;
                let Some(number) = self.admit(&boxes, note)? else {
                    continue;
                };
                if self.visit(number, square) {
                    let push = self.kept.len();
                    if push >= LIMIT {
                        return Err(Stop::Spent);
                    }
                    self.kept.push(State::new(number, square, state.push()));
                    next.push(State::new(number, square, push));
                    if self.is_end(number, square) {
                        return Err(Stop::Target(push));
                    }
                }
            }
        }
        self.boxes = boxes;
        Ok(())
    }

    /// Whether a lower bound says that no plan within the bound leads on from a configuration.
    fn is_too_far(&self, note: Note, cost: Cost) -> bool {
        match self.query.measure {
            Measure::MovesPushes => cost.moves + note.pushes > self.query.bound.moves,
            Measure::PushesMoves => cost.pushes + note.pushes > self.query.bound.pushes,
        }
    }

    fn check(&self, queues: usize) -> Result<(), Stop> {
        // A growing list of kept states is copied once more.
        let lists = self.kept.capacity() * 12 + self.notes.capacity() * 12;
        let bytes = queues + lists + self.configurations.bytes();
        if bytes > self.budget.memory || self.budget.is_spent(self.states) {
            return Err(Stop::Spent);
        }
        Ok(())
    }

    /// The pushes on the way to a kept state.
    fn pushes_up_to(&self, mut number: usize) -> Vec<Push> {
        let mut pushes = Vec::new();
        while number != 0 {
            let state = self.kept[number];
            let before = self.kept[state.push()];
            let boxes = self.configurations.record(state.configuration());
            let others = self.configurations.record(before.configuration());
            let square = state.player();
            let direction = Direction::ALL.into_iter().find(|&direction| {
                let ahead = self.query.board.next(square, direction);
                ahead != NO_SQUARE && {
                    let (word, mark) = bit(ahead);
                    boxes[word] & !others[word] & mark != 0
                }
            });
            if let Some(direction) = direction {
                pushes.push(Push { square, direction });
            }
            number = state.push();
        }
        pushes.reverse();
        pushes
    }
}
