//! States in few bits.
//!
//! Facts of which at most one is true in a state share a field: its value is 0, or the place of the
//! true fact. The fields are guessed from random games: of each relation those facts share one that
//! agree in some arguments, such as all values of one cell. Each state is checked when it is
//! packed.
//!
//! Invariants: packing loses nothing; a state that does not fit is refused. Facts that the mask
//! leaves out lie in words of their own, behind all others.

use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashSet, FxHasher};

use panza_analysis::mutex_groups::parts;
use panza_machine::Machine;
use panza_propnet::{BinaryField, Network};
use panza_sync::{Instant, Random, is_past};

/// States of random games that the fields are guessed from.
const SAMPLED_STATES: usize = 400;
/// States of one of them.
const STATES_OF_A_GAME: usize = 60;
/// Relations of more arguments get a field for each fact.
const MAX_ARGUMENTS: usize = 8;
/// Relations of more facts that are true at once likewise.
const MAX_TRUE_FACTS: usize = 4_096;

/// The number of a fact with the numbers of its arguments.
pub(super) type FactParts = (u32, Vec<u32>);

/// Where a fact is stored.
#[derive(Clone, Copy)]
struct FactSlot {
    word: u32,
    shift: u8,
    /// All bits of the field, shifted to 0.
    mask: u32,
    value: u32,
}

/// The facts of a field, in the order of their values from 1 on.
struct Field {
    shift: u8,
    mask: u32,
    facts: Range<u32>,
}

/// How states of a game are packed.
pub(super) struct Packing {
    raw_words: usize,
    /// Empty where states are kept as they are.
    places: Vec<FactSlot>,
    /// The fields of each word.
    fields: Vec<Vec<Field>>,
    facts: Vec<u32>,
    /// Words of the facts in the mask.
    key_words: usize,
    n_words: usize,
}

impl Packing {
    /// Keeps states as they are; the mask must be full.
    pub fn raw(raw_words: usize) -> Self {
        Self::kept(raw_words, raw_words)
    }

    /// Keeps states as they are; the facts of the mask are in the first words.
    pub fn kept(raw_words: usize, key_words: usize) -> Self {
        Self {
            raw_words,
            places: Vec::new(),
            fields: Vec::new(),
            facts: Vec::new(),
            key_words,
            n_words: raw_words,
        }
    }

    /// The same facts with a field for each.
    pub fn widened(&self) -> Self {
        let mut mask = vec![0; self.raw_words];
        for (fact, place) in self.places.iter().enumerate() {
            let is_key = (place.word as usize) < self.key_words;
            mask[fact / 64] |= u64::from(is_key) << (fact % 64);
        }
        Self::bits(self.places.len(), &mask)
    }

    /// A field for each fact.
    pub fn bits(n_facts: usize, mask: &[u64]) -> Self {
        Self::with_fields((0..n_facts as u32).map(|fact| vec![fact]).collect(), mask)
    }

    /// Guesses fields from random games until then; what is left gets a field for each fact.
    pub fn guess(
        machine: &Arc<dyn Machine>,
        network: &Network,
        start: &[u64],
        mask: &[u64],
        until: Instant,
    ) -> Self {
        let samples = sample(machine, start, until);
        let mut fields = Vec::new();
        for ((_, n_arguments, _), facts) in relations(network, mask) {
            fields.extend(fields_of(&facts, n_arguments, &samples, until));
        }
        Self::with_fields(fields, mask)
    }

    pub(super) fn with_fields(mut fields: Vec<Vec<u32>>, mask: &[u64]) -> Self {
        // Wide fields first leave fewer gaps.
        fields.sort_by_key(|facts| (!is_on(mask, facts[0]), std::cmp::Reverse(facts.len())));
        let n_facts = fields.iter().map(Vec::len).sum();
        let nowhere = FactSlot {
            word: 0,
            shift: 0,
            mask: 0,
            value: 0,
        };
        let mut packing = Self {
            raw_words: mask.len(),
            places: vec![nowhere; n_facts],
            fields: vec![Vec::new()],
            facts: Vec::new(),
            key_words: 0,
            n_words: 0,
        };
        let mut used = 0;
        let mut is_key = true;
        for facts in fields {
            let n_bits = usize::BITS - facts.len().leading_zeros();
            let begins_counters = is_key && !is_on(mask, facts[0]);
            if begins_counters {
                packing.key_words = packing.fields.len();
                is_key = false;
            }
            if used + n_bits > 64 || begins_counters {
                packing.fields.push(Vec::new());
                used = 0;
            }
            let (word, shift) = (packing.fields.len() - 1, used as u8);
            let field_mask = ((1u64 << n_bits) - 1) as u32;
            let start = packing.facts.len() as u32;
            for (value, &fact) in (1..).zip(&facts) {
                packing.places[fact as usize] = FactSlot {
                    word: word as u32,
                    shift,
                    mask: field_mask,
                    value,
                };
                packing.facts.push(fact);
            }
            packing.fields[word].push(Field {
                shift,
                mask: field_mask,
                facts: start..packing.facts.len() as u32,
            });
            used += n_bits;
        }
        packing.n_words = packing.fields.len();
        if is_key {
            packing.key_words = packing.n_words;
        }
        packing
    }

