//! One thread's values of a specialised game, and their incremental update.
//!
//! When a base flips, every user's counter moves by one step; a counter whose top bit changed joins
//! When a base flips, every user's counter moves by one step; a counter whose top bit changed joins
//! a first-in first-out queue and updates its users in turn. A gate that has flipped back by then
//! updates nothing, since its lowest bit still holds the value of its last update.
//!
//! Invariants between calls: every counter is its start plus two for each input that is on, all
//! users are up to date (see [`SpecialisedCounters::check`]), and the values are those of `state`.

use super::layout::{GoalPass, LazyGate, NO_ROW, Operand, PhaseLayout, SpecialisedLayout, Users};

/// The value bit and the update bit of a base or move.
const FLIP: u8 = 0x81;

/// 64 values, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Line(pub(super) [u8; 64]);

/// Adds a step to a user's counter, or subtracts it from an inverted user's, and returns 1 if the
/// user's value flips, else 0.
///
/// # Safety
/// `values` points to an array in which the edge's number is an index.
#[inline(always)]
unsafe fn count(values: *mut u8, edge: u32, step: u8) -> u8 {
    let inversion = ((edge & 1) as u8).wrapping_neg();
    let amount = (step ^ inversion).wrapping_sub(inversion);
    // SAFETY: by the caller's contract.
    unsafe {
        let value = values.add((edge >> 1) as usize);
        let before = *value;
        let after = before.wrapping_add(amount);
        *value = after;
        (before ^ after) >> 7
    }
}

#[derive(Clone, Debug)]
pub(crate) struct SpecialisedCounters {
    pub(super) lines: Vec<Line>,
    queue: Vec<u32>,
    pub(crate) state: Vec<u64>,
    pub(super) next: Vec<u64>,
    /// Per role, the number of the move whose value is on.
    pub(super) made: Vec<u32>,
    /// Per role, the index of the drawn move in this phase.
    pub(super) drawn: Vec<u32>,
    /// Per lazy gate: twice the evaluation that it was last evaluated in, plus its value.
    lazy: Vec<u32>,
    evaluation: u32,
    /// Lazy gates evaluated so far, for [`Self::work`].
    pub(super) n_evaluated: u64,
    /// The last argument of [`Self::set_state`].
    last_set: Vec<u64>,
    /// The values in `last_set`, when it was set several times in a row.
    snapshot: Vec<Line>,
    /// The moves whose values are on in `snapshot`.
    snapshot_made: Vec<u32>,
    /// The state of `snapshot`: `last_set`, but of the right width.
    snapshot_state: Vec<u64>,
}

impl SpecialisedCounters {
    pub(crate) fn new(layout: &SpecialisedLayout, n_roles: usize) -> Self {
        let lines = layout.at_rest.chunks(64).map(|chunk| {
            let mut line = Line([0; 64]);
            line.0[..chunk.len()].copy_from_slice(chunk);
            line
        });
        let n_words = (layout.n_bases as usize).div_ceil(64).max(1);
        Self {
            lines: lines.collect(),
            queue: vec![0; 256],
            state: vec![0; n_words],
            next: vec![0; n_words],
            made: vec![NO_ROW; n_roles],
            drawn: vec![0; n_roles],
            lazy: vec![0; layout.lazy.gates.len()],
            evaluation: 0,
            n_evaluated: 0,
            last_set: Vec::new(),
            snapshot: Vec::new(),
            snapshot_made: Vec::new(),
            snapshot_state: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn values(&self) -> &[u8] {
        // SAFETY: lines are 64 bytes each, without padding, and bytes have no alignment to keep.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * 64) }
    }

    #[inline]
    fn values_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `values`, and borrowed as exclusively as `self`.
        unsafe {
            std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * 64)
        }
    }

    /// Updates the users of a number with its new value; gates that flip join the queue behind
    /// `len`. Returns the queue's new length.
    #[inline(always)]
    fn update_users(
        &mut self,
        layout: &SpecialisedLayout,
        number: u32,
        is_on: bool,
        len: usize,
    ) -> usize {
        debug_assert!(number < layout.n_followed);
        // SAFETY: `number` is followed, `users` has one entry more than there are followed numbers,
        // and its runs are in order within the edge array (the layout checks both).
        let (gates, leaves) = unsafe {
            let Users { start, leaves } = *layout.users.get_unchecked(number as usize);
            let end = layout.users.get_unchecked(number as usize + 1).start;
            (
                layout.edges.get_unchecked(start as usize..leaves as usize),
                layout.edges.get_unchecked(leaves as usize..end as usize),
            )
        };
        // Every gate could flip, and one entry past the end is written to.
        if self.queue.len() <= len + gates.len() {
            self.queue.resize(2 * (len + gates.len() + 1), 0);
        }
        let mut len = len;
        let step: u8 = if is_on { 2 } else { 2u8.wrapping_neg() };
        let values = self.lines.as_mut_ptr().cast::<u8>();
        let queue = self.queue.as_mut_ptr();
        for &edge in gates {
            // SAFETY: every edge leads to a number of the array (the layout checks it), and the
            // array has a value for each; `len` is below the queue's length, which was extended
            // above for one entry per user.
            unsafe {
                let flips = count(values, edge, step);
                *queue.add(len) = edge >> 1;
                len += usize::from(flips);
            }
        }
        for &edge in leaves {
            // SAFETY: as above.
            unsafe { count(values, edge, step) };
        }
        len
    }

