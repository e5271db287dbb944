//! What is measured of the lanes engine: how fast it is at each width and on several threads, and
//! where the time of a pass goes.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::measure::{Plan, Rate};
use panza::commands::bench;
use panza::commands::engine_choice::{Built, WIDTH};
use panza::commands::game_source::Game;
use panza::commands::playouts::{self, Figures, MAX_STEPS, Until};
use panza::machine::Machine;
use panza::machine::counter::CounterMachine;
use panza::machine::lanes::compile::Programs;
use panza::machine::lanes::gang;
use panza::machine::lanes::gang::profile::Profile;
use panza::machine::lanes::interpret::Features;
use panza::machine::lanes::machine::LanesMachine;
use panza::player::{self, Compiled, LanesSource, Playing};
use panza::sync::clock::thread_cpu_time;

/// Widths to measure lanes at, each once; none to leave lanes out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Widths(pub Vec<usize>);

/// Reads widths with commas between them.
///
/// # Errors
/// Another width than lanes have.
pub fn parse_widths(text: &str) -> Result<Widths, String> {
    let items = text.split(',').filter(|item| !item.is_empty());
    let mut widths = items
        .map(bench::parse_width)
        .collect::<Result<Vec<_>, _>>()?;
    widths.sort_unstable();
    widths.dedup();
    Ok(Widths(widths))
}

/// A game that can be played by lanes.
pub struct Abreast {
    counter: Arc<CounterMachine>,
    programs: Programs,
}

/// What lanes came to on a game.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct LanesReport {
    /// How fast they are at each width that was tried; none when lanes cannot play the game.
    pub widths: Vec<WidthReport>,
    /// The width that is fastest.
    pub best: Option<usize>,
    /// Mean joint moves of the playouts that came to their end, at all widths together.
    pub mean_length: Option<f64>,
    /// How many playouts that is the mean of.
    pub playouts: u64,
    /// Playouts that were cut off.
    pub cut_off: u64,
    /// The best median by that of the counter engine.
    pub ratio: Option<f64>,
    /// From networks to lanes of all widths.
    pub build_seconds: Option<f64>,
    /// Why there are no figures.
    pub failure: Option<String>,
}

/// How fast lanes are at a width.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WidthReport {
    /// Playouts abreast.
    pub width: usize,
    /// Playouts per second of processor time.
    pub playouts_per_cpu_s: Rate,
}

impl LanesReport {
    /// How fast they are at the best width.
    pub fn best_rate(&self) -> Option<&Rate> {
        let best = self.widths.iter().find(|one| Some(one.width) == self.best);
        best.map(|one| &one.playouts_per_cpu_s)
    }
}

/// How fast lanes are on several threads.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ThreadsReport {
    /// The game's name.
    pub game: String,
    /// Playouts abreast on each thread.
    pub width: usize,
    /// On one thread.
    pub one: Option<Rate>,
    /// On two, their rates added up.
    pub two: Option<Rate>,
    /// The second median by the first.
    pub ratio: Option<f64>,
    /// Why there are no figures.
    pub failure: Option<String>,
}

/// Where the time of a pass goes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ProfileReport {
    /// The game's name.
    pub game: String,
    /// Cycles of the processor in a nanosecond, where they can be told.
    pub cycles_per_ns: Option<f64>,
    /// What was measured.
    pub profile: Option<Profile>,
    /// Why there are no figures.
    pub failure: Option<String>,
}

impl Abreast {
    /// Makes the programs.
    ///
    /// # Errors
    /// Says why lanes cannot play it.
    pub fn new(
        plan: &Plan,
        counter: &Arc<CounterMachine>,
        source: &LanesSource,
    ) -> Result<Self, String> {
        let programs = source.programs(plan.budget(), Playing::Evenly);
        Ok(Self {
            counter: Arc::clone(counter),
            programs: programs.ok_or("too large for lanes")?,
        })
    }

