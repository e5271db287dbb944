//! From network to flat arrays: the external representation that the counter engine runs on.
//!
//! Components are numbered in one space: bases, moves, then all others by level. Each level starts
//! at a multiple of 64, so the 64 components of one word never depend on each other; gates of
//! blocks come last. The top bit of a component's counter is its value. A component's users are one
//! run of the edge array, plain before inverted ones, so a flip adds one number to the first run
//! and its negative to the second. (Counters whose sign bit is the value are Sancho's external
//! representation.)
//!
//! An output is attached to a component as its trigger. A signal that cannot carry one (an inverted
//! one, an input, one with a trigger already) gets a helper: an OR of that one signal.
//!
//! A block is cut out of the graph: its inputs end at helpers, its ports, whose trigger schedules
//! the block; its outputs start at other helpers, its mirrors, which the block sets.

use crate::NetworkInfo;
use panza_gdl::{GateId, Id, IdVec, MoveId, RoleId};
use panza_propnet::{GateKind, Network, Node, Signal};

/// The counter of an OR with every input off.
pub(super) const OR_START: u32 = 0x7FFF_FFFF;
/// The counter of an AND with every input on; one less for each input that is off.
pub(super) const AND_FULL: u32 = 0x8000_0000;

/// What a component's new value updates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum TriggerKind {
    None,
    /// The next state's bit.
    Next,
    /// The role's set of legal moves.
    Legal,
    /// The port's block; the number is the port's.
    Port,
}

/// A component's plain users `edges[start..inverted]`, inverted ones up to `end`, and trigger.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Component {
    pub start: u32,
    pub inverted: u32,
    pub end: u32,
    /// The trigger: kind in the top 2 bits, number below.
    pub trigger: u32,
}

const _: () = assert!(size_of::<Component>() == 16);

impl Component {
    pub(super) fn pack_trigger(kind: TriggerKind, number: usize) -> u32 {
        debug_assert!(number < 1 << 30);
        (kind as u32) << 30 | number as u32
    }

    pub(super) fn unpack_trigger(packed: u32) -> (TriggerKind, usize) {
        let kind = match packed >> 30 {
            0 => TriggerKind::None,
            1 => TriggerKind::Next,
            2 => TriggerKind::Legal,
            _ => TriggerKind::Port,
        };
        (kind, (packed & 0x3FFF_FFFF) as usize)
    }
}

/// The source of an output that is read on demand: a constant, or a component's value.
#[derive(Clone, Copy, Debug)]
pub(super) enum OutputSource {
    Constant(bool),
    Plain(u32),
    Inverted(u32),
}

/// One input of a block.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub block: u32,
    /// The helper that carries the value.
    pub component: u32,
    /// The block's gates that use it.
    pub targets: Box<[u32]>,
}

/// A block: gates that depend on each other.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// The gates' components, with their counters for all inputs off.
    pub gates: Box<[(u32, u32)]>,
    pub ports: std::ops::Range<u32>,
    /// The edges inside the block: of the n-th gate, `edges[starts[n]..starts[n + 1]]`, as indices
    /// of `gates`.
    pub starts: Box<[u32]>,
    pub edges: Box<[u32]>,
    /// Gate component and mirror component.
    pub mirrors: Box<[(u32, u32)]>,
}

/// A compiled network. Never changes.
#[derive(Debug)]
pub struct CounterLayout {
    pub(super) info: NetworkInfo,
    pub(super) initial: Vec<u64>,
    pub(super) components: Vec<Component>,
    pub(super) edges: Vec<u32>,
    /// Counters for every base false and no move made, propagated.
    pub(super) at_rest: Vec<u32>,
    pub(super) next_at_rest: Vec<u64>,
    pub(super) legal_at_rest: Vec<MoveId>,
    pub(super) terminal: OutputSource,
    /// Per role, from the highest value down.
    pub(super) goals: IdVec<RoleId, Vec<(u8, OutputSource)>>,
    pub(super) blocks: Vec<Block>,
    pub(super) ports: Vec<Port>,
}

impl CounterLayout {
    /// Compiles a network.
    pub fn compile(network: &Network) -> CounterLayout {
        Compiler::new(network).run()
    }

    /// Words of a state.
    pub fn state_words(&self) -> usize {
        self.info.state_words()
    }
}

struct Compiler<'a> {
    network: &'a Network,
    first_gate: usize,
    /// Per component its kind; bases, moves and mirrors count as OR.
    kinds: Vec<GateKind>,
    /// From, to, inverted.
    edges: Vec<(u32, u32, bool)>,
    triggers: Vec<u32>,
    block_of: Vec<u32>,
    mirror_of: Vec<u32>,
}

