//! The specialisation of one phase's network.

use rustc_hash::{FxHashMap, FxHashSet};

use super::SpecialisedPhase;
use crate::builder::Builder;
use crate::builder::NetworkError;
use crate::network::{Network, Node, Signal};
use panza_gdl::{BaseId, GateId, Id, IdVec, MoveId, RoleId};

/// The most effects of all moves in all phases. A game with more runs on its network as it is.
const MAX_EFFECTS: usize = 1 << 25;

/// The memory that an effect takes up in a layout, at most.
const BYTES_PER_EFFECT: usize = 64;

/// Gates visited to specialise one role's moves in one phase. Beyond, the moves are propagated.
const MAX_VISITED: usize = 1 << 23;
const SAMPLED_MOVES: usize = 4;

/// The roles whose moves a gate depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Dependence {
    /// None: a function of the state.
    State,
    Role(RoleId),
    Joint,
}

impl Dependence {
    fn and(self, other: Dependence) -> Dependence {
        match (self, other) {
            (Dependence::State, other) => other,
            (this, Dependence::State) => this,
            (this, other) if this == other => this,
            _ => Dependence::Joint,
        }
    }
}

/// Partial evaluation of one phase's network into the common one.
pub(super) struct PhaseSpecialiser<'a, 'b> {
    pub(super) network: &'a Network,
    pub(super) builder: &'a mut Builder<'b>,
    /// Moves that are always or never made here.
    forced: IdVec<MoveId, Option<bool>>,
    dependence: IdVec<GateId, Dependence>,
    /// Per gate, the gates that use it and depend on one role's moves.
    users: Vec<Vec<GateId>>,
    users_of_move: Vec<Vec<GateId>>,
    /// Per gate its signal when no role with a choice moves, except for joint gates.
    unmoved: IdVec<GateId, Signal>,
    propagated: Vec<Option<Signal>>,
    moved: Vec<Option<Signal>>,
    cone: Vec<GateId>,
    n_visited: usize,
}

impl<'a, 'b> PhaseSpecialiser<'a, 'b> {
    pub(super) fn new(network: &'a Network, builder: &'a mut Builder<'b>) -> Self {
        Self {
            forced: network.forced_moves(),
            dependence: IdVec::new(),
            users: vec![Vec::new(); network.gates.len()],
            users_of_move: vec![Vec::new(); network.moves.len()],
            unmoved: IdVec::new(),
            propagated: vec![None; network.gates.len()],
            moved: vec![None; network.gates.len()],
            cone: Vec::new(),
            n_visited: 0,
            network,
            builder,
        }
    }

    fn dependence_of(&self, signal: Signal) -> Dependence {
        match self.network.node(signal) {
            Node::False | Node::Base(_) => Dependence::State,
            Node::Move(mv) if self.forced[mv].is_some() => Dependence::State,
            Node::Move(mv) => Dependence::Role(self.network.moves[mv].0),
            Node::Gate(gate) => self.dependence[gate],
        }
    }

    fn unmoved(&self, signal: Signal) -> Signal {
        match self.network.node(signal) {
            Node::False | Node::Base(_) => signal,
            Node::Move(mv) if self.forced[mv] == Some(true) => {
                Signal::TRUE.inverted_if(signal.is_inverted())
            }
            Node::Move(_) => Signal::FALSE.inverted_if(signal.is_inverted()),
            Node::Gate(gate) => self.unmoved[gate].inverted_if(signal.is_inverted()),
        }
    }

