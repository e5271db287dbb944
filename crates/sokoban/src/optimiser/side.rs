//! One side of a search: states in the order of their cost.
//!
//! A state is a configuration and the player's square. Steps and pushes cost one move each, so the
//! states of equal cost form a span: the span of `p` pushes and `m` moves comes by steps from that
//! of `p` and `m - 1`, and by pushes from that of `p - 1` and `m - 1`. The spans of a row, of equal
//! moves or of equal pushes, follow each other in the order of the other number. On the backward
//! side, pulls take the place of pushes.
//!
//! A queued state takes 8 bytes: configuration, player and the last push on its way. Queues are
//! reused from row to row; only the states right after a push are kept, since the steps between
//! pushes can be found again. The representation follows YASO (Brian Damgaard, "YASO - Yet Another
//! Sokoban Optimizer").
//!
//! Invariant: a visited bit is set when a state is queued, and states are queued in the order of
//! cost.

mod meeting;

use super::super::board::{Board, Direction, NO_SQUARE, Square};
use super::super::distances::UNREACHABLE;
use super::super::field::Play;
use super::Measure;
use super::configurations::{Configurations, LIMIT, bit, bits, words};
use super::plan::Cost;
use super::query::{Admitted, Query};
use super::states::{Spans, State};
use panza_sync::Budget;

/// The work to look up a configuration, in steps of the player.
const WORK_OF_LOOKUP: usize = 8;

/// The work to test whether a new configuration is admitted, in steps of the player.
const WORK_OF_TEST: usize = 16;

/// Time or memory has ended.
#[derive(Debug)]
pub(super) struct Spent;

/// What is known of a configuration beside its boxes.
#[derive(Clone, Copy, Debug)]
struct Note {
    /// A lower bound on the number of pushes to the end of the search.
    pushes: u32,
    /// Index on the way of a configuration near this one.
    near: u32,
}

pub(super) struct Side<'q> {
    query: &'q Query<'q>,
    admitted: &'q Admitted<'q>,
    limits: Budget,
    is_forward: bool,
    configurations: Configurations,
    /// One for each configuration.
    notes: Vec<Note>,
    words: usize,
    /// Boxes that stay.
    fixed: Vec<u64>,
    /// The least number of pushes for a lone box between a square and the other end of the search.
    pushes: Vec<u16>,
    /// States right after a push; each names the one before. The first is the start.
    kept: Vec<State>,
    rows: u32,
    /// The last row: all states in spans of equal pushes; or, if pushes come first, those beside a
    /// box in spans of equal moves.
    row: Spans,
    /// The rows of this round before the last, and first the last row of the round before.
    earlier: Vec<Spans>,
    /// If pushes come first: for each row of this round the states right after its pushes.
    pushed: Vec<Spans>,
    /// Spans to use again.
    unused: Vec<Spans>,
    /// A measure of the time that the last row took.
    work: usize,
    /// New states whose configuration the other side knows.
    common: Vec<State>,
    /// How many configurations were looked up on the other side.
    linked: usize,
    states: u64,
    /// Room for one configuration.
    boxes: Vec<u64>,
}

/// Where one side of the search starts, and where it goes.
pub(super) struct SideTask<'a> {
    pub boxes: &'a [Square],
    /// The player starts on one of these.
    pub players: &'a [Square],
    /// The squares of the boxes at the end.
    pub ends: &'a [Square],
}