const NOT_IN_BLOCK: u32 = u32::MAX;

impl<'a> Compiler<'a> {
    fn new(network: &'a Network) -> Self {
        let first_gate = network.facts.len() + network.moves.len();
        let n = first_gate + network.gates.len();
        let mut kinds = vec![GateKind::Or; n];
        for (id, gate) in network.gates.enumerate() {
            kinds[first_gate + id.index()] = gate.kind;
        }
        let mut block_of = vec![NOT_IN_BLOCK; n];
        for (index, block) in network.blocks.iter().enumerate() {
            block
                .iter()
                .for_each(|gate| block_of[first_gate + gate.index()] = index as u32);
        }
        Self {
            network,
            first_gate,
            kinds,
            edges: Vec::with_capacity(network.n_edges()),
            triggers: vec![0; n],
            block_of,
            mirror_of: vec![u32::MAX; n],
        }
    }

    fn gate_component(&self, gate: GateId) -> u32 {
        (self.first_gate + gate.index()) as u32
    }

    /// The component of a signal, inside its own block; `None` for a constant.
    fn component(&self, signal: Signal) -> Option<u32> {
        match self.network.node(signal) {
            Node::False => None,
            Node::Base(base) => Some(base.0),
            Node::Move(mv) => Some(self.network.facts.len() as u32 + mv.0),
            Node::Gate(gate) => Some(self.gate_component(gate)),
        }
    }

    /// The component of a signal outside all blocks.
    fn outer_component(&mut self, signal: Signal) -> Option<u32> {
        let component = self.component(signal)?;
        if self.block_of[component as usize] == NOT_IN_BLOCK {
            return Some(component);
        }
        if self.mirror_of[component as usize] == u32::MAX {
            let mirror = self.helper();
            self.mirror_of[component as usize] = mirror;
        }
        Some(self.mirror_of[component as usize])
    }

    fn helper(&mut self) -> u32 {
        self.kinds.push(GateKind::Or);
        self.triggers.push(0);
        self.block_of.push(NOT_IN_BLOCK);
        self.mirror_of.push(u32::MAX);
        self.kinds.len() as u32 - 1
    }

    /// A helper with the value of a signal, to carry a trigger.
    fn follower(&mut self, source: u32, is_inverted: bool) -> u32 {
        let helper = self.helper();
        self.edges.push((source, helper, is_inverted));
        helper
    }

    /// Attaches an output to the signal's component, unless it is a constant.
    fn attach_trigger(&mut self, signal: Signal, kind: TriggerKind, number: usize) {
        let Some(source) = self.outer_component(signal) else {
            return;
        };
        let is_free = !signal.is_inverted()
            && self.triggers[source as usize] == 0
            && source as usize >= self.first_gate;
        let carrier = if is_free {
            source
        } else {
            self.follower(source, signal.is_inverted())
        };
        self.triggers[carrier as usize] = Component::pack_trigger(kind, number);
    }

    fn output_source(&mut self, signal: Signal) -> OutputSource {
        match self.outer_component(signal) {
            None => OutputSource::Constant(signal == Signal::TRUE),
            Some(component) if signal.is_inverted() => OutputSource::Inverted(component),
            Some(component) => OutputSource::Plain(component),
        }
    }

    fn run(mut self) -> CounterLayout {
        let network = self.network;
        let mut ports: Vec<Port> = Vec::new();
        let mut port_ranges = Vec::new();
        for index in 0..network.blocks.len() {
            let from = ports.len();
            self.add_ports(index, &mut ports);
            port_ranges.push(from as u32..ports.len() as u32);
        }
        for gate in network.gates.ids() {
            let to = self.gate_component(gate);
            if self.block_of[to as usize] == NOT_IN_BLOCK {
                for &input in network.inputs(gate) {
                    if let Some(from) = self.outer_component(input) {
                        self.edges.push((from, to, input.is_inverted()));
                    }
                }
            }
        }
        for (base, &signal) in network.next.enumerate() {
            self.attach_trigger(signal, TriggerKind::Next, base.index());
        }
        for (mv, &signal) in network.legal.enumerate() {
            self.attach_trigger(signal, TriggerKind::Legal, mv.index());
        }
        let terminal = self.output_source(network.terminal);
        let mut goals: IdVec<RoleId, Vec<(u8, OutputSource)>> =
            network.roles.iter().map(|_| Vec::new()).collect();
        for &(role, value, signal) in &network.goals {
            let source = self.output_source(signal);
            goals[role].push((value, source));
        }
        goals
            .iter_mut()
            .for_each(|goals| goals.sort_by_key(|&(value, _)| std::cmp::Reverse(value)));
        let blocks = port_ranges
            .into_iter()
            .enumerate()
            .map(|(index, ports)| self.block(index, ports))
            .collect();
        self.finish(ports, blocks, terminal, goals)
    }

