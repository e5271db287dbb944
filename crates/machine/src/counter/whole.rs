//! The counters of a network of any form.
//!
//! Every component is one `u32` whose top bit is its value. A flip of a component adds one to each
//! user's counter or subtracts one; a user whose top bit changed has flipped in turn. Flipped
//! components form a set that is scanned upwards in topological order, so each is final when it is
//! reached, and one that has flipped twice by then updates nothing.
//!
//! A block holds its least fixpoint. Rising inputs are counted in as they come; when an input
//! falls, the block is reset and derived anew, since a cycle of gates would otherwise support
//! itself.
//!
//! Invariants between calls: the set is empty, no block is queued, and each counter outside blocks
//! is its start plus the number of its inputs that are on ([`Counters::check`] recomputes them).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::compile::{Component, CounterLayout, OR_START, OutputSource, TriggerKind};
use panza_gdl::{Id, IdVec, MoveId, RoleId};
use panza_sync::Random;

const TOP: u32 = 1 << 31;

#[derive(Clone, Debug)]
pub(super) struct Counters {
    counters: Vec<u32>,
    /// Components that flipped and have not updated their users.
    flipped: FlippedSet,
    pub(super) state: Vec<u64>,
    pub(super) next: Vec<u64>,
    /// Per role, its legal moves in no order.
    pub(super) legal: IdVec<RoleId, Vec<MoveId>>,
    /// Per move, its index in its role's list.
    place: Vec<u32>,
    role_of: Vec<RoleId>,
    /// Per role, the move whose input is on.
    made: Vec<Option<MoveId>>,
    chosen: Vec<MoveId>,
    drawing: Vec<MoveId>,
    blocks: Vec<BlockState>,
    /// Queued blocks, the lowest first: blocks are in topological order, so each is settled once.
    waiting_blocks: BinaryHeap<Reverse<u32>>,
    is_applied: Vec<bool>,
    block_work: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct BlockState {
    is_waiting: bool,
    needs_reset: bool,
    risen: Vec<u32>,
}

const NOT_LEGAL: u32 = u32::MAX;

impl Counters {
    pub(super) fn new(layout: &CounterLayout) -> Self {
        Self {
            counters: layout.at_rest.clone(),
            flipped: FlippedSet::new(layout.components.len()),
            state: vec![0; layout.state_words()],
            next: layout.next_at_rest.clone(),
            legal: layout
                .info
                .role_moves
                .iter()
                .map(|moves| Vec::with_capacity(moves.len()))
                .collect(),
            place: vec![NOT_LEGAL; layout.info.moves.len()],
            role_of: layout.info.moves.iter().map(|&(role, _)| role).collect(),
            made: vec![None; layout.info.roles.len()],
            chosen: Vec::with_capacity(layout.info.roles.len()),
            drawing: Vec::with_capacity(
                layout
                    .info
                    .role_moves
                    .iter()
                    .map(Range::len)
                    .max()
                    .unwrap_or(0),
            ),
            blocks: vec![BlockState::default(); layout.blocks.len()],
            waiting_blocks: BinaryHeap::with_capacity(layout.blocks.len()),
            is_applied: vec![false; layout.ports.len()],
            block_work: Vec::new(),
        }
    }

    /// Propagates from 'nothing counted' to the values for every base false and no move made.
    pub(super) fn come_to_rest(&mut self, layout: &CounterLayout) {
        for &mv in &layout.legal_at_rest {
            self.set_legal(mv, true);
        }
        for (index, block) in layout.blocks.iter().enumerate() {
            for &(component, start) in &block.gates {
                self.counters[component as usize] = start;
            }
            self.blocks[index] = BlockState {
                is_waiting: true,
                needs_reset: true,
                risen: Vec::new(),
            };
            self.waiting_blocks.push(Reverse(index as u32));
        }
        // A gate of no inputs may be on from the start, and has not updated its users yet.
        for component in 0..layout.components.len() as u32 {
            if self.is_on(component) {
                self.flipped.toggle(component);
            }
        }
        // Each inverted user of a component counts it once, as off.
        for component in 0..layout.components.len() {
            let Component { inverted, end, .. } = layout.components[component];
            for edge in inverted..end {
                self.add(layout.edges[edge as usize], 1);
            }
        }
        self.propagate(layout);
    }

