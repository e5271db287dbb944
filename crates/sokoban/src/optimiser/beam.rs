//! A new order of the pushes of a plan by beam search.
//!
//! A node is a beginning of a new order: the pushes that it has made. The boxes follow from them.
//! Nodes of equal length with the same pushes and the same player are one, and of the others the
//! cheapest are extended by each push that is possible and not yet made.

use super::super::board::{Board, Direction, NO_SQUARE, Push, Square};
use super::super::field::scramble;
use super::configurations::{bit, bits, squares};
use super::plan::{StepField, link};
use super::{Options, Run};
use rustc_hash::{FxHashMap, FxHashSet};

/// Nodes that are extended, for each length; only the first before the other methods had a turn.
const WIDTHS: [usize; 3] = [100, 1000, 5000];

/// Fewer nodes of one length are not worth a thread.
const NODES_FOR_A_THREAD: usize = 250;

/// An extension of a node by a push.
#[derive(Clone, Copy)]
struct Child {
    moves: u32,
    /// The box lines, box changes and sessions so far, in the order in which they count.
    links: [u32; 4],
    parent: u32,
    push: u32,
    /// The hash of the pushes made.
    made: u64,
}

struct Node {
    boxes: Vec<u64>,
    /// One bit for each push made.
    used: Vec<u64>,
    player: Square,
    /// The last push.
    last: Option<Push>,
    moves: u32,
    links: [u32; 4],
    made: u64,
}

/// Takes over a better order of the pushes, if beam search finds one; whether it did.
pub(super) fn reorder(run: &mut Run) -> bool {
    let widths = if run.is_thorough {
        &WIDTHS
    } else {
        &WIDTHS[..1]
    };
    (widths.iter()).any(|&width| beam(run, width).is_some_and(|pushes| run.offer(pushes)))
}

fn beam(run: &Run, width: usize) -> Option<Vec<Push>> {
    let pushes = run.plan.pushes();
    // Equal pushes in the order of the plan.
    let mut equal: FxHashMap<Push, Vec<usize>> = FxHashMap::default();
    for (index, &push) in pushes.iter().enumerate() {
        equal.entry(push).or_default().push(index);
    }
    let order = Order {
        board: run.board,
        pushes,
        equal,
        best: run.plan.cost().moves,
        options: run.options,
    };
    let mut history: Vec<Vec<(u32, u32)>> = Vec::with_capacity(pushes.len());
    let mut nodes = vec![order.start()];
    for length in 0..pushes.len() {
        if nodes.is_empty() || run.is_over() {
            return None;
        }
        let mut children = order.children(&nodes, length, run.options.threads);
        order.keep_cheapest(&mut children, width);
        nodes = (children.iter())
            .map(|child| order.extended(&nodes[child.parent as usize], child))
            .collect();
        let kept = children.iter().map(|child| (child.parent, child.push));
        history.push(kept.collect());
    }
    order.cheapest_order(&history)
}

/// What all nodes of one search share.
struct Order<'a> {
    board: &'a Board,
    pushes: &'a [Push],
    /// The indices of equal pushes, in the order of the plan.
    equal: FxHashMap<Push, Vec<usize>>,
    /// Moves of the plan.
    best: u32,
    options: &'a Options,
}

impl Order<'_> {
    /// The node before the first push.
    fn start(&self) -> Node {
        let start = self.board.start();
        Node {
            boxes: bits(self.board, &start.boxes),
            used: vec![0; self.pushes.len().div_ceil(64)],
            player: start.player,
            last: None,
            moves: 0,
            links: [0; 4],
            made: 0,
        }
    }

    /// Keeps the cheapest children, sorted, of which no two lead to the same node.
    fn keep_cheapest(&self, children: &mut Vec<Child>, width: usize) {
        children.sort_unstable_by_key(|child| (child.moves, child.links));
        let mut seen = FxHashSet::default();
        children.retain(|child| {
            let player = u64::from(self.pushes[child.push as usize].square);
            seen.len() < width && seen.insert(child.made ^ scramble(!player))
        });
    }

    /// The node that a child of `parent` leads to.
    fn extended(&self, parent: &Node, child: &Child) -> Node {
        let push = self.pushes[child.push as usize];
        let mut boxes = parent.boxes.clone();
        for square in [push.square, self.board.next(push.square, push.direction)] {
            let (word, mark) = bit(square);
            boxes[word] ^= mark;
        }
        let mut used = parent.used.clone();
        used[child.push as usize / 64] |= 1 << (child.push % 64);
        Node {
            boxes,
            used,
            player: push.square,
            last: Some(push),
            moves: child.moves,
            links: child.links,
            made: child.made,
        }
    }

    /// The pushes of the cheapest node of the last length, which is the first, by the parent and
    /// the push of each node of each length.
    fn cheapest_order(&self, history: &[Vec<(u32, u32)>]) -> Option<Vec<Push>> {
        let mut at = 0;
        let mut order = Vec::with_capacity(history.len());
        for nodes in history.iter().rev() {
            let &(parent, push) = nodes.get(at)?;
            order.push(self.pushes[push as usize]);
            at = parent as usize;
        }
        order.reverse();
        Some(order)
    }

    /// All extensions of nodes with `length` pushes, in the order of the nodes.
    fn children(&self, nodes: &[Node], length: usize, threads: usize) -> Vec<Child> {
        let threads = threads.min(nodes.len() / NODES_FOR_A_THREAD).max(1);
        let share = nodes.len().div_ceil(threads);
        let mut shares = nodes.chunks(share).zip((0..).step_by(share));
        let Some((first, _)) = shares.next() else {
            return Vec::new();
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = shares
                .map(|(nodes, at)| scope.spawn(move || self.children_of(nodes, at, length)))
                .collect();
            let mut children = self.children_of(first, 0, length);
            for other in others {
                // A share that is lost makes the beam narrower, no more.
                children.extend(other.join().unwrap_or_default());
            }
            children
        })
    }

    /// The extensions of nodes whose first has the number `at`.
    fn children_of(&self, nodes: &[Node], at: usize, length: usize) -> Vec<Child> {
        let mut field = StepField::new(self.board, &[]);
        let mut children = Vec::new();
        for (parent, node) in (at..).zip(nodes) {
            field.set(&node.boxes);
            field.walk_everywhere(node.player);
            for square in squares(&node.boxes) {
                for direction in Direction::ALL {
                    let push = Push { square, direction };
                    let stand = field.stand(push);
                    if stand == NO_SQUARE || !field.is_free(push) {
                        continue;
                    }
                    let Some(steps) = field.steps(stand) else {
                        continue;
                    };
                    let indices = self.equal.get(&push).map_or(&[][..], Vec::as_slice);
                    let unused = |&&index: &&usize| node.used[index / 64] >> (index % 64) & 1 == 0;
                    let Some(&index) = indices.iter().find(unused) else {
                        continue;
                    };
                    let moves = node.moves + steps + 1;
                    // Each push still to come is a move.
                    if moves + (self.pushes.len() - length - 1) as u32 > self.best {
                        continue;
                    }
                    let link = link(self.board, node.last, push, steps > 0);
                    let link = self.options.ties_of(&link);
                    children.push(Child {
                        moves,
                        links: std::array::from_fn(|index| node.links[index] + link[index]),
                        parent: parent as u32,
                        push: index as u32,
                        made: node.made ^ scramble(index as u64),
                    });
                }
            }
        }
        children
    }
}