    fn propagated(&mut self, signal: Signal) -> Signal {
        match self.network.node(signal) {
            Node::Move(mv) if self.forced[mv].is_none() => return signal,
            Node::Gate(_) => {}
            _ => return self.unmoved(signal),
        }
        // Depth first with an explicit stack: networks may be deep.
        let mut open = vec![signal];
        while let Some(&top) = open.last() {
            let Node::Gate(gate) = self.network.node(top) else {
                open.pop();
                continue;
            };
            if self.propagated[gate.index()].is_some() {
                open.pop();
                continue;
            }
            if self.dependence[gate] == Dependence::State {
                self.propagated[gate.index()] = Some(self.unmoved[gate]);
                open.pop();
                continue;
            }
            let n_open = open.len();
            let mut inputs = Vec::new();
            for &input in self.network.inputs(gate) {
                match self.network.node(input) {
                    Node::Gate(inner) => match self.propagated[inner.index()] {
                        Some(known) => inputs.push(known.inverted_if(input.is_inverted())),
                        None => open.push(input),
                    },
                    Node::Move(mv) if self.forced[mv].is_none() => inputs.push(input),
                    _ => inputs.push(self.unmoved(input)),
                }
            }
            if open.len() == n_open {
                self.propagated[gate.index()] = Some(self.builder.and(&mut inputs));
                open.pop();
            }
        }
        match self.network.node(signal) {
            Node::Gate(gate) => self.propagated[gate.index()]
                .unwrap_or(Signal::FALSE)
                .inverted_if(signal.is_inverted()),
            _ => signal,
        }
    }

    /// Specialises the phase; `None` when there are too many effects.
    pub(super) fn run(
        &mut self,
        shared: &IdVec<BaseId, Option<Signal>>,
        max_bytes: usize,
        n_effects: &mut usize,
    ) -> Result<Option<SpecialisedPhase>, NetworkError> {
        let network = self.network;
        let mut inputs: Vec<Signal> = Vec::new();
        for gate in network.gates.ids() {
            let dependence = network
                .inputs(gate)
                .iter()
                .map(|&input| self.dependence_of(input))
                .fold(Dependence::State, Dependence::and);
            self.dependence.push(dependence);
            if let Dependence::Role(_) = dependence {
                for &input in network.inputs(gate) {
                    match network.node(input) {
                        Node::Gate(inner) => self.users[inner.index()].push(gate),
                        Node::Move(mv) => self.users_of_move[mv.index()].push(gate),
                        _ => {}
                    }
                }
            }
            let unmoved = match dependence {
                Dependence::Joint => Signal::FALSE,
                _ => {
                    inputs.clear();
                    inputs.extend(
                        network
                            .inputs(gate)
                            .iter()
                            .map(|&input| self.unmoved(input)),
                    );
                    self.builder.and(&mut inputs)
                }
            };
            self.unmoved.push(unmoved);
        }
        self.builder.check()?;
        let mut phase = SpecialisedPhase {
            terminal: self.unmoved(network.terminal),
            legal: network.roles.iter().map(|_| Vec::new()).collect(),
            next: network.next.iter().map(|_| Signal::FALSE).collect(),
            keyed: Vec::new(),
            effects: network.roles.iter().map(|_| Vec::new()).collect(),
            goals: Vec::new(),
        };
        let mut propagated = Vec::new();
        for &(role, value, signal) in &network.goals {
            phase.goals.push((role, value, self.unmoved(signal)));
        }
        for (mv, &legal) in network.legal.enumerate() {
            if legal != Signal::FALSE {
                let legal = self.unmoved(legal);
                phase.legal[network.moves[mv].0].push((mv, legal));
            }
        }
        let mut bases_of: FxHashMap<RoleId, Vec<BaseId>> = FxHashMap::default();
        for (base, &signal) in network.next.enumerate() {
            match self.dependence_of(signal) {
                Dependence::State => phase.next[base] = self.unmoved(signal),
                Dependence::Role(role) => bases_of.entry(role).or_default().push(base),
                Dependence::Joint => propagated.push(base),
            }
        }
        for role in network.roles.ids() {
            let bases = bases_of.remove(&role).unwrap_or_default();
            let (cheap, heavy) = self.split_by_cost(&bases, &phase.legal[role]);
            propagated.extend(heavy);
            if !self.specialise_role(role, &cheap, &mut phase, max_bytes, n_effects)? {
                return Ok(None);
            }
        }
        for &base in &propagated {
            phase.next[base] =
                shared[base].unwrap_or_else(|| self.propagated(self.network.next[base]));
        }
        self.key_updates(&propagated, &mut phase);
        Ok(Some(phase))
    }

