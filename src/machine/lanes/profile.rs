//! Where the time of a pass goes: each piece measured by itself, and whole passes.
//!
//! A gang plays as it does anywhere, lanes at different depths. Now and then it stands still, and
//! each piece of the pass that would come next is run over and over on the memory as it is: no
//! piece writes what it reads, so it does the same each time (but for the random numbers of ranks).
//! What whole passes take beyond that is the rest: setting aside, refilling, booking.
//!
//! Invariants: what is measured is the code that plays, compiled for the same features. Nothing of
//! this is in the way of playing.
//!
//! Never knows: which clock it is.

use std::hint::black_box;
use std::time::Duration;

use serde::Serialize;

use super::super::compile::{Part, n_operations};
use super::*;

/// Passes before anything is measured, so that lanes are at different depths.
const WARM_UP: u32 = 50;
/// How often the gang stands still.
const N_ROUNDS: u32 = 9;
/// The least number of passes over which is counted how often things happen.
const COUNTED: u64 = 64;
/// In this many passes a gang comes to have lanes in play.
const N_TRIES: usize = 100;
/// A piece is run no more often than this to measure it once.
const MAX_REPEATS: u64 = 1 << 24;

/// What a pass takes, that is a step of all lanes, on average over the phases as they are gone
/// through. Durations are in nanoseconds, each the one in the middle of several.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Profile {
    /// Lanes abreast.
    pub width: usize,
    /// Registers of the processor that a vector of so many lanes takes.
    pub registers: usize,
    /// How many phases are gone through.
    pub phases: usize,
    /// A whole pass.
    pub pass: f64,
    /// Counting legal moves.
    pub look: Piece,
    /// Drawing ranks.
    pub ranks: f64,
    /// Digits of the ranks that are drawn, all roles together.
    pub rank_digits: f64,
    /// Making the next state.
    pub step: Piece,
    /// Seeing whether the game is over, where `look` does not.
    pub end: Piece,
    /// The four in turn: more than their sum where they drive each other out of the caches.
    pub in_turn: f64,
    /// Working out the goals of final states once.
    pub goals: Piece,
    /// How often a pass does that.
    pub goals_per_pass: f64,
    /// The share of the lanes that make a step in a pass.
    pub busy: f64,
    /// Playouts that end in a pass.
    pub ended_per_pass: f64,
    /// Bytes of machine code of all phases, goals not counted; nothing where there is no machine
    /// code.
    pub code_bytes: Option<usize>,
    /// Bytes of the two banks of states and the slots.
    pub memory_bytes: usize,
}

/// A program in a [`Profile`].
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Piece {
    /// Operations, those of a loop counted once.
    pub operations: f64,
    /// Whether it has a loop, which is run until no lane changes.
    pub has_loop: bool,
    /// Bytes of machine code; nothing where there is none.
    pub bytes: Option<f64>,
    /// How long it takes.
    pub nanoseconds: f64,
}

impl Profile {
    /// What whole passes take beyond their programs.
    pub fn rest(&self) -> f64 {
        self.pass - self.in_turn - self.goals.nanoseconds * self.goals_per_pass
    }
}

impl Layout {
    /// Measures passes of random playouts from a state, for so long by a clock. These must be the
    /// programs that the layout was made from. Nothing where gangs cannot play from the state.
    pub fn profile(
        self: &Arc<Self>,
        programs: &Programs,
        initial: &[u64],
        max_steps: u32,
        time: Duration,
        clock: &dyn Fn() -> Duration,
    ) -> Option<Profile> {
        let layout = Arc::clone(self);
        match self.n_words {
            4 => Profiler::<4>::new(layout, initial, max_steps, clock)?.profile(programs, time),
            16 => Profiler::<16>::new(layout, initial, max_steps, clock)?.profile(programs, time),
            _ => Profiler::<8>::new(layout, initial, max_steps, clock)?.profile(programs, time),
        }
    }
}

/// What is run over and over.
#[derive(Clone, Copy, Default)]
struct Which {
    look: bool,
    ranks: bool,
    step: bool,
    end: bool,
    goals: bool,
}

const LOOK: usize = 0;
const RANKS: usize = 1;
const STEP: usize = 2;
const END: usize = 3;
const IN_TURN: usize = 4;
const GOALS: usize = 5;
const N_KINDS: usize = 6;

const NOTHING: Which = Which {
    look: false,
    ranks: false,
    step: false,
    end: false,
    goals: false,
};
const KINDS: [Which; N_KINDS] = [
    Which {
        look: true,
        ..NOTHING
    },
    Which {
        ranks: true,
        ..NOTHING
    },
    Which {
        step: true,
        ..NOTHING
    },
    Which {
        end: true,
        ..NOTHING
    },
    Which {
        look: true,
        ranks: true,
        step: true,
        end: true,
        goals: false,
    },
    Which {
        goals: true,
        ..NOTHING
    },
];

