//! Decisive moves, which win at once, and anti-decisive moves, which prevent the next role from
//! doing so (Teytaud and Teytaud, *On the Huge Benefit of Decisive Moves in Monte-Carlo Tree Search
//! Algorithms*, 2010).
//!
//! The next state after a move is computed with the move as a constant. Constant propagation leaves
//! a small test, such as whether three in a row stand beside the cell. The same for the reply shows
//! which moves leave the other role a win.
//!
//! Where the mover itself or chance moves next, nobody can win against it at once, and only wins
//! are looked for.
//!
//! Invariants: a move wins in a lane only where it is legal, ends the game, and gives the role 100.
//! If any move is legal, at least one remains. A move that ends the game otherwise may count as one
//! that lets the other role win, or not.

use super::cover::LutCover;
use super::{Circuit, Literal, current_bases, leaves_under};
use panza_gdl::{BaseId, CHANCE_ROLE, GateId, IdVec, MoveId, RoleId};
use panza_propnet::{GateKind, Network, Node, Signal};

/// The goal of a win.
const HIGHEST: u8 = 100;
/// The most gates and edges visited for all moves together.
pub(super) const MAX_WORK: usize = 80_000_000;
/// The most circuit nodes of a cheap test for a win.
const CHEAP: usize = 4;

/// The moves that are tested for a win.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CandidateScope {
    /// Those with a cheap test, such as moves that win wherever they are legal.
    Cheap,
    /// All that may win.
    All,
}

pub(super) type Bases = IdVec<BaseId, Literal>;

/// The one role that has a choice in a phase.
pub(super) struct Mover<'a> {
    network: &'a Network,
    role: RoleId,
    moves: Vec<MoveId>,
    /// The forced moves of the others.
    forced: Vec<MoveId>,
}

impl<'a> Mover<'a> {
    /// The mover, unless several roles have a choice, or none, or the chance role, which wins and
    /// avoids nothing.
    pub(super) fn of(network: &'a Network) -> Option<Self> {
        let mut of_role = possible_moves(network);
        let mut choosing = of_role.ids().filter(|&role| of_role[role].len() > 1);
        let role = choosing.next().filter(|_| choosing.next().is_none())?;
        if network.roles[role] == CHANCE_ROLE {
            return None;
        }
        let moves = std::mem::take(&mut of_role[role]);
        Some(Self {
            network,
            role,
            moves,
            forced: of_role.iter().flatten().copied().collect(),
        })
    }

    /// The mover of the next phase, if it is another role. The inner `None`: only the mover itself
    /// or the chance role chooses there, so that nobody wins against it at once. The outer one: all
    /// other phases.
    pub(super) fn replier<'b>(&self, next: &'b Network) -> Option<Option<Mover<'b>>> {
        if let Some(replier) = Mover::of(next).filter(|replier| replier.role != self.role) {
            return Some(Some(replier));
        }
        let moves = possible_moves(next);
        let mut choosing = moves.ids().filter(|&role| moves[role].len() > 1).peekable();
        let is_harmless = |role: RoleId| role == self.role || next.roles[role] == CHANCE_ROLE;
        (choosing.peek().is_some() && choosing.all(is_harmless)).then_some(None)
    }

    /// Signals of the next state after one of the moves.
    fn after(
        &self,
        mv: MoveId,
        cover: &LutCover<'a>,
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

/// The moves of each role that are legal in some state.
pub(super) fn possible_moves(network: &Network) -> IdVec<RoleId, Vec<MoveId>> {
    let mut of_role: IdVec<RoleId, Vec<MoveId>> =
        network.roles.iter().map(|_| Vec::new()).collect();
    let possible = network.legal.ids();
    let possible = possible.filter(|&mv| network.legal[mv] != Signal::FALSE);
    possible.for_each(|mv| of_role[network.moves[mv].0].push(mv));
    of_role
}

/// Whether the game is over with the highest goal for one role.
pub(super) struct Win<'a> {
    whole: &'a Network,
    goals: Vec<Signal>,
    outputs: Vec<Signal>,
    /// The bases that it depends on.
    pub(super) needed: Vec<BaseId>,
    /// Bases that are known in nonterminal states.
    known: Vec<(BaseId, Literal)>,
    cover: LutCover<'a>,
}

