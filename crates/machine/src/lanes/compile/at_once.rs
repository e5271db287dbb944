//! Decisive moves where several roles choose at once.
//!
//! A role takes a move that wins whatever the others do, and avoids moves that end the game without
//! a win whatever they do, such as driving into a wall. The next state after each joint move is
//! computed with the moves as constants; what remains are small tests.
//!
//! Invariant: if any move of a role is legal, at least one remains.

use super::cover::LutCover;
use super::wins::{Bases, MAX_WORK, Win, choose};
use super::{Circuit, Literal};
use panza_gdl::{CHANCE_ROLE, IdVec, MoveId, RoleId};
use panza_propnet::{Network, Signal};

/// Games of more joint moves are left alone.
const MAX_JOINT_MOVES: usize = 256;

/// The legality of the moves of each role that are legal in some state.
pub(super) type LegalMoves = IdVec<RoleId, Vec<(MoveId, Literal)>>;

/// The roles with several moves where at least two have. `None` where fewer have, chance is among
/// them, or the joint moves are too many.
pub(super) fn choosing_at_once(
    whole: &Network,
    network: &Network,
    legal: &LegalMoves,
) -> Option<Vec<RoleId>> {
    let choosing = legal.ids().filter(|&role| legal[role].len() > 1);
    let choosing: Vec<RoleId> = choosing.collect();
    let has_chance = choosing
        .iter()
        .any(|&role| network.roles[role] == CHANCE_ROLE);
    let n_joint_moves =
        n_joint_moves(legal).filter(|count| (1..=MAX_JOINT_MOVES).contains(count))?;
    let work = n_joint_moves.saturating_mul(network.size() + whole.size());
    let are_blocks = !network.blocks.is_empty() || !whole.blocks.is_empty();
    let is_small = work.saturating_mul(choosing.len()) <= MAX_WORK;
    (choosing.len() >= 2 && !has_chance && is_small && !are_blocks).then_some(choosing)
}

fn n_joint_moves(legal: &LegalMoves) -> Option<usize> {
    let mut counts = legal.iter().map(Vec::len);
    counts.try_fold(1usize, |product, count| product.checked_mul(count))
}

/// For each role the moves among which it chooses. `None` where no move is decisive, or it takes
/// more than `max_nodes` nodes. `choosing` has the roles of [`choosing_at_once`].
pub(super) fn preferred_at_once(
    whole: &Network,
    network: &Network,
    bases: &Bases,
    legal: &LegalMoves,
    choosing: &[RoleId],
    circuit: &mut Circuit,
    max_nodes: usize,
) -> Option<LegalMoves> {
    let n_joint_moves = n_joint_moves(legal)?;
    let bound = circuit.nodes.len() + max_nodes;
    let mut preferred = legal.clone();
    for &role in choosing {
        let win = Win::new(whole, role);
        let next: Vec<Signal> = win.needed.iter().map(|&base| network.next[base]).collect();
        let before = LutCover::new(network, win.with_known(bases.clone()), &next, 0);
        let of_role = &legal[role];
        let mut wins = Vec::new();
        let mut good = Vec::new();
        for &(mv, is_legal) in of_role {
            let (mut always_wins, mut always_ends) = (is_legal, is_legal);
            for others in 0..n_joint_moves / of_role.len() {
                let (joint_move, are_legal) = joint_move(legal, role, mv, others, circuit);
                let mut cover = before.clone();
                for mv in joint_move {
                    cover.set_move(mv, Literal::TRUE);
                }
                cover.make(circuit, &next);
                let needed: Vec<Literal> = next.iter().map(|&it| cover.literal(it)).collect();
                let (is_won, has_ended) = win.outcome(&needed, circuit);
                let wins = circuit.or(is_won, !are_legal);
                always_wins = circuit.and(always_wins, wins);
                let ends = circuit.and(has_ended, !is_won);
                let ends = circuit.or(ends, !are_legal);
                always_ends = circuit.and(always_ends, ends);
                if circuit.nodes.len() > bound {
                    return None;
                }
            }
            wins.push(always_wins);
            good.push(circuit.and(is_legal, !always_ends));
        }
        let all: Vec<Literal> = of_role.iter().map(|&(_, is_legal)| is_legal).collect();
        let some = circuit.any(&good);
        let moves = choose(circuit, some, &good, &all);
        let some = circuit.any(&wins);
        let moves = choose(circuit, some, &wins, &moves);
        for ((_, place), literal) in preferred[role].iter_mut().zip(moves) {
            *place = literal;
        }
    }
    let is_same = preferred
        .iter()
        .zip(legal.iter())
        .all(|(new, old)| new == old);
    (!is_same && circuit.nodes.len() <= bound).then_some(preferred)
}

/// A role's move with one of the joint moves of the others, counted from 0, and whether that is
/// legal.
fn joint_move(
    legal: &LegalMoves,
    role: RoleId,
    mv: MoveId,
    others: usize,
    circuit: &mut Circuit,
) -> (Vec<MoveId>, Literal) {
    let mut rest = others;
    let mut joint_move = vec![mv];
    let mut are_legal = Literal::TRUE;
    for other in legal.ids().filter(|&other| other != role) {
        let moves = &legal[other];
        let (mv, is_legal) = moves[rest % moves.len()];
        rest /= moves.len();
        joint_move.push(mv);
        // A role's only move is made wherever the game goes on.
        if moves.len() > 1 {
            are_legal = circuit.and(are_legal, is_legal);
        }
    }
    (joint_move, are_legal)
}
