//! A game unfolded by phase and by move: what a move does to the state, read off instead of
//! propagated.
//!
//! Within a phase usually one role alone has a choice. Under each of its moves the next state
//! mostly is the state as it was, a few facts apart; substituting the move into the network leaves
//! for each of those few facts a signal over the bases alone, often a constant. So no gate has to
//! follow the moves at all: what is left to be kept up to date while a game runs is what decides
//! legality and the end. (Compilers of game descriptions make moves into code in the same way, as
//! RBG does; the partial evaluation of a network move by move is ours.)
//!
//! A fact whose next value hangs on the moves of two roles at once stays a function of the moves.
//!
//! Invariants: for a state of the phase and a legal joint move, a base's next value is its effect
//! under the move of the role whose effects list it, else its default. All signals belong to one
//! network, in which logic that several phases need stands once. Only networks without blocks are
//! unfolded.

use rustc_hash::{FxHashMap, FxHashSet};

use super::build::BuildError;
use super::builder::Builder;
use super::network::{Network, Node, Signal};
use super::passes::Pass;
use super::phases::Phases;
use super::tidy::tidied;
use crate::ground::Budget;
use crate::ids::{BaseId, GateId, Id, IdVec, MoveId, RoleId};

/// Effects in all, over all moves and phases: beyond this a game is run on its network as it is.
const MAX_EFFECTS: usize = 1 << 25;

/// What an effect takes up, at most, on its way into a layout.
const BYTES_PER_EFFECT: usize = 64;

/// Gates that may be gone through to unfold one role's moves in one phase; beyond, gates follow the
/// moves.
const MAX_VISITED: usize = 1 << 23;
/// Moves that are looked at to see whether a base is worth unfolding.
const SAMPLED_MOVES: usize = 4;

/// At most one key in so many is true at the start, and so many bases hang on a key, where keys are
/// used.
const SPARSE: usize = 8;

/// A game unfolded.
#[derive(Clone, Debug)]
pub struct Unfolded {
    /// The gates, over bases and those moves that are propagated. Its outputs are listed in `next`,
    /// whose places have no meaning of their own; the phases hold the signals.
    pub network: Network,
    /// The phases, in the order of the mutex group; one when there are none.
    pub phases: Vec<UnfoldedPhase>,
}

/// One phase of an unfolded game.
#[derive(Clone, Debug)]
pub struct UnfoldedPhase {
    /// Whether the game is over.
    pub terminal: Signal,
    /// Per role, the moves that may be legal here, in rising order, and when they are.
    pub legal: IdVec<RoleId, Vec<(MoveId, Signal)>>,
    /// Per base its next value when no effect and no key says otherwise. May hang on the moves that
    /// are propagated.
    pub next: IdVec<BaseId, Signal>,
    /// Signals that are mostly off, and what they do to the next state when they are on.
    pub keyed: Vec<Keyed>,
    /// Per move that may be legal here, in the order of `legal`: what becomes of which bases.
    pub effects: IdVec<RoleId, Vec<Vec<(BaseId, Signal)>>>,
    /// Role, value and signal of each goal.
    pub goals: Vec<(RoleId, u8, Signal)>,
}

/// What a signal does to the next state while it is on.
#[derive(Clone, Debug)]
pub struct Keyed {
    /// A base or gate.
    pub key: Signal,
    /// Bases that become false, whatever [`UnfoldedPhase::next`] says.
    pub clears: Vec<BaseId>,
    /// Bases that become true, whatever clears them, each if its signal is on.
    pub sets: Vec<(BaseId, Signal)>,
}