    /// The fields; none where states are kept as they are.
    pub fn binary_fields(&self) -> Vec<BinaryField> {
        let words = self.fields.iter().enumerate();
        let fields = words.flat_map(|(word, fields)| fields.iter().map(move |field| (word, field)));
        let facts = |field: &Field| {
            self.facts[field.facts.start as usize..field.facts.end as usize].to_vec()
        };
        fields
            .map(|(word, field)| BinaryField {
                first_bit: word * 64 + usize::from(field.shift),
                facts: facts(field),
            })
            .collect()
    }

    /// A bit of no field, which may be behind the last word; `None` where states are kept as they
    /// are.
    pub fn free_bit(&self) -> Option<usize> {
        let last = self.fields.last()?.last()?;
        let is_used = u64::from(last.mask) << last.shift >> 63 == 1;
        Some(self.n_words * 64 - usize::from(!is_used))
    }

    /// Words of a packed state.
    pub fn n_words(&self) -> usize {
        self.n_words
    }

    /// The first words: those of the facts in the mask.
    pub fn key_words(&self) -> usize {
        self.key_words
    }

    /// Words of an unpacked state.
    pub fn raw_words(&self) -> usize {
        self.raw_words
    }

    /// Writes the packed state over `packed`; `false` if the state does not fit.
    pub fn pack(&self, state: &[u64], packed: &mut [u64]) -> bool {
        if self.places.is_empty() {
            packed.copy_from_slice(state);
            return true;
        }
        packed.fill(0);
        for (index, &word) in state.iter().enumerate() {
            let mut left = word;
            while left != 0 {
                let fact = index * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                let FactSlot {
                    word,
                    shift,
                    mask,
                    value,
                } = self.places[fact];
                let field = &mut packed[word as usize];
                if *field >> shift & u64::from(mask) != 0 {
                    return false;
                }
                *field |= u64::from(value) << shift;
            }
        }
        true
    }

    /// Appends the unpacked state to `state`.
    pub fn unpack(&self, packed: &[u64], state: &mut Vec<u64>) {
        if self.places.is_empty() {
            state.extend_from_slice(packed);
            return;
        }
        let start = state.len();
        state.resize(start + self.raw_words, 0);
        let state = &mut state[start..];
        for (&word, fields) in packed.iter().zip(&self.fields) {
            if word == 0 {
                continue;
            }
            for field in fields {
                let value = (word >> field.shift) as u32 & field.mask;
                if value != 0 {
                    let fact = self.facts[(field.facts.start + value - 1) as usize];
                    state[fact as usize / 64] |= 1 << (fact % 64);
                }
            }
        }
    }
}

fn is_on(bits: &[u64], fact: u32) -> bool {
    bits[fact as usize / 64] >> (fact % 64) & 1 == 1
}

/// The facts by name, number of arguments, and whether they are in the mask.
pub(super) fn relations<'a>(
    network: &'a Network,
    mask: &[u64],
) -> BTreeMap<(&'a str, usize, bool), Vec<FactParts>> {
    let mut relations: BTreeMap<(&str, usize, bool), Vec<FactParts>> = BTreeMap::new();
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    for (fact, text) in network.facts.enumerate() {
        let parts = parts(text);
        let name = parts[0];
        let arguments = parts[1..].iter().map(|&argument| {
            let next = numbers.len() as u32;
            *numbers.entry(argument).or_insert(next)
        });
        let arguments: Vec<u32> = arguments.collect();
        let is_key = is_on(mask, fact.0);
        let relation = relations
            .entry((name, arguments.len(), is_key))
            .or_default();
        relation.push((fact.0, arguments));
    }
    relations
}

