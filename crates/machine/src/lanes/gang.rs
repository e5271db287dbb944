//! A gang (ispc's term): as many playouts in lockstep as a vector has bits.
//!
//! All lanes make a step together. A final state is set aside, so that goals are evaluated for many
//! at once, and its lane starts the next requested playout. Every started playout is counted, and
//! on demand so are the final states that have given facts.
//!
//! Invariants: a lane is live or free; at most one final state per lane is pending, and it is
//! evaluated before the lane's next. The states of all live lanes belong to the gang's current
//! phase. The same seed, width and requests give the same playouts on every processor.
//!
//! Never uses: trees, threads.

use std::collections::VecDeque;
use std::sync::Arc;

use super::code::Code;
use super::compile::{ChoiceSlots, GangPrograms, PhasePrograms, n_operations};
use super::interpret::Features;
use super::memory::{Memory, Side, Vector, both, combine};
use super::rank::{RandomBits, draw_ranks, is_any};
use super::transpose::transpose;
use crate::{BatchPlayouts, PlayoutTicket, PlayoutTotals};
use panza_gdl::{BaseId, Id, RoleId};
use panza_sync::Random;

/// A game compiled for gangs of one width on one processor.
#[derive(Debug)]
pub struct GangLayout {
    features: Features,
    n_words: usize,
    n_roles: usize,
    n_bases: usize,
    n_slots: usize,
    mutex_group: Vec<BaseId>,
    phases: Vec<Phase>,
    goal_bases: Vec<BaseId>,
    goal_code: Code,
    first_goal: usize,
    goal_values: Vec<(RoleId, u8)>,
    goal_slots: usize,
    /// Steps between two evaluations of goals while many requests are open.
    goals_every: u64,
}

/// Goals may take one in so many of the operations of all steps, so that results come sooner.
const GOALS_SHARE: usize = 8;
/// With no more open requests than this, goals wait until a lane ends for the second time.
const FEW_REQUESTS: usize = 8;

#[derive(Debug)]
struct Phase {
    look: Code,
    over: Option<usize>,
    choices: Vec<ChoiceSlots>,
    step: Code,
    end: Option<Code>,
    ended: usize,
    successor: usize,
}

impl GangLayout {
    /// Compiles programs for vectors of `n_words` words, 4, 8 or 16, with the given features as far
    /// as this processor has them.
    pub fn new(
        programs: &GangPrograms,
        n_roles: usize,
        features: Features,
        n_words: usize,
    ) -> Self {
        let features = features.min(Features::detect());
        let ready = |sections: &[_], n_state| Code::new(sections, features, n_words, n_state);
        let n_bases = programs.n_bases;
        let mut n_slots = 0;
        let mut phase = |phase: &PhasePrograms| {
            let made = Phase {
                look: ready(&phase.look, n_bases),
                over: phase.over.map(|slot| slot as usize),
                choices: phase.choices.clone(),
                step: ready(&phase.step, n_bases),
                end: phase.end.as_deref().map(|end| ready(end, n_bases)),
                ended: phase.ended as usize,
                successor: phase.successor,
            };
            let codes = [Some(&made.look), Some(&made.step), made.end.as_ref()];
            for code in codes.into_iter().flatten() {
                n_slots = n_slots.max(code.n_slots());
            }
            n_slots = n_slots.max(phase.n_slots as usize);
            made
        };
        let phases = programs.phases.iter().map(&mut phase).collect();
        let goals = &programs.goals;
        let goal_code = ready(&goals.program, goals.bases.len());
        Self {
            features,
            n_words,
            n_roles,
            n_bases,
            n_slots,
            mutex_group: programs.mutex_group.clone(),
            phases,
            goal_bases: goals.bases.clone(),
            goal_slots: goal_code
                .n_slots()
                .max(goals.first as usize + goals.values.len()),
            goal_code,
            first_goal: goals.first as usize,
            goals_every: (GOALS_SHARE * n_operations(&goals.program)
                / programs.n_operations().max(1))
            .max(1) as u64,
            goal_values: goals.values.clone(),
        }
    }

    /// The playouts of a gang.
    pub fn width(&self) -> usize {
        64 * self.n_words
    }

