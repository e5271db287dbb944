//! The updates of the next state by moves and keys, as masks, bits and copies.

use panza_gdl::BaseId;
use panza_propnet::{KeyedUpdate, Node, Signal, SpecialisedPhase};

use super::super::{Copies, Effects, KeyWord, Mask, NO_ROW};
use super::{Compiler, UpdateKind};

/// Effects that copy at least so many bases do so by the word.
const MIN_COPIES: usize = 6;

impl Compiler<'_> {
    /// The effects of updates, bases rising: constants become masks, the rest fetched bits.
    pub(super) fn effects(&mut self, list: &[(BaseId, Signal)], kind: UpdateKind) -> Effects {
        let (masks, bits) = (
            self.effects.masks.len() as u32,
            self.effects.bits.len() as u32,
        );
        let copied = self.copied(list);
        for &(base, signal) in list {
            let (word, bit) = (base.0 / 64, 1u64 << (base.0 % 64));
            let is_new = self.effects.masks.len() as u32 == masks
                || self
                    .effects
                    .masks
                    .last()
                    .is_none_or(|mask| mask.word != word);
            if is_new {
                self.effects.masks.push(Mask {
                    word,
                    keep: u64::MAX,
                    set: 0,
                });
            }
            if let Some(mask) = self.effects.masks.last_mut() {
                if kind != UpdateKind::Set {
                    mask.keep &= !bit;
                }
                if signal == Signal::TRUE {
                    mask.set |= bit;
                }
            }
            if !signal.is_constant() && copied.binary_search(&(signal, base)).is_err() {
                let operand = self.operand(signal);
                self.effects.bits.push((base, operand));
            }
        }
        let copies = self.effects.copies.len() as u32;
        let word_of = |signal: Signal| (signal.node_number() - 1) / 64;
        for of_word in copied.chunk_by(|left, right| word_of(left.0) == word_of(right.0)) {
            let bits = of_word
                .iter()
                .map(|&(signal, _)| 1 << ((signal.node_number() - 1) % 64));
            self.effects.copies.push(Copies {
                word: word_of(of_word[0].0) as u32,
                mask: bits.fold(0, |mask, bit: u64| mask | bit),
                first: self.effects.targets.len() as u32,
            });
            self.effects
                .targets
                .extend(of_word.iter().map(|&(_, base)| base));
        }
        Effects {
            masks: (masks, self.effects.masks.len() as u32),
            bits: (bits, self.effects.bits.len() as u32),
            copies: (copies, self.effects.copies.len() as u32),
        }
    }

    /// The effects that copy a base to another, sorted by the source, each source once; none when
    /// there are few.
    pub(super) fn copied(&self, list: &[(BaseId, Signal)]) -> Vec<(Signal, BaseId)> {
        let mut copied: Vec<(Signal, BaseId)> = list
            .iter()
            .filter(|(_, signal)| {
                !signal.is_inverted() && matches!(self.network.node(*signal), Node::Base(_))
            })
            .map(|&(base, signal)| (signal, base))
            .collect();
        copied.sort_unstable();
        copied.dedup_by_key(|&mut (signal, _)| signal);
        if copied.len() < MIN_COPIES {
            copied.clear();
        }
        copied
    }

    /// The keys with a non-empty list of updates: bases by the words of the state, gates by rows of
    /// leaves.
    pub(super) fn key_words(
        &mut self,
        phase: &SpecialisedPhase,
        kind: UpdateKind,
        updates: impl Fn(&KeyedUpdate) -> Vec<(BaseId, Signal)>,
    ) -> Box<[KeyWord]> {
        let mut words: Vec<KeyWord> = Vec::new();
        let mut n_leaves = 0;
        for keyed in &phase.keyed {
            let list = updates(keyed);
            if list.is_empty() {
                continue;
            }
            let (word, bit, is_leaf) = match self.network.node(keyed.key) {
                Node::Base(base) if !keyed.key.is_inverted() => (base.0 / 64, base.0 % 64, false),
                _ => {
                    n_leaves += 1;
                    (0, (n_leaves - 1) % 64, true)
                }
            };
            // Keys come in rising order, so a word's keys are consecutive.
            let is_new = match words.last() {
                Some(last) if is_leaf => last.row == NO_ROW || bit == 0,
                Some(last) => last.row != NO_ROW || last.word != word,
                None => true,
            };
            if is_new {
                words.push(KeyWord {
                    word,
                    row: if is_leaf { self.add_row() } else { NO_ROW },
                    mask: 0,
                    first: self.effects.keyed.len() as u32,
                });
            }
            if let Some(last) = words.last_mut() {
                last.mask |= 1 << bit;
                if is_leaf {
                    let leaf = last.row + bit;
                    self.fill_leaf(leaf, keyed.key);
                }
            }
            let effects = self.effects(&list, kind);
            self.effects.keyed.push(effects);
        }
        words.into()
    }
}
