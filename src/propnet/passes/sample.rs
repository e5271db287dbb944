//! What random play visits, to weigh signals by how often they change.
//!
//! Sixty-four playouts are run side by side, one per bit of a word, and the values of all bases are
//! kept; the values of any gate follow from those. The weights say what is worth doing, never what
//! is true: a pass that trusts them may waste edges, and computes the same outputs whatever they
//! say.
//!
//! Invariants: the same network gives the same sample; the work is bounded by a few steps of a
//! large network.

use std::time::Instant;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::ground::Budget;
use crate::ids::{BaseId, GateId, Id};
use crate::propnet::{GateKind, Network, Signal};

/// Gates in blocks above which nothing is played.
const MAX_IN_BLOCKS: usize = 1 << 10;

/// Steps of each playout.
const MAX_STEPS: usize = 32;
/// Steps of each playout however large the network: fewer would say nothing.
const MIN_STEPS: usize = 12;
/// Edges looked at while playing, all steps together, beyond those of the first few steps.
const MAX_WORK: usize = 6_000_000;

/// States of random playouts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    n_steps: usize,
    /// Per step the playouts in which the change since the step before is a change the game made.
    counted: Vec<u64>,
    /// Per base and step, the playouts in which the base is true.
    bases: Vec<u64>,
}

