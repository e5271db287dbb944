//! Search in the space of features (FESS).
//!
//! Every position has a cell: how far the packing plan is filled, into how many areas boxes divide
//! the board, and how many boxes stand where the plan has no use for them. The cells take turns, and
//! each turn makes the cheapest macro move of a cell. A macro move costs nothing if an advisor chose
//! it among all of its position, else one. The source is Y. Shoham and J. Schaeffer, "The FESS
//! algorithm: a feature based approach to single-agent search", 2020.
//!
//! Invariants: a position is stored once; a solution is the path of macro moves to a position with
//! all boxes on goals; nothing is called unsolvable unless all macro moves of all positions were made.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::super::board::{Board, Direction, Push, Square};
use super::super::budget::Budget;
use super::super::deadlock::corral::Corrals;
use super::super::distances::{Distances, UNREACHABLE};
use super::super::field::{Field, scramble};
use super::super::reach::Reach;
use super::super::{Outcome, Verdict};
use super::macros::{MacroMove, MacroMoves, pushes_of};
use super::packing::Packing;

/// The most positions of one corral's search.
const CORRAL_NODES: usize = 1_000;

/// What decides the cell of a position, and what advisors compare.
#[derive(Clone, Copy, Debug, Default)]
struct Features {
    stage: u16,
    areas: u16,
    /// Boxes that cannot reach a square which the plan still has to fill.
    useless: u16,
    /// Cells that the player reaches.
    reach: u16,
    /// Boxes that can be pushed.
    movable: u16,
    /// Pushes from the nearest box to the next square of the plan, alone on the board.
    to_next: u16,
    /// The sum over all boxes of the pushes to the nearest goal.
    distance: u16,
}

#[derive(Clone, Copy, Debug)]
struct Child {
    macro_move: MacroMove,
    features: Features,
    hash: u64,
}

struct Node {
    parent: u32,
    /// The macro move that led here.
    made: MacroMove,
    /// Macro moves still to be made, the advised ones at the end.
    waiting: Vec<MacroMove>,
    advised: u16,
    weight: u32,
}

/// One search with one packing plan.
pub struct FeatureSearch<'board> {
    board: &'board Board,
    distances: &'board Distances,
    packing: &'board Packing,
    nodes: Vec<Node>,
    /// The boxes and the player of all nodes, one after another.
    squares: Vec<Square>,
    known: HashMap<u64, u32>,
    cells: Vec<BinaryHeap<Reverse<(u32, u32)>>>,
    cell_numbers: HashMap<(u16, u16, u16), usize>,
    corrals: Corrals,
    macros: MacroMoves,
    children: Vec<Child>,
    solved: Option<u32>,
}

impl<'board> FeatureSearch<'board> {
    pub fn new(board: &'board Board, distances: &'board Distances, packing: &'board Packing) -> Self {
        Self {
            board,
            distances,
            packing,
            nodes: Vec::new(),
            squares: Vec::new(),
            known: HashMap::new(),
            cells: Vec::new(),
            cell_numbers: HashMap::new(),
            corrals: Corrals::new(CORRAL_NODES),
            macros: MacroMoves::new(board),
            children: Vec::new(),
            solved: None,
        }
    }

    /// Searches until the level is solved, everything was seen, or the budget is spent.
    pub fn run(&mut self, budget: &Budget) -> Outcome {
        let start = self.board.start();
        let mut field = Field::new(self.board, &start.boxes);
        let mut reach = Reach::new(self.board.floor().len());
        field.fill(&mut reach, start.player);
        let none = MacroMove { from: start.player, to: start.player, player: start.player };
        self.add(&mut field, &reach, u32::MAX, none, 0);
        let mut cell = 0;
        let mut exhausted = false;
        while self.solved.is_none() && !budget.is_spent(self.nodes.len() as u64) {
            let Some(offset) = (0..self.cells.len())
                .find(|offset| !self.cells[(cell + offset) % self.cells.len()].is_empty())
            else {
                exhausted = true;
                break;
            };
            cell = (cell + offset) % self.cells.len();
            self.turn(cell, &mut field, &mut reach);
            cell += 1;
        }
        let verdict = match self.solved {
            Some(node) => self.solution(node).map_or(Verdict::Unknown, Verdict::Solved),
            None if exhausted => Verdict::Unsolvable,
            None => Verdict::Unknown,
        };
        Outcome {
            verdict,
            push_optimal: false,
            nodes: self.nodes.len() as u64 + self.corrals.nodes,
            method: "features",
        }
    }

    /// Makes the cheapest macro move of a cell.
    fn turn(&mut self, cell: usize, field: &mut Field<'_>, reach: &mut Reach) {
        let Some(Reverse((_, number))) = self.cells[cell].pop() else { return };
        let node = &mut self.nodes[number as usize];
        let Some(macro_move) = node.waiting.pop() else { return };
        let is_advised = node.advised > 0;
        node.advised = node.advised.saturating_sub(1);
        let weight = node.weight + u32::from(!is_advised);
        if !node.waiting.is_empty() {
            let next = node.weight + u32::from(node.advised == 0);
            self.cells[cell].push(Reverse((next, number)));
        }
        let count = self.board.goals().len();
        let place = number as usize * (count + 1);
        field.set(&self.squares[place..place + count]);
        field.shift(macro_move.from, macro_move.to);
        field.fill(reach, macro_move.player);
        let key = field.position_hash(self.board.first(reach));
        if self.known.contains_key(&key) || self.corrals.is_deadlock(field, self.distances, reach) {
            return;
        }
        self.add(field, reach, number, macro_move, weight);
    }