    /// Makes a port for each signal that enters a block.
    fn add_ports(&mut self, block: usize, ports: &mut Vec<Port>) {
        let network = self.network;
        let mut entering: Vec<(Signal, u32)> = Vec::new();
        for &gate in &network.blocks[block] {
            let to = self.gate_component(gate);
            for &input in network.inputs(gate) {
                let is_inner = self
                    .component(input)
                    .is_some_and(|from| self.block_of[from as usize] == block as u32);
                if !is_inner {
                    entering.push((input, to));
                }
            }
        }
        entering.sort_unstable();
        for same in entering.chunk_by(|left, right| left.0 == right.0) {
            let signal = same[0].0;
            let Some(source) = self.outer_component(signal) else {
                continue;
            };
            let component = self.follower(source, signal.is_inverted());
            self.triggers[component as usize] =
                Component::pack_trigger(TriggerKind::Port, ports.len());
            ports.push(Port {
                block: block as u32,
                component,
                targets: same.iter().map(|&(_, to)| to).collect(),
            });
        }
    }

    fn block(&self, index: usize, ports: std::ops::Range<u32>) -> Block {
        let network = self.network;
        let gates = &network.blocks[index];
        let position = |component: u32| {
            gates
                .binary_search_by_key(&component, |&gate| self.gate_component(gate))
                .ok()
        };
        let mut edges_from: Vec<Vec<u32>> = vec![Vec::new(); gates.len()];
        for (to, &gate) in gates.iter().enumerate() {
            for &input in network.inputs(gate) {
                debug_assert!(
                    !input.is_inverted() || self.component(input).and_then(position).is_none()
                );
                if let Some(from) = self.component(input).and_then(position) {
                    edges_from[from].push(to as u32);
                }
            }
        }
        let mut starts = vec![0u32];
        let mut edges = Vec::new();
        for targets in edges_from {
            edges.extend(targets);
            starts.push(edges.len() as u32);
        }
        let mirrors = gates
            .iter()
            .map(|&gate| self.gate_component(gate))
            .filter_map(|component| {
                let mirror = self.mirror_of[component as usize];
                (mirror != u32::MAX).then_some((component, mirror))
            });
        Block {
            gates: gates
                .iter()
                .map(|&gate| {
                    // Constant inputs do not occur; see the network's invariants.
                    let n_inputs = network.inputs(gate).len() as u32;
                    let start = match network.gates[gate].kind {
                        GateKind::And => AND_FULL - n_inputs,
                        GateKind::Or => OR_START,
                    };
                    (self.gate_component(gate), start)
                })
                .collect(),
            ports,
            starts: starts.into(),
            edges: edges.into(),
            mirrors: mirrors.collect(),
        }
    }

    /// The final number of each component, and how many numbers there are.
    fn numbering(&self) -> (Vec<u32>, usize) {
        let n = self.kinds.len();
        let is_inside = |component: usize| self.block_of[component] != NOT_IN_BLOCK;
        let mut users: Vec<Vec<u32>> = vec![Vec::new(); n];
        let mut n_waiting = vec![0u32; n];
        for &(from, to, _) in &self.edges {
            users[from as usize].push(to);
            n_waiting[to as usize] += 1;
        }
        // Mirrors have no inputs here, so they are at level 0 like bases and moves; they are never
        // queued.
        let mut level = vec![0u32; n];
        let mut open: Vec<u32> = (0..n as u32)
            .filter(|&component| n_waiting[component as usize] == 0)
            .collect();
        while let Some(component) = open.pop() {
            for &user in &users[component as usize] {
                level[user as usize] = level[user as usize].max(level[component as usize] + 1);
                n_waiting[user as usize] -= 1;
                if n_waiting[user as usize] == 0 {
                    open.push(user);
                }
            }
        }
        let is_input = |component: usize| component < self.first_gate;
        let mut order: Vec<u32> = (self.first_gate as u32..n as u32).collect();
        order.sort_by_key(|&component| (is_inside(component as usize), level[component as usize]));
        let mut number_of: Vec<u32> = (0..n as u32).collect();
        debug_assert!((0..n).all(|component| !is_input(component) || level[component] == 0));
        let mut next = self.first_gate;
        let mut current = None;
        for &component in &order {
            let group = (is_inside(component as usize), level[component as usize]);
            if current != Some(group) && !group.0 {
                next = next.next_multiple_of(64);
            }
            current = Some(group);
            number_of[component as usize] = next as u32;
            next += 1;
        }
        (number_of, next)
    }

