//! A sample of random play, to weight signals by how often they flip.
//!
//! Sixty-four playouts are run bit-parallel, one per bit of a word, and the values of all bases are
//! kept; the values of any gate follow from those. The weights decide which changes pay, never
//! which are sound: a wrong weight may cost edges, and changes no output.
//!
//! Invariants: the same network gives the same sample; the work is bounded by a few steps of a
//! large network.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::playout_sample::PlayoutSample;
use crate::{GateKind, Network, Signal};
use panza_gdl::{BaseId, GateId, Id};
use panza_sync::Budget;

/// A network with more gates in blocks is not sampled.
const MAX_IN_BLOCKS: usize = 1 << 10;

/// Steps of each playout.
const MAX_STEPS: usize = 32;
/// Steps of each playout however large the network: fewer would show too little.
const MIN_STEPS: usize = 12;
/// Edges evaluated in all steps beyond the first [`MIN_STEPS`].
const MAX_WORK: usize = 6_000_000;

impl PlayoutSample {
    /// Plays at random; `None` when the budget ends first.
    pub(super) fn play(network: &Network, budget: &Budget) -> Option<PlayoutSample> {
        // A block is iterated to its fixpoint, which a long chain of gates makes slow.
        if network.blocks.iter().map(Vec::len).sum::<usize>() > MAX_IN_BLOCKS {
            return Some(PlayoutSample::default());
        }
        let n_bases = network.facts.len();
        let stages = stages(network);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut values = vec![0u64; network.n_nodes()];
        let initial = |values: &mut [u64], lanes: u64| {
            values[1..=n_bases]
                .iter_mut()
                .for_each(|word| *word &= !lanes);
            for base in &network.initial {
                values[1 + base.index()] |= lanes;
            }
        };
        initial(&mut values, u64::MAX);
        let mut states: Vec<u64> = Vec::new();
        let mut counted: Vec<u64> = Vec::new();
        let mut work = 0;
        let mut restarted = u64::MAX;
        while counted.len() < MIN_STEPS || (counted.len() < MAX_STEPS && work < MAX_WORK) {
            if budget.is_over() {
                break;
            }
            counted.push(!restarted);
            states.extend_from_slice(&values[1..=n_bases]);
            values[1 + n_bases..][..network.moves.len()].fill(0);
            work += evaluate(network, &mut values, &stages, Stage::BeforeMoves);
            restarted = read(&values, network.terminal);
            for moves in network
                .role_moves()
                .iter()
                .filter(|moves| !moves.is_empty())
            {
                restarted |= !choose(network, &mut values, moves, &mut random);
            }
            work +=
                evaluate(network, &mut values, &stages, Stage::AfterMoves) + network.moves.len();
            let next: Vec<u64> = network
                .next
                .iter()
                .map(|&next| read(&values, next))
                .collect();
            values[1..=n_bases].copy_from_slice(&next);
            initial(&mut values, restarted);
        }
        let n_steps = counted.len();
        if n_steps < MIN_STEPS {
            return None;
        }
        let mut bases = vec![0; n_bases * n_steps];
        for (step, state) in states.chunks_exact(n_bases.max(1)).enumerate() {
            for (base, &word) in state.iter().enumerate() {
                bases[base * n_steps + step] = word;
            }
        }
        Some(PlayoutSample {
            n_steps,
            counted,
            bases,
        })
    }

    /// The sample restricted to states in which these bases have these values.
    pub(super) fn assuming(&self, known: &[(BaseId, bool)]) -> PlayoutSample {
        let mut restricted = self.clone();
        let n_steps = self.n_steps;
        if n_steps == 0 {
            return restricted;
        }
        let is_inside = |step: usize| {
            known.iter().fold(u64::MAX, |lanes, &(base, value)| {
                let word = self.of_base(base)[step];
                lanes & if value { word } else { !word }
            })
        };
        // Playouts without a state inside the restriction since their last restart.
        let mut is_new = u64::MAX;
        for step in 0..n_steps {
            let lanes = is_inside(step);
            is_new |= !self.counted[step];
            restricted.counted[step] = lanes & !is_new;
            is_new &= !lanes;
            for base in 0..self.bases.len() / n_steps {
                let place = base * n_steps + step;
                let before = if step == 0 {
                    0
                } else {
                    restricted.bases[place - 1]
                };
                restricted.bases[place] = self.bases[place] & lanes | before & !lanes;
            }
        }
        restricted
    }