impl<'q> Side<'q> {
    /// Moves boxes by pushes or pulls.
    pub(super) fn new(
        query: &'q Query<'q>,
        admitted: &'q Admitted<'q>,
        limits: &Budget,
        task: &SideTask<'_>,
        play: Play,
    ) -> Result<Self, Spent> {
        let board = query.board;
        let fixed: &[Square] = match admitted {
            Admitted::Nearby(_) => &[],
            Admitted::Fixed(fixed) => fixed,
        };
        let is_forward = play == Play::Push;
        let pushes = lone_pushes(board, task.ends, is_forward);
        let note = Note {
            pushes: task
                .boxes
                .iter()
                .map(|&square| u32::from(pushes[square as usize]))
                .sum(),
            near: 0,
        };
        let mut side = Self {
            query,
            admitted,
            limits: limits.clone(),
            is_forward,
            configurations: Configurations::new(board),
            notes: Vec::new(),
            words: words(board),
            fixed: bits(board, fixed),
            pushes,
            kept: vec![State::new(0, 0, 0)],
            rows: 0,
            row: Spans::default(),
            earlier: Vec::new(),
            pushed: Vec::new(),
            unused: Vec::new(),
            work: 0,
            common: Vec::new(),
            linked: 0,
            states: 0,
            boxes: Vec::new(),
        };
        side.add(&bits(board, task.boxes), note)?;
        let mut start = Vec::new();
        for &player in task.players {
            side.visit(0, player);
            start.push(State::new(0, player, 0));
        }
        match query.measure {
            Measure::MovesPushes => {
                side.row.states = start;
                side.row.end(0);
            }
            Measure::PushesMoves => side.row = side.row_of_pushes(&Spans::default(), start)?,
        }
        Ok(side)
    }

    pub(super) fn rows(&self) -> u32 {
        self.rows
    }

    /// The rows made in this round.
    pub(super) fn rows_of_round(&self) -> usize {
        self.earlier.len()
    }

    /// One row of this round; 0 is the last row of the round before.
    pub(super) fn row(&self, index: usize) -> &Spans {
        self.earlier.get(index).unwrap_or(&self.row)
    }

    /// States of a row through which every plan goes that leads on from it.
    pub(super) fn arrivals(&self, index: usize) -> &Spans {
        match self.query.measure {
            Measure::MovesPushes => self.row(index),
            Measure::PushesMoves => {
                let pushed = self.pushed.get(index.saturating_sub(1));
                pushed.unwrap_or(&self.row)
            }
        }
    }

    /// Whether the last row is empty.
    pub(super) fn is_done(&self) -> bool {
        self.row.states.is_empty()
    }

    pub(super) fn work(&self) -> usize {
        self.work
    }

    /// Begins a round. Of all rows, only the last is still needed.
    pub(super) fn begin(&mut self) {
        self.common.clear();
        self.unused.append(&mut self.earlier);
        let others = self.pushed.len().saturating_sub(1);
        self.unused.extend(self.pushed.drain(..others));
    }

    /// Makes at least one row and at most `rows`; no further one begins once `work` steps were
    /// made.
    pub(super) fn advance(&mut self, rows: u32, work: usize) -> Result<(), Spent> {
        if let Some(pushed) = self.pushed.pop() {
            self.unused.push(pushed);
        }
        let last = self.rows + rows;
        let mut done = 0;
        while done == 0 || done < work && self.rows < last && !self.is_done() {
            self.rows += 1;
            self.work = 1;
            let row = std::mem::take(&mut self.row);
            self.row = match self.query.measure {
                Measure::MovesPushes => self.row_of_moves(&row)?,
                Measure::PushesMoves => self.row_of_pushes(&row, Vec::new())?,
            };
            self.earlier.push(row);
            done += self.work;
        }
        Ok(())
    }

    /// Spans without states.
    fn spans(&mut self) -> Spans {
        let mut spans = self.unused.pop().unwrap_or_default();
        spans.clear();
        spans
    }

    /// A row of equal moves from the one before.
    fn row_of_moves(&mut self, before: &Spans) -> Result<Spans, Spent> {
        let moves = self.rows;
        let mut row = self.spans();
        let mut beside = Vec::new();
        let mut first = 0;
        for (index, &(pushes, end)) in before.ends.iter().enumerate() {
            self.step(&before.states[first..end], &mut row.states, &mut beside);
            row.end(pushes);
            let pushes = pushes + 1;
            self.push(&beside, Cost { moves, pushes }, &mut row.states)?;
            beside.clear();
            // Steps of the next span may have the same cost; they end the span then.
            if before
                .ends
                .get(index + 1)
                .is_none_or(|&(other, _)| other > pushes)
            {
                row.end(pushes);
            }
            first = end;
            self.check(before.bytes() + row.bytes())?;
        }
        Ok(row)
    }