/// Unfolds a game and the phases of it, if it has any.
///
/// # Errors
/// The budget ended. Nothing when a network has blocks, or the effects are too many.
pub fn unfold(
    whole: &Network,
    phases: Option<&Phases>,
    budget: Budget,
) -> Result<Option<Unfolded>, BuildError> {
    let (group, networks): (&[BaseId], &[Network]) = match phases {
        Some(phases) => (&phases.mutex_group, &phases.networks),
        None => (&[], std::slice::from_ref(whole)),
    };
    if !whole.blocks.is_empty() || networks.iter().any(|network| !network.blocks.is_empty()) {
        return Ok(None);
    }
    let mut builder = Builder::new(whole.facts.len() + whole.moves.len());
    let shared = shared_next(whole, group, &mut builder, budget)?;
    let mut n_effects = 0;
    let mut unfolded = Vec::new();
    for network in networks {
        let mut unfolding = Unfolding::new(network, &mut builder);
        match unfolding.run(&shared, budget, &mut n_effects)? {
            Some(phase) => unfolded.push(phase),
            None => return Ok(None),
        }
    }
    let mut outputs: IdVec<BaseId, Signal> = IdVec::new();
    for phase in &mut unfolded {
        phase.for_each_signal(|signal| {
            outputs.push(*signal);
        });
    }
    let (gates, inputs) = builder.into_gates();
    let bag = tidied(Network {
        gates,
        inputs,
        blocks: Vec::new(),
        next: outputs,
        legal: IdVec::new(),
        terminal: Signal::FALSE,
        goals: Vec::new(),
        roles: whole.roles.clone(),
        facts: whole.facts.clone(),
        moves: whole.moves.clone(),
        initial: whole.initial.clone(),
        sample: None,
        unweighed: None,
    });
    // Other passes have had their turn on the phases' networks, where they could weigh what they
    // do.
    let bag = Pass::Flatten.apply(&bag, budget)?;
    let mut signals = bag.next.iter();
    for phase in &mut unfolded {
        phase.for_each_signal(|signal| {
            // The walk is the same as above, so there are as many.
            *signal = signals.next().copied().unwrap_or(Signal::FALSE);
        });
    }
    Ok(Some(Unfolded {
        network: bag,
        phases: unfolded,
    }))
}

/// The next values that read no base of the mutex group, as functions of the moves: they are the same in
/// all phases, so where gates follow the moves, one set of gates serves all phases. None for a base
/// that depends on the group, or if there is but one phase.
fn shared_next(
    whole: &Network,
    group: &[BaseId],
    builder: &mut Builder,
    budget: Budget,
) -> Result<IdVec<BaseId, Option<Signal>>, BuildError> {
    if group.is_empty() {
        return Ok(whole.next.iter().map(|_| None).collect());
    }
    let mut copied: IdVec<GateId, Signal> = IdVec::new();
    let mut asks: IdVec<GateId, bool> = IdVec::new();
    let is_in_group = |base: BaseId| group.contains(&base);
    let mut inputs = Vec::new();
    for gate in whole.gates.ids() {
        let reads_group = whole
            .inputs(gate)
            .iter()
            .any(|&input| match whole.node(input) {
                Node::Base(base) => is_in_group(base),
                Node::Gate(inner) => asks[inner],
                _ => false,
            });
        asks.push(reads_group);
        if reads_group {
            copied.push(Signal::FALSE);
            continue;
        }
        inputs.clear();
        inputs.extend(
            whole
                .inputs(gate)
                .iter()
                .map(|&input| match whole.node(input) {
                    Node::Gate(inner) => invert_if(copied[inner], input.is_inverted()),
                    _ => input,
                }),
        );
        copied.push(builder.and(&mut inputs));
        if gate.index().is_multiple_of(4096) {
            builder.check(budget)?;
        }
    }
    let shared = whole.next.iter().map(|&signal| match whole.node(signal) {
        Node::Gate(gate) => (!asks[gate]).then(|| invert_if(copied[gate], signal.is_inverted())),
        Node::Base(base) => (!is_in_group(base)).then_some(signal),
        _ => Some(signal),
    });
    Ok(shared.collect())
}

impl UnfoldedPhase {
    fn for_each_signal(&mut self, mut visit: impl FnMut(&mut Signal)) {
        visit(&mut self.terminal);
        let legal = self.legal.iter_mut().flatten().map(|(_, signal)| signal);
        let effects = self.effects.iter_mut().flatten().flatten();
        let keyed = self.keyed.iter_mut().flat_map(|keyed| {
            std::iter::once(&mut keyed.key).chain(keyed.sets.iter_mut().map(|(_, signal)| signal))
        });
        legal
            .chain(self.next.iter_mut())
            .chain(effects.map(|(_, signal)| signal))
            .chain(keyed)
            .chain(self.goals.iter_mut().map(|(_, _, signal)| signal))
            .for_each(&mut visit);
    }
}

/// Which roles' moves a gate hangs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Dependence {
    /// None's: a function of the state.
    State,
    /// One role's.
    Role(RoleId),
    /// Several roles'.
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

