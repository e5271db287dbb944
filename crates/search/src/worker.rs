//! The worker: answers requests by generating families and playing out.
//!
//! Requests are processed in batches: `family` generates their positions and children, then the
//! positions are played out by lanes.
//!
//! Invariants: each request is handed back once, after its last playout; the answers depend on the
//! requests and the seed alone, not on time.
//!
//! Never uses: the graph, threads.

use std::collections::VecDeque;
use std::sync::Arc;

use super::family::FamilyGenerator;
use super::parameters::SearchConfig;
use super::playout_queue::PlayoutQueue;
use super::request::BoxedRequest;
use panza_machine::{Machine, PlayoutTotals};
use panza_sync::Random;

/// Requests are accepted up to this many playouts, in widths.
pub(super) const MAX_QUEUED_WIDTHS: u64 = 2;

pub(super) struct Worker {
    n_roles: usize,
    families: FamilyGenerator,
    playouts: PlayoutQueue,
    /// Whether playouts have any weight beside the evaluation.
    plays_out: bool,
    /// Requests not yet examined, and their playouts.
    new_requests: Vec<BoxedRequest>,
    new_samples: u64,
    /// Requests with open tickets, by slot.
    in_flight: Vec<Option<BoxedRequest>>,
    free_slots: Vec<u32>,
    n_in_flight: usize,
    done: VecDeque<BoxedRequest>,
    tally: PlayoutTotals,
}

impl Worker {
    /// A worker whose random numbers are seeded by `random`; without lanes where `with_lanes` is
    /// false.
    pub(super) fn new(
        machine: &Arc<dyn Machine>,
        random: Random,
        config: &SearchConfig,
        with_lanes: bool,
    ) -> Self {
        Self {
            n_roles: machine.info().n_roles(),
            families: FamilyGenerator::new(machine, config, with_lanes),
            playouts: PlayoutQueue::new(Arc::clone(machine), random, config, with_lanes),
            plays_out: config.evaluation.is_none() || config.evaluation_share < 1.0,
            new_requests: Vec::new(),
            new_samples: 0,
            in_flight: Vec::new(),
            free_slots: Vec::new(),
            n_in_flight: 0,
            done: VecDeque::new(),
            tally: PlayoutTotals::default(),
        }
    }

    pub(super) fn width(&self) -> usize {
        self.playouts.width()
    }

    pub(super) fn n_outstanding(&self) -> u64 {
        self.playouts.n_outstanding() + self.new_samples
    }

    /// Whether it accepts another request.
    pub(super) fn has_room(&self) -> bool {
        match self.width() as u64 {
            0 => self.is_idle(),
            width => {
                self.n_outstanding() < MAX_QUEUED_WIDTHS * width
                    && self.playouts.n_sequential_states() < width as usize
            }
        }
    }

    /// Whether lanes are about to run empty.
    pub(super) fn needs_requests(&self) -> bool {
        self.n_outstanding() < self.width().max(1) as u64
    }

    /// Whether fewer than 5/4 playouts a lane are wanted.
    pub(super) fn could_use_request(&self) -> bool {
        self.could_use(0)
    }

    /// The same with `n_playouts` playouts more than are wanted now.
    pub(super) fn could_use(&self, n_playouts: u64) -> bool {
        let width = self.width() as u64;
        (width == 0 || 4 * (self.n_outstanding() + n_playouts) < 5 * width) && self.has_room()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.new_requests.is_empty() && self.n_in_flight == 0
    }

    pub(super) fn submit(&mut self, request: BoxedRequest) {
        self.new_samples += u64::from(request.samples);
        self.new_requests.push(request);
    }

    pub(super) fn take_finished(&mut self) -> Option<BoxedRequest> {
        self.done.pop_front()
    }

    /// Examines new requests, advances all lanes by a joint move, and runs one sequential playout.
    pub(super) fn work(&mut self) {
        if !self.new_requests.is_empty() {
            self.examine_new_requests();
        }
        self.playouts.advance_lanes();
        while let Some(slot) = self.playouts.take_finished(&mut self.tally) {
            self.add_tally(slot, false);
        }
        if let Some((slot, has_more)) = self.playouts.play_sequential(&mut self.tally) {
            self.add_tally(slot, has_more);
        }
    }

    /// Generates the families of all new requests and starts their playouts.
    fn examine_new_requests(&mut self) {
        let mut requests = std::mem::take(&mut self.new_requests);
        self.new_samples = 0;
        self.families.generate(&mut requests);
        for request in requests.drain(..) {
            self.start_playouts(request);
        }
        self.new_requests = requests;
    }

    /// Starts the playouts of an examined request, or hands it back where none are needed.
    fn start_playouts(&mut self, mut request: BoxedRequest) {
        request.tally.clear(self.n_roles);
        if request.position.terminal || request.is_proven || !self.plays_out {
            self.done.push_back(request);
            return;
        }
        let slot = self.reserve_slot();
        let samples = request.samples.max(1);
        self.playouts.submit(slot, &request.position.state, samples);
        self.in_flight[slot as usize] = Some(request);
        self.n_in_flight += 1;
    }

    fn reserve_slot(&mut self) -> u32 {
        self.free_slots.pop().unwrap_or_else(|| {
            self.in_flight.push(None);
            self.in_flight.len() as u32 - 1
        })
    }

    /// Adds `self.tally` to a request, and hands it back unless it has more playouts.
    fn add_tally(&mut self, slot: u32, has_more: bool) {
        let Some(request) = &mut self.in_flight[slot as usize] else {
            return;
        };
        request.tally.add(&self.tally);
        if !has_more && let Some(request) = self.in_flight[slot as usize].take() {
            self.free_slots.push(slot);
            self.n_in_flight -= 1;
            self.done.push_back(request);
        }
    }
}