    /// A new gang.
    pub fn gang(self: &Arc<Self>, random: &mut Random, max_steps: u32) -> Box<dyn BatchPlayouts> {
        let layout = Arc::clone(self);
        match self.n_words {
            4 => Box::new(Gang::<4>::new(layout, random, max_steps)),
            16 => Box::new(Gang::<16>::new(layout, random, max_steps)),
            _ => Box::new(Gang::<8>::new(layout, random, max_steps)),
        }
    }

    fn phase_of(&self, state: &[u64]) -> Option<usize> {
        if self.mutex_group.is_empty() {
            return Some(0);
        }
        let is_true = |base: &BaseId| {
            state.get(base.index() / 64).copied().unwrap_or(0) >> (base.index() % 64) & 1 == 1
        };
        let mut on = (0..self.mutex_group.len()).filter(|&index| is_true(&self.mutex_group[index]));
        let phase = on.next()?;
        on.next().is_none().then_some(phase)
    }
}

#[derive(Debug, Default)]
struct QueuedRequest {
    ticket: PlayoutTicket,
    samples: u32,
    state: Vec<u64>,
    bases: Vec<u32>,
    /// Whether the state is known not to be terminal.
    is_nonterminal: bool,
}

#[derive(Debug, Default)]
struct OpenRequest {
    tally: PlayoutTotals,
    samples: u32,
}

#[derive(Debug)]
struct Gang<const N: usize> {
    layout: Arc<GangLayout>,
    random: RandomBits<N>,
    max_steps: u64,
    memory: Memory<N>,
    side: Side,
    phase: usize,
    clock: u64,
    live: Vector<N>,
    tickets: Vec<PlayoutTicket>,
    /// Per live lane, the clock at its start.
    started: Vec<u64>,
    /// No live lane reaches the step limit before this.
    next_limit: u64,
    finals: Memory<N>,
    /// Facts that are counted in final states.
    observed: Vec<BaseId>,
    /// Their values in the final states, in whole groups of 64 facts.
    observed_finals: Vec<Vector<N>>,
    /// For each lane and role the goal of the final state; only where facts are observed.
    goals_of_lanes: Vec<u8>,
    goals_at: u64,
    /// Lanes whose final state waits for its goals.
    pending: Vector<N>,
    pending_tickets: Vec<PlayoutTicket>,
    queues: Vec<VecDeque<QueuedRequest>>,
    n_queued: u64,
    spare: Vec<QueuedRequest>,
    requests: Vec<OpenRequest>,
    free: Vec<PlayoutTicket>,
    n_open: usize,
    done: VecDeque<PlayoutTicket>,
}

impl<const N: usize> Gang<N> {
    fn new(layout: Arc<GangLayout>, random: &mut Random, max_steps: u32) -> Self {
        let n_lanes = 64 * N;
        Self {
            random: RandomBits::new(random),
            max_steps: u64::from(max_steps.max(1)),
            memory: Memory::new(layout.n_bases, layout.n_slots),
            side: Side::Even,
            phase: 0,
            clock: 0,
            live: [0; N],
            tickets: vec![0; n_lanes],
            started: vec![0; n_lanes],
            next_limit: u64::MAX,
            finals: Memory::new(layout.goal_bases.len(), layout.goal_slots),
            observed: Vec::new(),
            observed_finals: Vec::new(),
            goals_of_lanes: Vec::new(),
            goals_at: 0,
            pending: [0; N],
            pending_tickets: vec![0; n_lanes],
            queues: layout.phases.iter().map(|_| VecDeque::new()).collect(),
            n_queued: 0,
            spare: Vec::new(),
            requests: Vec::new(),
            free: Vec::new(),
            n_open: 0,
            done: VecDeque::new(),
            layout,
        }
    }