/// One phase's network on its way into the common one.
struct Unfolding<'a> {
    network: &'a Network,
    builder: &'a mut Builder,
    /// A move that never is legal here is never made, one that is its role's only one always is.
    constant: IdVec<MoveId, Option<bool>>,
    dependence: IdVec<GateId, Dependence>,
    /// Per gate, those that use it and hang on one role's moves.
    users: Vec<Vec<GateId>>,
    /// Per move, the same.
    users_of_move: Vec<Vec<GateId>>,
    /// Per gate its signal when no role that has a choice moves; joint gates excepted.
    unmoved: IdVec<GateId, Signal>,
    /// Per gate its signal as a function of the moves, where a joint gate needs it.
    moving: Vec<Option<Signal>>,
    /// Per gate its signal under the move at hand, while that is worked out.
    moved: Vec<Option<Signal>>,
    /// Room for the gates that hang on the move at hand.
    cone: Vec<GateId>,
    /// Gates gone through for moves so far.
    n_visited: usize,
}

impl<'a> Unfolding<'a> {
    fn new(network: &'a Network, builder: &'a mut Builder) -> Self {
        let mut n_possible: IdVec<RoleId, usize> = network.roles.iter().map(|_| 0).collect();
        for (mv, &legal) in network.legal.enumerate() {
            n_possible[network.moves[mv].0] += usize::from(legal != Signal::FALSE);
        }
        let constant = network.legal.enumerate().map(|(mv, &legal)| match legal {
            Signal::FALSE => Some(false),
            _ => (n_possible[network.moves[mv].0] == 1).then_some(true),
        });
        Self {
            constant: constant.collect(),
            dependence: IdVec::new(),
            users: vec![Vec::new(); network.gates.len()],
            users_of_move: vec![Vec::new(); network.moves.len()],
            unmoved: IdVec::new(),
            moving: vec![None; network.gates.len()],
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
            Node::Move(mv) if self.constant[mv].is_some() => Dependence::State,
            Node::Move(mv) => Dependence::Role(self.network.moves[mv].0),
            Node::Gate(gate) => self.dependence[gate],
        }
    }

    /// The signal when none moves.
    fn unmoved(&self, signal: Signal) -> Signal {
        match self.network.node(signal) {
            Node::False | Node::Base(_) => signal,
            Node::Move(mv) if self.constant[mv] == Some(true) => {
                invert_if(Signal::TRUE, signal.is_inverted())
            }
            Node::Move(_) => invert_if(Signal::FALSE, signal.is_inverted()),
            Node::Gate(gate) => invert_if(self.unmoved[gate], signal.is_inverted()),
        }
    }

    /// The signal as a function of the moves.
    fn moving(&mut self, signal: Signal) -> Signal {
        match self.network.node(signal) {
            Node::Move(mv) if self.constant[mv].is_none() => return signal,
            Node::Gate(_) => {}
            _ => return self.unmoved(signal),
        }
        // Depth first with a list of its own: networks may be deep.
        let mut open = vec![signal];
        while let Some(&top) = open.last() {
            let Node::Gate(gate) = self.network.node(top) else {
                open.pop();
                continue;
            };
            if self.moving[gate.index()].is_some() {
                open.pop();
                continue;
            }
            if self.dependence[gate] == Dependence::State {
                self.moving[gate.index()] = Some(self.unmoved[gate]);
                open.pop();
                continue;
            }
            let n_open = open.len();
            let mut inputs = Vec::new();
            for &input in self.network.inputs(gate) {
                match self.network.node(input) {
                    Node::Gate(inner) => match self.moving[inner.index()] {
                        Some(known) => inputs.push(invert_if(known, input.is_inverted())),
                        None => open.push(input),
                    },
                    Node::Move(mv) if self.constant[mv].is_none() => inputs.push(input),
                    _ => inputs.push(self.unmoved(input)),
                }
            }
            if open.len() == n_open {
                self.moving[gate.index()] = Some(self.builder.and(&mut inputs));
                open.pop();
            }
        }
        match self.network.node(signal) {
            Node::Gate(gate) => invert_if(
                self.moving[gate.index()].unwrap_or(Signal::FALSE),
                signal.is_inverted(),
            ),
            _ => signal,
        }
    }

