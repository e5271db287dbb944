//! A factor of a game as a network of its own.
//!
//! The factor has some of the bases, and for each role one move in place of several that have the
//! same effect in it. Inputs from outside the factor are left out: they count as true in a
//! conjunction and as false in a disjunction. So a board is full when its own squares are.
//! A move of the factor is legal when any of the moves that it stands for is.
//!
//! Moves elsewhere may be limited: of a supply of them only the number left is kept, as bases of
//! which the first is on where one is left, the second where two are, and so on.

use rustc_hash::FxHashMap;

use super::builder::{Builder, NetworkError};
use super::copy::copy_gates;
use super::network::{Network, Node, Signal};
use super::normalise::normalised;
use panza_gdl::{BaseId, Id, IdVec, MoveId, RoleId};
use panza_sync::Budget;

/// The bases and moves of a factor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selection {
    /// The factor's bases; the index of each is its number in the factor.
    pub bases: Vec<BaseId>,
    /// The factor's moves, by role; the index of each is its number in the factor. Each stands for
    /// at least one move of the game; several have the same effect in the factor. Moves of the game
    /// that none stands for are never made.
    pub moves: Vec<(RoleId, Vec<MoveId>)>,
    /// The supplies, whose bases come after the others.
    pub supplies: Vec<LimitedMoves>,
}

/// Moves of a factor of which so many can be made, all together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LimitedMoves {
    /// The most that are ever left.
    pub most: usize,
    /// How many are left at the start.
    pub at_start: usize,
    /// The numbers of the moves in the factor.
    pub moves: Vec<usize>,
}

/// The network of a factor of a game.
///
/// # Errors
/// When the budget ends.
pub fn part(
    network: &Network,
    selection: &Selection,
    budget: &Budget,
) -> Result<Network, NetworkError> {
    let n_counters: usize = selection.supplies.iter().map(|supply| supply.most).sum();
    let n_moves = selection.moves.len();
    let n_bases = selection.bases.len() + n_counters;
    let mut base_of: IdVec<BaseId, Option<Signal>> = network.facts.iter().map(|_| None).collect();
    for (index, &base) in selection.bases.iter().enumerate() {
        base_of[base] = Some(Signal::of_node(1 + index));
    }
    // The first of the moves that a move of the factor stands for is made, and no other.
    let mut move_of: IdVec<MoveId, Signal> = network.moves.iter().map(|_| Signal::FALSE).collect();
    for (index, (_, members)) in selection.moves.iter().enumerate() {
        if let Some(&first) = members.first() {
            move_of[first] = Signal::of_node(1 + n_bases + index);
        }
    }
    let leaf = |signal: Signal| {
        let plain = match network.node(signal) {
            Node::Base(base) => base_of[base]?,
            Node::Move(mv) => move_of[mv],
            _ => return Some(signal),
        };
        Some(plain.inverted_if(signal.is_inverted()))
    };
    let mut builder = Builder::new(n_bases + n_moves, budget);
    let copies = copy_gates(network, &mut builder, &leaf, |builder, _, inputs, _| {
        (!inputs.is_empty()).then(|| builder.and(inputs))
    })?;
    let output = |signal: Signal| copies.of(signal).unwrap_or(Signal::FALSE);
    let next = selection.bases.iter();
    let mut next: IdVec<BaseId, Signal> = next.map(|&base| output(network.next[base])).collect();
    let mut legal = IdVec::new();
    let mut alternatives: Vec<Signal> = Vec::new();
    for (_, members) in &selection.moves {
        alternatives.clear();
        let of_members = members.iter().map(|&mv| copies.of(network.legal[mv]));
        alternatives.extend(of_members.map(|legal| legal.unwrap_or(Signal::TRUE)));
        legal.push(builder.or(&mut alternatives));
    }
    let counters = Counters {
        first_move: 1 + n_bases,
        next: &mut next,
        legal: &mut legal,
    };
    let at_start = counters.add(&mut builder, selection);
    let goals = network.goals.iter();
    let goals = goals.map(|&(role, value, signal)| (role, value, output(signal)));
    let goals = goals.collect();
    let terminal = output(network.terminal);
    let moves = selection.moves.iter().map(|(role, members)| {
        let first = members.first();
        let text = first.map_or_else(String::new, |&first| network.moves[first].1.clone());
        (*role, text)
    });
    let bases = selection.bases.iter().enumerate();
    let places: FxHashMap<BaseId, usize> = bases.map(|(place, &base)| (base, place)).collect();
    let index_of = |base: &BaseId| places.get(base).copied();
    let initial = network.initial.iter().filter_map(index_of).chain(at_start);
    let facts = selection
        .bases
        .iter()
        .map(|&base| network.facts[base].clone());
    let counts = selection.supplies.iter().enumerate();
    let counts = counts.flat_map(|(supply, it)| (1..=it.most).map(move |n| (supply, n)));
    let counts = counts.map(|(supply, n)| format!("(left {supply} {n})"));
    let (gates, inputs) = builder.into_gates()?;
    normalised(
        Network {
            roles: network.roles.clone(),
            facts: facts.chain(counts).collect(),
            moves: moves.collect(),
            initial: initial.map(BaseId::from_index).collect(),
            next,
            legal,
            terminal,
            goals,
            gates,
            inputs,
            blocks: Vec::new(),
        },
        budget,
    )
}

/// The bases of supplies in the making of a factor.
struct Counters<'a> {
    /// The node of the first move.
    first_move: usize,
    next: &'a mut IdVec<BaseId, Signal>,
    legal: &'a mut IdVec<MoveId, Signal>,
}

impl Counters<'_> {
    /// Adds the bases of each supply, and makes its moves illegal where none is left. Returns the
    /// bases that are on at the start.
    fn add(self, builder: &mut Builder<'_>, selection: &Selection) -> Vec<usize> {
        let mut at_start = Vec::new();
        for supply in &selection.supplies {
            let first = self.next.len();
            let left = |n: usize| match n {
                n if n < supply.most => Signal::of_node(1 + first + n),
                _ => Signal::FALSE,
            };
            let moves = supply.moves.iter();
            let mut made: Vec<Signal> = moves
                .map(|&mv| Signal::of_node(self.first_move + mv))
                .collect();
            let is_made = builder.or(&mut made);
            for n in 0..supply.most {
                // As many stay left, unless one is made and no more were.
                let kept = builder.or(&mut vec![!is_made, left(n + 1)]);
                self.next.push(builder.and(&mut vec![left(n), kept]));
                if n < supply.at_start {
                    at_start.push(first + n);
                }
            }
            for &mv in &supply.moves {
                let legal = &mut self.legal[MoveId::from_index(mv)];
                *legal = builder.and(&mut vec![*legal, left(0)]);
            }
        }
        at_start
    }
}