impl Sample {
    /// Plays at random; nothing when the budget ends first.
    pub(super) fn play(network: &Network, budget: Budget) -> Option<Sample> {
        // A block is gone through until nothing changes, which a long chain of gates makes slow.
        if network.blocks.iter().map(Vec::len).sum::<usize>() > MAX_IN_BLOCKS {
            return Some(Sample::unknown());
        }
        let n_bases = network.facts.len();
        let n_nodes = 1 + n_bases + network.moves.len() + network.gates.len();
        let turns = turns(network);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut values = vec![0u64; n_nodes];
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
        let mut fresh = u64::MAX;
        while counted.len() < MIN_STEPS || (counted.len() < MAX_STEPS && work < MAX_WORK) {
            if budget.until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
            counted.push(!fresh);
            states.extend_from_slice(&values[1..=n_bases]);
            values[1 + n_bases..][..network.moves.len()].fill(0);
            work += evaluate(network, &mut values, &turns, Turn::BeforeMoves);
            fresh = read(&values, network.terminal);
            for (role, moves) in moves_by_role(network) {
                fresh |= !choose(network, &mut values, moves, &mut random);
                debug_assert!(role < network.roles.len());
            }
            work += evaluate(network, &mut values, &turns, Turn::AfterMoves) + network.moves.len();
            let next: Vec<u64> = network
                .next
                .iter()
                .map(|&next| read(&values, next))
                .collect();
            values[1..=n_bases].copy_from_slice(&next);
            initial(&mut values, fresh);
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
        Some(Sample {
            n_steps,
            counted,
            bases,
        })
    }

    /// Nothing is known.
    pub(super) fn unknown() -> Sample {
        Sample {
            n_steps: 0,
            counted: Vec::new(),
            bases: Vec::new(),
        }
    }

    /// What is seen by one who looks only at states in which these bases have these values.
    pub(super) fn assuming(&self, known: &[(BaseId, bool)]) -> Sample {
        let mut seen = self.clone();
        let n_steps = self.n_steps;
        if n_steps == 0 {
            return seen;
        }
        let is_seen = |step: usize| {
            known.iter().fold(u64::MAX, |lanes, &(base, value)| {
                let word = self.of_base(base)[step];
                lanes & if value { word } else { !word }
            })
        };
        // Playouts in which nothing was seen since the game began anew.
        let mut is_new = u64::MAX;
        for step in 0..n_steps {
            let lanes = is_seen(step);
            is_new |= !self.counted[step];
            seen.counted[step] = lanes & !is_new;
            is_new &= !lanes;
            for base in 0..self.bases.len() / n_steps {
                let place = base * n_steps + step;
                let before = if step == 0 { 0 } else { seen.bases[place - 1] };
                seen.bases[place] = self.bases[place] & lanes | before & !lanes;
            }
        }
        seen
    }

    /// Per step, the playouts in which a base is true.
    fn of_base(&self, base: BaseId) -> &[u64] {
        &self.bases[base.index() * self.n_steps..][..self.n_steps]
    }

    /// How many changes of state were seen.
    pub(super) fn n_changes(&self) -> u32 {
        self.counted.iter().map(|lanes| lanes.count_ones()).sum()
    }

    /// How often a signal of these values flips.
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
}

impl Sample {
    /// How often the conjunction of some signals flips.
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

/// The values of all nodes in all steps; those of a node stand together.
pub(super) struct Values {
    n_steps: usize,
    words: Vec<u64>,
}

impl Values {
    /// The values of bases and of the gates asked for, whose inputs have to be among them; moves
    /// are not made.
    pub(super) fn of(
        network: &Network,
        sample: &Sample,
        is_wanted: impl Fn(GateId) -> bool,
    ) -> Values {
        let n_steps = sample.n_steps;
        let first_gate = 1 + network.facts.len() + network.moves.len();
        let mut values = Values {
            n_steps,
            words: vec![0; (first_gate + network.gates.len()) * n_steps],
        };
        values.words[n_steps..][..sample.bases.len()].copy_from_slice(&sample.bases);
        let mut found = vec![0; n_steps];
        for gates in runs(network) {
            // A block is gone through until nothing changes any more.
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

    /// The values of a node.
    pub(super) fn of_node(&self, node: usize) -> &[u64] {
        &self.words[node * self.n_steps..][..self.n_steps]
    }

    /// One more node, the conjunction of some signals.
    pub(super) fn push_and(&mut self, inputs: &[Signal]) {
        for step in 0..self.n_steps {
            let word = self.all_of(inputs, step);
            self.words.push(word);
        }
    }

    /// Whether all of some signals are on in a step.
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

/// The gates in order: single ones, and blocks as a whole.
pub(super) fn runs(network: &Network) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut blocks = network
        .blocks
        .iter()
        .filter_map(|block| {
            let first = block.first()?.index();
            Some(first..first + block.len())
        })
        .peekable();
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= network.gates.len() {
            return None;
        }
        let run = match blocks.next_if(|block| block.start == at) {
            Some(block) => block,
            None => at..at + 1,
        };
        at = run.end;
        Some(run)
    })
}

/// When a gate is worked out in a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Never,
    BeforeMoves,
    AfterMoves,
}

/// The turn of each gate: what no move and no next state depends on has none.
fn turns(network: &Network) -> Vec<Turn> {
    let first_move = 1 + network.facts.len();
    let first_gate = first_move + network.moves.len();
    let mut turns = vec![Turn::Never; network.gates.len()];
    let outputs = network.next.iter().chain(network.legal.iter());
    let mut open: Vec<Signal> = outputs.chain([&network.terminal]).copied().collect();
    while let Some(signal) = open.pop() {
        if let Some(gate) = signal.node_number().checked_sub(first_gate)
            && turns[gate] == Turn::Never
        {
            turns[gate] = Turn::BeforeMoves;
            open.extend(network.inputs(GateId::from_index(gate)));
        }
    }
    for gates in runs(network) {
        let depends = gates.clone().any(|gate| {
            let mut inputs = network.inputs(GateId::from_index(gate)).iter();
            inputs.any(|input| match input.node_number().checked_sub(first_gate) {
                Some(gate) => turns[gate] == Turn::AfterMoves,
                None => input.node_number() >= first_move,
            })
        });
        for turn in &mut turns[gates] {
            if depends && *turn == Turn::BeforeMoves {
                *turn = Turn::AfterMoves;
            }
        }
    }
    turns
}

/// Brings the gates whose turn it is to the values that follow from bases and moves; returns how
/// many edges were looked at.
fn evaluate(network: &Network, values: &mut [u64], turns: &[Turn], turn: Turn) -> usize {
    let first_gate = 1 + network.facts.len() + network.moves.len();
    let mut work = 0;
    for gates in runs(network) {
        let is_block = gates.len() > 1;
        if is_block && turns[gates.start] == turn {
            values[first_gate + gates.start..first_gate + gates.end].fill(0);
        }
        loop {
            let mut is_changed = false;
            for gate in gates.clone().filter(|&gate| turns[gate] == turn) {
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

/// Each role's moves, as a range of numbers.
fn moves_by_role(network: &Network) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
    let mut first = 0;
    let roles = network
        .moves
        .as_slice()
        .chunk_by(|left, right| left.0 == right.0);
    roles.map(move |moves| {
        let range = first..first + moves.len();
        first = range.end;
        (moves[0].0.index(), range)
    })
}

/// Makes one legal move of a role in each playout; returns the playouts in which there was one.
fn choose(
    network: &Network,
    values: &mut [u64],
    moves: std::ops::Range<usize>,
    random: &mut Xoshiro256PlusPlus,
) -> u64 {
    let first_move = 1 + network.facts.len();
    let from = (random.next_u64() as usize) % moves.len().max(1);
    let mut chosen = 0u64;
    // Once round taking about one legal move in eight, then once more taking the first.
    for is_last in [false, true] {
        for offset in 0..moves.len() {
            let mv = moves.start + (from + offset) % moves.len();
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