/// The facts of a relation that agree in the arguments of a mask, class by class.
pub(super) fn classes(facts: &[FactParts], mask: u32) -> Vec<Vec<u32>> {
    let mut classes: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
    for (fact, arguments) in facts {
        let key = chosen(arguments, mask).collect();
        classes.entry(key).or_default().push(*fact);
    }
    classes.into_values().collect()
}

/// The arguments of a mask.
fn chosen(arguments: &[u32], mask: u32) -> impl Iterator<Item = u32> + '_ {
    let chosen = arguments.iter().enumerate();
    let chosen = chosen.filter(move |(place, _)| mask >> place & 1 == 1);
    chosen.map(|(_, &argument)| argument)
}

/// States of random games from the start.
pub(super) fn sample(machine: &Arc<dyn Machine>, start: &[u64], until: Instant) -> Vec<Vec<u64>> {
    let mut reasoner = Arc::clone(machine).reasoner();
    let mut random = Random::new(1);
    let mut samples = vec![start.to_vec()];
    let mut next = Vec::new();
    while samples.len() < SAMPLED_STATES && !is_past(until) {
        let mut state = start.to_vec();
        for step in 0..STATES_OF_A_GAME {
            reasoner.set_state(&state);
            let joint_move = reasoner.random_joint_move(1, &mut random);
            let Some(joint_move) = joint_move.filter(|_| samples.len() < SAMPLED_STATES) else {
                if step == 0 {
                    return samples;
                }
                break;
            };
            reasoner.next_state(&joint_move, &mut next);
            std::mem::swap(&mut state, &mut next);
            samples.push(state.clone());
            reasoner.set_state(&state);
            if reasoner.is_terminal() {
                break;
            }
        }
    }
    samples
}

/// The fields of a relation: the partition by some arguments that needs the fewest bits, of those
/// that agree with all samples.
fn fields_of(
    facts: &[FactParts],
    n_arguments: usize,
    samples: &[Vec<u64>],
    until: Instant,
) -> Vec<Vec<u32>> {
    let single = || facts.iter().map(|(fact, _)| vec![*fact]).collect();
    if n_arguments > MAX_ARGUMENTS {
        return single();
    }
    let mut masks: Vec<u32> = (0..1 << n_arguments).collect();
    let mut met = FxHashSet::default();
    for state in samples {
        let on: Vec<&Vec<u32>> = facts
            .iter()
            .filter(|(fact, _)| is_on(state, *fact))
            .map(|(_, arguments)| arguments)
            .collect();
        if on.len() > MAX_TRUE_FACTS || is_past(until) {
            return single();
        }
        masks.retain(|&mask| {
            met.clear();
            // Equal hashes of different arguments refuse a partition that would do.
            on.iter().all(|arguments| {
                let mut hasher = FxHasher::default();
                chosen(arguments, mask).for_each(|argument| argument.hash(&mut hasher));
                met.insert(hasher.finish())
            })
        });
    }
    let n_bits = |classes: &Vec<Vec<u32>>| -> u32 {
        classes
            .iter()
            .map(|class| usize::BITS - class.len().leading_zeros())
            .sum()
    };
    // Larger classes need fewer bits.
    let has_larger = |mask: u32| {
        masks
            .iter()
            .any(|&other| other != mask && other & mask == other)
    };
    let masks = masks.iter().copied().filter(|&mask| !has_larger(mask));
    let masks = masks.take_while(|_| !is_past(until));
    let partitions = masks.map(|mask| classes(facts, mask));
    partitions.min_by_key(n_bits).unwrap_or_else(single)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_states_unpack_to_themselves() {
        // Facts 0 to 2 are one cell, 3 to 5 another, 6 is a counter.
        let fields = vec![vec![0, 1, 2], vec![3, 4, 5], vec![6]];
        let packing = Packing::with_fields(fields, &[0b011_1111]);
        assert_eq!((packing.key_words(), packing.n_words()), (1, 2));
        let mut packed = vec![0; 2];
        for state in [0b100_0000u64, 0b001_0001, 0b110_0100, 0b000_1000, 0] {
            assert!(packing.pack(&[state], &mut packed));
            let mut unpacked = Vec::new();
            packing.unpack(&packed, &mut unpacked);
            assert_eq!(unpacked, [state]);
        }
        assert!(
            !packing.pack(&[0b000_0011], &mut packed),
            "two facts of one cell"
        );
    }
}