    /// Fills in the defaults and effects of the bases that depend on one role's moves. False when
    /// there are too many effects.
    fn specialise_role(
        &mut self,
        role: RoleId,
        bases: &[BaseId],
        phase: &mut SpecialisedPhase,
        max_bytes: usize,
        n_effects: &mut usize,
    ) -> Result<bool, NetworkError> {
        let moves: Vec<MoveId> = phase.legal[role].iter().map(|&(mv, _)| mv).collect();
        phase.effects[role] = vec![Vec::new(); moves.len()];
        if bases.is_empty() {
            return Ok(true);
        }
        let of_node = self.bases_of_nodes(bases);
        let is_on_path = self.on_path(&of_node);
        let mut effects: Vec<Vec<(BaseId, Signal)>> = Vec::with_capacity(moves.len());
        for &mv in &moves {
            let of_move = self.effects_of(mv, &of_node, &is_on_path);
            *n_effects += of_move.len();
            if *n_effects > MAX_EFFECTS || *n_effects > max_bytes / BYTES_PER_EFFECT {
                return Ok(false);
            }
            effects.push(of_move);
            if self.builder.is_over_after(1) {
                self.builder.check()?;
            }
        }
        self.choose_defaults(bases, &mut effects, phase);
        effects.iter_mut().for_each(|effects| {
            effects.retain(|&(base, signal)| signal != phase.next[base]);
            effects.sort_unstable();
        });
        phase.effects[role] = effects;
        Ok(true)
    }

    /// Splits bases into those to specialise and those to propagate. A base is propagated when most
    /// of a sample of moves need gates of their own for it, since one gate then serves all moves.
    fn split_by_cost(
        &mut self,
        bases: &[BaseId],
        legal: &[(MoveId, Signal)],
    ) -> (Vec<BaseId>, Vec<BaseId>) {
        if bases.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let moves: Vec<MoveId> = legal.iter().map(|&(mv, _)| mv).collect();
        let of_node = self.bases_of_nodes(bases);
        let is_on_path = vec![true; self.network.gates.len()];
        let n_sampled = moves.len().min(SAMPLED_MOVES);
        let first_gate = self.network.first_gate();
        let mut values: FxHashMap<BaseId, Vec<Signal>> = FxHashMap::default();
        self.n_visited = 0;
        for sample in 0..n_sampled {
            let mv = moves[sample * moves.len() / n_sampled];
            for (base, signal) in self.effects_of(mv, &of_node, &is_on_path) {
                values.entry(base).or_default().push(signal);
            }
        }
        // Games with very many moves would take too long.
        if self.n_visited / n_sampled.max(1) * moves.len() > MAX_VISITED {
            return (Vec::new(), bases.to_vec());
        }
        // Most of the sampled moves need a gate of their own, when the most common value is the
        // default.
        let is_heavy = |base: &BaseId| {
            let Some(values) = values.get(base) else {
                return false;
            };
            let same = |signal: Signal| values.iter().filter(|&&other| other == signal).count();
            let n_own_gates = values.iter().filter(|signal| {
                signal.node_number() >= first_gate && 2 * same(**signal) <= n_sampled
            });
            2 * n_own_gates.count() > n_sampled
        };
        bases.iter().partition(|base| !is_heavy(base))
    }

    /// Per node, the bases whose next value it is.
    fn bases_of_nodes(&self, bases: &[BaseId]) -> FxHashMap<usize, Vec<BaseId>> {
        let mut of_node: FxHashMap<usize, Vec<BaseId>> = FxHashMap::default();
        for &base in bases {
            let node = self.network.next[base].node_number();
            of_node.entry(node).or_default().push(base);
        }
        of_node
    }