    /// Makes them of a game.
    fn of(plan: &Plan, game: &Game) -> Result<Self, String> {
        let Compiled { machine, lanes, .. } = player::compile(&game.rules, plan.budget())?;
        Self::new(plan, &Arc::new(machine), &lanes)
    }

    fn layout(&self, width: usize) -> Arc<gang::Layout> {
        let n_roles = self.counter.info().n_roles();
        let features = Features::detect();
        Arc::new(gang::Layout::new(
            &self.programs,
            n_roles,
            features,
            width / 64,
        ))
    }

    fn built(&self, width: usize) -> Built {
        let counter = Arc::clone(&self.counter);
        Built::Machine(Arc::new(LanesMachine::for_play(
            counter,
            self.layout(width),
            None,
        )))
    }
}

/// Lanes of some widths, measured run by run.
pub struct Measuring {
    machines: Vec<(usize, Built, Vec<f64>)>,
    total: Figures,
    build_seconds: Option<f64>,
    failure: Option<String>,
}

impl Measuring {
    /// Builds them from what the game is played with, if it can be.
    pub fn new(plan: &Plan, source: Option<(&Arc<CounterMachine>, &LanesSource)>) -> Self {
        let started = Instant::now();
        let abreast = match source {
            Some((counter, source)) if !plan.widths.is_empty() => {
                Abreast::new(plan, counter, source)
            }
            _ => Err("no network".to_string()),
        };
        let built = |abreast: &Abreast| {
            let widths = plan.widths.iter();
            let built = widths.map(|&width| (width, abreast.built(width), Vec::new()));
            built.collect()
        };
        Self {
            machines: abreast.as_ref().map(built).unwrap_or_default(),
            build_seconds: abreast.is_ok().then(|| started.elapsed().as_secs_f64()),
            failure: abreast.err(),
            total: Figures::default(),
        }
    }

    /// Plays once at each width.
    ///
    /// # Errors
    /// A machine cannot be asked.
    pub fn play(
        &mut self,
        plan: &Plan,
        run: u32,
        on_run: &mut impl FnMut(&str),
    ) -> anyhow::Result<()> {
        for width in &plan.widths {
            on_run(&format!("lanes {width}"));
            let mut machines = self.machines.iter_mut();
            if let Some((_, built, rates)) = machines.find(|(of, _, _)| of == width) {
                let figures = plan.play(built, run)?;
                rates.push(figures.playouts_per_second);
                self.total.playouts += figures.playouts;
                self.total.finished_steps += figures.finished_steps;
                self.total.cut_off += figures.cut_off;
            }
        }
        Ok(())
    }

    /// What it all came to, beside the counter engine.
    pub fn report(self, counter: Option<&Rate>) -> LanesReport {
        let widths = self.machines.into_iter().filter_map(|(width, _, rates)| {
            let playouts_per_cpu_s = Rate::of(rates)?;
            Some(WidthReport {
                width,
                playouts_per_cpu_s,
            })
        });
        let widths: Vec<WidthReport> = widths.collect();
        let median = |one: &WidthReport| one.playouts_per_cpu_s.median;
        let best = widths
            .iter()
            .max_by(|one, other| median(one).total_cmp(&median(other)));
        LanesReport {
            best: best.map(|best| best.width),
            ratio: best
                .zip(counter)
                .map(|(best, counter)| median(best) / counter.median),
            mean_length: self.total.mean_length(),
            playouts: self.total.playouts,
            cut_off: self.total.cut_off,
            build_seconds: self.build_seconds,
            failure: self.failure,
            widths,
        }
    }
}

/// The width to look at a game more closely at: the best that was measured, if any was.
pub fn width_of(best: Option<usize>) -> usize {
    best.unwrap_or(WIDTH)
}