    /// A row of equal pushes from the one before, or from a start.
    fn row_of_pushes(&mut self, before: &Spans, start: Vec<State>) -> Result<Spans, Spent> {
        let (mut row, mut pushed) = (self.spans(), self.spans());
        let (mut span, mut next) = (start, Vec::new());
        let (mut index, mut first, mut moves) = (0, 0, 0);
        loop {
            let waiting = before.ends.get(index);
            if span.is_empty() {
                match waiting {
                    Some(&(number, _)) => moves = number + 1,
                    None => break,
                }
            }
            if let Some(&(number, end)) = waiting
                && number + 1 == moves
            {
                let pushes = self.rows;
                let old = span.len();
                self.push(
                    &before.states[first..end],
                    Cost { moves, pushes },
                    &mut span,
                )?;
                pushed.states.extend(&span[old..]);
                pushed.end(moves);
                (index, first) = (index + 1, end);
            }
            next.clear();
            self.step(&span, &mut next, &mut row.states);
            row.end(moves);
            std::mem::swap(&mut span, &mut next);
            moves += 1;
            self.check(before.bytes() + row.bytes() + pushed.bytes() + span.capacity() * 16)?;
        }
        self.pushed.push(pushed);
        Ok(row)
    }

    /// Appends the states that are one step away, and to `beside` those from which a push may lead
    /// on.
    fn step(&mut self, span: &[State], next: &mut Vec<State>, beside: &mut Vec<State>) {
        let directions = self.query.directions;
        self.states += span.len() as u64;
        self.work += span.len();
        let words = self.words;
        let board = self.query.board;
        for &state in span {
            let record = self.configurations.record_mut(state.configuration());
            let mut is_beside = false;
            for direction in directions {
                let to = board.next(state.player(), direction);
                if to == NO_SQUARE {
                    continue;
                }
                let (word, mark) = bit(to);
                if record[word] & mark != 0 {
                    let needed = if self.is_forward {
                        board.next(to, direction)
                    } else {
                        board.next(state.player(), direction.opposite())
                    };
                    if needed != NO_SQUARE {
                        let (word, mark) = bit(needed);
                        is_beside |= record[word] & mark == 0;
                    }
                } else if record[words + word] & mark == 0 {
                    record[words + word] |= mark;
                    next.push(state.with_player(to));
                    if record[2 * words] != 0 {
                        self.common.push(state.with_player(to));
                    }
                }
            }
            if is_beside {
                beside.push(state);
            }
        }
    }

    /// Appends the states that are one push away, or one pull on the backward side; `cost` is
    /// theirs.
    fn push(&mut self, span: &[State], cost: Cost, next: &mut Vec<State>) -> Result<(), Spent> {
        let mut boxes = std::mem::take(&mut self.boxes);
        let board = self.query.board;
        for &state in span {
            for direction in self.query.directions {
                let square = board.next(state.player(), direction);
                if square == NO_SQUARE {
                    continue;
                }
                let (to, player) = if self.is_forward {
                    (board.next(square, direction), square)
                } else {
                    (
                        state.player(),
                        board.next(state.player(), direction.opposite()),
                    )
                };
                if to == NO_SQUARE || player == NO_SQUARE || self.pushes[to as usize] == UNREACHABLE
                {
                    continue;
                }
                let needed = bit(if self.is_forward { to } else { player });
                let ((word, mark), (word_to, mark_to)) = (bit(square), bit(to));
                let record = &self.configurations.record(state.configuration())[..self.words];
                if record[word] & mark == 0
                    || record[needed.0] & needed.1 != 0
                    || self.fixed[word] & mark != 0
                {
                    continue;
                }
                let mut note = self.notes[state.configuration()];
                note.pushes += u32::from(self.pushes[to as usize]);
                note.pushes -= u32::from(self.pushes[square as usize]);
                if self.is_too_far(note, cost) {
                    continue;
                }
                boxes.clear();
                boxes.extend_from_slice(record);
                boxes[word] ^= mark;
                boxes[word_to] ^= mark_to;
                let Some(number) = self.admit(&boxes, note)? else {
                    continue;
                };
                if self.visit(number, player) {
                    let push = self.kept.len();
                    if push >= LIMIT {
                        return Err(Spent);
                    }
                    self.kept.push(State::new(number, player, state.push()));
                    let state = State::new(number, player, push);
                    next.push(state);
                    if self.twin(state).is_some() {
                        self.common.push(state);
                    }
                }
            }
        }
        self.boxes = boxes;
        Ok(())
    }