    #[inline(always)]
    fn step(&mut self) {
        let layout = Arc::clone(&self.layout);
        if !is_any(&self.live) && !self.begin(&layout) {
            self.evaluate_goals(&layout);
            return;
        }
        let phase = &layout.phases[self.phase];
        phase.look.run(&mut self.memory, self.side);
        if let Some(slot) = phase.over {
            let over = both(&self.memory.slots()[slot], &self.live);
            if is_any(&over) {
                self.set_aside(&layout, &over, false);
            }
        }
        if self.clock >= self.next_limit {
            let late = self.lanes_at_limit();
            if is_any(&late) {
                self.set_aside(&layout, &late, true);
            }
        }
        for choice in &phase.choices {
            let slots = self.memory.slots();
            let (before, rank) = slots.split_at_mut(choice.rank.start as usize);
            let count = &before[choice.count.start as usize..choice.count.end as usize];
            draw_ranks(
                &mut self.random,
                count,
                &self.live,
                &mut rank[..count.len()],
            );
        }
        phase.step.run(&mut self.memory, self.side);
        self.clock += 1;
        self.side = self.side.swapped();
        self.phase = phase.successor;
        let phase = &layout.phases[self.phase];
        if let Some(end) = &phase.end
            && is_any(&self.live)
        {
            end.run(&mut self.memory, self.side);
            let ended = both(&self.memory.slots()[phase.ended], &self.live);
            if is_any(&ended) {
                self.set_aside(&layout, &ended, false);
            }
        }
        self.refill(&layout);
        let is_due = self.n_open > FEW_REQUESTS && self.clock >= self.goals_at + layout.goals_every;
        if self.n_queued == 0 || is_due {
            self.evaluate_goals(&layout);
        }
    }

    /// With no live lane, switches to a phase with queued requests; false when there is none.
    fn begin(&mut self, layout: &Arc<GangLayout>) -> bool {
        while let Some(phase) = self.queues.iter().position(|queue| !queue.is_empty()) {
            self.phase = phase;
            self.refill(layout);
            if is_any(&self.live) {
                return true;
            }
        }
        false
    }

    fn lanes_at_limit(&mut self) -> Vector<N> {
        let mut late = [0u64; N];
        self.next_limit = u64::MAX;
        for lane in lanes(&self.live) {
            let limit = self.started[lane] + self.max_steps;
            if limit <= self.clock {
                late[lane / 64] |= 1 << (lane % 64);
            } else {
                self.next_limit = self.next_limit.min(limit);
            }
        }
        late
    }

    /// Takes lanes out of play and keeps their states for the evaluation of goals.
    #[inline(always)]
    fn set_aside(&mut self, layout: &GangLayout, mask: &Vector<N>, is_cut_off: bool) {
        let mask = *mask;
        if is_any(&both(&mask, &self.pending)) {
            self.evaluate_goals(layout);
        }
        let now = self.memory.now(self.side);
        let finals = self.finals.now(Side::Even);
        for (finals, bases) in [
            (finals, &layout.goal_bases),
            (&mut self.observed_finals, &self.observed),
        ] {
            for (kept, &base) in finals.iter_mut().zip(bases) {
                *kept = combine(*kept, now[base.index()], mask, |kept, state, mask| {
                    kept & !mask | state & mask
                });
            }
        }
        for lane in lanes(&mask) {
            let ticket = self.tickets[lane];
            self.pending_tickets[lane] = ticket;
            let tally = &mut self.requests[ticket as usize].tally;
            tally.steps += self.clock - self.started[lane];
            tally.cut_off += u32::from(is_cut_off);
        }
        self.pending = combine(self.pending, mask, mask, |pending, mask, _| pending | mask);
        self.live = combine(self.live, mask, mask, |live, mask, _| live & !mask);
    }

    fn evaluate_goals(&mut self, layout: &GangLayout) {
        if !is_any(&self.pending) {
            return;
        }
        self.goals_at = self.clock;
        layout.goal_code.run(&mut self.finals, Side::Even);
        let pending = std::mem::replace(&mut self.pending, [0; N]);
        let slots = &self.finals.slots()[layout.first_goal..];
        for (&(role, value), slot) in layout.goal_values.iter().zip(slots) {
            let reached = both(slot, &pending);
            // All lanes belong to the only open request.
            if self.n_open == 1 && self.observed.is_empty() {
                let n_reached: u32 = reached.iter().map(|word| word.count_ones()).sum();
                if let Some(lane) = lanes(&pending).next() {
                    let ticket = self.pending_tickets[lane] as usize;
                    self.requests[ticket].tally.totals[role.index()] +=
                        u64::from(n_reached) * u64::from(value);
                }
                continue;
            }
            for lane in lanes(&reached) {
                let ticket = self.pending_tickets[lane] as usize;
                self.requests[ticket].tally.totals[role.index()] += u64::from(value);
                if !self.observed.is_empty() {
                    self.goals_of_lanes[lane * layout.n_roles + role.index()] = value;
                }
            }
        }
        if !self.observed.is_empty() {
            self.count_observed(layout.n_roles, &pending);
        }
        for lane in lanes(&pending) {
            let ticket = self.pending_tickets[lane];
            let request = &mut self.requests[ticket as usize];
            request.tally.playouts += 1;
            if request.tally.playouts == request.samples {
                self.done.push_back(ticket);
                self.n_open -= 1;
            }
        }
    }