    fn run(
        &mut self,
        shared: &IdVec<BaseId, Option<Signal>>,
        budget: Budget,
        n_effects: &mut usize,
    ) -> Result<Option<UnfoldedPhase>, BuildError> {
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
        self.builder.check(budget)?;
        let mut phase = UnfoldedPhase {
            terminal: self.unmoved(network.terminal),
            legal: network.roles.iter().map(|_| Vec::new()).collect(),
            next: network.next.iter().map(|_| Signal::FALSE).collect(),
            keyed: Vec::new(),
            effects: network.roles.iter().map(|_| Vec::new()).collect(),
            goals: Vec::new(),
        };
        let mut followed = Vec::new();
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
                Dependence::Joint => followed.push(base),
            }
        }
        for role in network.roles.ids() {
            let bases = bases_of.remove(&role).unwrap_or_default();
            let (worth_it, heavy) = self.worth_unfolding(&bases, &phase.legal[role]);
            followed.extend(heavy);
            if !self.unfold_role(role, &worth_it, &mut phase, budget, n_effects)? {
                return Ok(None);
            }
        }
        for &base in &followed {
            phase.next[base] = shared[base].unwrap_or_else(|| self.moving(self.network.next[base]));
        }
        self.key(&followed, &mut phase);
        Ok(Some(phase))
    }

    /// Fills in the defaults and effects of the bases that hang on one role's moves. False when
    /// they are too many.
    fn unfold_role(
        &mut self,
        role: RoleId,
        bases: &[BaseId],
        phase: &mut UnfoldedPhase,
        budget: Budget,
        n_effects: &mut usize,
    ) -> Result<bool, BuildError> {
        let moves: Vec<MoveId> = phase.legal[role].iter().map(|&(mv, _)| mv).collect();
        phase.effects[role] = vec![Vec::new(); moves.len()];
        if bases.is_empty() {
            return Ok(true);
        }
        let of_node = self.bases_of_nodes(bases);
        let is_on_path = self.on_path(&of_node);
        let mut effects: Vec<Vec<(BaseId, Signal)>> = Vec::with_capacity(moves.len());
        for (index, &mv) in moves.iter().enumerate() {
            let of_move = self.effects_of(mv, &of_node, &is_on_path);
            *n_effects += of_move.len();
            if *n_effects > MAX_EFFECTS || *n_effects > budget.max_bytes / BYTES_PER_EFFECT {
                return Ok(false);
            }
            effects.push(of_move);
            if index.is_multiple_of(16) {
                self.builder.check(budget)?;
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

    /// Bases to unfold, and those that most moves work out anew, as a sample of the moves shows:
    /// these are left to gates that follow the moves, since one gate for all moves then does what
    /// each of them would do by itself.
    fn worth_unfolding(
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
        let first_gate = 1 + self.network.facts.len() + self.network.moves.len();
        let mut values: FxHashMap<BaseId, Vec<Signal>> = FxHashMap::default();
        self.n_visited = 0;
        for sample in 0..n_sampled {
            let mv = moves[sample * moves.len() / n_sampled];
            for (base, signal) in self.effects_of(mv, &of_node, &is_on_path) {
                values.entry(base).or_default().push(signal);
            }
        }
        // Games of very many moves would take longer to unfold than there is time.
        if self.n_visited / n_sampled.max(1) * moves.len() > MAX_VISITED {
            return (Vec::new(), bases.to_vec());
        }
        // How many of the sampled moves work the base out anew, when what most of them do is its
        // default.
        let is_heavy = |base: &BaseId| {
            let Some(values) = values.get(base) else {
                return false;
            };
            let same = |signal: Signal| values.iter().filter(|&&other| other == signal).count();
            let n_anew = values.iter().filter(|signal| {
                signal.node_number() >= first_gate && 2 * same(**signal) <= n_sampled
            });
            2 * n_anew.count() > n_sampled
        };
        bases.iter().partition(|base| !is_heavy(base))
    }

    /// Takes what happens seldom out of the gates that follow the moves.
    ///
    /// Where a base's next value is `(base ∧ ¬c ∧ …) ∨ (k ∧ s) ∨ …`, k being a base, the gates that
    /// would count all of that are replaced by lists: `c`, while it is on, clears the base, and
    /// `k`, while it is true, sets it if `s` is on. It pays where many bases hang on few keys, of
    /// which hardly any is on at a time, as in relations that number groups or count steps.
    fn key(&mut self, followed: &[BaseId], phase: &mut UnfoldedPhase) {
        let mut clears: FxHashMap<Signal, Vec<BaseId>> = FxHashMap::default();
        let mut sets: FxHashMap<Signal, Vec<(BaseId, Signal)>> = FxHashMap::default();
        let mut keyed = Vec::new();
        for &base in followed {
            let Some((cleared_by, set_by)) = self.decompose(base, phase.next[base]) else {
                continue;
            };
            keyed.push(base);
            for key in cleared_by {
                clears.entry(key).or_default().push(base);
            }
            for (key, signal) in set_by {
                sets.entry(key).or_default().push((base, signal));
            }
        }
        let n_initial = sets
            .keys()
            .filter(|&&key| match self.network.node(key) {
                Node::Base(base) => self.network.initial.contains(&base),
                _ => true,
            })
            .count();
        let is_sparse = SPARSE * n_initial <= sets.len();
        if !is_sparse || keyed.len() < SPARSE * (clears.len() + sets.len()) {
            return;
        }
        let mut keys: Vec<Signal> = clears.keys().chain(sets.keys()).copied().collect();
        keys.sort_unstable();
        keys.dedup();
        for base in keyed {
            phase.next[base] = Signal::of_node(1 + base.index());
        }
        phase.keyed = keys
            .into_iter()
            .map(|key| Keyed {
                key,
                clears: clears.remove(&key).unwrap_or_default(),
                sets: sets.remove(&key).unwrap_or_default(),
            })
            .collect();
    }

    /// What clears a base, and which bases set it if which signals are on. Nothing when its next
    /// value has another form.
    #[allow(clippy::type_complexity)]
    fn decompose(
        &mut self,
        base: BaseId,
        next: Signal,
    ) -> Option<(Vec<Signal>, Vec<(Signal, Signal)>)> {
        if !next.is_inverted() {
            return None;
        }
        let itself = Signal::of_node(1 + base.index());
        let terms: Vec<Signal> = self
            .builder
            .and_inputs(next)?
            .iter()
            .map(|&term| !term)
            .collect();
        let (mut clears, mut sets) = (Vec::new(), Vec::new());
        let mut stays = false;
        for term in terms {
            if term == itself {
                stays = true;
                clears.clear();
                continue;
            }
            if term.is_inverted() {
                return None;
            }
            let mut inputs = self.builder.and_inputs(term)?.to_vec();
            if inputs.contains(&itself) {
                if stays {
                    return None;
                }
                stays = true;
                clears = inputs
                    .iter()
                    .filter(|&&input| input != itself)
                    .map(|&input| !input)
                    .collect();
                continue;
            }
            let is_key = |input: &Signal| {
                !input.is_inverted() && matches!(self.network.node(*input), Node::Base(_))
            };
            let key = inputs.remove(inputs.iter().position(is_key)?);
            sets.push((key, self.builder.and(&mut inputs)));
        }
        stays.then_some((clears, sets))
    }

    /// Which bases' next values a gate or move is.
    fn bases_of_nodes(&self, bases: &[BaseId]) -> FxHashMap<usize, Vec<BaseId>> {
        let mut of_node: FxHashMap<usize, Vec<BaseId>> = FxHashMap::default();
        for &base in bases {
            let node = self.network.next[base].node_number();
            of_node.entry(node).or_default().push(base);
        }
        of_node
    }

    /// Which gates lead to one of the nodes.
    fn on_path(&self, of_node: &FxHashMap<usize, Vec<BaseId>>) -> Vec<bool> {
        let network = self.network;
        let first_gate = 1 + network.facts.len() + network.moves.len();
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

    /// What becomes of the bases under one move of a role, where that may differ from what becomes
    /// of them without.
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
                effects.push((base, invert_if(value, network.next[base].is_inverted())));
            }
        };
        note(1 + network.facts.len() + mv.index(), Signal::TRUE);
        let first_gate = 1 + network.facts.len() + network.moves.len();
        let mut inputs: Vec<Signal> = Vec::new();
        for &gate in &cone {
            inputs.clear();
            for &input in network.inputs(gate) {
                inputs.push(match network.node(input) {
                    Node::Move(made) if made == mv => invert_if(Signal::TRUE, input.is_inverted()),
                    Node::Gate(inner) => match self.moved[inner.index()] {
                        Some(signal) => invert_if(signal, input.is_inverted()),
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

    /// A base's default is its most common next value over all moves.
    fn choose_defaults(
        &self,
        bases: &[BaseId],
        effects: &mut [Vec<(BaseId, Signal)>],
        phase: &mut UnfoldedPhase,
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
            let identity = Signal::of_node(1 + base.index());
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

fn invert_if(signal: Signal, is_inverted: bool) -> Signal {
    if is_inverted { !signal } else { signal }
}