    #[inline]
    fn is_on(&self, component: u32) -> bool {
        self.counters[component as usize] & TOP != 0
    }

    pub(super) fn reads(&self, source: OutputSource) -> bool {
        match source {
            OutputSource::Constant(value) => value,
            OutputSource::Plain(component) => self.is_on(component),
            OutputSource::Inverted(component) => !self.is_on(component),
        }
    }

    pub(super) fn goal(&self, values: &[(u8, OutputSource)]) -> Option<u8> {
        values
            .iter()
            .find(|&&(_, source)| self.reads(source))
            .map(|&(value, _)| value)
    }

    #[inline]
    fn flip_input(&mut self, component: u32) {
        self.counters[component as usize] ^= TOP ^ OR_START;
        self.flipped.toggle(component);
    }

    #[inline]
    fn add(&mut self, component: u32, amount: u32) {
        debug_assert!((component as usize) < self.counters.len());
        // SAFETY: `component` is an entry of the layout's edge array, all of which are below the
        // number of components (`CounterLayout::compile` checks it), and `counters` has one entry
        // per component for good.
        let counter = unsafe { self.counters.get_unchecked_mut(component as usize) };
        let before = *counter;
        let after = before.wrapping_add(amount);
        *counter = after;
        // SAFETY: as above; the set was made for the same number of components.
        unsafe {
            self.flipped
                .toggle_unchecked(component, (before ^ after) >> 31)
        };
    }

    #[inline]
    fn update_users(&mut self, layout: &CounterLayout, users: Component, is_on: bool) {
        let amount = if is_on { 1 } else { u32::MAX };
        let Component {
            start,
            inverted,
            end,
            ..
        } = users;
        debug_assert!(start <= inverted && inverted <= end && end as usize <= layout.edges.len());
        // SAFETY: `users` comes from the layout's components, whose runs are in order and end
        // within the edge array (`CounterLayout::compile` checks it).
        let (plain, opposite) = unsafe {
            (
                layout
                    .edges
                    .get_unchecked(start as usize..inverted as usize),
                layout.edges.get_unchecked(inverted as usize..end as usize),
            )
        };
        for &user in plain {
            self.add(user, amount);
        }
        for &user in opposite {
            self.add(user, amount.wrapping_neg());
        }
    }

    pub(super) fn set_state(&mut self, layout: &CounterLayout, state: &[u64]) {
        for word in 0..self.state.len() {
            // A state of the wrong width is cut or padded with false.
            let wanted = state.get(word).copied().unwrap_or(0);
            let mut changed = self.state[word] ^ wanted;
            self.state[word] = wanted;
            while changed != 0 {
                let bit = changed.trailing_zeros();
                changed &= changed - 1;
                let component = word as u32 * 64 + bit;
                if (component as usize) < layout.info.facts.len() {
                    self.flip_input(component);
                }
            }
        }
        self.propagate(layout);
    }

    pub(super) fn make_moves(&mut self, layout: &CounterLayout, joint_move: &[MoveId]) {
        let first_move = layout.info.facts.len() as u32;
        for role in 0..self.made.len() {
            let wanted = joint_move
                .get(role)
                .copied()
                .filter(|mv| mv.index() < self.place.len());
            if self.made[role] == wanted {
                continue;
            }
            if let Some(mv) = std::mem::replace(&mut self.made[role], wanted) {
                self.flip_input(first_move + mv.0);
            }
            if let Some(mv) = wanted {
                self.flip_input(first_move + mv.0);
            }
        }
        self.propagate(layout);
    }

    pub(super) fn are_legal(&self, joint_move: &[MoveId]) -> bool {
        joint_move.iter().all(|mv| {
            self.place
                .get(mv.index())
                .is_some_and(|&place| place != NOT_LEGAL)
        })
    }

    pub(super) fn make_chosen_moves(&mut self, layout: &CounterLayout) {
        let chosen = std::mem::take(&mut self.chosen);
        self.make_moves(layout, &chosen);
        self.chosen = chosen;
    }