    fn of_base(&self, base: BaseId) -> &[u64] {
        &self.bases[base.index() * self.n_steps..][..self.n_steps]
    }

    pub(super) fn n_changes(&self) -> u32 {
        self.counted.iter().map(|lanes| lanes.count_ones()).sum()
    }

    pub(super) fn flips(&self, words: &[u64]) -> u32 {
        let pairs = words.windows(2).zip(self.counted.iter().skip(1));
        pairs
            .map(|(pair, lanes)| ((pair[0] ^ pair[1]) & lanes).count_ones())
            .sum()
    }

    /// How often the conjunction of two signals flips, each given by its values and whether it is
    /// inverted.
    pub(super) fn flips_of_both(&self, left: (&[u64], bool), right: (&[u64], bool)) -> u32 {
        let invert = |is_inverted: bool| if is_inverted { u64::MAX } else { 0 };
        let (by_left, by_right) = (invert(left.1), invert(right.1));
        let mut before = 0;
        let mut flips = 0;
        for ((&left, &right), &lanes) in left.0.iter().zip(right.0).zip(&self.counted) {
            let both = (left ^ by_left) & (right ^ by_right);
            flips += ((both ^ before) & lanes).count_ones();
            before = both;
        }
        flips
    }
    pub(super) fn flips_of_all(&self, values: &Values, all: &[Signal]) -> u32 {
        let mut before = 0;
        let mut flips = 0;
        for (step, &lanes) in self.counted.iter().enumerate() {
            let now = values.all_of(all, step);
            flips += ((now ^ before) & lanes).count_ones();
            before = now;
        }
        flips
    }

    /// How often 'not all of these' flips, and how often that and `signal`.
    pub(super) fn flips_of_guard(
        &self,
        values: &Values,
        signal: Signal,
        all: &[Signal],
    ) -> (u32, u32) {
        let (mut some_before, mut guard_before) = (0, 0);
        let (mut of_some, mut of_guard) = (0, 0);
        for (step, &lanes) in self.counted.iter().enumerate() {
            let some = !values.all_of(all, step);
            let guard = some & values.all_of(&[signal], step);
            of_some += ((some ^ some_before) & lanes).count_ones();
            of_guard += ((guard ^ guard_before) & lanes).count_ones();
            (some_before, guard_before) = (some, guard);
        }
        (of_some, of_guard)
    }
}

pub(super) struct Values {
    n_steps: usize,
    words: Vec<u64>,
}

impl Values {
    /// The values of the bases and of the wanted gates, which have to include the inputs of wanted
    /// gates. All moves are off.
    pub(super) fn of(
        network: &Network,
        sample: &PlayoutSample,
        is_wanted: impl Fn(GateId) -> bool,
    ) -> Values {
        let n_steps = sample.n_steps;
        let first_gate = network.first_gate();
        let mut values = Values {
            n_steps,
            words: vec![0; (first_gate + network.gates.len()) * n_steps],
        };
        values.words[n_steps..][..sample.bases.len()].copy_from_slice(&sample.bases);
        let mut found = vec![0; n_steps];
        for gates in network.components() {
            // A block is iterated to its fixpoint.
            let is_block = gates.len() > 1;
            loop {
                let mut is_changed = false;
                for gate in gates
                    .clone()
                    .map(GateId::from_index)
                    .filter(|&gate| is_wanted(gate))
                {
                    let is_and = network.gates[gate].kind == GateKind::And;
                    found.fill(if is_and { u64::MAX } else { 0 });
                    for input in network.inputs(gate) {
                        let invert = if input.is_inverted() { u64::MAX } else { 0 };
                        for (word, input) in
                            found.iter_mut().zip(values.of_node(input.node_number()))
                        {
                            let input = input ^ invert;
                            *word = if is_and { *word & input } else { *word | input };
                        }
                    }
                    let slots =
                        &mut values.words[(first_gate + gate.index()) * n_steps..][..n_steps];
                    is_changed |= slots != found;
                    slots.copy_from_slice(&found);
                }
                if !(is_block && is_changed) {
                    break;
                }
            }
        }
        values
    }

