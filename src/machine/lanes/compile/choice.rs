//! The choice of a move as logic: each lane takes one of its legal moves, all equally likely.
//!
//! The legal moves of a lane are counted by adding bits in a tree of groups; somebody draws a rank
//! below the count for each lane; then the rank goes down the tree, to the group it falls in, less
//! what stands before that group. Numbers are bit-sliced, a vector for each binary digit, so the
//! work is that of a few adders a move for all lanes together.
//!
//! Invariants: in a lane whose rank is below its count just one move is chosen, and that one is
//! legal, the n-th legal one of the order given for rank n. In other lanes anything may be chosen.
//!
//! Never knows: where ranks come from.

use super::circuit::{Circuit, Literal};

/// A number a lane, lowest digit first.
type Number = Vec<Literal>;

/// Moves in the smallest groups: what one full adder counts.
const GROUP: usize = 3;

/// The moves of one role, counted.
pub(super) struct Choice {
    legal: Vec<Literal>,
    /// From the smallest groups to the one of all: the counts.
    levels: Vec<Vec<Number>>,
}

impl Choice {
    /// Counts the legal moves.
    pub(super) fn count(circuit: &mut Circuit, legal: Vec<Literal>) -> Self {
        let mut groups: Vec<Number> = Vec::with_capacity(legal.len().div_ceil(GROUP));
        for moves in legal.chunks(GROUP) {
            let [a, b, c] =
                [0, 1, 2].map(|index| moves.get(index).copied().unwrap_or(Literal::FALSE));
            let low = circuit.xor3(a, b, c);
            let high = circuit.majority(a, b, c);
            groups.push(trimmed(vec![low, high]));
        }
        let mut sizes: Vec<usize> = legal.chunks(GROUP).map(<[Literal]>::len).collect();
        let mut levels = vec![groups];
        while let Some(below) = levels.last()
            && below.len() > 1
        {
            sizes = sizes.chunks(2).map(|pair| pair.iter().sum()).collect();
            let mut sums = Vec::with_capacity(sizes.len());
            for (pair, size) in below.chunks(2).zip(&sizes) {
                let mut sum = match pair {
                    [left, right] => add(circuit, left, right),
                    _ => pair.concat(),
                };
                // The last carry is never on where no sum can be that large.
                sum.truncate((usize::BITS - size.leading_zeros()) as usize);
                sums.push(sum);
            }
            levels.push(sums);
        }
        Self { legal, levels }
    }

    /// How many moves are legal: as many digits as the largest count needs.
    pub(super) fn total(&self) -> &[Literal] {
        self.levels
            .last()
            .and_then(|top| top.first())
            .map_or(&[], Vec::as_slice)
    }

    /// Per move, whether it is the one of this rank.
    pub(super) fn pick(&self, circuit: &mut Circuit, rank: &[Literal]) -> Vec<Literal> {
        let mut rank = rank.to_vec();
        let mut is_active = vec![Literal::TRUE];
        for level in self.levels.iter().rev().skip(1) {
            // What stands before the right one of the two groups that the rank falls in.
            let n_digits = level.iter().map(Vec::len).max().unwrap_or(0);
            let mut before: Number = vec![Literal::FALSE; n_digits];
            for (pair, &active) in level.chunks(2).zip(&is_active) {
                let [left, _] = pair else { continue };
                for (sum, &digit) in before.iter_mut().zip(left) {
                    // sum or (active and digit)
                    *sum = circuit.apply(0xf8, *sum, active, digit);
                }
            }
            // A group without a neighbour keeps its rank: nothing is before it, and it counts as
            // the right one.
            let (rest, is_left) = subtract(circuit, &rank, &before);
            let mut below = Vec::with_capacity(level.len());
            for (pair, &active) in level.chunks(2).zip(&is_active) {
                if pair.len() == 2 {
                    below.push(circuit.and(active, is_left));
                    below.push(circuit.and(active, !is_left));
                } else {
                    below.push(active);
                }
            }
            rank = rest
                .iter()
                .zip(&rank)
                .take(n_digits)
                .map(|(&rest, &rank)| circuit.choose(is_left, rank, rest))
                .collect();
            is_active = below;
        }
        let digit = |index: usize| rank.get(index).copied().unwrap_or(Literal::FALSE);
        let (low, high) = (digit(0), digit(1));
        let is_first = circuit.and(!low, !high);
        let mut picked = Vec::with_capacity(self.legal.len());
        for (moves, &active) in self.legal.chunks(GROUP).zip(&is_active) {
            // The last of a group is chosen when no other is.
            match *moves {
                [_] => picked.push(active),
                [a, _] => {
                    let first = circuit.and3(active, is_first, a);
                    picked.push(first);
                    picked.push(circuit.and(active, !first));
                }
                [a, b, _] => {
                    let first = circuit.and3(active, is_first, a);
                    let is_second = circuit.choose(a, low, is_first);
                    let second = circuit.and3(active, b, is_second);
                    picked.push(first);
                    picked.push(second);
                    picked.push(circuit.and3(active, !first, !second));
                }
                _ => {}
            }
        }
        picked
    }
}

/// A number without leading digits that are never on.
fn trimmed(mut number: Number) -> Number {
    while number.last() == Some(&Literal::FALSE) {
        number.pop();
    }
    number
}

/// The sum of two numbers.
fn add(circuit: &mut Circuit, left: &[Literal], right: &[Literal]) -> Number {
    let n_digits = left.len().max(right.len());
    let digit =
        |number: &[Literal], index: usize| number.get(index).copied().unwrap_or(Literal::FALSE);
    let mut carry = Literal::FALSE;
    let mut sum = Vec::with_capacity(n_digits + 1);
    for index in 0..n_digits {
        let (a, b) = (digit(left, index), digit(right, index));
        sum.push(circuit.xor3(a, b, carry));
        carry = circuit.majority(a, b, carry);
    }
    sum.push(carry);
    trimmed(sum)
}

/// The difference, as many digits as the first has, and whether the second is the larger one.
fn subtract(circuit: &mut Circuit, from: &[Literal], what: &[Literal]) -> (Number, Literal) {
    let mut borrow = Literal::FALSE;
    let mut difference = Vec::with_capacity(from.len());
    for index in 0..from.len().max(what.len()) {
        let digit = |number: &[Literal]| number.get(index).copied().unwrap_or(Literal::FALSE);
        let (a, b) = (digit(from), digit(what));
        difference.push(circuit.xor3(a, b, borrow));
        borrow = circuit.majority(!a, b, borrow);
    }
    (difference, borrow)
}
