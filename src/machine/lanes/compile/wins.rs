//! Moves that win at once, and moves that let the other win at once, seen before they are made.
//!
//! What the next state would be after a move, and whether the game would be over in it, is worked
//! out with the move taken for made: with that known, most of the network folds away, and what is
//! left is the question that a player asks, such as whether three in a row stand beside the cell.
//! Once more for the reply shows which moves leave the other a win. Playouts that take the first
//! and shun the second are closer to play than even ones are (decisive and anti-decisive moves;
//! Teytaud and Teytaud, *On the Huge Benefit of Decisive Moves in Monte-Carlo Tree Search
//! Algorithms*, 2010).
//!
//! Invariants: a move is said to win in a lane only where it is legal, leads to an end, and brings
//! the role 100. Among moves that are legal at least one stays. A move that ends the game otherwise
//! may count as one that lets the other win, or not.

use super::cover::Cover;
use super::{Circuit, Literal, bases_under};
use crate::ids::{BaseId, GateId, IdVec, MoveId, RoleId};
use crate::propnet::{GateKind, Network, Node, Signal};

/// The goal that nothing is better than.
const HIGHEST: u8 = 100;
/// Gates and edges gone through for all moves together, at most.
const MOST_WORK: usize = 80_000_000;
/// Nodes of a circuit that a move may need for it to be cheap to see whether it wins.
const CHEAP: usize = 4;

/// Which of the moves that may win are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seen {
    /// Those that need next to nothing, such as moves that win wherever they are legal.
    Cheap,
    /// All.
    All,
}

/// What every base is.
type Bases = IdVec<BaseId, Literal>;

/// The one role that has a choice in a phase.
pub(super) struct Mover<'a> {
    network: &'a Network,
    role: RoleId,
    /// Its moves.
    moves: Vec<MoveId>,
    /// The moves of the others.
    forced: Vec<MoveId>,
}

impl<'a> Mover<'a> {
    /// Nothing where several roles have a choice, or none.
    pub(super) fn of(network: &'a Network) -> Option<Self> {
        let possible = network.legal.ids();
        let possible = possible.filter(|&mv| network.legal[mv] != Signal::FALSE);
        let mut of_role: IdVec<RoleId, Vec<MoveId>> =
            network.roles.iter().map(|_| Vec::new()).collect();
        possible.for_each(|mv| of_role[network.moves[mv].0].push(mv));
        let mut choosing = of_role.ids().filter(|&role| of_role[role].len() > 1);
        let role = choosing.next().filter(|_| choosing.next().is_none())?;
        let moves = std::mem::take(&mut of_role[role]);
        Some(Self {
            network,
            role,
            moves,
            forced: of_role.iter().flatten().copied().collect(),
        })
    }

    /// Signals of the next state with one of the moves made.
    fn after(
        &self,
        mv: MoveId,
        cover: &Cover<'a>,
        next: &[Signal],
        circuit: &mut Circuit,
    ) -> Vec<Literal> {
        let mut cover = cover.clone();
        for &mv in self.forced.iter().chain([&mv]) {
            cover.set_move(mv, Literal::TRUE);
        }
        cover.make(circuit, next);
        next.iter().map(|&signal| cover.literal(signal)).collect()
    }
}

/// When the game is over with the highest goal for one role.
struct Win<'a> {
    whole: &'a Network,
    goals: Vec<Signal>,
    asked: Vec<Signal>,
    /// The bases that it hangs on.
    needed: Vec<BaseId>,
    /// What is known before, since the game went on there.
    certain: Vec<(BaseId, Literal)>,
    cover: Cover<'a>,
}

impl<'a> Win<'a> {
    fn new(whole: &'a Network, role: RoleId) -> Self {
        let goals = whole.goals.iter();
        let goals: Vec<Signal> = goals
            .filter(|&&(of, value, _)| of == role && value == HIGHEST)
            .map(|&(_, _, signal)| signal)
            .collect();
        let mut asked = goals.clone();
        asked.push(whole.terminal);
        let nothing: Bases = whole.facts.iter().map(|_| Literal::FALSE).collect();
        Self {
            whole,
            goals,
            needed: bases_under(whole, &asked),
            certain: certain(whole),
            cover: Cover::new(whole, nothing, &asked, 0),
            asked,
        }
    }