    pub(super) fn of_node(&self, node: usize) -> &[u64] {
        &self.words[node * self.n_steps..][..self.n_steps]
    }

    /// Appends a node, the conjunction of some signals.
    pub(super) fn push_and(&mut self, inputs: &[Signal]) {
        for step in 0..self.n_steps {
            let word = self.all_of(inputs, step);
            self.words.push(word);
        }
    }

    /// The playouts in which all of some signals are on in a step.
    fn all_of(&self, inputs: &[Signal], step: usize) -> u64 {
        let words = inputs.iter().map(|input| {
            let word = self.words[input.node_number() * self.n_steps + step];
            if input.is_inverted() { !word } else { word }
        });
        words.fold(u64::MAX, |all, word| all & word)
    }
}

fn read(values: &[u64], signal: Signal) -> u64 {
    let word = values[signal.node_number()];
    if signal.is_inverted() { !word } else { word }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Never,
    BeforeMoves,
    AfterMoves,
}

/// The stage of each gate: none outside the cone of legality, terminality and next values.
fn stages(network: &Network) -> Vec<Stage> {
    let first_move = 1 + network.facts.len();
    let first_gate = network.first_gate();
    let outputs = network.next.iter().chain(network.legal.iter());
    let cone = network.cone(outputs.chain([&network.terminal]).copied());
    let mut stages: Vec<Stage> = cone
        .into_iter()
        .map(|is_needed| match is_needed {
            true => Stage::BeforeMoves,
            false => Stage::Never,
        })
        .collect();
    for gates in network.components() {
        let depends = gates.clone().any(|gate| {
            let mut inputs = network.inputs(GateId::from_index(gate)).iter();
            inputs.any(|input| match input.node_number().checked_sub(first_gate) {
                Some(gate) => stages[gate] == Stage::AfterMoves,
                None => input.node_number() >= first_move,
            })
        });
        for stage in &mut stages[gates] {
            if depends && *stage == Stage::BeforeMoves {
                *stage = Stage::AfterMoves;
            }
        }
    }
    stages
}

/// Evaluates the gates of a stage; returns the number of edges read.
fn evaluate(network: &Network, values: &mut [u64], stages: &[Stage], stage: Stage) -> usize {
    let first_gate = network.first_gate();
    let mut work = 0;
    for gates in network.components() {
        let is_block = gates.len() > 1;
        if is_block && stages[gates.start] == stage {
            values[first_gate + gates.start..first_gate + gates.end].fill(0);
        }
        loop {
            let mut is_changed = false;
            for gate in gates.clone().filter(|&gate| stages[gate] == stage) {
                let id = GateId::from_index(gate);
                let inputs = network.inputs(id);
                work += inputs.len();
                let words = inputs.iter().map(|&input| read(values, input));
                let word = match network.gates[id].kind {
                    GateKind::And => words.fold(u64::MAX, |all, word| all & word),
                    GateKind::Or => words.fold(0, |any, word| any | word),
                };
                is_changed |= values[first_gate + gate] != word;
                values[first_gate + gate] = word;
            }
            if !(is_block && is_changed) {
                break;
            }
        }
    }
    work
}

/// Makes one legal move of a role in each playout; returns the playouts in which there was one.
fn choose(
    network: &Network,
    values: &mut [u64],
    moves: &std::ops::Range<u32>,
    random: &mut Xoshiro256PlusPlus,
) -> u64 {
    let (start, n_moves) = (moves.start as usize, moves.len());
    let first_move = 1 + network.facts.len();
    let from = (random.next_u64() as usize) % n_moves.max(1);
    let mut chosen = 0u64;
    // The first pass takes each legal move with probability 1/8, the second the next legal one.
    // Once round taking about one legal move in eight, then once more taking the first.
    for is_last in [false, true] {
        for offset in 0..n_moves {
            let mv = start + (from + offset) % n_moves;
            let legal = read(values, network.legal.as_slice()[mv]) & !chosen;
            let wanted = match (legal, is_last) {
                (0, _) => continue,
                (_, true) => legal,
                (_, false) => legal & random.next_u64() & random.next_u64() & random.next_u64(),
            };
            values[first_move + mv] |= wanted;
            chosen |= wanted;
            if chosen == u64::MAX {
                return chosen;
            }
        }
    }
    chosen
}