/// Runs pieces of the pass that comes next, so many times, and leaves the state that the lanes
/// stand on as it is.
#[inline(always)]
fn repeat<const N: usize>(gang: &mut Gang<N>, which: Which, n: u64) {
    let layout = Arc::clone(&gang.layout);
    let phase = &layout.phases[gang.phase];
    let end = layout.phases[phase.successor].end.as_ref();
    for _ in 0..n {
        let gang = black_box(&mut *gang);
        if which.look {
            phase.look.run(&mut gang.memory, gang.side);
        }
        if which.ranks {
            for choice in &phase.choices {
                let slots = gang.memory.slots();
                let (before, rank) = slots.split_at_mut(choice.rank.start as usize);
                let count = &before[choice.count.start as usize..choice.count.end as usize];
                let rank = &mut rank[..count.len()];
                draw_ranks(&mut gang.random, count, &gang.live, rank);
            }
        }
        if which.step {
            phase.step.run(&mut gang.memory, gang.side);
        }
        if which.end
            && let Some(end) = end
        {
            end.run(&mut gang.memory, gang.side.swapped());
        }
        if which.goals {
            layout.goal_code.run(&mut gang.finals, Side::Even);
        }
    }
}

/// Compiles it for what the processor has, as a gang's step is.
macro_rules! repeat_with {
    ($name:ident, $features:literal) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        fn $name<const N: usize>(gang: &mut Gang<N>, which: Which, n: u64) {
            repeat(gang, which, n);
        }
    };
}
repeat_with!(
    repeat_avx512,
    "avx512f,avx512vl,avx512bw,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt"
);
repeat_with!(repeat_avx2, "avx2,popcnt");

/// A gang that is measured.
struct Profiler<'a, const N: usize> {
    gang: Gang<N>,
    initial: &'a [u64],
    clock: &'a dyn Fn() -> Duration,
    tally: Tally,
    /// Playouts and steps of tickets that were taken back.
    taken: (u64, u64),
}

impl<'a, const N: usize> Profiler<'a, N> {
    fn new(
        layout: Arc<Layout>,
        initial: &'a [u64],
        max_steps: u32,
        clock: &'a dyn Fn() -> Duration,
    ) -> Option<Self> {
        layout.phase_of(initial)?;
        Some(Self {
            gang: Gang::new(layout, &mut Random::new(1), max_steps),
            initial,
            clock,
            tally: Tally::default(),
            taken: (0, 0),
        })
    }

    /// A pass as a thread makes it that wants as many playouts as it can get.
    fn pass(&mut self) {
        let width = 64 * N as u64;
        while self.gang.n_wanted() < 2 * width {
            if self.gang.submit(self.initial, width as u32).is_none() {
                break;
            }
        }
        self.gang.advance();
        while self.gang.take_done(&mut self.tally).is_some() {
            self.taken.0 += u64::from(self.tally.playouts);
            self.taken.1 += self.tally.steps;
        }
    }