impl<'a> Win<'a> {
    pub(super) fn new(whole: &'a Network, role: RoleId) -> Self {
        let goals = whole.goals.iter();
        let goals: Vec<Signal> = goals
            .filter(|&&(of, value, _)| of == role && value == HIGHEST)
            .map(|&(_, _, signal)| signal)
            .collect();
        let mut outputs = goals.clone();
        outputs.push(whole.terminal);
        let unset: Bases = whole.facts.iter().map(|_| Literal::FALSE).collect();
        Self {
            whole,
            goals,
            needed: leaves_under(whole, &outputs).0,
            known: known_when_nonterminal(whole),
            cover: LutCover::new(whole, unset, &outputs, 0),
            outputs,
        }
    }

    /// The bases, with constants for those known in nonterminal states.
    pub(super) fn with_known(&self, mut bases: Bases) -> Bases {
        for &(base, literal) in &self.known {
            bases[base] = literal;
        }
        bases
    }

    /// Whether it holds in a state with these literals of the needed bases.
    fn is_reached(&self, needed: &[Literal], circuit: &mut Circuit) -> Literal {
        self.outcome(needed, circuit).0
    }

    /// Whether it holds, and whether the game is over, in a state with these literals of the needed
    /// bases.
    pub(super) fn outcome(&self, needed: &[Literal], circuit: &mut Circuit) -> (Literal, Literal) {
        let mut cover = self.cover.clone();
        for (&base, &literal) in self.needed.iter().zip(needed) {
            cover.set_base(base, literal);
        }
        cover.make(circuit, &self.outputs);
        let goals = self.goals.iter();
        let goals: Vec<Literal> = goals.map(|&signal| cover.literal(signal)).collect();
        let goal = circuit.any(&goals);
        let terminal = cover.literal(self.whole.terminal);
        (circuit.and(goal, terminal), terminal)
    }

    /// Per move of a role whether it wins, if it is a candidate. `None` if that takes a circuit of
    /// more than `max_nodes` nodes.
    fn by(
        &self,
        mover: &Mover<'a>,
        is_candidate: &[bool],
        bases: Bases,
        legal: &[Literal],
        circuit: &mut Circuit,
        max_nodes: usize,
    ) -> Option<Vec<Literal>> {
        let network = mover.network;
        let next: Vec<Signal> = self.needed.iter().map(|&base| network.next[base]).collect();
        let before = LutCover::new(network, bases, &next, 0);
        let moves = mover.moves.iter().zip(legal).zip(is_candidate);
        moves
            .map(|((&mv, &legal), &is_candidate)| {
                if !is_candidate || legal == Literal::FALSE {
                    return Some(Literal::FALSE);
                }
                if circuit.nodes.len() > max_nodes {
                    return None;
                }
                let needed = mover.after(mv, &before, &next, circuit);
                let win = self.is_reached(&needed, circuit);
                Some(circuit.and(legal, win))
            })
            .collect()
    }

    /// The moves of a role that may win, within the scope.
    fn candidates(
        &self,
        mover: &Mover<'a>,
        scope: CandidateScope,
        max_nodes: usize,
    ) -> Option<Vec<bool>> {
        let mut circuit = Circuit::new();
        let bases = self.with_known(current_bases(self.whole, &mut circuit));
        let legal = legal(mover, &bases, &mut circuit);
        let mut tested = vec![false; mover.moves.len()];
        let mut candidates = tested.clone();
        for index in 0..tested.len() {
            let n_nodes = circuit.nodes.len();
            tested[index] = true;
            let wins = self.by(
                mover,
                &tested,
                bases.clone(),
                &legal,
                &mut circuit,
                max_nodes,
            )?;
            tested[index] = false;
            let is_cheap = circuit.nodes.len() <= n_nodes + CHEAP;
            candidates[index] =
                wins[index] != Literal::FALSE && (scope == CandidateScope::All || is_cheap);
        }
        Some(candidates)
    }
}

