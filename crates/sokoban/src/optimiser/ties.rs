//! Parts of a plan replaced by the best by all metrics, so that of equally short plans the one with
//! the fewest lines, changes and sessions is found.
//!
//! A part goes from right after one push of the plan to right after another. What a push adds to
//! the metrics depends on the push before it and on the boxes alone. So a state is the boxes and
//! the last push, and A* over such states finds the best part, with metrics compared one after
//! another. Each box needs a least number of pushes, which bounds moves and pushes from below.

use super::super::board::{Board, Direction, NO_SQUARE, Push, Square};
use super::super::distances::UNREACHABLE;
use super::super::solution::Metrics;
use super::super::walk::Walks;
use super::configurations::{Configurations, bit, bits, words};
use super::nearby::{Nearby, Ranks};
use super::plan::{StepField, added};
use super::query::Admitted;
use super::side::lone_pushes;
use super::{Options, Run, few_boxes};
use panza_sync::Budget;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// The largest number of boxes that move in a part while all others stay.
const MOST_BOXES: usize = 2;

/// Pushes of a part in which boxes stand near their places.
const LENGTH: usize = 20;

/// The nearest squares of a box that stands elsewhere in such a part.
const NEIGHBOURS: [usize; 1] = [10];

/// States of a search. A part that needs more is left as it is.
const MOST_STATES: usize = 30_000;

/// States between two looks at the clock.
const STATES_PER_LOOK: usize = 256;

/// All six metrics in the order in which they count.
type Key = [u32; 6];

pub(super) fn improve(run: &mut Run) {
    let ranks = Ranks::new(run.board, run.distances, Direction::ALL);
    loop {
        let before = run.key();
        for boxes in 1..=MOST_BOXES {
            let board = run.board;
            pass(
                run,
                &[boxes, 1],
                &|run| few_boxes::parts(run, boxes),
                &|boxes, pushes| Admitted::Fixed(few_boxes::unmoved(board, boxes, pushes)),
            );
        }
        let board = run.board;
        pass(run, &NEIGHBOURS, &slices, &|boxes, pushes| {
            Admitted::Nearby(Nearby::new(board, &ranks, &NEIGHBOURS, boxes, pushes))
        });
        if run.key() == before || run.is_over() {
            return;
        }
    }
}

/// Ranges of pushes that overlap by half.
fn slices(run: &Run) -> Vec<Range<usize>> {
    let pushes = run.plan.pushes().len();
    let starts = (0..pushes).step_by(LENGTH / 2);
    starts
        .map(|start| start..(start + LENGTH).min(pushes))
        .collect()
}

/// Searches the parts that `parts` names, each once; those of the plan after a gain, from the place
/// of the gain on.
fn pass<'a>(
    run: &mut Run,
    kind: &[usize],
    parts: &dyn Fn(&Run) -> Vec<Range<usize>>,
    admitted: &dyn Fn(&[Square], &[Push]) -> Admitted<'a>,
) {
    let mut waiting = parts(run);
    let mut next = 0;
    while let Some(range) = waiting.get(next).cloned() {
        if run.is_over() {
            return;
        }
        run.tell(next, waiting.len());
        let mut field = StepField::new(run.board, &run.board.start().boxes);
        let pushes = run.plan.pushes().to_vec();
        for &push in &pushes[..range.start] {
            field.place(push);
        }
        let start = field.boxes();
        let part = &pushes[range.clone()];
        let last = range.start.checked_sub(1).map(|last| pushes[last]);
        let hash = super::hash_of(&(kind, &start, last, part, pushes.get(range.end)));
        if !run.tried.contains(&hash) {
            let better = Part::new(run, &range, &start, &admitted(&start, part)).best();
            let rest = &pushes[(range.end + 1).min(pushes.len())..];
            let better = better.map(|better| [&pushes[..range.start], &better, rest].concat());
            if better.is_some_and(|pushes| run.offer(pushes)) {
                // The plan may have another number of pushes now.
                waiting = parts(run);
                next = waiting.partition_point(|part| part.start < range.start);
                continue;
            }
            if !run.is_over() {
                run.tried.insert(hash);
            }
        }
        next += 1;
    }
}