    fn finish(
        self,
        mut ports: Vec<Port>,
        mut blocks: Vec<Block>,
        terminal: OutputSource,
        mut goals: IdVec<RoleId, Vec<(u8, OutputSource)>>,
    ) -> CounterLayout {
        let network = self.network;
        let (number_of, n) = self.numbering();
        let number = |component: u32| number_of[component as usize];
        // Two runs of users per component, by counting sort.
        let mut starts = vec![0u32; 2 * n + 1];
        for &(from, _, is_inverted) in &self.edges {
            starts[2 * number(from) as usize + usize::from(is_inverted) + 1] += 1;
        }
        for index in 0..2 * n {
            starts[index + 1] += starts[index];
        }
        let mut fill = starts.clone();
        let mut edges = vec![0u32; self.edges.len()];
        let mut n_inputs = vec![0u32; n];
        for &(from, to, is_inverted) in &self.edges {
            let slot = &mut fill[2 * number(from) as usize + usize::from(is_inverted)];
            edges[*slot as usize] = number(to);
            *slot += 1;
            n_inputs[number(to) as usize] += 1;
        }
        let mut components: Vec<Component> = (0..n)
            .map(|index| Component {
                start: starts[2 * index],
                inverted: starts[2 * index + 1],
                end: starts[2 * index + 2],
                trigger: 0,
            })
            .collect();
        // All components off, and no edge counted yet. The engine propagates this to rest, first
        // counting each inverted edge of a component that is off. Numbers that pad a level have no
        // edges.
        let mut at_rest = vec![OR_START; n];
        for (component, &kind) in self.kinds.iter().enumerate() {
            let number = number_of[component] as usize;
            components[number].trigger = self.triggers[component];
            if kind == GateKind::And {
                at_rest[number] = AND_FULL - n_inputs[number];
            }
        }
        let renumber = |source: OutputSource| match source {
            OutputSource::Constant(value) => OutputSource::Constant(value),
            OutputSource::Plain(component) => OutputSource::Plain(number(component)),
            OutputSource::Inverted(component) => OutputSource::Inverted(number(component)),
        };
        let terminal = renumber(terminal);
        goals
            .iter_mut()
            .flatten()
            .for_each(|(_, source)| *source = renumber(*source));
        for port in &mut ports {
            port.component = number(port.component);
            port.targets
                .iter_mut()
                .for_each(|target| *target = number(*target));
        }
        for block in &mut blocks {
            block
                .gates
                .iter_mut()
                .for_each(|(gate, _)| *gate = number(*gate));
            block.mirrors.iter_mut().for_each(|(gate, mirror)| {
                *gate = number(*gate);
                *mirror = number(*mirror);
            });
        }
        let mut initial = vec![0u64; network.facts.len().div_ceil(64).max(1)];
        network
            .initial
            .iter()
            .for_each(|base| initial[base.index() / 64] |= 1 << (base.index() % 64));
        let mut next_at_rest = vec![0u64; initial.len()];
        for (base, &signal) in network.next.enumerate() {
            next_at_rest[base.index() / 64] |= u64::from(signal == Signal::TRUE) << (base.0 % 64);
        }
        let always_legal = network.legal.enumerate();
        let always_legal = always_legal.filter(|&(_, &signal)| signal == Signal::TRUE);
        // The engine's unchecked accesses depend on these two.
        assert!(
            edges.iter().all(|&user| (user as usize) < n),
            "an edge leads out of the network"
        );
        assert!(
            components
                .iter()
                .all(|component| component.start <= component.inverted
                    && component.inverted <= component.end
                    && component.end as usize <= edges.len()),
            "a component's users are out of order"
        );
        CounterLayout {
            info: NetworkInfo::new(network),
            initial,
            components,
            edges,
            at_rest,
            next_at_rest,
            legal_at_rest: always_legal.map(|(mv, _)| mv).collect(),
            terminal,
            goals,
            blocks,
            ports,
        }
    }
}
