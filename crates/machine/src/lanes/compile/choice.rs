//! Uniform choice of a legal move per lane, as logic.
//!
//! A tree of carry-save adders counts the legal moves of each lane, and the caller draws a rank
//! below the count. The rank then descends the tree to the group that contains it, less the counts
//! of the groups before. Numbers are bit-sliced, one vector per binary digit, so the cost is a few
//! adders a move for all lanes together.
//!
//! Invariants: in a lane whose rank is below its count exactly one move is chosen, the n-th legal
//! one in the given order for rank n. In other lanes any moves may be chosen.
//!
//! Never uses: how ranks are drawn.

use super::circuit::{Circuit, Literal};

/// A number per lane, lowest digit first.
type Number = Vec<Literal>;

/// Moves in the smallest groups, which one full adder counts.
const GROUP: usize = 3;

/// The moves of one role, counted.
pub(super) struct Choice {
    legal: Vec<Literal>,
    /// The counts, from the smallest groups to the group of all.
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
                // The last carry is never on where the group is too small for it.
                sum.truncate((usize::BITS - size.leading_zeros()) as usize);
                sums.push(sum);
            }
            levels.push(sums);
        }
        Self { legal, levels }
    }

    /// The number of legal moves, with as many digits as the largest count needs.
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
            // The count before the right one of the two groups that contain the rank.
            let n_digits = level.iter().map(Vec::len).max().unwrap_or(0);
            let mut before: Number = vec![Literal::FALSE; n_digits];
            for (pair, &active) in level.chunks(2).zip(&is_active) {
                let [left, _] = pair else { continue };
                for (sum, &digit) in before.iter_mut().zip(left) {
                    // sum or (active and digit)
                    *sum = circuit.apply(0xf8, *sum, active, digit);
                }
            }
            // A group without a neighbour counts as the right one with nothing before it, so it
            // keeps its rank.
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

fn trimmed(mut number: Number) -> Number {
    while number.last() == Some(&Literal::FALSE) {
        number.pop();
    }
    number
}

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

/// The difference, with as many digits as the longer operand, and whether it is negative.
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