/// A part of a plan that is searched anew.
struct Part<'a> {
    board: &'a Board,
    options: &'a Options,
    limits: &'a Budget,
    admitted: &'a Admitted<'a>,
    start: &'a [Square],
    last: Option<Push>,
    /// The boxes before the push after the part, and that push; nothing at the end of the plan.
    end: Option<(Vec<u64>, Push)>,
    /// What the part and the push after it add.
    bound: Metrics,
    /// Boxes that stay.
    fixed: Vec<u64>,
    /// The least number of pushes for a lone box from a square to the end.
    pushes: Vec<u16>,
}

/// A state of the search.
#[derive(Clone, Copy)]
struct Node {
    configuration: u32,
    /// The push that led here; nothing at the start of the plan.
    last: Option<Push>,
    parent: u32,
    sum: Metrics,
    /// The least number of pushes to the end.
    left: u32,
    /// Where on the way of the plan a configuration is near.
    near: u32,
}

impl<'a> Part<'a> {
    fn new(
        run: &'a Run<'_>,
        range: &Range<usize>,
        start: &'a [Square],
        admitted: &'a Admitted<'a>,
    ) -> Self {
        let (board, pushes) = (run.board, run.plan.pushes());
        let mut field = StepField::new(board, start);
        for &push in &pushes[range.clone()] {
            field.place(push);
        }
        let boxes = field.boxes();
        let end = pushes
            .get(range.end)
            .map(|&push| (bits(board, &boxes), push));
        let ends = if end.is_some() { &boxes } else { board.goals() };
        let last_sum = run.plan.metrics((range.end + 1).min(pushes.len()));
        let fixed: &[Square] = match admitted {
            Admitted::Nearby(_) => &[],
            Admitted::Fixed(fixed) => fixed,
        };
        Self {
            board,
            options: run.options,
            limits: &run.limits,
            admitted,
            start,
            last: range.start.checked_sub(1).map(|last| pushes[last]),
            end,
            bound: last_sum - run.plan.metrics(range.start),
            fixed: bits(board, fixed),
            pushes: lone_pushes(board, ends, true),
        }
    }

    /// Better pushes for the part and the push after it, if there are any.
    fn best(&self) -> Option<Vec<Push>> {
        let (board, options) = (self.board, self.options);
        let mut search = Search::new(board);
        let left: u32 = self
            .start
            .iter()
            .map(|&square| u32::from(self.pushes[square as usize]))
            .sum();
        let configuration = search.configurations.insert(&bits(board, self.start))? as u32;
        search.add(
            options,
            Node {
                configuration,
                last: self.last,
                parent: u32::MAX,
                sum: Metrics::default(),
                left,
                near: 0,
            },
        );
        let bound = options.key(&self.bound);
        let mut done = 0;
        while let Some(Reverse((key, index))) = search.queue.pop() {
            let node = search.nodes[index as usize];
            if search.best.get(&node.state()) != Some(&index) {
                continue;
            }
            if key >= bound || search.nodes.len() > MOST_STATES {
                return None;
            }
            done += 1;
            if done % STATES_PER_LOOK == 0 && self.limits.is_over() {
                return None;
            }
            search
                .field
                .set(&search.configurations.record(node.configuration as usize)[..words(board)]);
            if self.is_end(&search, &node) {
                return Some(search.pushes_to(index));
            }
            search.field.measure(&mut search.walks, node.last, None);
            self.expand(&mut search, index, bound);
        }
        None
    }

    /// Whether a node is the end of the part; the push after the part included, if there is one.
    fn is_end(&self, search: &Search, node: &Node) -> bool {
        match &self.end {
            None => node.left == 0 && self.board.is_solved(&search.field.boxes()),
            Some(_) => node.left == u32::MAX,
        }
    }

    /// Whether a push from a configuration is the push after the part.
    fn is_last(&self, boxes: &[u64], push: Push) -> bool {
        (self.end.as_ref()).is_some_and(|(end, last)| push == *last && end == boxes)
    }