    /// Stores a position and the macro moves from it.
    fn add(
        &mut self,
        field: &mut Field<'_>,
        reach: &Reach,
        parent: u32,
        made: MacroMove,
        weight: u32,
    ) {
        let number = self.nodes.len() as u32;
        let first = self.board.first(reach);
        self.known.insert(field.position_hash(first), number);
        self.squares.extend_from_slice(field.boxes());
        self.squares.push(made.player);
        if self.board.is_solved(field.boxes()) {
            self.solved = Some(number);
        }
        let areas = count_areas(field);
        let features = features_of(field, self.distances, self.packing, areas, reach);
        let mut children = std::mem::take(&mut self.children);
        children.clear();
        let (distances, packing, known) = (self.distances, self.packing, &self.known);
        self.macros.for_each(field, distances, reach, |field, macro_move, areas, area, _| {
            let hash = field.position_hash(field.board().first(area));
            if known.contains_key(&hash) {
                return;
            }
            let features = features_of(field, distances, packing, areas.all().len(), area);
            children.push(Child { macro_move, features, hash });
        });
        let advised = advise(&features, &mut children);
        let mut waiting: Vec<MacroMove> = children.iter().map(|child| child.macro_move).collect();
        waiting.reverse();
        self.children = children;
        let key = (features.stage, features.areas, features.useless);
        let cells = &mut self.cells;
        let cell = *self.cell_numbers.entry(key).or_insert_with(|| {
            cells.push(BinaryHeap::new());
            cells.len() - 1
        });
        if !waiting.is_empty() {
            self.cells[cell].push(Reverse((weight + u32::from(advised == 0), number)));
        }
        self.nodes.push(Node { parent, made, waiting, advised, weight });
    }

    /// The pushes that lead to a node.
    fn solution(&self, node: u32) -> Option<Vec<Push>> {
        let mut path = Vec::new();
        let mut at = node;
        while self.nodes[at as usize].parent != u32::MAX {
            path.push(self.nodes[at as usize].made);
            at = self.nodes[at as usize].parent;
        }
        let mut field = Field::new(self.board, &self.board.start().boxes);
        let mut player = self.board.start().player;
        let mut pushes = Vec::new();
        for macro_move in path.into_iter().rev() {
            pushes.extend(pushes_of(&mut field, player, macro_move)?);
            field.shift(macro_move.from, macro_move.to);
            player = macro_move.player;
        }
        Some(pushes)
    }
}

fn count_areas(field: &Field<'_>) -> usize {
    let mut left = field.free().clone();
    let mut area = Reach::new(left.len());
    let mut count = 0;
    while let Some(cell) = left.first() {
        area.fill(field.free(), cell);
        left.remove_all(area.rows());
        count += 1;
    }
    count
}



fn features_of(
    field: &Field<'_>,
    distances: &Distances,
    packing: &Packing,
    areas: usize,
    area: &Reach,
) -> Features {
    let number = packing.stage_of(field);
    let stage = &packing.stages[number];
    let (mut useless, mut movable, mut distance) = (0, 0, 0);
    let mut to_next = UNREACHABLE;
    for &square in field.boxes() {
        let can_move = |direction| field.can_push(area, square, direction);
        movable += u16::from(Direction::ALL.into_iter().any(can_move));
        distance += distances.to_nearest(square);
        if !stage.filled.contains(&square) {
            useless += u16::from(!stage.useful[square as usize]);
            if stage.next.is_some() {
                to_next = to_next.min(stage.to_next[square as usize]);
            }
        }
    }
    Features {
        stage: number as u16,
        areas: areas as u16,
        useless,
        reach: area.rows().count() as u16,
        movable,
        to_next,
        distance,
    }
}

/// Puts the children that advisors choose first, each once, and says how many they are. The others
/// follow in a random order.
fn advise(parent: &Features, children: &mut [Child]) -> u16 {
    children.sort_unstable_by_key(|child| scramble(child.hash));
    type Value = fn(&Features) -> i32;
    let advisors: [Value; 6] = [
        |features| features.stage as i32 * 64 - features.areas as i32,
        |features| -(features.areas as i32) * 1024 + features.reach as i32,
        |features| -(features.useless as i32) * 1024 - features.distance as i32,
        |features| features.movable as i32,
        |features| features.reach as i32,
        |features| features.stage as i32 * 4096 - features.to_next as i32,
    ];
    let mut advised = 0;
    for advisor in advisors {
        let best = (0..children.len()).max_by_key(|&index| advisor(&children[index].features));
        let Some(best) = best else { break };
        if advisor(&children[best].features) > advisor(parent) && best >= advised {
            children.swap(advised, best);
            advised += 1;
        }
    }
    advised as u16
}

impl FeatureSearch<'_> {
    /// For measurements.
    pub fn report(&self) -> String {
        let best = self.cell_numbers.keys().map(|key| key.0).max().unwrap_or(0);
        format!("positions {} cells {} best stage {best} corral nodes {}", self.nodes.len(), self.cells.len(), self.corrals.nodes)
    }
}