    #[inline(always)]
    pub(super) fn settle(&mut self, layout: &SpecialisedLayout, mut len: usize) {
        let mut head = 0;
        while head < len {
            let number = self.queue[head];
            head += 1;
            let value = &mut self.values_mut()[number as usize];
            if (*value >> 7 ^ *value) & 1 == 0 {
                continue;
            }
            *value ^= 1;
            let is_on = *value & 1 == 1;
            len = self.update_users(layout, number, is_on, len);
        }
    }

    /// Flips a base or move and updates its users.
    #[inline(always)]
    pub(super) fn flip(&mut self, layout: &SpecialisedLayout, number: u32, len: usize) -> usize {
        let value = &mut self.values_mut()[number as usize];
        *value ^= FLIP;
        let is_on = *value & 1 == 1;
        self.update_users(layout, number, is_on, len)
    }

    #[inline(always)]
    pub(super) fn follow_next(&mut self, layout: &SpecialisedLayout) {
        let mut len = 0;
        for word in 0..self.state.len() {
            let wanted = self.next[word];
            let mut changed = self.state[word] ^ wanted;
            self.state[word] = wanted;
            while changed != 0 {
                let number = word as u32 * 64 + changed.trailing_zeros();
                changed &= changed - 1;
                len = self.flip(layout, number, len);
            }
        }
        self.settle(layout, len);
    }

    /// Moves the values to a state. A state that is set again and again, as by playouts, is
    /// restored from a snapshot.
    pub(crate) fn set_state(&mut self, layout: &SpecialisedLayout, state: &[u64]) {
        let is_again = self.last_set == state;
        if is_again && !self.snapshot.is_empty() {
            self.lines.copy_from_slice(&self.snapshot);
            self.made.copy_from_slice(&self.snapshot_made);
            self.state.copy_from_slice(&self.snapshot_state);
            return;
        }
        for (word, next) in self.next.iter_mut().enumerate() {
            // A state of the wrong width is cut or padded with false, and bits above the bases are
            // cleared.
            *next = state.get(word).copied().unwrap_or(0);
            let n_bits = (layout.n_bases as usize).saturating_sub(word * 64);
            if n_bits < 64 {
                *next &= (1 << n_bits) - 1;
            }
        }
        self.follow_next(layout);
        self.snapshot.clear();
        if is_again {
            self.snapshot.extend_from_slice(&self.lines);
            self.snapshot_made.clone_from(&self.made);
            self.snapshot_state.clone_from(&self.state);
        } else {
            self.last_set.clear();
            self.last_set.extend_from_slice(state);
        }
    }

    /// The value of an operand within one evaluation.
    #[inline(always)]
    pub(super) fn read(&mut self, layout: &SpecialisedLayout, operand: Operand) -> bool {
        if operand.is_flat() {
            return self.read_flat(layout, operand.number()) != (operand.inversion() == 1);
        }
        if operand.is_lazy() {
            return self.read_lazy(layout, operand.number()) != (operand.inversion() == 1);
        }
        self.values()[operand.number() as usize] >> 7 != operand.inversion()
    }

    /// The value of a flat lazy gate, which is cheaper to evaluate than to cache.
    #[inline(always)]
    fn read_flat(&mut self, layout: &SpecialisedLayout, number: u32) -> bool {
        let (start, end) = layout.lazy.gates[number as usize].operands;
        let values = self.values();
        layout.lazy.operands[start as usize..end as usize]
            .iter()
            .all(|operand| values[operand.number() as usize] >> 7 != operand.inversion())
    }

    /// The value of a lazy gate, evaluated at most once per evaluation.
    fn read_lazy(&mut self, layout: &SpecialisedLayout, number: u32) -> bool {
        let known = self.lazy[number as usize];
        if known >> 1 == self.evaluation {
            return known & 1 == 1;
        }
        self.n_evaluated += 1;
        let LazyGate { operands, guarded } = layout.lazy.gates[number as usize];
        let is_on = self.are_on(layout, operands) && self.are_guarded_on(layout, guarded);
        self.lazy[number as usize] = self.evaluation << 1 | u32::from(is_on);
        is_on
    }