    /// Draws a legal move for each role, of several the n-th in rising order for a random n; false
    /// when a role has none.
    pub(super) fn choose_moves(&mut self, random: &mut Random) -> bool {
        self.chosen.clear();
        for moves in self.legal.iter() {
            let mv = match moves[..] {
                [] => return false,
                [only] => only,
                _ => {
                    let n = random.below(moves.len() as u32) as usize;
                    self.drawing.clear();
                    self.drawing.extend_from_slice(moves);
                    *self.drawing.select_nth_unstable(n).1
                }
            };
            self.chosen.push(mv);
        }
        true
    }

    /// Propagates all flips and settles all queued blocks.
    fn propagate(&mut self, layout: &CounterLayout) {
        loop {
            for summary_word in 0..self.flipped.summary.len() {
                while let Some(word) = self.flipped.next_word(summary_word) {
                    // Components of one word do not depend on each other, so they are taken
                    // together.
                    let mut waiting = std::mem::take(&mut self.flipped.words[word]);
                    while waiting != 0 {
                        let component = word as u32 * 64 + waiting.trailing_zeros();
                        waiting &= waiting - 1;
                        let users = layout.components[component as usize];
                        let is_on = self.is_on(component);
                        self.update_users(layout, users, is_on);
                        if users.trigger != 0 {
                            self.fire_trigger(layout, is_on, users.trigger);
                        }
                    }
                }
            }
            let Some(Reverse(block)) = self.waiting_blocks.pop() else {
                return;
            };
            self.settle(layout, block as usize);
        }
    }

    fn fire_trigger(&mut self, layout: &CounterLayout, is_on: bool, trigger: u32) {
        let (kind, number) = Component::unpack_trigger(trigger);
        match kind {
            TriggerKind::None => {}
            TriggerKind::Next => {
                let word = &mut self.next[number / 64];
                *word = *word & !(1 << (number % 64)) | u64::from(is_on) << (number % 64);
            }
            TriggerKind::Legal => self.set_legal(MoveId::from_index(number), is_on),
            TriggerKind::Port => {
                let block = layout.ports[number].block as usize;
                if is_on == self.is_applied[number] && !is_on {
                    return;
                }
                let state = &mut self.blocks[block];
                if is_on {
                    state.risen.push(number as u32);
                } else {
                    state.needs_reset = true;
                }
                if !std::mem::replace(&mut state.is_waiting, true) {
                    self.waiting_blocks.push(Reverse(block as u32));
                }
            }
        }
    }

    fn set_legal(&mut self, mv: MoveId, is_legal: bool) {
        let place = self.place[mv.index()];
        let moves = &mut self.legal[self.role_of[mv.index()]];
        if is_legal && place == NOT_LEGAL {
            self.place[mv.index()] = moves.len() as u32;
            moves.push(mv);
        } else if !is_legal && place != NOT_LEGAL {
            moves.swap_remove(place as usize);
            if let Some(&moved) = moves.get(place as usize) {
                self.place[moved.index()] = place;
            }
            self.place[mv.index()] = NOT_LEGAL;
        }
    }

    fn settle(&mut self, layout: &CounterLayout, index: usize) {
        let block = &layout.blocks[index];
        let first = block.gates.first().map_or(0, |&(component, _)| component);
        debug_assert!(self.block_work.is_empty());
        let mut risen = std::mem::take(&mut self.blocks[index].risen);
        if self.blocks[index].needs_reset {
            for &(component, start) in &block.gates {
                self.counters[component as usize] = start;
                if start & TOP != 0 {
                    self.block_work.push(component - first);
                }
            }
            for port in block.ports.clone() {
                self.is_applied[port as usize] = false;
            }
            risen.clear();
            risen.extend(block.ports.clone());
        }
        for &port in &risen {
            let is_on = self.is_on(layout.ports[port as usize].component);
            if is_on && !std::mem::replace(&mut self.is_applied[port as usize], true) {
                for &target in &layout.ports[port as usize].targets {
                    self.count_inside(target, first);
                }
            }
        }
        risen.clear();
        while let Some(gate) = self.block_work.pop() {
            let (from, to) = (block.starts[gate as usize], block.starts[gate as usize + 1]);
            for &target in &block.edges[from as usize..to as usize] {
                self.count_inside(block.gates[target as usize].0, first);
            }
        }
        self.blocks[index] = BlockState {
            is_waiting: false,
            needs_reset: false,
            risen,
        };
        for &(gate, mirror) in &block.mirrors {
            let value = self.is_on(gate);
            if value != self.is_on(mirror) {
                // A mirror's users may have lower numbers than the mirror, so it is not queued in
                // the set.
                self.counters[mirror as usize] ^= TOP ^ OR_START;
                let users = layout.components[mirror as usize];
                self.update_users(layout, users, value);
                if users.trigger != 0 {
                    self.fire_trigger(layout, value, users.trigger);
                }
            }
        }
    }

