//! Uniformly random playouts on one or several threads, for measurements.
//!
//! Each thread has its own stream of random numbers. Rates are per second of the thread's own
//! processor time, so that other load on the machine does not count against an engine.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::engine_choice::Built;
use panza_machine::{BatchPlayouts, Machine, PlayoutEnd, PlayoutTicket, PlayoutTotals, Reasoner};
use panza_sync::{Random, thread_cpu_time};

/// A playout that has made this many joint moves is cut off: the game may have no end.
pub const MAX_STEPS: u32 = 10_000;

/// The counts of one or more threads.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Figures {
    /// Playouts that ended.
    pub playouts: u64,
    /// Playouts that were cut off.
    pub cut_off: u64,
    /// Joint moves made, those of playouts that were cut off included.
    pub steps: u64,
    finished_steps: u64,
    /// Sum of each role's goals, those of playouts that were cut off in their last state.
    goal_sums: Vec<u64>,
    with_goals: u64,
    /// Concurrent playouts of a thread; none where it makes one after the other.
    pub width: Option<usize>,
    /// Processor time of all threads.
    pub cpu: Duration,
    /// Playouts per second of processor time, the threads' rates added up.
    pub playouts_per_second: f64,
    /// Joint moves per second of processor time, the threads' rates added up.
    pub steps_per_second: f64,
}

impl Figures {
    /// Mean joint moves of a playout that ended; none when none did.
    pub fn mean_length(&self) -> Option<f64> {
        (self.playouts > 0).then(|| self.finished_steps as f64 / self.playouts as f64)
    }

    /// Mean goal of each role; none when no playout ended.
    pub fn mean_goals(&self) -> Option<Vec<f64>> {
        let mean = |&sum: &u64| sum as f64 / self.with_goals as f64;
        (self.playouts > 0).then(|| self.goal_sums.iter().map(mean).collect())
    }

    fn add_tally(&mut self, tally: &PlayoutTotals) {
        let cut_off = u64::from(tally.cut_off);
        self.with_goals += u64::from(tally.playouts);
        self.playouts += u64::from(tally.playouts) - cut_off;
        self.cut_off += cut_off;
        self.steps += tally.steps;
        self.finished_steps += tally.steps - cut_off * u64::from(MAX_STEPS);
        add(&mut self.goal_sums, tally.totals.iter().copied());
    }

    /// The figures with the time that the playouts took, and their rates over it.
    fn over(mut self, started: Instant, cpu_started: Option<Duration>) -> Self {
        self.cpu = match (cpu_started, thread_cpu_time()) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ => started.elapsed(),
        };
        let seconds = self.cpu.as_secs_f64().max(1e-9);
        self.playouts_per_second = self.playouts as f64 / seconds;
        self.steps_per_second = self.steps as f64 / seconds;
        self
    }

    fn add(&mut self, other: &Figures) {
        self.playouts += other.playouts;
        self.cut_off += other.cut_off;
        self.steps += other.steps;
        self.finished_steps += other.finished_steps;
        add(&mut self.goal_sums, other.goal_sums.iter().copied());
        self.with_goals += other.with_goals;
        self.width = self.width.or(other.width);
        self.cpu += other.cpu;
        self.playouts_per_second += other.playouts_per_second;
        self.steps_per_second += other.steps_per_second;
    }
}

fn add(sums: &mut Vec<u64>, more: impl ExactSizeIterator<Item = u64>) {
    sums.resize(more.len(), 0);
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}

/// When playouts stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// Once this much time has gone by; the playout under way is played to its end.
    Elapsed(Duration),
    /// After so many playouts on each thread.
    Playouts(u64),
}