    fn repeat(&mut self, which: Which, n: u64) {
        match self.gang.layout.features {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: these features were seen on this processor, or the layout would not name
            // them.
            Features::Avx512 => unsafe { repeat_avx512(&mut self.gang, which, n) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Features::Avx2 => unsafe { repeat_avx2(&mut self.gang, which, n) },
            _ => repeat(&mut self.gang, which, n),
        }
    }

    /// Nanoseconds of one time of what is done so many times that it takes as long as this or
    /// longer.
    fn timed(&mut self, least: Duration, mut often: impl FnMut(&mut Self, u64)) -> f64 {
        let mut n = 1;
        loop {
            let started = (self.clock)();
            often(self, n);
            let took = (self.clock)().saturating_sub(started);
            if took >= least || n >= MAX_REPEATS {
                return took.as_secs_f64() * 1e9 / n as f64;
            }
            n *= 2;
        }
    }

    /// Playouts that were worked out, and steps that lanes have made.
    fn counted(&self) -> (u64, u64) {
        let gang = &self.gang;
        let (mut playouts, mut steps) = self.taken;
        for (ticket, account) in gang.accounts.iter().enumerate() {
            if !gang.free.contains(&(ticket as Ticket)) {
                playouts += u64::from(account.tally.playouts);
                steps += account.tally.steps;
            }
        }
        let under_way = lanes(&gang.live).map(|lane| gang.clock - gang.started[lane]);
        (playouts, steps + under_way.sum::<u64>())
    }

    fn profile(mut self, programs: &Programs, time: Duration) -> Option<Profile> {
        let layout = Arc::clone(&self.gang.layout);
        for _ in 0..WARM_UP {
            self.pass();
        }
        let n_phases = layout.phases.len();
        let until = (self.clock)() + time / 8;
        let mut visits = vec![0u32; n_phases];
        let (mut n_passes, mut n_goals) = (0u64, 0u64);
        let before = self.counted();
        let mut n_playouts = before.0;
        while n_passes < COUNTED || (self.clock)() < until {
            self.pass();
            visits[self.gang.phase] += 1;
            n_passes += 1;
            let counted = self.counted().0;
            n_goals += u64::from(counted > n_playouts);
            n_playouts = counted;
        }
        let after = self.counted();

        // Finding out how often takes as long as the measuring itself.
        let once = time / (2 * N_ROUNDS * (N_KINDS * n_phases + 3) as u32);
        let mut of_phases: Vec<[Vec<f64>; N_KINDS]> = vec![Default::default(); n_phases];
        let mut passes = Vec::new();
        for _ in 0..N_ROUNDS {
            passes.push(self.timed(3 * once, |this, n| (0..n).for_each(|_| this.pass())));
            for _ in 0..n_phases {
                self.pass();
                let mut tries = 0..N_TRIES;
                while !is_any(&self.gang.live) {
                    tries.next()?;
                    self.pass();
                }
                let phase = self.gang.phase;
                // Ranks are drawn for the counts that a look has left.
                self.repeat(KINDS[LOOK], 1);
                for (which, measured) in KINDS.into_iter().zip(&mut of_phases[phase]) {
                    measured.push(self.timed(once, |this, n| this.repeat(which, n)));
                }
            }
        }

        let of_phases: Vec<Option<[f64; N_KINDS]>> = of_phases
            .into_iter()
            .map(|kinds| (!kinds[LOOK].is_empty()).then(|| kinds.map(median)))
            .collect();
        // A phase that was never stood in has no say.
        let weights: Vec<f64> = of_phases
            .iter()
            .zip(&visits)
            .map(|(measured, &visits)| match measured {
                Some(_) => f64::from(visits),
                None => 0.0,
            })
            .collect();
        let all: f64 = weights.iter().sum::<f64>().max(1.0);
        let mean = |of: &dyn Fn(usize) -> f64| -> f64 {
            let weighted = weights.iter().enumerate();
            let weighted = weighted.filter(|&(_, &weight)| weight > 0.0);
            weighted
                .map(|(phase, weight)| of(phase) * weight / all)
                .sum()
        };
        let took = |kind: usize| mean(&|phase| of_phases[phase].map_or(0.0, |took| took[kind]));
        let piece = |kind: usize, of_phase: &dyn Fn(usize) -> Size| Piece {
            operations: mean(&|phase| of_phase(phase).n_operations as f64),
            has_loop: (0..n_phases).any(|phase| of_phase(phase).has_loop),
            bytes: (0..n_phases)
                .all(|phase| of_phase(phase).n_bytes.is_some())
                .then(|| mean(&|phase| of_phase(phase).n_bytes.unwrap_or(0) as f64)),
            nanoseconds: took(kind),
        };
        let sizes = |piece: &[Part], code: &Code| Size {
            n_operations: n_operations(piece),
            has_loop: piece.iter().any(|part| part.repeat.is_some()),
            n_bytes: code.n_bytes(),
        };
        let look = |phase: usize| sizes(&programs.phases[phase].look, &layout.phases[phase].look);
        let step = |phase: usize| sizes(&programs.phases[phase].step, &layout.phases[phase].step);
        // A pass ends with a look at the phase that it leads to.
        let end = |phase: usize| {
            let next = layout.phases[phase].successor;
            match (&programs.phases[next].end, &layout.phases[next].end) {
                (Some(piece), Some(code)) => sizes(piece, code),
                _ => Size {
                    n_bytes: Some(0),
                    ..Size::default()
                },
            }
        };
        let goals = |_| sizes(&programs.goals.piece, &layout.goal_code);
        let bytes_of_phase =
            |phase| Some(look(phase).n_bytes? + step(phase).n_bytes? + end(phase).n_bytes?);
        let digits = |phase: usize| {
            let choices = layout.phases[phase].choices.iter();
            choices.map(|choice| choice.rank.len() as f64).sum()
        };
        Some(Profile {
            width: 64 * N,
            registers: match layout.features {
                Features::Avx512 => N.div_ceil(8),
                Features::Avx2 => N.div_ceil(4),
                Features::Portable => N,
            },
            phases: n_phases,
            pass: median(passes),
            look: piece(LOOK, &look),
            ranks: took(RANKS),
            rank_digits: mean(&digits),
            step: piece(STEP, &step),
            end: piece(END, &end),
            in_turn: took(IN_TURN),
            goals: piece(GOALS, &goals),
            goals_per_pass: n_goals as f64 / n_passes as f64,
            busy: (after.1 - before.1) as f64 / (n_passes * 64 * N as u64) as f64,
            ended_per_pass: (after.0 - before.0) as f64 / n_passes as f64,
            code_bytes: (0..n_phases).map(bytes_of_phase).sum(),
            memory_bytes: std::mem::size_of_val(self.gang.memory.all()),
        })
    }
}

/// How large a piece is in one phase.
#[derive(Clone, Copy, Default)]
struct Size {
    n_operations: usize,
    has_loop: bool,
    n_bytes: Option<usize>,
}

/// The one in the middle.
fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::lanes::compile::{Playing, compile};
    use crate::propnet::{self, passes};
    use crate::{gdl, ground};
    use std::time::Instant;