    /// Adds the nodes one push further.
    fn expand(&self, search: &mut Search, parent: u32, bound: Key) {
        let board = self.board;
        let node = search.nodes[parent as usize];
        let boxes =
            search.configurations.record(node.configuration as usize)[..words(board)].to_vec();
        for square in super::configurations::squares(&boxes) {
            let (word, mark) = bit(square);
            for direction in Direction::ALL {
                let push = Push { square, direction };
                let stand = search.field.stand(push);
                if stand == NO_SQUARE || !search.field.is_free(push) {
                    continue;
                }
                let Some(step) = added(board, &search.walks, node.last, push) else {
                    continue;
                };
                let sum = node.sum + step;
                if self.is_last(&boxes, push) {
                    // The goal of the search is a state of its own.
                    let end = Node {
                        last: Some(push),
                        parent,
                        sum,
                        left: u32::MAX,
                        ..node
                    };
                    search.add_below(self.options, bound, end);
                }
                let to = board.next(square, direction);
                let pushes = self.pushes[to as usize];
                if self.fixed[word] & mark != 0 || pushes == UNREACHABLE {
                    continue;
                }
                let mut after = boxes.clone();
                after[word] ^= mark;
                let (word, mark) = bit(to);
                after[word] ^= mark;
                let left = node.left + u32::from(pushes) - u32::from(self.pushes[square as usize]);
                let Some((configuration, near)) = search.admit(self.admitted, &after, node.near)
                else {
                    continue;
                };
                search.add_below(
                    self.options,
                    bound,
                    Node {
                        configuration,
                        last: Some(push),
                        parent,
                        sum,
                        left,
                        near,
                    },
                );
            }
        }
    }
}

impl Node {
    /// What tells states apart; the end of a part is one of its own.
    fn state(&self) -> (u32, Option<Push>, bool) {
        (self.configuration, self.last, self.left == u32::MAX)
    }

    /// A lower bound on the metrics of a part through this node.
    fn key(&self, options: &Options) -> Key {
        let left = if self.left == u32::MAX {
            0
        } else {
            self.left as usize
        };
        options.key(&Metrics {
            moves: self.sum.moves + left,
            pushes: self.sum.pushes + left,
            ..self.sum
        })
    }
}

/// What a search knows.
struct Search<'a> {
    configurations: Configurations,
    /// For each configuration where it is near the way of the plan.
    near: Vec<u32>,
    nodes: Vec<Node>,
    best: FxHashMap<(u32, Option<Push>, bool), u32>,
    queue: BinaryHeap<Reverse<(Key, u32)>>,
    field: StepField<'a>,
    walks: Walks,
}

impl<'a> Search<'a> {
    fn new(board: &'a Board) -> Self {
        Self {
            configurations: Configurations::new(board),
            near: vec![0],
            nodes: Vec::new(),
            best: FxHashMap::default(),
            queue: BinaryHeap::new(),
            field: StepField::new(board, &[]),
            walks: Walks::new(board),
        }
    }

    /// The number of a configuration that may be entered, and where it is near the plan.
    fn admit(&mut self, admitted: &Admitted, boxes: &[u64], hint: u32) -> Option<(u32, u32)> {
        if let Some(number) = self.configurations.find(boxes) {
            return Some((number as u32, self.near[number]));
        }
        let near = match admitted {
            Admitted::Nearby(nearby) => nearby.find(boxes, hint as usize)? as u32,
            Admitted::Fixed(_) => 0,
        };
        let number = self.configurations.insert(boxes)?;
        self.near.push(near);
        Some((number as u32, near))
    }

    /// Adds a node that can lead to something better.
    fn add_below(&mut self, options: &Options, bound: Key, node: Node) {
        if node.key(options) < bound {
            self.add(options, node);
        }
    }

    /// Adds a node unless its state is known by one that is as good.
    fn add(&mut self, options: &Options, node: Node) {
        let key = node.key(options);
        let known = self.best.get(&node.state());
        if known.is_some_and(|&known| self.nodes[known as usize].key(options) <= key) {
            return;
        }
        let index = self.nodes.len() as u32;
        self.nodes.push(node);
        self.best.insert(node.state(), index);
        self.queue.push(Reverse((key, index)));
    }

    /// The pushes that led to a node.
    fn pushes_to(&self, index: u32) -> Vec<Push> {
        let mut pushes = Vec::new();
        let mut at = index;
        while let Some(node) = self.nodes.get(at as usize)
            && node.parent != u32::MAX
        {
            pushes.extend(node.last);
            at = node.parent;
        }
        pushes.reverse();
        pushes
    }
}