    /// Queues a request.
    fn enqueue(
        &mut self,
        state: &[u64],
        samples: u32,
        is_nonterminal: bool,
    ) -> Option<PlayoutTicket> {
        let phase = self.layout.phase_of(state)?;
        if samples == 0 {
            return None;
        }
        let ticket = self.free.pop().unwrap_or_else(|| {
            self.requests.push(OpenRequest::default());
            self.requests.len() as PlayoutTicket - 1
        });
        let request = &mut self.requests[ticket as usize];
        let tally = &mut request.tally;
        tally.clear(self.layout.n_roles);
        tally.observed.resize(self.observed.len(), 0);
        let n_totals = self.observed.len() * self.layout.n_roles;
        tally.observed_totals.resize(n_totals, 0);
        request.samples = samples;
        let n_bases = self.layout.n_bases;
        let mut queued = self.spare.pop().unwrap_or_default();
        queued.ticket = ticket;
        queued.samples = samples;
        queued.is_nonterminal = is_nonterminal;
        queued.state.clear();
        queued.state.extend_from_slice(state);
        queued.bases.clear();
        let bases = lanes(state).take_while(|&base| base < n_bases);
        queued.bases.extend(bases.map(|base| base as u32));
        self.queues[phase].push_back(queued);
        self.n_queued += u64::from(samples);
        self.n_open += 1;
        Some(ticket)
    }

    /// Counts the observed facts of the final states in `pending`.
    #[inline(always)]
    fn count_observed(&mut self, n_roles: usize, pending: &Vector<N>) {
        for (group, planes) in self.observed_finals.as_chunks::<64>().0.iter().enumerate() {
            for (word, &in_word) in pending.iter().enumerate().filter(|(_, lanes)| **lanes != 0) {
                let mut facts_of_lanes: [u64; 64] = planes.map(|plane| plane[word]);
                transpose(&mut facts_of_lanes);
                for bit in lanes(&[in_word]) {
                    let lane = 64 * word + bit;
                    let goals = &self.goals_of_lanes[lane * n_roles..(lane + 1) * n_roles];
                    let ticket = self.pending_tickets[lane] as usize;
                    let tally = &mut self.requests[ticket].tally;
                    for fact in lanes(&[facts_of_lanes[bit]]) {
                        let fact = 64 * group + fact;
                        tally.observed[fact] += 1;
                        let totals = &mut tally.observed_totals[fact * n_roles..];
                        for (total, &goal) in totals.iter_mut().zip(goals) {
                            *total += u32::from(goal);
                        }
                    }
                }
            }
        }
        self.goals_of_lanes.fill(0);
    }

    #[inline(always)]
    fn refill(&mut self, layout: &Arc<GangLayout>) {
        while !self.queues[self.phase].is_empty() {
            let free = self.live.map(|word| !word);
            if !is_any(&free) {
                return;
            }
            let unchecked = self.fill(free);
            let phase = &layout.phases[self.phase];
            let Some(end) = &phase.end else { return };
            if !is_any(&unchecked) {
                return;
            }
            end.run(&mut self.memory, self.side);
            let ended = both(&self.memory.slots()[phase.ended], &unchecked);
            if !is_any(&ended) {
                return;
            }
            // The rest of the first request, which may have been started in part, is terminal too.
            if let Some(request) = self.queues[self.phase].front_mut()
                && lanes(&ended).any(|lane| self.tickets[lane] == request.ticket)
            {
                request.is_nonterminal = false;
            }
            self.set_aside(layout, &ended, false);
        }
    }