    #[inline(always)]
    fn are_on(&mut self, layout: &SpecialisedLayout, operands: (u32, u32)) -> bool {
        layout.lazy.operands[operands.0 as usize..operands.1 as usize]
            .iter()
            .all(|&operand| self.read(layout, operand))
    }

    /// Whether the operands of true bases are on; those of other bases are on anyway.
    #[inline(always)]
    fn are_guarded_on(&mut self, layout: &SpecialisedLayout, guarded: (u32, u32)) -> bool {
        for guards in &layout.lazy.guarded[guarded.0 as usize..guarded.1 as usize] {
            let mut on = self.state[guards.word as usize] & guards.mask;
            while on != 0 {
                let below = (on & on.wrapping_neg()) - 1;
                let first = guards.first + (guards.mask & below).count_ones();
                on &= on - 1;
                if !self.are_on(layout, layout.lazy.guarded_operands[first as usize]) {
                    return false;
                }
            }
        }
        true
    }

    /// Passes each role's goal to `write`.
    pub(crate) fn goals(
        &mut self,
        layout: &SpecialisedLayout,
        phase: &PhaseLayout,
        mut write: impl FnMut(usize, Option<u8>),
    ) {
        if let Some(pass) = phase.goal_pass {
            self.run_goal_pass(&layout.goal_passes[pass]);
        }
        self.begin_evaluation();
        for (role, goals) in phase.goals.iter().enumerate() {
            let goal = goals
                .iter()
                .find(|&&(_, operand)| self.read(layout, operand));
            write(role, goal.map(|&(value, _)| value));
        }
    }

    fn run_goal_pass(&mut self, pass: &GoalPass) {
        let mut to = pass.first as usize;
        let mut operands = &pass.operands[..];
        let values = self.values_mut();
        let read = |values: &[u8], operand: u32| {
            values[(operand >> 1) as usize] ^ ((operand & 1) as u8) << 7
        };
        for run in &pass.runs {
            let fan_in = run.fan_in as usize;
            let (here, rest) = operands.split_at(fan_in * run.n_gates as usize);
            operands = rest;
            match fan_in {
                2 => {
                    for pair in here.chunks_exact(2) {
                        values[to] = read(values, pair[0]) & read(values, pair[1]) & 0x80;
                        to += 1;
                    }
                }
                3 => {
                    for triple in here.chunks_exact(3) {
                        let all = read(values, triple[0])
                            & read(values, triple[1])
                            & read(values, triple[2]);
                        values[to] = all & 0x80;
                        to += 1;
                    }
                }
                _ => {
                    for inputs in here.chunks_exact(fan_in.max(1)) {
                        let all = inputs
                            .iter()
                            .fold(0x80, |all, &input| all & read(values, input));
                        values[to] = all;
                        to += 1;
                    }
                }
            }
        }
    }

    /// Starts an evaluation: cached values of lazy gates become invalid.
    #[inline(always)]
    pub(super) fn begin_evaluation(&mut self) {
        self.evaluation += 1;
        if self.evaluation >= 1 << 31 {
            self.lazy.fill(0);
            self.evaluation = 1;
        }
    }

    /// Recomputes every counter and compares them.
    ///
    /// # Errors
    /// Names the first number whose counter is wrong.
    pub(crate) fn check(&self, layout: &SpecialisedLayout) -> Result<(), String> {
        let values = self.values();
        let rest = &layout.at_rest;
        let mut expected: Vec<u8> = rest.iter().map(|value| value & !1).collect();
        for number in 0..layout.n_followed {
            let value = values[number as usize];
            if (value >> 7 ^ value) & 1 != 0 {
                return Err(format!("the users of number {number} are not up to date"));
            }
            let changed = (value ^ rest[number as usize]) >> 7 == 1;
            let users =
                layout.users[number as usize].start..layout.users[number as usize + 1].start;
            for &edge in &layout.edges[users.start as usize..users.end as usize] {
                if changed {
                    let up = (value >> 7 == 1) != (edge & 1 == 1);
                    let counter = &mut expected[(edge >> 1) as usize];
                    *counter = if up {
                        counter.wrapping_add(2)
                    } else {
                        counter.wrapping_sub(2)
                    };
                }
            }
        }
        let first_gate = layout.first_gate as usize;
        for number in first_gate..layout.n_kept as usize {
            if values[number] & !1 != expected[number] {
                return Err(format!(
                    "number {number} counts {:#x}, its inputs make it {:#x}",
                    values[number], expected[number]
                ));
            }
        }
        Ok(())
    }
}