    /// Per gate whether one of the nodes depends on it.
    fn on_path(&self, of_node: &FxHashMap<usize, Vec<BaseId>>) -> Vec<bool> {
        let network = self.network;
        let first_gate = network.first_gate();
        let mut is_on_path = vec![false; network.gates.len()];
        for gate in network.gates.ids().rev() {
            is_on_path[gate.index()] |= of_node.contains_key(&(first_gate + gate.index()));
            if is_on_path[gate.index()] {
                for &input in network.inputs(gate) {
                    if let Node::Gate(inner) = network.node(input) {
                        is_on_path[inner.index()] = true;
                    }
                }
            }
        }
        is_on_path
    }

    /// The next values of the bases under one move of a role, where they may differ from those
    /// without it.
    fn effects_of(
        &mut self,
        mv: MoveId,
        of_node: &FxHashMap<usize, Vec<BaseId>>,
        is_on_path: &[bool],
    ) -> Vec<(BaseId, Signal)> {
        let network = self.network;
        let mut cone = std::mem::take(&mut self.cone);
        let mut reached = 0;
        let mut users = &self.users_of_move[mv.index()];
        loop {
            for &user in users {
                if self.moved[user.index()].is_none() && is_on_path[user.index()] {
                    self.moved[user.index()] = Some(Signal::FALSE);
                    cone.push(user);
                }
            }
            let Some(&gate) = cone.get(reached) else {
                break;
            };
            users = &self.users[gate.index()];
            reached += 1;
        }
        cone.sort_unstable();
        let mut effects = Vec::new();
        let mut note = |node: usize, value: Signal| {
            for &base in of_node.get(&node).into_iter().flatten() {
                effects.push((base, value.inverted_if(network.next[base].is_inverted())));
            }
        };
        note(network.move_node(mv), Signal::TRUE);
        let first_gate = network.first_gate();
        let mut inputs: Vec<Signal> = Vec::new();
        for &gate in &cone {
            inputs.clear();
            for &input in network.inputs(gate) {
                inputs.push(match network.node(input) {
                    Node::Move(made) if made == mv => Signal::TRUE.inverted_if(input.is_inverted()),
                    Node::Gate(inner) => match self.moved[inner.index()] {
                        Some(signal) => signal.inverted_if(input.is_inverted()),
                        None => self.unmoved(input),
                    },
                    _ => self.unmoved(input),
                });
            }
            let value = self.builder.and(&mut inputs);
            self.moved[gate.index()] = Some(value);
            note(first_gate + gate.index(), value);
        }
        self.n_visited += cone.len();
        for gate in cone.drain(..) {
            self.moved[gate.index()] = None;
        }
        self.cone = cone;
        effects
    }

    /// Makes the most common next value of each base its default.
    fn choose_defaults(
        &self,
        bases: &[BaseId],
        effects: &mut [Vec<(BaseId, Signal)>],
        phase: &mut SpecialisedPhase,
    ) {
        let network = self.network;
        let mut values: FxHashMap<BaseId, Vec<Signal>> = FxHashMap::default();
        for &(base, signal) in effects.iter().flatten() {
            values.entry(base).or_default().push(signal);
        }
        let mut exceptional = Vec::new();
        for &base in bases {
            let unmoved = self.unmoved(network.next[base]);
            let values = values.entry(base).or_default();
            values.sort_unstable();
            let n_unmoved = effects.len() - values.len();
            let identity = Signal::of_base(base);
            let weight = |signal: Signal, count: usize| (count, signal == identity);
            let mut best = (weight(unmoved, n_unmoved), unmoved);
            for same in values.chunk_by(|left, right| left == right) {
                let count = same.len() + if same[0] == unmoved { n_unmoved } else { 0 };
                best = best.max((weight(same[0], count), same[0]));
            }
            phase.next[base] = best.1;
            if best.1 != unmoved {
                exceptional.push((base, unmoved));
            }
        }
        if exceptional.is_empty() {
            return;
        }
        for of_move in effects {
            let listed: FxHashSet<BaseId> = of_move.iter().map(|&(base, _)| base).collect();
            let missing = exceptional
                .iter()
                .filter(|(base, _)| !listed.contains(base));
            of_move.extend(missing);
        }
    }
}
