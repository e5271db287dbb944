//! Search in the space of features (FESS).
//!
//! Every position has a cell: how far the packing plan is filled, into how many areas boxes divide
//! the board, how many boxes have no place in the rest of the plan, and where the settings ask for
//! it how many boxes block others and how many can be moved. The cells take turns, and each turn
//! makes the cheapest macro move of a cell. Advisors choose macro moves of a position: one that
//! fills more of the plan costs nothing, one that serves another feature a little, and all others
//! cost more; costs add up along a path. No advisor chooses a macro move that takes a box's place
//! in the plan away. The source is Y. Shoham and J. Schaeffer, "The FESS algorithm: a feature based
//! approach to single-agent search", 2020; boxes without a place are their boxes out of plan, and
//! boxes that block others are their hotspots.
//!
//! Invariants: a position is stored once; a solution is the path of macro moves to a position with
//! all boxes on targets; nothing is called unsolvable unless all macro moves of all positions were
//! made. Positions are compared by 64-bit hashes: if two positions have the same hash, only the
//! first is searched, and a level may then be called unsolvable wrongly.

use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::Verdict;
use super::super::board::{Push, Square};
use super::super::deadlock::corral::Corrals;
use super::super::deadlock::pi_corral::PiCorrals;
use super::super::distances::UNREACHABLE;
use super::super::field::{Field, Play, scramble};
use super::super::reach::Reach;
use super::assignment::Assignment;
use super::macros::{MacroMove, MacroMoves, pushes_of};
use super::packing::Packing;
use super::problem::Problem;
use panza_sync::Budget;

/// The most positions of one corral's search.
const CORRAL_NODES: usize = 400;

/// What distinguishes searches of the same problem.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Cells also distinguish how many boxes block others.
    pub by_blocking: bool,
    /// Cells also distinguish how many boxes can be moved.
    pub by_movable: bool,
    /// Macro moves that serve areas, places in the plan or blocked boxes cost nothing either.
    pub even_costs: bool,
    /// Decides the order of macro moves that no advisor chose.
    pub seed: u64,
}

/// What decides the cell of a position, and what advisors compare.
#[derive(Clone, Copy, Debug, Default)]
struct Features {
    stage: u16,
    areas: u16,
    /// Boxes for which the rest of the plan has no place.
    unplaced: u16,
    /// Cells that the player reaches.
    reach: u16,
    /// Boxes that block another from all targets.
    blocking: u16,
    /// Boxes that can be moved.
    movable: u16,
    /// Moves from the nearest box to the next square of the plan, alone on the board.
    to_next: u16,
    /// The sum over all boxes of the moves to the nearest target.
    distance: u32,
}

#[derive(Clone, Copy, Debug)]
struct Child {
    macro_move: MacroMove,
    features: Features,
    order: u64,
    cost: u8,
}

struct Node {
    /// The node before; the node itself at the start.
    parent: u32,
    /// The macro move that led here.
    made: MacroMove,
    /// Macro moves still to be made and their costs, the cheapest at the end.
    waiting: Vec<(MacroMove, u8)>,
    /// The costs of the macro moves on the path here.
    weight: u32,
}

/// The nodes with macro moves to make, by the weight of the next one and by age.
type Cell = BinaryHeap<Reverse<(u32, u32)>>;

/// The cells of one stage of the plan.
#[derive(Default)]
struct Stage {
    cells: Vec<Cell>,
    numbers: FxHashMap<[u16; 4], usize>,
    /// The cell whose turn was the last.
    last: usize,
    /// Cells with macro moves to make.
    filled: usize,
}