    /// Counts one more input of a block's gate. A block's gates have consecutive components.
    fn count_inside(&mut self, component: u32, first: u32) {
        let counter = &mut self.counters[component as usize];
        let before = *counter;
        *counter = before.wrapping_add(1);
        if (before ^ *counter) & TOP != 0 {
            self.block_work.push(component - first);
        }
    }

    pub(super) fn check(&self, layout: &CounterLayout) -> Result<(), String> {
        let n = layout.components.len();
        let mut expected = layout.at_rest.clone();
        let mut has_inputs = vec![false; n];
        let mut is_inside = vec![false; n];
        layout
            .blocks
            .iter()
            .flat_map(|block| block.gates.iter())
            .for_each(|gate| is_inside[gate.0 as usize] = true);
        for component in 0..n {
            let Component {
                start,
                inverted,
                end,
                ..
            } = layout.components[component];
            let is_on = self.is_on(component as u32);
            for edge in start..end {
                let user = layout.edges[edge as usize] as usize;
                has_inputs[user] = true;
                if is_on == (edge < inverted) {
                    expected[user] = expected[user].wrapping_add(1);
                }
            }
        }
        for component in 0..n {
            if has_inputs[component]
                && !is_inside[component]
                && self.counters[component] != expected[component]
            {
                return Err(format!(
                    "component {component} counts {:#x}, its inputs make it {:#x}",
                    self.counters[component], expected[component]
                ));
            }
        }
        if !self.flipped.is_empty() || !self.waiting_blocks.is_empty() {
            return Err("work is left over".into());
        }
        Ok(())
    }
}

/// A set of components that is emptied in rising order while higher ones are still added.
#[derive(Clone, Debug)]
struct FlippedSet {
    words: Vec<u64>,
    /// One bit per word: whether it may be non-zero.
    summary: Vec<u64>,
}

impl FlippedSet {
    fn new(n: usize) -> Self {
        let n_words = n.div_ceil(64).max(1);
        Self {
            words: vec![0; n_words],
            summary: vec![0; n_words.div_ceil(64)],
        }
    }

    /// Adds the component, or removes it if it is a member.
    #[inline]
    fn toggle(&mut self, component: u32) {
        let word = component as usize / 64;
        self.words[word] ^= 1 << (component % 64);
        self.summary[word / 64] |= 1 << (word % 64);
    }

    /// As [`Self::toggle`] when `condition` is 1, and nothing when it is 0, without a branch, since
    /// whether a user flips is unpredictable.
    ///
    /// # Safety
    /// The component must be below the number that the set was made for.
    #[inline]
    unsafe fn toggle_unchecked(&mut self, component: u32, condition: u32) {
        let word = component as usize / 64;
        debug_assert!(word < self.words.len());
        // SAFETY: by the caller's contract `word` is below the number of words, and each 64 words
        // have a summary word.
        unsafe {
            *self.words.get_unchecked_mut(word) ^= u64::from(condition) << (component % 64);
            *self.summary.get_unchecked_mut(word / 64) |= u64::from(condition) << (word % 64);
        }
    }

    /// The lowest word that may be non-zero, of the 64 words of one summary word. Its summary bit
    /// is cleared.
    #[inline]
    fn next_word(&mut self, summary_word: usize) -> Option<usize> {
        let summary = self.summary[summary_word];
        if summary == 0 {
            return None;
        }
        self.summary[summary_word] = summary & (summary - 1);
        Some(summary_word * 64 + summary.trailing_zeros() as usize)
    }

    fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }
}