    /// Fills free lanes from the phase's queue; returns the lanes whose start may be terminal.
    #[inline(always)]
    fn fill(&mut self, free: Vector<N>) -> Vector<N> {
        let mut left = free;
        let mut unchecked = [0u64; N];
        let now = self.memory.now(self.side);
        let queue = &mut self.queues[self.phase];
        let mut is_clear = false;
        while let Some(request) = queue.front_mut() {
            let taken = first_lanes(&mut left, request.samples);
            let n_taken: u32 = taken.iter().map(|word| word.count_ones()).sum();
            if n_taken == 0 {
                break;
            }
            if !std::mem::replace(&mut is_clear, true) {
                // Free lanes are cleared, and those of the first request set to its state in the
                // same pass.
                let mut words = request.state.iter();
                for of_word in now.chunks_mut(64) {
                    let mut bits = words.next().copied().unwrap_or(0);
                    for vector in of_word {
                        let bit = (bits & 1).wrapping_neg();
                        *vector = combine(*vector, free, taken, |vector, free, taken| {
                            vector & !free | taken & bit
                        });
                        bits >>= 1;
                    }
                }
            } else {
                for word in (0..N).filter(|&word| taken[word] != 0) {
                    for &base in &request.bases {
                        now[base as usize][word] |= taken[word];
                    }
                }
            }
            for lane in lanes(&taken) {
                self.tickets[lane] = request.ticket;
                self.started[lane] = self.clock;
            }
            self.live = combine(self.live, taken, taken, |live, taken, _| live | taken);
            if !request.is_nonterminal {
                unchecked = combine(unchecked, taken, taken, |unchecked, taken, _| {
                    unchecked | taken
                });
            }
            request.is_nonterminal = true;
            request.samples -= n_taken;
            self.n_queued -= u64::from(n_taken);
            if request.samples == 0 {
                self.spare.extend(queue.pop_front());
            }
        }
        self.next_limit = self.next_limit.min(self.clock + self.max_steps);
        unchecked
    }
}

macro_rules! step_with {
    ($name:ident, $features:literal) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        fn $name<const N: usize>(gang: &mut Gang<N>) {
            gang.step();
        }
    };
}
step_with!(
    step_avx512,
    "avx512f,avx512vl,avx512bw,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt"
);
step_with!(step_avx2, "avx2,popcnt");

impl<const N: usize> BatchPlayouts for Gang<N> {
    fn width(&self) -> usize {
        64 * N
    }

    fn n_outstanding(&self) -> u64 {
        let live: u32 = self.live.iter().map(|word| word.count_ones()).sum();
        self.n_queued + u64::from(live)
    }

    fn submit(&mut self, state: &[u64], samples: u32) -> Option<PlayoutTicket> {
        self.enqueue(state, samples, false)
    }

    fn submit_nonterminal(&mut self, state: &[u64], samples: u32) -> Option<PlayoutTicket> {
        self.enqueue(state, samples, true)
    }

    fn observe(&mut self, facts: &[BaseId]) {
        self.observed = facts.to_vec();
        self.observed_finals = vec![[0; N]; facts.len().next_multiple_of(64)];
        self.goals_of_lanes = vec![0; 64 * N * self.layout.n_roles];
    }

    fn advance(&mut self) {
        match self.layout.features {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `GangLayout::new` keeps features only when this processor has them.
            Features::Avx512 => unsafe { step_avx512(self) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Features::Avx2 => unsafe { step_avx2(self) },
            _ => self.step(),
        }
    }

    fn take_finished(&mut self, tally: &mut PlayoutTotals) -> Option<PlayoutTicket> {
        let ticket = self.done.pop_front()?;
        std::mem::swap(tally, &mut self.requests[ticket as usize].tally);
        self.free.push(ticket);
        Some(ticket)
    }
}

#[inline(always)]
fn lanes(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(index, &word)| {
        let mut word = word;
        std::iter::from_fn(move || {
            let bit = word.trailing_zeros() as usize;
            (word != 0).then(|| {
                word &= word - 1;
                64 * index + bit
            })
        })
    })
}

/// Removes up to `n` lanes from `left`, the lowest first, and returns them.
fn first_lanes<const N: usize>(left: &mut Vector<N>, n: u32) -> Vector<N> {
    let mut taken = [0u64; N];
    let mut n = n;
    for word in 0..N {
        let available = left[word].count_ones();
        if available <= n {
            taken[word] = left[word];
            n -= available;
        } else {
            let mut rest = left[word];
            for _ in 0..n {
                rest &= rest - 1;
            }
            taken[word] = left[word] ^ rest;
            n = 0;
        }
        left[word] ^= taken[word];
    }
    taken
}

#[cfg(test)]
mod tests;