/// One search with one packing plan.
pub struct FeatureSearch<'a> {
    problem: &'a Problem<'a>,
    packing: Packing,
    settings: Settings,
    nodes: Vec<Node>,
    /// The boxes of all nodes, one after another.
    squares: Vec<Square>,
    /// The hashes of all positions.
    known: FxHashSet<u64>,
    stages: Vec<Stage>,
    turns: u64,
    /// Positions that macro moves led to.
    visited: u64,
    /// Macro moves that are kept, for the bound of memory.
    kept: usize,
    corrals: Corrals,
    pi_corrals: PiCorrals,
    macros: MacroMoves,
    assignment: Assignment,
    children: Vec<Child>,
    solved: Option<u32>,
    field: Field<'a>,
    reach: Reach,
}

impl<'a> FeatureSearch<'a> {
    /// Begins at the start; the first positions may use up the limits.
    pub fn new(
        problem: &'a Problem<'a>,
        packing: Packing,
        settings: Settings,
        limits: &Budget,
    ) -> Self {
        let board = problem.board;
        let stages = packing.stages.iter().map(|_| Stage::default()).collect();
        let mut search = Self {
            problem,
            packing,
            settings,
            nodes: Vec::new(),
            squares: Vec::new(),
            known: FxHashSet::default(),
            stages,
            turns: 0,
            visited: 0,
            kept: 0,
            corrals: Corrals::new(CORRAL_NODES),
            pi_corrals: PiCorrals::new(board),
            macros: MacroMoves::new(board),
            assignment: Assignment::default(),
            children: Vec::new(),
            solved: None,
            field: Field::new(board, &problem.start),
            reach: Reach::new(board.floor().len()),
        };
        for &player in &problem.players {
            search.field.set(&problem.start);
            search.field.fill(&mut search.reach, player);
            let number = search.nodes.len() as u32;
            let none = MacroMove {
                from: player,
                to: player,
                player,
            };
            search.add(number, none, 0, limits);
        }
        search
    }

    /// Positions searched, those of corrals included.
    pub fn nodes(&self) -> u64 {
        self.nodes.len() as u64 + self.corrals.nodes
    }

    /// Positions that moves led to, those of corrals included: a measure of time.
    fn work(&self) -> u64 {
        self.visited + self.corrals.nodes
    }

    /// Goes on until the level is solved, everything was seen, moves led to `turn` further
    /// positions, or the limits are spent.
    pub fn run(&mut self, limits: &Budget, turn: u64) -> Verdict {
        let end = self.work() + turn;
        loop {
            if let Some(node) = self.solved {
                return self
                    .solution(node)
                    .map_or(Verdict::Unknown, Verdict::Solved);
            }
            self.turns += 1;
            if limits.is_over_at(self.nodes()) || self.work() >= end || self.is_full(limits) {
                return Verdict::Unknown;
            }
            let Some((stage, cell)) = self.next_cell() else {
                return Verdict::Unsolvable;
            };
            self.turn(stage, cell, limits);
        }
    }

    /// Whether the nodes have filled the memory.
    pub fn is_full(&self, limits: &Budget) -> bool {
        self.bytes() > limits.max_bytes
    }

    /// Bytes of the nodes.
    pub fn bytes(&self) -> usize {
        let node = size_of::<Node>() + 32 + 2 * self.problem.start.len();
        self.nodes.len() * node + self.kept * size_of::<MacroMove>()
    }

    /// The stage and cell whose turn it is.
    fn next_cell(&mut self) -> Option<(usize, usize)> {
        let filled = || {
            (0..self.stages.len())
                .rev()
                .filter(|&stage| self.stages[stage].filled > 0)
        };
        let cells: usize = filled().map(|stage| self.stages[stage].filled).sum();
        let mut chosen = (self.turns % cells.max(1) as u64) as usize;
        let stage = filled().find(|&stage| {
            let found = chosen < self.stages[stage].filled;
            chosen = chosen.saturating_sub(self.stages[stage].filled);
            found
        })?;
        let Stage { cells, last, .. } = &mut self.stages[stage];
        loop {
            *last = (*last + 1) % cells.len();
            if !cells[*last].is_empty() {
                return Some((stage, *last));
            }
        }
    }