/// Plays on `n_threads` threads. Thread number `t` draws from the stream of `seed + t`.
pub fn run(built: &Built, n_threads: usize, seed: u64, until: Until) -> anyhow::Result<Figures> {
    let machines = (0..n_threads).map(|_| built.machine());
    let machines: Vec<Arc<dyn Machine>> = machines.collect::<anyhow::Result<_>>()?;
    Ok(thread::scope(|scope| {
        let start = |(machine, seed)| scope.spawn(move || play(machine, seed, until));
        let threads: Vec<_> = machines.iter().zip(seed..).map(start).collect();
        let mut total = Figures::default();
        for thread in threads {
            let figures = thread.join();
            total.add(&figures.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        total
    }))
}

/// Plays on this thread.
pub fn play(machine: &Arc<dyn Machine>, seed: u64, until: Until) -> Figures {
    let state = machine.initial_state();
    Arc::clone(machine)
        .playouts(&mut Random::new(seed), MAX_STEPS)
        .and_then(|mut lanes| {
            let width = Some(lanes.width());
            measure(lanes.as_mut(), width, &state, until)
        })
        .or_else(|| measure(&mut InTurn::new(machine, seed), None, &state, until))
        .unwrap_or_default()
}

/// Measures playouts. More of those abreast are requested at all times than there are lanes, so
/// that no lane is idle. When the time is up, all requested playouts are finished: those that end
/// early would be the short ones. None where the state cannot be played from abreast.
fn measure(
    playouts: &mut dyn BatchPlayouts,
    width: Option<usize>,
    state: &[u64],
    until: Until,
) -> Option<Figures> {
    let mut figures = Figures {
        width,
        ..Figures::default()
    };
    let mut tally = PlayoutTotals::default();
    // As many wait as are under way in lanes.
    let queue = if width.is_some() { 2 } else { 1 };
    let started = Instant::now();
    let cpu_started = thread_cpu_time();
    let mut n_submitted = 0;
    loop {
        let width = playouts.width() as u64;
        while playouts.n_outstanding() < queue * width {
            let samples = match until {
                Until::Elapsed(time) if started.elapsed() >= time => 0,
                Until::Elapsed(_) => width,
                Until::Playouts(count) => width.min(count - n_submitted),
            };
            if samples == 0 {
                break;
            }
            playouts.submit(state, samples as u32)?;
            n_submitted += samples;
        }
        if figures.with_goals == n_submitted {
            return Some(figures.over(started, cpu_started));
        }
        playouts.advance();
        while playouts.take_finished(&mut tally).is_some() {
            figures.add_tally(&tally);
        }
    }
}

/// Playouts one after the other. The clock is read once for each request: after each playout, that
/// would cost short games a few per cent. So the width doubles as long as the playouts of a request
/// take less than a millisecond.
struct InTurn {
    reasoner: Box<dyn Reasoner>,
    random: Random,
    width: u32,
    state: Vec<u64>,
    waiting: u32,
    goals: Vec<u8>,
    tally: PlayoutTotals,
}

impl InTurn {
    fn new(machine: &Arc<dyn Machine>, seed: u64) -> Self {
        Self {
            reasoner: Arc::clone(machine).reasoner(),
            random: Random::new(seed),
            width: 1,
            state: Vec::new(),
            waiting: 0,
            goals: vec![0; machine.info().n_roles()],
            tally: PlayoutTotals::default(),
        }
    }
}

impl BatchPlayouts for InTurn {
    fn width(&self) -> usize {
        self.width as usize
    }

    fn n_outstanding(&self) -> u64 {
        self.waiting.into()
    }

    fn submit(&mut self, state: &[u64], samples: u32) -> Option<PlayoutTicket> {
        self.state = state.to_vec();
        self.waiting = samples;
        self.tally.clear(self.goals.len());
        Some(0)
    }

    fn advance(&mut self) {
        let started = Instant::now();
        for _ in 0..std::mem::take(&mut self.waiting) {
            self.reasoner.set_state(&self.state);
            let end = (self.reasoner).playout(&mut self.random, MAX_STEPS, &mut self.goals);
            let steps = match end {
                PlayoutEnd::Finished { steps } => steps,
                PlayoutEnd::CutOff => MAX_STEPS,
            };
            self.tally.playouts += 1;
            self.tally.cut_off += u32::from(end == PlayoutEnd::CutOff);
            self.tally.steps += u64::from(steps);
            for (sum, &goal) in self.tally.totals.iter_mut().zip(&self.goals) {
                *sum += u64::from(goal);
            }
        }
        if started.elapsed() < Duration::from_millis(1) {
            self.width = self.width.saturating_mul(2);
        }
    }

    fn take_finished(&mut self, tally: &mut PlayoutTotals) -> Option<PlayoutTicket> {
        (self.tally.playouts > 0).then(|| {
            *tally = std::mem::take(&mut self.tally);
            0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::engine_choice::{EngineChoice, EngineKind, build};
    use super::super::game_source::{Game, Rulesheet};
    use super::*;

    fn prover(name: &str) -> Built {
        let game = Game::from_sheet(Rulesheet::find(name).unwrap()).unwrap();
        build(&game.rules, EngineChoice::Only(EngineKind::Prover)).unwrap()
    }

    #[test]
    fn a_seed_fixes_the_playouts_and_threads_add_up() {
        let built = prover("ticTacToe");
        let run = |threads, seed| {
            let figures = run(&built, threads, seed, Until::Playouts(20)).unwrap();
            (figures.playouts, figures.steps, figures.goal_sums)
        };
        let (one, two) = (run(1, 5), run(1, 6));
        assert_eq!(one, run(1, 5));
        assert_ne!(one, two);
        let sums: Vec<u64> = one.2.iter().zip(&two.2).map(|(a, b)| a + b).collect();
        assert_eq!(run(2, 5), (40, one.1 + two.1, sums));
        assert_eq!(one.2.iter().sum::<u64>(), 20 * 100);
    }

    #[test]
    fn lanes_play_just_as_many_as_they_are_told() {
        let game = Game::from_sheet(Rulesheet::find("ticTacToe").unwrap()).unwrap();
        let built = build(&game.rules, EngineChoice::Only(EngineKind::Lanes)).unwrap();
        for count in [0, 1, 511, 512, 5_000] {
            let figures = run(&built, 2, 1, Until::Playouts(count)).unwrap();
            assert_eq!((figures.playouts, figures.cut_off), (2 * count, 0));
            assert_eq!(figures.with_goals, 2 * count);
            assert_eq!(figures.goal_sums.iter().sum::<u64>(), 2 * count * 100);
            assert_eq!(figures.width, Some(512));
            let again = run(&built, 2, 1, Until::Playouts(count)).unwrap();
            assert_eq!(figures.steps, again.steps);
            assert_eq!(figures.goal_sums, again.goal_sums);
        }
    }

    #[test]
    fn playouts_abreast_without_an_end_are_cut_off_and_told_apart() {
        let (rules, _) = panza_gdl::load(
            "(role r) (init p) (legal r go) (legal r stop) (<= (next p) (does r go)) (<= terminal (not (true p)))
             (<= (goal r 30) (true p)) (<= (goal r 90) (not (true p))) (legal r wait)
             (<= (next p) (does r wait)) (<= (next q) (does r wait)) (<= (next p) (true q)) (<= (next q) (true q))",
        );
        let built = build(&rules, EngineChoice::Only(EngineKind::Lanes)).unwrap();
        let figures = run(&built, 1, 1, Until::Playouts(1_000)).unwrap();
        let Figures {
            playouts, cut_off, ..
        } = figures;
        // Half of them stop before they wait, and those that wait never end.
        assert_eq!(playouts + cut_off, 1_000);
        assert!((400..600).contains(&cut_off), "{cut_off}");
        assert_eq!(figures.goal_sums, [90 * playouts + 30 * cut_off]);
        assert_eq!(
            figures.steps - figures.finished_steps,
            cut_off * u64::from(MAX_STEPS)
        );
        let length = figures.mean_length().unwrap();
        assert!((1.3..1.7).contains(&length), "{length}");
    }

    #[test]
    fn the_clock_ends_it_and_processor_time_stays_below_it() {
        let built = prover("ticTacToe");
        let started = Instant::now();
        let until = Until::Elapsed(Duration::from_millis(50));
        let figures = run(&built, 1, 1, until).unwrap();
        assert!(figures.playouts > 0);
        assert!(figures.cpu <= started.elapsed(), "{figures:?}");
        let mean = figures.mean_length().unwrap();
        assert!((5.0..=9.0).contains(&mean), "{mean}");
    }
}