    /// A role counts up to three and may stop at any time.
    const RULES: &str = "(role a) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3)
        (legal a go) (legal a (stop 1)) (legal a (stop 2))
        (<= (next (at ?y)) (true (at ?x)) (succ ?x ?y) (does a go))
        (<= (next done) (does a (stop ?n)))
        (<= terminal (true done)) (<= terminal (true (at 3)))
        (<= (goal a 100) (true (at 3))) (<= (goal a 10) (true done))";

    fn profile(features: Features, n_words: usize) -> (Programs, Profile) {
        let (rules, _) = gdl::load(RULES);
        let budget = ground::Budget::generous();
        let program = ground::ground(&rules, budget).unwrap();
        let network = passes::optimise(propnet::build(&program, budget).unwrap(), budget);
        let programs = compile(&network, None, 2.0, Playing::Evenly).unwrap();
        let layout = Arc::new(Layout::new(&programs, 1, features, n_words));
        let mut initial = vec![0; network.facts.len().div_ceil(64)];
        for base in &network.initial {
            initial[base.index() / 64] |= 1 << (base.index() % 64);
        }
        let started = Instant::now();
        let clock = || started.elapsed();
        let time = Duration::from_millis(20);
        let profile = layout.profile(&programs, &initial, 100, time, &clock);
        (programs, profile.unwrap())
    }

    #[test]
    fn pieces_are_measured_at_every_width_with_and_without_machine_code() {
        for features in [Features::Portable, Features::detect()] {
            for n_words in [4, 8, 16] {
                let (programs, profile) = profile(features, n_words);
                assert_eq!((profile.width, profile.phases), (64 * n_words, 1));
                let phase = &programs.phases[0];
                assert_eq!(profile.look.operations, n_operations(&phase.look) as f64);
                assert_eq!(profile.step.operations, n_operations(&phase.step) as f64);
                // Three moves: two digits.
                assert_eq!(profile.rank_digits, 2.0);
                let of_pieces = [profile.look, profile.step, profile.goals];
                for piece in of_pieces {
                    assert!(piece.nanoseconds > 0.0, "{profile:?}");
                }
                // How they compare is for the page of figures: a test that is held up says nothing
                // about it.
                let of_passes = [profile.ranks, profile.in_turn, profile.pass];
                assert!(of_passes.into_iter().all(|took| took > 0.0), "{profile:?}");
                let is_native = features != Features::Portable && !cfg!(miri);
                assert_eq!(profile.code_bytes.is_some(), is_native);
                // Each bank and the slots, of a whole number of vectors.
                let bytes = profile.memory_bytes;
                assert!(bytes >= 8 * n_words * (2 * programs.n_bases + 2) && bytes % 64 == 0);
            }
        }
    }

    #[test]
    fn it_is_counted_how_often_things_happen() {
        let (programs, profile) = profile(Features::detect(), 4);
        // A playout of one step in three ends at once; with so many lanes some do in every pass.
        assert!((0.9..=1.0).contains(&profile.goals_per_pass), "{profile:?}");
        // A lane that is found to be over where legal moves are counted idles for that pass: a
        // playout takes 13/9 on average, and one more.
        let idle = match programs.phases[0].end {
            Some(_) => 0.0,
            None => 1.0,
        };
        let busy = (13.0 / 9.0) / (13.0 / 9.0 + idle);
        assert!((profile.busy - busy).abs() < 0.05, "{profile:?}");
        let ended = 256.0 / (13.0 / 9.0 + idle);
        assert!(
            (profile.ended_per_pass / ended - 1.0).abs() < 0.1,
            "{profile:?}"
        );
    }
}