    /// Makes the cheapest macro move of a cell.
    fn turn(&mut self, stage: usize, cell: usize, limits: &Budget) {
        let Stage { cells, filled, .. } = &mut self.stages[stage];
        let Some(Reverse((weight, number))) = cells[cell].pop() else {
            return;
        };
        let node = &mut self.nodes[number as usize];
        let made = node.waiting.pop();
        match node.waiting.last() {
            Some(&(_, cost)) => cells[cell].push(Reverse((node.weight + u32::from(cost), number))),
            None => node.waiting = Vec::new(),
        }
        *filled -= usize::from(cells[cell].is_empty());
        let Some((made, _)) = made else { return };
        self.kept -= 1;
        let count = self.problem.start.len();
        let place = number as usize * count;
        self.field.set(&self.squares[place..place + count]);
        self.field.shift(made.from, made.to);
        self.field.fill(&mut self.reach, made.player);
        let hash = self
            .field
            .position_hash(self.problem.board.first(&self.reach));
        let is_deadlock = |corrals: &mut Corrals| {
            self.problem.play == Play::Push
                && corrals.is_deadlock(&self.field, self.problem.dead(), &self.reach)
        };
        if self.known.contains(&hash) || is_deadlock(&mut self.corrals) {
            return;
        }
        self.add(number, made, weight, limits);
    }

    /// Stores the position of the field and the macro moves from it.
    fn add(&mut self, parent: u32, made: MacroMove, weight: u32, limits: &Budget) {
        let (problem, field, reach) = (self.problem, &mut self.field, &self.reach);
        let number = self.nodes.len() as u32;
        self.known
            .insert(field.position_hash(problem.board.first(reach)));
        self.squares.extend_from_slice(field.boxes());
        if problem.is_solved(field, reach) {
            self.solved = Some(number);
        }
        let features = Features::new(
            problem,
            &self.packing,
            field,
            count_areas(field),
            reach,
            &mut self.assignment,
        );
        let first = match problem.play {
            Play::Push => self.pi_corrals.find(
                problem.board,
                field.boxes(),
                field.free(),
                problem.dead(),
                reach,
            ),
            Play::Pull => None,
        };
        let visited = &mut self.visited;
        let (packing, known, seed) = (&self.packing, &self.known, self.settings.seed);
        let costs = if self.settings.even_costs {
            &EVEN_COSTS
        } else {
            &COSTS
        };
        let (children, assignment) = (&mut self.children, &mut self.assignment);
        children.clear();
        self.macros.for_each(
            problem,
            field,
            reach,
            first,
            &|| limits.is_over(),
            |field, macro_move, areas, area| {
                *visited += 1;
                let hash = field.position_hash(problem.board.first(area));
                if !known.contains(&hash) {
                    let features =
                        Features::new(problem, packing, field, areas.all().len(), area, assignment);
                    children.push(Child {
                        macro_move,
                        features,
                        order: scramble(hash ^ seed),
                        cost: costs[ADVISORS.len()],
                    });
                }
            },
        );
        advise(&features, children, costs);
        let costly = children.iter().rev();
        let waiting: Vec<(MacroMove, u8)> =
            costly.map(|child| (child.macro_move, child.cost)).collect();
        if let Some(&(_, cost)) = waiting.last() {
            let chosen = |is_chosen, value| if is_chosen { value } else { 0 };
            let key = [
                features.areas,
                features.unplaced,
                chosen(self.settings.by_blocking, features.blocking),
                chosen(self.settings.by_movable, features.movable),
            ];
            self.stages[features.stage as usize].push(key, (weight + u32::from(cost), number));
        }
        self.kept += waiting.len();
        self.nodes.push(Node {
            parent,
            made,
            waiting,
            weight,
        });
    }