    /// The bases, with what is known where the game goes on.
    fn going_on(&self, mut bases: Bases) -> Bases {
        for &(base, literal) in &self.certain {
            bases[base] = literal;
        }
        bases
    }

    /// Whether it is so in a state of which the needed bases are given.
    fn is_reached(&self, needed: &[Literal], circuit: &mut Circuit) -> Literal {
        let mut cover = self.cover.clone();
        for (&base, &literal) in self.needed.iter().zip(needed) {
            cover.set_base(base, literal);
        }
        cover.make(circuit, &self.asked);
        let goals = self.goals.iter();
        let goals: Vec<Literal> = goals.map(|&signal| cover.literal(signal)).collect();
        let goal = circuit.any(&goals);
        circuit.and(goal, cover.literal(self.whole.terminal))
    }

    /// Per move of a role whether it leads there. Moves that are not looked at do not. Nothing
    /// where that takes a circuit of more than `bound` nodes.
    fn by(
        &self,
        mover: &Mover<'a>,
        is_looked_at: &[bool],
        bases: Bases,
        legal: &[Literal],
        circuit: &mut Circuit,
        bound: usize,
    ) -> Option<Vec<Literal>> {
        let network = mover.network;
        let next: Vec<Signal> = self.needed.iter().map(|&base| network.next[base]).collect();
        let before = Cover::new(network, bases, &next, 0);
        let moves = mover.moves.iter().zip(legal).zip(is_looked_at);
        moves
            .map(|((&mv, &legal), &is_looked_at)| {
                if !is_looked_at || legal == Literal::FALSE {
                    return Some(Literal::FALSE);
                }
                if circuit.nodes.len() > bound {
                    return None;
                }
                let needed = mover.after(mv, &before, &next, circuit);
                let win = self.is_reached(&needed, circuit);
                Some(circuit.and(legal, win))
            })
            .collect()
    }

    /// The moves of a role that may win and are to be looked at.
    fn candidates(&self, mover: &Mover<'a>, seen: Seen, most: usize) -> Option<Vec<bool>> {
        let mut circuit = Circuit::new();
        let bases = self.whole.facts.ids();
        let bases = bases
            .map(|base| circuit.place(super::Place::Now(base.0)))
            .collect();
        let bases = self.going_on(bases);
        let legal = legal(mover, &bases, &mut circuit);
        let mut looked_at = vec![false; mover.moves.len()];
        let mut candidates = looked_at.clone();
        for index in 0..looked_at.len() {
            let n_nodes = circuit.nodes.len();
            looked_at[index] = true;
            let wins = self.by(mover, &looked_at, bases.clone(), &legal, &mut circuit, most)?;
            looked_at[index] = false;
            let is_cheap = circuit.nodes.len() <= n_nodes + CHEAP;
            candidates[index] = wins[index] != Literal::FALSE && (seen == Seen::All || is_cheap);
        }
        Some(candidates)
    }
}

/// Whether the moves of a role are legal.
fn legal(mover: &Mover<'_>, bases: &Bases, circuit: &mut Circuit) -> Vec<Literal> {
    let network = mover.network;
    let signals: Vec<Signal> = mover.moves.iter().map(|&mv| network.legal[mv]).collect();
    let mut cover = Cover::new(network, bases.clone(), &signals, 0);
    cover.make(circuit, &signals);
    signals
        .iter()
        .map(|&signal| cover.literal(signal))
        .collect()
}

/// A turn in which a role wins where it can, and shuns what lets the other win.
pub(super) struct Turn<'a> {
    /// The whole game.
    pub(super) whole: &'a Network,
    pub(super) mover: Mover<'a>,
    /// Whose turn comes next.
    pub(super) replier: Mover<'a>,
    pub(super) seen: Seen,
    /// Nodes of the circuit that it may take, at most.
    pub(super) most: usize,
}