    /// Adds a configuration unless it is known.
    fn add(&mut self, boxes: &[u64], note: Note) -> Result<usize, Spent> {
        let number = self.configurations.insert(boxes).ok_or(Spent)?;
        if number == self.notes.len() {
            self.notes.push(note);
        }
        Ok(number)
    }

    /// The number of a configuration that may be entered; `note` has the hint of the one before.
    fn admit(&mut self, boxes: &[u64], mut note: Note) -> Result<Option<usize>, Spent> {
        self.work += WORK_OF_LOOKUP;
        if let Some(number) = self.configurations.find(boxes) {
            return Ok(Some(number));
        }
        if let Admitted::Nearby(nearby) = self.admitted {
            self.work += WORK_OF_TEST;
            match nearby.find(boxes, note.near as usize) {
                Some(near) => note.near = near as u32,
                None => return Ok(None),
            }
        }
        self.add(boxes, note).map(Some)
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

    /// Whether a lower bound says that no plan within the bound leads on from a configuration.
    fn is_too_far(&self, note: Note, cost: Cost) -> bool {
        match self.query.measure {
            Measure::MovesPushes => cost.moves + note.pushes > self.query.bound.moves,
            Measure::PushesMoves => cost.pushes + note.pushes > self.query.bound.pushes,
        }
    }

    fn check(&self, queues: usize) -> Result<(), Spent> {
        // A growing list is copied once more.
        let lists = self.kept.capacity() * 12 + self.notes.capacity() * 12;
        let spans = self.earlier.iter().chain(&self.pushed).chain(&self.unused);
        let queues = queues + spans.map(Spans::bytes).sum::<usize>();
        let bytes = queues + lists + self.common.capacity() * 8 + self.configurations.bytes();
        if bytes > self.limits.max_bytes || self.limits.is_over_at(self.states) {
            return Err(Spent);
        }
        Ok(())
    }
}

/// The least number of pushes that take a lone box from each square to one of `ends`, or from one
/// of `ends` to each square, wherever the player is.
pub(super) fn lone_pushes(board: &Board, ends: &[Square], is_forward: bool) -> Vec<u16> {
    let mut pushes = vec![UNREACHABLE; board.len()];
    let mut queue = ends.to_vec();
    for &square in ends {
        pushes[square as usize] = 0;
    }
    let mut next = 0;
    while let Some(&square) = queue.get(next) {
        next += 1;
        for direction in Direction::ALL {
            let to = board.next(square, direction);
            if to == NO_SQUARE || pushes[to as usize] != UNREACHABLE {
                continue;
            }
            // Where the player needs room: behind the pushed box, ahead of the pulled one.
            let player = match is_forward {
                true => board.next(to, direction),
                false => board.next(square, direction.opposite()),
            };
            if player != NO_SQUARE {
                pushes[to as usize] = pushes[square as usize] + 1;
                queue.push(to);
            }
        }
    }
    pushes
}