    /// The pushes of the solution that a node is.
    fn solution(&self, node: u32) -> Option<Vec<Push>> {
        let mut path = Vec::new();
        let mut at = node;
        while self.nodes[at as usize].parent != at {
            path.push(self.nodes[at as usize].made);
            at = self.nodes[at as usize].parent;
        }
        let mut field = Field::new(self.problem.board, &self.problem.start);
        let mut player = self.nodes[at as usize].made.player;
        let mut pushes = Vec::new();
        for macro_move in path.into_iter().rev() {
            pushes.extend(pushes_of(self.problem, &mut field, player, macro_move)?);
            field.shift(macro_move.from, macro_move.to);
            player = macro_move.player;
        }
        if self.problem.play == Play::Pull {
            pushes.reverse();
        }
        Some(pushes)
    }
}

impl Stage {
    fn push(&mut self, key: [u16; 4], entry: (u32, u32)) {
        let cells = &mut self.cells;
        let number = *self.numbers.entry(key).or_insert_with(|| {
            cells.push(Cell::new());
            cells.len() - 1
        });
        self.filled += usize::from(cells[number].is_empty());
        cells[number].push(Reverse(entry));
    }
}

fn count_areas(field: &Field<'_>) -> usize {
    let mut count = 0;
    field.for_each_area(&mut Reach::new(field.free().len()), |_, _| count += 1);
    count
}

impl Features {
    fn new(
        problem: &Problem<'_>,
        packing: &Packing,
        field: &Field<'_>,
        areas: usize,
        area: &Reach,
        assignment: &mut Assignment,
    ) -> Self {
        let number = packing.stage_of(field);
        let stage = &packing.stages[number];
        let mut features = Self {
            stage: number as u16,
            areas: areas as u16,
            unplaced: packing.unplaced(field, Some(area), number, assignment) as u16,
            reach: area.rows().count() as u16,
            blocking: 0,
            movable: 0,
            to_next: UNREACHABLE,
            distance: 0,
        };
        for &square in field.boxes() {
            features.movable += u16::from(problem.can_move(field, area, square));
            features.distance += u32::from(problem.to_nearest(square));
            if !stage.is_filled[square as usize] {
                let blocked = problem.blocked_by(square);
                let mut rows = blocked.words().iter().zip(field.free().words());
                features.blocking += u16::from(rows.any(|(blocked, free)| blocked & !free != 0));
                if stage.next.is_some() {
                    features.to_next = features.to_next.min(stage.to_next[square as usize]);
                }
            }
        }
        features
    }
}

/// What an advisor wants more of.
type Value = fn(&Features) -> i32;

/// What the advisors want more of. Each chooses one macro move, if one is better than none.
const ADVISORS: [Value; 7] = [
    |features| {
        i32::from(features.stage) * 65_536
            - i32::from(features.unplaced) * 256
            - i32::from(features.areas)
    },
    |features| i32::from(features.reach) - i32::from(features.areas) * 1024,
    |features| -i32::from(features.unplaced) * 1024 - features.distance as i32,
    |features| -i32::from(features.blocking),
    |features| i32::from(features.movable),
    |features| i32::from(features.reach),
    |features| i32::from(features.stage) * 4096 - i32::from(features.to_next),
];

/// The costs of what the advisors choose, and of all other macro moves.
const COSTS: [u8; 8] = [0, 1, 1, 1, 2, 2, 2, 5];
const EVEN_COSTS: [u8; 8] = [0, 0, 0, 0, 1, 1, 1, 3];

/// Puts the children that advisors choose first, each once and the cheapest first. The others
/// follow in a random order.
fn advise(parent: &Features, children: &mut [Child], costs: &[u8; 8]) {
    children.sort_unstable_by_key(|child| child.order);
    let mut advised = 0;
    for (value, &cost) in ADVISORS.into_iter().zip(costs) {
        let best = (0..children.len())
            .filter(|&index| children[index].features.unplaced <= parent.unplaced)
            .max_by_key(|&index| value(&children[index].features));
        let Some(best) = best else { break };
        if value(&children[best].features) > value(parent) && best >= advised {
            children.swap(advised, best);
            children[advised].cost = cost;
            advised += 1;
        }
    }
}