/// Measures lanes on one thread and on two, in turn.
///
/// # Errors
/// A machine cannot be asked.
pub fn threads(
    plan: &Plan,
    game: &Game,
    width: usize,
    mut on_run: impl FnMut(&str),
) -> anyhow::Result<ThreadsReport> {
    let mut report = ThreadsReport {
        game: game.sheet.name.clone(),
        width,
        one: None,
        two: None,
        ratio: None,
        failure: None,
    };
    let built = match Abreast::of(plan, game) {
        Ok(abreast) => abreast.built(width),
        Err(failure) => {
            report.failure = Some(failure);
            return Ok(report);
        }
    };
    let mut rates = [Vec::new(), Vec::new()];
    for run in 0..plan.runs {
        for (n_threads, rates) in (1..).zip(&mut rates) {
            on_run(&format!("lanes on {n_threads} threads"));
            let until = Until::Elapsed(Duration::from_secs_f64(plan.seconds));
            let seed = plan.seed.wrapping_add(run.into());
            let figures = playouts::run(&built, n_threads, seed, until, &AtomicU64::new(0))?;
            rates.push(figures.playouts_per_second);
        }
    }
    let [one, two] = rates.map(Rate::of);
    let both = one.as_ref().zip(two.as_ref());
    report.ratio = both.map(|(one, two)| two.median / one.median);
    (report.one, report.two) = (one, two);
    Ok(report)
}

/// Measures the pieces of a pass.
pub fn profile(plan: &Plan, game: &Game, width: usize) -> ProfileReport {
    let mut report = ProfileReport {
        game: game.sheet.name.clone(),
        cycles_per_ns: None,
        profile: None,
        failure: None,
    };
    let abreast = match Abreast::of(plan, game) {
        Ok(abreast) => abreast,
        Err(failure) => {
            report.failure = Some(failure);
            return report;
        }
    };
    let started = Instant::now();
    let clock = || thread_cpu_time().unwrap_or_else(|| started.elapsed());
    let before = cycles_per_ns(&clock);
    let time = Duration::from_secs_f64(plan.seconds);
    let initial = abreast.counter.initial_state();
    report.profile =
        abreast
            .layout(width)
            .profile(&abreast.programs, &initial, MAX_STEPS, time, &clock);
    // The processor may change its pace.
    report.cycles_per_ns = before
        .zip(cycles_per_ns(&clock))
        .map(|(before, after)| (before + after) / 2.0);
    if report.profile.is_none() {
        report.failure = Some("no playout gets under way".to_string());
    }
    report
}

/// Cycles in a nanosecond: of multiplications that each wait for the one before, x86-64 processors
/// of the last fifteen years take three cycles each. Nothing on others.
fn cycles_per_ns(clock: &dyn Fn() -> Duration) -> Option<f64> {
    const N: u32 = 1 << 19;
    const CYCLES_EACH: f64 = 3.0;
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let once = || {
        let started = clock();
        let mut product = black_box(3u64);
        for _ in 0..N {
            product = product.wrapping_mul(product);
        }
        black_box(product);
        (clock() - started).as_secs_f64() * 1e9
    };
    let runs = (0..9).map(|_| f64::from(N) * CYCLES_EACH / once().max(1.0));
    Rate::of(runs.collect()).map(|rate| rate.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_lanes() {
        let widths = |text| parse_widths(text).map(|widths| widths.0);
        assert_eq!(widths("256,512,1024"), Ok(vec![256, 512, 1024]));
        assert_eq!(widths("512,256,512"), Ok(vec![256, 512]));
        assert_eq!(widths(""), Ok(vec![]));
        assert!(widths("128").is_err());
    }

    #[test]
    fn the_pace_of_a_processor_is_one_of_today() {
        let started = Instant::now();
        let clock = || thread_cpu_time().unwrap_or_else(|| started.elapsed());
        if let Some(pace) = cycles_per_ns(&clock) {
            assert!((0.2..10.0).contains(&pace), "{pace}");
        }
    }
}