/// The moves among which the mover chooses. Nothing where there is nothing to be seen, or it takes
/// too much. `legal` says what is legal on `bases`, in the mover's order.
pub(super) fn preferred(
    turn: &Turn<'_>,
    bases: &Bases,
    legal: &[Literal],
    circuit: &mut Circuit,
) -> Option<Vec<Literal>> {
    let Turn {
        whole,
        mover,
        replier,
        seen,
        most,
    } = turn;
    let (whole, seen, most) = (*whole, *seen, *most);
    let size = |network: &Network| network.gates.len() + network.n_edges();
    let work = mover.moves.len() * (size(mover.network) + size(whole));
    let networks = [whole, mover.network, replier.network];
    let n_moves = mover.moves.len().max(replier.moves.len());
    let is_too_large = networks
        .iter()
        .any(|network| !network.blocks.is_empty() || n_moves * size(network) > MOST_WORK / 2);
    if is_too_large {
        return None;
    }
    let bound = circuit.nodes.len() + most;
    let win = Win::new(whole, mover.role);
    let bases = win.going_on(bases.clone());
    let looked_at = win.candidates(mover, seen, most)?;
    let wins = win.by(mover, &looked_at, bases.clone(), legal, circuit, bound)?;
    let can_win = circuit.any(&wins);
    let loss = Win::new(whole, replier.role);
    let looked_at = loss.candidates(replier, seen, most)?;
    let n_replies = looked_at
        .iter()
        .filter(|&&is_looked_at| is_looked_at)
        .count();
    if work * n_replies > MOST_WORK {
        return None;
    }
    let next: Vec<Signal> = mover.network.next.iter().copied().collect();
    let before = Cover::new(mover.network, bases.clone(), &next, 0);
    let mut safe = Vec::with_capacity(legal.len());
    for (&mv, &legal) in mover.moves.iter().zip(legal) {
        let after: Bases = mover
            .after(mv, &before, &next, circuit)
            .into_iter()
            .collect();
        let after = loss.going_on(after);
        let replies = self::legal(replier, &after, circuit);
        let losses = loss.by(replier, &looked_at, after, &replies, circuit, bound)?;
        let is_lost = circuit.any(&losses);
        safe.push(circuit.and(legal, !is_lost));
        if circuit.nodes.len() > bound {
            return None;
        }
    }
    let some = circuit.any(&safe);
    let moves = choose(circuit, some, &safe, legal);
    if moves == legal && can_win == Literal::FALSE || circuit.nodes.len() > bound {
        return None;
    }
    Some(choose(circuit, can_win, &wins, &moves))
}

/// The ones where it is on, the others elsewhere.
fn choose(
    circuit: &mut Circuit,
    on: Literal,
    ones: &[Literal],
    others: &[Literal],
) -> Vec<Literal> {
    let pairs = ones.iter().zip(others);
    pairs
        .map(|(&one, &other)| circuit.choose(on, one, other))
        .collect()
}

/// The bases that are known wherever the game goes on, and what they are.
fn certain(whole: &Network) -> Vec<(BaseId, Literal)> {
    let mut known = Vec::new();
    let mut seen: IdVec<GateId, bool> = whole.gates.iter().map(|_| false).collect();
    let mut on = vec![!whole.terminal];
    while let Some(signal) = on.pop() {
        match whole.node(signal) {
            Node::Base(base) => {
                known.push((base, Literal::FALSE.inverted_if(!signal.is_inverted())));
            }
            Node::Gate(gate) if !std::mem::replace(&mut seen[gate], true) => {
                let is_and = whole.gates[gate].kind == GateKind::And;
                let inputs = whole.inputs(gate).iter();
                match (is_and, signal.is_inverted()) {
                    (true, false) => on.extend(inputs),
                    (false, true) => on.extend(inputs.map(|&input| !input)),
                    _ => {}
                }
            }
            Node::False | Node::Move(_) | Node::Gate(_) => {}
        }
    }
    known
}