fn legal(mover: &Mover<'_>, bases: &Bases, circuit: &mut Circuit) -> Vec<Literal> {
    let network = mover.network;
    let signals: Vec<Signal> = mover.moves.iter().map(|&mv| network.legal[mv]).collect();
    let mut cover = LutCover::new(network, bases.clone(), &signals, 0);
    cover.make(circuit, &signals);
    signals
        .iter()
        .map(|&signal| cover.literal(signal))
        .collect()
}

/// A turn with decisive moves.
pub(super) struct DecisiveTurn<'a> {
    pub(super) whole: &'a Network,
    pub(super) mover: Mover<'a>,
    /// The role that moves next, and may win then.
    pub(super) replier: Option<Mover<'a>>,
    pub(super) scope: CandidateScope,
    pub(super) max_nodes: usize,
}

/// The moves among which the mover chooses, given the legality of its moves on `bases`. `None`
/// where no move is decisive, or it takes too many nodes.
pub(super) fn preferred(
    turn: &DecisiveTurn<'_>,
    bases: &Bases,
    legal: &[Literal],
    circuit: &mut Circuit,
) -> Option<Vec<Literal>> {
    let (whole, mover) = (turn.whole, &turn.mover);
    let is_too_large = |network: &Network, n_moves: usize| {
        !network.blocks.is_empty() || n_moves * network.size() > MAX_WORK / 2
    };
    let n_moves = mover.moves.len();
    if is_too_large(whole, n_moves) || is_too_large(mover.network, n_moves) {
        return None;
    }
    let bound = circuit.nodes.len() + turn.max_nodes;
    let win = Win::new(whole, mover.role);
    let bases = win.with_known(bases.clone());
    let candidates = win.candidates(mover, turn.scope, turn.max_nodes)?;
    let wins = win.by(mover, &candidates, bases.clone(), legal, circuit, bound)?;
    let can_win = circuit.any(&wins);
    let moves = match &turn.replier {
        Some(replier) => safe_moves(turn, replier, bases, legal, circuit, bound)?,
        None => legal.to_vec(),
    };
    if moves == legal && can_win == Literal::FALSE || circuit.nodes.len() > bound {
        return None;
    }
    Some(choose(circuit, can_win, &wins, &moves))
}

/// The moves after which the replier cannot win at once; all where there are none. `None` where it
/// takes a circuit of more than `bound` nodes.
fn safe_moves(
    turn: &DecisiveTurn<'_>,
    replier: &Mover<'_>,
    bases: Bases,
    legal: &[Literal],
    circuit: &mut Circuit,
    bound: usize,
) -> Option<Vec<Literal>> {
    let (whole, mover) = (turn.whole, &turn.mover);
    let n_replies = replier.moves.len();
    if !replier.network.blocks.is_empty() || n_replies * replier.network.size() > MAX_WORK / 2 {
        return None;
    }
    let loss = Win::new(whole, replier.role);
    let candidates = loss.candidates(replier, turn.scope, turn.max_nodes)?;
    let n_replies = candidates
        .iter()
        .filter(|&&is_candidate| is_candidate)
        .count();
    let work = mover.moves.len() * (mover.network.size() + whole.size());
    if work * n_replies > MAX_WORK {
        return None;
    }
    let next: Vec<Signal> = mover.network.next.iter().copied().collect();
    let before = LutCover::new(mover.network, bases, &next, 0);
    let mut safe = Vec::with_capacity(legal.len());
    for (&mv, &legal) in mover.moves.iter().zip(legal) {
        let after: Bases = mover
            .after(mv, &before, &next, circuit)
            .into_iter()
            .collect();
        let after = loss.with_known(after);
        let replies = self::legal(replier, &after, circuit);
        let losses = loss.by(replier, &candidates, after, &replies, circuit, bound)?;
        let is_lost = circuit.any(&losses);
        safe.push(circuit.and(legal, !is_lost));
        if circuit.nodes.len() > bound {
            return None;
        }
    }
    let some = circuit.any(&safe);
    Some(choose(circuit, some, &safe, legal))
}

/// Per move the first literal where `on` is on, else the second.
pub(super) fn choose(
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

/// The bases with a known value in every nonterminal state.
fn known_when_nonterminal(whole: &Network) -> Vec<(BaseId, Literal)> {
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
